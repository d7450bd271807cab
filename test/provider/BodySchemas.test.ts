/**
 * The bodies that clients send, checked by the schemas that are generated from the published interfaces of OpenAI and
 * Anthropic, and at Gemini beside what its packages send for the same messages in their own words.
 */
import { createAnthropic as anthropic4 } from "@ai-sdk/anthropic"
import { createGoogleGenerativeAI as google4 } from "@ai-sdk/google"
import { createGoogleGenerativeAI as google3 } from "@ai-sdk/google-v3"
import { createOpenAI as openai4 } from "@ai-sdk/openai"
import { createOpenAI as openai3 } from "@ai-sdk/openai-v3"
import * as AnthropicSchemas from "@effect/ai-anthropic/Generated"
import * as OpenAiSchemas from "@effect/ai-openai/Generated"
import * as FetchHttpClient from "@effect/platform/FetchHttpClient"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Encoding from "effect/Encoding"
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import * as Content from "../../src/content/Content.js"
import * as ToolFiles from "../../src/content/ToolFiles.js"
import type * as LlmClient from "../../src/llm/model/LlmClient.js"
import * as Anthropic from "../../src/provider/format/Anthropic.js"
import * as ChatCompletions from "../../src/provider/format/ChatCompletions.js"
import * as ChatCompletionsDialect from "../../src/provider/format/ChatCompletionsDialect.js"
import * as OpenAi from "../../src/provider/format/OpenAi.js"
import * as AiSdkModel from "../../src/provider/sdk/AiSdkModel.js"
import * as ToolResultFiles from "../../src/tool/ToolResultFiles.js"
import * as ChatServer from "../support/ChatServer.js"
import * as ProviderBodies from "../support/ProviderBodies.js"

const bytesOf = (text: string): Uint8Array => Uint8Array.from(text, (char) => char.charCodeAt(0))
const png = bytesOf("\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01")
const pdf = bytesOf("%PDF-1.7\n1 0 obj\n")
const wav = bytesOf("RIFF\x24\0\0\0WAVEfmt \x10\0\0\0")

const parameters = {
  type: "object",
  properties: { city: { type: "string" } },
  required: ["city"],
  additionalProperties: false
}

/** A conversation with files, a call and a result with files, which goes on with tools and an output. */
const conversation = Effect.gen(function* () {
  const image = yield* Content.image(png)
  const stored = yield* ToolResultFiles.make([image])
  const file = (data: Uint8Array, mediaType: string, fileName?: string) =>
    ({ type: "file", mediaType, data, ...(fileName === undefined ? {} : { fileName }) }) as const
  const request: LlmClient.LlmRequest = {
    messages: [
      { role: "system", content: "You describe files." },
      {
        role: "user",
        content: [
          { type: "text", text: "What is it?" },
          file(png, "image/png"),
          file(pdf, "application/pdf", "report.pdf")
        ]
      },
      {
        role: "assistant",
        content: [
          { type: "text", text: "Let me look." },
          { type: "tool-call", id: "call_1", name: "look", params: { city: "Ghent" }, providerExecuted: false }
        ]
      },
      {
        role: "tool",
        content: [
          {
            type: "tool-result",
            id: "call_1",
            name: "look",
            isFailure: false,
            result: { seen: true },
            providerExecuted: false,
            ...ToolFiles.optionsOf(stored)
          }
        ]
      }
    ],
    tools: [{ name: "look", description: "Looks", parameters }],
    toolChoice: "auto",
    responseFormat: { type: "json", name: "answer", schema: parameters },
    settings: { maxTokens: 9000, parallelToolCalls: false, reasoning: "low" }
  }
  return request
})

const signatures = ["\x89PNG", "%PDF", "RIFF"]

/** Every piece of Base64 in a body decodes to the bytes of a file. */
const checkBase64 = (body: unknown): number => {
  let found = 0
  JSON.stringify(body, (key, value) => {
    const isData = key === "data" || key === "file_data" || key === "image_url" || key === "url"
    if (!isData || typeof value !== "string" || /^https?:/.test(value)) return value
    found++
    const base64 = value.replace(/^data:[a-z]+\/[a-z]+;base64,/, "")
    const bytes = Encoding.decodeBase64(base64).pipe((decoded) => {
      if (decoded._tag === "Left") throw decoded.left
      return decoded.right
    })
    const begin = String.fromCharCode(...bytes.slice(0, 4))
    assert.include(signatures, begin)
    return value
  })
  return found
}

const test = (program: Effect.Effect<void, unknown, any>) =>
  Effect.provide(program, FetchHttpClient.layer) as Effect.Effect<void, unknown, never>

type Make = (baseUrl: string) => Effect.Effect<LlmClient.Service, unknown, any>

const apiKey = Redacted.make("key")
const cases: ReadonlyArray<readonly [string, Make, object, Schema.Schema<any, any>]> = [
  [
    "OpenAI's Responses",
    (baseUrl) => OpenAi.make({ apiKey, model: "gpt-5", baseUrl }),
    ProviderBodies.responses,
    OpenAiSchemas.CreateResponse
  ],
  ...[openai3, openai4].map(
    (make, index) =>
      [
        `OpenAI's Responses through AI SDK ${6 + index}`,
        (baseUrl: string) => AiSdkModel.make(make({ baseURL: baseUrl, apiKey: "key" })("gpt-5") as never),
        ProviderBodies.responses,
        OpenAiSchemas.CreateResponse
      ] as const
  ),
  [
    "chat completions",
    (baseUrl) => ChatCompletions.make({ ...ChatCompletionsDialect.openai, model: "gpt-5", baseUrl }),
    ProviderBodies.chat,
    OpenAiSchemas.CreateChatCompletionRequest
  ],
  [
    "Anthropic",
    (baseUrl) => Anthropic.make({ apiKey, model: "claude-sonnet-4-5", baseUrl }),
    ProviderBodies.claude,
    AnthropicSchemas.BetaCreateMessageParams
  ],
  [
    "Anthropic through AI SDK 7",
    (baseURL) => AiSdkModel.make(anthropic4({ baseURL, apiKey: "key" })("claude-sonnet-4-5") as never),
    ProviderBodies.claude,
    AnthropicSchemas.BetaCreateMessageParams
  ]
]

describe("a body with files, calls, results and an output", () => {
  it.scopedLive.each(cases)("fits the published interface: %s", ([, make, answer, schema]) =>
    test(
      Effect.gen(function* () {
        const server = yield* ChatServer.make
        const client = yield* make(server.baseUrl)
        yield* server.script(ChatServer.json(answer))
        yield* client.complete(yield* conversation)
        const body = server.requests[0]?.body
        // The interface of OpenAI requires a field of tools that it does not require of requests.
        const tools = body.tools.map((tool: object) =>
          schema === OpenAiSchemas.CreateResponse ? { strict: null, ...tool } : tool
        )
        yield* Schema.decodeUnknown(schema)({ ...body, tools })
        assert.strictEqual(checkBase64(body), 3)
      })
    )
  )
})

describe("the body of Gemini", () => {
  const call = { type: "tool-call", toolCallId: "call_1", toolName: "look", input: { city: "Ghent" } } as const
  const signed = { google: { thoughtSignature: "U0lHTkVE" } }

  /** The conversation in the words of the AI SDK. */
  const prompt = (version: 3 | 4) => {
    const data = (bytes: Uint8Array) => (version === 3 ? bytes : { type: "data", data: bytes })
    const file = (bytes: Uint8Array, mediaType: string) => ({ type: "file", mediaType, data: data(bytes) })
    const image = { data: Encoding.encodeBase64(png), mediaType: "image/png" }
    return [
      { role: "system", content: "You describe files." },
      {
        role: "user",
        content: [
          { type: "text", text: "What is it?" },
          file(png, "image/png"),
          file(pdf, "application/pdf"),
          file(wav, "audio/wav")
        ]
      },
      {
        role: "assistant",
        content: [
          { type: "text", text: "Let me look." },
          { ...call, providerOptions: signed }
        ]
      },
      {
        role: "tool",
        content: [
          {
            type: "tool-result",
            toolCallId: "call_1",
            toolName: "look",
            output: {
              type: "content",
              value: [
                { type: "text", text: '{"seen":true}' },
                version === 3
                  ? { type: "image-data", ...image }
                  : { type: "file", mediaType: image.mediaType, data: { type: "data", data: image.data } }
              ]
            }
          }
        ]
      }
    ]
  }

  /** The same conversation in ours. */
  const request = Effect.map(conversation, (given): LlmClient.LlmRequest => {
    const [system, user, assistant, ...rest] = given.messages as ReadonlyArray<any>
    return {
      ...given,
      messages: [
        system,
        { ...user, content: [...user.content, { type: "file", mediaType: "audio/wav", data: wav }] },
        { ...assistant, content: [assistant.content[0], { ...assistant.content[1], options: signed }] },
        ...rest
      ],
      settings: { maxTokens: 9000, temperature: 0.5, reasoning: "low" }
    }
  })

  const cases = [google3, google4].flatMap((make, index) =>
    ["gemini-2.5-flash", "gemini-3-pro-preview"].map((model) => [model, 6 + index, make] as const)
  )
  it.scopedLive.each(cases)("is what its package sends for the same messages: %s, AI SDK %d", ([model, line, make]) =>
    test(
      Effect.gen(function* () {
        const server = yield* ChatServer.make
        yield* server.script(ChatServer.json(ProviderBodies.gemini), ChatServer.json(ProviderBodies.gemini))
        const provided: any = make({ baseURL: server.baseUrl, apiKey: "key" })(model)
        const client = yield* AiSdkModel.make(provided)
        yield* client.complete(yield* request)
        yield* Effect.promise(() =>
          provided.doGenerate({
            prompt: prompt(line === 6 ? 3 : 4),
            tools: [{ type: "function", name: "look", description: "Looks", inputSchema: parameters }],
            toolChoice: { type: "auto" },
            responseFormat: { type: "json", name: "answer", schema: parameters },
            maxOutputTokens: 9000,
            temperature: 0.5,
            providerOptions: {
              google: {
                thinkingConfig: model.startsWith("gemini-3") ? { thinkingLevel: "low" } : { thinkingBudget: 2048 }
              }
            }
          })
        )
        const [own, theirs] = server.requests
        assert.deepStrictEqual(own?.body, theirs?.body)
        assert.strictEqual(own?.url, theirs?.url)
        assert.strictEqual(checkBase64(own?.body), 4)
        assert.include(own?.text, '"thoughtSignature":"U0lHTkVE"')
      })
    )
  )
})
