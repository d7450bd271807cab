/**
 * The skill `web_search`.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as Skill from "../../skill/definition/Skill.js"
import { type SearchError, SearchProvider, type SearchResult } from "./SearchProvider.js"

/**
 * @since 0.1.0
 * @category models
 */
export interface Options {
  /** Maximum results a call may request. Default 20. */
  readonly maxResults?: number | undefined
  /** Maximum characters of a snippet; longer ones are cut. Default 1,000. */
  readonly maxSnippetChars?: number | undefined
}

/**
 * @since 0.1.0
 * @category models
 */
export interface Params {
  readonly query: string
  readonly max_results?: number | undefined
}

/**
 * @since 0.1.0
 * @category schemas
 */
export const Result = Schema.Struct({
  results: Schema.Array(Schema.Struct({ title: Schema.String, url: Schema.String, snippet: Schema.String }))
})
/**
 * @since 0.1.0
 * @category models
 */
export interface Result extends Schema.Schema.Type<typeof Result> {}

const usualResults = 5
const maxTitleChars = 300
const maxUrlChars = 2048

const paramsOf = (maxResults: number): Schema.Schema<Params, any> =>
  Schema.Struct({
    query: Schema.NonEmptyTrimmedString.pipe(Schema.maxLength(1000)),
    max_results: Schema.optional(
      Schema.Int.pipe(Schema.between(1, maxResults)).annotations({
        description: `${Math.min(usualResults, maxResults)} unless given`
      })
    )
  })

/** Results without a web address are useless. */
const isWeb = ({ url }: SearchResult): boolean =>
  url.length <= maxUrlChars && /^https?:\/\//i.test(url) && URL.canParse(url)

const truncate = (text: string, maxChars: number): string =>
  text.length > maxChars ? `${text.slice(0, maxChars).trimEnd()}…` : text

/**
 * The skill `web_search`. Returns third-party text: data for the model, bounded in number and length.
 *
 * @since 0.1.0
 * @category constructors
 * @example
 * ```ts
 * import { WebSearchSkill } from "effect-lexigram/builtin"
 *
 * const searchWeb = WebSearchSkill.make({ maxResults: 10 })
 * ```
 */
export const make = (options: Options = {}): Skill.Skill<Params, Result, SearchError, SearchProvider> => {
  const { maxResults = 20, maxSnippetChars = 1000 } = options
  return Skill.make("web_search", {
    description: "Searches the web and gives titles, addresses and snippets of what was found.",
    category: "web",
    permissions: ["web.search"],
    idempotent: true,
    parameters: paramsOf(maxResults),
    returns: Result,
    retryable: ({ reason }) => reason === "Unavailable" || reason === "RateLimited",
    handler: ({ max_results = Math.min(usualResults, maxResults), query }) =>
      Effect.gen(function* () {
        const { search } = yield* SearchProvider
        const found = yield* search(query, { maxResults: max_results })
        const results = found.filter(isWeb).slice(0, max_results)
        return {
          results: results.map(({ snippet, title, url }) => ({
            title: truncate(title, maxTitleChars),
            url,
            snippet: truncate(snippet, maxSnippetChars)
          }))
        }
      })
  })
}

/**
 * The skill with its default options.
 *
 * @since 0.1.0
 * @category constructors
 */
export const skill: Skill.Skill<Params, Result, SearchError, SearchProvider> = make()
