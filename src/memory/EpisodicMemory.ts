/**
 * What happened: entries with a time, recalled by how recent, how important and how relevant they are.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type { EntryId } from "../domain/Ids.js"
import type { MemoryEntry, MemoryQuery, MemorySearchResult } from "./MemoryEntry.js"
import type { ConsolidationError, MemoryStoreFailure, RetrievalFailure } from "./MemoryError.js"
import type { Selection } from "./Selection.js"

/**
 * @since 0.1.0
 * @category models
 */
export interface Service {
  /** Remembers an entry; one whose id the owner has already is replaced. */
  readonly record: (entry: MemoryEntry) => Effect.Effect<void, RetrievalFailure>
  /** The same for several; on failure none of an owner is remembered. */
  readonly recordMany: (entries: ReadonlyArray<MemoryEntry>) => Effect.Effect<void, RetrievalFailure>
  /** The best entries for a query; what the query leaves out comes from the configuration. Each result counts as accessed once more. */
  readonly recall: (query: MemoryQuery) => Effect.Effect<ReadonlyArray<MemorySearchResult>, RetrievalFailure>
  /** The newest `n`, newest first. Does not count as access. */
  readonly recent: (options: {
    readonly ownerId: string
    readonly n: number
    readonly selection?: Selection | undefined
  }) => Effect.Effect<ReadonlyArray<MemoryEntry>, MemoryStoreFailure>
  /** Whether there was one. */
  readonly forget: (ownerId: string, id: EntryId) => Effect.Effect<boolean, MemoryStoreFailure>
  /**
   * Puts one summary in the place of these entries of the owner, in one step, and gives it. Its metadata says `type: "summary"` and names
   * what it replaces (`compressedIds`). Ids that do not exist are passed over; none of them there: a `ConsolidationError`.
   */
  readonly compress: (options: {
    readonly ownerId: string
    readonly ids: ReadonlyArray<EntryId>
    /** Of the summary, at most; 200 unless set. */
    readonly maxTokens?: number | undefined
  }) => Effect.Effect<MemoryEntry, RetrievalFailure | ConsolidationError>
  /** Succeeds if the store below answers. */
  readonly health: Effect.Effect<void, RetrievalFailure>
}

/**
 * @since 0.1.0
 * @category tags
 */
export class EpisodicMemory extends Context.Tag("effect-lexigram/memory/EpisodicMemory")<EpisodicMemory, Service>() {}
