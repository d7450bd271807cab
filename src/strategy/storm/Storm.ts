/**
 * STORM: research and writing of an article (Shao et al. 2024, "Assisting in Writing Wikipedia-like Articles From
 * Scratch with Large Language Models"). It finds perspectives in texts on related topics, holds conversations between a
 * writer and an expert who looks everything up, makes an outline from them, writes sections from the relevant sources
 * and a lead, and polishes the whole.
 *
 * @since 0.1.0
 */

import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import type { AgentEvent, FinishReason } from "../../domain/AgentEvent.js"
import * as StateGraph from "../../graph/StateGraph.js"
import type * as LlmClient from "../../llm/model/LlmClient.js"
import type { LlmError } from "../../llm/model/LlmError.js"
import * as StormPrompts from "../../prompt/defaults/StormPrompts.js"
import type { Fatality } from "../../tool/ToolRunner.js"
import * as Reasoning from "../definition/Reasoning.js"
import type * as Strategy from "../definition/Strategy.js"
import {
  type MaxIterationsExceededError,
  StrategyConfigurationError,
  type StrategyReplyError
} from "../definition/StrategyError.js"
import * as GraphStrategy from "../reasoning/GraphStrategy.js"
import * as StormArticle from "./StormArticle.js"
import * as StormCalls from "./StormCalls.js"
import * as StormResearch from "./StormResearch.js"
import * as StormRetrieval from "./StormRetrieval.js"
import * as StormSources from "./StormSources.js"
import { ARTICLE_BYTES, type Config, configOf, type Options, State, start } from "./StormState.js"
import * as StormWriting from "./StormWriting.js"

/**
 * The name in the registry.
 *
 * @since 0.1.0
 * @category constants
 */
export const NAME = "storm"

/**
 * The paper it implements.
 *
 * @since 0.1.0
 * @category constants
 */
export const PAPER =
  "Shao et al. 2024, Assisting in Writing Wikipedia-like Articles From Scratch with Large Language Models (arXiv 2402.14207)"

/**
 * The pattern's name in the prompt library.
 *
 * @since 0.1.0
 * @category constants
 */
export const PATTERN = "STORMAgent"

/**
 * Covers what everybody should know about the topic. It asks first, in addition to the perspectives found.
 *
 * @since 0.1.0
 * @category constants
 */
export const BASIC_FACT_WRITER: StormArticle.Perspective = StormResearch.BASIC_FACT_WRITER

/**
 * Perspectives that suit many topics. They are shown to the model that chooses, and can be given as `perspectives`.
 *
 * @since 0.1.0
 * @category constants
 */
export const PERSPECTIVES: ReadonlyArray<StormArticle.Perspective> = StormResearch.PERSPECTIVES

export { type Config, defaults, type Options, State } from "./StormState.js"

const chooseRetrieval = (config: Config) => () =>
  Effect.gen(function* () {
    const { task } = yield* Reasoning.Reasoning
    const retrieval = yield* StormRetrieval.choose(task.tools, config.retrieval)
    if (retrieval.length === 0 && !config.ungrounded) {
      return yield* new StrategyConfigurationError({
        strategyName: NAME,
        option: "retrieval",
        message: "There is no search tool",
        hint: "Give the agent a tool with one text parameter, name it in `retrieval`, or set `ungrounded: true` for an article without sources"
      })
    }
    return { retrieval }
  })

const openConversations = (state: State) =>
  Effect.succeed({
    conversations: state.perspectives.map((perspective) => ({ perspective, turns: [], done: false }))
  })

const append = <A>(current: ReadonlyArray<A>, update: ReadonlyArray<A>): ReadonlyArray<A> =>
  update.length === 0 ? current : [...current, ...update]

const add = (current: number, update: number): number => current + update

const either = (current: boolean, update: boolean): boolean => current || update

const isAsked = (state: State): boolean => state.conversations.some(({ done }) => !done)

const articleOf = (state: State): StormArticle.Article => {
  if (state.article === null) throw new TypeError("storm: its graph ended without an article")
  return state.article
}

const reasonOf = (state: State): FinishReason => (state.limited ? "limit" : state.isCut ? "length" : "completed")

/** The answer is the Markdown. An output in the task's shape is derived from the article. */
const answer = (config: Config) => (state: State) =>
  Effect.gen(function* () {
    const reasoning = yield* Reasoning.Reasoning
    const { task } = reasoning
    const { text } = articleOf(state)
    const messages: ReadonlyArray<LlmClient.Message> = [
      { role: "user", content: task.input },
      { role: "assistant", content: text }
    ]
    const plain: Strategy.Answer = { text, reason: reasonOf(state), messages }
    if (task.output === undefined) return plain
    const shaped = yield* StormCalls.strict(
      reasoning.finish(
        StormPrompts.ShapeAnswer,
        { topic: state.topic, article: StormSources.sealed(text) },
        { show: "nothing", admit: StormCalls.admit(reasoning, config) }
      )
    )
    return { ...plain, output: shaped.output }
  })

type Node =
  | "choose_retrieval"
  | "generate_outline"
  | "generate_perspectives"
  | "open_conversations"
  | "generate_questions"
  | "dispatch_queries"
  | "execute_search"
  | "collect_results"
  | "refine_outline"
  | "synthesize_sections"
  | "write_lead"
  | "compile_report"

/**
 * The graph of the strategy. One cycle is one turn of all conversations.
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
  LlmError | Fatality | StrategyReplyError | MaxIterationsExceededError | StrategyConfigurationError,
  Reasoning.Reasoning
> => {
  const config = configOf(options)
  return {
    name: NAME,
    options,
    start,
    answer: answer(config),
    graph: StateGraph.make({
      name: NAME,
      state: State,
      nodes: {
        choose_retrieval: chooseRetrieval(config),
        generate_outline: StormWriting.generateOutline(config),
        generate_perspectives: StormResearch.generatePerspectives(config),
        open_conversations: openConversations,
        generate_questions: StormResearch.generateQuestions(config),
        dispatch_queries: StormResearch.dispatchQueries(config),
        execute_search: StormResearch.executeSearch(config),
        collect_results: StormResearch.collectResults(config),
        refine_outline: StormWriting.refineOutline(config),
        synthesize_sections: StormWriting.synthesizeSections(config),
        write_lead: StormWriting.writeLead(config),
        compile_report: StormWriting.compileReport(config)
      },
      start: "choose_retrieval",
      edges: {
        choose_retrieval: {
          to: ["generate_outline", "generate_perspectives"],
          labels: { generate_outline: "always", generate_perspectives: "something to search with" },
          when: (state) =>
            state.retrieval.length === 0 ? "generate_outline" : ["generate_outline", "generate_perspectives"]
        },
        generate_outline: "open_conversations",
        generate_perspectives: "open_conversations",
        open_conversations: {
          to: ["generate_questions", "refine_outline"],
          labels: { generate_questions: "questions are wanted", refine_outline: "all was asked" },
          when: (state) => (isAsked(state) ? "generate_questions" : "refine_outline")
        },
        generate_questions: {
          to: ["dispatch_queries", "refine_outline"],
          labels: { dispatch_queries: "queries wait", refine_outline: "no queries" },
          when: (state) => (state.pending.length > 0 ? "dispatch_queries" : "refine_outline")
        },
        dispatch_queries: "execute_search",
        execute_search: "collect_results",
        collect_results: {
          to: ["generate_questions", "refine_outline"],
          labels: { generate_questions: "questions are wanted", refine_outline: "all was asked" },
          when: (state) => (isAsked(state) ? "generate_questions" : "refine_outline")
        },
        refine_outline: "synthesize_sections",
        synthesize_sections: "write_lead",
        write_lead: "compile_report",
        compile_report: "END"
      },
      joins: { open_conversations: ["generate_outline", "generate_perspectives"] },
      reducers: {
        sources: StormSources.merge,
        searches: append,
        failedQueries: append,
        removedCitations: add,
        limited: either,
        isCut: either
      }
    }),
    updates: { maxBytes: { compile_report: ARTICLE_BYTES } }
  }
}

/**
 * A strategy whose answer is an article in Markdown, in which every statement cites what was found.
 *
 * @since 0.1.0
 * @category constructors
 * @example
 * ```ts
 * import { Agent } from "effect-lexigram"
 * import { Storm } from "effect-lexigram/strategy"
 *
 * const writer = Agent.make("writer", { strategy: Storm.make({ maxSections: 4 }) })
 * ```
 */
export const make = (options: Options = {}): Strategy.Strategy => GraphStrategy.make(definition(options))

/**
 * Researches a task and returns the article with everything that led to it, for programs that need more than its text.
 * An output schema of the task is ignored.
 *
 * @since 0.1.0
 * @category execution
 */
export const research = (
  task: Strategy.Task,
  options: Options = {}
): Effect.Effect<StormArticle.Article, Strategy.StrategyBaseError, Strategy.StrategyServices> =>
  Effect.suspend(() => {
    const strategy = GraphStrategy.make({
      ...definition(options),
      answer: (state: State) =>
        Effect.succeed<Strategy.Answer>({ text: "", reason: reasonOf(state), messages: [], output: articleOf(state) })
    })
    return Effect.map(strategy.program(task), ({ output }) => output as StormArticle.Article)
  })

const Compiled = Schema.Struct({ article: StormArticle.Article })

const decodeCompiled = Schema.decodeUnknownOption(Compiled)

/**
 * Finds the article in the events of a run, as emitted or read back from a log. An article of more than 1 MiB of JSON
 * is not in the events.
 *
 * @since 0.1.0
 * @category conversions
 */
export const fromEvents = (events: Iterable<AgentEvent>): Option.Option<StormArticle.Article> => {
  let found: Option.Option<StormArticle.Article> = Option.none()
  for (const event of events) {
    if (event._tag !== "NodeFinished" || event.graph !== NAME || event.node !== "compile_report") continue
    found = Option.orElse(
      Option.map(decodeCompiled(event.update), ({ article }) => article),
      () => found
    )
  }
  return found
}
