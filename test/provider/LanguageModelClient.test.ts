import * as AiError from "@effect/ai/AiError"
import * as LanguageModel from "@effect/ai/LanguageModel"
import * as Model from "@effect/ai/Model"
import type * as Response from "@effect/ai/Response"
import * as Telemetry from "@effect/ai/Telemetry"
import * as Tool from "@effect/ai/Tool"
import * as AnthropicClient from "@effect/ai-anthropic/AnthropicClient"
import * as AnthropicLanguageModel from "@effect/ai-anthropic/AnthropicLanguageModel"
import * as AiOpenAiClient from "@effect/ai-openai/OpenAiClient"
import * as OpenAiLanguageModel from "@effect/ai-openai/OpenAiLanguageModel"
import * as FetchHttpClient from "@effect/platform/FetchHttpClient"
import { assert, describe, it } from "@effect/vitest"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import type { LlmPart, LlmRequest } from "../../src/llm/model/LlmClient.js"
import * as LlmClient from "../../src/llm/model/LlmClient.js"
import * as LlmError from "../../src/llm/model/LlmError.js"
import * as LlmGateway from "../../src/llm/model/LlmGateway.js"
import * as LanguageModelClient from "../../src/provider/LanguageModelClient.js"
import * as ChatServer from "../support/ChatServer.js"
import * as ErrorRenderings from "../support/ErrorRenderings.js"

const secret = "sk-THE_KEY_itself_0123456789"

const ask: LlmRequest = { messages: [{ role: "user", content: "Hello" }] }

const weather = {
  name: "get_weather",
  description: "The weather of a city",
  parameters: { type: "object", properties: { city: { type: "string" } }, required: ["city"] }
}

interface Script {
  readonly whole?: Effect.Effect<ReadonlyArray<Response.PartEncoded>, AiError.AiError>
  readonly stream?: Stream.Stream<Response.StreamPartEncoded, AiError.AiError>
}

/** A model of `@effect/ai` that plays a script and keeps what it was asked. */
const scripted = (script: Script) => {
  const asked: Array<LanguageModel.ProviderOptions> = []
  return Effect.map(
    LanguageModel.make({
      generateText: (options) => {
        asked.push(options)
        return Effect.map(script.whole ?? Effect.dieMessage("not scripted"), (parts) => Array.from(parts))
      },
      streamText: (options) => {
        asked.push(options)
        return script.stream ?? Stream.dieMessage("not scripted")
      }
    }),
    (model) => ({ asked, client: LanguageModelClient.make(model, { provider: "test", model: "m" }) })
  )
}

const collect = (client: LlmClient.Service, request: LlmRequest) =>
  Effect.gen(function* () {
    const parts: Array<LlmPart> = []
    const response = yield* client.complete(request, {
      onParts: (more) => Effect.sync(() => void parts.push(...more))
    })
    return { parts, response }
  })

const finish: Response.FinishPartEncoded = {
  type: "finish",
  reason: "stop",
  usage: { inputTokens: 3, outputTokens: 2, totalTokens: 5 }
}

const textStream: ReadonlyArray<Response.StreamPartEncoded> = [
  { type: "text-start", id: "0" },
  { type: "text-delta", id: "0", delta: "Hi" },
  { type: "text-end", id: "0" }
]

describe("parts", () => {
  const metadata = { anthropic: { type: "thinking", signature: "SIGNED" } } as const
  const whole: ReadonlyArray<Response.PartEncoded> = [
    { type: "response-metadata", id: "r1", modelId: "m2", timestamp: "2024-01-01T00:00:00.000Z" },
    { type: "reasoning", text: "", metadata },
    { type: "text", text: "Hi" },
    { type: "file", mediaType: "image/png", data: "aGVsbG8=" },
    { type: "source", sourceType: "url", id: "s", url: "https://a.test/", title: "A" },
    { type: "source", sourceType: "document", id: "d", mediaType: "text/plain", title: "B", fileName: "b.txt" },
    { type: "tool-call", id: "c", name: "get_weather", params: { city: 7 } },
    finish
  ]
  const content = [
    { type: "reasoning", text: "", metadata },
    { type: "text", text: "Hi" },
    { type: "file", mediaType: "image/png", data: "aGVsbG8=" },
    { type: "source", sourceType: "url", id: "s", url: "https://a.test/", title: "A" },
    { type: "source", sourceType: "document", id: "d", mediaType: "text/plain", title: "B", fileName: "b.txt" },
    { type: "tool-call", id: "c", name: "get_weather", params: { city: 7 } }
  ]

  it.effect("are plain data, without classes, options, dates or brands", () =>
    Effect.gen(function* () {
      const { client } = yield* scripted({
        whole: Effect.succeed(whole),
        stream: Stream.fromIterable<Response.StreamPartEncoded>([
          whole[0] as Response.ResponseMetadataPartEncoded,
          { type: "reasoning-start", id: "0" },
          { type: "reasoning-delta", id: "0", delta: "", metadata },
          { type: "reasoning-end", id: "0" },
          ...textStream,
          ...(whole.slice(3, 6) as ReadonlyArray<Response.StreamPartEncoded>),
          { type: "tool-params-start", id: "c", name: "get_weather" },
          { type: "tool-params-delta", id: "c", delta: '{"city":7}' },
          { type: "tool-params-end", id: "c" },
          { type: "tool-call", id: "c", name: "get_weather", params: { city: 7 } },
          finish
        ])
      })
      const request = { ...ask, tools: [weather] }
      const once = yield* client.complete(request)
      const streamed = yield* collect(client, request)
      for (const response of [once, streamed.response]) {
        assert.deepStrictEqual(response, {
          content: content as never,
          finishReason: "stop",
          usage: { inputTokens: 3, outputTokens: 2, totalTokens: 5 },
          id: "r1",
          model: "m2",
          provider: "test"
        })
        assert.deepStrictEqual(JSON.parse(JSON.stringify(response)), response)
      }
      assert.deepStrictEqual(JSON.parse(JSON.stringify(streamed.parts)), streamed.parts)
      assert.deepInclude(streamed.parts[0], { type: "response-metadata", timestamp: "2024-01-01T00:00:00.000Z" })
    })
  )

  it.effect("return with their metadata", () =>
    Effect.gen(function* () {
      const { asked, client } = yield* scripted({ whole: Effect.succeed(whole) })
      const response = yield* client.complete({ ...ask, tools: [weather] })
      yield* client.complete({
        ...ask,
        messages: [...ask.messages, LlmClient.assistantMessage(response)],
        tools: [weather]
      })
      const message = asked[1]!.prompt.content[1]!
      assert.deepInclude((message.content as ReadonlyArray<unknown>)[0], {
        type: "reasoning",
        text: "",
        options: metadata
      })
    })
  )

  it.effect("are delivered in whole chunks", () =>
    Effect.gen(function* () {
      const { client } = yield* scripted({
        stream: Stream.concat(Stream.fromIterable(textStream), Stream.make(finish))
      })
      const sizes: Array<number> = []
      yield* client.complete(ask, { onParts: (parts) => Effect.sync(() => void sizes.push(parts.length)) })
      assert.deepStrictEqual(sizes, [3, 1])
    })
  )
})

describe("tools", () => {
  it.effect("are declared by their own JSON Schema, with one definition per tool", () =>
    Effect.gen(function* () {
      const { asked, client } = yield* scripted({ whole: Effect.succeed([{ type: "text", text: "Hi" }, finish]) })
      yield* client.complete({ ...ask, tools: [weather], toolChoice: { tool: "get_weather" } })
      yield* client.complete({ ...ask, tools: [weather] })
      yield* client.complete(ask)
      const [first, second, third] = asked
      assert.deepStrictEqual(Tool.getJsonSchema(first!.tools[0] as never) as unknown, weather.parameters)
      assert.deepStrictEqual(first!.toolChoice, { tool: "get_weather" })
      assert.strictEqual(second!.tools[0], first!.tools[0])
      assert.strictEqual(second!.toolChoice, "auto")
      assert.deepStrictEqual(third!.tools, [])
    })
  )

  it.effect("are returned even when unknown, whole and streamed, with or without tools offered", () =>
    Effect.gen(function* () {
      const call = { type: "tool-call", id: "c", name: "nowhere", params: { a: 1 } } as const
      const { client } = yield* scripted({
        whole: Effect.succeed([{ type: "text", text: "Hi" }, call, { ...finish, reason: "tool-calls" }]),
        stream: Stream.concat(
          Stream.fromIterable(textStream),
          Stream.concat(Stream.make(call), Stream.make({ ...finish, reason: "tool-calls" as const }))
        )
      })
      for (const tools of [[weather], []]) {
        const once = yield* client.complete({ ...ask, tools })
        const streamed = yield* collect(client, { ...ask, tools })
        for (const response of [once, streamed.response]) {
          assert.strictEqual(LlmClient.text(response), "Hi")
          assert.deepStrictEqual(LlmClient.toolCalls(response), [call])
          assert.strictEqual(response.finishReason, "tool-calls")
        }
        assert.strictEqual(once.usage.totalTokens, 5)
        assert.strictEqual(streamed.parts.at(-1)!.type, "finish")
      }
    })
  )

  it.effect("get two ids when called twice under one id, whole and streamed", () =>
    Effect.gen(function* () {
      const call = { type: "tool-call", id: "c", name: "nowhere", params: { a: 1 } } as const
      const parts = [call, { ...call, params: { a: 2 } }, { ...finish, reason: "tool-calls" as const }]
      const { client } = yield* scripted({ whole: Effect.succeed(parts), stream: Stream.fromIterable(parts) })
      const whole = yield* client.complete(ask)
      const streamed = yield* collect(client, ask)
      for (const response of [whole, streamed.response]) {
        assert.deepStrictEqual(
          LlmClient.toolCalls(response).map(({ id, params }) => [id, params]),
          [
            ["c", { a: 1 }],
            ["c_1", { a: 2 }]
          ]
        )
      }
    })
  )

  it.effect("keep their name when the provider has one of its own with it", () =>
    Effect.gen(function* () {
      const call = { type: "tool-call", id: "c", name: "AnthropicBash", providerName: "bash", params: {} } as const
      const { client } = yield* scripted({ whole: Effect.succeed([call, finish]) })
      const response = yield* client.complete({ ...ask, tools: [{ ...weather, name: "bash" }] })
      assert.strictEqual(LlmClient.toolCalls(response)[0]!.name, "bash")
    })
  )
})

describe("JSON output", () => {
  const responseFormat = { type: "json", name: "city", schema: weather.parameters } as const

  it.effect("sends its schema to the provider and returns the answer unchanged, even an invalid one", () =>
    Effect.gen(function* () {
      for (const text of ['{"city":"Rome"}', '{"other":1}', "```json\n{}\n```", "Rome"]) {
        const { asked, client } = yield* scripted({ whole: Effect.succeed([{ type: "text", text }, finish]) })
        const response = yield* client.complete({ ...ask, responseFormat })
        assert.strictEqual(LlmClient.text(response), text)
        assert.strictEqual(response.usage.totalTokens, 5)
        const format = asked[0]!.responseFormat
        assert(format.type === "json")
        assert.strictEqual(format.objectName, "city")
        assert.deepStrictEqual(Tool.getJsonSchemaFromSchemaAst(format.schema.ast) as unknown, weather.parameters)
      }
    })
  )

  it.effect("may wait for a tool call", () =>
    Effect.gen(function* () {
      const call = { type: "tool-call", id: "c", name: "get_weather", params: {} } as const
      const { client } = yield* scripted({ whole: Effect.succeed([call, { ...finish, reason: "tool-calls" }]) })
      const response = yield* client.complete({ ...ask, responseFormat, tools: [weather] })
      assert.strictEqual(LlmClient.toolCalls(response).length, 1)
      assert.strictEqual(response.usage.totalTokens, 5)
    })
  )

  it.effect("is delivered at once when parts are requested", () =>
    Effect.gen(function* () {
      const { client } = yield* scripted({ whole: Effect.succeed([{ type: "text", text: "{}" }, finish]) })
      const { parts, response } = yield* collect(client, { ...ask, responseFormat })
      assert.deepStrictEqual(
        parts.map((part) => part.type),
        ["text-start", "text-delta", "text-end", "finish"]
      )
      assert.strictEqual(LlmClient.text(response), "{}")
    })
  )

  it.effect("leaves the caller's span transformer active", () =>
    Effect.gen(function* () {
      const { client } = yield* scripted({ whole: Effect.succeed([{ type: "text", text: "{}" }, finish]) })
      let seen = 0
      yield* client
        .complete({ ...ask, responseFormat })
        .pipe(Effect.provideService(Telemetry.CurrentSpanTransformer, () => void seen++))
      assert.strictEqual(seen, 1)
    })
  )
})

describe("failures", () => {
  const request = {
    method: "POST",
    url: "https://a.test/",
    urlParams: [],
    hash: Option.none(),
    headers: { authorization: `Bearer ${secret}` }
  } as const
  const answered = (status: number, headers: Record<string, string>, body: string, reason: "StatusCode" | "Decode") =>
    new AiError.HttpResponseError({
      module: "M",
      method: "m",
      request,
      response: { status, headers },
      body,
      reason
    })

  it.effect("of every kind become typed errors with the id of the request, and show no key", () =>
    Effect.gen(function* () {
      const at = { module: "M", method: "m" }
      const echo = `with ${secret}`
      const cases: ReadonlyArray<readonly [AiError.AiError, string, string | undefined]> = [
        [
          answered(429, { "x-request-id": "req_1", "retry-after": "2" }, '{"error":{"message":"slow"}}', "StatusCode"),
          "LlmRateLimitError",
          "req_1"
        ],
        [answered(401, { "request-id": "req_2" }, echo, "StatusCode"), "LlmAuthenticationError", "req_2"],
        [answered(200, { "x-request-id": "req_3" }, echo, "Decode"), "LlmMalformedResponseError", "req_3"],
        [
          new AiError.HttpRequestError({ ...at, request, reason: "Transport", cause: new Error(echo) }),
          "LlmConnectionError",
          undefined
        ],
        [new AiError.HttpRequestError({ ...at, request, reason: "InvalidUrl" }), "LlmInvalidRequestError", undefined],
        [new AiError.MalformedInput({ ...at, description: echo }), "LlmInvalidRequestError", undefined],
        [
          new AiError.MalformedOutput({ ...at, description: echo, cause: new Error(echo) }),
          "LlmMalformedResponseError",
          undefined
        ],
        [new AiError.UnknownError({ ...at, cause: new Error(echo) }), "LlmMalformedResponseError", undefined]
      ]
      for (const [given, tag, requestId] of cases) {
        const model = yield* LanguageModel.make({
          generateText: () => Effect.fail(given),
          streamText: () => Stream.fail(given)
        })
        const client = LanguageModelClient.make(model, {
          provider: "test",
          model: "m",
          redact: [Redacted.make(secret)]
        })
        const once = yield* Effect.flip(client.complete(ask))
        const streamed = yield* Effect.flip(collect(client, ask))
        const asObject = yield* Effect.flip(
          client.complete({ ...ask, responseFormat: { type: "json", name: "x", schema: weather.parameters } })
        )
        for (const error of [once, streamed, asObject]) {
          assert.strictEqual(error._tag, tag)
          assert.strictEqual(error.provider, "test")
          assert.strictEqual(error.model, "m")
          assert.strictEqual(error.requestId, requestId)
          assert.isTrue(
            LlmError.isLlmError(Schema.decodeSync(LlmError.LlmError)(Schema.encodeSync(LlmError.LlmError)(error)))
          )
          const shown = ErrorRenderings.of(error)
          assert.notInclude(shown, secret)
          assert.notInclude(shown.toLowerCase(), "authorization")
        }
        if (once._tag === "LlmRateLimitError") assert.strictEqual(once.retryAfterMs, 2000)
      }
    })
  )

  it.effect("inside a stream, and streams without an end, are typed; earlier parts are delivered", () =>
    Effect.gen(function* () {
      const error = { type: "overloaded_error", message: "Overloaded" }
      const cases = [
        [Stream.fromIterable([...textStream, { type: "error", error } as const]), "LlmUnavailableError", 3],
        [Stream.fromIterable(textStream), "LlmMalformedResponseError", 3],
        [Stream.empty, "LlmMalformedResponseError", 0],
        [
          Stream.make({ ...finish, usage: { inputTokens: undefined, outputTokens: undefined, totalTokens: 0 } }),
          "LlmMalformedResponseError",
          1
        ]
      ] as const
      for (const [stream, tag, count] of cases) {
        const { client } = yield* scripted({ stream })
        const parts: Array<LlmPart> = []
        const failure = yield* Effect.flip(
          client.complete(ask, { onParts: (more) => Effect.sync(() => void parts.push(...more)) })
        )
        assert.strictEqual(failure._tag, tag)
        assert.strictEqual(parts.length, count)
      }
    })
  )

  it.effect("that are defects of the provider are typed; consumer defects and interruptions stay", () =>
    Effect.gen(function* () {
      const boom = new TypeError("cannot read properties of undefined")
      const { client } = yield* scripted({
        whole: Effect.die(boom),
        stream: Stream.concat(Stream.fromIterable(textStream), Stream.die(boom))
      })
      assert.strictEqual((yield* Effect.flip(client.complete(ask)))._tag, "LlmMalformedResponseError")
      assert.strictEqual((yield* Effect.flip(collect(client, ask)))._tag, "LlmMalformedResponseError")

      const fine = yield* scripted({ stream: Stream.fromIterable([...textStream, finish]) })
      const exit = yield* Effect.exit(fine.client.complete(ask, { onParts: () => Effect.die("ours") }))
      assert.deepStrictEqual(exit, Exit.die("ours"))

      const never = yield* scripted({ whole: Effect.never, stream: Stream.never })
      for (const run of [Effect.asVoid(never.client.complete(ask)), Effect.asVoid(collect(never.client, ask))]) {
        const fiber = yield* Effect.fork(run)
        yield* Effect.yieldNow()
        const interrupted = yield* Fiber.interrupt(fiber)
        assert(Exit.isFailure(interrupted))
        assert.isTrue(Cause.isInterruptedOnly(interrupted.cause))
      }
    })
  )

  it.effect("of the request are typed", () =>
    Effect.gen(function* () {
      const { client } = yield* scripted({})
      const error = yield* Effect.flip(client.complete({ messages: [{ role: "nobody", content: "x" } as never] }))
      assert.strictEqual(error._tag, "LlmInvalidRequestError")
    })
  )
})

describe("layer", () => {
  it.effect("takes the provider's name from the model by default", () =>
    Effect.gen(function* () {
      const language = Layer.effect(
        LanguageModel.LanguageModel,
        LanguageModel.make({ generateText: () => Effect.succeed([]), streamText: () => Stream.empty })
      )
      const provider = (layer: Layer.Layer<LlmClient.LlmClient>) =>
        Effect.map(LlmClient.LlmClient, (client) => [client.provider, client.model]).pipe(Effect.provide(layer))
      const named = Model.make("bedrock", language)
      assert.deepStrictEqual(yield* provider(Layer.provide(LanguageModelClient.layer(), named)), ["bedrock", undefined])
      assert.deepStrictEqual(yield* provider(Layer.provide(LanguageModelClient.layer(), language)), [
        "language-model",
        undefined
      ])
      assert.deepStrictEqual(
        yield* provider(Layer.provide(LanguageModelClient.layer({ provider: "mine", model: "m" }), named)),
        ["mine", "m"]
      )
    })
  )

  it.effect("passes settings to the given hook", () =>
    Effect.gen(function* () {
      const model = yield* LanguageModel.make({
        generateText: () => Effect.succeed([{ type: "text", text: "Hi" }, finish]),
        streamText: () => Stream.empty
      })
      const seen: Array<unknown> = []
      const client = LanguageModelClient.make(model, {
        configure: (settings) => (effect) => {
          seen.push(settings)
          return effect
        }
      })
      yield* client.complete({ ...ask, settings: { temperature: 0.5 } })
      assert.deepStrictEqual(seen, [{ temperature: 0.5 }])
    })
  )
})

describe("the packages of @effect/ai", () => {
  const openai = (server: ChatServer.ChatServer) =>
    LanguageModelClient.layer({ provider: "openai", redact: [Redacted.make(secret)] }).pipe(
      Layer.provide(OpenAiLanguageModel.layer({ model: "gpt-test" })),
      Layer.provide(AiOpenAiClient.layer({ apiKey: Redacted.make(secret), apiUrl: server.baseUrl }))
    )
  const anthropic = (server: ChatServer.ChatServer) =>
    LanguageModelClient.layer({ provider: "anthropic", redact: [Redacted.make(secret)] }).pipe(
      Layer.provide(AnthropicLanguageModel.layer({ model: "claude-test", config: { max_tokens: 99 } })),
      Layer.provide(AnthropicClient.layer({ apiKey: Redacted.make(secret), apiUrl: server.origin }))
    )
  const message = (text: string) => ({ type: "message", id: "m", content: [{ type: "output_text", text }] })
  const settings = { model: "other", temperature: 0.5, topP: 0.25, maxTokens: 12, stop: ["X"] }

  it.scopedLive(
    "get settings into the body and tools with their schema, and read an OpenAI answer their decoder rejects",
    () =>
      Effect.gen(function* () {
        const server = yield* ChatServer.make
        const lenient = {
          id: "r",
          model: "gpt-test",
          output: [message("Hi")],
          usage: { input_tokens: 1, output_tokens: 1 }
        }
        yield* server.script(ChatServer.json(lenient))
        const response = yield* LlmGateway.complete({ ...ask, tools: [weather], settings }).pipe(
          Effect.provide(openai(server))
        )
        assert.strictEqual(LlmClient.text(response), "Hi")
        assert.strictEqual(response.usage.inputTokens, 1)
        const { body } = server.requests[0]!
        assert.deepInclude(body, { model: "other", temperature: 0.5, top_p: 0.25, max_output_tokens: 12 })
        assert.deepStrictEqual(body.tools[0], { type: "function", strict: false, ...weather })
      }).pipe(Effect.provide(FetchHttpClient.layer))
  )

  it.scopedLive("get settings into the body of Anthropic, and keep its own bound for a request without one", () =>
    Effect.gen(function* () {
      const server = yield* ChatServer.make
      const hello = ChatServer.json({
        id: "m",
        type: "message",
        role: "assistant",
        model: "claude-test",
        content: [{ type: "text", text: "Hi" }, { type: "text" }],
        stop_reason: "end_turn"
      })
      yield* server.script(hello, hello)
      const response = yield* LlmGateway.complete({ ...ask, settings }).pipe(Effect.provide(anthropic(server)))
      assert.strictEqual(LlmClient.text(response), "Hi")
      yield* LlmGateway.complete(ask).pipe(Effect.provide(anthropic(server)))
      const [first, second] = server.requests
      assert.deepInclude(first!.body, {
        model: "other",
        temperature: 0.5,
        top_p: 0.25,
        max_tokens: 12,
        stop_sequences: ["X"]
      })
      assert.strictEqual(second!.body.max_tokens, 99)
      assert.strictEqual(second!.body.model, "claude-test")
    }).pipe(Effect.provide(FetchHttpClient.layer))
  )

  it.scopedLive("show no key when they fail, whole and streamed", () =>
    Effect.gen(function* () {
      const server = yield* ChatServer.make
      const echo = { error: { message: `bad key ${secret}` } }
      const cases = [
        [openai(server), ChatServer.json(echo, { status: 401 }), "LlmAuthenticationError"],
        [
          openai(server),
          ChatServer.json("not json", { headers: { "x-request-id": "req_1" } }),
          "LlmMalformedResponseError"
        ],
        [anthropic(server), ChatServer.json(echo, { status: 401 }), undefined],
        [anthropic(server), { before: [ChatServer.cut] }, "LlmConnectionError"]
      ] as const
      for (const [layer, exchange, tag] of cases) {
        yield* server.script(exchange, exchange)
        const run = Effect.flatMap(LlmClient.LlmClient, (client) =>
          Effect.all([Effect.flip(client.complete(ask)), Effect.flip(collect(client, ask))])
        )
        for (const error of yield* Effect.provide(run, layer)) {
          if (tag !== undefined) assert.strictEqual(error._tag, tag)
          const shown = ErrorRenderings.of(error)
          assert.notInclude(shown, secret)
          assert.notInclude(shown.toLowerCase(), "x-api-key")
        }
      }
    }).pipe(Effect.provide(FetchHttpClient.layer))
  )
})
