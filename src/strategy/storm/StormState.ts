/**
 * The options of STORM and the state of its graph.
 *
 * @internal
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
