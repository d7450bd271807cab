/**
 * The bare Effect floor: one agent and one tool written by hand, with the same spans, metrics and events as the
 * library, without its checks, limits, guards or timeouts.
 */
import * as Effect from "effect/Effect"
import * as Metric from "effect/Metric"
import * as MetricBoundaries from "effect/MetricBoundaries"
import * as MetricKey from "effect/MetricKey"
import * as MetricLabel from "effect/MetricLabel"
import * as ParseResult from "effect/ParseResult"
import * as Schema from "effect/Schema"
import type * as LlmClient from "../src/llm/model/LlmClient.js"

const boundaries = MetricBoundaries.exponential({ start: 1, factor: 2, count: 20 })
const agent = MetricLabel.make("agent", "bench")
const tool = MetricLabel.make("tool", "add")
// Labels are fixed in advance: tagging on each update would cost more than everything else here.
const counter = (name: string, ...labels: ReadonlyArray<MetricLabel.MetricLabel>) =>
  Metric.fromMetricKey(MetricKey.taggedWithLabels(MetricKey.counter(name), labels))
const histogram = (name: string, ...labels: ReadonlyArray<MetricLabel.MetricLabel>) =>
  Metric.fromMetricKey(MetricKey.taggedWithLabels(MetricKey.histogram(name, boundaries), labels))
const runs = counter("floor.executions", agent)
const duration = histogram("floor.duration_ms", agent)
const tokens = histogram("floor.tokens", agent)
const steps = histogram("floor.steps", agent)
const toolCalls = histogram("floor.tool_calls_of_a_run", agent)
const calls = counter("floor.tool_calls", agent, tool)
const success = counter("floor.tool_success", agent, tool)
const toolDuration = histogram("floor.tool_ms", agent, tool)

const parameters = Schema.Struct({ a: Schema.Number, b: Schema.Number })
const decode = ParseResult.decodeUnknown(parameters)
const encode = ParseResult.encodeUnknown(Schema.Number)

export interface FloorEvent {
  readonly _tag: string
  readonly seq: number
  readonly at: number
  readonly [key: string]: unknown
}

export const run = (client: LlmClient.Service, input: string, tools: ReadonlyArray<LlmClient.ToolDefinition>) =>
  Effect.clockWith((clock) => {
    const events: Array<FloorEvent> = []
    let seq = 0
    const emit = (event: Record<string, unknown> & { readonly _tag: string }) =>
      Effect.sync(() => {
        events.push({ seq: seq++, at: clock.unsafeCurrentTimeMillis(), runId: "run", agent: "bench", ...event })
      })
    const startedAt = clock.unsafeCurrentTimeMillis()
    return Effect.gen(function* () {
      yield* emit({ _tag: "Started", input })
      let used = 0
      const messages: Array<LlmClient.Message> = [{ role: "user", content: input }]
      for (let step = 1; ; step++) {
        yield* emit({ _tag: "StepStarted", step })
        const response = yield* Effect.useSpan(
          "agent.llm.bench",
          {
            captureStackTrace: false,
            kind: "client",
            attributes: {
              "agent.name": "bench",
              "agent.iteration": step,
              "gen_ai.operation.name": "chat",
              "gen_ai.provider.name": client.provider,
              "gen_ai.request.model": client.model,
              "gen_ai.request.temperature": 0.7,
              "gen_ai.request.max_tokens": 2048
            }
          },
          (span) =>
            Effect.map(Effect.withParentSpan(client.complete({ messages, tools }), span), (response) => {
              span.attribute("gen_ai.response.finish_reasons", [response.finishReason])
              span.attribute("gen_ai.usage.input_tokens", response.usage.inputTokens)
              span.attribute("gen_ai.usage.output_tokens", response.usage.outputTokens)
              return response
            })
        )
        used += response.usage.totalTokens ?? 0
        yield* emit({ _tag: "UsageReported", usage: response.usage })
        const call = response.content.find((part) => part.type === "tool-call")
        if (call === undefined) {
          const text = response.content.map((part) => (part.type === "text" ? part.text : "")).join("")
          yield* emit({ _tag: "Message", text })
          yield* emit({ _tag: "Finished" })
          yield* Metric.increment(runs)
          yield* Metric.update(duration, clock.unsafeCurrentTimeMillis() - startedAt)
          yield* Metric.update(tokens, used)
          yield* Metric.update(steps, step)
          yield* Metric.update(toolCalls, step - 1)
          const span = yield* Effect.orDie(Effect.currentSpan)
          span.attribute("agent.steps", step)
          span.attribute("agent.tokens", used)
          span.attribute("agent.tool_calls", step - 1)
          return { text, events }
        }
        yield* emit({ _tag: "ToolCall", step, id: call.id, name: call.name, params: call.params })
        const began = clock.unsafeCurrentTimeMillis()
        const result = yield* Effect.withSpan(
          Effect.flatMap(decode(call.params), ({ a, b }) => encode(a + b)),
          "agent.tool.add",
          {
            captureStackTrace: false,
            attributes: {
              "agent.name": "bench",
              "tool.name": call.name,
              "gen_ai.operation.name": "execute_tool",
              "gen_ai.tool.name": call.name,
              "gen_ai.tool.call.id": call.id,
              "gen_ai.tool.type": "function"
            }
          }
        )
        yield* Metric.increment(calls)
        yield* Metric.increment(success)
        yield* Metric.update(toolDuration, clock.unsafeCurrentTimeMillis() - began)
        yield* emit({ _tag: "ToolResult", step, id: call.id, name: call.name, result })
        messages.push(
          {
            role: "assistant",
            content: [{ type: "tool-call", id: call.id, name: call.name, params: call.params, providerExecuted: false }]
          },
          {
            role: "tool",
            content: [
              { type: "tool-result", id: call.id, name: call.name, isFailure: false, result, providerExecuted: false }
            ]
          }
        )
      }
    }).pipe(
      Effect.withSpan("agent.execute.bench", {
        captureStackTrace: false,
        attributes: {
          "agent.name": "bench",
          "agent.message_length": input.length,
          "gen_ai.operation.name": "invoke_agent",
          "gen_ai.agent.name": "bench"
        }
      })
    )
  })
