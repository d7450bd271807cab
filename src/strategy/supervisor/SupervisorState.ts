/**
 * The options of the supervisor and the state of its graph.
 *
 * @private
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"
import { FinishReason, PlanStep } from "../../domain/AgentEvent.js"
import type * as LlmClient from "../../llm/model/LlmClient.js"
import type * as Tool from "../../tool/definition/Tool.js"
import type * as Reasoning from "../definition/Reasoning.js"
import type { Answer } from "../definition/Strategy.js"
import type * as LoopTurn from "../reasoning/LoopTurn.js"
import * as Progress from "../reasoning/Progress.js"
import type * as ToolLoop from "../reasoning/ToolLoop.js"

/**
 * The name in the registry.
 *
 * @since 0.1.0
 * @category constants
 */
export const NAME = "supervisor"

/**
 * The pattern's name in the prompt library.
 *
 * @since 0.1.0
 * @category constants
 */
export const PATTERN = "SupervisorAgent"

/**
 * Prefix of the names of tools that are agents.
 *
 * @since 0.1.0
 * @category constants
 */
export const PREFIX = "delegate_to_"

/**
 * @since 0.1.0
 * @category models
 */
export interface Options extends Omit<Reasoning.Options, "format"> {
  /**
   * `native` (default): the model uses the provider's tool calls, several at once if it wants, and reviews as JSON.
   * `text`: it writes `THOUGHT / ACTION / ACTION_INPUT / FINAL_ANSWER`, one action per step, and reviews as text.
   */
  readonly format?: "native" | "text" | undefined
  /** Whether calls are read from the text of a model with native tools, as in `ToolLoop.LoopOptions`. */
  readonly textCalls?: ToolLoop.LoopOptions["textCalls"]
  /**
   * Maximum number of delegations, including failed ones; default 5. Further ones in the same turn are refused, and the
   * model is told.
   */
  readonly maxDelegations?: number | undefined
  /**
   * Maximum number of reviews; default 3. Without reviews left, the supervisor itself decides when the reports suffice.
   */
  readonly maxReviews?: number | undefined
  /** Maximum number of turns of the supervisor; default that of the agent, then 10. */
  readonly maxIterations?: number | undefined
  /** How many consecutive steps may show the same results, as in `ToolLoop.LoopOptions`. */
  readonly noProgressAfter?: ToolLoop.LoopOptions["noProgressAfter"]
  /** Maximum number of calls of one turn that run, as in `ToolLoop.LoopOptions`. */
  readonly maxCallsPerTurn?: number | undefined
  /**
   * If delegations or turns run out, or the supervisor goes in circles: fail (default), or answer from the available
   * reports, marked `limit`.
   */
  readonly onLimit?: "fail" | "answer" | undefined
  /** Recognizes the tools that are agents. Default: tools whose name begins with `delegate_to_`. */
  readonly isDelegate?: ((tool: Tool.Any) => boolean) | undefined
}

/**
 * The report of an agent or the result of another tool. Only `completed` work is done.
 *
 * @since 0.1.0
 * @category schemas
 */
export const Result = Schema.Struct({
  id: Schema.String,
  delegation: Schema.Boolean,
  /** The tool's name. */
  by: Schema.String,
  request: Schema.Unknown,
  status: Schema.Literal("completed", "failed", "refused"),
  text: Schema.String
})
/**
 * @since 0.1.0
 * @category models
 */
export interface Result extends Schema.Schema.Type<typeof Result> {}

const data = <A>(): Schema.Schema<A> => Schema.Unknown as unknown as Schema.Schema<A>

/**
 * The state of a run. `messages` is the conversation in which it assesses.
 *
 * @since 0.1.0
 * @category schemas
 */
export const State = Schema.Struct({
  messages: Schema.Array(data<LlmClient.Message>()),
  /** The step of the last turn. */
  step: Schema.Number,
  turns: Schema.Number,
  /** The meaning of the last reply. */
  turn: data<LoopTurn.Turn>(),
  results: Schema.Array(Result),
  /** The delegations as a plan. */
  plan: Schema.Array(PlanStep),
  /** The number of delegations begun. */
  delegations: Schema.Number,
  /** The number of delegations of the last turn, which are not reviewed yet. */
  unreviewed: Schema.Number,
  reviews: Schema.Number,
  circles: Progress.Circles,
  verdict: Schema.Literal("none", "done", "more"),
  reason: FinishReason,
  answer: data<Answer | null>()
})
/**
 * @since 0.1.0
 * @category models
 */
export type State = typeof State.Type

/**
 * The nodes of its graph.
 *
 * @since 0.1.0
 * @category models
 */
export type Node = "assess" | "delegate" | "review" | "decide"

/** The initial state. */
export const initial: State = {
  messages: [],
  step: 0,
  turns: 0,
  turn: { _tag: "Continues", messages: [] },
  results: [],
  plan: [],
  delegations: 0,
  unreviewed: 0,
  reviews: 0,
  circles: Progress.empty,
  verdict: "none",
  reason: "completed",
  answer: null
}
