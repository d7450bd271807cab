/**
 * Where entries are kept and found again: by their words, by vectors where there are some, by time.
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
 * Every call names an owner and sees nothing of any other. An entry that was stored is found by the very next call; one
 * that has expired is as if it were not there. An entry that breaks its bounds, or belongs to another owner than the
 * call says, is a `MemoryStoreError` and nothing of the call is stored.
 *
 * @since 0.1.0
 * @category models
 */
export interface Service {
  /** Names it in results: `in_memory`, `cache`, `sqlite`, … */
  readonly name: string
  /**
   * Stores, or replaces the owner's entry of the same id, which keeps its place in time only if its timestamp is the
   * same.
   */
  readonly store: (entry: MemoryEntry) => Effect.Effect<void, RetrievalFailure>
  /** All or nothing for each owner, in their order: of two entries with one id the last counts. None: does nothing. */
  readonly storeMany: (entries: ReadonlyArray<MemoryEntry>) => Effect.Effect<void, RetrievalFailure>
  /**
   * The best entries for a query, best first; equal scores by time, newest first, then by id. Reads only: who uses the
   * results says so by `recordAccess`.
   */
  readonly retrieve: (query: MemoryQuery) => Effect.Effect<ReadonlyArray<MemorySearchResult>, RetrievalFailure>
  /** The newest `n` of what is selected, newest first. */
  readonly getRecent: (options: {
    readonly ownerId: string
    readonly n: number
    readonly selection?: Selection | undefined
  }) => Effect.Effect<ReadonlyArray<MemoryEntry>, MemoryStoreFailure>
  readonly get: (ownerId: string, id: EntryId) => Effect.Effect<Option.Option<MemoryEntry>, MemoryStoreFailure>
  /** Those that exist, in the order of the ids. */
  readonly getMany: (
    ownerId: string,
    ids: ReadonlyArray<EntryId>
  ) => Effect.Effect<ReadonlyArray<MemoryEntry>, MemoryStoreFailure>
  /** Whether there was one. */
  readonly delete: (ownerId: string, id: EntryId) => Effect.Effect<boolean, MemoryStoreFailure>
  /** Deletes and stores in one step: all of it or nothing. Gives how many of the deletions existed. */
  readonly apply: (ownerId: string, change: Change) => Effect.Effect<number, RetrievalFailure>
  /**
   * As `apply`, but only while these entries are there as given, their access figures apart. Otherwise nothing changes
   * and it gives none: what was forgotten or changed since it was read does not come back.
   */
  readonly applyIf: (
    ownerId: string,
    unchanged: ReadonlyArray<MemoryEntry>,
    change: Change
  ) => Effect.Effect<Option.Option<number>, RetrievalFailure>
  /** Everything of the owner; gives how many there were. */
  readonly clear: (ownerId: string) => Effect.Effect<number, MemoryStoreFailure>
  readonly count: (ownerId: string, selection?: Selection | undefined) => Effect.Effect<number, MemoryStoreFailure>
  /** Oldest first, read in pages: what changes meanwhile may or may not be seen, and nothing twice. */
  readonly stream: (
    ownerId: string,
    selection?: Selection | undefined
  ) => Stream.Stream<MemoryEntry, MemoryStoreFailure>
  /**
   * Everybody who has entries, each once, ascending; read in pages. Without the spaces that memory keeps for itself
   * (`OwnerNamespace`).
   */
  readonly owners: Stream.Stream<string, MemoryStoreFailure>
  /** Counts one more recall of each; ids that do not exist are passed over. */
  readonly recordAccess: (ownerId: string, ids: ReadonlyArray<EntryId>) => Effect.Effect<void, MemoryStoreFailure>
  /** Removes what has expired, of all owners; gives how many. */
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
 * Keeps nothing and finds nothing.
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
 * Keeps nothing and finds nothing.
 *
 * @since 0.1.0
 * @category layers
 */
export const layerNoop: Layer.Layer<MemoryStore> = Layer.succeed(MemoryStore, noop)
