/**
 * The contract of `VectorIndex` as cases that any test runner can register, also for custom indexes.
 *
 * @since 0.1.0
 */
import type { VectorIndex } from "../../memory/search/VectorIndex.js"
import * as PortSuite from "../suite/PortSuite.js"
import type * as VectorIndexCase from "./VectorIndexCase.js"
import { epoch } from "./VectorIndexCase.js"
import * as Keeping from "./VectorIndexKeepingCases.js"
import * as Search from "./VectorIndexSearchCases.js"

/**
 * One promise of the port and its test: a broken promise fails, or dies with an error that says what was expected.
 *
 * @since 0.1.0
 * @category models
 */
export type Case = VectorIndexCase.Case

/**
 * All cases. Each requires an empty index of at least four dimensions and a clock that it can move: see `check`.
 *
 * @since 0.1.0
 * @category constants
 */
export const cases: ReadonlyArray<Case> = [...Keeping.cases, ...Search.cases]

const suite = PortSuite.make<VectorIndex>(cases, { epoch })

/**
 * Runs one case on an index of its own: the layer is built for it under a `TestClock` and released afterwards. The
 * layer must build an empty index whose items expire by `Clock`.
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
export const check: PortSuite.Check<VectorIndex> = suite.check

/**
 * Runs every case in sequence. A broken promise is an outcome, not a failure.
 *
 * @since 0.1.0
 * @category combinators
 */
export const run: PortSuite.Run<VectorIndex> = suite.run
