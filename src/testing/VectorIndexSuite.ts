/**
 * What every `VectorIndex` must do, for indexes of your own: cases that any runner of tests can register.
 *
 * @since 0.1.0
 */
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as Layer from "effect/Layer"
import * as TestClock from "effect/TestClock"
import * as TestContext from "effect/TestContext"
import type { VectorIndex } from "../memory/VectorIndex.js"
import type * as VectorIndexCase from "./VectorIndexCase.js"
import { epoch } from "./VectorIndexCase.js"
import * as Keeping from "./VectorIndexKeepingCases.js"
import * as Search from "./VectorIndexSearchCases.js"

/**
 * One promise of the port, and how it is tried: a case that does not hold fails, or dies with an error that says what was expected.
 *
 * @since 0.1.0
 * @category models
 */
export type Case = VectorIndexCase.Case

/**
 * All cases. Each wants an empty index of at least four dimensions, and time that it can move: see `check`.
 *
 * @since 0.1.0
 * @category constants
 */
export const cases: ReadonlyArray<Case> = [...Keeping.cases, ...Search.cases]

/**
 * One case on an index of its own: the layer is built for it, under a `TestClock`, and released afterwards. What it builds must be empty;
 * what expires must expire by `Clock`.
 *
 * @example
 * ```ts
 * import { VectorIndexSuite } from "effect-lexigram/testing"
 * import type { VectorIndex } from "effect-lexigram/memory"
 * import * as Effect from "effect/Effect"
 * import type * as Layer from "effect/Layer"
 *
 * declare const test: (name: string, run: () => Promise<void>) => void
 * declare const mine: Layer.Layer<VectorIndex.VectorIndex>
 *
 * for (const one of VectorIndexSuite.cases) {
 *   test(one.name, () => Effect.runPromise(VectorIndexSuite.check(one, mine)))
 * }
 * ```
 *
 * @since 0.1.0
 * @category combinators
 */
export const check = <E>(one: Case, layer: Layer.Layer<VectorIndex, E>): Effect.Effect<void, unknown> =>
  // The clock is set before anything of the layer can wait for it.
  TestClock.setTime(epoch).pipe(
    Effect.zipRight(Effect.provide(one.test, layer)),
    Effect.provide(TestContext.TestContext)
  )

/**
 * How a case ended.
 *
 * @since 0.1.0
 * @category models
 */
export interface Outcome {
  readonly name: string
  /** Absent when it held. */
  readonly failure?: Cause.Cause<unknown> | undefined
}

/**
 * Every case, one after the other. A case that does not hold is an outcome, not a failure.
 *
 * @since 0.1.0
 * @category combinators
 */
export const run = <E>(layer: Layer.Layer<VectorIndex, E>): Effect.Effect<ReadonlyArray<Outcome>> =>
  Effect.forEach(cases, (one) =>
    Effect.flatMap(Effect.exit(check(one, layer)), (exit): Effect.Effect<Outcome> => {
      if (Exit.isSuccess(exit)) return Effect.succeed({ name: one.name })
      if (Cause.isInterruptedOnly(exit.cause)) return Effect.interrupt
      return Effect.succeed({ name: one.name, failure: exit.cause })
    })
  )
