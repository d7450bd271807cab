/**
 * The vector index port: stores vectors of entries and finds the nearest.
 *
 * @since 0.1.0
 */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type { EntryId } from "../../domain/Ids.js"
import type { Vector } from "../../llm/embedding/Embedder.js"
import { Embedder, normalize } from "../../llm/embedding/Embedder.js"
import type { StorageError } from "../entry/MemoryError.js"
import { MemoryStoreError, MemorySystemError } from "../entry/MemoryError.js"
import type { Selectable, Selection } from "../entry/Selection.js"
import { predicate } from "../entry/Selection.js"
import * as VectorTable from "./VectorTable.js"

/**
 * Errors of an index. A vector of another length or with a non-finite number is a `MemoryStoreError`.
 *
 * @since 0.1.0
 * @category models
 */
export type VectorIndexFailure = StorageError | MemoryStoreError

/**
 * The vector of an entry, with the fields that selections read.
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
 * `similarity` is the cosine, -1 to 1. For a zero vector it is 0.
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
  /** Identifies the index in errors and results: `in_memory`, `pgvector`, … */
  readonly name: string
  /** The model that made the vectors. */
  readonly model: string
  readonly dimensions: number
  /** All or nothing. Replaces existing ids. Of two items with one id the last wins. */
  readonly upsert: (ownerId: string, items: ReadonlyArray<VectorItem>) => Effect.Effect<void, VectorIndexFailure>
  /** The nearest unexpired items of the owner's selection, nearest first; ties by id (by code unit). */
  readonly search: (
    ownerId: string,
    vector: Vector,
    options: { readonly limit: number; readonly selection?: Selection | undefined }
  ) => Effect.Effect<ReadonlyArray<VectorHit>, VectorIndexFailure>
  /** Ignores ids that do not exist. */
  readonly delete: (ownerId: string, ids: ReadonlyArray<EntryId>) => Effect.Effect<void, VectorIndexFailure>
  readonly clear: (ownerId: string) => Effect.Effect<void, VectorIndexFailure>
  readonly count: (ownerId: string) => Effect.Effect<number, VectorIndexFailure>
  /** The ids that have a vector in the index. */
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

/**
 * @since 0.1.0
 * @category models
 */
export interface MemoryOptions {
  readonly model: string
  readonly dimensions: number
  /** Identifies the index in errors and results. Default `in_memory`. */
  readonly name?: string | undefined
}

/** Number of items below which expired ones are not searched. */
const minSweep = 1024

/**
 * An exact index in this process: compares every vector of the owner. A search among 100,000 vectors of 512 dimensions
 * takes some tens of milliseconds and yields to other work. Expired items are removed gradually.
 *
 * @since 0.1.0
 * @category constructors
 */
export const makeMemory = (options: MemoryOptions): Effect.Effect<Service> =>
  Effect.sync(() => {
    const { dimensions, model } = options
    const name = options.name ?? "in_memory"
    const owners = new Map<string, VectorTable.VectorTable>()
    let total = 0
    let sweepAt = minSweep

    /** The vector scaled to length 1, or the reason why it cannot be stored. */
    const checked = (vector: Vector): Vector | MemoryStoreError => {
      if (vector.length !== dimensions) {
        return new MemoryStoreError({
          store: name,
          message: `A vector of length ${vector.length} does not fit an index of vectors of length ${dimensions}`,
          hint: `The index holds vectors of the model ${model}. Use a separate index for another model.`
        })
      }
      return (
        normalize(vector) ??
        new MemoryStoreError({ store: name, message: "A vector contains a number that is not finite" })
      )
    }

    const drop = (ownerId: string, table: VectorTable.VectorTable, ids: Iterable<EntryId>): void => {
      for (const id of ids) if (table.delete(id)) total--
      if (table.size === 0) owners.delete(ownerId)
    }

    const sweep = (now: number): void => {
      for (const [ownerId, table] of owners) drop(ownerId, table, table.expired(now))
      sweepAt = Math.max(minSweep, 2 * total)
    }

    return {
      name,
      model,
      dimensions,
      upsert: (ownerId, items) =>
        Effect.flatMap(Clock.currentTimeMillis, (now) => {
          const vectors: Array<Vector> = []
          for (const item of items) {
            const vector = checked(item.vector)
            if (vector instanceof MemoryStoreError) return Effect.fail(vector)
            vectors.push(vector)
          }
          if (items.length === 0) return Effect.void
          // Sweeps only after the number doubled, so that the cost per item is constant.
          if (total >= sweepAt) sweep(now)
          let table = owners.get(ownerId)
          if (table === undefined) {
            table = VectorTable.make(dimensions)
            owners.set(ownerId, table)
          }
          for (let i = 0; i < items.length; i++) {
            if (table.set(items[i] as VectorItem, vectors[i] as Vector)) total++
          }
          return Effect.void
        }),
      search: (ownerId, vector, { limit, selection }) =>
        Effect.flatMap(Clock.currentTimeMillis, (now) => {
          const query = checked(vector)
          if (query instanceof MemoryStoreError) return Effect.fail(query)
          const table = owners.get(ownerId)
          if (table === undefined) return Effect.succeed([])
          return Effect.succeed(
            table.nearest(query, { limit, now, accepts: selection === undefined ? undefined : predicate(selection) })
          )
        }),
      delete: (ownerId, ids) =>
        Effect.sync(() => {
          const table = owners.get(ownerId)
          if (table !== undefined) drop(ownerId, table, ids)
        }),
      clear: (ownerId) =>
        Effect.sync(() => {
          total -= owners.get(ownerId)?.size ?? 0
          owners.delete(ownerId)
        }),
      count: (ownerId) =>
        Effect.map(Clock.currentTimeMillis, (now) => {
          const table = owners.get(ownerId)
          if (table === undefined) return 0
          drop(ownerId, table, table.expired(now))
          return table.size
        }),
      known: (ownerId, ids) =>
        Effect.map(Clock.currentTimeMillis, (now) => {
          const table = owners.get(ownerId)
          return new Set(table === undefined ? [] : ids.filter((id) => table.has(id, now)))
        }),
      health: Effect.void
    }
  })

/**
 * An index in this process for the vectors of the embedder.
 *
 * @since 0.1.0
 * @category layers
 * @example
 * ```ts
 * import { HashingEmbedder } from "effect-lexigram/llm"
 * import { InMemoryMemoryStore, VectorIndex } from "effect-lexigram/memory"
 * import * as Layer from "effect/Layer"
 *
 * // Entries are found by words and by meaning.
 * const store = InMemoryMemoryStore.layerVectors().pipe(
 *   Layer.provide(VectorIndex.layerMemory()),
 *   Layer.provide(HashingEmbedder.layer({ dimensions: 256 }))
 * )
 * ```
 */
export const layerMemory = (
  options?: Pick<MemoryOptions, "name"> | undefined
): Layer.Layer<VectorIndex, never, Embedder> =>
  Layer.effect(
    VectorIndex,
    Effect.flatMap(Embedder, ({ dimensions, model }) => makeMemory({ model, dimensions, name: options?.name }))
  )

/**
 * Succeeds if the index holds vectors of this embedder: of the same model and length.
 *
 * @since 0.1.0
 * @category checks
 */
export const check = (
  embedder: Pick<Embedder["Type"], "model" | "dimensions">,
  index: Pick<Service, "name" | "model" | "dimensions">
): Effect.Effect<void, MemorySystemError> =>
  embedder.model === index.model && embedder.dimensions === index.dimensions
    ? Effect.void
    : Effect.fail(
        new MemorySystemError({
          message:
            `The index ${index.name} holds vectors of ${index.model} (length ${index.dimensions}), ` +
            `but the embedder makes vectors of ${embedder.model} (length ${embedder.dimensions})`,
          hint: "Give the index the model and dimensions of the embedder, and embed its entries again."
        })
      )

/**
 * Fails to build if {@link check} fails. For an index that is composed separately from its embedder.
 *
 * @since 0.1.0
 * @category checks
 */
export const layerCheck: Layer.Layer<never, MemorySystemError, Embedder | VectorIndex> = Layer.effectDiscard(
  Effect.flatMap(Effect.all([Embedder, VectorIndex]), ([embedder, index]) => check(embedder, index))
)
