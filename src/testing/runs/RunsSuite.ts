/**
 * The contract of `Runs` as cases that any test runner can register, also for custom runs.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import * as TestClock from "effect/TestClock"
import * as TestContext from "effect/TestContext"
import * as Runs from "../../agent/runs/Runs.js"
import * as PendingApprovals from "../../tool/approval/PendingApprovals.js"
import * as Answer from "./RunsAnswerCases.js"
import * as RunsCase from "./RunsCase.js"
import * as ClientTool from "./RunsClientToolCases.js"
import * as Control from "./RunsControlCases.js"
import * as Events from "./RunsEventCases.js"
import * as Policy from "./RunsPolicyCases.js"
import * as Start from "./RunsStartCases.js"

/**
 * One promise of the port and its test: a broken promise fails, or dies with an error that says what was expected.
 *
 * @since 0.1.0
 * @category models
 */
export type Case = RunsCase.Case

/**
 * The agents that the runs of a case are of, and their model.
 *
 * @since 0.1.0
 * @category models
 */
export type Given = RunsCase.Given

/**
 * The cases of runs with these capabilities.
 *
 * @since 0.1.0
 * @category constructors
 */
export const cases = (capabilities: Runs.Service["capabilities"]): ReadonlyArray<Case> => [
  ...Start.cases,
  ...Events.cases,
  ...Control.cases,
  ...Policy.cases,
  ...ClientTool.cases,
  ...Answer.cases,
  ...Control.capabilities(capabilities)
]

/**
 * Runs one case on runs of its own: the layer is built for it under a `TestClock` and released afterwards. It must
 * build runs of the given agents on the given model, without records and events, with steering, and the approvals that
 * these runs ask. Text of the model must be streamed.
 *
 * @example
 * ```ts
 * import { RunsSuite } from "effect-lexigram/testing"
 * import type { Runs } from "effect-lexigram/agent"
 * import type { PendingApprovals } from "effect-lexigram/tool"
 * import * as Effect from "effect/Effect"
 * import type * as Layer from "effect/Layer"
 *
 * declare const test: (name: string, run: () => Promise<void>) => void
 * declare const mine: (given: RunsSuite.Given) => Layer.Layer<Runs.Runs | PendingApprovals.PendingApprovals>
 *
 * for (const one of RunsSuite.cases({ resume: false, fork: false })) {
 *   test(one.name, () => Effect.runPromise(RunsSuite.check(one, mine)))
 * }
 * ```
 *
 * @since 0.1.0
 * @category combinators
 */
export const check = <E>(
  one: Case,
  layer: (given: Given) => Layer.Layer<Runs.Runs | PendingApprovals.PendingApprovals, E>
): Effect.Effect<void, unknown> =>
  Effect.gen(function* () {
    // Sets the clock before the layer can wait for it.
    yield* TestClock.setTime(RunsCase.epoch)
    const { controls, given } = yield* RunsCase.prepare
    yield* Effect.provide(
      Effect.gen(function* () {
        const runs = yield* Runs.Runs
        const approvals = yield* PendingApprovals.PendingApprovals
        yield* one.body({ ...controls, runs, approvals })
      }),
      layer(given)
    )
  }).pipe(Effect.provide(TestContext.TestContext))
