/**
 * An embedder for every server with the embeddings API of OpenAI (`POST /embeddings`): OpenAI, Azure, OpenRouter,
 * Ollama, vLLM, llama.cpp, LM Studio and others.
 *
 * @since 0.1.0
 */
import type * as HttpClient from "@effect/platform/HttpClient"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Redacted from "effect/Redacted"
import * as Embedder from "../../llm/embedding/Embedder.js"
import * as VectorCodec from "../../llm/embedding/VectorCodec.js"
import { LlmConfigurationError } from "../../llm/model/LlmError.js"
import * as ClientTransport from "../exchange/ClientTransport.js"
import * as ProviderEndpoint from "../exchange/ProviderEndpoint.js"
import * as ProviderExchange from "../exchange/ProviderExchange.js"
import * as Wire from "../exchange/WireDecoder.js"
import * as EmbeddingFailure from "./EmbeddingFailure.js"

/**
 * @since 0.1.0
 * @category models
 */
export interface Options {
  /** The name in errors; default `openai-compatible`. */
  readonly provider?: string | undefined
  /** The parent of `/embeddings`, such as `https://api.openai.com/v1`. */
  readonly baseUrl: string
  readonly apiKey?: Redacted.Redacted<string> | undefined
  /** The header of the key: `authorization: Bearer` (default) or `api-key`. */
  readonly auth?: "bearer" | "api-key" | undefined
  /** Further headers; they override that of the key. */
  readonly headers?: { readonly [name: string]: string | Redacted.Redacted<string> } | undefined
  /** Query parameters, such as Azure's `api-version`. */
  readonly query?: { readonly [name: string]: string | Redacted.Redacted<string> } | undefined
  readonly model: string
  /** The length of the model's vectors. */
  readonly dimensions: number
  /**
   * Requests vectors of this length from models that can shorten theirs. Default false, because other models reject it.
   */
  readonly sendDimensions?: boolean | undefined
  /** The encoding of vectors. `base64` is a quarter of the size. By default the server decides; both are understood. */
  readonly encoding?: "float" | "base64" | undefined
  /** The maximum number of texts per request; default 64. */
  readonly maxBatchSize?: number | undefined
  /** The maximum number of characters per request; default 250,000. */
  readonly maxBatchCharacters?: number | undefined
  /**
   * The maximum number of characters of a text; only the beginning of a longer one is embedded. Default 24,000, some
   * 6,000 tokens of English.
   */
  readonly maxCharacters?: number | undefined
}

/**
 * @since 0.1.0
 * @category constants
 */
export const defaults = { maxBatchSize: 64, maxBatchCharacters: 250_000, maxCharacters: 24_000 } as const

const wellFormed = (text: string): string => text.replace(/\p{Surrogate}/gu, "\ufffd")

const row = (embedding: unknown): unknown =>
  typeof embedding === "string"
    ? VectorCodec.fromBase64(embedding.padEnd(4 * Math.ceil(embedding.length / 4), "="))
    : embedding

/** The rows in the order of the texts, or a description of what is wrong. */
const rowsOf = (body: unknown): ReadonlyArray<unknown> | string => {
  const data = Wire.record(body)?.data
  if (!Array.isArray(data)) return "an answer without vectors"
  const items = Wire.records(data)
  if (items.length !== data.length) return "a value that is not a vector"
  if (items.every((item) => item.index === undefined)) return items.map((item) => row(item.embedding))
  const rows = new Map<unknown, unknown>()
  for (const item of items) rows.set(item.index, row(item.embedding))
  const ordered = items.map((_, index) => rows.get(index))
  return items.every((_, index) => rows.has(index)) ? ordered : "vectors without a valid index"
}

/**
 * An embedder for one model of one server. Servers that need no key get none. It neither retries nor times out: use
 * `EmbedderRetry`. The trace does not reach the server, and no header reaches a span or an error.
 *
 * @example
 * ```ts
 * import * as FetchHttpClient from "@effect/platform/FetchHttpClient"
 * import * as Effect from "effect/Effect"
 * import { Embeddings } from "effect-lexigram/provider"
 *
 * const program = Effect.gen(function* () {
 *   const embedder = yield* Embeddings.make({
 *     baseUrl: "http://127.0.0.1:11434/v1",
 *     model: "nomic-embed-text",
 *     dimensions: 768
 *   })
 *   return yield* embedder.embed("Hello")
 * }).pipe(Effect.provide(FetchHttpClient.layer))
 * ```
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = (options: Options): Effect.Effect<Embedder.Service, LlmConfigurationError, HttpClient.HttpClient> =>
  Effect.gen(function* () {
    const http = yield* ClientTransport.fromContext
    const { dimensions, encoding, model } = options
    const provider = options.provider ?? "openai-compatible"
    const post = ProviderEndpoint.post(options, "/embeddings")
    if (typeof post === "string") return yield* new LlmConfigurationError({ provider, message: post })
    if (!Number.isInteger(dimensions) || dimensions < 1) {
      return yield* new LlmConfigurationError({ provider, message: "The dimensions must be a positive whole number" })
    }
    const redact = ProviderEndpoint.secretsOf(options)

    const ask = (texts: ReadonlyArray<string>) =>
      ProviderExchange.jsonBody(
        post,
        () => ({
          model,
          input: texts.map(wellFormed),
          ...(options.sendDimensions === true ? { dimensions } : {}),
          ...(encoding === undefined ? {} : { encoding_format: encoding })
        }),
        provider
      ).pipe(
        Effect.flatMap((request) => ProviderExchange.json({ http, request, provider, model, redact })),
        Effect.mapError(EmbeddingFailure.fromLlmError),
        Effect.flatMap((body) => {
          const rows = rowsOf(body)
          return typeof rows === "string"
            ? Effect.fail(new Embedder.EmbeddingError({ message: `The embedding model ${model} returned ${rows}` }))
            : // The embedder validates them.
              Effect.succeed(rows as ReadonlyArray<ArrayLike<number>>)
        })
      )

    return Embedder.make({
      model,
      dimensions,
      embedMany: ask,
      maxBatchSize: options.maxBatchSize ?? defaults.maxBatchSize,
      maxBatchCharacters: options.maxBatchCharacters ?? defaults.maxBatchCharacters,
      maxCharacters: options.maxCharacters ?? defaults.maxCharacters
    })
  })

/**
 * @since 0.1.0
 * @category layers
 */
export const layer = (options: Options): Layer.Layer<Embedder.Embedder, LlmConfigurationError, HttpClient.HttpClient> =>
  Layer.effect(Embedder.Embedder, make(options))
