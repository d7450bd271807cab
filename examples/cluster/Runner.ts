/**
 * One process of the cluster: its agent, its page of health, and a drain on SIGTERM. Arguments: the URL of the
 * database, the port of the cluster, the port of the page. Each line of its input is the id of a session to answer.
 */
import { createServer } from "node:http"
import * as Readline from "node:readline"
import * as HttpServer from "@effect/platform/HttpServer"
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import { Agent, Agents, LlmClient, Tool } from "effect-lexigram"
import { Runs } from "effect-lexigram/agent"
import { ClusterHealth, DurableCluster } from "effect-lexigram/cluster"
import { DurableRuns } from "effect-lexigram/durable"
import { PostgresClient } from "effect-lexigram/persistence"

const [url = "", port = "", page = ""] = process.argv.slice(2)

const lookUp = Tool.make("look_up", {
  description: "Looks up an order",
  parameters: { order: Schema.String },
  idempotent: true,
  handler: ({ order }) => Effect.succeed(`${order} was sent on Monday`)
})

/** Takes its time, and answers with what the tool said. */
const model = Layer.succeed(LlmClient.LlmClient, {
  provider: "example",
  model: "slow",
  complete: ({ messages }) => {
    const last = messages.at(-1)
    return Effect.delay(
      Effect.succeed<LlmClient.LlmResponse>({
        content:
          last?.role === "tool"
            ? [{ type: "text", text: `Your order: ${last.content.map(({ result }) => String(result)).join(", ")}` }]
            : [{ type: "tool-call", id: "call", name: "look_up", params: { order: "order 7" } }],
        finishReason: last?.role === "tool" ? "stop" : "tool-calls",
        usage: { inputTokens: 10, outputTokens: 5, totalTokens: 15 }
      }),
      "1 second"
    )
  }
})

const clerk = Agent.make("clerk", { system: "You answer at the desk.", tools: [lookUp] })

const ports = DurableCluster.layer({
  host: "127.0.0.1",
  port: Number(port),
  lockExpiration: "3 seconds",
  poll: "250 millis",
  shards: 12,
  drain: "2 seconds"
})

const runs = DurableRuns.layer({ agents: [clerk] }).pipe(
  Layer.provide(Agents.layerWith({ log: ports, steering: ports, approvals: ports })),
  Layer.provideMerge(ports),
  Layer.provide(model),
  Layer.provide(PostgresClient.layer({ url: Redacted.make(url), maxConnections: 8 }))
)

const server = NodeHttpServer.layer(createServer, { port: Number(page), host: "127.0.0.1" })

const sessions = Stream.fromAsyncIterable(Readline.createInterface({ input: process.stdin }), String).pipe(
  Stream.orDie,
  Stream.runForEach((runId) => Runs.start({ agent: "clerk", input: "Where is my order?", runId, userId: "ann" }))
)

// SIGTERM interrupts the program. Its layers then end: no more runs are taken, steps end, the others get the runs.
Layer.launch(
  Layer.mergeAll(HttpServer.serve(ClusterHealth.router), Layer.effectDiscard(Effect.forkDaemon(sessions))).pipe(
    Layer.provide([runs, server])
  )
).pipe(NodeRuntime.runMain)
