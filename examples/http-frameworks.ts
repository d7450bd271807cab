/**
 * Agents in a server that is there already: Express and Fastify take a listener of `node:http`, Hono a handler of web
 * requests. Each of them has routes of its own beside those of the agents.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"
import * as FetchHttpClient from "@effect/platform/FetchHttpClient"
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import { getRequestListener } from "@hono/node-server"
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Stream from "effect/Stream"
import { Agent, Agents, RunLog, Steering } from "effect-lexigram"
import { InMemoryRunStore, LocalRuns } from "effect-lexigram/agent"
import { AgentServer, Authentication } from "effect-lexigram/http"
import { AgentClient } from "effect-lexigram/http/client"
import { OfflineModel } from "effect-lexigram/offline"
import { PendingApprovals } from "effect-lexigram/tool"
import express from "express"
import fastify from "fastify"
import { Hono } from "hono"

const agents = [Agent.make("clerk", { system: "You help at the desk." })]

const log = RunLog.layerMemory()
const steering = Steering.layer()
const approvals = PendingApprovals.layerMemory()
const executor = Layer.provide(Agents.layerWith({ log, steering, approvals }), OfflineModel.layer())

/** An application knows its callers: `Authentication.layerJwt`. */
const services = LocalRuns.layer({ agents }).pipe(
  Layer.provideMerge(Layer.mergeAll(executor, steering, approvals, log, InMemoryRunStore.layer())),
  Layer.merge(Authentication.layerAnonymous)
)

type Listener = (request: IncomingMessage, response: ServerResponse) => void

const listener = Effect.flatMap(AgentServer.toHttpApp({ agents }), (app) => NodeHttpServer.makeHandler(app))

const onExpress = Effect.map(listener, (agents): Listener => {
  const app = express()
  app.get("/", (_request, response) => void response.send("Express"))
  // Before `express.json()`: the agents read their bodies themselves.
  app.use((request, response, next) => (request.path.startsWith("/v1/") ? agents(request, response) : next()))
  return app
})

const onFastify = Effect.flatMap(listener, (agents) =>
  Effect.promise(async (): Promise<Listener> => {
    const app = fastify()
    app.get("/", async () => "Fastify")
    await app.register(async (routes) => {
      // The agents read their bodies themselves.
      routes.removeAllContentTypeParsers()
      routes.addContentTypeParser("*", (_request, _body, done) => done(null))
      routes.all("/v1/*", (request, reply) => {
        reply.hijack()
        agents(request.raw, reply.raw)
      })
    })
    await app.ready()
    return (request, response) => app.routing(request, response)
  })
)

const onHono = Effect.map(
  Effect.acquireRelease(
    Effect.sync(() => AgentServer.toWebHandler({ agents }, services)),
    ({ dispose }) => Effect.promise(dispose)
  ),
  ({ handler }): Listener => {
    const app = new Hono()
    app.get("/", (context) => context.text("Hono"))
    app.all("/v1/*", ({ req }) => handler(req.raw))
    return getRequestListener(app.fetch)
  }
)

const listen = (listener: Listener) =>
  Effect.map(
    Effect.acquireRelease(
      Effect.async<Server>((resume) => {
        const server = createServer(listener)
        server.listen(0, "127.0.0.1", () => resume(Effect.succeed(server)))
      }),
      (server) =>
        Effect.async<void>((resume) => {
          server.close(() => resume(Effect.void))
          server.closeAllConnections()
        })
    ),
    (server) => `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  )

const program = Effect.forEach(
  [onExpress, onFastify, onHono],
  (framework) =>
    Effect.gen(function* () {
      const baseUrl = yield* listen(yield* framework)
      const name = yield* Effect.promise(async () => (await fetch(baseUrl)).text())
      const client = yield* AgentClient.make({ baseUrl })
      const { message } = yield* client.run({ agent: "clerk", input: "Hello" })
      const events = yield* Stream.runCount(client.stream({ agent: "clerk", input: "Hello again" }))
      yield* Console.log(
        `${name}: ${message.length > 0 ? "answered" : "said nothing"}, then ${events > 2 ? "streamed" : "did not"}`
      )
    }).pipe(Effect.scoped),
  { discard: true }
)

Effect.runPromise(
  program.pipe(Effect.provide(Layer.mergeAll(services, NodeHttpServer.layerContext, FetchHttpClient.layer)))
)
