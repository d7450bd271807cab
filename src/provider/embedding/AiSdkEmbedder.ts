/**
 * Adapts any embedding model of the AI SDK to {@link Embedder.Embedder}: models with version 3 (AI SDK 6) or version 4
 * (AI SDK 7) of its specification.
 *
 * @since 0.1.0
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Redacted from "effect/Redacted"
import * as Embedder from "../../llm/embedding/Embedder.js"
import * as Wire from "../exchange/WireDecoder.js"
import * as SdkFailure from "../sdk/SdkFailure.js"
import * as EmbeddingFailure from "./EmbeddingFailure.js"

/**
 * What `openai.embeddingModel("…")` or `google.embeddingModel("…")` returns.
 *
 * @since 0.1.0
 * @category models
 */
export interface Model {
  readonly specificationVersion: string
  readonly provider: string
  readonly modelId: string
  readonly maxEmbeddingsPerCall: PromiseLike<number | undefined> | number | undefined
  readonly doEmbed: (options: any) => PromiseLike<any>
}

/**
 * @since 0.1.0
 * @category models
 */
export interface Options extends Partial<Omit<Embedder.Options, "embedMany" | "dimensions">> {
  /** The length of its vectors. A vector of another length is an `EmbeddingError`. */
  readonly dimensions: number
  /** Options of the provider, by its name; for those that can shorten their vectors, the wanted length as well. */
  readonly providerOptions?: { readonly [provider: string]: { readonly [key: string]: unknown } } | undefined
  /** Secrets that must not appear in errors: the keys the model was built with. */
  readonly redact?: ReadonlyArray<Redacted.Redacted<string>> | undefined
}

const rowsOf = (answer: unknown): ReadonlyArray<ArrayLike<number>> => {
  const rows = Wire.record(answer)?.embeddings
  return Array.isArray(rows) ? rows : []
}

/**
 * Requests have at most as many texts as the model takes at once, or `maxBatchSize`. An interruption cancels the
 * request.
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = (model: Model, options: Options): Effect.Effect<Embedder.Service, Embedder.EmbeddingError> => {
  const { providerOptions, redact, ...rest } = options
  const provider = model.provider.split(".")[0] ?? model.provider
  const failed = (error: unknown): Effect.Effect<never, Embedder.EmbeddingError> =>
    Effect.flatMap(Clock.currentTimeMillis, (nowMs) =>
      Effect.fail(
        EmbeddingFailure.fromLlmError(SdkFailure.classify(error, { provider, model: model.modelId, nowMs, redact }))
      )
    )
  const called = <A>(call: (signal: AbortSignal) => PromiseLike<A> | A): Effect.Effect<A, Embedder.EmbeddingError> =>
    Effect.catchAll(
      Effect.tryPromise({ try: async (signal) => await call(signal), catch: (error) => ({ error }) }),
      ({ error }) => failed(error)
    )
  if (model.specificationVersion !== "v3" && model.specificationVersion !== "v4")
    return Effect.fail(
      new Embedder.EmbeddingError({
        message: `The embedding model ${model.modelId} has version ${String(model.specificationVersion).slice(0, 20)} of the specification of the AI SDK; versions v3 and v4 are supported`,
        hint: "Install a version of the provider package for AI SDK 6 or 7."
      })
    )
  return Effect.map(
    called(() => model.maxEmbeddingsPerCall),
    (most) =>
      Embedder.make({
        model: model.modelId,
        ...(most === undefined ? {} : { maxBatchSize: most }),
        ...rest,
        embedMany: (texts) =>
          Effect.map(
            called((abortSignal) =>
              model.doEmbed({
                values: [...texts],
                abortSignal,
                ...(providerOptions === undefined ? {} : { providerOptions })
              })
            ),
            rowsOf
          )
      })
  )
}

/**
 * The model as the `Embedder` of a program.
 *
 * @example
 * ```ts
 * import { createOpenAICompatible } from "@ai-sdk/openai-compatible"
 * import { AiSdkEmbedder } from "effect-lexigram/provider"
 *
 * const local = createOpenAICompatible({ name: "local", baseURL: "http://127.0.0.1:11434/v1" })
 * const layer = AiSdkEmbedder.layer(local.embeddingModel("nomic-embed-text"), { dimensions: 768 })
 * ```
 *
 * @since 0.1.0
 * @category layers
 */
export const layer = (model: Model, options: Options): Layer.Layer<Embedder.Embedder, Embedder.EmbeddingError> =>
  Layer.effect(Embedder.Embedder, make(model, options))
