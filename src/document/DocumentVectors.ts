/**
 * The vectors of chunks.
 *
 * @private
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import type { EntryId, SessionId } from "../domain/Ids.js"
import type { Service as Embedder, EmbeddingError } from "../llm/embedding/Embedder.js"
import type { MemoryEntry } from "../memory/entry/MemoryEntry.js"
import type { MemorySystemError } from "../memory/entry/MemoryError.js"
import { itemOf, truncate } from "../memory/search/EntryVectors.js"
import {
  check,
  type VectorHit,
  type Service as VectorIndex,
  type VectorIndexFailure
} from "../memory/search/VectorIndex.js"

/**
 * How documents are found by meaning.
 *
 * @category models
 */
export interface Vectors {
  readonly embedder: Embedder
  readonly index: VectorIndex
}

/** Characters of a chunk or a query that are embedded. */
const MAX_CHARACTERS = 8_000

/** Chunks that are embedded by one call. */
const BATCH = 256

/**
 * Names the vectors of a model, which cannot be compared with others.
 *
 * @category getters
 */
export const modelOf = ({ embedder, index }: Vectors): string =>
  JSON.stringify([index.name, embedder.model, embedder.dimensions])

/** Errors of vectors. They never fail an ingestion or a search. */
type Failure = EmbeddingError | VectorIndexFailure | MemorySystemError

/**
 * Embeds the chunks that have no vector yet.
 *
 * @category combinators
 */
export const add = Effect.fnUntraced(function* (
  { embedder, index }: Vectors,
  ownerId: string,
  entries: ReadonlyArray<MemoryEntry>
) {
  yield* check(embedder, index)
  for (let at = 0; at < entries.length; at += BATCH) {
    const batch = entries.slice(at, at + BATCH)
    const known = yield* index.known(
      ownerId,
      batch.map(({ id }) => id)
    )
    const missing = batch.filter(({ id }) => !known.has(id))
    if (missing.length === 0) continue
    const vectors = yield* embedder.embedMany(missing.map(({ content }) => truncate(content, MAX_CHARACTERS)))
    const items = missing.flatMap((entry, n) => {
      const vector = vectors[n]
      return vector === undefined ? [] : [itemOf(entry, vector)]
    })
    yield* index.upsert(ownerId, items)
  }
})

/**
 * Removes vectors. One that stays behind finds nothing.
 *
 * @category combinators
 */
export const remove = (
  vectors: Vectors | undefined,
  ownerId: string,
  ids: ReadonlyArray<EntryId>
): Effect.Effect<void> =>
  vectors === undefined || ids.length === 0 ? Effect.void : Effect.ignoreLogged(vectors.index.delete(ownerId, ids))

/**
 * @category combinators
 */
export const nearest = (
  { embedder, index }: Vectors,
  ownerId: string,
  options: { readonly text: string; readonly limit: number; readonly sessionIds: ReadonlyArray<SessionId> | undefined }
): Effect.Effect<ReadonlyArray<VectorHit>, Failure> =>
  Effect.flatMap(
    Effect.zipRight(check(embedder, index), embedder.embed(truncate(options.text, MAX_CHARACTERS))),
    (vector) =>
      index.search(ownerId, vector, {
        limit: options.limit,
        selection: options.sessionIds === undefined ? {} : { sessionIds: options.sessionIds }
      })
  )

/**
 * Turns a failure into a warning, which is also logged.
 *
 * @category combinators
 */
export const warned = <A>(
  effect: Effect.Effect<A, Failure>,
  what: string
): Effect.Effect<{ readonly value?: A; readonly warning?: string }> =>
  Effect.matchEffect(effect, {
    onFailure: ({ message }) => {
      const warning = `${what}: ${message}`
      return Effect.as(Effect.logWarning(warning), { warning })
    },
    onSuccess: (value) => Effect.succeed({ value })
  })
