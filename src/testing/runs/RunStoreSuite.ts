/**
 * The contract of `RunStore` as cases that any test runner can register, also for custom stores.
 *
 * @since 0.1.0
 */
import type { RunStore } from "../../agent/record/RunStore.js"
import * as PortSuite from "../suite/PortSuite.js"
import type * as RunStoreCase from "./RunStoreCase.js"
import { epoch } from "./RunStoreCase.js"
import * as Keeping from "./RunStoreKeepingCases.js"
import * as List from "./RunStoreListCases.js"

/**
 * One promise of the port and its test: a broken promise fails, or dies with an error that says what was expected.
 *
 * @since 0.1.0
 * @category models
 */
export type Case = RunStoreCase.Case

/**
 * All cases. Each requires an empty store that keeps at least 1,000 ended runs.
 *
 * @since 0.1.0
 * @category constants
 */
export const cases: ReadonlyArray<Case> = [...Keeping.cases, ...List.cases]

const suite = PortSuite.make<RunStore>(cases, { epoch })

/**
 * Runs one case on a store of its own: the layer is built for it under a `TestClock` and released afterwards. The layer
 * must build an empty store.
 *
 * @example
 * ```ts
 * import { RunStoreSuite } from "effect-lexigram/testing"
 * import type { RunStore } from "effect-lexigram/agent"
 * import * as Effect from "effect/Effect"
 * import type * as Layer from "effect/Layer"
 *
 * declare const test: (name: string, run: () => Promise<void>) => void
 * declare const mine: Layer.Layer<RunStore.RunStore>
 *
 * for (const one of RunStoreSuite.cases) {
 *   test(one.name, () => Effect.runPromise(RunStoreSuite.check(one, mine)))
 * }
 * ```
 *
 * @since 0.1.0
 * @category combinators
 */
export const check: PortSuite.Check<RunStore> = suite.check

/**
 * Runs every case in sequence. A broken promise is an outcome, not a failure.
 *
 * @since 0.1.0
 * @category combinators
 */
export const run: PortSuite.Run<RunStore> = suite.run
