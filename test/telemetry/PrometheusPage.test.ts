import { createServer } from "node:http"
import * as HttpServer from "@effect/platform/HttpServer"
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Tracer from "effect/Tracer"
import * as AgentExecutor from "../../src/agent/AgentExecutor.js"
import * as Agents from "../../src/agent/Agents.js"
import * as Agent from "../../src/agent/definition/Agent.js"
import * as PrometheusPage from "../../src/telemetry/PrometheusPage.js"
import * as TestModel from "../../src/testing/TestModel.js"
import * as Tool from "../../src/tool/definition/Tool.js"
import * as PrometheusParser from "../support/PrometheusParser.js"

const lookup = Tool.make("lookup", { description: "Looks something up", handler: () => Effect.succeed("found") })

const run = (agent: string) =>
  AgentExecutor.run(Agent.make(agent, { tools: [lookup] }), "go").pipe(
    Effect.provide(
      Agents.layer().pipe(
        Layer.provide(
          // A provider of its own: other tests of the process measure calls, too.
          TestModel.layer([{ calls: [{ name: "lookup" }], usage: { inputTokens: 7, outputTokens: 3 } }, "done"], {
            provider: agent
          })
        )
      )
    )
  )

/** A server of a page on a free port of the loopback interface, and how it is asked. */
const served = (options?: Parameters<typeof PrometheusPage.layer>[0]) =>
  Effect.map(
    Layer.build(
      PrometheusPage.layer(options).pipe(
        Layer.provideMerge(NodeHttpServer.layer(createServer, { port: 0, host: "127.0.0.1" }))
      )
    ),
    (context) => (path: string, accept?: string) =>
      Effect.gen(function* () {
        const { address } = yield* HttpServer.HttpServer
        const port = address._tag === "TcpAddress" ? address.port : 0
        return yield* Effect.promise(async () => {
          const response = await fetch(
            `http://127.0.0.1:${port}${path}`,
            accept === undefined ? {} : { headers: { accept } }
          )
          return { status: response.status, type: response.headers.get("content-type"), text: await response.text() }
        })
      }).pipe(Effect.provide(context))
  )

describe("PrometheusPage", () => {
  it.scopedLive("shows the metrics of runs", () =>
    Effect.gen(function* () {
      const get = yield* served()
      yield* run("prom-agent")
      yield* run("prom-agent")
      const { status, text, type } = yield* get("/metrics")
      assert.strictEqual(status, 200)
      assert.strictEqual(type, "text/plain; version=0.0.4; charset=utf-8")
      const families = PrometheusParser.parse(text, "text")
      const value = (family: string, sample: string, labels: Record<string, string>) =>
        families
          .get(family)
          ?.samples.find(
            (one) => one.name === sample && Object.entries(labels).every(([name, label]) => one.labels[name] === label)
          )?.value
      const agent = { agent: "prom-agent" }
      assert.strictEqual(value("agent_executions_total", "agent_executions_total", agent), 2)
      assert.strictEqual(value("agent_tool_calls_success_total", "agent_tool_calls_success_total", agent), 2)
      assert.strictEqual(value("agent_execution_steps", "agent_execution_steps_count", agent), 2)
      assert.strictEqual(value("agent_execution_steps", "agent_execution_steps_bucket", { ...agent, le: "+Inf" }), 2)
      const tokens = { gen_ai_provider_name: "prom-agent", gen_ai_token_type: "input", le: "16" }
      assert.isAtLeast(value("gen_ai_client_token_usage", "gen_ai_client_token_usage_bucket", tokens)!, 2)
      assert.strictEqual(families.get("gen_ai_client_operation_duration_seconds")?.type, "histogram")
    })
  )

  it.scopedLive("serves OpenMetrics to clients that prefer it, at the given path", () =>
    Effect.gen(function* () {
      const get = yield* served({ path: "/internal/stats" })
      yield* run("prom-open")
      const both = "application/openmetrics-text;version=1.0.0;q=0.5,text/plain;version=0.0.4;q=0.3,*/*;q=0.1"
      const open = yield* get("/internal/stats", both)
      assert.strictEqual(open.type, "application/openmetrics-text; version=1.0.0; charset=utf-8")
      assert.strictEqual(PrometheusParser.parse(open.text, "openmetrics").get("agent_executions")?.type, "counter")
      for (const accept of [
        "text/plain, application/openmetrics-text;q=0.5",
        "application/openmetrics-text;q=0",
        "*/*"
      ]) {
        assert.include(String((yield* get("/internal/stats", accept)).type), "text/plain")
      }
      assert.strictEqual((yield* get("/metrics")).status, 404)
    })
  )

  it.scopedLive("creates no spans for scrapes", () =>
    Effect.gen(function* () {
      const names: Array<string> = []
      const tracer = yield* Effect.tracer
      const counting = Tracer.make({
        context: (f) => f(),
        span: (name, ...rest) => {
          names.push(name)
          return tracer.span(name, ...rest)
        }
      })
      const get = yield* Effect.withTracer(served(), counting)
      assert.strictEqual((yield* get("/metrics")).status, 200)
      assert.deepStrictEqual(names, [])
    })
  )

  it.effect("serves the rendered text", () =>
    Effect.gen(function* () {
      PrometheusParser.parse(yield* PrometheusPage.render, "text")
      PrometheusParser.parse(yield* PrometheusPage.renderOpenMetrics, "openmetrics")
    })
  )
})
