/** The server of the chat: the API of agents under `/v1`, and a page that uses it. */
import { fileURLToPath } from "node:url"
import * as HttpApiBuilder from "@effect/platform/HttpApiBuilder"
import * as HttpServerResponse from "@effect/platform/HttpServerResponse"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import { Agent, Agents, RunLog, Steering, Tool } from "effect-lexigram"
import { InMemoryRunStore, LocalRuns } from "effect-lexigram/agent"
import { AgentServer, Authentication } from "effect-lexigram/http"
import { Sessions } from "effect-lexigram/session"
import { PendingApprovals } from "effect-lexigram/tool"

const findOrder = Tool.make("find_order", {
  description: "Finds an order by its number",
  parameters: { order: Schema.String },
  handler: ({ order }) => Effect.succeed({ order, item: "a lamp", euros: 120 })
})

const refund = Tool.make("refund", {
  description: "Refunds an amount in euros",
  parameters: { order: Schema.String, euros: Schema.Number },
  requiresApproval: true,
  handler: ({ euros, order }) => Effect.succeed(`refunded ${euros} euros of the order ${order}`)
})

const clerk = Agent.make("clerk", { system: "You help customers of a shop.", tools: [findOrder, refund] })
const agents = [clerk]

/** Runs and sessions in memory. `Durable.layerSqlite` and `DurableRuns.layer` in their place survive the process. */
const log = RunLog.layerMemory()
const steering = Steering.layer()
const approvals = PendingApprovals.layerMemory()
const sessions = Sessions.layer()
const executor = Agents.layerWith({ log, steering, approvals, sessions })
const runs = LocalRuns.layer({ agents }).pipe(
  Layer.provideMerge(Layer.mergeAll(executor, steering, approvals, log, sessions, InMemoryRunStore.layer()))
)

const policy = "default-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

const file = (name: string) =>
  HttpServerResponse.file(fileURLToPath(new URL(name, import.meta.url)), {
    headers: { "content-security-policy": policy, "x-content-type-options": "nosniff", "cache-control": "no-cache" }
  })

const page = HttpApiBuilder.Router.use((router) =>
  Effect.gen(function* () {
    yield* router.get("/", file("index.html"))
    yield* router.get("/chat.js", file("chat.js"))
    yield* router.get("/chat.css", file("chat.css"))
  })
)

/**
 * Everybody is the same visitor here, so the server answers only this machine. With `Authentication.layerJwt` each
 * visitor has runs and sessions of their own.
 */
export const layer = AgentServer.layer({ agents }).pipe(
  Layer.provide(page),
  Layer.provide([runs, Authentication.layerAnonymous])
)
