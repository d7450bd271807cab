/**
 * The port that a memory store is built on: rows in, rows out. `DefaultMemoryStore.fromBackend` implements scores,
 * weights, fusion, configured expiry and telemetry once; a backend stores entries and finds candidates.
 *
 * @since 0.1.0
 */
import type * as Effect from "effect/Effect"
import type { EntryId } from "../../domain/Ids.js"
import type { MemoryEntry } from "./MemoryEntry.js"
import type { MemoryStoreFailure } from "./MemoryError.js"
import type { Selection } from "./Selection.js"

/**
 * The position of an entry among those of its owner: by time, then by id (by code unit).
 *
 * @since 0.1.0
 * @category models
 */
export interface Position {
  readonly timestamp: number
  readonly id: EntryId
}

/**
 * A change applied in one step. Deletions come first. Ids that do not exist are ignored.
 *
 * @since 0.1.0
 * @category models
 */
export interface Change {
  readonly delete?: ReadonlyArray<EntryId> | undefined
  readonly store?: ReadonlyArray<MemoryEntry> | undefined
}

/**
 * A change that applies only while these entries exist as given. Access counts and times are not compared.
 *
 * @since 0.1.0
 * @category models
 */
export interface ConditionalChange extends Change {
  readonly unchanged?: ReadonlyArray<MemoryEntry> | undefined
}

/**
 * Entries that contain words of the query. `score` is BM25 (Robertson and Zaragoza 2009) over the owner's entries.
 * `ceiling` is the highest score possible for an entry that fully matches the query, so that score / ceiling is 0 to 1.
 *
 * @since 0.1.0
 * @category models
 */
export interface LexicalMatches {
  /** Best first. Ties are ordered by position, newest first. */
  readonly hits: ReadonlyArray<{ readonly entry: MemoryEntry; readonly score: number }>
  readonly ceiling: number
  /** The number of entries of the owner, whether or not they are selected. */
  readonly entries: number
}

/**
 * Contract of every method: it reads and changes only entries of the owner. Expired entries (`expiresAt` at or before
 * the current time of `Clock`) do not exist. Entries come out as they went in, except for `accessCount` and
 * `lastAccessedAt`.
 *
 * @since 0.1.0
 * @category models
 */
export interface MemoryBackend {
  /** Identifies the backend in results, errors and metrics: `in_memory`, `cache`, `sqlite`, … */
  readonly name: string
  /**
   * All or nothing. Replaces entries whose id exists; their access count and time stay if they are higher. Returns how
   * many deleted entries existed. The store has checked that all entries belong to the owner. Checks the condition in
   * the same step: if it does not hold, nothing changes and the result is `undefined`.
   */
  readonly apply: (ownerId: string, change: ConditionalChange) => Effect.Effect<number | undefined, MemoryStoreFailure>
  /** Returns the entries that exist, in the order of the ids. */
  readonly get: (
    ownerId: string,
    ids: ReadonlyArray<EntryId>
  ) => Effect.Effect<ReadonlyArray<MemoryEntry>, MemoryStoreFailure>
  /** Newest first (descending position); only those before `before`. */
  readonly recent: (
    ownerId: string,
    options: { readonly limit: number; readonly selection: Selection; readonly before?: Position | undefined }
  ) => Effect.Effect<ReadonlyArray<MemoryEntry>, MemoryStoreFailure>
  /** Oldest first (ascending position); only those after `after`. */
  readonly page: (
    ownerId: string,
    options: { readonly limit: number; readonly selection: Selection; readonly after?: Position | undefined }
  ) => Effect.Effect<ReadonlyArray<MemoryEntry>, MemoryStoreFailure>
  /** The best matches of the text among the selected entries. */
  readonly lexical: (
    ownerId: string,
    options: { readonly text: string; readonly limit: number; readonly selection: Selection }
  ) => Effect.Effect<LexicalMatches, MemoryStoreFailure>
  /**
   * The entries of the same session directly before and after one, oldest first, without the entry itself. Empty if it
   * has no session.
   */
  readonly around: (
    ownerId: string,
    id: EntryId,
    options: { readonly before: number; readonly after: number; readonly selection: Selection }
  ) => Effect.Effect<ReadonlyArray<MemoryEntry>, MemoryStoreFailure>
  readonly count: (ownerId: string, selection: Selection) => Effect.Effect<number, MemoryStoreFailure>
  /** Owners that have entries, ascending by code unit; only those after `after`. */
  readonly owners: (options: {
    readonly limit: number
    readonly after?: string | undefined
  }) => Effect.Effect<ReadonlyArray<string>, MemoryStoreFailure>
  /** Counts one more access of each entry at this time. Ignores ids that do not exist. */
  readonly recordAccess: (
    ownerId: string,
    ids: ReadonlyArray<EntryId>,
    at: number
  ) => Effect.Effect<void, MemoryStoreFailure>
  /** Removes all entries of the owner and returns how many there were. */
  readonly clear: (ownerId: string) => Effect.Effect<number, MemoryStoreFailure>
  /** Removes expired entries of all owners and returns how many there were. */
  readonly expire: Effect.Effect<number, MemoryStoreFailure>
  readonly health: Effect.Effect<void, MemoryStoreFailure>
}
