/**
 * The port that extracts facts and names from entries.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type { MemoryEntry } from "../entry/MemoryEntry.js"
import type { FactExtractionError } from "../entry/MemoryError.js"
import type { NewFact } from "../facts/Fact.js"

/**
 * @since 0.1.0
 * @category models
 */
export interface Extraction {
  /**
   * Have the entries they were read from as `sources`, and hold from their time or as the text says. A fact that has
   * held since an earlier time is listed twice: for that time and for the time of its statement. A fact that no longer
   * holds is `retracted`.
   */
  readonly facts: ReadonlyArray<NewFact>
  /** The distinct names of people and things. */
  readonly entities: ReadonlyArray<string>
}

/**
 * @since 0.1.0
 * @category models
 */
export interface Service {
  /**
   * Reads entries of one owner. Entries without facts give an empty result. `DefaultEntityExtractor` never returns
   * facts about passwords, keys, tokens, or card or account numbers.
   */
  readonly extract: (entries: ReadonlyArray<MemoryEntry>) => Effect.Effect<Extraction, FactExtractionError>
}

/**
 * @since 0.1.0
 * @category tags
 */
export class EntityExtractor extends Context.Tag("effect-lexigram/memory/EntityExtractor")<
  EntityExtractor,
  Service
>() {}

/**
 * Extracts nothing.
 *
 * @since 0.1.0
 * @category layers
 * @example
 * ```ts
 * import { DefaultSemanticMemory, EntityExtractor, InMemoryFactStore } from "effect-lexigram/memory"
 * import * as Layer from "effect/Layer"
 *
 * // Only facts that the program stores itself; nothing is read from what users say.
 * const memory = DefaultSemanticMemory.layer().pipe(
 *   Layer.provide([InMemoryFactStore.layer(), EntityExtractor.layerNoop])
 * )
 * ```
 */
export const layerNoop: Layer.Layer<EntityExtractor> = Layer.succeed(EntityExtractor, {
  extract: () => Effect.succeed({ facts: [], entities: [] })
})
