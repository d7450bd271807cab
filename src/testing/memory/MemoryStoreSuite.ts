/**
 * The contract of `MemoryStore` as cases that any test runner can register, also for custom stores.
 *
 * @since 0.1.0
 */
import type { MemoryStore } from "../../memory/search/MemoryStore.js"
import * as PortSuite from "../suite/PortSuite.js"
import type * as MemoryStoreCase from "./MemoryStoreCase.js"
import { epoch } from "./MemoryStoreCase.js"
import * as Keeping from "./MemoryStoreKeepingCases.js"
import * as Model from "./MemoryStoreModelCase.js"
import * as Orders from "./MemoryStoreOrderCases.js"
import * as Owners from "./MemoryStoreOwnerCases.js"
import * as Results from "./MemoryStoreResultCases.js"
import * as Search from "./MemoryStoreSearchCases.js"
import * as Selections from "./MemoryStoreSelectionCases.js"
import * as Times from "./MemoryStoreTimeCases.js"

/**
 * One promise of the port and its test: a broken promise fails, or dies with an error that says what was expected.
 *
 * @since 0.1.0
 * @category models
 */
export type Case = MemoryStoreCase.Case

/**
 * All cases. Each requires an empty store and a clock that it can move: see `check`.
 *
 * @since 0.1.0
 * @category constants
 */
export const cases: ReadonlyArray<Case> = [
  ...Owners.cases,
  ...Keeping.cases,
  ...Times.cases,
  ...Orders.cases,
  ...Selections.cases,
  ...Search.cases,
  ...Results.cases,
  ...Model.cases
]

const suite = PortSuite.make<MemoryStore>(cases, { epoch })

/**
 * Runs one case on a store of its own: the layer is built for it under a `TestClock` and released afterwards. The layer
 * must build an empty store whose entries expire by `Clock`.
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
export const check: PortSuite.Check<MemoryStore> = suite.check

/**
 * Runs every case in sequence. A broken promise is an outcome, not a failure.
 *
 * @since 0.1.0
 * @category combinators
 */
export const run: PortSuite.Run<MemoryStore> = suite.run
