/**
 * Traces, metrics and logs over OTLP. The collector of this example is a small loopback server that prints the received
 * span tree; an application sets `baseUrl` to a real one.
 */
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { Agent, AgentExecutor, Agents, AgentTool, type LlmClient, Tool } from "effect-lexigram"
import { OtlpTelemetry } from "effect-lexigram/telemetry"
import { TestModel } from "effect-lexigram/testing"

interface Span {
  readonly name: string
  readonly spanId: string
  readonly parentSpanId?: string
  readonly startTimeUnixNano: string
  readonly endTimeUnixNano: string
  readonly attributes: ReadonlyArray<{ readonly key: string; readonly value: Record<string, unknown> }>
}

const spans: Array<Span> = []

const collector = Effect.acquireRelease(
  Effect.async<{ readonly url: string; readonly close: () => void }>((resume) => {
    const server = createServer(async (request, response) => {
      let body = ""
      for await (const chunk of request) body += chunk
      if (request.url === "/v1/traces") {
        for (const { scopeSpans } of JSON.parse(body).resourceSpans) spans.push(...scopeSpans[0].spans)
      }
      response.end("{}")
    })
    server.listen(0, "127.0.0.1", () => {
      const { port } = server.address() as AddressInfo
      const close = () => {
        server.close()
        server.closeAllConnections()
      }
      resume(Effect.succeed({ url: `http://127.0.0.1:${port}`, close }))
    })
  }),
  ({ close }) => Effect.sync(close)
)

const print = (span: Span, depth: number): void => {
  const millis = Number(BigInt(span.endTimeUnixNano) - BigInt(span.startTimeUnixNano)) / 1e6
  const tokens = span.attributes.find(({ key }) => key === "gen_ai.usage.output_tokens")?.value["intValue"]
  const used = tokens === undefined ? "" : `, ${tokens} tokens out`
  console.log(`${"  ".repeat(depth)}${span.name} (${millis.toFixed(1)} ms${used})`)
  const below = spans.filter(({ parentSpanId }) => parentSpanId === span.spanId)
  below.sort((a, b) => Number(BigInt(a.startTimeUnixNano) - BigInt(b.startTimeUnixNano)))
  for (const child of below) print(child, depth + 1)
}

const tides = Tool.make("tides", {
  description: "When the tide is high",
  handler: () => Effect.as(Effect.sleep("5 millis"), "06:12 and 18:40")
})
const pilot = Agent.make("pilot", { system: "You know the harbour.", tools: [tides] })
const harbour = Agent.make("harbour", { system: "You answer captains.", tools: [AgentTool.make(pilot)] })

const model = TestModel.layer((request: LlmClient.LlmRequest): TestModel.Turn => {
  const usage = { inputTokens: 40, outputTokens: 12 }
  const isPilot = String(request.messages[0]?.content).startsWith("You know")
  if (request.messages.some(({ role }) => role === "tool")) {
    return { text: isPilot ? "High at 06:12 and 18:40." : "Come in at 06:12.", usage, delay: "10 millis" }
  }
  const call = isPilot ? { name: "tides" } : { name: "delegate_to_pilot", params: { message: "When is high tide?" } }
  return { calls: [call], usage, delay: "10 millis" }
})

const program = Effect.gen(function* () {
  const { url } = yield* collector
  // Below the agents, so that it closes after them and sends the rest.
  const telemetry = OtlpTelemetry.layerFetch({ baseUrl: url, serviceName: "harbour", protocol: "json" })
  const { message } = yield* AgentExecutor.run(harbour, "When can we come in?").pipe(
    Effect.provide(Agents.layer().pipe(Layer.provide(model), Layer.provideMerge(telemetry)))
  )
  console.log(message)
  for (const root of spans.filter(({ parentSpanId }) => parentSpanId === undefined)) print(root, 0)
})

await Effect.runPromise(Effect.scoped(program))
