/**
 * Language agent tree search (Zhou, Yan, Shlapentokh-Rothman, Wang, Wang 2023, "Language Agent Tree Search Unifies
 * Reasoning, Acting and Planning in Language Models", arXiv 2310.04406): Monte Carlo tree search over actions that
 * really run.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
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
import * as LatsEvaluation from "./LatsEvaluation.js"
import * as LatsExpansion from "./LatsExpansion.js"
import * as LatsSearch from "./LatsSearch.js"
import * as LatsSettings from "./LatsSettings.js"
import { type Options, State } from "./LatsState.js"
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
 * The pattern's name in the prompt library.
 *
 * @since 0.1.0
 * @category constants
 */
export const PATTERN = "LATSAgent"

export {
  Action,
  type Candidate,
  Move,
  type Options,
  State,
  Verdict
} from "./LatsState.js"

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
 * out, has each judged and adds the outcome to all ancestors. Final answers end a path; one that solves the task ends
 * the search. A failed path is never selected again, nor a state whose paths have all failed; when none is left, the
 * search ends as well.
 *
 * Model calls: without `rollout` at most `iterations × (samples + evaluations) + reflections + final`. Samples are
 * `numExpansions` (`together`: 1). Evaluations are the distinct actions among them (none where `evaluate` judges).
 * Reflections are the failed paths (at most `maxReflections` per round, none in the last one). `final` is 1 if the best
 * path has no answer, else 0. With `rollout` a round has up to `maxDepth` such expansions, on average as many as its
 * paths are long. Never more than `maxModelCalls`, default 60.
 *
 * @since 0.1.0
 * @category constructors
 */
export const definition = <E = never, R = never>(
  options: Options<E, R> = {}
): GraphStrategy.GraphDefinition<NodeName, State, typeof State.Encoded, Failure | E, Reasoning.Reasoning | R> => {
  const settings = LatsSettings.resolve(NAME, options)
  const checkBudget = (state: State): "choose_best_path" | "select_node" =>
    LatsSettings.isOver(settings, state) ? "choose_best_path" : "select_node"
  return {
    name: NAME,
    options,
    graph: StateGraph.make({
      name: NAME,
      state: State,
      nodes: {
        select_node: LatsSearch.selectNode(settings),
        expand_node: LatsExpansion.expandNode(settings),
        evaluate_node: LatsEvaluation.evaluateNode(settings),
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
            return next === "select_node" && LatsSettings.lessons(settings, state) > 0 ? "reflect" : next
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
 * @example
 * ```ts
 * import { Agent } from "effect-lexigram"
 * import { Lats } from "effect-lexigram/strategy"
 *
 * const agent = Agent.make("researcher", { strategy: Lats.make({ maxIterations: 10, numExpansions: 3 }) })
 * ```
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = <E = never, R = never>(options: Options<E, R> = {}): Strategy.Strategy<E, R> =>
  GraphStrategy.make(definition(options)) as Strategy.Strategy<any, any>
