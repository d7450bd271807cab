import * as FetchHttpClient from "@effect/platform/FetchHttpClient"
import { assert, describe, it } from "@effect/vitest"
import * as ConfigProvider from "effect/ConfigProvider"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import * as Embedder from "../../../src/llm/embedding/Embedder.js"
import * as HashingEmbedder from "../../../src/llm/embedding/HashingEmbedder.js"
import * as EmbeddingProviders from "../../../src/provider/embedding/EmbeddingProviders.js"
import * as ChatServer from "../../support/ChatServer.js"

const withEnv = (env: Record<string, string>) =>
  Effect.withConfigProvider(ConfigProvider.fromMap(new Map(Object.entries(env)), { pathDelim: "_" }))

const fromEnv = (env: Record<string, string>) =>
  Embedder.Embedder.pipe(
    Effect.provide(Layer.provide(EmbeddingProviders.layerConfig, FetchHttpClient.layer)),
    withEnv(env)
  )

const optionsOf = (env: Record<string, string>) =>
  Effect.map(EmbeddingProviders.fromConfig.pipe(withEnv(env)), Option.getOrThrow)

const fromOptions = (options: EmbeddingProviders.Options) =>
  EmbeddingProviders.make(options).pipe(Effect.provide(FetchHttpClient.layer))

const apiKey = Redacted.make("the-key-0123456789")

const answer = (length: number) =>
  ChatServer.json({ data: [{ index: 0, embedding: [1, ...new Array(length - 1).fill(0)] }] })

describe("make", () => {
  it.scopedLive("reaches every provider at its path, with its key and model", () =>
    Effect.gen(function* () {
      const server = yield* ChatServer.make
      const over = EmbeddingProviders.names.filter((name) => name !== "hashing")
      for (const [index, provider] of over.entries()) {
        yield* server.script(answer(3))
        const embedder = yield* fromOptions({
          provider: ` ${provider.toUpperCase()} `,
          model: "some-model",
          dimensions: 3,
          baseUrl: server.baseUrl,
          apiKey
        })
        assert.deepStrictEqual(yield* embedder.embed("a"), Float32Array.of(1, 0, 0))
        const { body, headers, url } = server.requests[index]!
        assert.strictEqual(url, "/v1/embeddings")
        assert.deepStrictEqual(body, { model: "some-model", input: ["a"] })
        const key = provider === "azure" ? headers["api-key"] : headers["authorization"]?.replace("Bearer ", "")
        assert.strictEqual(key, "the-key-0123456789")
      }
    })
  )

  it.effect("knows the vector lengths of well-known models", () =>
    Effect.gen(function* () {
      for (const [model, dimensions] of [
        ["text-embedding-3-small", 1536],
        ["openai/text-embedding-3-large", 3072],
        ["nomic-embed-text:v1.5", 768],
        ["BGE-M3", 1024]
      ] as const) {
        assert.strictEqual((yield* fromOptions({ provider: "ollama", model })).dimensions, dimensions)
      }
      const standard = yield* fromOptions({ provider: "openai", apiKey })
      assert.deepInclude(standard, { model: "text-embedding-3-small", dimensions: 1536 })
    })
  )

  it.scopedLive("requests another length from models that can shorten vectors, or on request", () =>
    Effect.gen(function* () {
      const server = yield* ChatServer.make
      const base = { provider: "openai", apiKey, baseUrl: server.baseUrl } as const
      const cases = [
        [{ ...base }, 1536, undefined],
        [{ ...base, dimensions: 8 }, 8, 8],
        [{ ...base, model: "unknown", dimensions: 8 }, 8, undefined],
        [{ ...base, model: "unknown", dimensions: 8, sendDimensions: true }, 8, 8]
      ] as const
      for (const [index, [options, length, sent]] of cases.entries()) {
        yield* server.script(answer(length))
        const embedder = yield* fromOptions(options)
        yield* embedder.embed("a")
        assert.strictEqual(server.requests[index]!.body.dimensions, sent)
      }
    })
  )

  it.effect("names the variable for a missing or invalid option", () =>
    Effect.gen(function* () {
      const cases: ReadonlyArray<readonly [EmbeddingProviders.Options, string, string]> = [
        [{ provider: "opnai" }, "unknown", "Did you mean openai?"],
        [{ provider: "anthropic" }, "has no embeddings", ""],
        [{ provider: "openai" }, "needs an API key", "OPENAI_API_KEY"],
        [{ provider: "openai", apiKey: Redacted.make(" ") }, "needs an API key", "OPENAI_API_KEY"],
        [{ provider: "ollama" }, "needs a model", "LEX_AI_LLM__EMBEDDING__MODEL"],
        [{ provider: "ollama", model: "mine" }, "is unknown", "LEX_AI_LLM__EMBEDDING__DIMENSIONS"],
        [{ provider: "ollama", model: "nomic-embed-text", dimensions: 5 }, "length 768, not 5", "768"],
        [{ provider: "openai-compatible", model: "m", dimensions: 5 }, "needs a base URL", "BASE_URL"],
        [{ provider: "azure", model: "m", dimensions: 5, apiKey }, "needs a base URL", "BASE_URL"]
      ]
      for (const [options, message, hint] of cases) {
        const error = yield* Effect.flip(fromOptions(options))
        assert.strictEqual(error._tag, "LlmConfigurationError")
        assert.include(error.message, message)
        assert.include(error.hint ?? "", hint)
      }
    })
  )
})

describe("layerConfig", () => {
  it.effect("builds the embedder that the environment names", () =>
    Effect.gen(function* () {
      const hashing = yield* fromEnv({
        LEX_AI_LLM__EMBEDDING__PROVIDER: "hashing",
        LEX_AI_LLM__EMBEDDING__DIMENSIONS: "64"
      })
      assert.strictEqual(hashing.model, "hashing-v1-64")
      const openai = yield* fromEnv({
        LEX_AI_LLM__EMBEDDING__PROVIDER: "OpenAI",
        LEX_AI_LLM__EMBEDDING__MODEL: "text-embedding-3-large",
        LEX_AI_LLM__EMBEDDING__DIMENSIONS: "256",
        OPENAI_API_KEY: "k-0123456789"
      })
      assert.deepInclude(openai, { model: "text-embedding-3-large", dimensions: 256 })
    })
  )

  it.effect(
    "prefers the embedder's own key and address, then those of the same provider's models, then the provider's",
    () =>
      Effect.gen(function* () {
        const key = (options: EmbeddingProviders.Options) =>
          options.apiKey === undefined ? undefined : Redacted.value(options.apiKey)
        const models = {
          LEX_AI_LLM__PROVIDER: "openai-chat",
          LEX_AI_LLM__API_KEY: "of-the-models",
          LEX_AI_LLM__BASE_URL: "http://models",
          OPENAI_API_KEY: "of-openai",
          AZURE_OPENAI_API_KEY: "of-azure"
        }
        const same = yield* optionsOf({ ...models, LEX_AI_LLM__EMBEDDING__PROVIDER: "openai" })
        assert.deepStrictEqual([key(same), same.baseUrl], ["of-the-models", "http://models"])
        const other = yield* optionsOf({ ...models, LEX_AI_LLM__EMBEDDING__PROVIDER: "azure" })
        assert.deepStrictEqual([key(other), other.baseUrl], ["of-azure", undefined])
        const without = yield* optionsOf({ ...models, LEX_AI_LLM__EMBEDDING__PROVIDER: "ollama" })
        assert.deepStrictEqual([key(without), without.baseUrl], [undefined, undefined])
        const own = yield* optionsOf({
          ...models,
          LEX_AI_LLM__EMBEDDING__PROVIDER: "openai",
          LEX_AI_LLM__EMBEDDING__API_KEY: "own",
          LEX_AI_LLM__EMBEDDING__BASE_URL: "http://own",
          LEX_AI_LLM__EMBEDDING__SEND_DIMENSIONS: "true"
        })
        assert.deepStrictEqual([key(own), own.baseUrl, own.sendDimensions], ["own", "http://own", true])
        const address = yield* optionsOf({ LEX_AI_LLM__EMBEDDING__BASE_URL: "http://own" })
        assert.strictEqual(address.provider, "openai-compatible")
      })
  )

  it.effect("fails without a named provider, or for an invalid length", () =>
    Effect.gen(function* () {
      const none = yield* Effect.flip(fromEnv({ LEX_AI_LLM__PROVIDER: "openai", OPENAI_API_KEY: "k-0123456789" }))
      assert.include(String(none), "No embedding provider is configured")
      for (const DIMENSIONS of ["0", "-1", "many", "1.5"]) {
        const wrong = yield* Effect.flip(
          fromEnv({
            LEX_AI_LLM__EMBEDDING__PROVIDER: "hashing",
            LEX_AI_LLM__EMBEDDING__DIMENSIONS: DIMENSIONS
          })
        )
        assert.include(String(wrong), "DIMENSIONS")
      }
    })
  )
})

describe("layerConfigOr", () => {
  const model = (env: Record<string, string>) =>
    Effect.map(Embedder.Embedder, (embedder) => embedder.model).pipe(
      Effect.provide(
        Layer.provide(
          EmbeddingProviders.layerConfigOr(HashingEmbedder.layer({ dimensions: 32 })),
          FetchHttpClient.layer
        )
      ),
      withEnv(env)
    )

  it.effect("uses the fallback only when the environment names none", () =>
    Effect.gen(function* () {
      assert.strictEqual(yield* model({ OPENAI_API_KEY: "k-0123456789" }), "hashing-v1-32")
      assert.strictEqual(
        yield* model({ LEX_AI_LLM__EMBEDDING__PROVIDER: "ollama", LEX_AI_LLM__EMBEDDING__MODEL: "bge-m3" }),
        "bge-m3"
      )
    })
  )
})
