import type * as HttpClient from "@effect/platform/HttpClient"
import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Redacted from "effect/Redacted"
import type * as Usage from "../../src/domain/Usage.js"
import * as CallMeter from "../../src/llm/model/CallMeter.js"
import type * as LlmClient from "../../src/llm/model/LlmClient.js"
import * as TokenCounter from "../../src/llm/model/TokenCounter.js"
import * as Anthropic from "../../src/provider/format/Anthropic.js"
import * as ChatCompletions from "../../src/provider/format/ChatCompletions.js"
import * as OpenAi from "../../src/provider/format/OpenAi.js"
import * as ChatServer from "../support/ChatServer.js"
import * as Transports from "../support/Transports.js"

/** A hundred tokens for any request, and one for each character that was written. */
const counts = CallMeter.counts({
  ...TokenCounter.make({ model: "m", exact: true, count: (text) => text.length }),
  countMessages: (messages) => (messages.length === 0 ? 0 : 100)
})

const apiKey = Redacted.make("sk-test-0123456789")
const message = { type: "message", id: "msg_1", content: [] }
const chunk = (delta: unknown, rest: object = {}) =>
  ChatServer.event({ id: "c-1", model: "m", choices: [{ index: 0, delta, finish_reason: null }], ...rest })
const messages = (...list: ReadonlyArray<{ readonly type: string; readonly [field: string]: unknown }>) =>
  list.map((value) => `event: ${value.type}\n${ChatServer.event(value)}`)

interface Provider {
  readonly name: string
  readonly make: (baseUrl: string) => Effect.Effect<LlmClient.Service, unknown, HttpClient.HttpClient>
  /** Events up to a text of five characters. */
  readonly begin: ReadonlyArray<string>
  readonly used: Usage.Usage
}

const estimate = { inputTokens: 100, outputTokens: 5, totalTokens: 105, estimatedTokens: 105 }

const providers: ReadonlyArray<Provider> = [
  {
    name: "chat completions",
    make: (baseUrl) => ChatCompletions.make({ baseUrl, model: "m", apiKey }),
    begin: [chunk({ role: "assistant", content: "Hello" })],
    used: estimate
  },
  {
    name: "chat completions that count while they write",
    make: (baseUrl) => ChatCompletions.make({ baseUrl, model: "m", apiKey }),
    begin: [
      chunk(
        { role: "assistant", content: "Hello" },
        { usage: { prompt_tokens: 7, completion_tokens: 2, total_tokens: 9 } }
      )
    ],
    used: { inputTokens: 7, outputTokens: 2, totalTokens: 9 }
  },
  {
    name: "openai",
    make: (baseUrl) => OpenAi.make({ baseUrl, model: "m", apiKey }),
    begin: [
      { type: "response.created", response: { id: "resp_1", model: "m", output: [] } },
      { type: "response.output_item.added", output_index: 0, item: message },
      { type: "response.output_text.delta", output_index: 0, item_id: "msg_1", delta: "Hello" }
    ].map(ChatServer.event),
    used: estimate
  },
  {
    name: "anthropic, which counts the input first",
    make: (baseUrl) => Anthropic.make({ baseUrl, model: "m", apiKey }),
    begin: messages(
      {
        type: "message_start",
        message: {
          id: "m_1",
          model: "m",
          role: "assistant",
          content: [],
          usage: { input_tokens: 10, cache_read_input_tokens: 4, output_tokens: 1 }
        }
      },
      { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } },
      { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "Hello" } }
    ),
    used: { inputTokens: 14, cachedInputTokens: 4, outputTokens: 6, totalTokens: 20, estimatedTokens: 5 }
  }
]

describe.each(Transports.cross(providers))("$name over $transport", ({ begin, layer, make, used }) => {
  const start = Effect.gen(function* () {
    const server = yield* ChatServer.make
    const client = CallMeter.metered(yield* make(server.baseUrl))
    const meter = CallMeter.make(counts)
    const seen = yield* Deferred.make<void>()
    const call = client.complete(
      { messages: [{ role: "user", content: "Hello" }] },
      {
        meter,
        onParts: (parts) =>
          parts.some(({ type }) => type === "text-delta") ? Deferred.succeed(seen, undefined) : Effect.void
      }
    )
    return { server, call, seen, spent: (exit: Parameters<typeof meter.spent>[0]) => meter.spent(exit) }
  })

  it.scopedLive("counts a cut-off answer as far as it came", () =>
    Effect.gen(function* () {
      const { call, seen, server, spent } = yield* start
      yield* server.script(ChatServer.sse([...begin, ChatServer.hang]))
      const fiber = yield* Effect.fork(call)
      yield* Deferred.await(seen)
      const [cut] = spent(yield* Fiber.interrupt(fiber))
      assert.deepStrictEqual(cut?.usage, used)
    }).pipe(Effect.provide(layer))
  )

  it.scopedLive("counts an answer whose connection broke", () =>
    Effect.gen(function* () {
      const { call, server, spent } = yield* start
      yield* server.script(ChatServer.sse([...begin, ChatServer.cut]))
      const [cut] = spent(yield* Effect.exit(call))
      assert.deepStrictEqual(cut?.usage, used)
    }).pipe(Effect.provide(layer))
  )

  it.scopedLive("counts the input of a connection that breaks before the answer, and nothing of a rejection", () =>
    Effect.gen(function* () {
      const { call, server, spent } = yield* start
      yield* server.script({ before: [ChatServer.cut] })
      const [broken] = spent(yield* Effect.exit(call))
      assert.strictEqual(broken?.usage.totalTokens, 100)
      const refused = yield* start
      yield* refused.server.script(ChatServer.json({ error: { message: "Slow down" } }, { status: 429 }))
      assert.deepStrictEqual(refused.spent(yield* Effect.exit(refused.call)), [])
      const unreachable = CallMeter.make(counts)
      const client = CallMeter.metered(yield* make("http://127.0.0.1:1/v1"))
      const exit = yield* Effect.exit(
        client.complete({ messages: [{ role: "user", content: "Hello" }] }, { meter: unreachable })
      )
      assert.deepStrictEqual(unreachable.spent(exit), [])
    }).pipe(Effect.provide(layer))
  )
})
