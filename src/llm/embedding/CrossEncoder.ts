/**
 * The port that scores how well texts answer a query, by a model that reads both together. It costs a reading for each
 * text, so it orders a few that a search has found.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type { EmbeddingError } from "./Embedder.js"

/**
 * @since 0.1.0
 * @category models
 */
export interface Service {
  readonly model: string
  /**
   * One finite number per text, in order; a higher one is a better match. Scores of different queries or models cannot
   * be compared.
   */
  readonly score: (query: string, texts: ReadonlyArray<string>) => Effect.Effect<ReadonlyArray<number>, EmbeddingError>
}

/**
 * @since 0.1.0
 * @category tags
 */
export class CrossEncoder extends Context.Tag("effect-lexigram/llm/CrossEncoder")<CrossEncoder, Service>() {}
