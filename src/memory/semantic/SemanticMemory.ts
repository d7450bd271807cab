/**
 * What is known about people and things, as facts.
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
 * What answers leave out: facts below the configured confidence, facts that are closed, unless asked for. With a
 * `lineage` they are given as a branch of a session knows them (`FactStore.onLineage`): those that only another branch
 * was told are left out.
 *
 * @since 0.1.0
 * @category models
 */
export interface FactOptions extends Pick<Selection.Selection, "lineage" | "tree"> {
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
   * Keeps a fact and gives it as it is kept. One that is known already becomes surer or keeps its confidence, and gains
   * sources; one that contradicts a known fact closes it, and one that is taken back ends (`NewFact.retracted`). A
   * `MemoryCapacityError` when its subject has as many facts as it may, all of them surer.
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
  /**
   * Reads facts from entries and keeps them, the entries as their sources and their origins; gives what was kept. The
   * same entries again: the same facts.
   */
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

const nothing = Effect.succeed([])

/**
 * Knows nothing: facts are given back and kept nowhere.
 *
 * @since 0.1.0
 * @category layers
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
