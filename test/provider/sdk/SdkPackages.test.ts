/** Models of real provider packages of AI SDK 6 and 7, each against a loopback server that speaks its API. */

import { createAnthropic as anthropic4 } from "@ai-sdk/anthropic"
import { createAnthropic as anthropic3 } from "@ai-sdk/anthropic-v3"
import { createGoogleGenerativeAI as google4 } from "@ai-sdk/google"
import { createGoogleGenerativeAI as google3 } from "@ai-sdk/google-v3"
import { createOpenAICompatible as compatible4 } from "@ai-sdk/openai-compatible"
import { createOpenAICompatible as compatible3 } from "@ai-sdk/openai-compatible-v3"
import * as FetchHttpClient from "@effect/platform/FetchHttpClient"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Redacted from "effect/Redacted"
import type { LlmPart, LlmRequest } from "../../../src/llm/model/LlmClient.js"
import * as LlmClient from "../../../src/llm/model/LlmClient.js"
import * as Anthropic from "../../../src/provider/format/Anthropic.js"
import * as AiSdkModel from "../../../src/provider/sdk/AiSdkModel.js"
import * as ChatServer from "../../support/ChatServer.js"
import * as ErrorRenderings from "../../support/ErrorRenderings.js"

const secret = "sk-THE_KEY_itself_0123456789abcdef"

const weather = {
  name: "get_weather",
  description: "The weather of a city",
  parameters: {
    type: "object",
    properties: { city: { type: "string" } },
    required: ["city"],
    additionalProperties: false
  }
}

/** How one API says the same answer, whole and streamed. */
interface Wire {
  readonly text: string
  readonly hello: ChatServer.Exchange
  readonly helloStream: ChatServer.Exchange
  readonly call: ChatServer.Exchange
  readonly callStream: ChatServer.Exchange
  readonly failure: (status: number) => ChatServer.Exchange
  /** The names of the tools of a request. */
  readonly toolNames: (body: any) => ReadonlyArray<string>
}

const chatChoice = (message: object, finish: string) => ({
  id: "id-1",
  object: "chat.completion",
  created: 1,
  model: "answered",
  choices: [{ index: 0, message: { role: "assistant", ...message }, finish_reason: finish }],
  usage: { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15, prompt_tokens_details: { cached_tokens: 4 } }
})
const chatChunk = (delta: object, finish: string | null = null, more: object = {}) =>
  ChatServer.event({
    id: "id-1",
    object: "chat.completion.chunk",
    created: 1,
    model: "answered",
    choices: [{ index: 0, delta, finish_reason: finish }],
    ...more
  })
const chatUsage = { usage: { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 } }

const chat: Wire = {
  text: "Hello, world",
  hello: ChatServer.json(chatChoice({ content: "Hello, world" }, "stop")),
  helloStream: ChatServer.sse([
    chatChunk({ role: "assistant", content: "Hello" }),
    chatChunk({ content: ", world" }),
    chatChunk({}, "stop", chatUsage),
    ChatServer.event("[DONE]")
  ]),
  call: ChatServer.json(
    chatChoice(
      {
        content: null,
        tool_calls: [{ id: "c1", type: "function", function: { name: "get_weather", arguments: '{"city":"Ghent"}' } }]
      },
      "tool_calls"
    )
  ),
  callStream: ChatServer.sse([
    chatChunk({
      tool_calls: [{ index: 0, id: "c1", type: "function", function: { name: "get_weather", arguments: '{"city":' } }]
    }),
    chatChunk({ tool_calls: [{ index: 0, function: { arguments: '"Ghent"}' } }] }),
    chatChunk({}, "tool_calls", chatUsage),
    ChatServer.event("[DONE]")
  ]),
  failure: (status) =>
    ChatServer.json({ error: { message: `refused ${secret}`, type: "some_error", code: null } }, { status }),
  toolNames: (body) => body.tools.map((tool: any) => tool.function.name)
}

const claude = (stop: string, ...content: ReadonlyArray<unknown>) => ({
  id: "msg_1",
  type: "message",
  role: "assistant",
  model: "answered",
  content,
  stop_reason: stop,
  stop_sequence: null,
  usage: { input_tokens: 6, cache_read_input_tokens: 4, cache_creation_input_tokens: 0, output_tokens: 5 }
})
const claudeEvents = (...events: ReadonlyArray<{ readonly type: string; readonly [key: string]: unknown }>) =>
  ChatServer.sse(
    [
      {
        type: "message_start",
        message: { ...claude("end_turn"), stop_reason: null, usage: { input_tokens: 10, output_tokens: 1 } }
      },
      ...events
    ].map((event) => `event: ${event.type}\n${ChatServer.event(event)}`)
  )
const claudeEnd = (stop: string) => [
  { type: "content_block_stop", index: 0 },
  { type: "message_delta", delta: { stop_reason: stop, stop_sequence: null }, usage: { output_tokens: 5 } },
  { type: "message_stop" }
]

const messages: Wire = {
  text: "Hello, world",
  hello: ChatServer.json(claude("end_turn", { type: "text", text: "Hello, world" })),
  helloStream: claudeEvents(
    { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } },
    { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "Hello" } },
    { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: ", world" } },
    ...claudeEnd("end_turn")
  ),
  call: ChatServer.json(
    claude("tool_use", { type: "tool_use", id: "c1", name: "get_weather", input: { city: "Ghent" } })
  ),
  callStream: claudeEvents(
    {
      type: "content_block_start",
      index: 0,
      content_block: { type: "tool_use", id: "c1", name: "get_weather", input: {} }
    },
    { type: "content_block_delta", index: 0, delta: { type: "input_json_delta", partial_json: '{"city":' } },
    { type: "content_block_delta", index: 0, delta: { type: "input_json_delta", partial_json: '"Ghent"}' } },
    ...claudeEnd("tool_use")
  ),
  failure: (status) =>
    ChatServer.json({ type: "error", error: { type: "some_error", message: `refused ${secret}` } }, { status }),
  toolNames: (body) => body.tools.map((tool: any) => tool.name)
}

const candidate = (parts: ReadonlyArray<object>, more: object = {}) => ({
  candidates: [{ index: 0, content: { role: "model", parts }, ...more }],
  usageMetadata: { promptTokenCount: 10, candidatesTokenCount: 5, totalTokenCount: 15, cachedContentTokenCount: 4 },
  modelVersion: "answered",
  responseId: "id-1"
})
const stopped = { finishReason: "STOP" }
const weatherCall = { functionCall: { name: "get_weather", args: { city: "Ghent" } }, thoughtSignature: "c2lnbmVk" }

const gemini: Wire = {
  text: "Hello, world",
  hello: ChatServer.json(candidate([{ text: "Hello, world" }], stopped)),
  helloStream: ChatServer.sse([
    ChatServer.event(candidate([{ text: "Hello" }])),
    ChatServer.event(candidate([{ text: ", world" }], stopped))
  ]),
  call: ChatServer.json(candidate([weatherCall], stopped)),
  callStream: ChatServer.sse([ChatServer.event(candidate([weatherCall], stopped))]),
  failure: (status) =>
    ChatServer.json({ error: { code: status, message: `refused ${secret}`, status: "SOME" } }, { status }),
  toolNames: (body) => body.tools[0].functionDeclarations.map((tool: any) => tool.name)
}

type Make = (baseURL: string) => AiSdkModel.Model

const packages: ReadonlyArray<readonly [name: string, make: Make, wire: Wire]> = [
  [
    "openai-compatible of AI SDK 6",
    (baseURL) => compatible3({ name: "local", baseURL, apiKey: secret, includeUsage: true })("m"),
    chat
  ],
  [
    "openai-compatible of AI SDK 7",
    (baseURL) => compatible4({ name: "local", baseURL, apiKey: secret, includeUsage: true })("m"),
    chat
  ],
  ["anthropic of AI SDK 6", (baseURL) => anthropic3({ baseURL, apiKey: secret })("m"), messages],
  ["anthropic of AI SDK 7", (baseURL) => anthropic4({ baseURL, apiKey: secret })("m"), messages],
  ["google of AI SDK 6", (baseURL) => google3({ baseURL, apiKey: secret })("m"), gemini],
  ["google of AI SDK 7", (baseURL) => google4({ baseURL, apiKey: secret })("m"), gemini]
]

const ask: LlmRequest = { messages: [{ role: "user", content: "Hello" }] }
const askWeather: LlmRequest = { ...ask, tools: [weather], toolChoice: "auto" }

const collect = (client: LlmClient.Service, request: LlmRequest) =>
  Effect.gen(function* () {
    const parts: Array<LlmPart> = []
    const response = yield* client.complete(request, {
      onParts: (more) => Effect.sync(() => void parts.push(...more))
    })
    return { parts, response }
  })

const without = (usage: LlmClient.LlmResponse["usage"]) => [usage.inputTokens, usage.outputTokens, usage.totalTokens]

describe.each(packages)("AiSdkModel over %s", (_, make, wire) => {
  const start = Effect.gen(function* () {
    const server = yield* ChatServer.make
    const client = yield* AiSdkModel.make(make(server.baseUrl), { redact: [Redacted.make(secret)] })
    return { server, client }
  })

  it.scoped("reads a whole answer and its usage", () =>
    Effect.gen(function* () {
      const { client, server } = yield* start
      yield* server.script(wire.hello)
      const response = yield* client.complete(ask)
      assert.strictEqual(LlmClient.text(response), wire.text)
      assert.strictEqual(response.finishReason, "stop")
      assert.deepStrictEqual(without(response.usage), [10, 5, 15])
      assert.strictEqual(response.usage.cachedInputTokens, 4)
      assert.strictEqual(response.provider, client.provider)
    })
  )

  it.scoped("streams the same answer in pieces", () =>
    Effect.gen(function* () {
      const { client, server } = yield* start
      yield* server.script(wire.helloStream)
      const { parts, response } = yield* collect(client, ask)
      assert.strictEqual(LlmClient.text(response), wire.text)
      assert.isAtLeast(parts.filter(({ type }) => type === "text-delta").length, 2)
      assert.strictEqual(parts.at(-1)?.type, "finish")
      assert.deepStrictEqual(without(response.usage), [10, 5, 15])
    })
  )

  it.scoped(
    "declares tools, reads calls with their parameters, and sends results and what the provider wants back",
    () =>
      Effect.gen(function* () {
        const { client, server } = yield* start
        yield* server.script(wire.call, wire.callStream, wire.hello)
        const whole = yield* client.complete(askWeather)
        const { response: streamed } = yield* collect(client, askWeather)
        for (const response of [whole, streamed]) {
          const [call] = LlmClient.toolCalls(response)
          assert.strictEqual(call?.name, "get_weather")
          assert.deepStrictEqual(call?.params, { city: "Ghent" })
          assert.strictEqual(response.finishReason, "tool-calls")
        }
        assert.deepStrictEqual(wire.toolNames(server.requests[0]?.body), ["get_weather"])
        const [call] = LlmClient.toolCalls(whole)
        const result = {
          type: "tool-result" as const,
          id: call?.id ?? "",
          name: "get_weather",
          isFailure: false,
          result: "sunny"
        }
        yield* client.complete({
          ...askWeather,
          messages: [
            ...ask.messages,
            LlmClient.assistantMessage(whole),
            { role: "tool", content: [{ ...result, providerExecuted: false }] }
          ]
        })
        const last = server.requests[2]?.text ?? ""
        assert.include(last, "sunny")
        assert.include(last, "Ghent")
        if (wire === gemini) assert.include(last, "c2lnbmVk")
      })
  )

  it.scoped.each([
    [401, "LlmAuthenticationError"],
    [400, "LlmInvalidRequestError"],
    [429, "LlmRateLimitError"],
    [503, "LlmUnavailableError"]
  ] as const)("classifies status %d as %s, whole and streamed, without the key", ([status, tag]) =>
    Effect.gen(function* () {
      const { client, server } = yield* start
      yield* server.script(wire.failure(status), wire.failure(status))
      for (const failed of [client.complete(ask), collect(client, ask)]) {
        const error = yield* Effect.flip(failed as Effect.Effect<unknown, LlmClientError>)
        assert.strictEqual(error._tag, tag)
        assert.include(error.message, "refused")
        assert.notInclude(ErrorRenderings.of(error), secret)
      }
    })
  )

  it.scoped("fails typed when nobody listens", () =>
    Effect.gen(function* () {
      const client = yield* AiSdkModel.make(make("http://127.0.0.1:1/v1"))
      assert.strictEqual((yield* Effect.flip(client.complete(ask)))._tag, "LlmConnectionError")
      assert.strictEqual((yield* Effect.flip(collect(client, ask)))._tag, "LlmConnectionError")
    })
  )

  it.scoped("closes the connection when a call is interrupted, before and within the answer", () =>
    Effect.gen(function* () {
      const { client, server } = yield* start
      yield* server.script(ChatServer.silence, {
        ...wire.helloStream,
        steps: [...(wire.helloStream.steps ?? []).slice(0, 1), ChatServer.hang]
      })
      for (const [count, call] of [
        [1, Effect.asVoid(client.complete(ask))],
        [2, Effect.asVoid(collect(client, ask))]
      ] as const) {
        const fiber = yield* Effect.fork(call)
        yield* server.received(count)
        const exit = yield* Fiber.interrupt(fiber)
        assert.isTrue(Exit.isInterrupted(exit))
        yield* server.left(count)
      }
    })
  )

  it.scoped("fails typed when the connection breaks within the answer", () =>
    Effect.gen(function* () {
      const { client, server } = yield* start
      yield* server.script({
        ...wire.helloStream,
        steps: [...(wire.helloStream.steps ?? []).slice(0, 1), ChatServer.cut]
      })
      const error = yield* Effect.flip(collect(client, ask))
      assert.include(["LlmConnectionError", "LlmMalformedResponseError", "LlmUnavailableError"], error._tag)
    })
  )
})

type LlmClientError = Effect.Effect.Error<ReturnType<LlmClient.Service["complete"]>>

/** The texts and names that a body of Anthropic's API marks for the cache. */
const marked = (body: any): ReadonlyArray<unknown> => {
  const blocks: ReadonlyArray<any> = [
    ...(body.tools ?? []),
    ...(body.system ?? []),
    ...body.messages.flatMap(({ content }: any) => content)
  ]
  return blocks
    .filter((block) => block.cache_control !== undefined)
    .map(({ cache_control, name, text, tool_use_id }) => [name ?? text ?? tool_use_id, cache_control])
}

describe("cache marks in Anthropic's API", () => {
  const call = { type: "tool-call" as const, id: "c", name: "get_weather", params: {}, providerExecuted: false }
  const result = { ...call, type: "tool-result" as const, isFailure: false, result: "sunny" }
  const requests: ReadonlyArray<readonly [string, LlmRequest]> = [
    ["without tools", ask],
    ["with a system prompt", { messages: [{ role: "system", content: "Be brief." }, ...ask.messages] }],
    ["with tools", { ...askWeather, messages: [{ role: "system", content: "Be brief." }, ...ask.messages] }],
    [
      "with a result",
      {
        ...askWeather,
        messages: [...ask.messages, { role: "assistant", content: [call] }, { role: "tool", content: [result] }]
      }
    ],
    ["for an hour", { ...askWeather, settings: { promptCache: { ttl: "1h" } } }],
    ["without a cache", { ...askWeather, settings: { promptCache: false } }]
  ]
  it.scopedLive.each(requests)("stand where the packages of AI SDK 6 and 7 put them: %s", ([, request]) =>
    Effect.gen(function* () {
      const server = yield* ChatServer.make
      yield* server.script(messages.hello, messages.hello, messages.hello)
      const own = yield* Anthropic.make({ apiKey: Redacted.make(secret), model: "m", baseUrl: server.baseUrl })
      const bodies: Array<unknown> = []
      for (const client of [
        own,
        yield* AiSdkModel.make(anthropic3({ baseURL: server.baseUrl, apiKey: secret })("m")),
        yield* AiSdkModel.make(anthropic4({ baseURL: server.baseUrl, apiKey: secret })("m"))
      ]) {
        yield* client.complete(request)
        bodies.push(marked(server.requests.at(-1)!.body))
      }
      assert.deepStrictEqual(bodies[1], bodies[0])
      assert.deepStrictEqual(bodies[2], bodies[0])
    }).pipe(Effect.provide(FetchHttpClient.layer))
  )
})
