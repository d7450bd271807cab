/**
 * What every `MemoryStore` must do, for stores of your own: cases that any runner of tests can register.
 *
 * @since 0.1.0
 */
import type { MemoryStore } from "../../memory/search/MemoryStore.js"
import * as PortSuite from "../suite/PortSuite.js"
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
 * One promise of the port, and how it is tried: a case that does not hold fails, or dies with an error that says what
 * was expected.
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

const suite = PortSuite.make<MemoryStore>(cases, { epoch })

/**
 * One case on a store of its own: the layer is built for it, under a `TestClock`, and released afterwards. What it
 * builds must be empty; what expires must expire by `Clock`.
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
 * Every case, one after the other. A case that does not hold is an outcome, not a failure.
 *
 * @since 0.1.0
 * @category combinators
 */
export const run: PortSuite.Run<MemoryStore> = suite.run
