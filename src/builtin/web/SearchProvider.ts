/**
 * The port for web search.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import * as ErrorCode from "../../domain/ErrorCode.js"

/**
 * A search failed. A search without matches succeeds with an empty list.
 *
 * - `NotConfigured`: there is no provider
 * - `Unauthorized`: the key or the kind of access is not accepted
 * - `RateLimited`: too many searches; `retryAfterSeconds` if the provider says so
 * - `Refused`: the search itself is not accepted
 * - `Unavailable`: no connection, or a failed answer
 * - `Timeout`: no complete answer in time
 * - `Malformed`: the answer cannot be read, or is too large
 *
 * @since 0.1.0
 * @category errors
 */
export class SearchError extends ErrorCode.TaggedError<SearchError>(
  "effect-lexigram/builtin/SearchProvider/SearchError"
)("SearchError", {
  ...ErrorCode.fields("LEX_ERR_SKILL_107"),
  provider: Schema.String,
  reason: Schema.Literal(
    "NotConfigured",
    "Unauthorized",
    "RateLimited",
    "Refused",
    "Unavailable",
    "Timeout",
    "Malformed"
  ),
  status: Schema.optional(Schema.Int),
  retryAfterSeconds: Schema.optional(Schema.Number)
}) {}

/**
 * @since 0.1.0
 * @category models
 */
export interface SearchResult {
  readonly title: string
  readonly url: string
  readonly snippet: string
}

/**
 * @since 0.1.0
 * @category models
 */
export interface Service {
  /** Best results first, at most as many as requested. */
  readonly search: (
    query: string,
    options: { readonly maxResults: number }
  ) => Effect.Effect<ReadonlyArray<SearchResult>, SearchError>
}

/**
 * @example
 * ```ts
 * import { SearchProvider } from "effect-lexigram/builtin"
 * import * as Effect from "effect/Effect"
 * import * as Layer from "effect/Layer"
 *
 * const pages = [{ title: "Opening hours", url: "https://shop.example/hours", snippet: "Open from 9 to 5." }]
 *
 * const search = Layer.succeed(SearchProvider.SearchProvider, {
 *   search: (query, { maxResults }) =>
 *     Effect.succeed(pages.filter(({ snippet }) => snippet.includes(query)).slice(0, maxResults))
 * })
 * ```
 *
 * @since 0.1.0
 * @category tags
 */
export class SearchProvider extends Context.Tag("effect-lexigram/builtin/SearchProvider")<SearchProvider, Service>() {}

/**
 * Every search fails with `SearchError`, reason `NotConfigured`.
 *
 * @since 0.1.0
 * @category layers
 */
export const layerNoop: Layer.Layer<SearchProvider> = Layer.succeed(SearchProvider, {
  search: () =>
    Effect.fail(
      new SearchError({
        provider: "none",
        reason: "NotConfigured",
        message: "Web search is not available: there is no search provider",
        hint: "Provide SearchProvider, for example by HttpSearch.layerSearxng, layerBrave or layerTavily of effect-lexigram/builtin"
      })
    )
})
