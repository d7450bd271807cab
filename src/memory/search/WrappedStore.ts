/**
 * Stores over a store: what is done to entries before they are written, and what follows a write.
 *
 * @internal
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import type { EntryId, SessionId } from "../../domain/Ids.js"
import type { MemoryEntry } from "../entry/MemoryEntry.js"
import type { MemoryStoreError, RetrievalFailure } from "../entry/MemoryError.js"
import * as OwnerNamespace from "../entry/OwnerNamespace.js"
import type { Selection } from "../entry/Selection.js"
import * as ToolPairs from "../entry/ToolPairs.js"
import type * as MemoryStore from "./MemoryStore.js"

/**
 * What entries belong to together: a session of an owner, or what the owner has outside of any.
 *
 * @category models
 */
export interface Place {
  readonly ownerId: string
  readonly sessionId: SessionId | undefined
}

/**
 * @category getters
 */
export const keyOf = ({ ownerId, sessionId }: Place): string => JSON.stringify([ownerId, sessionId ?? null])

/**
 * @category getters
 */
export const selectionOf = ({ sessionId }: Place): Selection =>
  // A lineage without sessions leaves what belongs to none.
  sessionId === undefined ? { lineage: [] } : { sessionIds: [sessionId] }

/**
 * The places of entries, each once.
 *
 * @category getters
 */
export const placesOf = (entries: ReadonlyArray<MemoryEntry>): ReadonlyArray<Place> =>
  Array.from(
    new Map(entries.map(({ ownerId, sessionId }) => [keyOf({ ownerId, sessionId }), { ownerId, sessionId }])).values()
  )

/** What memory keeps for itself, such as procedures, has its own bounds and no sessions. */
const isOwned = ({ ownerId }: MemoryEntry): boolean => !OwnerNamespace.isReserved(ownerId)

/**
 * A store that changes or refuses entries (`before`) and does something once they are written (`after`). What fails
 * afterwards fails the write, which can be done again.
 *
 * @category constructors
 */
export const make = (
  store: MemoryStore.Service,
  options: {
    readonly before?: ((entry: MemoryEntry) => Effect.Effect<MemoryEntry, MemoryStoreError>) | undefined
    readonly after?: ((entries: ReadonlyArray<MemoryEntry>) => Effect.Effect<void, RetrievalFailure>) | undefined
  }
): MemoryStore.Service => {
  const after = (entries: ReadonlyArray<MemoryEntry>): Effect.Effect<void, RetrievalFailure> =>
    options.after?.(entries.filter(isOwned)) ?? Effect.void
  const before = (entry: MemoryEntry): Effect.Effect<MemoryEntry, MemoryStoreError> =>
    isOwned(entry) ? (options.before?.(entry) ?? Effect.succeed(entry)) : Effect.succeed(entry)
  const written = <A>(
    entries: ReadonlyArray<MemoryEntry>,
    write: (ready: ReadonlyArray<MemoryEntry>) => Effect.Effect<A, RetrievalFailure>
  ): Effect.Effect<A, RetrievalFailure> =>
    Effect.flatMap(Effect.forEach(entries, before), (ready) => Effect.zipLeft(write(ready), after(ready)))
  return {
    ...store,
    store: (entry) => written([entry], store.storeMany),
    storeMany: (entries) => written(entries, store.storeMany),
    apply: (ownerId, change) =>
      written(change.store ?? [], (ready) => store.apply(ownerId, { ...change, store: ready })),
    applyIf: (ownerId, unchanged, change) =>
      written(change.store ?? [], (ready) => store.applyIf(ownerId, unchanged, { ...change, store: ready }))
  }
}

/** Entries beyond those that are wanted, so that a call comes with its results. */
const margin = 64

/**
 * The oldest entries that are selected and accepted: at least `n` if there are so many, calls of tools with their
 * results.
 *
 * @category getters
 */
export const oldest = (
  store: MemoryStore.Service,
  options: {
    readonly ownerId: string
    readonly selection: Selection
    readonly n: number
    readonly accepts?: ((entry: MemoryEntry) => boolean) | undefined
  }
): Effect.Effect<ReadonlyArray<MemoryEntry>, RetrievalFailure> =>
  store.stream(options.ownerId, options.selection).pipe(
    Stream.filter(options.accepts ?? (() => true)),
    Stream.take(options.n + margin),
    Stream.runCollect,
    Effect.map((found) => {
      const taken: Array<MemoryEntry> = []
      for (const { entries } of ToolPairs.units(Array.from(found))) {
        if (taken.length >= options.n) break
        taken.push(...entries)
      }
      return taken
    })
  )

/**
 * Lets the oldest go until no more than `max` of what is selected are left.
 *
 * @category combinators
 */
export const trim = (
  store: MemoryStore.Service,
  options: { readonly ownerId: string; readonly selection: Selection; readonly max: number }
): Effect.Effect<void, RetrievalFailure> =>
  Effect.flatMap(store.count(options.ownerId, options.selection), (count) =>
    count <= options.max
      ? Effect.void
      : Effect.flatMap(oldest(store, { ...options, n: count - options.max }), (gone) =>
          store.apply(options.ownerId, { delete: gone.map(({ id }): EntryId => id) })
        )
  )
