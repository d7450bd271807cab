/**
 * The options of tree search and the state of its graph.
 *
 * @since 0.1.0
 * @internal
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
 * What an evaluator says of a state. `solved` ends the search, whatever the state is; unset, it is a final answer whose
 * value reaches `successThreshold`.
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
 * An action: a step of reasoning, a call of a tool with what it showed, or a final answer.
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
 * A state as an evaluator sees it: the actions that led there, the last one among them.
 *
 * @since 0.1.0
 * @category models
 */
export interface Candidate {
  readonly path: ReadonlyArray<Action>
  readonly action: Action
  readonly depth: number
  /** A final answer, or the end of a path that may not grow any longer. */
  readonly terminal: boolean
}

/**
 * @since 0.1.0
 * @category models
 */
export interface Options<E = never, R = never> extends Reasoning.Options {
  /** Rounds of selection, expansion, evaluation and backpropagation at most; default that of the agent, then 10. */
  readonly maxIterations?: number | undefined
  /** Actions sampled from one state; default 3. */
  readonly numExpansions?: number | undefined
  /**
   * `each` (default): every action is a sample of its own, as in the paper, and samples that agree are one action of
   * more weight. `together`: one call proposes them all, which is cheaper and leaves nothing to agree on.
   */
  readonly sampling?: "each" | "together" | undefined
  /**
   * `written` (default): actions are structured replies. `native`: the provider's tool calls, where there are tools;
   * text is the answer.
   */
  readonly actions?: "written" | "native" | undefined
  /** Of the samples: without variety there is nothing to search; default 1. */
  readonly temperature?: number | undefined
  /** The weight of exploration in UCB1; default 1.41. */
  readonly explorationWeight?: number | undefined
  /** Actions on one path at most; default 7. The last one has to be an answer; if it is not, the path has failed. */
  readonly maxDepth?: number | undefined
  /**
   * The paper's λ: a value is λ times the score of the model plus 1 - λ times the share of the samples that agreed on
   * the action. Default 0.5, as in the paper for questions and for the Game of 24.
   */
  readonly valueWeight?: number | undefined
  /** The score from which on a final answer solves the task; default 1. */
  readonly successThreshold?: number | undefined
  /**
   * Whether a round goes on from its best child, level by level, until a path ends (the paper's simulation; default
   * true): the outcome of the path is then what its nodes learn. Without it a round is one expansion, and the value of
   * each child is.
   */
  readonly rollout?: boolean | undefined
  /** Lessons of failed paths that are kept and shown to the model, the latest; default 3, 0 for none. */
  readonly maxReflections?: number | undefined
  /** Model calls at most, each retry counted; default 60. One of them is kept for the answer. */
  readonly maxModelCalls?: number | undefined
  /**
   * Brings the world of the tools to where exactly the actions of `path` have been done: before each call, and for the
   * best path at the end. Calls then run one after another. Without it a search whose task has a tool that is neither
   * `readOnly` nor `idempotent` fails before its first model call: such a tool would do again and again what it does.
   */
  readonly reset?: ((path: ReadonlyArray<Action>, task: Strategy.Task) => Effect.Effect<void, E, R>) | undefined
  /** When no answer solved the task: the best one (default), marked `limit`, or `MaxIterationsExceededError`. */
  readonly onLimit?: "answer" | "fail" | undefined
  /**
   * Judges states in the place of the model: an environment that knows. Its value is taken as it is; where it gives
   * `undefined`, the model judges.
   */
  readonly evaluate?:
    | ((candidate: Candidate, task: Strategy.Task) => Effect.Effect<Verdict | undefined, E, R>)
    | undefined
}

/**
 * What the tree holds of a state: the action that led there (none at the root), and how it was judged.
 *
 * @since 0.1.0
 * @category schemas
 */
export const Move = Schema.Struct({
  action: Schema.NullOr(Action),
  /** Of the samples, those that proposed it. */
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
 * The state of the graph. Updates of `tree` hold the nodes that changed.
 *
 * @since 0.1.0
 * @category schemas
 */
export const State = Schema.Struct({
  tree: SearchTree.schema(Move),
  maxIterations: Schema.Number,
  iterations: Schema.Number,
  modelCalls: Schema.Number,
  /** The node to be expanded. */
  current: Schema.Number,
  /** The children of the last expansion. */
  expanded: Schema.Array(Schema.Number),
  /** The round goes on from `current`, a child of the last expansion. */
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
