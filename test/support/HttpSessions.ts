/** An application for the session middleware, and requests to it. */
import * as Cookies from "@effect/platform/Cookies"
import * as HttpApp from "@effect/platform/HttpApp"
import * as HttpRouter from "@effect/platform/HttpRouter"
import * as HttpServerRequest from "@effect/platform/HttpServerRequest"
import * as HttpServerResponse from "@effect/platform/HttpServerResponse"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import type * as Scope from "effect/Scope"
import { UserId } from "../../src/domain/Ids.js"
import * as SessionMiddleware from "../../src/http/session/SessionMiddleware.js"
import * as MemoryConsolidator from "../../src/memory/consolidation/MemoryConsolidator.js"
import * as WorkingMemory from "../../src/memory/working/WorkingMemory.js"
import * as DefaultSessionManager from "../../src/session/manager/DefaultSessionManager.js"
import * as SessionContext from "../../src/session/manager/SessionContext.js"
import type * as SessionManager from "../../src/session/manager/SessionManager.js"
import * as InMemorySessionStore from "../../src/session/turn/InMemorySessionStore.js"

export const sessions = DefaultSessionManager.layer({ sessionTtl: "1 hour", maxSessionsPerUser: 10 }).pipe(
  Layer.provide([InMemorySessionStore.layer, WorkingMemory.layerNoop, MemoryConsolidator.layerNoop])
)

/** The user named by a header, which is sufficient for a test. */
export const user = Effect.map(HttpServerRequest.HttpServerRequest, ({ headers }) =>
  Option.map(Option.fromNullable(headers["x-user"]), (id) => UserId.make(id))
)

/** Reads the bound session twice, letting other fibers run in between. */
export const show = Effect.gen(function* () {
  const { id, status, userId, variables } = yield* SessionContext.session
  yield* Effect.yieldNow()
  yield* Effect.promise(() => new Promise<void>((resolve) => setImmediate(resolve)))
  const again = yield* SessionContext.sessionId
  return HttpServerResponse.unsafeJson({ id, again, userId, status, variables })
})

export const router = HttpRouter.empty.pipe(
  HttpRouter.get("/", show),
  HttpRouter.get("/fail", Effect.zipRight(SessionContext.session, Effect.fail("no"))),
  HttpRouter.get(
    "/cached",
    Effect.succeed(HttpServerResponse.text("", { headers: { "cache-control": "private, max-age=5" } }))
  ),
  HttpRouter.get(
    "/leave",
    Effect.succeed(
      HttpServerResponse.unsafeSetCookie(HttpServerResponse.empty(), "lexigram_session", "", { maxAge: 0, path: "/" })
    )
  )
)

export interface Shown {
  readonly id: string
  readonly again: string
  readonly userId?: string
  readonly status: string
  readonly variables: object
}

export interface Answer {
  readonly status: number
  readonly headers: Headers
  readonly text: string
  /** Response of the application. */
  readonly shown: Shown
  /** The cookie that was set, if any. */
  readonly cookie: Cookies.Cookie | undefined
}

export type Ask = (path: string, headers?: Readonly<Record<string, string>>, origin?: string) => Effect.Effect<Answer>

/** Calls an application in this process. */
export const asking = <E>(
  app: HttpApp.Default<E, SessionManager.SessionManager | Scope.Scope>
): Effect.Effect<Ask, never, SessionManager.SessionManager> =>
  Effect.map(Effect.runtime<SessionManager.SessionManager>(), (runtime): Ask => {
    const handler = HttpApp.toWebHandlerRuntime(runtime)(app)
    return (path, headers = {}, origin = "http://app.example") =>
      Effect.promise(async () => {
        const response = await handler(new Request(origin + path, { headers }))
        const text = await response.text()
        const set = response.headers.getSetCookie()
        return {
          status: response.status,
          headers: response.headers,
          text,
          shown: text.startsWith("{") ? (JSON.parse(text) as Shown) : (undefined as never),
          cookie:
            set[0] === undefined
              ? undefined
              : Option.getOrThrow(Cookies.get(Cookies.fromSetCookie(set), set[0].split("=")[0]!))
        }
      })
  })

/** The application with the middleware. */
export const serve = (
  options: SessionMiddleware.Options<HttpServerRequest.HttpServerRequest> = {}
): Effect.Effect<Ask, never, SessionManager.SessionManager> => asking(SessionMiddleware.make(options)(router))

export const by = (id: string) => ({ cookie: `lexigram_session=${id}` })
