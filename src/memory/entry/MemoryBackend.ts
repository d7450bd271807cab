/**
 * What a store of entries needs from below: rows in, rows out. Scores, weights, fusion, expiry by configuration and
 * telemetry are written once, in `DefaultMemoryStore.fromBackend`; a backend keeps entries and finds candidates.
 *
 * @since 0.1.0
 */
import type * as Effect from "effect/Effect"
import type { EntryId } from "../../domain/Ids.js"
import type { MemoryEntry } from "./MemoryEntry.js"
import type { MemoryStoreFailure } from "./MemoryError.js"
import type { Selection } from "./Selection.js"

/**
 * Where an entry stands in the order of its owner: by time, then by id (by code unit).
 *
 * @since 0.1.0
 * @category models
 */
export interface Position {
  readonly timestamp: number
  readonly id: EntryId
}

/**
 * What changes in one step: deletions come before what is stored. Ids that do not exist are passed over.
 *
 * @since 0.1.0
 * @category models
 */
export interface Change {
  readonly delete?: ReadonlyArray<EntryId> | undefined
  readonly store?: ReadonlyArray<MemoryEntry> | undefined
}

/**
 * A change that is made only while these entries are there as given, their access figures apart.
 *
 * @since 0.1.0
 * @category models
 */
export interface ConditionalChange extends Change {
  readonly unchanged?: ReadonlyArray<MemoryEntry> | undefined
}

/**
 * Entries that have words of the query. `score` is BM25 (Robertson and Zaragoza 2009) over the entries of the owner;
 * `ceiling` what an entry that is all about the query could have at most, so that score / ceiling is 0 to 1.
 *
 * @since 0.1.0
 * @category models
 */
export interface LexicalMatches {
  /** Best first; ties by position, newest first. */
  readonly hits: ReadonlyArray<{ readonly entry: MemoryEntry; readonly score: number }>
  readonly ceiling: number
}

/**
 * The contract of every method: only entries of the owner are seen or touched; what has expired (`expiresAt` at or
 * before now by `Clock`) is as if it were not there; entries come out as they went in, but for `accessCount` and
 * `lastAccessedAt`.
 *
 * @since 0.1.0
 * @category models
 */
export interface MemoryBackend {
  /** Names it in results, errors and metrics: `in_memory`, `cache`, `sqlite`, … */
  readonly name: string
  /**
   * All or nothing. An id that exists is replaced; its access figures stay when they are higher. Gives how many of the
   * deletions existed. All entries are the owner's: the store has checked it. The condition is checked in the same
   * step: `undefined` and nothing changed where it does not hold.
   */
  readonly apply: (ownerId: string, change: ConditionalChange) => Effect.Effect<number | undefined, MemoryStoreFailure>
  /** Those that exist, in the order of the ids. */
  readonly get: (
    ownerId: string,
    ids: ReadonlyArray<EntryId>
  ) => Effect.Effect<ReadonlyArray<MemoryEntry>, MemoryStoreFailure>
  /** Newest first (descending position), those before `before`. */
  readonly recent: (
    ownerId: string,
    options: { readonly limit: number; readonly selection: Selection; readonly before?: Position | undefined }
  ) => Effect.Effect<ReadonlyArray<MemoryEntry>, MemoryStoreFailure>
  /** Oldest first (ascending position), those after `after`. */
  readonly page: (
    ownerId: string,
    options: { readonly limit: number; readonly selection: Selection; readonly after?: Position | undefined }
  ) => Effect.Effect<ReadonlyArray<MemoryEntry>, MemoryStoreFailure>
  /** The best matches of the text among what is selected. */
  readonly lexical: (
    ownerId: string,
    options: { readonly text: string; readonly limit: number; readonly selection: Selection }
  ) => Effect.Effect<LexicalMatches, MemoryStoreFailure>
  /**
   * The entries of the same session right before and after one, oldest first, without itself; empty when it has no
   * session.
   */
  readonly around: (
    ownerId: string,
    id: EntryId,
    options: { readonly before: number; readonly after: number; readonly selection: Selection }
  ) => Effect.Effect<ReadonlyArray<MemoryEntry>, MemoryStoreFailure>
  readonly count: (ownerId: string, selection: Selection) => Effect.Effect<number, MemoryStoreFailure>
  /** Owners that have entries, ascending by code unit, those after `after`. */
  readonly owners: (options: {
    readonly limit: number
    readonly after?: string | undefined
  }) => Effect.Effect<ReadonlyArray<string>, MemoryStoreFailure>
  /** Counts one more access of each, at this time. Ids that do not exist are passed over. */
  readonly recordAccess: (
    ownerId: string,
    ids: ReadonlyArray<EntryId>,
    at: number
  ) => Effect.Effect<void, MemoryStoreFailure>
  /** Removes everything of the owner; gives how many there were. */
  readonly clear: (ownerId: string) => Effect.Effect<number, MemoryStoreFailure>
  /** Removes what has expired, of all owners, and gives how many. */
  readonly expire: Effect.Effect<number, MemoryStoreFailure>
  readonly health: Effect.Effect<void, MemoryStoreFailure>
}
