/**
 * Vectors of entries, and which are nearest.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type { EntryId } from "../domain/Ids.js"
import type { Vector } from "../llm/Embedder.js"
import type { MemoryStoreError, StorageError } from "./MemoryError.js"
import type { Selectable, Selection } from "./Selection.js"

/**
 * How an index fails: a vector of another length is a `MemoryStoreError`.
 *
 * @since 0.1.0
 * @category models
 */
export type VectorIndexFailure = StorageError | MemoryStoreError

/**
 * The vector of an entry, with what selections look at.
 *
 * @since 0.1.0
 * @category models
 */
export interface VectorItem extends Selectable {
  readonly id: EntryId
  readonly vector: Vector
  readonly expiresAt?: number | undefined
}

/**
 * `similarity` is the cosine, -1 to 1.
 *
 * @since 0.1.0
 * @category models
 */
export interface VectorHit {
  readonly id: EntryId
  readonly similarity: number
}

/**
 * @since 0.1.0
 * @category models
 */
export interface Service {
  /** Names it in errors and results: `in_memory`, `pgvector`, … */
  readonly name: string
  /** What made the vectors it holds. */
  readonly model: string
  readonly dimensions: number
  /** All or nothing; an id that exists is replaced. */
  readonly upsert: (ownerId: string, items: ReadonlyArray<VectorItem>) => Effect.Effect<void, VectorIndexFailure>
  /** The nearest among what is selected of the owner and has not expired, nearest first; ties by id (by code unit). */
  readonly search: (
    ownerId: string,
    vector: Vector,
    options: { readonly limit: number; readonly selection?: Selection | undefined }
  ) => Effect.Effect<ReadonlyArray<VectorHit>, VectorIndexFailure>
  /** Ids that do not exist are passed over. */
  readonly delete: (ownerId: string, ids: ReadonlyArray<EntryId>) => Effect.Effect<void, VectorIndexFailure>
  readonly clear: (ownerId: string) => Effect.Effect<void, VectorIndexFailure>
  readonly count: (ownerId: string) => Effect.Effect<number, VectorIndexFailure>
  /** Those of the ids that have a vector here. */
  readonly known: (
    ownerId: string,
    ids: ReadonlyArray<EntryId>
  ) => Effect.Effect<ReadonlySet<EntryId>, VectorIndexFailure>
  readonly health: Effect.Effect<void, VectorIndexFailure>
}

/**
 * @since 0.1.0
 * @category tags
 */
export class VectorIndex extends Context.Tag("effect-lexigram/memory/VectorIndex")<VectorIndex, Service>() {}
