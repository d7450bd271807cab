/**
 * The options of tree search and the state of its graph.
 *
 * @since 0.1.0
 * @private
 */

import type * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { FinishReason } from "../../domain/AgentEvent.js"
import type * as Reasoning from "../definition/Reasoning.js"
import type * as Strategy from "../definition/Strategy.js"
import * as LatsAction from "./LatsAction.js"
import * as LatsReply from "./LatsReply.js"
import * as SearchTree from "./SearchTree.js"

/**
 * The verdict of an evaluator on a state. `solved` ends the search. Default: true for a final answer whose value
 * reaches `successThreshold`.
 *
 * @since 0.1.0
 * @category schemas
 */
export const Verdict = LatsReply.Verdict
/**
 * @since 0.1.0
 * @category models
 */
export interface Verdict extends Schema.Schema.Type<typeof Verdict> {}

/**
 * An action: a step of reasoning, a tool call with its observation, or a final answer.
 *
 * @since 0.1.0
 * @category schemas
 */
export const Action = LatsAction.Action
/**
 * @since 0.1.0
 * @category models
 */
export interface Action extends LatsAction.Action {}

/**
 * A state as an evaluator sees it: the actions that led to it, including the last one.
 *
 * @since 0.1.0
 * @category models
 */
export interface Candidate {
  readonly path: ReadonlyArray<Action>
  readonly action: Action
  readonly depth: number
  /** A final answer, or the end of a path of maximum length. */
  readonly terminal: boolean
}

/**
 * @since 0.1.0
 * @category models
 */
export interface Options<E = never, R = never> extends Reasoning.Options {
  /** Maximum rounds of selection, expansion, evaluation and backpropagation; default that of the agent, then 10. */
  readonly maxIterations?: number | undefined
  /** Actions sampled from one state; default 3. */
  readonly numExpansions?: number | undefined
  /**
   * `each` (default): every action is sampled separately, as in the paper, and equal samples give an action more
   * weight. `together`: one call proposes all actions, which is cheaper, but samples cannot agree.
   */
  readonly sampling?: "each" | "together" | undefined
  /**
   * `written` (default): actions are structured replies. `native`: actions are the provider's tool calls, if there are
   * tools; text is the answer.
   */
  readonly actions?: "written" | "native" | undefined
  /** Temperature of the samples; default 1. Without variety there is nothing to search. */
  readonly temperature?: number | undefined
  /** The weight of exploration in UCB1; default 1.41. */
  readonly explorationWeight?: number | undefined
  /**
   * Maximum number of actions on one path; default 7. The last one must be an answer, otherwise the path has failed.
   */
  readonly maxDepth?: number | undefined
  /**
   * The paper's λ: a value is λ times the score of the model plus 1 - λ times the share of samples that agreed on the
   * action. Default 0.5, as in the paper for questions and for the Game of 24.
   */
  readonly valueWeight?: number | undefined
  /** The minimum score with which a final answer solves the task; default 1. */
  readonly successThreshold?: number | undefined
  /**
   * Whether a round continues from its best child, level by level, until a path ends (the paper's simulation; default
   * true). The outcome of the path is then backpropagated. Without it a round is one expansion, and the value of each
   * child is backpropagated.
   */
  readonly rollout?: boolean | undefined
  /** Maximum number of lessons of failed paths kept and shown to the model, the latest ones; default 3, 0 for none. */
  readonly maxReflections?: number | undefined
  /** Maximum number of model calls, including retries; default 60. One of them is kept for the answer. */
  readonly maxModelCalls?: number | undefined
  /**
   * Brings the world of the tools to the state after exactly the actions of `path`: before each call, and for the best
   * path at the end. Calls then run one at a time. Without it, a search whose task has a tool that is neither
   * `readOnly` nor `idempotent` fails before its first model call, because such a tool would repeat its effect.
   */
  readonly reset?: ((path: ReadonlyArray<Action>, task: Strategy.Task) => Effect.Effect<void, E, R>) | undefined
  /** If no answer solved the task: the best one (default), marked `limit`, or `MaxIterationsExceededError`. */
  readonly onLimit?: "answer" | "fail" | undefined
  /**
   * Judges states instead of the model, for example by the environment. Its value is used as it is; for `undefined` the
   * model judges.
   */
  readonly evaluate?:
    | ((candidate: Candidate, task: Strategy.Task) => Effect.Effect<Verdict | undefined, E, R>)
    | undefined
}

/**
 * The data of a state in the tree: the action that led to it (none at the root) and its evaluation.
 *
 * @since 0.1.0
 * @category schemas
 */
export const Move = Schema.Struct({
  action: Schema.NullOr(Action),
  /** The share of samples that proposed it. */
  share: Schema.Number,
  score: Schema.NullOr(Schema.Number),
  critique: Schema.String,
  solved: Schema.Boolean
})
/**
 * @since 0.1.0
 * @category models
 */
export interface Move extends Schema.Schema.Type<typeof Move> {}

const Final = Schema.Struct({
  text: Schema.String,
  reason: FinishReason,
  output: Schema.optional(Schema.Unknown),
  messages: Schema.Array(Schema.Any)
})

/**
 * The state of the graph. Updates of `tree` contain the changed nodes.
 *
 * @since 0.1.0
 * @category schemas
 */
export const State = Schema.Struct({
  tree: SearchTree.schema(Move),
  maxIterations: Schema.Number,
  iterations: Schema.Number,
  modelCalls: Schema.Number,
  /** The node to expand. */
  current: Schema.Number,
  /** The children of the last expansion. */
  expanded: Schema.Array(Schema.Number),
  /** Whether the round continues from `current`, a child of the last expansion. */
  simulating: Schema.Boolean,
  /** Paths of this round that ended without solving the task. */
  failed: Schema.Array(Schema.Number),
  reflections: Schema.Array(Schema.String),
  solved: Schema.NullOr(Schema.Number),
  best: Schema.Number,
  final: Schema.NullOr(Final)
})
/**
 * @since 0.1.0
 * @category models
 */
export interface State extends Schema.Schema.Type<typeof State> {}
