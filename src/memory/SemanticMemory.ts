/**
 * What is known about people and things, as facts.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type { Fact, FactId, NewFact } from "./Fact.js"
import type { MemoryEntry } from "./MemoryEntry.js"
import type { FactExtractionError, MemoryStoreFailure } from "./MemoryError.js"

/**
 * What answers leave out: facts below the configured confidence, facts that are closed, unless asked for.
 *
 * @since 0.1.0
 * @category models
 */
export interface FactOptions {
  /** At most so many; the configured number (100) unless set. */
  readonly limit?: number | undefined
  /** The configured one (0.5) unless set. */
  readonly minConfidence?: number | undefined
  /** As it was known to hold then; now unless set. */
  readonly at?: number | undefined
  /** Those that were closed as well. */
  readonly includeClosed?: boolean | undefined
}

/**
 * Answers are ordered by confidence, highest first, then by when they hold from, newest first.
 *
 * @since 0.1.0
 * @category models
 */
export interface Service {
  /**
   * Keeps a fact and gives it as it is kept. One that is known already becomes surer or keeps its confidence, and gains sources; one that
   * contradicts a known fact closes it.
   */
  readonly storeFact: (ownerId: string, fact: NewFact) => Effect.Effect<Fact, MemoryStoreFailure>
  /** Facts whose subject begins with this text, whatever the case. */
  readonly queryFacts: (
    ownerId: string,
    subject: string,
    options?: FactOptions | undefined
  ) => Effect.Effect<ReadonlyArray<Fact>, MemoryStoreFailure>
  /** Facts that name the entity as a whole word in their subject or object. */
  readonly getEntityFacts: (
    ownerId: string,
    entity: string,
    options?: FactOptions | undefined
  ) => Effect.Effect<ReadonlyArray<Fact>, MemoryStoreFailure>
  /** Facts that help with a question: those about what it names, then those that share words with it; best first. */
  readonly recall: (
    ownerId: string,
    query: string,
    options?: FactOptions | undefined
  ) => Effect.Effect<ReadonlyArray<Fact>, MemoryStoreFailure>
  /** Sets a confidence; an id the owner does not have is a `MemoryStoreError`. */
  readonly updateFact: (ownerId: string, id: FactId, confidence: number) => Effect.Effect<Fact, MemoryStoreFailure>
  /** Whether there was one. Gone for good, its history too. */
  readonly deleteFact: (ownerId: string, id: FactId) => Effect.Effect<boolean, MemoryStoreFailure>
  /** Reads facts from entries and keeps them, the entries as their sources; gives what was kept. The same entries again: the same facts. */
  readonly ingest: (
    entries: ReadonlyArray<MemoryEntry>
  ) => Effect.Effect<ReadonlyArray<Fact>, MemoryStoreFailure | FactExtractionError>
  /** Everything of the owner; gives how many there were. */
  readonly clear: (ownerId: string) => Effect.Effect<number, MemoryStoreFailure>
  /** Succeeds if what lies below answers. */
  readonly health: Effect.Effect<void, MemoryStoreFailure>
}

/**
 * @since 0.1.0
 * @category tags
 */
export class SemanticMemory extends Context.Tag("effect-lexigram/memory/SemanticMemory")<SemanticMemory, Service>() {}
