/**
 * The semantic memory port: facts about people and things.
 *
 * @since 0.1.0
 */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as IdGenerator from "../../domain/IdGenerator.js"
import type { MemoryEntry } from "../entry/MemoryEntry.js"
import { type FactExtractionError, MemoryStoreError, type MemoryStoreFailure } from "../entry/MemoryError.js"
import type * as Selection from "../entry/Selection.js"
import { type Fact, FactId, type NewFact } from "../facts/Fact.js"

/**
 * By default results omit closed facts and facts below the configured confidence. With a `lineage` the result is what a
 * branch of a session knows (`FactStore.onLineage`): facts that only another branch stated are omitted.
 *
 * @since 0.1.0
 * @category models
 */
export interface FactOptions extends Pick<Selection.Selection, "lineage" | "tree"> {
  /** Maximum number of facts. Default: the configured number (100). */
  readonly limit?: number | undefined
  /** Default: the configured bound (0.5). */
  readonly minConfidence?: number | undefined
  /** Returns facts that held at this time, as far as known. Default now. */
  readonly at?: number | undefined
  /** Also returns closed facts. */
  readonly includeClosed?: boolean | undefined
}

/**
 * Results are ordered by confidence, highest first, then by `validFrom`, newest first.
 *
 * @since 0.1.0
 * @category models
 */
export interface Service {
  /**
   * Stores a fact and returns it as stored. A known fact gains confidence and sources, a contradicting fact closes the
   * known one, and a retracted fact ends (`NewFact.retracted`). Fails with a `MemoryCapacityError` if its subject is
   * full of facts with a higher confidence.
   */
  readonly storeFact: (ownerId: string, fact: NewFact) => Effect.Effect<Fact, MemoryStoreFailure>
  /** Facts whose subject begins with this text, ignoring case. */
  readonly queryFacts: (
    ownerId: string,
    subject: string,
    options?: FactOptions | undefined
  ) => Effect.Effect<ReadonlyArray<Fact>, MemoryStoreFailure>
  /** Facts that contain the entity as whole words in their subject or object. */
  readonly getEntityFacts: (
    ownerId: string,
    entity: string,
    options?: FactOptions | undefined
  ) => Effect.Effect<ReadonlyArray<Fact>, MemoryStoreFailure>
  /**
   * Facts that help with a question: those about entities it names, then those that share words with it, best first.
   * Where the store has vectors, those of similar meaning count as well.
   */
  readonly recall: (
    ownerId: string,
    query: string,
    options?: FactOptions | undefined
  ) => Effect.Effect<ReadonlyArray<Fact>, MemoryStoreFailure>
  /** Sets the confidence. Fails with a `MemoryStoreError` if the owner does not have the id. */
  readonly updateFact: (ownerId: string, id: FactId, confidence: number) => Effect.Effect<Fact, MemoryStoreFailure>
  /** Deletes the fact and its history. Returns whether it existed. */
  readonly deleteFact: (ownerId: string, id: FactId) => Effect.Effect<boolean, MemoryStoreFailure>
  /**
   * Extracts facts from entries and stores them with the entries as their sources and origins. Returns the stored
   * facts. Repeating it with the same entries gives the same facts.
   */
  readonly ingest: (
    entries: ReadonlyArray<MemoryEntry>
  ) => Effect.Effect<ReadonlyArray<Fact>, MemoryStoreFailure | FactExtractionError>
  /** Removes all facts of the owner and returns how many there were. */
  readonly clear: (ownerId: string) => Effect.Effect<number, MemoryStoreFailure>
  /** Succeeds if the underlying store answers. */
  readonly health: Effect.Effect<void, MemoryStoreFailure>
}

/**
 * @since 0.1.0
 * @category tags
 */
export class SemanticMemory extends Context.Tag("effect-lexigram/memory/SemanticMemory")<SemanticMemory, Service>() {}

const nothing = Effect.succeed([])

/**
 * Knows nothing: returns given facts without storing them.
 *
 * @since 0.1.0
 * @category layers
 * @example
 * ```ts
 * import { TokenCounter } from "effect-lexigram"
 * import { DefaultWorkingMemory, EpisodicMemory, ProceduralMemory, SemanticMemory } from "effect-lexigram/memory"
 * import * as Layer from "effect/Layer"
 *
 * // Working memory without facts.
 * const working = (tiers: Layer.Layer<EpisodicMemory.EpisodicMemory | ProceduralMemory.ProceduralMemory>) =>
 *   DefaultWorkingMemory.layer({ semanticFraction: 0 }).pipe(
 *     Layer.provide([tiers, SemanticMemory.layerNoop, TokenCounter.layerApproximate()])
 *   )
 * ```
 */
export const layerNoop: Layer.Layer<SemanticMemory> = Layer.succeed(SemanticMemory, {
  storeFact: (ownerId, fact) =>
    Effect.zipWith(IdGenerator.generate, Clock.currentTimeMillis, (id, now) => ({
      id: FactId.make(id),
      ownerId,
      subject: fact.subject,
      predicate: fact.predicate,
      object: fact.object,
      confidence: fact.confidence ?? 1,
      sources: fact.sources ?? [],
      validFrom: fact.validFrom ?? now,
      ...(fact.retracted === true ? { validTo: fact.validFrom ?? now } : {}),
      ...(fact.validTo === undefined ? {} : { validTo: fact.validTo }),
      recordedAt: now,
      metadata: fact.metadata ?? {}
    })),
  queryFacts: () => nothing,
  getEntityFacts: () => nothing,
  recall: () => nothing,
  updateFact: () => Effect.fail(new MemoryStoreError({ message: "The owner has no fact with this id", store: "noop" })),
  deleteFact: () => Effect.succeed(false),
  ingest: () => nothing,
  clear: () => Effect.succeed(0),
  health: Effect.void
})
