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
import * as Deadline from "../../internal/fiber/Deadline.js"
import * as Skill from "../../skill/definition/Skill.js"
import * as AddressPolicy from "./AddressPolicy.js"
import * as HttpBody from "./HttpBody.js"
import * as HttpExchange from "./HttpExchange.js"
import * as HttpHeaders from "./HttpHeaders.js"
import { failureOf, HttpRequestError, invalidUrl, misconfigured } from "./HttpRequestError.js"

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
export interface Options {
  /** `api.example.org`, or `*.example.org` for everything below it. Default: every host. */
  readonly hosts?: ReadonlyArray<string> | undefined
  /**
   * `false`: public addresses only. `true`: also this machine and private networks, but not the addresses at which
   * clouds give out credentials. A list of addresses and networks (`10.1.0.0/16`): also its entries, whatever they are.
   * Default `false`.
   */
  readonly allowPrivate?: boolean | ReadonlyArray<string> | undefined
  /** Default 80 and 443. */
  readonly ports?: ReadonlyArray<number> | "any" | undefined
  /** Default: all five. With `GET` only, the skill counts as idempotent. */
  readonly methods?: ReadonlyArray<Method> | undefined
  /** Default 5. */
  readonly maxRedirects?: number | undefined
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
  /** Resolves all addresses of a host; they are checked and then connected to. Default: the system's resolver. */
  readonly resolve?: ((host: string) => Effect.Effect<ReadonlyArray<string>, unknown>) | undefined
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

interface Settings {
  readonly permitsHost: (host: string) => boolean
  readonly permitsPort: (port: number) => boolean
  readonly policy: AddressPolicy.Policy
  readonly resolve: AddressPolicy.Resolve
  readonly maxRedirects: number
  readonly limits: Pick<HttpExchange.Request, "maxBytes" | "maxCompressedBytes" | "truncate">
  readonly binary: "refuse" | "base64"
  readonly responseHeaders: ReadonlyArray<string>
}

/** The host as `URL` writes it, without a trailing dot; `undefined` if the text is more than a host. */
const hostOf = (text: string): string | undefined => {
  if (!URL.canParse(`http://${text}/`)) return undefined
  const url = new URL(`http://${text}/`)
  return url.host !== url.hostname || url.pathname !== "/" || url.search + url.hash + url.username !== ""
    ? undefined
    : url.hostname.replace(/\.$/, "")
}

const hostsOf = (patterns: ReadonlyArray<string> | undefined): Either.Either<Settings["permitsHost"], string> => {
  if (patterns === undefined) return Either.right(() => true)
  const exact = new Set<string>()
  const below: Array<string> = []
  for (const pattern of patterns) {
    const isBelow = pattern.startsWith("*.")
    const host = hostOf(isBelow ? pattern.slice(2) : pattern)
    if (host === undefined || host.includes("*")) return Either.left(pattern)
    if (isBelow) below.push(`.${host}`)
    else exact.add(host)
  }
  return Either.right((host) => exact.has(host) || below.some((suffix) => host.endsWith(suffix)))
}

const settingsOf = (options: Options): Either.Either<Settings, HttpRequestError> => {
  const { maxBytes = mebibyte, ports = [80, 443] } = options
  const hosts = hostsOf(options.hosts)
  if (Either.isLeft(hosts)) return Either.left(misconfigured("hosts", hosts.left))
  const policy = AddressPolicy.make(options.allowPrivate ?? false)
  if (Either.isLeft(policy)) return Either.left(misconfigured("allowPrivate", policy.left))
  return Either.right({
    permitsHost: hosts.right,
    permitsPort: (port) => ports === "any" || ports.includes(port),
    policy: policy.right,
    resolve: options.resolve ?? AddressPolicy.resolve,
    maxRedirects: options.maxRedirects ?? 5,
    limits: {
      maxBytes,
      maxCompressedBytes: options.maxCompressedBytes ?? maxBytes,
      truncate: options.truncate ?? false
    },
    binary: options.binary ?? "refuse",
    responseHeaders: (options.responseHeaders ?? HttpHeaders.defaultResponseHeaders).map((name) => name.toLowerCase())
  })
}

const mebibyte = 1024 * 1024

const maxUrlChars = 8 * 1024

const urlOf = (text: string, base?: URL): Either.Either<URL, HttpRequestError> => {
  if (text.length > maxUrlChars) return Either.left(invalidUrl("The URL is too long"))
  if (!URL.canParse(text, base)) return Either.left(invalidUrl("The URL is not valid"))
  const url = new URL(text, base)
  if (url.protocol !== "http:" && url.protocol !== "https:") {
    return Either.left(invalidUrl("The URL is neither http nor https"))
  }
  if (url.username !== "" || url.password !== "") return Either.left(invalidUrl("The URL carries credentials"))
  url.hash = ""
  return Either.right(url)
}

/** Checks the target: host and port by name, then every address of the host. */
const addressesOf = (settings: Settings, url: URL): Effect.Effect<ReadonlyArray<string>, HttpRequestError> => {
  const port = url.port === "" ? (url.protocol === "https:" ? 443 : 80) : Number(url.port)
  const isHost = settings.permitsHost(url.hostname.replace(/\.$/, ""))
  if (!isHost || !settings.permitsPort(port)) {
    return Effect.fail(
      new HttpRequestError({
        reason: "NotAllowed",
        host: url.hostname,
        message: isHost ? `Requests to port ${port} are not allowed` : "Requests to this host are not allowed",
        hint: `Allowed are those in the option ${isHost ? "ports" : "hosts"} of the skill`
      })
    )
  }
  return Effect.mapError(AddressPolicy.check(settings.policy, url.hostname, settings.resolve), (refusal) =>
    failureOf(refusal, url)
  )
}

interface Outgoing extends Pick<HttpExchange.Request, "url" | "method" | "body"> {
  readonly headers: Record<string, string>
}

/** The request that a redirect demands, by the rules of `fetch`. */
const redirected = (request: Outgoing, status: number, location: string): Either.Either<Outgoing, HttpRequestError> =>
  Either.map(urlOf(location, request.url), (url) => {
    const turnsIntoGet =
      status === 303 ? request.method !== "GET" : (status === 301 || status === 302) && request.method === "POST"
    const isOtherOrigin = url.origin !== request.url.origin
    return {
      url,
      method: turnsIntoGet ? "GET" : request.method,
      body: turnsIntoGet ? undefined : request.body,
      headers: HttpHeaders.redirected(request.headers, { isOtherOrigin, dropsBody: turnsIntoGet })
    }
  })

const send = (
  settings: Settings,
  first: Outgoing
): Effect.Effect<readonly [URL, HttpExchange.Response], HttpRequestError> =>
  Effect.gen(function* () {
    let request = first
    for (let redirects = 0; ; redirects++) {
      const { url } = request
      const addresses = yield* addressesOf(settings, url)
      const response = yield* Effect.mapError(
        HttpExchange.run({ ...settings.limits, ...request, addresses }),
        (failure) => failureOf(failure, url)
      )
      const location = HttpExchange.locationOf(response)
      if (location === undefined) return [url, response] as const
      if (redirects >= settings.maxRedirects) {
        const message = `There were more than ${settings.maxRedirects} redirects`
        return yield* failureOf({ reason: "TooManyRedirects", message }, url)
      }
      request = yield* redirected(request, response.status, location)
    }
  })

const resultOf = (
  settings: Settings,
  url: URL,
  { body, headers, status, truncated }: HttpExchange.Response
): Either.Either<Result, HttpRequestError> => {
  const text = HttpBody.text(body, headers["content-type"], truncated)
  if (text === undefined && settings.binary === "refuse") {
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
    headers: HttpHeaders.pick(headers, settings.responseHeaders),
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

const outgoing = (params: Params, maxBytes: number): Either.Either<Outgoing, HttpRequestError> =>
  Either.gen(function* () {
    const url = yield* urlOf(params.url)
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
  const settings = settingsOf(options)
  const timeout = Duration.toMillis(usual(options))
  const onTimeout = (_: unknown, limit: number): HttpRequestError =>
    new HttpRequestError({
      reason: "Timeout",
      message: `There was no complete response within ${limit / 1000} seconds`,
      hint: "Try again later, or with a longer timeout"
    })
  return (params) =>
    Effect.gen(function* () {
      const given = yield* settings
      const request = yield* outgoing(params, options.maxRequestBytes ?? mebibyte)
      const whole = params.timeout === undefined ? timeout : params.timeout * 1000
      const [url, response] = yield* Deadline.run(() => send(given, request), { whole, onTimeout })
      return yield* resultOf(given, url, response)
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
