/**
 * Combines texts that many fibers embed at about the same time into one request.
 *
 * @since 0.1.0
 */
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import * as Embedder from "./Embedder.js"
import * as EmbeddingFlights from "./EmbeddingFlights.js"

/**
 * @since 0.1.0
 * @category models
 */
export interface Options {
  /** How long the first text waits for others; default 5 millis. */
  readonly window?: Duration.DurationInput | undefined
  /**
   * This many texts are sent without further waiting; default 128. All texts of a call stay together: the embedder
   * below splits what is too large for it.
   */
  readonly maxBatchSize?: number | undefined
}

/**
 * @since 0.1.0
 * @category constants
 */
export const defaults = { window: "5 millis", maxBatchSize: 128 } as const

/**
 * Collects the texts of all calls for a moment and embeds them in one request. A text that several fibers want, or that
 * is already being embedded, is sent once.
 *
 * An interrupted call does not affect the others: texts that nobody waits for are not sent, and a request that nobody
 * waits for is interrupted. A request for several calls that fails with a permanent error is repeated for each of these
 * calls alone, so that no call fails because of another call's text.
 *
 * @since 0.1.0
 * @category combinators
 */
export const wrap =
  (options?: Options | undefined) =>
  (inner: Embedder.Service): Effect.Effect<Embedder.Service> =>
    Effect.sync(() => {
      const embedMany = EmbeddingFlights.make({
        send: inner.embedMany,
        window: options?.window ?? defaults.window,
        maxBatchSize: options?.maxBatchSize ?? defaults.maxBatchSize
      })
      return {
        model: inner.model,
        dimensions: inner.dimensions,
        embed: (text) => Effect.map(embedMany([text]), (vectors) => vectors[0] as Embedder.Vector),
        embedMany
      }
    })

/**
 * @example
 * ```ts
 * import { EmbedderBatch, HashingEmbedder } from "effect-lexigram/llm"
 * import * as Layer from "effect/Layer"
 *
 * const embedder = EmbedderBatch.layer({ window: "10 millis", maxBatchSize: 64 }).pipe(
 *   Layer.provide(HashingEmbedder.layer())
 * )
 * ```
 *
 * @since 0.1.0
 * @category layers
 */
export const layer = (options?: Options | undefined): Layer.Layer<Embedder.Embedder, never, Embedder.Embedder> =>
  Embedder.layerWrapped(wrap(options))
