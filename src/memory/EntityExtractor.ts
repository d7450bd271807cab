/**
 * From entries to facts.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type { NewFact } from "./Fact.js"
import type { MemoryEntry } from "./MemoryEntry.js"
import type { FactExtractionError } from "./MemoryError.js"

/**
 * @since 0.1.0
 * @category models
 */
export interface Extraction {
  /** With the entries they were read from as `sources`, valid from the time of these. */
  readonly facts: ReadonlyArray<NewFact>
  /** Names of people and things, each once. */
  readonly entities: ReadonlyArray<string>
}

/**
 * @since 0.1.0
 * @category models
 */
export interface Service {
  /** Reads entries of one owner. No facts in them: none, and no failure. */
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
 * Reads nothing.
 *
 * @since 0.1.0
 * @category layers
 */
export const layerNoop: Layer.Layer<EntityExtractor> = Layer.succeed(EntityExtractor, {
  extract: () => Effect.succeed({ facts: [], entities: [] })
})
