/**
 * Sessions of requests: the middleware finds the session of a request by its cookie or creates one, and the agent
 * continues it. Knowing the id of a session is not enough to join it. A browser can follow the run: it receives the
 * public view of its events.
 */
import { createServer } from "node:http"
import * as HttpRouter from "@effect/platform/HttpRouter"
import * as HttpServer from "@effect/platform/HttpServer"
import * as HttpServerRequest from "@effect/platform/HttpServerRequest"
import * as HttpServerResponse from "@effect/platform/HttpServerResponse"
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Stream from "effect/Stream"
import { Agent, AgentExecutor, Agents, PublicView } from "effect-lexigram"
import { SessionMiddleware } from "effect-lexigram/http"
import { OfflineModel } from "effect-lexigram/offline"
import { SessionContext, SessionManager, Sessions } from "effect-lexigram/session"

const clerk = Agent.make("clerk", { system: "You answer at the desk." })

const chat = Effect.gen(function* () {
  const { id: sessionId, userId } = yield* SessionContext.session
  const input = yield* Effect.flatMap(HttpServerRequest.HttpServerRequest, (request) => request.text)
  const { message } = yield* AgentExecutor.run(clerk, { input, sessionId, userId })
  // Reads the newest record: the bound one is the session as the request found it.
  const { depth } = yield* SessionContext.current
  return HttpServerResponse.text(`${message} (turn ${depth})`)
})

/**
 * The run as server-sent events. The stream ends after the last one, also for a failed run: the preceding `Error` says
 * so.
 */
const follow = Effect.gen(function* () {
  const { id: sessionId, userId } = yield* SessionContext.session
  const input = yield* Effect.flatMap(HttpServerRequest.HttpServerRequest, (request) => request.text)
  const executor = yield* AgentExecutor.AgentExecutor
  const lines = executor.stream(clerk, { input, sessionId, userId }).pipe(
    PublicView.fromStream(),
    Stream.map((event) => `data: ${JSON.stringify(event)}\n\n`),
    Stream.catchAll(() => Stream.empty),
    Stream.encodeText
  )
  return HttpServerResponse.stream(lines, { contentType: "text/event-stream" })
})

const app = Effect.map(Sessions.Sessions, ({ config }) =>
  HttpRouter.empty.pipe(
    HttpRouter.post("/chat", chat),
    HttpRouter.post("/events", follow),
    HttpRouter.use(SessionMiddleware.fromConfig(config))
  )
)

const ask = (url: string, body: string, headers: Record<string, string> = {}) =>
  Effect.promise(async () => {
    const response = await fetch(url, { method: "POST", body, headers })
    return { text: await response.text(), cookie: response.headers.getSetCookie()[0]?.split(";")[0] }
  })

const program = Effect.gen(function* () {
  yield* Effect.flatMap(app, (router) => HttpServer.serveEffect(Effect.orDie(router)))
  const address = yield* HttpServer.addressFormattedWith(Effect.succeed)
  const url = `${address}/chat`

  const first = yield* ask(url, "Is there a train on Sunday?")
  const { cookie = "" } = first
  yield* Console.log("first:  ", first.text)
  const second = yield* ask(url, "And back?", { cookie })
  yield* Console.log("second: ", second.text)

  const followed = yield* ask(`${address}/events`, "Thank you.", { cookie })
  yield* Console.log("events: ", Array.from(followed.text.matchAll(/"_tag":"(\w+)"/g), ([, tag]) => tag).join(" "))

  const [, id = ""] = cookie.split("=")
  const stranger = yield* ask(`${url}?session_id=${id}`, "What was asked here?")
  yield* Console.log("a stranger who has the id:", stranger.text)

  const manager = yield* SessionManager.SessionManager
  const { sessions } = yield* manager.list(null)
  yield* Console.log(sessions.map(({ depth }) => `a session of ${depth} turns`).join(", "))
})

const sessions = Sessions.layer({ config: { cookieName: "chat" } })
const layer = Agents.layerWith({ sessions }).pipe(
  Layer.provideMerge(sessions),
  Layer.provide(OfflineModel.layer()),
  Layer.merge(NodeHttpServer.layer(createServer, { port: 0, host: "127.0.0.1" }))
)

Effect.runPromise(Effect.provide(Effect.scoped(program), layer))
