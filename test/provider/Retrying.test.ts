import * as FetchHttpClient from "@effect/platform/FetchHttpClient"
import type * as HttpClient from "@effect/platform/HttpClient"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import * as LlmRetry from "../../src/llm/LlmRetry.js"
import * as LlmTimeout from "../../src/llm/LlmTimeout.js"
import type * as LlmClient from "../../src/llm/model/LlmClient.js"
import * as Anthropic from "../../src/provider/format/Anthropic.js"
import * as ChatCompletions from "../../src/provider/format/ChatCompletions.js"
import * as OpenAi from "../../src/provider/format/OpenAi.js"
import * as ChatServer from "../support/ChatServer.js"

const apiKey = Redacted.make("sk-test-0123456789")

interface Provider {
  readonly name: string
  readonly make: (baseUrl: string) => Effect.Effect<LlmClient.Service, unknown, HttpClient.HttpClient>
  /** Events up to the first delta, and from there to the end. */
  readonly stream: readonly [begin: ReadonlyArray<string>, rest: ReadonlyArray<string>]
}

const message = { type: "message", id: "msg_1", content: [{ type: "output_text", text: "Hello you" }] }
const responses = (...list: ReadonlyArray<unknown>) => list.map(ChatServer.event)
const messages = (...list: ReadonlyArray<{ readonly type: string; readonly [field: string]: unknown }>) =>
  list.map((value) => `event: ${value.type}\n${ChatServer.event(value)}`)
const chunk = (delta: unknown, finish: string | null = null) =>
  ChatServer.event({ id: "c-1", model: "m", choices: [{ index: 0, delta, finish_reason: finish }] })

const providers: ReadonlyArray<Provider> = [
  {
    name: "chat completions",
    make: (baseUrl) => ChatCompletions.make({ baseUrl, model: "m", apiKey }),
    stream: [
      [chunk({ role: "assistant", content: "Hello" })],
      [chunk({ content: " you" }), chunk({}, "stop"), ChatServer.event("[DONE]")]
    ]
  },
  {
    name: "openai",
    make: (baseUrl) => OpenAi.make({ baseUrl, model: "m", apiKey }),
    stream: [
      responses(
        { type: "response.created", response: { id: "resp_1", model: "m", output: [] } },
        { type: "response.output_item.added", output_index: 0, item: { ...message, content: [] } },
        { type: "response.output_text.delta", output_index: 0, item_id: "msg_1", delta: "Hello" }
      ),
      responses(
        { type: "response.output_text.delta", output_index: 0, item_id: "msg_1", delta: " you" },
        { type: "response.output_item.done", output_index: 0, item: message },
        {
          type: "response.completed",
          response: { id: "resp_1", model: "m", status: "completed", output: [message], usage: {} }
        }
      )
    ]
  },
  {
    name: "anthropic",
    make: (baseUrl) => Anthropic.make({ baseUrl, model: "m", apiKey }),
    stream: [
      messages(
        { type: "message_start", message: { id: "m_1", model: "m", role: "assistant", content: [], usage: {} } },
        { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } },
        { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "Hello" } }
      ),
      messages(
        { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: " you" } },
        { type: "content_block_stop", index: 0 },
        { type: "message_delta", delta: { stop_reason: "end_turn" }, usage: { output_tokens: 2 } },
        { type: "message_stop" }
      )
    ]
  }
]

/** A streamed call: what it was given, part by part, and how it ended. */
const collect = (client: LlmClient.Service) =>
  Effect.gen(function* () {
    const parts: Array<unknown> = []
    const result = yield* Effect.either(
      client.complete(
        { messages: [{ role: "user", content: "Hello" }] },
        { onParts: (more) => Effect.sync(() => void parts.push(...more)) }
      )
    )
    return { parts, result }
  })

const busy = (retryAfter: string, status = 429) =>
  ChatServer.json({ error: { message: "Slow down" } }, { status, headers: { "retry-after": retryAfter } })

const retrying = LlmRetry.wrap({ base: "1 millis" })

describe.each(providers)("$name", ({ make, stream: [begin, rest] }) => {
  const start = Effect.gen(function* () {
    const server = yield* ChatServer.make
    return { server, client: yield* make(server.baseUrl) }
  })
  const whole = ChatServer.sse([...begin, ...rest])

  it.scopedLive("gives the same stream after failures as without", () =>
    Effect.gen(function* () {
      const { client, server } = yield* start
      yield* server.script(whole)
      const expected = yield* collect(client)
      assert.strictEqual(expected.result._tag, "Right")
      assert.include(JSON.stringify(expected.parts), "Hello")
      const failures = [busy("0"), busy("0.01", 503), { before: [ChatServer.cut] }]
      for (const failure of failures) {
        yield* server.script(failure, whole)
        assert.deepStrictEqual(yield* collect(retrying(client)), expected)
      }
      assert.strictEqual(server.requests.length, 1 + 2 * failures.length)
    }).pipe(Effect.provide(FetchHttpClient.layer))
  )

  it.scopedLive("fails without a retry when a stream breaks or stops after its first delta", () =>
    Effect.gen(function* () {
      const { client, server } = yield* start
      yield* server.script(ChatServer.sse([...begin, ChatServer.cut]), whole)
      const cut = yield* collect(retrying(client))
      assert.include(JSON.stringify(cut.parts), "Hello")
      assert.deepInclude(cut.result, { _tag: "Left" })
      assert.strictEqual(server.requests.length, 1)
    }).pipe(Effect.provide(FetchHttpClient.layer))
  )

  it.scopedLive("fails with LlmTimeoutError and without a second call when no part follows the first delta", () =>
    Effect.gen(function* () {
      const { client, server } = yield* start
      yield* server.script(ChatServer.sse([...begin, ChatServer.hang]), whole)
      const timed = LlmTimeout.wrap({ gap: "300 millis", whole: "1 hour" })(client)
      const { parts, result } = yield* collect(retrying(timed))
      assert.include(JSON.stringify(parts), "Hello")
      assert.deepInclude(result._tag === "Left" ? result.left : {}, {
        _tag: "LlmTimeoutError",
        phase: "gap",
        timeoutMs: 300
      })
      assert.strictEqual(server.requests.length, 1)
    }).pipe(Effect.provide(FetchHttpClient.layer))
  )

  it.scopedLive("bounds a requested delay of a year in the error, and does not wait for it", () =>
    Effect.gen(function* () {
      const { client, server } = yield* start
      yield* server.script(busy(String(365 * 24 * 3600)), whole)
      const { parts, result } = yield* collect(retrying(client))
      assert.deepStrictEqual(parts, [])
      assert.deepInclude(result._tag === "Left" ? result.left : {}, {
        _tag: "LlmRateLimitError",
        retryAfterMs: 86_400_000
      })
      assert.strictEqual(server.requests.length, 1)
    }).pipe(Effect.provide(FetchHttpClient.layer))
  )
})
