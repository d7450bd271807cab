/**
 * Texts as vectors.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as ErrorCode from "../domain/ErrorCode.js"

/**
 * A text could not be turned into a vector.
 *
 * @since 0.1.0
 * @category errors
 */
export class EmbeddingError extends Schema.TaggedError<EmbeddingError>("effect-lexigram/llm/Embedder/EmbeddingError")(
  "EmbeddingError",
  ErrorCode.fields("LEX_ERR_MEM_009")
) {}

/**
 * All of one embedder have the same length, its `dimensions`, and are normalised: their length is 1, that of a text without any feature 0.
 * Nobody changes a vector that was handed over.
 *
 * @since 0.1.0
 * @category models
 */
export type Vector = Float32Array

/**
 * @since 0.1.0
 * @category models
 */
export interface Service {
  /** What made the vectors. Vectors of different models cannot be compared. */
  readonly model: string
  readonly dimensions: number
  readonly embed: (text: string) => Effect.Effect<Vector, EmbeddingError>
  /** One vector a text, in their order. No texts: none, and nothing is asked. */
  readonly embedMany: (texts: ReadonlyArray<string>) => Effect.Effect<ReadonlyArray<Vector>, EmbeddingError>
}

/**
 * @since 0.1.0
 * @category tags
 */
export class Embedder extends Context.Tag("effect-lexigram/llm/Embedder")<Embedder, Service>() {}
