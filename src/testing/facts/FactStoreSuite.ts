/**
 * The contract of `FactStore` as cases that any test runner can register, also for custom stores.
 *
 * @since 0.1.0
 */
import type { FactStore } from "../../memory/facts/FactStore.js"
import * as PortSuite from "../suite/PortSuite.js"
import type * as FactStoreCase from "./FactStoreCase.js"
import { epoch } from "./FactStoreCase.js"
import * as History from "./FactStoreHistoryCases.js"
import * as Way from "./FactStoreLineageCases.js"
import * as Query from "./FactStoreQueryCases.js"

/**
 * One promise of the port and its test: a broken promise fails, or dies with an error that says what was expected.
 *
 * @since 0.1.0
 * @category models
 */
export type Case = FactStoreCase.Case

/**
 * All cases. Each requires an empty store with the default options and a clock that it can move: see `check`.
 *
 * @since 0.1.0
 * @category constants
 */
export const cases: ReadonlyArray<Case> = [...History.cases, ...Query.cases, ...Way.cases]

const suite = PortSuite.make<FactStore>(cases, { epoch })

/**
 * Runs one case on a store of its own: the layer is built for it under a `TestClock` and released afterwards. The layer
 * must build an empty store.
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
export const check: PortSuite.Check<FactStore> = suite.check

/**
 * Runs every case in sequence. A broken promise is an outcome, not a failure.
 *
 * @since 0.1.0
 * @category combinators
 */
export const run: PortSuite.Run<FactStore> = suite.run
