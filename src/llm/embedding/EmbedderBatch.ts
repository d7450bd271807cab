/**
 * Texts that many fibers embed at about the same time, in one request.
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
  /** How long the first text waits for others; 5 millis unless set. */
  readonly window?: Duration.DurationInput | undefined
  /**
   * So many texts (128) do not wait any longer. All texts of a call go together: the embedder below splits what is too
   * much for it.
   */
  readonly maxBatchSize?: number | undefined
}

/**
 * @since 0.1.0
 * @category constants
 */
export const defaults = { window: "5 millis", maxBatchSize: 128 } as const

/**
 * Collects the texts of all calls for a moment and embeds them in one. A text that several fibers want, or that is
 * under way already, is asked for once.
 *
 * A call that is interrupted does not touch the others: what nobody waits for any more is not asked for, and a request
 * that nobody waits for any more is interrupted. A request of several calls that fails, and is not worth repeating, is
 * made again for each of these calls alone, so that nobody fails because of the text of somebody else.
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
 * @since 0.1.0
 * @category layers
 */
export const layer = (options?: Options | undefined): Layer.Layer<Embedder.Embedder, never, Embedder.Embedder> =>
  Embedder.layerWrapped(wrap(options))
