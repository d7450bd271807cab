/**
 * Research and writing of an article (Shao et al. 2024, "Assisting in Writing Wikipedia-like Articles From Scratch with
 * Large Language Models"): perspectives from what is written about related topics, conversations of a writer and an
 * expert who looks everything up, an outline from those, sections from the sources that bear on them, a lead, and the
 * whole polished.
 *
 * @since 0.1.0
 */

import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import type { AgentEvent, FinishReason } from "../../domain/AgentEvent.js"
import * as StateGraph from "../../graph/StateGraph.js"
import { count } from "../../internal/Count.js"
import type * as LlmClient from "../../llm/model/LlmClient.js"
import type { LlmError } from "../../llm/model/LlmError.js"
import * as StormOutline from "../../plan/StormOutline.js"
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
import * as StormWriting from "./StormWriting.js"

/**
 * The name in the registry.
 *
 * @since 0.1.0
 * @category constants
 */
export const NAME = "storm"

/**
 * Where it comes from.
 *
 * @since 0.1.0
 * @category constants
 */
export const PAPER =
  "Shao et al. 2024, Assisting in Writing Wikipedia-like Articles From Scratch with Large Language Models (arXiv 2402.14207)"

/**
 * Its name in the prompt library.
 *
 * @since 0.1.0
 * @category constants
 */
export const PATTERN = "STORMAgent"

/**
 * Who covers what everybody should know about the topic: asks first, besides the perspectives that were found.
 *
 * @since 0.1.0
 * @category constants
 */
export const BASIC_FACT_WRITER: StormArticle.Perspective = StormResearch.BASIC_FACT_WRITER

/**
 * Perspectives that suit many topics: shown to the model that chooses, and fit to be given as `perspectives`.
 *
 * @since 0.1.0
 * @category constants
 */
export const PERSPECTIVES: ReadonlyArray<StormArticle.Perspective> = StormResearch.PERSPECTIVES

/**
 * With `P` perspectives, the basic fact writer among them, `T` turns and `S` sections a run makes at most `6 + 3 · P ·
 * T + S` model calls, replies that are asked for again apart: outline, related topics, perspectives; question, queries
 * and answer of each turn; outline again, sections, lead, polish. Perspectives of one's own save two, a conversation
 * that ends early what is left of it, a question that nothing is found for its answer. An answer in the shape of an
 * output schema is one more.
 *
 * @since 0.1.0
 * @category models
 */
export interface Options extends Reasoning.Options {
  /** Perspectives that are found besides the basic fact writer, at most; default 3. */
  readonly maxPerspectives?: number | undefined
  /** Related topics that are looked up to find them, at most; default 3. With 0 none are asked for. */
  readonly maxRelatedTopics?: number | undefined
  /** Perspectives to use instead of finding any; these alone ask. */
  readonly perspectives?: ReadonlyArray<StormArticle.Perspective> | undefined
  /** Questions of one conversation at most; default 3. */
  readonly maxTurns?: number | undefined
  /** Queries of one question at most; default 3. */
  readonly maxQueries?: number | undefined
  /** Sections at most; default 8. */
  readonly maxSections?: number | undefined
  /** Subsections of one section at most; default 6. */
  readonly maxSubsections?: number | undefined
  /** Points of one subsection at most; default 6. */
  readonly maxPoints?: number | undefined
  /** Sources that a section is written, or a question answered from, at most; default 8. */
  readonly sourcesPerSection?: number | undefined
  /** Characters of one source that are kept; default 2,000. */
  readonly sourceMaxChars?: number | undefined
  /**
   * Names of the tools that look things up; each is called with a query alone, and all of them with every query.
   * Default those of the task that take one text, or are named like a search and need nothing but a query.
   */
  readonly retrieval?: ReadonlyArray<string> | undefined
  /**
   * Without a tool to look things up a run fails with `StrategyConfigurationError`, and a section that no source backs
   * is left empty and says so. `true`: they are written all the same, and marked. Default false.
   */
  readonly ungrounded?: boolean | undefined
  /**
   * Whether repetitions are taken out at the end; default true. A part that comes back without a citation that the
   * article then lacks, or not at all, stays as it was.
   */
  readonly polish?: boolean | undefined
  /** Model calls at most, those for a better reply included; default no limit. */
  readonly maxModelCalls?: number | undefined
  /**
   * At `maxModelCalls`: fail with `MaxIterationsExceededError` (default), or end the research in time to write, leave
   * out what there is no call for, and mark the answer `limit`.
   */
  readonly onLimit?: "fail" | "answer" | undefined
}

/**
 * @since 0.1.0
 * @category constants
 */
export const defaults = {
  maxPerspectives: 3,
  maxRelatedTopics: 3,
  maxTurns: 3,
  maxQueries: 3,
  ...StormOutline.defaults,
  sourcesPerSection: 8,
  sourceMaxChars: 2000
} as const

/**
 * The options, all decided.
 *
 * @since 0.1.0
 * @category models
 */
export interface Config extends StormCalls.Limit {
  readonly maxPerspectives: number
  readonly maxRelatedTopics: number
  readonly perspectives: ReadonlyArray<StormArticle.Perspective> | undefined
  readonly maxTurns: number
  readonly maxQueries: number
  readonly maxSections: number
  readonly maxSubsections: number
  readonly maxPoints: number
  readonly sourcesPerSection: number
  readonly sourceMaxChars: number
  readonly retrieval: ReadonlyArray<string> | undefined
  readonly ungrounded: boolean
  readonly polish: boolean
}

const configOf = (options: Options): Config => ({
  maxPerspectives: count(options.maxPerspectives, defaults.maxPerspectives, 0),
  maxRelatedTopics: count(options.maxRelatedTopics, defaults.maxRelatedTopics, 0),
  perspectives:
    options.perspectives === undefined || options.perspectives.length === 0 ? undefined : options.perspectives,
  maxTurns: count(options.maxTurns, defaults.maxTurns, 1),
  maxQueries: count(options.maxQueries, defaults.maxQueries, 1),
  maxSections: count(options.maxSections, defaults.maxSections, 1),
  maxSubsections: count(options.maxSubsections, defaults.maxSubsections, 0),
  maxPoints: count(options.maxPoints, defaults.maxPoints, 0),
  sourcesPerSection: count(options.sourcesPerSection, defaults.sourcesPerSection, 1),
  sourceMaxChars: count(options.sourceMaxChars, defaults.sourceMaxChars, 1),
  retrieval: options.retrieval,
  ungrounded: options.ungrounded === true,
  polish: options.polish !== false,
  maxModelCalls: count(options.maxModelCalls, Number.POSITIVE_INFINITY, 1),
  onLimit: options.onLimit ?? "fail"
})

const Found = Schema.Struct({ title: Schema.String, url: Schema.optional(Schema.String), text: Schema.String })

/** What `fromEvents` can give back. */
const ARTICLE_BYTES = 1_048_576

/**
 * Where a run stands. Numbers of sources are those of `sources` until `article` gives them the ones of the article.
 *
 * @since 0.1.0
 * @category schemas
 */
export const State = Schema.Struct({
  topic: Schema.String,
  /** The tools that are asked, each with the parameter that takes the query. */
  retrieval: Schema.Array(Schema.Struct({ tool: Schema.String, parameter: Schema.String })),
  draft: StormOutline.StormOutline,
  related: Schema.Array(Schema.String),
  perspectives: Schema.Array(StormArticle.Perspective),
  conversations: Schema.Array(StormArticle.Conversation),
  /** The questions of the turn that goes on. */
  pending: Schema.Array(
    Schema.Struct({
      conversation: Schema.Number,
      question: Schema.String,
      step: Schema.Number,
      queries: Schema.Array(Schema.String)
    })
  ),
  /** What the tools gave in the turn that goes on. */
  results: Schema.Array(Schema.Struct({ tool: Schema.String, query: Schema.String, found: Schema.Array(Found) })),
  /** Every query that was answered, and the sources it led to. */
  searches: Schema.Array(
    Schema.Struct({ tool: Schema.String, query: Schema.String, ids: Schema.Array(Schema.Number) })
  ),
  lookups: Schema.Number,
  failedQueries: Schema.Array(StormArticle.FailedQuery),
  sources: Schema.Array(StormSources.Source),
  outline: StormOutline.StormOutline,
  sections: Schema.Array(StormArticle.Section),
  lead: Schema.String,
  removedCitations: Schema.Number,
  /** Something was left out because there was no model call left for it. */
  limited: Schema.Boolean,
  /** A text was cut by the token limit of its model. */
  isCut: Schema.Boolean,
  article: Schema.NullOr(StormArticle.Article)
})
/**
 * @since 0.1.0
 * @category models
 */
export interface State extends Schema.Schema.Type<typeof State> {}

const start = (task: Strategy.Task): State => ({
  topic: task.input,
  retrieval: [],
  draft: { sections: [] },
  related: [],
  perspectives: [],
  conversations: [],
  pending: [],
  results: [],
  searches: [],
  lookups: 0,
  failedQueries: [],
  sources: [],
  outline: { sections: [] },
  sections: [],
  lead: "",
  removedCitations: 0,
  limited: false,
  isCut: false,
  article: null
})

const chooseRetrieval = (config: Config) => () =>
  Effect.gen(function* () {
    const { task } = yield* Reasoning.Reasoning
    const retrieval = yield* StormRetrieval.choose(task.tools, config.retrieval)
    if (retrieval.length === 0 && !config.ungrounded) {
      return yield* new StrategyConfigurationError({
        strategyName: NAME,
        option: "retrieval",
        message: "There is no tool to look things up with",
        hint: "Give the agent a tool that takes one text, name it in `retrieval`, or set `ungrounded: true` for an article without sources"
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

/** The Markdown; what the task's own shape asks for comes beside it, out of the article. */
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
 * What drives the strategy: a graph whose cycle is one turn of all conversations.
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
 * A strategy whose answer is an article in Markdown, every statement of which cites what was found.
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
 * The article of a task with all that led to it, for programs that want more than its text. An output schema of the
 * task is not looked at.
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
 * The article in the events of a run, as they were emitted or read back from a log. One of more than 1 MiB of JSON is
 * not in them.
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
