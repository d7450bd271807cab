/** Content that Gemini keeps: named by a setting, and priced. */
import { createGoogleGenerativeAI as google4 } from "@ai-sdk/google"
import { createGoogleGenerativeAI as google3 } from "@ai-sdk/google-v3"
import { createOpenAI as openai4 } from "@ai-sdk/openai"
import * as FetchHttpClient from "@effect/platform/FetchHttpClient"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import * as CostEstimator from "../../src/llm/model/CostEstimator.js"
import type * as LlmClient from "../../src/llm/model/LlmClient.js"
import * as ProviderTool from "../../src/llm/ProviderTool.js"
import * as Anthropic from "../../src/provider/format/Anthropic.js"
import * as ChatCompletions from "../../src/provider/format/ChatCompletions.js"
import * as OpenAi from "../../src/provider/format/OpenAi.js"
import * as LanguageModelClient from "../../src/provider/LanguageModelClient.js"
import * as AiSdkModel from "../../src/provider/sdk/AiSdkModel.js"
import * as ChatServer from "../support/ChatServer.js"
import * as ProviderBodies from "../support/ProviderBodies.js"

const content = "cachedContents/abc"
const request: LlmClient.LlmRequest = {
  messages: [
    { role: "system", content: "Be brief." },
    { role: "user", content: "Hello" }
  ],
  tools: [{ name: "t", description: "T", parameters: { type: "object", properties: {} } }],
  toolChoice: "required",
  settings: { promptCache: { content } }
}

const test = (program: Effect.Effect<void, unknown, any>) =>
  Effect.provide(program, FetchHttpClient.layer) as Effect.Effect<void, unknown, never>

describe("content that Gemini keeps", () => {
  it.scopedLive.each([google3, google4])("is named in the body, without what it has itself", (make) =>
    test(
      Effect.gen(function* () {
        const server = yield* ChatServer.make
        const provided = make({ baseURL: server.baseUrl, apiKey: "key" })("gemini-3-pro-preview")
        const client = yield* AiSdkModel.make(provided as never)
        const cached = {
          ...ProviderBodies.gemini,
          usageMetadata: {
            promptTokenCount: 1_000_000,
            candidatesTokenCount: 0,
            totalTokenCount: 1_000_000,
            cachedContentTokenCount: 900_000
          }
        }
        yield* server.script(ChatServer.json(cached), ChatServer.json(ProviderBodies.gemini))
        const providerTools = [ProviderTool.codeExecution()]
        const { usage } = yield* client.complete({ ...request, settings: { ...request.settings, providerTools } })
        const body = server.requests[0]?.body
        assert.strictEqual(body.cachedContent, content)
        assert.deepStrictEqual(body.contents, [{ role: "user", parts: [{ text: "Hello" }] }])
        for (const field of ["systemInstruction", "tools", "toolConfig"]) assert.notProperty(body, field)
        const prices = CostEstimator.fromPrices({ m: { input: 1, cachedInput: 0.1, output: 1 } })
        assert.closeTo(prices.estimate({ provider: "google", model: "m", usage }) ?? 0, 0.19, 1e-9)
        yield* client.complete({ ...request, settings: {} })
        assert.notProperty(server.requests[1]?.body, "cachedContent")
        assert.property(server.requests[1]?.body, "tools")
      })
    )
  )

  const apiKey = Redacted.make("key")
  const others: ReadonlyArray<readonly [string, (baseUrl: string) => Effect.Effect<LlmClient.Service, unknown, any>]> =
    [
      ["Anthropic", (baseUrl) => Anthropic.make({ apiKey, model: "claude-sonnet-4-5", baseUrl })],
      ["OpenAI", (baseUrl) => OpenAi.make({ apiKey, model: "gpt-5", baseUrl })],
      ["chat completions", (baseUrl) => ChatCompletions.make({ model: "m", baseUrl })],
      ["another package", (baseURL) => AiSdkModel.make(openai4({ baseURL, apiKey: "key" })("gpt-5") as never)],
      ["models of @effect/ai", () => Effect.succeed(LanguageModelClient.make({} as never, { provider: "openai" }))]
    ]
  it.scopedLive.each(others)("fails before the call where it is unknown: %s", ([, make]) =>
    test(
      Effect.gen(function* () {
        const server = yield* ChatServer.make
        const client = yield* make(server.baseUrl)
        const error = yield* Effect.flip(client.complete(request))
        assert.deepInclude(error, { _tag: "LlmUnsupportedFeatureError", feature: "cached-content" })
        assert.lengthOf(server.requests, 0)
      })
    )
  )
})
