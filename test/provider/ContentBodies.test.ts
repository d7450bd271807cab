/**
 * What providers are sent for text, images, PDFs and audio, beside what the packages of the AI SDK send for the same
 * messages.
 */
import { createAnthropic as anthropic4 } from "@ai-sdk/anthropic"
import { createAnthropic as anthropic3 } from "@ai-sdk/anthropic-v3"
import { createOpenAI as openai4 } from "@ai-sdk/openai"
import { createOpenAICompatible as compatible4 } from "@ai-sdk/openai-compatible"
import { createOpenAICompatible as compatible3 } from "@ai-sdk/openai-compatible-v3"
import { createOpenAI as openai3 } from "@ai-sdk/openai-v3"
import * as FetchHttpClient from "@effect/platform/FetchHttpClient"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import * as Content from "../../src/content/Content.js"
import type * as LlmClient from "../../src/llm/model/LlmClient.js"
import * as Anthropic from "../../src/provider/format/Anthropic.js"
import * as ChatCompletions from "../../src/provider/format/ChatCompletions.js"
import * as OpenAi from "../../src/provider/format/OpenAi.js"
import * as AiSdkModel from "../../src/provider/sdk/AiSdkModel.js"
import * as ChatServer from "../support/ChatServer.js"
import * as ProviderBodies from "../support/ProviderBodies.js"

const bytesOf = (text: string): Uint8Array => Uint8Array.from(text, (char) => char.charCodeAt(0))
const png = bytesOf("\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01")
const pdf = bytesOf("%PDF-1.7\n1 0 obj\n")
const wav = bytesOf("RIFF\x24\0\0\0WAVEfmt \x10\0\0\0")

const messageOf = (contents: ReadonlyArray<Content.Resolved>): LlmClient.LlmRequest => ({
  messages: [
    { role: "system", content: "You describe files." },
    {
      role: "user",
      content: contents.map((part) =>
        part.type === "text"
          ? { type: "text", text: part.text }
          : { type: "file", mediaType: part.mediaType, data: part.data, fileName: part.fileName }
      )
    }
  ]
})

const question = Content.text("What is it?")

/** The last message of a body as it is sent. */
const lastOf = (body: unknown): unknown => {
  const { input, messages } = body as { readonly [key: string]: ReadonlyArray<unknown> }
  return (messages ?? input)?.at(-1)
}

const chatAnswer = ChatServer.json(ProviderBodies.chat)
const claudeAnswer = ChatServer.json(ProviderBodies.claude)
const responsesAnswer = ChatServer.json(ProviderBodies.responses)

/** The last messages that these clients send for the same request. */
const sent = Effect.fnUntraced(function* (
  answer: ChatServer.Exchange,
  clients: (baseUrl: string) => ReadonlyArray<Effect.Effect<LlmClient.Service, unknown, any>>,
  file: Effect.Effect<Content.ResolvedFile, unknown>
) {
  const server = yield* ChatServer.make
  const made = yield* Effect.all(clients(server.baseUrl))
  yield* server.script(...made.map(() => answer))
  const request = messageOf([question, yield* file])
  const bodies: Array<unknown> = []
  for (const client of made) {
    yield* client.complete({ ...request, settings: { promptCache: false } })
    bodies.push(lastOf(server.requests.at(-1)?.body))
  }
  return bodies
})

const files = [
  ["an image by its bytes", Content.image(png)],
  ["a PDF by its bytes", Content.file(pdf, { fileName: "report.pdf" })]
] as const

describe("the message of chat completions", () => {
  const clients = (baseUrl: string) => [
    ChatCompletions.make({ baseUrl, model: "m" }),
    ...[compatible3, compatible4].map((make) =>
      AiSdkModel.make(make({ baseURL: baseUrl, name: "server" })("m") as never)
    )
  ]

  it.scopedLive.each([...files, ["audio", Content.audio(wav)] as const])(
    "is what the packages of AI SDK 6 and 7 send: %s",
    ([, file]) =>
      Effect.gen(function* () {
        const [own, six, seven] = yield* sent(chatAnswer, clients, file)
        assert.deepStrictEqual(six, own)
        assert.deepStrictEqual(seven, own)
      }).pipe(Effect.provide(FetchHttpClient.layer)) as Effect.Effect<void, unknown, any>
  )
})

describe("the message of Anthropic", () => {
  const clients = (baseUrl: string) => [
    Anthropic.make({ apiKey: Redacted.make("key"), model: "m", baseUrl }),
    ...[anthropic3, anthropic4].map((make) => AiSdkModel.make(make({ baseURL: baseUrl, apiKey: "key" })("m") as never))
  ]

  it.scopedLive.each(files)(
    "is what the packages of AI SDK 6 and 7 send: %s",
    ([, file]) =>
      Effect.gen(function* () {
        const [own, six, seven] = yield* sent(claudeAnswer, clients, file)
        assert.deepStrictEqual(six, own)
        assert.deepStrictEqual(seven, own)
      }).pipe(Effect.provide(FetchHttpClient.layer)) as Effect.Effect<void, unknown, any>
  )
})

describe("the input of OpenAI's Responses", () => {
  const clients = (baseUrl: string) => [
    OpenAi.make({ apiKey: Redacted.make("key"), model: "gpt-5", baseUrl }),
    ...[openai3, openai4].map((make) => AiSdkModel.make(make({ baseURL: baseUrl, apiKey: "key" })("gpt-5") as never))
  ]

  /** `auto` is what OpenAI takes where nothing is said. */
  const withoutAuto = (message: unknown): unknown =>
    JSON.parse(JSON.stringify(message), (key, value) => (key === "detail" && value === "auto" ? undefined : value))

  it.scopedLive.each([...files, ["an image by its URL", Content.image("https://example.com/cat.png")] as const])(
    "is what the packages of AI SDK 6 and 7 send: %s",
    ([, file]) =>
      Effect.gen(function* () {
        const [own, six, seven] = (yield* sent(responsesAnswer, clients, file)).map(withoutAuto)
        assert.deepStrictEqual(six, own)
        assert.deepStrictEqual(seven, own)
      }).pipe(Effect.provide(FetchHttpClient.layer)) as Effect.Effect<void, unknown, any>
  )
})
