/** How providers are asked for reasoning, beside what the packages of the AI SDK send, and how it goes back to them. */
import { createAnthropic as anthropic4 } from "@ai-sdk/anthropic"
import { createAnthropic as anthropic3 } from "@ai-sdk/anthropic-v3"
import { createGoogleGenerativeAI as google4 } from "@ai-sdk/google"
import { createGoogleGenerativeAI as google3 } from "@ai-sdk/google-v3"
import { createOpenAI as openai4 } from "@ai-sdk/openai"
import { createOpenAICompatible as compatible4 } from "@ai-sdk/openai-compatible"
import { createOpenAICompatible as compatible3 } from "@ai-sdk/openai-compatible-v3"
import { createOpenAI as openai3 } from "@ai-sdk/openai-v3"
import * as FetchHttpClient from "@effect/platform/FetchHttpClient"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import * as ModelFallback from "../../src/llm/ModelFallback.js"
import type * as LlmClient from "../../src/llm/model/LlmClient.js"
import * as ModelSettings from "../../src/llm/model/ModelSettings.js"
import * as ReasoningLevels from "../../src/provider/exchange/ReasoningLevels.js"
import * as Anthropic from "../../src/provider/format/Anthropic.js"
import * as ChatCompletions from "../../src/provider/format/ChatCompletions.js"
import * as ChatCompletionsDialect from "../../src/provider/format/ChatCompletionsDialect.js"
import * as OpenAi from "../../src/provider/format/OpenAi.js"
import * as AiSdkModel from "../../src/provider/sdk/AiSdkModel.js"
import * as ChatServer from "../support/ChatServer.js"
import * as ProviderBodies from "../support/ProviderBodies.js"

type Made = Effect.Effect<LlmClient.Service, unknown, any>
type Body = { readonly [key: string]: any }

const ask: LlmClient.LlmRequest = { messages: [{ role: "user", content: "Hello" }] }
const weather = { name: "get_weather", description: "The weather", parameters: { type: "object", properties: {} } }

/** The bodies that clients send for one request. */
const bodies = Effect.fnUntraced(function* (
  answer: object,
  clients: (baseUrl: string) => ReadonlyArray<Made>,
  request: LlmClient.LlmRequest
) {
  const server = yield* ChatServer.make
  const sent: Array<Body> = []
  for (const make of clients(server.baseUrl)) {
    const client = yield* make
    yield* server.script(ChatServer.json(answer))
    yield* client.complete(request)
    sent.push(server.requests.at(-1)?.body)
  }
  return sent
})

/** The error of a call, and how many requests the server saw. */
const refusal = Effect.fnUntraced(function* (make: (baseUrl: string) => Made, settings: ModelSettings.ModelSettings) {
  const server = yield* ChatServer.make
  const client = yield* make(server.baseUrl)
  const error = yield* Effect.flip(client.complete({ ...ask, settings }))
  return [error._tag, server.requests.length]
})

const test = <A>(program: Effect.Effect<A, unknown, any>) =>
  Effect.provide(program, FetchHttpClient.layer) as Effect.Effect<A, unknown, never>

const claude = (baseUrl: string, model: string): ReadonlyArray<Made> => [
  Anthropic.make({ apiKey: Redacted.make("key"), model, baseUrl }),
  ...[anthropic3, anthropic4].map((make) => AiSdkModel.make(make({ baseURL: baseUrl, apiKey: "key" })(model) as never))
]
const openAi = (baseUrl: string, model: string): Made => OpenAi.make({ apiKey: Redacted.make("key"), model, baseUrl })

describe("a level of reasoning", () => {
  it("is the nearest lower one that a model has, else its lowest", () => {
    const of = (model: string) =>
      ModelSettings.ReasoningEffort.literals.map((effort) =>
        ReasoningLevels.nearest(effort, ReasoningLevels.openAiLevels(model))
      )
    assert.deepStrictEqual(of("o3"), ["low", "low", "low", "medium", "high", "high", "high"])
    assert.deepStrictEqual(of("gpt-5-mini"), ["minimal", "minimal", "low", "medium", "high", "high", "high"])
    assert.deepStrictEqual(of("gpt-5-pro"), new Array(7).fill("high"))
    assert.deepStrictEqual(of("gpt-5-codex"), ["low", "low", "low", "medium", "high", "high", "high"])
    assert.deepStrictEqual(of("gpt-5.1"), ["none", "low", "low", "medium", "high", "high", "high"])
    assert.deepStrictEqual(of("gpt-5.4"), ["none", "low", "low", "medium", "high", "xhigh", "xhigh"])
    assert.deepStrictEqual(of("gpt-5.6"), ["none", "low", "low", "medium", "high", "xhigh", "max"])
    assert.deepStrictEqual(of("gpt-6-sol"), ["low", "low", "low", "medium", "high", "xhigh", "max"])
    assert.deepStrictEqual(of("ft:o4-mini:acme::x"), of("o3"))
    assert.deepStrictEqual(of("gpt-4.1"), new Array(7).fill(undefined))
    assert.deepStrictEqual(of("my-deployment"), [...ModelSettings.ReasoningEffort.literals])
  })

  it.scopedLive("reaches OpenAI's Responses with the summary that was asked for", () =>
    test(
      Effect.gen(function* () {
        const of = (model: string, settings: ModelSettings.ModelSettings) =>
          bodies(ProviderBodies.responses, (url) => [openAi(url, model)], { ...ask, settings })
        const [low] = yield* of("gpt-5", { reasoning: "xhigh", temperature: 1 })
        assert.deepStrictEqual(low?.reasoning, { effort: "high" })
        assert.notProperty(low, "temperature")
        const [shown] = yield* of("gpt-5.1", { reasoning: { effort: "none", summary: true }, temperature: 1 })
        assert.deepStrictEqual([shown?.reasoning, shown?.temperature], [{ effort: "none", summary: "auto" }, 1])
        const [none] = yield* of("gpt-4.1", { reasoning: "high" })
        assert.notProperty(none, "reasoning")
        const [sealed] = yield* of("gpt-5", { providerOptions: { store: false } })
        assert.deepStrictEqual(sealed?.include, ["reasoning.encrypted_content"])
      })
    )
  )

  it.scopedLive("reaches OpenAI through the packages of AI SDK 6 and 7, as the key of the prompt cache does", () =>
    test(
      Effect.gen(function* () {
        const clients = (baseUrl: string) => [
          openAi(baseUrl, "gpt-5"),
          ...[openai3, openai4].map((make) =>
            AiSdkModel.make(make({ baseURL: baseUrl, apiKey: "key" })("gpt-5") as never)
          )
        ]
        const sent = yield* bodies(ProviderBodies.responses, clients, {
          ...ask,
          settings: { reasoning: { effort: "none", summary: true }, promptCache: { key: "clerk", ttl: "24h" } }
        })
        for (const { prompt_cache_key, prompt_cache_retention, reasoning } of sent)
          assert.deepStrictEqual(
            [reasoning, prompt_cache_key, prompt_cache_retention],
            [{ effort: "minimal", summary: "auto" }, "clerk", "24h"]
          )
      })
    )
  )

  const thinking = ({ max_tokens, output_config, temperature, thinking, tool_choice, top_p }: Body) => ({
    max_tokens,
    output_config,
    sampling: [temperature, top_p],
    thinking,
    choice: tool_choice?.type
  })
  const sampling = { temperature: 0.5, maxTokens: 10_000 }
  const claudeCases: ReadonlyArray<readonly [string, string, LlmClient.LlmRequest, object]> = [
    [
      "a budget before adaptive thinking",
      "claude-sonnet-4-5",
      { ...ask, settings: { ...sampling, reasoning: "low" } },
      { max_tokens: 10_000, thinking: { type: "enabled", budget_tokens: 2048 }, sampling: [undefined, undefined] }
    ],
    [
      "a budget that leaves room for an answer",
      "claude-haiku-4-5-20251001",
      { ...ask, settings: { maxTokens: 4000, reasoning: "max" } },
      { max_tokens: 4000, thinking: { type: "enabled", budget_tokens: 3000 } }
    ],
    [
      "nothing where the answer leaves no room",
      "claude-sonnet-4-5",
      { ...ask, settings: { maxTokens: 1200, reasoning: "high", temperature: 0.5 } },
      { max_tokens: 1200, thinking: undefined, sampling: [0.5, undefined] }
    ],
    [
      "adaptive thinking",
      "claude-opus-4-6",
      { ...ask, settings: { ...sampling, reasoning: "minimal" } },
      {
        max_tokens: 10_000,
        thinking: { type: "adaptive" },
        output_config: { effort: "low" },
        sampling: [undefined, undefined]
      }
    ],
    [
      "the levels of newer models, with the text of the reasoning",
      "claude-opus-4-8",
      { ...ask, settings: { maxTokens: 500, reasoning: { effort: "xhigh", summary: true } } },
      { max_tokens: 500, thinking: { type: "adaptive", display: "summarized" }, output_config: { effort: "xhigh" } }
    ],
    [
      "no thinking",
      "claude-sonnet-5",
      { ...ask, settings: { ...sampling, reasoning: "none" } },
      { max_tokens: 10_000, thinking: { type: "disabled" }, sampling: [undefined, undefined] }
    ],
    [
      "the least of a model that always thinks",
      "claude-fable-5",
      { ...ask, settings: { maxTokens: 500, reasoning: "none" } },
      { max_tokens: 500, thinking: undefined, output_config: { effort: "low" } }
    ],
    [
      "a given budget",
      "claude-opus-4-1-20250805",
      { ...ask, settings: { maxTokens: 9000, reasoning: { budgetTokens: 5000 } } },
      { max_tokens: 9000, thinking: { type: "enabled", budget_tokens: 5000 } }
    ],
    [
      "no thinking while a tool is forced",
      "claude-sonnet-4-5",
      {
        ...ask,
        tools: [weather],
        toolChoice: { tool: "get_weather" },
        settings: { maxTokens: 9000, reasoning: { budgetTokens: 5000 } }
      },
      { max_tokens: 9000, thinking: undefined, choice: "tool" }
    ]
  ]
  it.scopedLive.each(claudeCases)(
    "is at Anthropic, with the packages of AI SDK 6 and 7: %s",
    ([, model, request, expected]) =>
      test(
        Effect.gen(function* () {
          const sent = yield* bodies(ProviderBodies.claude, (url) => claude(url, model), request)
          const [own, six, seven] = sent.map(thinking)
          assert.deepInclude(own, expected)
          assert.deepStrictEqual(six, own)
          assert.deepStrictEqual(seven, own)
        })
      )
  )

  it.scopedLive("makes the default bound of an answer longer at Anthropic, up to what the model can", () =>
    test(
      Effect.gen(function* () {
        const of = (model: string, reasoning: ModelSettings.Reasoning) =>
          bodies(ProviderBodies.claude, (url) => claude(url, model).slice(0, 1), { ...ask, settings: { reasoning } })
        for (const [model, reasoning, budget, max] of [
          ["claude-sonnet-4-5", "high", 24_576, 32_768],
          ["claude-opus-4-1", "max", 23_808, 32_000],
          ["claude-sonnet-4-5", { budgetTokens: 50_000 }, 50_000, 58_192]
        ] as const) {
          const [body] = yield* of(model, reasoning)
          assert.deepStrictEqual([body?.thinking.budget_tokens, body?.max_tokens], [budget, max])
        }
      })
    )
  )

  it.scopedLive.each([
    ["gemini-2.5-flash", "none", { thinkingBudget: 0 }],
    ["gemini-2.5-pro", "none", { thinkingBudget: 128 }],
    ["gemini-2.5-pro", "max", { thinkingBudget: 32_768 }],
    ["gemini-2.5-flash", { budgetTokens: 30_000, summary: true }, { thinkingBudget: 24_576, includeThoughts: true }],
    ["gemini-3-pro-preview", "minimal", { thinkingLevel: "low" }],
    ["gemini-3-flash-preview", "minimal", { thinkingLevel: "minimal" }],
    ["gemini-3-pro-preview", { effort: "max", summary: true }, { thinkingLevel: "high", includeThoughts: true }],
    ["gemini-3-pro-preview", { budgetTokens: 1000 }, { thinkingBudget: 1000 }],
    ["gemini-2.0-flash", "high", undefined]
  ] as const)("is a budget before Gemini 3 and a level since: %s, %j", ([model, reasoning, expected]) =>
    test(
      Effect.gen(function* () {
        const clients = (baseUrl: string) =>
          [google3, google4].map((make) => AiSdkModel.make(make({ baseURL: baseUrl, apiKey: "key" })(model) as never))
        const sent = yield* bodies(ProviderBodies.gemini, clients, { ...ask, settings: { reasoning } })
        for (const body of sent) assert.deepStrictEqual(body.generationConfig?.thinkingConfig, expected)
      })
    )
  )

  it.scopedLive("reaches other packages of the AI SDK as `reasoning_effort`", () =>
    test(
      Effect.gen(function* () {
        const clients = (baseUrl: string) => [
          ChatCompletions.make({ baseUrl, model: "m" }),
          ...[compatible3, compatible4].map((make) =>
            AiSdkModel.make(make({ baseURL: baseUrl, name: "server" })("m") as never)
          )
        ]
        const sent = yield* bodies(ProviderBodies.chat, clients, { ...ask, settings: { reasoning: "medium" } })
        assert.deepStrictEqual(
          sent.map((body) => body.reasoning_effort),
          ["medium", "medium", "medium"]
        )
      })
    )
  )

  it.scopedLive("and a budget have the fields of each server of chat completions", () =>
    test(
      Effect.gen(function* () {
        const of = (dialect: Partial<ChatCompletionsDialect.Dialect>, reasoning: ModelSettings.Reasoning) =>
          Effect.map(
            bodies(ProviderBodies.chat, (baseUrl) => [ChatCompletions.make({ baseUrl, model: "m", dialect })], {
              ...ask,
              settings: { reasoning }
            }),
            ([{ messages, model, ...rest } = {}]) => rest
          )
        const { gemini, groq, mistral, openrouter } = ChatCompletionsDialect
        const budget = { budgetTokens: 3000 }
        assert.deepStrictEqual(yield* of(openrouter.dialect, budget), { reasoning: { max_tokens: 3000 } })
        assert.deepStrictEqual(yield* of(openrouter.dialect, { effort: "xhigh", summary: false }), {
          reasoning: { effort: "xhigh", exclude: true }
        })
        assert.deepStrictEqual(yield* of(gemini.dialect, { ...budget, summary: true }), {
          extra_body: { google: { thinking_config: { thinking_budget: 3000, include_thoughts: true } } }
        })
        assert.deepStrictEqual(yield* of({ reasoningBudget: { field: "thinking_budget" } }, budget), {
          thinking_budget: 3000
        })
        assert.deepStrictEqual(yield* of(groq.dialect, "minimal"), { reasoning_effort: "low" })
        assert.deepStrictEqual(yield* of({ reasoningLevels: ["low"] }, "max"), { reasoning_effort: "low" })
        assert.deepStrictEqual(yield* of(mistral.dialect, "high"), {})
      })
    )
  )
})

describe("a budget of reasoning", () => {
  const budget = (budgetTokens: number): ModelSettings.ModelSettings => ({ reasoning: { budgetTokens } })
  const clients: ReadonlyArray<readonly [string, (baseUrl: string) => Made, ModelSettings.ModelSettings]> = [
    ["OpenAI's Responses", (url) => openAi(url, "gpt-5"), budget(2000)],
    ["chat completions", (baseUrl) => ChatCompletions.make({ baseUrl, model: "m" }), budget(2000)],
    ["newer models of Anthropic", (url) => claude(url, "claude-opus-4-8")[0] as Made, budget(2000)],
    ["Anthropic, below its least", (url) => claude(url, "claude-sonnet-4-5")[0] as Made, budget(1023)],
    ["Anthropic's package", (url) => claude(url, "claude-fable-5")[2] as Made, budget(2000)],
    [
      "Gemini below the least of a model",
      (url) => AiSdkModel.make(google4({ baseURL: url, apiKey: "key" })("gemini-2.5-pro") as never),
      budget(100)
    ],
    [
      "other packages of the AI SDK",
      (url) => AiSdkModel.make(compatible4({ baseURL: url, name: "server" })("m") as never),
      budget(2000)
    ]
  ]
  it.scopedLive.each(clients)("fails before the call: %s", ([, make, settings]) =>
    test(
      Effect.map(refusal(make, settings), (found) => assert.deepStrictEqual(found, ["LlmUnsupportedFeatureError", 0]))
    )
  )

  it.scopedLive("goes to the next client of a chain that can keep it", () =>
    test(
      Effect.gen(function* () {
        const server = yield* ChatServer.make
        yield* server.script(ChatServer.json(ProviderBodies.claude))
        const able = yield* Anthropic.make({
          apiKey: Redacted.make("key"),
          model: "claude-sonnet-4-5",
          baseUrl: server.baseUrl
        })
        const unable = yield* OpenAi.make({ apiKey: Redacted.make("key"), model: "gpt-5", baseUrl: server.baseUrl })
        yield* ModelFallback.make([unable, able]).complete({ ...ask, settings: budget(2000) })
        assert.deepStrictEqual(
          server.requests.map(({ body }) => body.thinking),
          [{ type: "enabled", budget_tokens: 2000 }]
        )
      })
    )
  )

  it("is checked with the settings: a positive whole number", () => {
    const isValid = Schema.is(ModelSettings.ModelSettings)
    assert.isTrue(isValid({ reasoning: { budgetTokens: 1 } }))
    for (const reasoning of [{ budgetTokens: 0 }, { budgetTokens: 1.5 }, "huge", {}, { summary: true }])
      assert.isFalse(isValid({ reasoning } as never), JSON.stringify(reasoning))
  })
})
