import { assert, describe, it } from "@effect/vitest"
import * as ConfigProvider from "effect/ConfigProvider"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import { LlmUnavailableError } from "../../src/llm/model/LlmError.js"
import { createAgent, type Model, tool } from "../../src/promise/index.js"
import * as Providers from "../../src/provider/Providers.js"
import type * as AiSdkModel from "../../src/provider/sdk/AiSdkModel.js"
import * as ChatServer from "../support/ChatServer.js"

const completion = (text: string) =>
  ChatServer.json({
    choices: [{ index: 0, message: { role: "assistant", content: text }, finish_reason: "stop" }],
    usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 }
  })
const unavailable = ChatServer.json({ error: {} }, { status: 503, headers: { "retry-after": "0" } })

const answer = (model: Model, maxRetries?: number) =>
  Effect.tryPromise({
    try: async () => {
      await using agent = createAgent({ name: "a", model, maxRetries })
      return (await agent.run("hi")).message
    },
    catch: (error) => error as object
  })

const local = (baseUrl: string): Model => ({
  provider: "openai-compatible",
  model: "m",
  baseUrl,
  apiKey: "secret",
  settings: { temperature: 0.25 }
})

describe("a model by the name of its provider", () => {
  it.scoped("is asked over HTTP with its key and settings", () =>
    Effect.gen(function* () {
      const server = yield* ChatServer.make
      yield* server.script(completion("hello"))
      assert.strictEqual(yield* answer(local(server.baseUrl)), "hello")
      const [request] = server.requests
      assert.strictEqual(request?.headers["authorization"], "Bearer secret")
      assert.deepInclude(request?.body, { model: "m" })
    })
  )

  it.scoped("is asked again after a failure of the server, as often as maxRetries says", () =>
    Effect.gen(function* () {
      const server = yield* ChatServer.make
      yield* server.script(unavailable, completion("hello"))
      assert.strictEqual(yield* answer(local(server.baseUrl)), "hello")
      yield* server.script(unavailable)
      assert.instanceOf(yield* Effect.flip(answer(local(server.baseUrl), 0)), LlmUnavailableError)
      assert.lengthOf(server.requests, 3)
    })
  )

  it.effect("has its key from the variable of the provider, if it gives none", () =>
    Effect.gen(function* () {
      const key = yield* Providers.keyOf(" Groq ")
      assert.strictEqual(key === undefined ? "" : Redacted.value(key), "from the environment")
      assert.isUndefined(yield* Providers.keyOf("mistral"))
      assert.isUndefined(yield* Providers.keyOf("ollama"))
      assert.isUndefined(yield* Providers.keyOf("nobody"))
    }).pipe(Effect.withConfigProvider(ConfigProvider.fromMap(new Map([["GROQ_API_KEY", "from the environment"]]))))
  )
})

describe("a model of the AI SDK", () => {
  it.effect("is used as it is", () =>
    Effect.gen(function* () {
      const usage = {
        inputTokens: { total: 3, noCache: 2, cacheRead: 1, cacheWrite: 0 },
        outputTokens: { total: 2, text: 1, reasoning: 1 }
      }
      const content = [{ type: "text", text: "hello" }]
      const finishReason = { unified: "stop", raw: "stop" }
      const model: AiSdkModel.Model = {
        specificationVersion: "v4",
        provider: "own.chat",
        modelId: "m",
        supportedUrls: {},
        doGenerate: async () => ({ content, finishReason, usage, warnings: [] }) as never,
        doStream: async () => assert.fail("it is not streamed")
      }
      assert.strictEqual(yield* answer(model), "hello")
    })
  )
})

describe("the time limit of a tool", () => {
  it.scoped("aborts the signal of its function", () =>
    Effect.gen(function* () {
      const server = yield* ChatServer.make
      let isAborted = false
      const calls = [{ id: "c1", type: "function", function: { name: "slow", arguments: "{}" } }]
      yield* server.script(
        ChatServer.json({
          choices: [
            { index: 0, message: { role: "assistant", content: null, tool_calls: calls }, finish_reason: "tool_calls" }
          ]
        }),
        completion("it took too long")
      )
      const slow = tool({
        name: "slow",
        description: "d",
        timeout: 1,
        execute: (_, { signal }) =>
          new Promise<string>(() => {
            signal.addEventListener("abort", () => {
              isAborted = true
            })
          })
      })
      const result = yield* Effect.promise(async () => {
        await using agent = createAgent({ name: "a", model: local(server.baseUrl), tools: [slow] })
        return await agent.run("hi")
      })
      assert.strictEqual(result.toolCalls[0]?.error?.tag, "ToolTimeoutError")
      assert.isTrue(isAborted)
    })
  )
})
