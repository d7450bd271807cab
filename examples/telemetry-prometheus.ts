/**
 * Metrics as a Prometheus page on its own server beside the agents. Here the example scrapes itself.
 */
import { createServer } from "node:http"
import * as HttpServer from "@effect/platform/HttpServer"
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { Agent, AgentExecutor, Agents, Tool } from "effect-lexigram"
import { PrometheusPage } from "effect-lexigram/telemetry"
import { TestModel } from "effect-lexigram/testing"

const dice = Tool.make("roll", { description: "Rolls a die", handler: () => Effect.succeed(4) })
const croupier = Agent.make("croupier", { tools: [dice] })

const usage = { inputTokens: 120, outputTokens: 8 }
const model = TestModel.layer([
  { calls: [{ name: "roll" }], usage },
  { text: "It is a four.", usage }
])

// Any free port; an application uses the port configured in Prometheus.
const server = NodeHttpServer.layer(createServer, { port: 0, host: "127.0.0.1" })

const program = Effect.gen(function* () {
  const { message } = yield* AgentExecutor.run(croupier, "Roll, please")
  console.log(message)

  const { address } = yield* HttpServer.HttpServer
  const port = address._tag === "TcpAddress" ? address.port : 0
  const page = yield* Effect.promise(async () => (await fetch(`http://127.0.0.1:${port}/metrics`)).text())
  for (const line of page.split("\n")) {
    if (/^(# TYPE )?(agent_executions|agent_tool_calls_success|gen_ai_client_token_usage_(sum|count))/.test(line)) {
      console.log(line)
    }
  }
})

const layer = Layer.merge(
  PrometheusPage.layer().pipe(Layer.provideMerge(server)),
  Agents.layer().pipe(Layer.provide(model))
)

await Effect.runPromise(Effect.provide(program, layer))
