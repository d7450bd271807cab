import * as FetchHttpClient from "@effect/platform/FetchHttpClient"
import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import type { LlmPart, LlmRequest, Message } from "../../../src/llm/model/LlmClient.js"
import * as LlmClient from "../../../src/llm/model/LlmClient.js"
import * as Anthropic from "../../../src/provider/format/Anthropic.js"
import * as ChatServer from "../../support/ChatServer.js"
import * as ErrorRenderings from "../../support/ErrorRenderings.js"

const secret = "sk-ant-api03-THE_KEY_itself_0123456789"

const ask: LlmRequest = { messages: [{ role: "user", content: "Hello" }] }

const weather = {
  name: "get_weather",
  description: "The weather of a city",
  parameters: { type: "object", properties: { city: { type: "string" } }, required: ["city"] }
}

const encoded = (definition: typeof weather) => ({
  name: definition.name,
  description: definition.description,
  input_schema: definition.parameters
})

const text = (value: string) => ({ type: "text", text: value })

const use = (name: string, input: unknown, id = "toolu_1") => ({ type: "tool_use", id, name, input })

const answer = (stopReason: string, ...content: ReadonlyArray<unknown>) => ({
  id: "msg_1",
  type: "message",
  role: "assistant",
  model: "claude-test",
  content,
  stop_reason: stopReason,
  stop_sequence: null,
  usage: { input_tokens: 10, cache_read_input_tokens: 4, cache_creation_input_tokens: 1, output_tokens: 5 }
})

const hello = ChatServer.json(answer("end_turn", text("Hi")))

const start = (options?: Partial<Anthropic.Options>) =>
  Effect.gen(function* () {
    const server = yield* ChatServer.make
    const client = yield* Anthropic.make({
      apiKey: Redacted.make(secret),
      model: "claude-sonnet-4-5",
      baseUrl: server.baseUrl,
      ...options,
      settings: { promptCache: false, ...options?.settings }
    })
    return { server, client }
  }).pipe(Effect.provide(FetchHttpClient.layer))

const collect = (client: LlmClient.Service, request: LlmRequest) =>
  Effect.gen(function* () {
    const parts: Array<LlmPart> = []
    const response = yield* client.complete(request, {
      onParts: (more) => Effect.sync(() => void parts.push(...more))
    })
    return { parts, response }
  })

const events = (...list: ReadonlyArray<{ readonly type: string }>) =>
  list.map((value) => `event: ${value.type}\n${ChatServer.event(value)}`)

const begin = {
  type: "message_start",
  message: { ...answer("end_turn"), content: [], stop_reason: null, usage: { input_tokens: 10, output_tokens: 1 } }
}
const blockStart = (index: number, block: unknown) => ({ type: "content_block_start", index, content_block: block })
const blockDelta = (index: number, delta: unknown) => ({ type: "content_block_delta", index, delta })
const blockStop = (index: number) => ({ type: "content_block_stop", index })
const finish = (stopReason: string) => [
  { type: "message_delta", delta: { stop_reason: stopReason, stop_sequence: null }, usage: { output_tokens: 7 } },
  { type: "message_stop" }
]

const streamOf = (value: string) =>
  events(
    begin,
    { type: "ping" },
    blockStart(0, text("")),
    blockDelta(0, { type: "text_delta", text: value.slice(0, 2) }),
    blockDelta(0, { type: "text_delta", text: value.slice(2) }),
    blockStop(0),
    ...finish("end_turn")
  )

describe("the request", () => {
  it.scopedLive("has every setting as a field of the body", () =>
    Effect.gen(function* () {
      const { client, server } = yield* start()
      yield* server.script(hello)
      yield* client.complete({
        ...ask,
        tools: [weather],
        settings: {
          model: "claude-other",
          temperature: 0.25,
          topP: 0.5,
          maxTokens: 77,
          stop: ["END"],
          seed: 7,
          presencePenalty: 0.1,
          frequencyPenalty: 0.2,
          parallelToolCalls: false,
          providerOptions: { top_k: 40, top_p: 0.75 }
        }
      })
      assert.deepStrictEqual(server.requests[0]!.body, {
        model: "claude-other",
        messages: [{ role: "user", content: [{ type: "text", text: "Hello" }] }],
        tools: [encoded(weather)],
        tool_choice: { type: "auto", disable_parallel_tool_use: true },
        max_tokens: 77,
        temperature: 0.25,
        top_p: 0.75,
        stop_sequences: ["END"],
        seed: 7,
        presence_penalty: 0.1,
        frequency_penalty: 0.2,
        top_k: 40
      })
    })
  )

  it.scopedLive("marks tools, system prompt and the end of a conversation that goes on for the cache", () =>
    Effect.gen(function* () {
      const { client, server } = yield* start({ settings: { promptCache: {} } })
      yield* server.script(hello, hello, hello, hello, hello, hello)
      const mark = { cache_control: { type: "ephemeral" } }
      const system: Message = { role: "system", content: "Be brief." }
      const turns: ReadonlyArray<Message> = [
        { role: "user", content: "Hello" },
        { role: "assistant", content: "Hi" },
        { role: "user", content: [text("One"), text("Two")] as never }
      ]
      const bodyOf = (request: LlmRequest) =>
        Effect.map(client.complete(request), () => server.requests.at(-1)!.body as any)
      const whole = yield* bodyOf({ messages: [system, ...turns], tools: [weather, { ...weather, name: "other" }] })
      assert.deepStrictEqual(whole.system, [{ ...text("Be brief."), ...mark }])
      assert.deepStrictEqual(whole.tools, [encoded(weather), { ...encoded({ ...weather, name: "other" }), ...mark }])
      assert.deepStrictEqual(
        whole.messages.map(({ content }: any) => content),
        [[text("Hello")], [text("Hi")], [text("One"), { ...text("Two"), ...mark }]]
      )
      // Nothing is likely to repeat a first message without tools.
      const first = yield* bodyOf({ messages: [system, turns[0]!] })
      assert.deepStrictEqual(first.messages[0].content, [text("Hello")])
      assert.deepStrictEqual(first.system, [{ ...text("Be brief."), ...mark }])
      const hour = yield* bodyOf({ messages: [system, ...turns], settings: { promptCache: { ttl: "24h" } } })
      assert.deepStrictEqual(hour.system[0].cache_control, { type: "ephemeral", ttl: "1h" })
      for (const settings of [{ promptCache: false as const }, { providerOptions: { cache_control: mark } }]) {
        const off = yield* bodyOf({ messages: [system, ...turns], tools: [weather], settings })
        assert.deepStrictEqual([off.system, off.tools], [[text("Be brief.")], [encoded(weather)]])
      }
      // Marks of its own are enough.
      const own: Message = { ...system, options: { anthropic: { cacheControl: { type: "ephemeral" } } } }
      const given = yield* bodyOf({ messages: [own, ...turns], tools: [weather] })
      assert.deepStrictEqual([given.system, given.tools], [[{ ...text("Be brief."), ...mark }], [encoded(weather)]])
      assert.deepStrictEqual(given.messages[2].content, [text("One"), text("Two")])
    })
  )

  it.scopedLive(
    "turns an effort into a budget for older models and adaptive thinking for newer ones, within max_tokens",
    () =>
      Effect.gen(function* () {
        const { client, server } = yield* start()
        const asked = [
          { model: "claude-sonnet-4-5-20250929", reasoning: "medium" },
          { model: "claude-3-7-sonnet-latest", reasoning: "high", maxTokens: 4000 },
          { model: "claude-opus-5", reasoning: "minimal" }
        ] as const
        for (const settings of asked) {
          yield* server.script(hello)
          yield* client.complete({ ...ask, settings })
        }
        assert.deepStrictEqual(
          server.requests.map(({ body }) => [body.max_tokens, body.thinking, body.output_config]),
          [
            [Anthropic.defaultMaxTokens + 8192, { type: "enabled", budget_tokens: 8192 }, undefined],
            [4000, { type: "enabled", budget_tokens: 3000 }, undefined],
            [Anthropic.defaultMaxTokens, { type: "adaptive" }, { effort: "low" }]
          ]
        )
      })
  )

  it.scopedLive("always has max_tokens, and settings of the client unless it has its own", () =>
    Effect.gen(function* () {
      const plain = yield* start()
      yield* plain.server.script(hello)
      yield* plain.client.complete(ask)
      assert.strictEqual(plain.server.requests[0]!.body.max_tokens, Anthropic.defaultMaxTokens)
      const { client, server } = yield* start({ settings: { maxTokens: 50, temperature: 0 } })
      yield* server.script(hello, hello)
      yield* client.complete(ask)
      yield* client.complete({ ...ask, settings: { maxTokens: 60 } })
      assert.deepStrictEqual(
        server.requests.map(({ body }) => [body.max_tokens, body.temperature]),
        [
          [50, 0],
          [60, 0]
        ]
      )
    })
  )

  it.scopedLive("has key and version as headers, no trace, and an address with or without version", () =>
    Effect.gen(function* () {
      const server = yield* ChatServer.make
      yield* server.script(hello, hello)
      const { client } = yield* start({ baseUrl: server.origin, version: "2024-01-01" })
      yield* client.complete(ask).pipe(Effect.withSpan("outer"))
      const other = yield* start({ baseUrl: `${server.baseUrl}/` })
      yield* other.client.complete(ask)
      assert.deepStrictEqual(
        server.requests.map(({ headers, url }) => [url, headers["anthropic-version"]]),
        [
          ["/v1/messages", "2024-01-01"],
          ["/v1/messages", "2023-06-01"]
        ]
      )
      const { headers } = server.requests[0]!
      assert.strictEqual(headers["x-api-key"], secret)
      assert.notProperty(headers, "traceparent")
      assert.notProperty(headers, "b3")
    })
  )

  it.scopedLive("has the beta header for a PDF", () =>
    Effect.gen(function* () {
      const { client, server } = yield* start()
      yield* server.script(hello)
      const file = { type: "file", mediaType: "application/pdf", data: "aGVsbG8=" } as const
      yield* client.complete({ messages: [{ role: "user", content: [file] }] })
      assert.include(server.requests[0]!.headers["anthropic-beta"], "pdfs")
      assert.deepStrictEqual(server.requests[0]!.body.messages[0].content[0].source.data, "aGVsbG8=")
    })
  )

  it.scopedLive("has a form for each tool choice, and declares tools without one", () =>
    Effect.gen(function* () {
      const { client, server } = yield* start()
      for (const toolChoice of ["auto", "none", "required", { tool: "get_weather" }] as const) {
        yield* server.script(hello)
        yield* client.complete({ ...ask, tools: [weather], toolChoice })
      }
      assert.deepStrictEqual(
        server.requests.map(({ body }) => [body.tools.length, body.tool_choice]),
        [
          [1, { type: "auto" }],
          [1, { type: "none" }],
          [1, { type: "any" }],
          [1, { type: "tool", name: "get_weather" }]
        ]
      )
    })
  )

  it.scopedLive("merges system messages, omits empty texts, and sends results as plain text", () =>
    Effect.gen(function* () {
      const { client, server } = yield* start()
      yield* server.script(hello)
      const result = (id: string, value: unknown) =>
        ({ type: "tool-result", id, name: "t", isFailure: id === "b", result: value, providerExecuted: false }) as const
      const call = (id: string, params: unknown) =>
        ({ type: "tool-call", id, name: "t", params, providerExecuted: false }) as const
      yield* client.complete({
        messages: [
          { role: "system", content: "One" },
          {
            role: "user",
            content: [
              { type: "text", text: "" },
              { type: "text", text: "Hello" }
            ]
          },
          { role: "system", content: "Two" },
          { role: "assistant", content: [{ type: "text", text: "" }] },
          { role: "assistant", content: [call("a", "not { json"), call("b", undefined)] },
          { role: "tool", content: [result("a", 'say "hi"'), result("b", undefined)] }
        ]
      })
      const { messages, system } = server.requests[0]!.body
      assert.deepStrictEqual(system, [{ type: "text", text: "One\n\nTwo" }])
      assert.deepStrictEqual(messages, [
        { role: "user", content: [{ type: "text", text: "Hello" }] },
        {
          role: "assistant",
          content: [
            { type: "tool_use", id: "a", name: "t", input: { invalid_json: "not { json" } },
            { type: "tool_use", id: "b", name: "t", input: {} }
          ]
        },
        {
          role: "user",
          content: [
            { type: "tool_result", tool_use_id: "a", content: 'say "hi"', is_error: false },
            { type: "tool_result", tool_use_id: "b", content: "null", is_error: true }
          ]
        }
      ])
    })
  )
})

describe("JSON output", () => {
  const responseFormat = { type: "json", name: "city", schema: weather.parameters } as const

  it.scopedLive("is a forced tool, whose input is the answer", () =>
    Effect.gen(function* () {
      const { client, server } = yield* start()
      yield* server.script(
        ChatServer.json(
          answer("tool_use", text("Here:"), use("city", { city: "Rome" }), use("city", { city: "Bern" }, "t2"))
        ),
        ChatServer.sse(
          events(
            begin,
            blockStart(0, text("")),
            blockDelta(0, { type: "text_delta", text: "Here:" }),
            blockStop(0),
            blockStart(1, use("city", {})),
            blockDelta(1, { type: "input_json_delta", partial_json: '{"city":' }),
            blockDelta(1, { type: "input_json_delta", partial_json: '"Rome"}' }),
            blockStop(1),
            ...finish("tool_use")
          )
        )
      )
      const streamed = yield* Effect.gen(function* () {
        const whole = yield* client.complete({ ...ask, responseFormat })
        return [whole, (yield* collect(client, { ...ask, responseFormat })).response]
      })
      for (const response of streamed) {
        assert.strictEqual(LlmClient.text(response), '{"city":"Rome"}')
        assert.deepStrictEqual(LlmClient.toolCalls(response), [])
        assert.strictEqual(response.finishReason, "stop")
      }
      const { body } = server.requests[0]!
      assert.deepStrictEqual(body.tools, [
        { name: "city", description: "Give the final answer.", input_schema: weather.parameters }
      ])
      assert.deepStrictEqual(body.tool_choice, { type: "tool", name: "city", disable_parallel_tool_use: true })
    })
  )

  it.scopedLive("keeps the tools of the request callable", () =>
    Effect.gen(function* () {
      const { client, server } = yield* start()
      yield* server.script(ChatServer.json(answer("tool_use", use("get_weather", { city: "Rome" }))), hello)
      const response = yield* client.complete({ ...ask, responseFormat, tools: [weather] })
      assert.strictEqual(LlmClient.toolCalls(response)[0]!.name, "get_weather")
      assert.strictEqual(response.finishReason, "tool-calls")
      const { body } = server.requests[0]!
      assert.deepStrictEqual(
        body.tools.map((tool: any) => tool.name),
        ["get_weather", "city"]
      )
      assert.deepStrictEqual(body.tool_choice, { type: "any", disable_parallel_tool_use: true })
      yield* client.complete({ ...ask, responseFormat, tools: [weather], toolChoice: "none" })
      assert.deepStrictEqual(server.requests[1]!.body.tool_choice.name, "city")
    })
  )

  it.scopedLive("is not forced while the model thinks, and a text is then the answer", () =>
    Effect.gen(function* () {
      const { client, server } = yield* start()
      yield* server.script(hello, ChatServer.sse(streamOf("not JSON")))
      const request: LlmRequest = { ...ask, responseFormat, settings: { reasoning: "low" } }
      assert.strictEqual(LlmClient.text(yield* client.complete(request)), "Hi")
      assert.strictEqual(LlmClient.text((yield* collect(client, request)).response), "not JSON")
      assert.strictEqual(server.requests[0]!.body.tool_choice.type, "auto")
    })
  )
})

describe("the response", () => {
  it.scopedLive("has an id for each call, even when the server repeats one, whole and streamed", () =>
    Effect.gen(function* () {
      const { client, server } = yield* start()
      const calls = [use("a", { n: 1 }), use("b", { n: 2 })]
      yield* server.script(
        ChatServer.json(answer("tool_use", ...calls)),
        ChatServer.sse(
          events(begin, ...calls.flatMap((call, i) => [blockStart(i, call), blockStop(i)]), ...finish("tool_use"))
        )
      )
      const whole = yield* client.complete(ask)
      const streamed = yield* collect(client, ask)
      for (const response of [whole, streamed.response]) {
        assert.deepStrictEqual(
          LlmClient.toolCalls(response).map(({ id, name, params }) => [id, name, params]),
          [
            ["toolu_1", "a", { n: 1 }],
            ["toolu_1_1", "b", { n: 2 }]
          ]
        )
      }
      const starts = streamed.parts.flatMap((part) => (part.type === "tool-params-start" ? [part.id] : []))
      assert.deepStrictEqual(starts, ["toolu_1", "toolu_1_1"])
    })
  )

  it.scopedLive("includes cached tokens in the input", () =>
    Effect.gen(function* () {
      const { client, server } = yield* start()
      yield* server.script(hello)
      assert.deepStrictEqual(yield* client.complete(ask), {
        content: [{ type: "text", text: "Hi" }],
        finishReason: "stop",
        usage: { inputTokens: 15, outputTokens: 5, totalTokens: 20, cachedInputTokens: 4, cacheWriteTokens: 1 },
        id: "msg_1",
        model: "claude-test",
        provider: "anthropic"
      })
    })
  )

  it.scopedLive("returns a call of an unknown tool, or of one named like the provider's, whole and streamed", () =>
    Effect.gen(function* () {
      const { client, server } = yield* start()
      yield* server.script(
        ChatServer.json(answer("tool_use", use("bash", { a: 1 }), use("nowhere", {}, "toolu_2"))),
        ChatServer.sse(
          events(
            begin,
            blockStart(0, use("bash", {})),
            blockDelta(0, { type: "input_json_delta", partial_json: "" }),
            blockDelta(0, { type: "input_json_delta", partial_json: '{"a"' }),
            blockDelta(0, { type: "input_json_delta", partial_json: ":1}" }),
            blockStop(0),
            blockStart(1, use("nowhere", {}, "toolu_2")),
            blockStop(1),
            ...finish("tool_use")
          )
        )
      )
      const request = { ...ask, tools: [{ ...weather, name: "bash" }] }
      const whole = yield* client.complete(request)
      const streamed = yield* collect(client, request)
      for (const response of [whole, streamed.response]) {
        assert.deepStrictEqual(LlmClient.toolCalls(response), [
          { type: "tool-call", id: "toolu_1", name: "bash", params: { a: 1 } },
          { type: "tool-call", id: "toolu_2", name: "nowhere", params: {} }
        ])
        assert.strictEqual(response.finishReason, "tool-calls")
      }
      assert.strictEqual(streamed.response.usage.outputTokens, 7)
    })
  )

  it.scopedLive("returns thinking with its signature and redacted thinking with its data", () =>
    Effect.gen(function* () {
      const { client, server } = yield* start()
      const thinking = { type: "thinking", thinking: "Hmm", signature: "SIGNED" }
      const silent = { type: "thinking", thinking: "", signature: "SIGNED2" }
      const redacted = { type: "redacted_thinking", data: "SEALED" }
      yield* server.script(
        ChatServer.json(answer("end_turn", thinking, silent, redacted, text("Hi"))),
        ChatServer.sse(
          events(
            begin,
            blockStart(0, { type: "thinking", thinking: "", signature: "" }),
            blockDelta(0, { type: "thinking_delta", thinking: "Hmm" }),
            blockDelta(0, { type: "signature_delta", signature: "SIGNED" }),
            blockStop(0),
            blockStart(1, { type: "thinking", thinking: "", signature: "" }),
            blockDelta(1, { type: "signature_delta", signature: "SIGNED2" }),
            blockStop(1),
            blockStart(2, redacted),
            blockStop(2),
            blockStart(3, text("Hi")),
            blockStop(3),
            ...finish("end_turn")
          )
        ),
        hello,
        hello
      )
      const whole = yield* client.complete(ask)
      const streamed = yield* collect(client, ask)
      for (const response of [whole, streamed.response]) {
        assert.strictEqual(LlmClient.reasoning(response), "Hmm")
        yield* client.complete({ messages: [...ask.messages, LlmClient.assistantMessage(response)] })
      }
      for (const { body } of server.requests.slice(2)) {
        assert.deepStrictEqual(body.messages[1].content, [thinking, silent, redacted, text("Hi")])
      }
    })
  )

  it.scopedLive("returns any blocks of the provider's own tools unchanged, whole and streamed", () =>
    Effect.gen(function* () {
      const { client, server } = yield* start()
      const asked = { type: "server_tool_use", id: "srv_1", name: "future_tool", input: { q: "x" } }
      const got = { type: "future_tool_tool_result", tool_use_id: "srv_1", content: { type: "future_error", n: 1 } }
      yield* server.script(
        ChatServer.json(answer("end_turn", asked, got, text("Hi"))),
        ChatServer.sse(
          events(
            begin,
            blockStart(0, { ...asked, input: {} }),
            blockDelta(0, { type: "input_json_delta", partial_json: '{"q":"x"}' }),
            blockStop(0),
            blockStart(1, got),
            blockStop(1),
            blockStart(2, text("Hi")),
            blockDelta(2, { type: "some_future_delta" }),
            blockStop(2),
            { type: "some_future_event" },
            ...finish("end_turn")
          )
        ),
        hello,
        hello
      )
      const whole = yield* client.complete(ask)
      const streamed = yield* collect(client, ask)
      for (const response of [whole, streamed.response]) {
        assert.deepStrictEqual(LlmClient.toolCalls(response), [])
        assert.deepInclude(response.content[1], { type: "tool-result", name: "future_tool", isFailure: true })
        yield* client.complete({ messages: [...ask.messages, LlmClient.assistantMessage(response)] })
      }
      for (const { body } of server.requests.slice(2)) {
        assert.deepStrictEqual(body.messages[1].content, [asked, got, text("Hi")])
      }
    })
  )

  it.scopedLive("omits tool results of another provider", () =>
    Effect.gen(function* () {
      const { client, server } = yield* start()
      yield* server.script(hello)
      const part = { id: "ws_1", name: "OpenAiWebSearch", providerExecuted: true } as const
      yield* client.complete({
        messages: [
          ...ask.messages,
          {
            role: "assistant",
            content: [
              { type: "tool-call", params: {}, ...part },
              { type: "tool-result", result: {}, isFailure: false, ...part },
              { type: "text", text: "Hi" }
            ]
          }
        ]
      })
      assert.deepStrictEqual(server.requests[0]!.body.messages[1].content, [text("Hi")])
    })
  )

  it.scopedLive("maps the finish reason", () =>
    Effect.gen(function* () {
      const { client, server } = yield* start()
      const reasons = [
        "end_turn",
        "stop_sequence",
        "max_tokens",
        "model_context_window_exceeded",
        "pause_turn",
        "refusal",
        "future"
      ]
      const found: Array<string> = []
      for (const reason of reasons) {
        yield* server.script(ChatServer.json(answer(reason, text("Hi"))))
        found.push((yield* client.complete(ask)).finishReason)
      }
      assert.deepStrictEqual(found, ["stop", "stop", "length", "length", "pause", "content-filter", "unknown"])
    })
  )

  it.scopedLive("returns citations as sources", () =>
    Effect.gen(function* () {
      const { client, server } = yield* start()
      const citation = { url: "https://a.test/", title: null, cited_text: "said", encrypted_index: "E" }
      yield* server.script(ChatServer.json(answer("end_turn", { ...text("Hi"), citations: [citation, null] })))
      const response = yield* client.complete(ask)
      assert.deepInclude(
        response.content.find((part) => part.type === "source"),
        { url: "https://a.test/", title: "https://a.test/" }
      )
    })
  )

  it.scopedLive("is read from a minimal body and stream", () =>
    Effect.gen(function* () {
      const { client, server } = yield* start()
      yield* server.script(
        ChatServer.json({ content: [{ type: "text", text: "Hi" }] }),
        ChatServer.sse(events(blockDelta(0, { type: "text_delta", text: "Hi" }), { type: "message_stop" }))
      )
      for (const response of [yield* client.complete(ask), (yield* collect(client, ask)).response]) {
        assert.strictEqual(LlmClient.text(response), "Hi")
        assert.strictEqual(response.finishReason, "stop")
        assert.deepStrictEqual(response.usage, {})
      }
    })
  )
})

describe("streams", () => {
  it.scopedLive("delivers deltas before the answer ends", () =>
    Effect.gen(function* () {
      const { client, server } = yield* start()
      const gate = yield* Deferred.make<void>()
      const all = streamOf("Hello you")
      yield* server.script(ChatServer.sse([...all.slice(0, 4), ChatServer.wait(Deferred.await(gate)), ...all.slice(4)]))
      const response = yield* client.complete(ask, {
        onParts: (parts) =>
          parts.some((part) => part.type === "text-delta") ? Effect.asVoid(Deferred.succeed(gate, void 0)) : Effect.void
      })
      assert.strictEqual(server.requests[0]!.body.stream, true)
      assert.strictEqual(LlmClient.text(response), "Hello you")
      assert.deepStrictEqual(response.usage, { inputTokens: 10, outputTokens: 7, totalTokens: 17 })
    })
  )

  it.scopedLive("types a stream without an end, an empty one, a cut one and one with an error", () =>
    Effect.gen(function* () {
      const { client, server } = yield* start()
      const overloaded = { type: "error", error: { type: "overloaded_error", message: "Overloaded" } }
      yield* server.script(
        ChatServer.sse(streamOf("Hello").slice(0, 4), { headers: { "request-id": "req_9" } }),
        ChatServer.sse([]),
        ChatServer.sse([...streamOf("Hello").slice(0, 4), ChatServer.cut]),
        ChatServer.sse([...streamOf("Hello").slice(0, 4), ...events(overloaded)])
      )
      const endless = yield* Effect.flip(collect(client, ask))
      assert.strictEqual(endless._tag, "LlmMalformedResponseError")
      assert.strictEqual(endless.requestId, "req_9")
      const tags: Array<string> = []
      for (let n = 0; n < 3; n++) tags.push((yield* Effect.flip(collect(client, ask)))._tag)
      assert.deepStrictEqual(tags, ["LlmMalformedResponseError", "LlmConnectionError", "LlmUnavailableError"])
    })
  )
})

describe("failures", () => {
  it.scopedLive("is classified by status, whatever shape the body has", () =>
    Effect.gen(function* () {
      const { client, server } = yield* start()
      const refuse = (status: number, type: string) =>
        ChatServer.json(
          { type: "error", error: { type, message: "no" } },
          { status, headers: { "request-id": `req_${status}` } }
        )
      yield* server.script(
        refuse(401, "authentication_error"),
        refuse(529, "overloaded_error"),
        ChatServer.json({ message: "from a proxy" }, { status: 429, headers: { "retry-after": "3" } }),
        ChatServer.json("{}", { status: 400 })
      )
      const tags: Array<string> = []
      for (let n = 0; n < 4; n++) {
        const error = yield* Effect.flip(client.complete(ask))
        if (error._tag === "LlmRateLimitError") assert.strictEqual(error.retryAfterMs, 3000)
        tags.push(`${error._tag} ${error.requestId}`)
      }
      assert.deepStrictEqual(tags, [
        "LlmAuthenticationError req_401",
        "LlmUnavailableError req_529",
        "LlmRateLimitError undefined",
        "LlmInvalidRequestError undefined"
      ])
    })
  )

  it.scopedLive("is malformed or skipped when odd, never a defect", () =>
    Effect.gen(function* () {
      const { client, server } = yield* start()
      for (const body of ["", "null", "[]", "{}", '{"content":null}', "<html>"]) {
        yield* server.script(ChatServer.json(body))
        assert.strictEqual((yield* Effect.flip(client.complete(ask)))._tag, "LlmMalformedResponseError", body)
      }
      const odd = [
        null,
        7,
        [],
        {},
        { type: "text" },
        { type: "tool_use" },
        { type: "server_tool_use" },
        { type: "tool_result" }
      ]
      yield* server.script(ChatServer.json(answer("end_turn", ...odd, text("Hi"))))
      assert.strictEqual(LlmClient.text(yield* client.complete(ask)), "Hi")
      yield* server.script(
        ChatServer.sse([
          ...events(begin, blockDelta(3, { type: "input_json_delta", partial_json: "{" }), blockStop(9)),
          "data: [1]\n\ndata: null\n\ndata: {broken\n\n: comment\n\n",
          ...streamOf("Hello")
        ])
      )
      assert.strictEqual(LlmClient.text((yield* collect(client, ask)).response), "Hello")
    })
  )

  it.scopedLive("shows the key in no rendering of a failure", () =>
    Effect.gen(function* () {
      const { client, server } = yield* start()
      const echo = `invalid x-api-key ${secret}`
      yield* server.script(
        ChatServer.json({ type: "error", error: { type: "authentication_error", message: echo } }, { status: 401 }),
        ChatServer.json(`not json ${echo}`),
        { before: [ChatServer.cut] },
        ChatServer.sse([...streamOf("Hello").slice(0, 3), ChatServer.cut])
      )
      for (let n = 0; n < 4; n++) {
        const error = yield* Effect.flip(
          n === 3 ? Effect.asVoid(collect(client, ask)) : Effect.asVoid(client.complete(ask))
        )
        assert.notInclude(ErrorRenderings.of(error), secret)
      }
    })
  )
})
