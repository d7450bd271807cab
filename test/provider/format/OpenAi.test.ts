import * as FetchHttpClient from "@effect/platform/FetchHttpClient"
import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import type { LlmPart, LlmRequest } from "../../../src/llm/model/LlmClient.js"
import * as LlmClient from "../../../src/llm/model/LlmClient.js"
import * as OpenAi from "../../../src/provider/format/OpenAi.js"
import * as ChatServer from "../../support/ChatServer.js"
import * as ErrorRenderings from "../../support/ErrorRenderings.js"

const secret = "sk-proj-THE_KEY_itself_0123456789"

const ask: LlmRequest = { messages: [{ role: "user", content: "Hello" }] }

const weather = {
  name: "get_weather",
  description: "The weather of a city",
  parameters: { type: "object", properties: { city: { type: "string" } }, required: ["city"] }
}

const closed = { ...weather, parameters: { ...weather.parameters, additionalProperties: false } }

const message = (text: string, id = "msg_1") => ({
  type: "message",
  id,
  role: "assistant",
  content: [{ type: "output_text", text, annotations: [] }]
})

const call = (name: string, args: string, id = "call_1") => ({
  type: "function_call",
  id: `fc_${id}`,
  call_id: id,
  name,
  arguments: args
})

const answer = (...output: ReadonlyArray<unknown>) => ({
  id: "resp_1",
  model: "gpt-test",
  status: "completed",
  output,
  usage: {
    input_tokens: 10,
    output_tokens: 5,
    total_tokens: 15,
    input_tokens_details: { cached_tokens: 4 },
    output_tokens_details: { reasoning_tokens: 2 }
  }
})

const hello = ChatServer.json(answer(message("Hi")))

const start = (options?: Partial<OpenAi.Options>) =>
  Effect.gen(function* () {
    const server = yield* ChatServer.make
    const client = yield* OpenAi.make({
      apiKey: Redacted.make(secret),
      model: "gpt-test",
      baseUrl: server.baseUrl,
      ...options
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

const events = (...list: ReadonlyArray<unknown>) => list.map(ChatServer.event)

const streamOf = (text: string) =>
  events(
    { type: "response.created", response: { id: "resp_1", model: "gpt-test", output: [] } },
    { type: "response.output_item.added", output_index: 0, item: { type: "message", id: "msg_1", content: [] } },
    { type: "response.output_text.delta", output_index: 0, item_id: "msg_1", delta: text.slice(0, 2) },
    { type: "response.output_text.delta", output_index: 0, item_id: "msg_1", delta: text.slice(2) },
    { type: "response.output_item.done", output_index: 0, item: message(text) },
    { type: "response.completed", response: answer(message(text)) }
  )

describe("the request", () => {
  it.scopedLive("has every supported setting as a field of the body", () =>
    Effect.gen(function* () {
      const { client, server } = yield* start()
      yield* server.script(hello)
      yield* client.complete({
        ...ask,
        settings: {
          model: "gpt-other",
          temperature: 0.25,
          topP: 0.5,
          maxTokens: 77,
          stop: ["END"],
          seed: 7,
          presencePenalty: 0.1,
          frequencyPenalty: 0.2,
          reasoning: "low",
          parallelToolCalls: false,
          promptCache: { key: "clerk", ttl: "24h" },
          providerOptions: { service_tier: "flex", store: false, top_p: 0.75 }
        }
      })
      const { input, ...body } = server.requests[0]!.body
      assert.deepStrictEqual(body, {
        model: "gpt-other",
        temperature: 0.25,
        top_p: 0.75,
        max_output_tokens: 77,
        reasoning: { effort: "low" },
        parallel_tool_calls: false,
        prompt_cache_key: "clerk",
        prompt_cache_retention: "24h",
        service_tier: "flex",
        store: false
      })
      assert.deepStrictEqual(input, [{ role: "user", content: [{ type: "input_text", text: "Hello" }] }])
    })
  )

  it.scopedLive("has no temperature for reasoning models, unless provider options set one", () =>
    Effect.gen(function* () {
      const { client, server } = yield* start()
      const models = ["o3", "o4-mini-2025-04-16", "gpt-5", "gpt-5.1-mini", "gpt-5-chat-latest", "gpt-4.1", "gpt-35"]
      yield* server.script(...models.map(() => hello), hello)
      const settings = { temperature: 0.7, topP: 0.9, maxTokens: 5 }
      for (const model of models) yield* client.complete({ ...ask, settings: { ...settings, model } })
      const providerOptions = { temperature: 1, stop: ["END"] }
      yield* client.complete({ ...ask, settings: { ...settings, model: "o3", providerOptions } })
      assert.deepStrictEqual(
        server.requests.map(({ body }) => [
          body.model,
          body.temperature,
          body.top_p,
          body.max_output_tokens,
          body.stop
        ]),
        [
          ["o3", undefined, undefined, 5, undefined],
          ["o4-mini-2025-04-16", undefined, undefined, 5, undefined],
          ["gpt-5", undefined, undefined, 5, undefined],
          ["gpt-5.1-mini", undefined, undefined, 5, undefined],
          ["gpt-5-chat-latest", 0.7, 0.9, 5, undefined],
          ["gpt-4.1", 0.7, 0.9, 5, undefined],
          ["gpt-35", 0.7, 0.9, 5, undefined],
          ["o3", 1, undefined, 5, ["END"]]
        ]
      )
    })
  )

  it.scopedLive("has the settings of the client unless it has its own", () =>
    Effect.gen(function* () {
      const { client, server } = yield* start({ settings: { temperature: 0.1, maxTokens: 50 } })
      yield* server.script(hello, hello)
      yield* client.complete(ask)
      yield* client.complete({ ...ask, settings: { temperature: 1 } })
      assert.deepStrictEqual(
        server.requests.map(({ body }) => [body.model, body.temperature, body.max_output_tokens]),
        [
          ["gpt-test", 0.1, 50],
          ["gpt-test", 1, 50]
        ]
      )
    })
  )

  it.scopedLive("has key, organization and project as headers, and no trace", () =>
    Effect.gen(function* () {
      const { client, server } = yield* start({ organizationId: "org-1", projectId: "proj-1" })
      yield* server.script(hello)
      yield* client.complete(ask).pipe(Effect.withSpan("outer"))
      const { headers, method, url } = server.requests[0]!
      assert.strictEqual(`${method} ${url}`, "POST /v1/responses")
      assert.strictEqual(headers.authorization, `Bearer ${secret}`)
      assert.strictEqual(headers["openai-organization"], "org-1")
      assert.strictEqual(headers["openai-project"], "proj-1")
      assert.notProperty(headers, "traceparent")
      assert.notProperty(headers, "b3")
    })
  )

  it.scopedLive("has a strict schema when it satisfies the rules, or on request", () =>
    Effect.gen(function* () {
      const request = { ...ask, tools: [weather, { ...closed, name: "closed" }] }
      const strict = (body: any) => body.tools.map((tool: any) => tool.strict)
      const byRules = yield* start()
      yield* byRules.server.script(hello)
      yield* byRules.client.complete(request)
      assert.deepStrictEqual(strict(byRules.server.requests[0]!.body), [false, true])
      assert.deepStrictEqual(byRules.server.requests[0]!.body.tools[0], {
        type: "function",
        strict: false,
        ...weather
      })
      const asked = yield* start({ strict: true })
      yield* asked.server.script(hello)
      yield* asked.client.complete(request)
      assert.deepStrictEqual(strict(asked.server.requests[0]!.body), [true, true])
    })
  )

  it.scopedLive("has a form for each tool choice, also for a tool named like one of the provider's", () =>
    Effect.gen(function* () {
      const { client, server } = yield* start()
      const tools = [{ ...weather, name: "web_search" }]
      for (const toolChoice of ["auto", "none", "required", { tool: "web_search" }] as const) {
        yield* server.script(hello)
        yield* client.complete({ ...ask, tools, toolChoice })
      }
      assert.deepStrictEqual(
        server.requests.map(({ body }) => body.tool_choice),
        ["auto", "none", "required", { type: "function", name: "web_search" }]
      )
    })
  )

  it.scopedLive("merges system messages, as developer only for models that accept it", () =>
    Effect.gen(function* () {
      const { client, server } = yield* start()
      const messages = [
        { role: "system", content: "One" },
        { role: "user", content: "Hello" },
        { role: "system", content: "Two" }
      ] as const
      for (const model of ["olmo-2", "o3-mini", "gpt-5.2"]) {
        yield* server.script(hello)
        yield* client.complete({ messages, settings: { model } })
      }
      assert.deepStrictEqual(
        server.requests.map(({ body }) => body.input.map((item: any) => [item.role, item.content])[0]),
        [
          ["system", "One\n\nTwo"],
          ["developer", "One\n\nTwo"],
          ["developer", "One\n\nTwo"]
        ]
      )
      assert.strictEqual(server.requests[0]!.body.input.length, 2)
    })
  )

  it.scopedLive("has results as plain text or JSON, never missing", () =>
    Effect.gen(function* () {
      const { client, server } = yield* start()
      yield* server.script(hello)
      const result = (id: string, value: unknown) =>
        ({ type: "tool-result", id, name: "t", isFailure: false, result: value, providerExecuted: false }) as const
      yield* client.complete({
        messages: [
          { role: "user", content: "Hello" },
          {
            role: "assistant",
            content: [{ type: "tool-call", id: "a", name: "t", params: "not { json", providerExecuted: false }]
          },
          { role: "tool", content: [result("a", 'say "hi"\n'), result("b", { n: 1 }), result("c", undefined)] }
        ]
      })
      const input = server.requests[0]!.body.input
      assert.deepStrictEqual(JSON.parse(input[1].arguments), { invalid_json: "not { json" })
      assert.deepStrictEqual(
        input.slice(2).map((item: any) => item.output),
        ['say "hi"\n', '{"n":1}', "null"]
      )
    })
  )

  it.scopedLive("has images as base64 or as an address", () =>
    Effect.gen(function* () {
      const { client, server } = yield* start()
      yield* server.script(hello)
      const file = (data: string) => ({ type: "file", mediaType: "image/png", data }) as const
      yield* client.complete({
        messages: [{ role: "user", content: [file("aGVsbG8="), file("https://a.test/b.png"), file("file-1")] }]
      })
      assert.deepStrictEqual(
        server.requests[0]!.body.input[0].content.map((part: any) => part.image_url ?? part.file_id),
        ["data:image/png;base64,aGVsbG8=", "https://a.test/b.png", "file-1"]
      )
    })
  )
})

describe("the response", () => {
  it.scopedLive("is read with its usage, even when most fields are missing", () =>
    Effect.gen(function* () {
      const { client, server } = yield* start()
      yield* server.script(hello)
      const response = yield* client.complete(ask)
      assert.deepStrictEqual(response, {
        content: [{ type: "text", text: "Hi", metadata: { openai: { itemId: "msg_1" } } }],
        finishReason: "stop",
        usage: { inputTokens: 10, outputTokens: 5, totalTokens: 15, reasoningTokens: 2, cachedInputTokens: 4 },
        id: "resp_1",
        model: "gpt-test",
        provider: "openai"
      })
    })
  )

  it.scopedLive("returns a call of an unknown tool with its raw parameters, whole and streamed", () =>
    Effect.gen(function* () {
      const { client, server } = yield* start()
      const item = call("no_such_tool", '{"a":1,"__proto__":{"x":1}}')
      yield* server.script(
        ChatServer.json(answer(item)),
        ChatServer.sse(
          events(
            { type: "response.output_item.added", output_index: 0, item: { ...item, arguments: "" } },
            { type: "response.function_call_arguments.delta", output_index: 0, delta: '{"a"' },
            { type: "response.function_call_arguments.delta", output_index: 0, delta: ":1}" },
            { type: "response.output_item.done", output_index: 0, item },
            { type: "response.completed", response: answer(item) }
          )
        )
      )
      const whole = yield* client.complete({ ...ask, tools: [weather] })
      const streamed = yield* collect(client, { ...ask, tools: [weather] })
      for (const response of [whole, streamed.response]) {
        assert.strictEqual(response.finishReason, "tool-calls")
        assert.deepStrictEqual(LlmClient.toolCalls(response), [
          {
            type: "tool-call",
            id: "call_1",
            name: "no_such_tool",
            params: { a: 1 },
            metadata: { openai: { itemId: "fc_call_1" } }
          }
        ])
      }
      assert.deepStrictEqual(
        streamed.parts.map((part) => part.type),
        [
          "tool-params-start",
          "tool-params-delta",
          "tool-params-delta",
          "tool-params-end",
          "tool-call",
          "response-metadata",
          "finish"
        ]
      )
    })
  )

  it.scopedLive("returns parameters that are not JSON as text", () =>
    Effect.gen(function* () {
      const { client, server } = yield* start()
      yield* server.script(
        ChatServer.json(answer(call("get_weather", '{"city": Paris}'), call("get_weather", "", "b")))
      )
      const response = yield* client.complete({ ...ask, tools: [weather] })
      assert.deepStrictEqual(
        LlmClient.toolCalls(response).map((part) => part.params),
        ['{"city": Paris}', {}]
      )
    })
  )

  it.scopedLive("returns requested JSON unchanged, even when it is invalid", () =>
    Effect.gen(function* () {
      const { client, server } = yield* start()
      const responseFormat = { type: "json", name: "city", schema: closed.parameters, description: "A city" } as const
      yield* server.script(
        ChatServer.json(answer(message('{"city":"Rome"}'))),
        ChatServer.json(answer(message("Rome!")))
      )
      const good = yield* client.complete({ ...ask, responseFormat })
      const bad = yield* client.complete({ ...ask, responseFormat, tools: [weather] })
      assert.strictEqual(LlmClient.text(good), '{"city":"Rome"}')
      assert.strictEqual(LlmClient.text(bad), "Rome!")
      assert.deepStrictEqual(server.requests[0]!.body.text, {
        format: {
          type: "json_schema",
          name: "city",
          description: "A city",
          schema: closed.parameters,
          strict: true
        }
      })
      assert.strictEqual(server.requests[1]!.body.tools.length, 1)
    })
  )

  it.scopedLive("returns reasoning with its id and encrypted content, even without a text", () =>
    Effect.gen(function* () {
      const { client, server } = yield* start()
      const bare = { type: "reasoning", id: "rs_1", summary: [], encrypted_content: "SEALED" }
      const told = {
        type: "reasoning",
        id: "rs_2",
        summary: [
          { type: "summary_text", text: "One" },
          { type: "summary_text", text: "Two" }
        ],
        encrypted_content: "SEALED2"
      }
      yield* server.script(
        ChatServer.json(answer(bare, told, message("Hi"))),
        ChatServer.sse(
          events(
            { type: "response.output_item.added", output_index: 0, item: { type: "reasoning", id: "rs_1" } },
            { type: "response.output_item.done", output_index: 0, item: bare },
            { type: "response.output_item.added", output_index: 1, item: { type: "reasoning", id: "rs_2" } },
            { type: "response.reasoning_summary_text.delta", output_index: 1, summary_index: 0, delta: "One" },
            { type: "response.reasoning_summary_text.delta", output_index: 1, summary_index: 1, delta: "Two" },
            { type: "response.output_item.done", output_index: 1, item: told },
            { type: "response.output_text.delta", output_index: 2, item_id: "msg_1", delta: "Hi" },
            { type: "response.output_item.done", output_index: 2, item: message("Hi") },
            { type: "response.completed", response: answer(bare, told, message("Hi")) }
          )
        ),
        hello,
        hello
      )
      const whole = yield* client.complete(ask)
      const streamed = yield* collect(client, ask)
      for (const response of [whole, streamed.response]) {
        assert.strictEqual(LlmClient.reasoning(response), "OneTwo")
        yield* client.complete({ messages: [...ask.messages, LlmClient.assistantMessage(response)] })
      }
      for (const { body } of server.requests.slice(2)) {
        assert.deepStrictEqual(body.input.slice(1, 3), [bare, told])
        assert.strictEqual(body.input[3].id, "msg_1")
      }
    })
  )

  it.scopedLive("returns items of the provider's own tools unchanged", () =>
    Effect.gen(function* () {
      const { client, server } = yield* start()
      const search = {
        type: "web_search_call",
        id: "ws_1",
        status: "completed",
        action: { type: "search", query: "q" }
      }
      const strange = { type: "future_call", id: "fu_1", status: "failed", depth: 3 }
      yield* server.script(ChatServer.json(answer(search, strange, message("Hi"))), hello)
      const response = yield* client.complete(ask)
      assert.deepStrictEqual(LlmClient.toolCalls(response), [])
      assert.strictEqual(response.finishReason, "stop")
      assert.deepStrictEqual(
        response.content.map((part) => [part.type, "name" in part ? part.name : ""]),
        [
          ["tool-call", "web_search"],
          ["tool-result", "web_search"],
          ["tool-call", "future_call"],
          ["tool-result", "future_call"],
          ["text", ""]
        ]
      )
      yield* client.complete({ messages: [...ask.messages, LlmClient.assistantMessage(response)] })
      assert.deepStrictEqual(server.requests[1]!.body.input.slice(1, 3), [search, strange])
    })
  )

  it.scopedLive("returns a refusal as a text with the finish reason content-filter", () =>
    Effect.gen(function* () {
      const { client, server } = yield* start()
      const refusal = { type: "message", id: "msg_1", content: [{ type: "refusal", refusal: "I will not." }] }
      yield* server.script(
        ChatServer.json(answer(refusal)),
        ChatServer.sse(
          events(
            { type: "response.refusal.delta", output_index: 0, delta: "I will not." },
            { type: "response.output_item.done", output_index: 0, item: refusal },
            { type: "response.completed", response: answer(refusal) }
          )
        )
      )
      for (const response of [yield* client.complete(ask), (yield* collect(client, ask)).response]) {
        assert.strictEqual(LlmClient.text(response), "I will not.")
        assert.strictEqual(response.finishReason, "content-filter")
      }
    })
  )

  it.scopedLive("says why it is incomplete", () =>
    Effect.gen(function* () {
      const { client, server } = yield* start()
      const cut = (reason: string) =>
        ChatServer.json({ ...answer(message("Hi")), status: "incomplete", incomplete_details: { reason } })
      yield* server.script(cut("max_output_tokens"), cut("content_filter"), cut("new_reason"))
      const reasons: Array<string> = []
      for (let n = 0; n < 3; n++) reasons.push((yield* client.complete(ask)).finishReason)
      assert.deepStrictEqual(reasons, ["length", "content-filter", "unknown"])
    })
  )

  it.scopedLive("returns sources as parts", () =>
    Effect.gen(function* () {
      const { client, server } = yield* start()
      const cited = {
        type: "message",
        id: "msg_1",
        content: [
          {
            type: "output_text",
            text: "Hi",
            annotations: [{ type: "url_citation", url: "https://a.test/", title: "A", start_index: 0, end_index: 2 }, 7]
          }
        ]
      }
      yield* server.script(ChatServer.json(answer(cited)))
      const response = yield* client.complete(ask)
      assert.deepStrictEqual(response.content[1], {
        type: "source",
        sourceType: "url",
        id: "source-0",
        url: "https://a.test/",
        title: "A",
        metadata: { openai: { type: "url_citation", startIndex: 0, endIndex: 2 } }
      })
    })
  )
})

describe("streams", () => {
  it.scopedLive("delivers deltas before the answer ends", () =>
    Effect.gen(function* () {
      const { client, server } = yield* start()
      const gate = yield* Deferred.make<void>()
      const all = streamOf("Hello you")
      yield* server.script(ChatServer.sse([...all.slice(0, 3), ChatServer.wait(Deferred.await(gate)), ...all.slice(3)]))
      const seen: Array<LlmPart> = []
      const response = yield* client.complete(ask, {
        onParts: (parts) => {
          seen.push(...parts)
          return parts.some((part) => part.type === "text-delta")
            ? Effect.asVoid(Deferred.succeed(gate, void 0))
            : Effect.void
        }
      })
      assert.strictEqual(server.requests[0]!.body.stream, true)
      assert.deepStrictEqual(
        seen.map((part) => part.type),
        ["response-metadata", "text-start", "text-delta", "text-delta", "text-end", "finish"]
      )
      assert.strictEqual(LlmClient.text(response), "Hello you")
      assert.strictEqual(response.usage.totalTokens, 15)
    })
  )

  it.scopedLive("is read from minimal events", () =>
    Effect.gen(function* () {
      const { client, server } = yield* start()
      yield* server.script(
        ChatServer.sse(
          events(
            { type: "response.created", response: { id: "r", object: "response", status: "in_progress" } },
            { type: "response.output_item.added", item: { type: "message", id: "m", role: "assistant", content: [] } },
            { type: "response.output_text.delta", item_id: "m", delta: "Hi" },
            { type: "response.output_item.done", item: message("Hi", "m") },
            {
              type: "response.output_item.added",
              item: { type: "function_call", call_id: "c", name: "f", arguments: "" }
            },
            { type: "response.function_call_arguments.delta", delta: "{}", item_id: "fc_c" },
            {
              type: "response.output_item.done",
              item: { type: "function_call", call_id: "c", name: "f", arguments: "{}" }
            },
            { type: "response.completed", response: { id: "r", status: "completed", model: "local" } }
          )
        )
      )
      const { response } = yield* collect(client, ask)
      assert.strictEqual(LlmClient.text(response), "Hi")
      assert.deepStrictEqual(
        LlmClient.toolCalls(response).map((part) => [part.id, part.name, part.params]),
        [["c", "f", {}]]
      )
      assert.deepStrictEqual(response.usage, {})
    })
  )

  it.scopedLive("includes items that only the end of the stream brings, once", () =>
    Effect.gen(function* () {
      const { client, server } = yield* start()
      yield* server.script(
        ChatServer.sse(
          events(
            { type: "response.output_text.delta", item_id: "msg_1", delta: "Hi" },
            { type: "response.completed", response: answer(message("Hi"), call("f", "{}")) }
          )
        )
      )
      const { response } = yield* collect(client, ask)
      assert.strictEqual(LlmClient.text(response), "Hi")
      assert.strictEqual(LlmClient.toolCalls(response).length, 1)
    })
  )

  it.scopedLive("is delivered as parts when a stream request gets one piece, and the other way round", () =>
    Effect.gen(function* () {
      const { client, server } = yield* start()
      yield* server.script(hello, ChatServer.sse(streamOf("Hello")))
      const { parts, response } = yield* collect(client, ask)
      assert.strictEqual(LlmClient.text(response), "Hi")
      assert.deepStrictEqual(
        parts.map((part) => part.type),
        ["response-metadata", "text-start", "text-delta", "text-end", "finish"]
      )
      assert.strictEqual(LlmClient.text(yield* client.complete(ask)), "Hello")
    })
  )

  it.scopedLive("types a stream without an end, an empty one and a cut one", () =>
    Effect.gen(function* () {
      const { client, server } = yield* start()
      yield* server.script(
        ChatServer.sse(streamOf("Hello").slice(0, 4), { headers: { "x-request-id": "req_9" } }),
        ChatServer.sse([]),
        ChatServer.sse([...streamOf("Hello").slice(0, 4), ChatServer.cut])
      )
      const endless = yield* Effect.flip(collect(client, ask))
      assert.strictEqual(endless._tag, "LlmMalformedResponseError")
      assert.strictEqual(endless.requestId, "req_9")
      assert.strictEqual((yield* Effect.flip(collect(client, ask)))._tag, "LlmMalformedResponseError")
      assert.strictEqual((yield* Effect.flip(collect(client, ask)))._tag, "LlmConnectionError")
    })
  )
})

describe("failures", () => {
  it.scopedLive("is a typed failure when it failed, whole and streamed", () =>
    Effect.gen(function* () {
      const { client, server } = yield* start()
      const failed = (code: string, text: string) => ({ status: "failed", output: [], error: { code, message: text } })
      yield* server.script(
        ChatServer.json(failed("server_error", "It broke"), { headers: { "x-request-id": "req_1" } }),
        ChatServer.sse(events({ type: "response.failed", response: failed("rate_limit_exceeded", "Slow down") })),
        ChatServer.sse(events({ type: "error", code: "context_length_exceeded", message: "Too long" })),
        ChatServer.sse(["event: error\ndata: overloaded\n\n"])
      )
      const first = yield* Effect.flip(client.complete(ask))
      assert.strictEqual(first._tag, "LlmUnavailableError")
      assert.strictEqual(first.requestId, "req_1")
      assert.strictEqual(first.message, "It broke")
      const tags: Array<string> = []
      for (let n = 0; n < 3; n++) tags.push((yield* Effect.flip(collect(client, ask)))._tag)
      assert.deepStrictEqual(tags, ["LlmRateLimitError", "LlmContextOverflowError", "LlmUnavailableError"])
    })
  )

  it.scopedLive("is rejected when it is not finished", () =>
    Effect.gen(function* () {
      const { client, server } = yield* start()
      yield* server.script(ChatServer.json({ id: "resp_1", status: "queued", output: [], error: null }))
      const error = yield* Effect.flip(client.complete(ask))
      assert.strictEqual(error._tag, "LlmInvalidRequestError")
      assert.include(error.message, "background")
    })
  )

  it.scopedLive("is classified by status, with the delay and the id of the request", () =>
    Effect.gen(function* () {
      const { client, server } = yield* start()
      const refuse = (status: number, error: unknown) =>
        ChatServer.json({ error }, { status, headers: { "x-request-id": `req_${status}`, "retry-after": "2" } })
      yield* server.script(
        refuse(401, { message: "no" }),
        refuse(429, { message: "slow down", code: "rate_limit_exceeded" }),
        refuse(400, { message: "too long", code: "context_length_exceeded" }),
        refuse(500, { message: "broken" }),
        { status: 502, headers: { "content-type": "text/html" }, steps: [ChatServer.write("<h1>Bad gateway</h1>")] }
      )
      const errors: Array<readonly [string, string | undefined]> = []
      for (let n = 0; n < 5; n++) {
        const error = yield* Effect.flip(client.complete(ask))
        if (error._tag === "LlmRateLimitError") assert.strictEqual(error.retryAfterMs, 2000)
        errors.push([error._tag, error.requestId])
      }
      assert.deepStrictEqual(errors, [
        ["LlmAuthenticationError", "req_401"],
        ["LlmRateLimitError", "req_429"],
        ["LlmContextOverflowError", "req_400"],
        ["LlmUnavailableError", "req_500"],
        ["LlmUnavailableError", undefined]
      ])
    })
  )

  it.scopedLive("is malformed when it is not an answer, never a defect", () =>
    Effect.gen(function* () {
      const { client, server } = yield* start()
      const hostile = [
        "",
        "null",
        "[]",
        "7",
        '"text"',
        "{}",
        '{"output":null}',
        "<html>",
        '{"output":[{"type":"message"',
        "[".repeat(9000)
      ]
      for (const body of hostile) {
        yield* server.script(ChatServer.json(body))
        assert.strictEqual(
          (yield* Effect.flip(client.complete(ask)))._tag,
          "LlmMalformedResponseError",
          body.slice(0, 20)
        )
      }
    })
  )

  it.scopedLive("skips odd items", () =>
    Effect.gen(function* () {
      const { client, server } = yield* start()
      const odd = [
        null,
        7,
        "x",
        [],
        {},
        { type: 7 },
        { type: "message" },
        { type: "message", content: [null, {}] },
        { type: "reasoning", summary: "no" },
        { type: "function_call" },
        { type: "__proto__", id: "__proto__" }
      ]
      yield* server.script(ChatServer.json(answer(...odd, message("Hi"))))
      const response = yield* client.complete(ask)
      assert.strictEqual(LlmClient.text(response), "Hi")
      assert.deepStrictEqual(LlmClient.toolCalls(response), [])
    })
  )

  it.scopedLive("shows the key in no rendering of a failure", () =>
    Effect.gen(function* () {
      const { client, server } = yield* start()
      const echo = `Incorrect API key provided: ${secret}. (${encodeURIComponent(secret)})`
      yield* server.script(
        ChatServer.json({ error: { message: echo, code: "invalid_api_key" } }, { status: 401 }),
        ChatServer.json(`not json ${echo}`),
        ChatServer.json({ status: "failed", output: [], error: { message: echo } }),
        { before: [ChatServer.cut] },
        ChatServer.sse([...streamOf("Hello").slice(0, 3), ChatServer.cut])
      )
      for (let n = 0; n < 5; n++) {
        const error = yield* Effect.flip(
          n === 4 ? Effect.asVoid(collect(client, ask)) : Effect.asVoid(client.complete(ask))
        )
        const shown = ErrorRenderings.of(error)
        assert.notInclude(shown, secret)
        assert.notInclude(shown.toLowerCase(), "authorization")
      }
    })
  )

  it.scopedLive("types a missing server, and a file that cannot be sent", () =>
    Effect.gen(function* () {
      const { client } = yield* start({ baseUrl: "http://127.0.0.1:1/v1" })
      assert.strictEqual((yield* Effect.flip(client.complete(ask)))._tag, "LlmConnectionError")
      const file = { type: "file", mediaType: "video/mp4", data: "AAAA" } as const
      const watch = { messages: [{ role: "user", content: [file] }] } as const
      assert.strictEqual((yield* Effect.flip(client.complete(watch)))._tag, "LlmUnsupportedContentError")
      const { client: lenient } = yield* start({ accepts: ["video/*"] })
      const error = yield* Effect.flip(lenient.complete(watch))
      assert.strictEqual(error._tag, "LlmInvalidRequestError", "the package has no form for it")
      assert.include(error.message, "video/mp4")
      const odd = yield* Effect.flip(
        client.complete({
          messages: [
            { role: "nobody", content: [] } as never,
            { role: "user", content: [{ type: "tool-call" } as never] }
          ]
        })
      )
      assert.strictEqual(odd._tag, "LlmInvalidRequestError")
    })
  )

  it.scopedLive("rejects an invalid address or key when the client is built, without showing it", () =>
    Effect.gen(function* () {
      for (const baseUrl of ["nowhere", "ftp://a.test", "https://user:hidden-word@a.test/v1"]) {
        const error = yield* Effect.flip(start({ baseUrl }))
        assert.strictEqual(error._tag, "LlmConfigurationError")
        assert.notInclude(JSON.stringify(error), "hidden-word")
      }
      for (const key of ["", "  ", `${secret}\nx`, "ключ"]) {
        const error = yield* Effect.flip(start({ apiKey: Redacted.make(key) }))
        assert.strictEqual(error._tag, "LlmConfigurationError")
        assert.notInclude(JSON.stringify(error), secret)
      }
    })
  )
})
