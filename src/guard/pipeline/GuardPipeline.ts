/**
 * All guards of an application or an agent as one: what the executor and the tool runner ask.
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
 * What may be shown of a text so far.
 *
 * @since 0.1.0
 * @category models
 */
export interface Released {
  /** Text that was judged and was not shown before; may be empty. */
  readonly text: string
  /** What was found in it, warnings included. */
  readonly results: ReadonlyArray<Guard.GuardResult>
  /** The text must not go on: nothing at or after the finding comes out, now or later. */
  readonly blockingResult?: Guard.GuardResult | undefined
}

/**
 * Judges one text as it is written. Stateful: a window belongs to one text.
 *
 * @since 0.1.0
 * @category models
 */
export interface OutputWindow {
  readonly push: (text: string) => Released
  /** The text is whole: what was held back comes out. Nothing is taken or given after this. */
  readonly end: () => Released
  /**
   * Calls the hooks of the check, once; to be run when the text has ended or was blocked. Before that, and a second
   * time, it does nothing.
   */
  readonly report: Effect.Effect<void>
}

/**
 * Every method gives what the guards of its stage found. A block is a value, never a failure; a failure means that the
 * text could not be judged and must be held back. Without guards everything passes unchanged. A check changes nothing
 * and may be repeated.
 *
 * @since 0.1.0
 * @category models
 */
export interface Service {
  /** The stages at which some guard looks: at the others nothing need be asked. */
  readonly stages: ReadonlySet<Guard.GuardStage>
  /** What a run does when what a tool gave back is blocked, see `Options`; default `withhold`. */
  readonly blockedObservations?: BlockedObservations | undefined
  /** The user's message, before anything else reads it. */
  readonly checkInput: (
    content: string,
    context: Guard.CheckContext
  ) => Effect.Effect<Guard.AggregateGuardResult, GuardPipelineError>
  /** The agent's answer, whole, before anybody reads it. */
  readonly checkOutput: (
    content: string,
    context: Guard.CheckContext
  ) => Effect.Effect<Guard.AggregateGuardResult, GuardPipelineError>
  /**
   * The same while the answer is still being written. Absent when some guard of answers needs the whole text: then
   * nothing may be shown before it was judged. What comes out of a window, put together, is what `checkOutput` makes of
   * the whole text. Each guard holds back at most three times the reach of its window, beside a finding that has not
   * ended. `run` is told what the guards do; without one, nobody is.
   */
  readonly openOutput?: ((context: Guard.CheckContext, run?: Run.Service | undefined) => OutputWindow) | undefined
  /** The parameters of a tool call as JSON text, before the tool runs. */
  readonly checkToolInput: (
    content: string,
    context: Guard.ToolCheckContext
  ) => Effect.Effect<Guard.AggregateGuardResult, GuardPipelineError>
  /** What a tool gave back, before the model reads it. */
  readonly checkToolOutput: (
    content: string,
    context: Guard.ToolCheckContext
  ) => Effect.Effect<Guard.AggregateGuardResult, GuardPipelineError>
}

/**
 * @since 0.1.0
 * @category tags
 */
export class GuardPipeline extends Context.Tag("effect-lexigram/guard/GuardPipeline")<GuardPipeline, Service>() {}

/**
 * `withhold`: the model is told that the tool ran, that its result is withheld and that the call must not be repeated,
 * and the run goes on. `fail`: the run fails with `ToolObservationBlockedError`.
 *
 * @since 0.1.0
 * @category models
 */
export type BlockedObservations = "withhold" | "fail"

const passes = (content: string): Effect.Effect<Guard.AggregateGuardResult> =>
  Effect.succeed(Guard.aggregate([], content))

const nothing: Released = { text: "", results: [] }

/** Releases every text as it comes. */
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
