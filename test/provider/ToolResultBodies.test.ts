/** What providers are sent for the files of tool results, beside what the packages of the AI SDK send. */
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
import * as Content from "../../src/content/Content.js"
import * as ToolFiles from "../../src/content/ToolFiles.js"
import type * as LlmClient from "../../src/llm/model/LlmClient.js"
import * as Anthropic from "../../src/provider/format/Anthropic.js"
import * as ChatCompletions from "../../src/provider/format/ChatCompletions.js"
import * as OpenAi from "../../src/provider/format/OpenAi.js"
import * as AiSdkModel from "../../src/provider/sdk/AiSdkModel.js"
import * as ToolResultFiles from "../../src/tool/ToolResultFiles.js"
import * as ChatServer from "../support/ChatServer.js"
import * as ProviderBodies from "../support/ProviderBodies.js"

const bytesOf = (text: string): Uint8Array => Uint8Array.from(text, (char) => char.charCodeAt(0))
const image = Content.image(bytesOf("\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01"))
const pdf = Content.file(bytesOf("%PDF-1.7\n1 0 obj\n"), { fileName: "report.pdf" })
const page = Content.image("https://example.com/cat.png")
const notes = Content.file(bytesOf("some notes"))
const audio = Content.audio(bytesOf("RIFF\x24\0\0\0WAVEfmt \x10\0\0\0"))

const pngBase64 = "iVBORw0KGgoAAAANSUhEUgAAAAE="
const pdfBase64 = "JVBERi0xLjcKMSAwIG9iago="

/** A conversation in which two tools answered, the second one with files. */
const request = (files: ReadonlyArray<Effect.Effect<Content.ResolvedFile, unknown>>) =>
  Effect.map(
    Effect.flatMap(Effect.all(files), ToolResultFiles.make),
    (stored): LlmClient.LlmRequest => ({
      messages: [
        { role: "user", content: "Draw" },
        {
          role: "assistant",
          content: ["a", "b"].map((id) => ({
            type: "tool-call",
            id,
            name: "draw",
            params: {},
            providerExecuted: false
          }))
        },
        {
          role: "tool",
          content: [
            { type: "tool-result", id: "a", name: "draw", isFailure: false, result: "done", providerExecuted: false },
            {
              type: "tool-result",
              id: "b",
              name: "draw",
              isFailure: false,
              result: { sum: 3 },
              providerExecuted: false,
              ...ToolFiles.optionsOf(stored)
            }
          ]
        }
      ],
      settings: { promptCache: false }
    })
  )

const answers = ProviderBodies

type Made = Effect.Effect<LlmClient.Service, unknown, any>

/** The bodies that these clients send for the same request. */
const sent = Effect.fnUntraced(function* (
  answer: keyof typeof answers,
  clients: (baseUrl: string) => ReadonlyArray<Made>,
  files: ReadonlyArray<Effect.Effect<Content.ResolvedFile, unknown>>
) {
  const server = yield* ChatServer.make
  const made = yield* Effect.all(clients(server.baseUrl))
  yield* server.script(...made.map(() => ChatServer.json(answers[answer])))
  const asked = yield* request(files)
  const bodies: Array<Record<string, ReadonlyArray<any>>> = []
  for (const client of made) {
    yield* client.complete(asked)
    bodies.push(server.requests.at(-1)?.body as never)
  }
  return bodies
})

const test = (program: Effect.Effect<void, unknown, any>) =>
  Effect.provide(program, FetchHttpClient.layer) as Effect.Effect<void, unknown, never>

describe("the files of a tool result", () => {
  const claude = (baseUrl: string): ReadonlyArray<Made> => [
    Anthropic.make({ apiKey: Redacted.make("key"), model: "m", baseUrl }),
    ...[anthropic3, anthropic4].map((make) => AiSdkModel.make(make({ baseURL: baseUrl, apiKey: "key" })("m") as never))
  ]

  it.scopedLive("are parts of the result at Anthropic, as its packages send them", () =>
    test(
      Effect.gen(function* () {
        const [own, six, seven] = yield* sent("claude", claude, [image, pdf, page, notes])
        const last = own?.messages?.at(-1)
        assert.deepStrictEqual(last.content[1].content, [
          { type: "text", text: '{"sum":3}' },
          { type: "image", source: { type: "base64", media_type: "image/png", data: pngBase64 } },
          { type: "document", source: { type: "base64", media_type: "application/pdf", data: pdfBase64 } },
          { type: "image", source: { type: "url", url: "https://example.com/cat.png" } },
          { type: "text", text: "some notes" }
        ])
        assert.strictEqual(last.content[0].content, "done")
        const results = (body: typeof own) => body?.messages?.at(-1).content.map(({ content }: any) => content)
        assert.deepStrictEqual(results(six), results(own))
        assert.deepStrictEqual(results(seven), results(own))
      })
    )
  )

  it.scopedLive("stay names where the provider has no form for them", () =>
    test(
      Effect.gen(function* () {
        const [own] = yield* sent("claude", claude, [audio])
        assert.deepStrictEqual(own?.messages?.at(-1).content[1].content, '{"sum":3}')
      })
    )
  )

  it.scopedLive("are parts of the output at OpenAI's Responses, as its packages send them", () =>
    test(
      Effect.gen(function* () {
        const clients = (baseUrl: string): ReadonlyArray<Made> => [
          OpenAi.make({ apiKey: Redacted.make("key"), model: "gpt-5", baseUrl }),
          ...[openai3, openai4].map((make) =>
            AiSdkModel.make(make({ baseURL: baseUrl, apiKey: "key" })("gpt-5") as never)
          )
        ]
        for (const body of yield* sent("responses", clients, [image, pdf, page, notes, audio])) {
          const outputs = body.input?.filter(({ type }) => type === "function_call_output").map(({ output }) => output)
          assert.deepStrictEqual(outputs, [
            "done",
            [
              { type: "input_text", text: '{"sum":3}' },
              { type: "input_image", image_url: `data:image/png;base64,${pngBase64}` },
              { type: "input_file", filename: "report.pdf", file_data: `data:application/pdf;base64,${pdfBase64}` },
              { type: "input_image", image_url: "https://example.com/cat.png" },
              { type: "input_text", text: "some notes" }
            ]
          ])
        }
      })
    )
  )

  it.scopedLive("follow the results in a message of the user in OpenAI's chat completions", () =>
    test(
      Effect.gen(function* () {
        const clients = (baseUrl: string): ReadonlyArray<Made> =>
          [openai3, openai4].map((make) =>
            AiSdkModel.make(make({ baseURL: baseUrl, apiKey: "key" }).chat("gpt-4.1") as never)
          )
        for (const { messages = [] } of yield* sent("chat", clients, [image])) {
          assert.strictEqual(messages.at(-2).content, '{"sum":3}')
          assert.deepStrictEqual(messages.at(-1).content[1].image_url.url, `data:image/png;base64,${pngBase64}`)
        }
      })
    )
  )

  it.scopedLive("follow the results in a message of the user in chat completions", () =>
    test(
      Effect.gen(function* () {
        const clients = (baseUrl: string): ReadonlyArray<Made> => [
          ChatCompletions.make({ baseUrl, model: "m" }),
          ...[compatible3, compatible4].map((make) =>
            AiSdkModel.make(make({ baseURL: baseUrl, name: "server" })("m") as never)
          )
        ]
        const [own, six, seven] = yield* sent("chat", clients, [image, pdf, notes])
        assert.deepStrictEqual(own?.messages?.slice(2), [
          { role: "tool", tool_call_id: "a", content: "done" },
          { role: "tool", tool_call_id: "b", content: '{"sum":3}' },
          {
            role: "user",
            content: [
              { type: "text", text: "The files that draw (b) returned:" },
              { type: "image_url", image_url: { url: `data:image/png;base64,${pngBase64}` } },
              { type: "file", file: { filename: "report.pdf", file_data: `data:application/pdf;base64,${pdfBase64}` } },
              { type: "text", text: "some notes" }
            ]
          }
        ])
        assert.deepStrictEqual(six?.messages?.slice(2), own?.messages?.slice(2))
        assert.deepStrictEqual(seven?.messages?.slice(2), own?.messages?.slice(2))
      })
    )
  )

  it.scopedLive.each(["gemini-2.5-flash", "gemini-3-pro-preview"])(
    "are sent by Gemini's packages, never as text: %s",
    (model) =>
      test(
        Effect.gen(function* () {
          const clients = (baseUrl: string): ReadonlyArray<Made> =>
            [google3, google4].map((make) => AiSdkModel.make(make({ baseURL: baseUrl, apiKey: "key" })(model) as never))
          for (const body of yield* sent("gemini", clients, [image, page])) {
            const text = JSON.stringify(body.contents?.at(-1))
            assert.include(text, `{"inlineData":{"mimeType":"image/png","data":"${pngBase64}"}}`)
            assert.notInclude(text, "example.com")
          }
        })
      )
  )
})
