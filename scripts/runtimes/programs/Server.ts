/**
 * Agents on the server of the runtime itself (`Bun.serve`, `Deno.serve`), or on that of `node:http`. A client reads the events of a run,
 * and approves a call when it reads of it, so that a server that sends all events at the end never answers.
 */
import { createServer } from "node:http"
import * as FetchHttpClient from "@effect/platform/FetchHttpClient"
import * as HttpServer from "@effect/platform/HttpServer"
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import { Agent, Agents, RunLog, Steering, Tool } from "effect-lexigram"
import { InMemoryRunStore, LocalRuns } from "effect-lexigram/agent"
import { AgentServer, Authentication, GracefulServer } from "effect-lexigram/http"
import { AgentClient } from "effect-lexigram/http/client"
import { TestModel } from "effect-lexigram/testing"
import { PendingApprovals } from "effect-lexigram/tool"

const refund = Tool.make("refund", {
  description: "Refunds an amount in euros",
  parameters: { amount: Schema.Number },
  requiresApproval: true,
  handler: ({ amount }) => Effect.succeed(`refunded ${amount} euros`)
})
const agents = [Agent.make("clerk", { system: "You help at the desk.", tools: [refund] })]

const log = RunLog.layerMemory()
const steering = Steering.layer()
const approvals = PendingApprovals.layerMemory()
const model = TestModel.layer([{ calls: [{ name: "refund", params: { amount: 500 } }] }, "It is done."])
const executor = Layer.provide(Agents.layerWith({ log, steering, approvals }), model)
const services = LocalRuns.layer({ agents }).pipe(
  Layer.provideMerge(Layer.mergeAll(executor, steering, approvals, log, InMemoryRunStore.layer())),
  Layer.merge(Authentication.layerAnonymous)
)

type Handler = (request: Request) => Promise<Response>
type Listen = (handler: Handler) => { readonly port: number; readonly close: () => Promise<void> }

interface Runtimes {
  readonly Bun?: {
    readonly serve: (options: { readonly hostname: string; readonly port: number; readonly fetch: Handler }) => {
      readonly port: number
      readonly stop: (now: boolean) => Promise<void>
    }
  }
  readonly Deno?: {
    readonly serve: (
      options: { readonly hostname: string; readonly port: number; readonly onListen: () => void },
      handler: Handler
    ) => { readonly addr: { readonly port: number }; readonly shutdown: () => Promise<void> }
  }
}

const { Bun, Deno } = globalThis as Runtimes
const place = { hostname: "127.0.0.1", port: 0 }
const listen: Listen | undefined =
  Bun !== undefined
    ? (fetch) => {
        const server = Bun.serve({ ...place, fetch })
        return { port: server.port, close: () => server.stop(true) }
      }
    : Deno !== undefined
      ? (handler) => {
          const server = Deno.serve({ ...place, onListen: () => {} }, handler)
          return { port: server.addr.port, close: () => server.shutdown() }
        }
      : undefined

const ownServer = (listen: Listen) =>
  Effect.gen(function* () {
    const { handler } = yield* Effect.acquireRelease(
      Effect.sync(() => AgentServer.toWebHandler({ agents }, services)),
      ({ dispose }) => Effect.promise(dispose)
    )
    const { port } = yield* Effect.acquireRelease(
      Effect.sync(() => listen(handler)),
      ({ close }) => Effect.promise(close)
    )
    return `http://127.0.0.1:${port}`
  })

const nodeServer = Effect.gen(function* () {
  const server = AgentServer.layer({ agents }).pipe(
    Layer.provide(services),
    Layer.provideMerge(NodeHttpServer.layer(() => GracefulServer.make(createServer()), { port: 0, host: "127.0.0.1" }))
  )
  return yield* Effect.provide(HttpServer.addressFormattedWith(Effect.succeed), yield* Layer.build(server))
})

const talk = (baseUrl: string) =>
  Effect.gen(function* () {
    const client = yield* AgentClient.make({ baseUrl })
    const request = { agent: "clerk", input: "The lamp is broken." }
    yield* Stream.runForEach(client.stream(request), (event) =>
      event._tag === "ApprovalRequested"
        ? client.api.approvals.decideApproval({ path: { requestId: event.id }, payload: { decision: "approve" } })
        : event._tag === "Message"
          ? Effect.sync(() => console.log(event.text))
          : Effect.void
    )
  })

const isOwn = process.argv[2] !== "node:http"
if (isOwn && listen === undefined) throw new Error("This runtime has no server of its own")
const server = isOwn && listen !== undefined ? ownServer(listen) : nodeServer
await Effect.runPromise(
  Effect.flatMap(server, talk).pipe(Effect.scoped, Effect.provide(FetchHttpClient.layer), Effect.timeout("20 seconds"))
)
