/**
 * The memory store port: stores entries and finds them by words, vectors or time.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import type { EntryId } from "../../domain/Ids.js"
import type { Change } from "../entry/MemoryBackend.js"
import type { MemoryEntry, MemoryQuery, MemorySearchResult } from "../entry/MemoryEntry.js"
import type { MemoryStoreFailure, RetrievalFailure } from "../entry/MemoryError.js"
import type { Selection } from "../entry/Selection.js"

/**
 * Every call names an owner and sees only that owner's entries. The next call finds a stored entry. Expired entries do
 * not exist. An entry that is out of bounds, or belongs to another owner than the call names, is a `MemoryStoreError`,
 * and nothing of the call is stored.
 *
 * @since 0.1.0
 * @category models
 */
export interface Service {
  /** Identifies the store in results: `in_memory`, `cache`, `sqlite`, … */
  readonly name: string
  /**
   * Stores an entry, or replaces the owner's entry of the same id. A replacement keeps its place in time only if its
   * timestamp is the same.
   */
  readonly store: (entry: MemoryEntry) => Effect.Effect<void, RetrievalFailure>
  /**
   * All or nothing for each owner, in their order. Of two entries with one id the last wins. Without entries it does
   * nothing.
   */
  readonly storeMany: (entries: ReadonlyArray<MemoryEntry>) => Effect.Effect<void, RetrievalFailure>
  /**
   * Returns the best entries for a query, best first; equal scores by time, newest first, then by id. Only reads:
   * callers report what they use with `recordAccess`.
   */
  readonly retrieve: (query: MemoryQuery) => Effect.Effect<ReadonlyArray<MemorySearchResult>, RetrievalFailure>
  /** The newest `n` of the selection, newest first. */
  readonly getRecent: (options: {
    readonly ownerId: string
    readonly n: number
    readonly selection?: Selection | undefined
  }) => Effect.Effect<ReadonlyArray<MemoryEntry>, MemoryStoreFailure>
  readonly get: (ownerId: string, id: EntryId) => Effect.Effect<Option.Option<MemoryEntry>, MemoryStoreFailure>
  /** Returns the entries that exist, in the order of the ids. */
  readonly getMany: (
    ownerId: string,
    ids: ReadonlyArray<EntryId>
  ) => Effect.Effect<ReadonlyArray<MemoryEntry>, MemoryStoreFailure>
  /** Returns whether the entry existed. */
  readonly delete: (ownerId: string, id: EntryId) => Effect.Effect<boolean, MemoryStoreFailure>
  /** Deletes and stores in one step, all or nothing. Returns how many deleted entries existed. */
  readonly apply: (ownerId: string, change: Change) => Effect.Effect<number, RetrievalFailure>
  /**
   * Like `apply`, but only while these entries exist as given; access counts and times are not compared. Otherwise
   * nothing changes and the result is none: what was forgotten or changed since it was read does not come back.
   */
  readonly applyIf: (
    ownerId: string,
    unchanged: ReadonlyArray<MemoryEntry>,
    change: Change
  ) => Effect.Effect<Option.Option<number>, RetrievalFailure>
  /** Removes all entries of the owner and returns how many there were. */
  readonly clear: (ownerId: string) => Effect.Effect<number, MemoryStoreFailure>
  readonly count: (ownerId: string, selection?: Selection | undefined) => Effect.Effect<number, MemoryStoreFailure>
  /** Oldest first, read page by page. Changes made meanwhile may or may not be seen; nothing is returned twice. */
  readonly stream: (
    ownerId: string,
    selection?: Selection | undefined
  ) => Stream.Stream<MemoryEntry, MemoryStoreFailure>
  /**
   * The distinct owners that have entries, ascending, read page by page. Without the spaces that memory reserves
   * (`OwnerNamespace`).
   */
  readonly owners: Stream.Stream<string, MemoryStoreFailure>
  /** Counts one more recall of each entry. Ignores ids that do not exist. */
  readonly recordAccess: (ownerId: string, ids: ReadonlyArray<EntryId>) => Effect.Effect<void, MemoryStoreFailure>
  /** Removes expired entries of all owners and returns how many there were. */
  readonly expire: Effect.Effect<number, MemoryStoreFailure>
  /** Succeeds if the store answers. */
  readonly health: Effect.Effect<void, RetrievalFailure>
}

/**
 * @since 0.1.0
 * @category tags
 */
export class MemoryStore extends Context.Tag("effect-lexigram/memory/MemoryStore")<MemoryStore, Service>() {}

/**
 * Stores and finds nothing.
 *
 * @since 0.1.0
 * @category constructors
 */
export const noop: Service = {
  name: "none",
  store: () => Effect.void,
  storeMany: () => Effect.void,
  retrieve: () => Effect.succeed([]),
  getRecent: () => Effect.succeed([]),
  get: () => Effect.succeed(Option.none()),
  getMany: () => Effect.succeed([]),
  delete: () => Effect.succeed(false),
  apply: () => Effect.succeed(0),
  applyIf: (_, unchanged) => Effect.succeed(unchanged.length === 0 ? Option.some(0) : Option.none()),
  clear: () => Effect.succeed(0),
  count: () => Effect.succeed(0),
  stream: () => Stream.empty,
  owners: Stream.empty,
  recordAccess: () => Effect.void,
  expire: Effect.succeed(0),
  health: Effect.void
}

/**
 * Stores and finds nothing.
 *
 * @since 0.1.0
 * @category layers
 * @example
 * ```ts
 * import { MemoryStore } from "effect-lexigram/memory"
 * import * as Effect from "effect/Effect"
 *
 * const notes = (ownerId: string) =>
 *   Effect.gen(function* () {
 *     const store = yield* MemoryStore.MemoryStore
 *     return yield* store.getRecent({ ownerId, n: 10 })
 *   })
 *
 * // In tests of the program there are no notes.
 * const test = notes("ada").pipe(Effect.provide(MemoryStore.layerNoop))
 * ```
 */
export const layerNoop: Layer.Layer<MemoryStore> = Layer.succeed(MemoryStore, noop)
