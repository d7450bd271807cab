/**
 * What every `FactStore` must do, for stores of your own: cases that any runner of tests can register.
 *
 * @since 0.1.0
 */
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as Layer from "effect/Layer"
import * as TestClock from "effect/TestClock"
import * as TestContext from "effect/TestContext"
import type { FactStore } from "../memory/FactStore.js"
import type * as FactStoreCase from "./FactStoreCase.js"
import { epoch } from "./FactStoreCase.js"
import * as History from "./FactStoreHistoryCases.js"
import * as Query from "./FactStoreQueryCases.js"

/**
 * One promise of the port, and how it is tried: a case that does not hold fails, or dies with an error that says what was expected.
 *
 * @since 0.1.0
 * @category models
 */
export type Case = FactStoreCase.Case

/**
 * All cases. Each wants an empty store with the standard options, and time that it can move: see `check`.
 *
 * @since 0.1.0
 * @category constants
 */
export const cases: ReadonlyArray<Case> = [...History.cases, ...Query.cases]

/**
 * One case on a store of its own: the layer is built for it, under a `TestClock`, and released afterwards. What it builds must be empty.
 *
 * @example
 * ```ts
 * import { FactStoreSuite } from "effect-lexigram/testing"
 * import type { FactStore } from "effect-lexigram/memory"
 * import * as Effect from "effect/Effect"
 * import type * as Layer from "effect/Layer"
 *
 * declare const test: (name: string, run: () => Promise<void>) => void
 * declare const mine: Layer.Layer<FactStore.FactStore>
 *
 * for (const one of FactStoreSuite.cases) {
 *   test(one.name, () => Effect.runPromise(FactStoreSuite.check(one, mine)))
 * }
 * ```
 *
 * @since 0.1.0
 * @category combinators
 */
export const check = <E>(one: Case, layer: Layer.Layer<FactStore, E>): Effect.Effect<void, unknown> =>
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
export const run = <E>(layer: Layer.Layer<FactStore, E>): Effect.Effect<ReadonlyArray<Outcome>> =>
  Effect.forEach(cases, (one) =>
    Effect.flatMap(Effect.exit(check(one, layer)), (exit): Effect.Effect<Outcome> => {
      if (Exit.isSuccess(exit)) return Effect.succeed({ name: one.name })
      if (Cause.isInterruptedOnly(exit.cause)) return Effect.interrupt
      return Effect.succeed({ name: one.name, failure: exit.cause })
    })
  )
