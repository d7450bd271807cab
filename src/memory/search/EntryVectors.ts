/**
 * Keeps a vector index in step with a backend of entries.
 *
 * @private
 * @since 0.1.0
 */
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import type { EntryId } from "../../domain/Ids.js"
import * as Count from "../../internal/Count.js"
import * as Deadline from "../../internal/fiber/Deadline.js"
import { type Service as Embedder, type EmbeddingError, normalize, type Vector } from "../../llm/embedding/Embedder.js"
import type { ConditionalChange, MemoryBackend } from "../entry/MemoryBackend.js"
import type { MemoryEntry } from "../entry/MemoryEntry.js"
import { MemoryStoreError, type MemoryStoreFailure, type RetrievalFailure } from "../entry/MemoryError.js"
import type { Service as VectorIndex, VectorItem } from "./VectorIndex.js"

/**
 * @category models
 */
export interface EntryVectors {
  readonly apply: (ownerId: string, change: ConditionalChange) => Effect.Effect<number | undefined, RetrievalFailure>
  readonly remove: (ownerId: string, id: EntryId) => Effect.Effect<number | undefined, MemoryStoreFailure>
  readonly clear: (ownerId: string) => Effect.Effect<number, MemoryStoreFailure>
  readonly health: Effect.Effect<void, MemoryStoreFailure>
}

/** Milliseconds that a failed call waits for its compensating writes. */
const PATIENCE = 5_000

/**
 * Maximum number of characters of an entry that are embedded.
 *
 * @category constants
 */
export const defaultMaxCharacters = 8_000

/**
 * Never splits a surrogate pair.
 *
 * @category conversions
 */
export const truncate = (text: string, limit: number): string => {
  if (text.length <= limit) return text
  const last = text.charCodeAt(limit - 1)
  return text.slice(0, last >= 0xd800 && last <= 0xdbff ? limit - 1 : limit)
}

/**
 * @category conversions
 */
export const itemOf = (entry: MemoryEntry, vector: Vector): VectorItem => ({
  id: entry.id,
  vector,
  timestamp: entry.timestamp,
  role: entry.role,
  metadata: entry.metadata,
  sessionId: entry.sessionId,
  expiresAt: entry.expiresAt
})

/**
 * @category constructors
 */
export const make = (
  backend: MemoryBackend,
  options: { readonly embedder: Embedder; readonly index: VectorIndex; readonly maxCharacters?: number | undefined }
): EntryVectors => {
  const { embedder, index } = options
  const limit = Count.count(options.maxCharacters, defaultMaxCharacters, 2)

  const embedded = (
    entries: ReadonlyArray<MemoryEntry>
  ): Effect.Effect<ReadonlyArray<VectorItem>, EmbeddingError | MemoryStoreError> =>
    Effect.suspend((): Effect.Effect<ReadonlyArray<VectorItem>, EmbeddingError | MemoryStoreError> => {
      if (embedder.model !== index.model || embedder.dimensions !== index.dimensions) {
        return new MemoryStoreError({
          message: `Vectors of ${embedder.model} (${embedder.dimensions}) do not fit an index of ${index.model} (${index.dimensions})`,
          store: index.name,
          hint: "Use the embedder of the model that the index was made with, or make a new index for this one"
        })
      }
      const given = new Map<string, Vector>()
      for (const { embedding, id } of entries) {
        const vector = embedding?.length === index.dimensions ? normalize(embedding) : undefined
        if (vector !== undefined) given.set(id, vector)
      }
      const missing = entries.filter((entry) => !given.has(entry.id))
      const items = () => entries.map((entry) => itemOf(entry, given.get(entry.id) as Vector))
      if (missing.length === 0) return Effect.sync(items)
      return Effect.flatMap(
        embedder.embedMany(missing.map((entry) => truncate(entry.content, limit))),
        (vectors): Effect.Effect<ReadonlyArray<VectorItem>, MemoryStoreError> => {
          if (vectors.length !== missing.length) {
            return new MemoryStoreError({
              message: "The embedder returned a different number of vectors than texts",
              store: index.name
            })
          }
          for (let at = 0; at < missing.length; at++) given.set(missing[at]!.id, vectors[at]!)
          return Effect.sync(items)
        }
      )
    })

  /**
   * Removes the vectors of entries that were not stored, and restores those of entries that exist, within a bounded
   * time.
   */
  const takeBack = (ownerId: string, ids: ReadonlyArray<EntryId>): Effect.Effect<void> =>
    Deadline.run(
      () =>
        Effect.flatMap(backend.get(ownerId, ids), (entries) => {
          const there = new Set(entries.map((entry) => entry.id))
          const gone = ids.filter((id) => !there.has(id))
          const made = Effect.flatMap(embedded(entries), (items) => index.upsert(ownerId, items))
          return Effect.zipRight(gone.length === 0 ? Effect.void : index.delete(ownerId, gone), made)
        }),
      { whole: PATIENCE, onTimeout: () => new Cause.TimeoutException("not taken back") }
    ).pipe(Effect.ignore)

  const apply = (ownerId: string, change: ConditionalChange): Effect.Effect<number | undefined, RetrievalFailure> => {
    const store = change.store ?? []
    const stored = new Set(store.map((entry) => entry.id))
    const gone = (change.delete ?? []).filter((id) => !stored.has(id))
    const undo = takeBack(ownerId, Array.from(stored))
    const write: Effect.Effect<number | undefined, RetrievalFailure> =
      store.length === 0
        ? backend.apply(ownerId, change)
        : Effect.flatMap(embedded(store), (items) =>
            Effect.onError(Effect.zipRight(index.upsert(ownerId, items), backend.apply(ownerId, change)), () => undo)
          )
    return Effect.tap(write, (count) => {
      if (count === undefined) return store.length === 0 ? Effect.void : undo
      return gone.length === 0 ? Effect.void : index.delete(ownerId, gone)
    })
  }

  return {
    apply,
    remove: (ownerId, id) => Effect.zipLeft(backend.apply(ownerId, { delete: [id] }), index.delete(ownerId, [id])),
    clear: (ownerId) => Effect.zipLeft(backend.clear(ownerId), index.clear(ownerId)),
    health: index.health
  }
}
