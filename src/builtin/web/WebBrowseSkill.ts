/**
 * The skill `web_browse`: the text of a page on the public Internet.
 *
 * @since 0.1.0
 */
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as ErrorCode from "../../domain/ErrorCode.js"
import * as Skill from "../../skill/definition/Skill.js"
import type * as HttpRequestError from "./HttpRequestError.js"
import * as HttpRequestSkill from "./HttpRequestSkill.js"
import * as PageText from "./PageText.js"

/**
 * Allowed targets are those of `http_request`.
 *
 * @since 0.1.0
 * @category models
 */
export interface Options
  extends Pick<
    HttpRequestSkill.Options,
    "allowPrivate" | "hosts" | "maxBytes" | "maxCompressedBytes" | "maxRedirects" | "ports" | "resolve"
  > {
  /** Maximum characters of text per call; the rest is requested by `offset`. Default 20,000. */
  readonly maxChars?: number | undefined
  /** Time limit of fetching and reading the page. Default 30 seconds. */
  readonly timeout?: Duration.DurationInput | undefined
}

/**
 * @since 0.1.0
 * @category models
 */
export interface Params {
  readonly url: string
  readonly offset?: number | undefined
}

/**
 * @since 0.1.0
 * @category schemas
 */
export const Result = Schema.Struct({
  /** The URL that answered, after all redirects. */
  url: Schema.String,
  status_code: Schema.Int,
  title: Schema.String,
  /** Headings, lists and links in Markdown. */
  text: Schema.String,
  /** Length of the whole text. */
  total_chars: Schema.Int,
  /** Where the text continues; absent at its end. */
  next_offset: Schema.optional(Schema.Int),
  /** The page exceeded the size limit: its end is missing. */
  truncated: Schema.Boolean
})
/**
 * @since 0.1.0
 * @category models
 */
export interface Result extends Schema.Schema.Type<typeof Result> {}

/**
 * A page could not be read.
 *
 * - `MissingPackage`: `linkedom` or `@mozilla/readability` is not installed
 * - `Timeout`, `TooLarge`: reading it exceeded the limit on time or memory
 * - `Unreadable`: it is not a readable document
 *
 * @since 0.1.0
 * @category errors
 */
export class WebBrowseError extends ErrorCode.TaggedError<WebBrowseError>(
  "effect-lexigram/builtin/WebBrowseSkill/WebBrowseError"
)("WebBrowseError", {
  ...ErrorCode.fields("LEX_ERR_SKILL_117"),
  reason: Schema.Literal("MissingPackage", "Timeout", "TooLarge", "Unreadable"),
  cause: Schema.optional(Schema.Defect)
}) {}

const parameters = Schema.Struct({
  url: Schema.String.annotations({ description: "An absolute http or https URL" }),
  offset: Schema.optional(
    Schema.NonNegativeInt.annotations({
      description: "Where to go on in a long text: the `next_offset` of the last call"
    })
  )
})

const failureOf = (failure: PageText.Failure): WebBrowseError => {
  if (failure._tag === "Exceeded") {
    return new WebBrowseError({
      reason: failure.limit === "time" ? "Timeout" : "TooLarge",
      message: `Reading the page exceeded its ${failure.limit} limit`,
      hint: "Look for the information on another page"
    })
  }
  return failure.isMissing
    ? new WebBrowseError({
        reason: "MissingPackage",
        message: "Reading pages needs the packages linkedom and @mozilla/readability, which are not installed",
        hint: "npm install linkedom @mozilla/readability",
        cause: failure.cause
      })
    : new WebBrowseError({
        reason: "Unreadable",
        message: "The page is not a readable document",
        hint: "Request it with http_request, or look for the information on another page",
        cause: failure.cause
      })
}

const isPage = (contentType: string | undefined, body: string): boolean =>
  contentType === undefined || contentType === ""
    ? /^\s{0,100}<(?:!doctype html|html)/i.test(body)
    : /^\s*(?:text\/html|application\/xhtml\+xml)\b/i.test(contentType)

/** Never splits a surrogate pair. */
const cutAt = (text: string, end: number): number => {
  const code = text.charCodeAt(end - 1)
  return end < text.length && code >= 0xd800 && code <= 0xdbff ? end - 1 : end
}

/**
 * The skill `web_browse`. Targets are checked as for `http_request`: by address, again for every redirect. Returns the
 * article of an HTML page without menus and advertisements, or all visible text if there is no article; other text is
 * returned unchanged. The result is third-party text: data for the model, bounded in length.
 *
 * Requires the packages `linkedom` and `@mozilla/readability`, which read a page in its own thread, ended at the
 * timeout.
 *
 * @since 0.1.0
 * @category constructors
 * @example
 * ```ts
 * import { WebBrowseSkill } from "effect-lexigram/builtin"
 *
 * const readPages = WebBrowseSkill.make({ hosts: ["*.wikipedia.org"], maxChars: 8_000 })
 * ```
 */
export const make = (
  options: Options = {}
): Skill.Skill<Params, Result, HttpRequestError.HttpRequestError | WebBrowseError> => {
  const { maxChars = 20_000, timeout = "30 seconds", ...access } = options
  const whole = Duration.decode(timeout)
  const request = HttpRequestSkill.fetch({
    ...access,
    methods: ["GET"],
    truncate: true,
    timeout: whole,
    responseHeaders: ["content-type"]
  })
  return Skill.make("web_browse", {
    description: "Reads a page of the web and gives its title and text.",
    category: "web",
    permissions: ["http.request"],
    idempotent: true,
    timeout: Duration.sum(whole, "1 second"),
    parameters,
    returns: Result,
    retryable: (error) => error._tag === "HttpRequestError" && HttpRequestSkill.isRetryable(error),
    handler: ({ offset = 0, url }): Effect.Effect<Result, HttpRequestError.HttpRequestError | WebBrowseError> =>
      Effect.gen(function* () {
        const startedAt = yield* Clock.currentTimeMillis
        const answer = yield* request({
          url,
          headers: { accept: "text/html, application/xhtml+xml, text/plain;q=0.9, */*;q=0.5" }
        })
        const left = Duration.toMillis(whole) - ((yield* Clock.currentTimeMillis) - startedAt)
        const page = isPage(answer.headers["content-type"], answer.body)
          ? yield* Effect.mapError(PageText.read({ html: answer.body, url: answer.url, millis: left }), failureOf)
          : { title: "", text: answer.body }
        const { text, title } = page
        const from = Math.min(offset, text.length)
        const end = cutAt(text, Math.min(from + maxChars, text.length))
        return {
          url: answer.url,
          status_code: answer.status_code,
          title: title.slice(0, 300),
          text: text.slice(from, end),
          total_chars: text.length,
          ...(end < text.length ? { next_offset: end } : {}),
          truncated: answer.truncated
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
export const skill: Skill.Skill<Params, Result, HttpRequestError.HttpRequestError | WebBrowseError> = make()
