/**
 * Requests whose targets are checked: by host, port and address, again at each redirect.
 *
 * @private
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Deadline from "../../internal/fiber/Deadline.js"
import * as AddressPolicy from "./AddressPolicy.js"
import * as HttpExchange from "./HttpExchange.js"
import * as HttpHeaders from "./HttpHeaders.js"
import { failureOf, HttpRequestError, invalidUrl, misconfigured } from "./HttpRequestError.js"

/**
 * The targets that requests may have.
 *
 * @since 0.1.0
 * @category models
 */
export interface Targets {
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
  /** Default 5. */
  readonly maxRedirects?: number | undefined
  /** Resolves all addresses of a host; they are checked and then connected to. Default: the system's resolver. */
  readonly resolve?: ((host: string) => Effect.Effect<ReadonlyArray<string>, unknown>) | undefined
}

interface Options extends Targets {
  readonly maxBytes?: number | undefined
  readonly maxCompressedBytes?: number | undefined
  readonly truncate?: boolean | undefined
}

/** What a request may reach, and how much it may read. */
export interface Settings {
  readonly permitsHost: (host: string) => boolean
  readonly permitsPort: (port: number) => boolean
  readonly policy: AddressPolicy.Policy
  readonly resolve: AddressPolicy.Resolve
  readonly maxRedirects: number
  readonly limits: Pick<HttpExchange.Request, "maxBytes" | "maxCompressedBytes" | "truncate">
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

/**
 * Checks the options. `Left` names the one that is invalid.
 *
 * @category constructors
 */
export const make = (options: Options): Either.Either<Settings, HttpRequestError> => {
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
    }
  })
}

const mebibyte = 1024 * 1024

const maxUrlChars = 8 * 1024

/**
 * An http or https URL without credentials and fragment.
 *
 * @category conversions
 */
export const urlOf = (text: string, base?: URL): Either.Either<URL, HttpRequestError> => {
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
        hint: `Allowed are those in the option ${isHost ? "ports" : "hosts"}`
      })
    )
  }
  return Effect.mapError(AddressPolicy.check(settings.policy, url.hostname, settings.resolve), (refusal) =>
    failureOf(refusal, url)
  )
}

/**
 * Succeeds if requests may go to the host and the port of a URL now: names may lead elsewhere later.
 *
 * @category guards
 */
export const allowed = (settings: Settings, url: URL): Effect.Effect<void, HttpRequestError> =>
  Effect.asVoid(addressesOf(settings, url))

/** A request before its target is checked. */
export interface Outgoing extends Pick<HttpExchange.Request, "url" | "method" | "body"> {
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

const follow = (
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

const onTimeout = (_: unknown, limit: number): HttpRequestError =>
  new HttpRequestError({
    reason: "Timeout",
    message: `There was no complete response within ${limit / 1000} seconds`,
    hint: "Try again later, or with a longer timeout"
  })

/**
 * Sends a request and follows redirects, in at most `whole` milliseconds. Every target is checked, and the connection
 * uses a checked address.
 *
 * @category combinators
 */
export const send = (
  settings: Settings,
  request: Outgoing,
  whole: number
): Effect.Effect<readonly [URL, HttpExchange.Response], HttpRequestError> =>
  Deadline.run(() => follow(settings, request), { whole, onTimeout })
