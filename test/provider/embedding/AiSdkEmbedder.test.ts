import { createGoogleGenerativeAI as google4 } from "@ai-sdk/google"
import { createGoogleGenerativeAI as google3 } from "@ai-sdk/google-v3"
import { createOpenAICompatible as compatible4 } from "@ai-sdk/openai-compatible"
import { createOpenAICompatible as compatible3 } from "@ai-sdk/openai-compatible-v3"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Redacted from "effect/Redacted"
import * as AiSdkEmbedder from "../../../src/provider/embedding/AiSdkEmbedder.js"
import * as ChatServer from "../../support/ChatServer.js"

const secret = "sk-THE_KEY_itself_0123456789abcdef"

type Make = (baseURL: string) => AiSdkEmbedder.Model

const openAi = (rows: ReadonlyArray<ReadonlyArray<number>>) =>
  ChatServer.json({ data: rows.map((embedding, index) => ({ index, embedding })), usage: { prompt_tokens: 3 } })
const gemini = (rows: ReadonlyArray<ReadonlyArray<number>>) =>
  ChatServer.json({ embeddings: rows.map((values) => ({ values })) })

const packages: ReadonlyArray<readonly [name: string, make: Make, answer: typeof openAi]> = [
  [
    "openai-compatible of AI SDK 6",
    (baseURL) => compatible3({ name: "local", baseURL, apiKey: secret }).embeddingModel("m"),
    openAi
  ],
  [
    "openai-compatible of AI SDK 7",
    (baseURL) => compatible4({ name: "local", baseURL, apiKey: secret }).embeddingModel("m"),
    openAi
  ],
  ["google of AI SDK 6", (baseURL) => google3({ baseURL, apiKey: secret }).embeddingModel("m"), gemini],
  ["google of AI SDK 7", (baseURL) => google4({ baseURL, apiKey: secret }).embeddingModel("m"), gemini]
]

describe.each(packages)("AiSdkEmbedder over %s", (_, make, answer) => {
  const start = Effect.gen(function* () {
    const server = yield* ChatServer.make
    const redact = [Redacted.make(secret)]
    return { server, embedder: yield* AiSdkEmbedder.make(make(server.baseUrl), { dimensions: 2, redact }) }
  })

  it.scoped("embeds texts in order, normalized", () =>
    Effect.gen(function* () {
      const { embedder, server } = yield* start
      yield* server.script(
        answer([
          [3, 4],
          [0, 2]
        ])
      )
      const rows = yield* embedder.embedMany(["a", "b"])
      assert.deepStrictEqual(
        rows.map((row) => [...row].map((value) => Math.round(value * 10) / 10)),
        [
          [0.6, 0.8],
          [0, 1]
        ]
      )
      assert.strictEqual(embedder.model, "m")
    })
  )

  it.scoped("is a typed error for missing vectors, another length and a failure, without the key", () =>
    Effect.gen(function* () {
      const { embedder, server } = yield* start
      const refused = ChatServer.json({ error: { message: `no ${secret}` } }, { status: 429 })
      yield* server.script(answer([[1, 0]]), answer([[1, 0, 0]]), refused)
      const short = yield* Effect.flip(embedder.embedMany(["a", "b"]))
      assert.strictEqual(short._tag, "EmbeddingError")
      assert.isFalse(short.isRetryable)
      assert.strictEqual((yield* Effect.flip(embedder.embedMany(["a"])))._tag, "EmbeddingError")
      const limited = yield* Effect.flip(embedder.embedMany(["a"]))
      assert.isTrue(limited.isRetryable)
      assert.notInclude(JSON.stringify(limited), secret)
    })
  )

  it.scoped("cancels the request when it is interrupted", () =>
    Effect.gen(function* () {
      const { embedder, server } = yield* start
      yield* server.script(ChatServer.silence)
      const fiber = yield* Effect.fork(embedder.embed("a"))
      yield* server.received(1)
      yield* Fiber.interrupt(fiber)
      yield* server.left(1)
    })
  )
})

const model = (more: Partial<AiSdkEmbedder.Model>): AiSdkEmbedder.Model => ({
  specificationVersion: "v4",
  provider: "local.embedding",
  modelId: "m",
  maxEmbeddingsPerCall: undefined,
  doEmbed: () => Promise.resolve({ embeddings: [[1, 0]] }),
  ...more
})

describe("AiSdkEmbedder", () => {
  it.effect("asks for as many texts at once as the model takes, or the options say, with their options", () =>
    Effect.gen(function* () {
      const asked: Array<any> = []
      const doEmbed = (options: any) => {
        asked.push(options)
        return Promise.resolve({ embeddings: options.values.map(() => [1, 0]) })
      }
      const given = model({ maxEmbeddingsPerCall: Promise.resolve(2), doEmbed })
      const providerOptions = { local: { dimensions: 2 } }
      const embed = (options: Partial<AiSdkEmbedder.Options>) =>
        Effect.flatMap(AiSdkEmbedder.make(given, { dimensions: 2, ...options }), ({ embedMany }) =>
          embedMany(["a", "b", "c"])
        )
      yield* embed({ providerOptions })
      yield* embed({ maxBatchSize: 3 })
      assert.deepStrictEqual(
        asked.map(({ providerOptions, values }) => [values, providerOptions]),
        [
          [["a", "b"], providerOptions],
          [["c"], providerOptions],
          [["a", "b", "c"], undefined]
        ]
      )
    })
  )

  it.effect("refuses models of other versions, and survives answers of another shape", () =>
    Effect.gen(function* () {
      const refused = yield* Effect.flip(AiSdkEmbedder.make(model({ specificationVersion: "v2" }), { dimensions: 2 }))
      assert.include(refused.message, "v2")
      for (const answer of [undefined, null, {}, { embeddings: "x" }, { embeddings: [null] }]) {
        const embedder = yield* AiSdkEmbedder.make(model({ doEmbed: () => Promise.resolve(answer) }), { dimensions: 2 })
        assert.strictEqual((yield* Effect.flip(embedder.embed("a")))._tag, "EmbeddingError")
      }
    })
  )
})
