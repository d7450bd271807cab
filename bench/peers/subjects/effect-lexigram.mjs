/** The library as it is packed, with its defaults: events, metrics, spans, limits and checks. */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as ManagedRuntime from "effect/ManagedRuntime"
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import { Agent, AgentExecutor, Agents, LlmGateway, Tool } from "effect-lexigram"
import { countDeltas, delta, move, others, turn, usage } from "../workload.mjs"

const answer = (text) => ({ content: [{ type: "text", text }], finishReason: "stop", usage })

/** Each chunk of the source is one call of `onParts`, as providers deliver what a socket brings. */
const streamed = Effect.fnUntraced(function* (count, perChunk, onParts) {
  let text = ""
  for (let sent = 0; sent < count; sent += perChunk) {
    yield* Effect.promise(turn)
    const chunk = Array.from({ length: Math.min(perChunk, count - sent) }, () => delta)
    text += chunk.join("")
    yield* onParts(chunk.map((one) => ({ type: "text-delta", id: "t", delta: one })))
  }
  return answer(text)
})

const modelOf = ({ deltas, perChunk = 1, sleep, steps }) => ({
  provider: "bench",
  model: "bench",
  complete: ({ messages }, { onParts } = {}) => {
    if (deltas !== undefined) return streamed(deltas, perChunk, onParts)
    const reply = Effect.sync(() => {
      const last = messages.at(-1)
      const next = move(last.role === "tool" ? last.content[0].result : 0, steps)
      if (next.text !== undefined) return answer(next.text)
      const params = JSON.parse(next.arguments)
      const content = [{ type: "tool-call", id: next.id, name: next.name, params }]
      return { content, finishReason: "tool-calls", usage }
    })
    return sleep === undefined ? reply : Effect.delay(reply, sleep)
  }
})

const overHttp = async (url) => {
  const { ChatCompletions, FetchTransport } = await import("effect-lexigram/provider/chat")
  return Layer.provide(ChatCompletions.layer({ baseUrl: url, model: "m" }), FetchTransport.layer)
}

const guarded = async (config) => {
  const { DefaultGuardPipeline, InjectionGuard, PiiGuard, SecretGuard } = await import("effect-lexigram/guard")
  const pii = await Effect.runPromise(PiiGuard.make())
  const guards = DefaultGuardPipeline.layerGuards([InjectionGuard.make(), pii, SecretGuard.make()])
  return Agents.layerWith({ config, guards })
}

const kept = async (config, variant, file) => {
  const { Lexigram } = await import("effect-lexigram/persistence")
  return variant === "sqlite"
    ? Lexigram.layerSqlite({ file, agents: config })
    : Lexigram.layerMemory({ agents: config })
}

const traced = async (config, otlp) => {
  const { OtlpTelemetry } = await import("effect-lexigram/telemetry")
  return Layer.merge(Agents.layer(config), OtlpTelemetry.layerFetch({ baseUrl: otlp, serviceName: "bench" }))
}

/** Durable runs, and how one is run. */
const durable = async (agent, config, client, { file, postgres, variant }) => {
  const [{ Runs }, { Durable, DurableRuns }, { PostgresClient }] = await Promise.all([
    import("effect-lexigram/agent"),
    import("effect-lexigram/durable"),
    import("effect-lexigram/persistence")
  ])
  const ports =
    variant === "durable-memory"
      ? Durable.layerMemory()
      : variant === "durable-sqlite"
        ? Durable.layerSqlite({ file })
        : Layer.provide(Durable.layerSql(), PostgresClient.layer({ url: Redacted.make(postgres) }))
  const layer = DurableRuns.layer({ agents: [agent] }).pipe(
    Layer.provide(Agents.layerWith({ config, log: ports, steering: ports, approvals: ports })),
    Layer.provide(ports),
    Layer.provide(client)
  )
  const runtime = ManagedRuntime.make(layer)
  const run = Effect.flatMap(Runs.start({ agent: "bench", input: "go", userId: "ada" }), ({ runId }) =>
    Runs.await(runId, { userId: "ada" })
  )
  return { run: async () => (await runtime.runPromise(run)).message, dispose: () => runtime.dispose() }
}

const agentsOf = (config, { file, otlp, variant }) => {
  if (variant === "guards") return guarded(config)
  if (variant === "memory" || variant === "sqlite") return kept(config, variant, file)
  return variant === "otlp" ? traced(config, otlp) : Agents.layer(config)
}

export const make = async (options) => {
  const { steps, tools = 1, url, variant } = options
  const add = Tool.make("add", {
    description: "Adds two numbers",
    parameters: { a: Schema.Number, b: Schema.Number },
    success: Schema.Number,
    // As with the savers of LangGraph, the call of a process that died is made again.
    idempotent: true,
    handler: ({ a, b }) => Effect.succeed(a + b)
  })
  const parameters = { text: Schema.String, count: Schema.optional(Schema.Number) }
  const rest = others(tools).map(({ description, name }) =>
    Tool.make(name, { description, parameters, handler: () => Effect.succeed("unused") })
  )
  const agent = Agent.make("bench", { tools: [add, ...rest] })
  const client = url === undefined ? LlmGateway.layer(modelOf(options)) : await overHttp(url)
  if (variant?.startsWith("durable")) return durable(agent, { maxIterations: steps + 2 }, client, options)
  const agents = await agentsOf({ maxIterations: steps + 2 }, options)
  const runtime = ManagedRuntime.make(Layer.provide(agents, client))
  let n = 0
  const hasSession = variant === "memory" || variant === "sqlite"
  const request = () => (hasSession ? { input: "go", userId: "ada", sessionId: `s${n++ % 50}` } : "go")
  return {
    run: async () => (await runtime.runPromise(AgentExecutor.run(agent, request()))).message,
    stream: () =>
      runtime.runPromise(
        Stream.runFold(AgentExecutor.stream(agent, "go"), 0, (seen, event) =>
          event._tag === "TextDelta" ? seen + countDeltas(event.text) : seen
        )
      ),
    dispose: () => runtime.dispose()
  }
}
