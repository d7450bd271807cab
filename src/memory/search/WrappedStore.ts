/**
 * Wraps a store: changes entries before they are written, and acts after a write.
 *
 * @private
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
 * The scope that entries share: a session of an owner, or what the owner has outside any session.
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
  // An empty lineage selects entries without a session.
  sessionId === undefined ? { lineage: [] } : { sessionIds: [sessionId] }

/**
 * The distinct places of entries.
 *
 * @category getters
 */
export const placesOf = (entries: ReadonlyArray<MemoryEntry>): ReadonlyArray<Place> =>
  Array.from(
    new Map(entries.map(({ ownerId, sessionId }) => [keyOf({ ownerId, sessionId }), { ownerId, sessionId }])).values()
  )

/** Reserved spaces, such as that of procedures, have their own bounds and no sessions. */
const isOwned = ({ ownerId }: MemoryEntry): boolean => !OwnerNamespace.isReserved(ownerId)

/**
 * A store that changes or rejects entries (`before`) and acts once they are written (`after`). A failure of `after`
 * fails the write, which can be repeated.
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

/** Additional entries that are read so that a call comes with its results. */
const margin = 64

/**
 * The oldest entries that are selected and accepted: at least `n` if there are that many, tool calls with their
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
 * Deletes the oldest until at most `max` of the selection are left.
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
