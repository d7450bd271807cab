/**
 * The guard pipeline port: all guards of an application or an agent as one service, used by the executor and the tool
 * runner.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Run from "../../observability/Run.js"
import * as Guard from "./Guard.js"
import type { GuardPipelineError } from "./GuardError.js"

/**
 * Text released by a window.
 *
 * @since 0.1.0
 * @category models
 */
export interface Released {
  /** Judged text that was not released before; may be empty. */
  readonly text: string
  /** Findings in it, including warnings. */
  readonly results: ReadonlyArray<Guard.GuardResult>
  /** The text is blocked: nothing at or after the finding is released, now or later. */
  readonly blockingResult?: Guard.GuardResult | undefined
}

/**
 * Judges one text while it is written. Stateful: a window belongs to one text.
 *
 * @since 0.1.0
 * @category models
 */
export interface OutputWindow {
  readonly push: (text: string) => Released
  /** Ends the text and releases what was withheld. The window accepts and releases nothing afterwards. */
  readonly end: () => Released
  /**
   * Calls the hooks of the check once, after the text has ended or was blocked. Before that, and a second time, it does
   * nothing.
   */
  readonly report: Effect.Effect<void>
}

/**
 * Each check returns the results of the guards of its stage. A block is a value, never a failure; a failure means that
 * the text could not be judged and must be withheld. Without guards everything passes unchanged. A check has no effects
 * on state and may be repeated.
 *
 * @since 0.1.0
 * @category models
 */
export interface Service {
  /** Stages with at least one guard; checks at other stages can be skipped. */
  readonly stages: ReadonlySet<Guard.GuardStage>
  /** What a run does when a tool result is blocked, see `Options`; default `withhold`. */
  readonly blockedObservations?: BlockedObservations | undefined
  /** Checks the user's message before anything else reads it. */
  readonly checkInput: (
    content: string,
    context: Guard.CheckContext
  ) => Effect.Effect<Guard.AggregateGuardResult, GuardPipelineError>
  /** Checks the agent's whole answer before anyone reads it. */
  readonly checkOutput: (
    content: string,
    context: Guard.CheckContext
  ) => Effect.Effect<Guard.AggregateGuardResult, GuardPipelineError>
  /**
   * Opens a window that checks an answer while it is written. Absent if some output guard needs the whole text: then
   * nothing may be shown before it was judged. The released pieces together equal what `checkOutput` makes of the whole
   * text. Each guard withholds at most three times the reach of its window, plus a finding that has not ended. The
   * guards report to `run`, if given.
   */
  readonly openOutput?: ((context: Guard.CheckContext, run?: Run.Service | undefined) => OutputWindow) | undefined
  /** Checks the parameters of a tool call as JSON text before the tool runs. */
  readonly checkToolInput: (
    content: string,
    context: Guard.ToolCheckContext
  ) => Effect.Effect<Guard.AggregateGuardResult, GuardPipelineError>
  /** Checks a tool result before the model reads it. */
  readonly checkToolOutput: (
    content: string,
    context: Guard.ToolCheckContext
  ) => Effect.Effect<Guard.AggregateGuardResult, GuardPipelineError>
}

/**
 * @example
 * ```ts
 * import { GuardPipeline } from "effect-lexigram/guard"
 * import * as Effect from "effect/Effect"
 *
 * // The text as the guards leave it; undefined if one blocks it.
 * const checked = (text: string) =>
 *   Effect.gen(function* () {
 *     const guards = yield* GuardPipeline.GuardPipeline
 *     return (yield* guards.checkInput(text, { agent: "import" })).finalContent
 *   })
 * ```
 *
 * @since 0.1.0
 * @category tags
 */
export class GuardPipeline extends Context.Tag("effect-lexigram/guard/GuardPipeline")<GuardPipeline, Service>() {}

/**
 * `withhold`: the model reads that the tool ran, that its result is withheld and that the call must not be repeated,
 * and the run continues. `fail`: the run fails with `ToolObservationBlockedError`.
 *
 * @since 0.1.0
 * @category models
 */
export type BlockedObservations = "withhold" | "fail"

const passes = (content: string): Effect.Effect<Guard.AggregateGuardResult> =>
  Effect.succeed(Guard.aggregate([], content))

const nothing: Released = { text: "", results: [] }

/** Releases every text unchanged. */
const openWindow: OutputWindow = {
  push: (text) => (text.length === 0 ? nothing : { text, results: [] }),
  end: () => nothing,
  report: Effect.void
}

/**
 * No guards: every text passes unchanged.
 *
 * @since 0.1.0
 * @category layers
 */
export const layerNoop: Layer.Layer<GuardPipeline> = Layer.succeed(GuardPipeline, {
  stages: new Set<Guard.GuardStage>(),
  checkInput: passes,
  checkOutput: passes,
  openOutput: () => openWindow,
  checkToolInput: passes,
  checkToolOutput: passes
})
