/**
 * Search providers over HTTP: SearXNG, Brave, Tavily, or any other that answers with JSON.
 *
 * @since 0.1.0
 */
import type * as HttpClient from "@effect/platform/HttpClient"
import * as HttpClientRequest from "@effect/platform/HttpClientRequest"
import type * as HttpClientResponse from "@effect/platform/HttpClientResponse"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import * as Stream from "effect/Stream"
import * as Deadline from "../../internal/fiber/Deadline.js"
import * as SameOriginHttp from "../../internal/SameOriginHttp.js"
import { SearchError, SearchProvider, type SearchResult, type Service } from "./SearchProvider.js"

/**
 * @since 0.1.0
 * @category models
 */
export interface Limits {
  /** Time limit of a search. Default 10 seconds. */
  readonly timeout?: Duration.DurationInput | undefined
  /** Maximum bytes of an answer. Default 2 MiB. */
  readonly maxBytes?: number | undefined
}

/**
 * @since 0.1.0
 * @category models
 */
export interface Options extends Limits {
  /** Names the provider in errors. */
  readonly name: string
  readonly request: (query: string, maxResults: number) => HttpClientRequest.HttpClientRequest
  /** Extracts the results of an answer; entries without text are left out. `undefined`: the answer is malformed. */
  readonly results: (json: any) => ReadonlyArray<{ readonly [K in keyof SearchResult]: unknown }> | undefined
}

const errorOf = (
  provider: string,
  reason: SearchError["reason"],
  message: string,
  more: { readonly status?: number; readonly hint?: string; readonly retryAfterSeconds?: number } = {}
): SearchError =>
  new SearchError({ provider, reason, message: `The search by ${provider} failed: ${message}`, ...more })

const statusError = (
  provider: string,
  { headers, status }: HttpClientResponse.HttpClientResponse
): SearchError | undefined => {
  if (status >= 200 && status < 300) return undefined
  const message = `it answered with status ${status}`
  if (status === 401 || status === 403) {
    const hint = "Check the key, and that the provider gives results as JSON"
    return errorOf(provider, "Unauthorized", message, { status, hint })
  }
  if (status === 429) {
    const seconds = Number(headers["retry-after"])
    const told = Number.isFinite(seconds) && seconds >= 0 ? { retryAfterSeconds: seconds } : {}
    return errorOf(provider, "RateLimited", message, { status, hint: "Try again later", ...told })
  }
  return status >= 400 && status < 500
    ? errorOf(provider, "Refused", message, { status, hint: "Rephrase the query" })
    : errorOf(provider, "Unavailable", message, { status, hint: "Try again later" })
}

const bodyOf = (
  name: string,
  response: HttpClientResponse.HttpClientResponse,
  maxBytes: number
): Effect.Effect<string, SearchError> =>
  Effect.suspend(() => {
    const decoder = new TextDecoder()
    let size = 0
    let text = ""
    return response.stream.pipe(
      Stream.mapError(() => errorOf(name, "Unavailable", "the connection broke", { hint: "Try again later" })),
      Stream.runForEach((bytes) => {
        size += bytes.length
        if (size > maxBytes) {
          return Effect.fail(errorOf(name, "Malformed", "the answer is too large", { hint: "Ask for fewer results" }))
        }
        text += decoder.decode(bytes, { stream: true })
        return Effect.void
      }),
      Effect.map(() => text + decoder.decode())
    )
  })

const textOf = (value: unknown): string => (typeof value === "string" ? value.replace(/\s+/g, " ").trim() : "")

/** Read as data: values that do not fit are ignored. */
const resultsOf = (options: Options, text: string): ReadonlyArray<SearchResult> | undefined => {
  try {
    const found = options.results(JSON.parse(text))
    if (!Array.isArray(found)) return undefined
    return found
      .filter((entry) => typeof entry === "object" && entry !== null)
      .map(({ snippet, title, url }) => ({ title: textOf(title), url: textOf(url), snippet: textOf(snippet) }))
      .filter(({ title, url }) => title !== "" && url !== "")
  } catch {
    return undefined
  }
}

/**
 * A provider that sends one request per search. Request and headers, which carry the key, stay out of spans and errors,
 * and redirects are not followed.
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = (options: Options): Effect.Effect<Service, never, HttpClient.HttpClient> =>
  Effect.map(SameOriginHttp.make, (http) => {
    const { maxBytes = 2 * 1024 * 1024, name } = options
    const ask = (query: string, maxResults: number): Effect.Effect<ReadonlyArray<SearchResult>, SearchError> =>
      Effect.gen(function* () {
        const response = yield* Effect.mapError(http(options.request(query, maxResults)), (error) =>
          SameOriginHttp.isRefusedRedirect(error)
            ? errorOf(name, "Unavailable", "it redirects to another address", {
                hint: "Configure the address it redirects to"
              })
            : errorOf(name, "Unavailable", "there was no answer", { hint: "Check the address, or try again later" })
        )
        const failed = statusError(name, response)
        if (failed !== undefined) return yield* failed
        const results = resultsOf(options, yield* bodyOf(name, response, maxBytes))
        if (results === undefined) {
          const hint = "Check that the address is that of the provider's JSON interface"
          return yield* errorOf(name, "Malformed", "the answer has no list of results", { hint })
        }
        return results.slice(0, maxResults)
      }).pipe(
        // Releases an answer that is not read to its end.
        Effect.scoped
      )
    const whole = Duration.toMillis(options.timeout ?? "10 seconds")
    const onTimeout = (_: unknown, limit: number): SearchError =>
      errorOf(name, "Timeout", `there was no whole answer within ${limit / 1000} seconds`, { hint: "Try again later" })
    return { search: (query, { maxResults }) => Deadline.run(() => ask(query, maxResults), { whole, onTimeout }) }
  })

/**
 * Any provider that answers with JSON.
 *
 * @since 0.1.0
 * @category layers
 */
export const layerHttp = (options: Options): Layer.Layer<SearchProvider, never, HttpClient.HttpClient> =>
  Layer.effect(SearchProvider, make(options))

const renamed = (field: string) => (entry: any) => ({ title: entry?.title, url: entry?.url, snippet: entry?.[field] })

const joined = (baseUrl: string, path: string): string => `${baseUrl.replace(/\/$/, "")}${path}`

/**
 * A SearXNG instance that returns JSON (`json` among the formats of its `search` settings).
 *
 * @since 0.1.0
 * @category layers
 */
export const layerSearxng = (
  options: Limits & { readonly baseUrl: string }
): Layer.Layer<SearchProvider, never, HttpClient.HttpClient> =>
  layerHttp({
    ...options,
    name: "searxng",
    request: (query) =>
      HttpClientRequest.get(joined(options.baseUrl, "/search"), { urlParams: { q: query, format: "json" } }),
    results: (json) => json?.results?.map(renamed("content"))
  })

/** Both return at most this many per request. */
const maxOfOne = 20

/**
 * Web search by Brave.
 *
 * @example
 * ```ts
 * import * as FetchHttpClient from "@effect/platform/FetchHttpClient"
 * import { HttpSearch } from "effect-lexigram/builtin"
 * import * as Config from "effect/Config"
 * import * as Effect from "effect/Effect"
 * import * as Layer from "effect/Layer"
 *
 * const search = Layer.unwrapEffect(
 *   Effect.map(Config.redacted("BRAVE_API_KEY"), (apiKey) => HttpSearch.layerBrave({ apiKey, timeout: "5 seconds" }))
 * ).pipe(Layer.provide(FetchHttpClient.layer))
 * ```
 *
 * @since 0.1.0
 * @category layers
 */
export const layerBrave = (
  options: Limits & { readonly apiKey: Redacted.Redacted<string>; readonly baseUrl?: string | undefined }
): Layer.Layer<SearchProvider, never, HttpClient.HttpClient> =>
  layerHttp({
    ...options,
    name: "brave",
    request: (query, maxResults) =>
      HttpClientRequest.get(joined(options.baseUrl ?? "https://api.search.brave.com/res/v1", "/web/search"), {
        headers: { "x-subscription-token": Redacted.value(options.apiKey) },
        urlParams: { q: query, count: Math.min(maxResults, maxOfOne), text_decorations: false }
      }),
    // The list is absent if nothing was found.
    results: (json) => (json?.type === "search" ? (json.web?.results ?? []).map(renamed("description")) : undefined)
  })

/**
 * Web search by Tavily.
 *
 * @since 0.1.0
 * @category layers
 */
export const layerTavily = (
  options: Limits & { readonly apiKey: Redacted.Redacted<string>; readonly baseUrl?: string | undefined }
): Layer.Layer<SearchProvider, never, HttpClient.HttpClient> =>
  layerHttp({
    ...options,
    name: "tavily",
    request: (query, maxResults) =>
      HttpClientRequest.post(joined(options.baseUrl ?? "https://api.tavily.com", "/search")).pipe(
        HttpClientRequest.bearerToken(options.apiKey),
        HttpClientRequest.bodyUnsafeJson({ query, max_results: Math.min(maxResults, maxOfOne) })
      ),
    results: (json) => json?.results?.map(renamed("content"))
  })
