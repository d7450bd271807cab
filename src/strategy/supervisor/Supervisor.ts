/**
 * A supervisor of sub-agents: it assesses the task, delegates, reviews the reports and decides. The sub-agents are
 * tools of the task (`AgentTool.make`), recognized by their names; the supervisor can use other tools itself.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as StateGraph from "../../graph/StateGraph.js"
import type * as Reasoning from "../definition/Reasoning.js"
import type { Strategy, StrategyBaseError, StrategyServices } from "../definition/Strategy.js"
import * as GraphStrategy from "../reasoning/GraphStrategy.js"
import * as SupervisorNodes from "./SupervisorNodes.js"
import { initial, NAME, type Node, type Options, State } from "./SupervisorState.js"

export { parseVerdict, Verdict } from "./SupervisorReview.js"
export { NAME, type Node, type Options, PATTERN, PREFIX, Result, State } from "./SupervisorState.js"

const graph = (settings: SupervisorNodes.Settings) =>
  StateGraph.make({
    name: NAME,
    state: State,
    nodes: {
      assess: SupervisorNodes.assess(settings),
      delegate: SupervisorNodes.delegate(settings),
      review: SupervisorNodes.review(settings),
      decide: SupervisorNodes.decide
    },
    start: "assess",
    edges: {
      assess: {
        to: ["assess", "delegate", "decide", "END"],
        labels: { assess: "neither", delegate: "delegates", decide: "decides", END: "answered" },
        when: ({ answer, reason, turn }) =>
          answer !== null
            ? "END"
            : reason === "limit" || turn._tag === "Answers"
              ? "decide"
              : turn._tag === "Acts"
                ? "delegate"
                : "assess"
      },
      delegate: {
        to: ["assess", "review", "decide"],
        labels: { assess: "reviewed", review: "results to review", decide: "a limit" },
        when: ({ reason, reviews, unreviewed }) =>
          reason === "limit" ? "decide" : unreviewed > 0 && reviews < settings.maxReviews ? "review" : "assess"
      },
      review: {
        to: ["assess", "decide"],
        labels: { assess: "more is needed", decide: "done" },
        when: ({ reason, verdict }) => (reason === "limit" || verdict === "done" ? "decide" : "assess")
      },
      decide: "END"
    },
    reducers: {
      messages: (current, update) => (update.length === 0 ? current : [...current, ...update]),
      results: (current, update) => [...current, ...update]
    }
  })

/**
 * The strategy as a graph. A run whose reports pass their first review takes three model calls (assess, review, decide)
 * plus those of the sub-agents; each further round of delegations takes two more. A run without delegations takes one
 * call.
 *
 * @since 0.1.0
 * @category constructors
 */
export const definition = (
  options: Options = {}
): GraphStrategy.GraphDefinition<
  Node,
  State,
  typeof State.Encoded,
  StrategyBaseError,
  Reasoning.Reasoning | StrategyServices
> => {
  const { format, ...rest } = options
  return {
    name: NAME,
    graph: graph(SupervisorNodes.resolve(options)),
    start: () => initial,
    answer: ({ answer }) =>
      answer === null ? Effect.dieMessage("supervisor ended without an answer") : Effect.succeed(answer),
    options: { ...rest, format: format === "text" ? "text" : "json" },
    updates: { hidden: ["messages", "circles"] }
  }
}

/**
 * Makes a supervisor of the agents among the task's tools.
 *
 * @since 0.1.0
 * @category constructors
 * @example
 * ```ts
 * import { Agent, AgentTool } from "effect-lexigram"
 * import { Supervisor } from "effect-lexigram/strategy"
 *
 * const researcher = Agent.make("researcher", { system: "You find facts." })
 * const writer = Agent.make("writer", { system: "You write." })
 *
 * const boss = Agent.make("boss", {
 *   strategy: Supervisor.make(),
 *   tools: [AgentTool.make(researcher), AgentTool.make(writer)]
 * })
 * ```
 */
export const make = (options: Options = {}): Strategy => GraphStrategy.make(definition(options))
