/**
 * Sessions of requests, for `@effect/platform` servers: finds the session a request belongs to, or begins one, and
 * binds it to what the application does for the request.
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
   * Who the user of the request is, by whatever the application knows users by. Without it: the `sub` of the token, if
   * there is one. A session of a user is found only for that user, whatever id a request names.
   */
  readonly user?: Effect.Effect<Option.Option<UserId>, never, R> | undefined
  /**
   * Verifies the token of the header `Authorization: Bearer`, which may name user and session. Unless set it is not
   * looked at.
   */
  readonly token?: SessionToken.Verifier | undefined
  /**
   * Whether a request without a good token is refused with 401. Default true; false: a token that does not hold counts
   * as none.
   */
  readonly tokenRequired?: boolean | undefined
  /** The header that may name the session; `X-Session-ID` unless set, `null`: none. */
  readonly headerName?: string | null | undefined
  /** The query parameter that may name it; `session_id` unless set, `null`: none. */
  readonly queryName?: string | null | undefined
  /** The cookie that keeps it; `lexigram_session` unless set, `null`: none. */
  readonly cookieName?: string | null | undefined
  /** How long a browser keeps the cookie after the last request; a day unless set, 0: until it is closed. */
  readonly ttl?: Duration.DurationInput | undefined
  /** Whether the cookie is for TLS only. Default `auto`: where the request came by TLS. */
  readonly secure?: boolean | "auto" | undefined
  /**
   * Believes `X-Forwarded-Proto` on whether the request came by TLS. Only behind a proxy that sets it. Default false.
   */
  readonly trustProxy?: boolean | undefined
  /** Of the cookie; `lax` unless set. */
  readonly sameSite?: "lax" | "strict" | "none" | undefined
  /** Of the cookie; `/` unless set. */
  readonly path?: string | undefined
  /** Of the cookie; the host alone unless set. */
  readonly domain?: string | undefined
  /**
   * What becomes of a name for which there is no session of the user: somebody else's, an ended one, none at all.
   * `create`: it is passed over, so that the request gets a new one if nothing else names one. `reject`: 404, but for
   * cookies, which nobody chooses. Default `create`.
   */
  readonly onForeign?: "create" | "reject" | undefined
  /** Of new sessions. */
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

/** What a client is told: texts of our own only. */
const messageOf = (error: Refusal): string => {
  switch (error._tag) {
    case "SessionTokenError":
      return SessionToken.refusal(error.reason).message
    case "SessionNotFoundError":
      return "There is no such session"
    case "SessionCapacityError":
      return "There are too many sessions"
    case "SessionStorageError":
      return "Sessions cannot be had now"
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

/** A token of HTTP (RFC 9110). */
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
    throw wrong("A cookie for other sites (sameSite none) must be for TLS")
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
    throw wrong("There can be no cookie with such a path, domain or time to live")
  }
  return { names: { header: headerName, query: queryName, cookie: cookieName }, cookie }
}

const randomId: Effect.Effect<SessionId> = Effect.sync(() => SessionId.make(globalThis.crypto.randomUUID()))

/** What a request comes to: its session, and whether the browser is to keep it. */
interface Found {
  readonly session: Session
  readonly keep: boolean
}

/**
 * The session a request belongs to is the first that header, query, cookie or token name, in this order, and that there
 * is for its user; if there is none, a new one begins. It is bound with `SessionContext.bind` to what the application
 * does. A suspended session is found as well, and stays suspended.
 *
 * What an id alone is good for: nothing, where a session belongs to a user. A session of nobody is found by its cookie,
 * which scripts cannot read, or by a token, never by header or query; new ids cannot be guessed. No session is ever
 * begun under an id that a client names. When somebody signs in, what was said before stays with nobody: an application
 * that wants it adopted does so itself.
 *
 * The cookie is set with every new session, and again whenever it named the session; not when header, query or token
 * did. A response that sets it is not for caches (`Cache-Control: no-store`, unless the application says something
 * else), and an application that sets a cookie of that name itself, to end the session, has its way.
 *
 * Refusals are JSON, `{ "error": { "code", "message" } }`: 401 without a good token where one is required, 404 with
 * `onForeign: "reject"`, 429 when the user has too many sessions, 503 when sessions or keys cannot be had.
 *
 * The id of a session of nobody is its key. Spans of the server do not show it, but spans and events of sessions do,
 * and the platform's request logger writes whole URLs: set `queryName` to `null`, or do not log them. Where
 * neighbouring domains are not trusted, name the cookie `__Host-…`: browsers let nobody else set such a one.
 *
 * Throws `SessionConfigurationError` for names, path, domain or time to live that no header or cookie can have.
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
    // Whoever cannot be known now is not taken for nobody.
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
    // An active one may be overdue.
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
        return yield* new SessionNotFoundError({ message: "There is no such session", sessionId: "" })
      }
    }
    const session = yield* Effect.catchTag(
      sessions.create({ ...options.create, id: yield* randomId, ...(userId === undefined ? {} : { userId }) }),
      "SessionNotFoundError",
      // A random id is never that of somebody else's session.
      Effect.die
    ).pipe(
      // What the application gives for new sessions is the same for every request.
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
 * The middleware with the header, the cookie and the time to live that sessions are configured with, as
 * `Sessions.Sessions` has them; what is given besides wins. The cookie of sessions that never expire is kept for 400
 * days, as long as browsers do.
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
