/**
 * What every `MemoryStore` must do, for stores of your own: cases that any runner of tests can register.
 *
 * @since 0.1.0
 */
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as Layer from "effect/Layer"
import * as TestClock from "effect/TestClock"
import * as TestContext from "effect/TestContext"
import type { MemoryStore } from "../memory/MemoryStore.js"
import type * as MemoryStoreCase from "./MemoryStoreCase.js"
import { epoch } from "./MemoryStoreCase.js"
import * as Keeping from "./MemoryStoreKeepingCases.js"
import * as Model from "./MemoryStoreModelCase.js"
import * as Owners from "./MemoryStoreOwnerCases.js"
import * as Results from "./MemoryStoreResultCases.js"
import * as Search from "./MemoryStoreSearchCases.js"
import * as Selections from "./MemoryStoreSelectionCases.js"
import * as Times from "./MemoryStoreTimeCases.js"

/**
 * One promise of the port, and how it is tried: a case that does not hold fails, or dies with an error that says what was expected.
 *
 * @since 0.1.0
 * @category models
 */
export type Case = MemoryStoreCase.Case

/**
 * All cases. Each wants an empty store, and time that it can move: see `check`.
 *
 * @since 0.1.0
 * @category constants
 */
export const cases: ReadonlyArray<Case> = [
  ...Owners.cases,
  ...Keeping.cases,
  ...Times.cases,
  ...Selections.cases,
  ...Search.cases,
  ...Results.cases,
  ...Model.cases
]

/**
 * One case on a store of its own: the layer is built for it, under a `TestClock`, and released afterwards. What it builds must be empty;
 * what expires must expire by `Clock`.
 *
 * @example
 * ```ts
 * import { MemoryStoreSuite } from "effect-lexigram/testing"
 * import type { MemoryStore } from "effect-lexigram/memory"
 * import * as Effect from "effect/Effect"
 * import type * as Layer from "effect/Layer"
 *
 * declare const test: (name: string, run: () => Promise<void>) => void
 * declare const mine: Layer.Layer<MemoryStore.MemoryStore>
 *
 * for (const one of MemoryStoreSuite.cases) {
 *   test(one.name, () => Effect.runPromise(MemoryStoreSuite.check(one, mine)))
 * }
 * ```
 *
 * @since 0.1.0
 * @category combinators
 */
export const check = <E>(one: Case, layer: Layer.Layer<MemoryStore, E>): Effect.Effect<void, unknown> =>
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
export const run = <E>(layer: Layer.Layer<MemoryStore, E>): Effect.Effect<ReadonlyArray<Outcome>> =>
  Effect.forEach(cases, (one) =>
    Effect.flatMap(Effect.exit(check(one, layer)), (exit): Effect.Effect<Outcome> => {
      if (Exit.isSuccess(exit)) return Effect.succeed({ name: one.name })
      if (Cause.isInterruptedOnly(exit.cause)) return Effect.interrupt
      return Effect.succeed({ name: one.name, failure: exit.cause })
    })
  )
