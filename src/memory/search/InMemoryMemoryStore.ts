/**
 * A memory store in this process. Its entries end with the process.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { Embedder } from "../../llm/embedding/Embedder.js"
import * as DefaultMemoryStore from "./DefaultMemoryStore.js"
import * as InMemoryBackend from "./InMemoryBackend.js"
import { MemoryStore, type Service } from "./MemoryStore.js"
import { VectorIndex } from "./VectorIndex.js"

/**
 * Settings of a store: capacity, eviction, analysis of words.
 *
 * @since 0.1.0
 * @category models
 */
export interface Options extends DefaultMemoryStore.Options, Omit<InMemoryBackend.Options, "evicted"> {}

/**
 * Makes a store.
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = (
  options: Options & { readonly vectors?: DefaultMemoryStore.VectorOptions | undefined } = {}
): Effect.Effect<Service> => {
  const index = options.vectors?.index
  return Effect.map(
    InMemoryBackend.make({
      ...options,
      // An evicted entry is gone, whether or not its vector could be removed.
      evicted: index === undefined ? undefined : (ownerId, ids) => Effect.ignore(index.delete(ownerId, ids))
    }),
    (backend) => DefaultMemoryStore.fromBackend(backend, options)
  )
}

/**
 * A store in this process, searched by words.
 *
 * @since 0.1.0
 * @category layers
 * @example
 * ```ts
 * import { Ids } from "effect-lexigram"
 * import { InMemoryMemoryStore, MemoryEntry, MemoryStore } from "effect-lexigram/memory"
 * import * as Clock from "effect/Clock"
 * import * as Effect from "effect/Effect"
 *
 * const program = Effect.gen(function* () {
 *   const store = yield* MemoryStore.MemoryStore
 *   const note = { ownerId: "ada", role: "user", timestamp: yield* Clock.currentTimeMillis } as const
 *   yield* store.store(MemoryEntry.make({ ...note, id: Ids.EntryId.make("1"), content: "Tom lives in Ghent." }))
 *   return yield* store.retrieve({ ownerId: "ada", query: "Where does Tom live?", topK: 5 })
 * }).pipe(Effect.provide(InMemoryMemoryStore.layer({ ttl: "7 days" })))
 * ```
 */
export const layer = (options?: Options): Layer.Layer<MemoryStore> => Layer.effect(MemoryStore, make(options))

/**
 * A store in this process, searched by words and by vectors.
 *
 * @since 0.1.0
 * @category layers
 */
export const layerVectors = (
  options?: Options & Pick<DefaultMemoryStore.VectorOptions, "maxCharacters">
): Layer.Layer<MemoryStore, never, Embedder | VectorIndex> =>
  Layer.effect(
    MemoryStore,
    Effect.flatMap(Effect.all([Embedder, VectorIndex]), ([embedder, index]) =>
      make({ ...options, vectors: { embedder, index, maxCharacters: options?.maxCharacters } })
    )
  )
