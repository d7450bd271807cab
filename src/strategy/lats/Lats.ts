/**
 * Language agent tree search (Zhou, Yan, Shlapentokh-Rothman, Wang, Wang 2023, "Language Agent Tree Search Unifies
 * Reasoning, Acting and Planning in Language Models", arXiv 2310.04406): Monte Carlo tree search over actions that
 * really run.
 *
 * @since 0.1.0
 */

import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { FinishReason } from "../../domain/AgentEvent.js"
import * as StateGraph from "../../graph/StateGraph.js"
import type { LlmError } from "../../llm/model/LlmError.js"
import type { Fatality } from "../../tool/ToolRunner.js"
import type * as Reasoning from "../definition/Reasoning.js"
import type * as Strategy from "../definition/Strategy.js"
import type {
  MaxIterationsExceededError,
  StrategyConfigurationError,
  StrategyReplyError
} from "../definition/StrategyError.js"
import * as GraphStrategy from "../reasoning/GraphStrategy.js"
import * as LatsReply from "./LatsReply.js"
import * as LatsSearch from "./LatsSearch.js"
import * as SearchTree from "./SearchTree.js"

/**
 * The name in the registry.
 *
 * @since 0.1.0
 * @category constants
 */
export const NAME = "lats"

/**
 * @since 0.1.0
 * @category constants
 */
export const PAPER = "Zhou et al. 2023, Language Agent Tree Search (arXiv 2310.04406)"

/**
 * Its name in the prompt library.
 *
 * @since 0.1.0
 * @category constants
 */
export const PATTERN = "LATSAgent"

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
export const Action = LatsReply.Action
/**
 * @since 0.1.0
 * @category models
 */
export interface Action extends LatsReply.Action {}

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

/**
 * @since 0.1.0
 * @category models
 */
export type NodeName =
  | "select_node"
  | "expand_node"
  | "evaluate_node"
  | "backpropagate"
  | "reflect"
  | "choose_best_path"
  | "generate_final_output"

type Failure = LlmError | Fatality | StrategyReplyError | StrategyConfigurationError | MaxIterationsExceededError

/**
 * The search as a graph.
 *
 * A round (an iteration) selects the leaf with the highest UCB1, samples `numExpansions` actions there, carries them
 * out, has each judged and adds the outcome to all states above. Final answers end a path, and one that solves the task
 * ends the search. A path that failed is never selected again, nor a state that only such paths leave; when none is
 * left, the search has ended as well.
 *
 * Model calls: without `rollout` at most `iterations × (samples + evaluations) + reflections + final`, where samples
 * are `numExpansions` (`together`: 1), evaluations the distinct actions among them (none where `evaluate` judges),
 * reflections the failed paths (at most `maxReflections` a round, none in the last one), and final is 1 where the best
 * path holds no answer, else 0. With `rollout` a round has up to `maxDepth` such expansions, and on average as many as
 * its paths are long. Never more than `maxModelCalls`, 60 unless set.
 *
 * @since 0.1.0
 * @category constructors
 */
export const definition = <E = never, R = never>(
  options: Options<E, R> = {}
): GraphStrategy.GraphDefinition<NodeName, State, typeof State.Encoded, Failure | E, Reasoning.Reasoning | R> => {
  const settings = LatsSearch.resolve(NAME, options)
  const checkBudget = (state: State): "choose_best_path" | "select_node" =>
    LatsSearch.isOver(settings, state) ? "choose_best_path" : "select_node"
  return {
    name: NAME,
    options,
    graph: StateGraph.make({
      name: NAME,
      state: State,
      nodes: {
        select_node: LatsSearch.selectNode(settings),
        expand_node: LatsSearch.expandNode(settings),
        evaluate_node: LatsSearch.evaluateNode(settings),
        backpropagate: LatsSearch.backpropagate(settings),
        reflect: LatsSearch.reflect(settings),
        choose_best_path: LatsSearch.chooseBestPath,
        generate_final_output: LatsSearch.generateFinalOutput(settings)
      },
      start: "select_node",
      edges: {
        select_node: "expand_node",
        expand_node: "evaluate_node",
        evaluate_node: {
          to: ["expand_node", "backpropagate"],
          labels: { expand_node: "the simulation goes on", backpropagate: "it ended" },
          when: (state) => (state.simulating ? "expand_node" : "backpropagate")
        },
        backpropagate: {
          to: ["select_node", "reflect", "choose_best_path"],
          labels: {
            select_node: "budget left",
            reflect: "a failure to learn from",
            choose_best_path: "solved or no budget left"
          },
          when: (state) => {
            const next = checkBudget(state)
            return next === "select_node" && LatsSearch.lessons(settings, state) > 0 ? "reflect" : next
          }
        },
        reflect: {
          to: ["select_node", "choose_best_path"],
          labels: { select_node: "budget left", choose_best_path: "solved or no budget left" },
          when: checkBudget
        },
        choose_best_path: "generate_final_output",
        generate_final_output: StateGraph.END
      },
      reducers: { tree: SearchTree.merge }
    }),
    start: (task) => LatsSearch.start(options.maxIterations ?? task.limits.maxIterations),
    answer: (state) =>
      state.final === null ? Effect.dieMessage("Lats: the graph ended without an answer") : Effect.succeed(state.final)
  }
}

/**
 * @since 0.1.0
 * @category constructors
 */
export const make = <E = never, R = never>(options: Options<E, R> = {}): Strategy.Strategy<E, R> =>
  GraphStrategy.make(definition(options)) as Strategy.Strategy<any, any>
