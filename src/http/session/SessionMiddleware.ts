/**
 * Sessions of requests, for `@effect/platform` servers: finds the session of a request, or creates one, and binds it to
 * the handling of the request.
 *
 * @since 0.1.0
 */
import * as Cookies from "@effect/platform/Cookies"
import * as Headers from "@effect/platform/Headers"
import * as HttpApp from "@effect/platform/HttpApp"
import * as HttpServerRequest from "@effect/platform/HttpServerRequest"
import * as HttpServerResponse from "@effect/platform/HttpServerResponse"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { SessionId, type UserId } from "../../domain/Ids.js"
import * as SecretText from "../../internal/text/SecretText.js"
import * as SessionContext from "../../session/manager/SessionContext.js"
import * as SessionManager from "../../session/manager/SessionManager.js"
import type { SessionConfig } from "../../session/SessionConfig.js"
import { isLive, type Session } from "../../session/turn/Session.js"
import {
  type SessionCapacityError,
  SessionConfigurationError,
  SessionNotFoundError,
  type SessionStorageError
} from "../../session/turn/SessionError.js"
import * as SessionRequest from "./SessionRequest.js"
import * as SessionToken from "./SessionToken.js"

/**
 * @since 0.1.0
 * @category models
 */
export interface Options<out R = never> {
  /**
   * The user of the request, as the application identifies users. Default: the `sub` of the token, if there is one. A
   * user's session is found only for that user, whatever id a request names.
   */
  readonly user?: Effect.Effect<Option.Option<UserId>, never, R> | undefined
  /**
   * Verifies the token of the header `Authorization: Bearer`, which may name user and session. By default it is
   * ignored.
   */
  readonly token?: SessionToken.Verifier | undefined
  /**
   * Whether a request without a valid token is rejected with 401. Default true; false: an invalid token counts as none.
   */
  readonly tokenRequired?: boolean | undefined
  /** The header that may name the session; default `X-Session-ID`, `null`: none. */
  readonly headerName?: string | null | undefined
  /** The query parameter that may name it; default `session_id`, `null`: none. */
  readonly queryName?: string | null | undefined
  /** The cookie that stores it; default `lexigram_session`, `null`: none. */
  readonly cookieName?: string | null | undefined
  /** How long a browser keeps the cookie after the last request; default a day, 0: until the browser is closed. */
  readonly ttl?: Duration.DurationInput | undefined
  /** Whether the cookie is sent over TLS only. Default `auto`: if the request used TLS. */
  readonly secure?: boolean | "auto" | undefined
  /**
   * Trusts `X-Forwarded-Proto` on whether the request used TLS. Enable it only behind a proxy that sets the header.
   * Default false.
   */
  readonly trustProxy?: boolean | undefined
  /** Of the cookie; default `lax`. */
  readonly sameSite?: "lax" | "strict" | "none" | undefined
  /** Of the cookie; default `/`. */
  readonly path?: string | undefined
  /** Of the cookie; default the host alone. */
  readonly domain?: string | undefined
  /**
   * How to treat a name for which the user has no session: another user's, an ended one, or none at all. `create`: it
   * is ignored, and the request gets a new session if nothing else names one. `reject`: 404, except for cookies, which
   * no client chooses. Default `create`.
   */
  readonly onForeign?: "create" | "reject" | undefined
  /** Options of new sessions. */
  readonly create?: Omit<SessionManager.CreateOptions, "id" | "userId"> | undefined
}

/**
 * @since 0.1.0
 * @category models
 */
export type Middleware<out R = never> = <E, R1>(
  app: HttpApp.Default<E, R1>
) => HttpApp.Default<E, R | R1 | SessionManager.SessionManager>

type Refusal = SessionToken.SessionTokenError | SessionNotFoundError | SessionCapacityError | SessionStorageError

const statusOf = (error: Refusal): number => {
  switch (error._tag) {
    case "SessionTokenError":
      return error.reason === "unavailable" ? 503 : 401
    case "SessionNotFoundError":
      return 404
    case "SessionCapacityError":
      return 429
    case "SessionStorageError":
      return 503
  }
}

/** Messages for clients: only texts of our own. */
const messageOf = (error: Refusal): string => {
  switch (error._tag) {
    case "SessionTokenError":
      return SessionToken.refusal(error.reason).message
    case "SessionNotFoundError":
      return "The session was not found"
    case "SessionCapacityError":
      return "There are too many sessions"
    case "SessionStorageError":
      return "Sessions are temporarily unavailable"
  }
}

const challengeOf = (error: Refusal): { readonly [name: string]: string } =>
  error._tag !== "SessionTokenError" || error.reason === "unavailable"
    ? {}
    : { "www-authenticate": error.reason === "missing" ? "Bearer" : 'Bearer error="invalid_token"' }

const refuse = (error: Refusal): Effect.Effect<HttpServerResponse.HttpServerResponse> => {
  const status = statusOf(error)
  const response = HttpServerResponse.unsafeJson(
    { error: { code: error.code, message: messageOf(error) } },
    { status, headers: { "cache-control": "no-store", ...challengeOf(error) } }
  )
  if (status < 500) return Effect.succeed(response)
  return Effect.as(
    Effect.annotateLogs(
      Effect.logWarning(
        `A request was refused: ${error._tag}: ${SecretText.excerpt(error.message, { maxLength: 200 })}`
      ),
      { module: "SessionMiddleware" }
    ),
    response
  )
}

/** An HTTP token (RFC 9110). */
const isName = (name: string | null): boolean => name === null || /^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,128}$/.test(name)

interface Settings {
  readonly names: SessionRequest.Names
  readonly cookie: Cookies.Cookie["options"]
}

const settingsOf = (options: Pick<Options<unknown>, keyof Options>): Settings => {
  const { domain, headerName = "X-Session-ID", path = "/", queryName = "session_id", sameSite = "lax" } = options
  const cookieName = options.cookieName === undefined ? "lexigram_session" : options.cookieName
  const wrong = (message: string) => new SessionConfigurationError({ message })
  if (!isName(headerName) || !isName(cookieName)) throw wrong("headerName and cookieName must be tokens (RFC 9110)")
  if (sameSite === "none" && options.secure === false) {
    throw wrong("A cookie for other sites (sameSite none) must be secure")
  }
  const ttl = Duration.decode(options.ttl ?? "1 day")
  const cookie: Cookies.Cookie["options"] = {
    httpOnly: true,
    path,
    sameSite,
    ...(Duration.toMillis(ttl) > 0 ? { maxAge: ttl } : {}),
    ...(domain === undefined ? {} : { domain })
  }
  if (Cookies.makeCookie(cookieName ?? "none", "id", cookie)._tag === "Left") {
    throw wrong("The path, domain or time to live is invalid in a cookie")
  }
  return { names: { header: headerName, query: queryName, cookie: cookieName }, cookie }
}

const randomId: Effect.Effect<SessionId> = Effect.sync(() => SessionId.make(globalThis.crypto.randomUUID()))

/** The session of a request, and whether to set the cookie. */
interface Found {
  readonly session: Session
  readonly keep: boolean
}

/**
 * The session of a request is the first one that exists for its user among those named by header, query, cookie and
 * token, in this order; if there is none, a new one is created. It is bound to the application with
 * `SessionContext.bind`. A suspended session is found as well, and stays suspended.
 *
 * An id alone gives no access to a user's session. A session without an owner is found by its cookie, which scripts
 * cannot read, or by a token, never by header or query; new ids cannot be guessed. No session is created under an id
 * that a client names. When a user signs in, the earlier session stays without an owner: an application that wants to
 * claim it does so itself.
 *
 * The cookie is set with every new session, and again whenever it named the session; not when header, query or token
 * did. A response that sets it is not cacheable (`Cache-Control: no-store`, unless the application sets the header). If
 * the application sets a cookie of that name itself, to end the session, its cookie wins.
 *
 * Rejections are JSON, `{ "error": { "code", "message" } }`: 401 without a valid token where one is required, 404 with
 * `onForeign: "reject"`, 429 when the user has too many sessions, 503 when sessions or keys are unavailable.
 *
 * The id of a session without an owner is its key. Spans of the server hide it, but spans and events of sessions
 * contain it, and the platform's request logger writes whole URLs: set `queryName` to `null`, or do not log them. If
 * neighboring domains are not trusted, name the cookie `__Host-…`: browsers let no other domain set such a cookie.
 *
 * Throws `SessionConfigurationError` for names, path, domain or time to live that are invalid in a header or cookie.
 *
 * @since 0.1.0
 * @category constructors
 * @example
 * ```ts
 * import { SessionContext } from "effect-lexigram/session"
 * import { SessionMiddleware, SessionToken } from "effect-lexigram/http"
 * import * as HttpRouter from "@effect/platform/HttpRouter"
 * import * as HttpServerResponse from "@effect/platform/HttpServerResponse"
 * import * as Config from "effect/Config"
 * import * as Effect from "effect/Effect"
 *
 * const app = Effect.gen(function* () {
 *   const secret = yield* Config.redacted("TOKEN_SECRET")
 *   const token = yield* SessionToken.make({ secret, algorithms: ["HS256"], issuer: "https://login.example" })
 *   return HttpRouter.empty.pipe(
 *     HttpRouter.get(
 *       "/chat",
 *       Effect.map(SessionContext.session, (session) => HttpServerResponse.text(`${session.depth} turns so far`))
 *     ),
 *     HttpRouter.use(SessionMiddleware.make({ token }))
 *   )
 * })
 * ```
 */
export const make = <R = never>(options: Options<R> = {}): Middleware<R> => {
  const { names, cookie } = settingsOf(options)
  const { token, tokenRequired = true, trustProxy = false, secure = "auto", onForeign = "create" } = options

  const claimsOf = (
    request: HttpServerRequest.HttpServerRequest
  ): Effect.Effect<SessionToken.Claims, SessionToken.SessionTokenError> => {
    const nothing: SessionToken.Claims = { userId: Option.none(), sessionId: Option.none() }
    if (token === undefined) return Effect.succeed(nothing)
    const given = SessionRequest.bearer(request)
    const verified = given === undefined ? Effect.fail(SessionToken.refusal("missing")) : token.verify(given)
    // A user who cannot be identified now is not treated as anonymous.
    return tokenRequired
      ? verified
      : Effect.catchIf(
          verified,
          ({ reason }) => reason !== "unavailable",
          () => Effect.succeed(nothing)
        )
  }

  const find = Effect.fnUntraced(function* (
    sessions: SessionManager.Service,
    { by, id }: SessionRequest.Named,
    userId: UserId | undefined
  ) {
    if (Option.isNone(id) || (userId === undefined && (by === "header" || by === "query")))
      return Option.none<Session>()
    const access = userId === undefined ? {} : { userId }
    const found = yield* sessions.get(id.value, access)
    if (Option.isNone(found) || found.value.userId !== userId) return Option.none<Session>()
    if (found.value.status !== "active") return Option.filter(found, isLive)
    // An active session may be overdue.
    return yield* Effect.catchTags(Effect.asSome(sessions.resume(id.value, access)), {
      SessionNotFoundError: () => Effect.succeedNone,
      SessionClosedError: () => Effect.succeedNone,
      SessionExpiredError: () => Effect.succeedNone
    })
  })

  const resolve = Effect.gen(function* () {
    const request = yield* HttpServerRequest.HttpServerRequest
    yield* SessionRequest.hide(names)
    const sessions = yield* SessionManager.SessionManager
    const claims = yield* claimsOf(request)
    const userId = Option.getOrUndefined(options.user === undefined ? claims.userId : yield* options.user)
    const named: ReadonlyArray<SessionRequest.Named> = [
      ...SessionRequest.named(request, names),
      ...(Option.isSome(claims.sessionId) ? [{ by: "token" as const, id: claims.sessionId }] : [])
    ]
    for (const claim of named) {
      const found = yield* find(sessions, claim, userId)
      if (Option.isSome(found)) return { session: found.value, keep: claim.by === "cookie" }
      if (onForeign === "reject" && claim.by !== "cookie") {
        return yield* new SessionNotFoundError({ message: "The session was not found", sessionId: "" })
      }
    }
    const session = yield* Effect.catchTag(
      sessions.create({ ...options.create, id: yield* randomId, ...(userId === undefined ? {} : { userId }) }),
      "SessionNotFoundError",
      // A random id never belongs to another user's session.
      Effect.die
    ).pipe(
      // The application's options for new sessions are the same for every request.
      Effect.catchTag("SessionInputError", Effect.die)
    )
    return { session, keep: true }
  })

  const keep = ({ session }: Found, request: HttpServerRequest.HttpServerRequest): Effect.Effect<void> => {
    const { cookie: name } = names
    if (name === null) return Effect.void
    const isSecure =
      secure === "auto" ? cookie?.sameSite === "none" || SessionRequest.isHttps(request, trustProxy) : secure
    return HttpApp.appendPreResponseHandler((_, response) => {
      if (Option.isSome(Cookies.get(response.cookies, name))) return Effect.succeed(response)
      const kept = HttpServerResponse.unsafeSetCookie(response, name, session.id, { ...cookie, secure: isSecure })
      return Effect.succeed(
        Headers.has(kept.headers, "cache-control")
          ? kept
          : HttpServerResponse.setHeader(kept, "cache-control", "no-store")
      )
    })
  }

  return (app) =>
    Effect.matchEffect(resolve, {
      onFailure: refuse,
      onSuccess: (found) =>
        Effect.zipRight(
          found.keep
            ? Effect.flatMap(HttpServerRequest.HttpServerRequest, (request) => keep(found, request))
            : Effect.void,
          SessionContext.bind(found.session)(app)
        )
    })
}

/**
 * The middleware with the header, the cookie and the time to live of the session configuration in `Sessions.Sessions`;
 * the given options override them. The cookie of sessions that never expire is kept for 400 days, the maximum of
 * browsers.
 *
 * @since 0.1.0
 * @category constructors
 */
export const fromConfig = <R = never>(
  config: Pick<SessionConfig, "cookieName" | "headerName" | "sessionTtl">,
  options?: Options<R> | undefined
): Middleware<R> =>
  make({
    headerName: config.headerName,
    cookieName: config.cookieName,
    ttl: config.sessionTtl === 0 ? "400 days" : Duration.seconds(config.sessionTtl),
    ...options
  })
