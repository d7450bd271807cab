/**
 * The skill `http_request`: requests to the public Internet with bounded targets, contents and answers.
 *
 * @since 0.1.0
 */
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Schema from "effect/Schema"
import { version } from "../../domain/Version.js"
import * as Skill from "../../skill/definition/Skill.js"
import * as HttpBody from "./HttpBody.js"
import type * as HttpExchange from "./HttpExchange.js"
import * as HttpFetch from "./HttpFetch.js"
import * as HttpHeaders from "./HttpHeaders.js"
import { HttpRequestError } from "./HttpRequestError.js"

/**
 * @since 0.1.0
 * @category models
 */
export type Method = "GET" | "POST" | "PUT" | "PATCH" | "DELETE"

const allMethods: ReadonlyArray<Method> = ["GET", "POST", "PUT", "PATCH", "DELETE"]

/**
 * @since 0.1.0
 * @category models
 */
export interface Options extends HttpFetch.Targets {
  /** Default: all five. With `GET` only, the skill counts as idempotent. */
  readonly methods?: ReadonlyArray<Method> | undefined
  /** Maximum bytes of a decompressed body. Default 1 MiB. */
  readonly maxBytes?: number | undefined
  /** Maximum bytes of a body as it arrives. Default: `maxBytes`. */
  readonly maxCompressedBytes?: number | undefined
  /** Maximum bytes of a request's body. Default 1 MiB. */
  readonly maxRequestBytes?: number | undefined
  /** Cuts and reports a body that is too large, instead of failing. */
  readonly truncate?: boolean | undefined
  /** Treatment of a body that is not text. Default: refused. */
  readonly binary?: "refuse" | "base64" | undefined
  /** Headers of an answer to show. By default cookies are not shown. */
  readonly responseHeaders?: ReadonlyArray<string> | undefined
  /** Default time limit of a call, including redirects and body: 30 seconds. */
  readonly timeout?: Duration.DurationInput | undefined
  /** Longest time limit a call may request. Default two minutes. */
  readonly maxTimeout?: Duration.DurationInput | undefined
}

/**
 * @since 0.1.0
 * @category schemas
 */
export const Result = Schema.Struct({
  status_code: Schema.Int,
  headers: Schema.Record({ key: Schema.String, value: Schema.String }),
  body: Schema.String,
  body_encoding: Schema.Literal("text", "base64"),
  truncated: Schema.Boolean,
  /** The URL that answered, after all redirects. */
  url: Schema.String
})

/**
 * @since 0.1.0
 * @category models
 */
export interface Result extends Schema.Schema.Type<typeof Result> {}

/**
 * @since 0.1.0
 * @category models
 */
export interface Params {
  readonly url: string
  readonly method?: Method | undefined
  readonly headers?: { readonly [name: string]: string } | undefined
  readonly body?: string | { readonly [name: string]: unknown } | ReadonlyArray<unknown> | undefined
  /** Seconds. */
  readonly timeout?: number | undefined
}

const paramsOf = (methods: ReadonlyArray<Method>, maxSeconds: number): Schema.Schema<Params, any> =>
  Schema.Struct({
    url: Schema.String.annotations({ description: "An absolute http or https URL" }),
    method: Schema.optional(
      Schema.Literal(...(methods as [Method, ...Array<Method>])).annotations({ description: "GET unless given" })
    ),
    headers: Schema.optional(Schema.Record({ key: Schema.String, value: Schema.String })),
    body: Schema.optional(
      Schema.Union(
        Schema.String,
        Schema.Record({ key: Schema.String, value: Schema.Unknown }),
        Schema.Array(Schema.Unknown)
      ).annotations({ description: "A text is sent as it is, anything else as JSON" })
    ),
    timeout: Schema.optional(
      Schema.Number.pipe(Schema.positive(), Schema.lessThanOrEqualTo(maxSeconds)).annotations({
        description: "Seconds"
      })
    )
  })

const mebibyte = 1024 * 1024

const resultOf = (
  options: Options,
  url: URL,
  { body, headers, status, truncated }: HttpExchange.Response
): Either.Either<Result, HttpRequestError> => {
  const text = HttpBody.text(body, headers["content-type"], truncated)
  if (text === undefined && (options.binary ?? "refuse") === "refuse") {
    return Either.left(
      new HttpRequestError({
        reason: "Binary",
        host: url.hostname,
        message: "The response body is not text",
        hint: 'The option binary: "base64" of the skill gives such bodies as Base64'
      })
    )
  }
  return Either.right({
    status_code: status,
    headers: HttpHeaders.pick(headers, options.responseHeaders ?? HttpHeaders.defaultResponseHeaders),
    body: text ?? Buffer.from(body).toString("base64"),
    body_encoding: text === undefined ? "base64" : "text",
    truncated,
    url: url.href
  })
}

const bodyOf = (
  { body, method }: Params,
  maxBytes: number
): Either.Either<{ readonly bytes: Uint8Array; readonly type: string } | undefined, HttpRequestError> => {
  if (body === undefined) return Either.right(undefined)
  const refuse = (message: string, hint: string) =>
    Either.left(new HttpRequestError({ reason: "BodyNotAllowed", message, hint }))
  if (method === undefined || method === "GET") return refuse("A GET request has no body", "Use another method")
  const isText = typeof body === "string"
  const bytes = Buffer.from(isText ? body : JSON.stringify(body), "utf8")
  return bytes.length > maxBytes
    ? refuse(`The body of the request is larger than ${maxBytes} bytes`, "Send less")
    : Either.right({ bytes, type: isText ? "text/plain; charset=utf-8" : "application/json" })
}

const outgoing = (params: Params, maxBytes: number): Either.Either<HttpFetch.Outgoing, HttpRequestError> =>
  Either.gen(function* () {
    const url = yield* HttpFetch.urlOf(params.url)
    const body = yield* bodyOf(params, maxBytes)
    const headers = yield* Either.mapLeft(
      HttpHeaders.make(params.headers ?? {}, {
        accept: "*/*",
        "accept-encoding": "gzip, br",
        "user-agent": `effect-lexigram/${version}`,
        ...(body === undefined ? {} : { "content-type": body.type })
      }),
      (message) =>
        new HttpRequestError({
          reason: "HeaderNotAllowed",
          message,
          hint: "Leave it out: the client sets it if needed"
        })
    )
    return { url, method: params.method ?? "GET", headers, body: body?.bytes }
  })

const usual = (options: Options): Duration.Duration => Duration.decode(options.timeout ?? "30 seconds")

const longest = (options: Options): Duration.Duration => Duration.max(usual(options), options.maxTimeout ?? "2 minutes")

/**
 * Whether nothing was sent.
 *
 * @internal
 */
export const isRetryable = ({ reason }: HttpRequestError): boolean =>
  reason === "Unresolved" || reason === "Unreachable"

/**
 * Sends a request as the skill does.
 *
 * @internal
 */
export const fetch = (options: Options): ((params: Params) => Effect.Effect<Result, HttpRequestError>) => {
  const settings = HttpFetch.make(options)
  const timeout = Duration.toMillis(usual(options))
  return (params) =>
    Effect.gen(function* () {
      const given = yield* settings
      const request = yield* outgoing(params, options.maxRequestBytes ?? mebibyte)
      const [url, response] = yield* HttpFetch.send(
        given,
        request,
        params.timeout === undefined ? timeout : params.timeout * 1000
      )
      return yield* resultOf(options, url, response)
    })
}

/**
 * The skill `http_request`. A target is checked by address after its name is resolved, again for every redirect, and
 * the connection uses a checked address. Headers that belong to the connection cannot be set, and only harmless ones
 * follow a redirect to another origin.
 *
 * An answer with any status is a result. The limit on its body applies to the decompressed bytes; it is text or, by an
 * option, Base64.
 *
 * @since 0.1.0
 * @category constructors
 * @example
 * ```ts
 * import { HttpRequestSkill } from "effect-lexigram/builtin"
 *
 * const fetchPage = HttpRequestSkill.make({
 *   hosts: ["api.example.org", "*.example.com"],
 *   methods: ["GET"],
 *   truncate: true
 * })
 * ```
 */
export const make = (options: Options = {}): Skill.Skill<Params, Result, HttpRequestError> => {
  const methods = options.methods ?? allMethods
  const maxTimeout = longest(options)
  return Skill.make("http_request", {
    description: "Makes an HTTP request and gives status, headers and body of the answer.",
    category: "web",
    permissions: ["http.request"],
    idempotent: methods.every((method) => method === "GET"),
    // The call's own time limit ends it with its own failure; this one only guards against an executor's shorter
    // default.
    timeout: Duration.sum(maxTimeout, "1 second"),
    parameters: paramsOf(methods, Duration.toSeconds(maxTimeout)),
    returns: Result,
    retryable: isRetryable,
    handler: fetch(options)
  })
}

/**
 * The skill with its default options.
 *
 * @since 0.1.0
 * @category constructors
 */
export const skill: Skill.Skill<Params, Result, HttpRequestError> = make()
