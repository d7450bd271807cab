/**
 * Adapts any `@effect/ai` embedding model to {@link Embedder.Embedder}.
 *
 * @since 0.1.0
 */
import type * as EmbeddingModel from "@effect/ai/EmbeddingModel"
import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Redacted from "effect/Redacted"
import * as Embedder from "../../llm/embedding/Embedder.js"
import * as AiErrorClassifier from "../exchange/AiErrorClassifier.js"
import * as EmbeddingFailure from "./EmbeddingFailure.js"

/**
 * @since 0.1.0
 * @category models
 */
export interface Options extends Omit<Embedder.Options, "embedMany"> {
  /** The name in errors; default `embedding-model`. */
  readonly provider?: string | undefined
  /** Secrets that must not appear in errors: the keys the model was built with. */
  readonly redact?: ReadonlyArray<Redacted.Redacted<string>> | undefined
}

// Importing the tag's module would load packages that only users of such models have.
const Model = Context.GenericTag<EmbeddingModel.EmbeddingModel, EmbeddingModel.Service>("@effect/ai/EmbeddingModel")

/** The package cannot interrupt a request for several texts: after an interruption it runs to its end. */
const ask = (service: EmbeddingModel.Service, texts: ReadonlyArray<string>) =>
  texts.length === 1
    ? Effect.map(service.embed(texts[0] as string), (row) => [row])
    : Effect.disconnect(service.embedMany(texts))

/**
 * Texts without a vector, or with one of another length, are an `EmbeddingError`. Errors exclude the request and its
 * headers. An interrupted call ends at once; its request for several texts runs to its end, because the package cannot
 * interrupt it.
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = (options: Options): Effect.Effect<Embedder.Service, never, EmbeddingModel.EmbeddingModel> =>
  Effect.map(Model, (service) => {
    const { model, redact } = options
    const provider = options.provider ?? "embedding-model"
    return Embedder.make({
      ...options,
      embedMany: (texts) =>
        ask(service, texts).pipe(
          // A span would contain the error of the model, and with it the headers of the request.
          Effect.withTracerEnabled(false),
          Effect.catchAll((error) =>
            Effect.flatMap(Clock.currentTimeMillis, (nowMs) =>
              Effect.fail(
                EmbeddingFailure.fromLlmError(AiErrorClassifier.classify(error, { provider, model, nowMs, redact }))
              )
            )
          ),
          // The package interrupts the wait for a missing row. An interrupted caller never gets here.
          Effect.catchAllCause((cause) =>
            Cause.isInterruptedOnly(cause)
              ? Effect.fail(
                  new Embedder.EmbeddingError({
                    message: `The embedding model ${model} returned fewer vectors than texts (${texts.length})`
                  })
                )
              : Effect.failCause(cause)
          )
        )
    })
  })

/**
 * @example
 * ```ts
 * import * as EmbeddingModel from "@effect/ai/EmbeddingModel"
 * import * as Effect from "effect/Effect"
 * import * as Layer from "effect/Layer"
 * import { EmbeddingModelClient } from "effect-lexigram/provider"
 *
 * const model = Layer.effect(
 *   EmbeddingModel.EmbeddingModel,
 *   EmbeddingModel.make({
 *     embedMany: (texts) => Effect.succeed(texts.map((_, index) => ({ index, embeddings: [1, 0] })))
 *   })
 * )
 * const embedder = EmbeddingModelClient.layer({ model: "mine", dimensions: 2 }).pipe(Layer.provide(model))
 * ```
 *
 * @since 0.1.0
 * @category layers
 */
export const layer = (options: Options): Layer.Layer<Embedder.Embedder, never, EmbeddingModel.EmbeddingModel> =>
  Layer.effect(Embedder.Embedder, make(options))
