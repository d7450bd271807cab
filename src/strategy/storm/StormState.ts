/**
 * The options of STORM and the state of its graph.
 *
 * @private
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"
import { count } from "../../internal/Count.js"
import * as StormOutline from "../../plan/StormOutline.js"
import type * as Reasoning from "../definition/Reasoning.js"
import type * as Strategy from "../definition/Strategy.js"
import * as StormArticle from "./StormArticle.js"
import type * as StormCalls from "./StormCalls.js"
import * as StormSources from "./StormSources.js"

/**
 * With `P` perspectives (including the basic fact writer), `T` turns and `S` sections a run makes at most `6 + 3 · P ·
 * T + S` model calls, apart from repeated questions: outline, related topics, perspectives; question, queries and
 * answer of each turn; refined outline, sections, lead, polish. Given perspectives save two calls, a conversation that
 * ends early saves its remaining turns, and a question without results saves its answer. An answer in the shape of an
 * output schema takes one more.
 *
 * @since 0.1.0
 * @category models
 */
export interface Options extends Reasoning.Options {
  /** Maximum number of perspectives found in addition to the basic fact writer; default 3. */
  readonly maxPerspectives?: number | undefined
  /** Maximum number of related topics looked up to find them; default 3. 0 for none. */
  readonly maxRelatedTopics?: number | undefined
  /** Perspectives to use instead of finding any. Only these ask. */
  readonly perspectives?: ReadonlyArray<StormArticle.Perspective> | undefined
  /** Maximum questions per conversation; default 3. */
  readonly maxTurns?: number | undefined
  /** Maximum queries per question; default 3. */
  readonly maxQueries?: number | undefined
  /** Maximum number of sections; default 8. */
  readonly maxSections?: number | undefined
  /** Maximum subsections per section; default 6. */
  readonly maxSubsections?: number | undefined
  /** Maximum points per subsection; default 6. */
  readonly maxPoints?: number | undefined
  /** Maximum number of sources for a section or an answer; default 8. */
  readonly sourcesPerSection?: number | undefined
  /** Maximum characters kept of one source; default 2,000. */
  readonly sourceMaxChars?: number | undefined
  /**
   * Names of the tools that look things up. Each is called with only a query, and every query goes to all of them.
   * Default: the tools of the task that take a single text, or that are named like a search and need only a query.
   */
  readonly retrieval?: ReadonlyArray<string> | undefined
  /**
   * Whether to write without sources; default false. Without it, a run without a tool to look things up fails with
   * `StrategyConfigurationError`, and a section without sources stays empty and says so. With `true` such sections are
   * written and marked.
   */
  readonly ungrounded?: boolean | undefined
  /**
   * Whether to remove repetitions at the end; default true. A part that comes back without a citation the article would
   * then lack, or that does not come back, stays unchanged.
   */
  readonly polish?: boolean | undefined
  /** Maximum number of model calls, including repeated questions; default no limit. */
  readonly maxModelCalls?: number | undefined
  /**
   * At `maxModelCalls`: fail with `MaxIterationsExceededError` (default), or end the research in time to write, omit
   * what there is no call for, and mark the answer `limit`.
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
 * The options with their defaults.
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

export const configOf = (options: Options): Config => ({
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

/** The largest article that `Storm.fromEvents` can read. */
export const ARTICLE_BYTES = 1_048_576

/**
 * The state of a run. Source numbers refer to `sources` until `article` assigns those of the article.
 *
 * @since 0.1.0
 * @category schemas
 */
export const State = Schema.Struct({
  topic: Schema.String,
  /** The tools to query, each with the parameter that takes the query. */
  retrieval: Schema.Array(Schema.Struct({ tool: Schema.String, parameter: Schema.String })),
  draft: StormOutline.StormOutline,
  related: Schema.Array(Schema.String),
  perspectives: Schema.Array(StormArticle.Perspective),
  conversations: Schema.Array(StormArticle.Conversation),
  /** The questions of the current turn. */
  pending: Schema.Array(
    Schema.Struct({
      conversation: Schema.Number,
      question: Schema.String,
      step: Schema.Number,
      queries: Schema.Array(Schema.String)
    })
  ),
  /** The results of the tools in the current turn. */
  results: Schema.Array(Schema.Struct({ tool: Schema.String, query: Schema.String, found: Schema.Array(Found) })),
  /** Every answered query, with the sources it led to. */
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
  /** Something was omitted because no model call was left for it. */
  limited: Schema.Boolean,
  /** The token limit of its model cut a text. */
  isCut: Schema.Boolean,
  article: Schema.NullOr(StormArticle.Article)
})
/**
 * @since 0.1.0
 * @category models
 */
export interface State extends Schema.Schema.Type<typeof State> {}

/** The initial state. */
export const start = (task: Strategy.Task): State => ({
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
