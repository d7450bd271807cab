/**
 * A store that keeps the newest entries of each owner: first in, first out.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Count from "../../internal/Count.js"
import * as KeyedLock from "../../internal/fiber/KeyedLock.js"
import * as MemoryStore from "../search/MemoryStore.js"
import * as WrappedStore from "../search/WrappedStore.js"

/**
 * @since 0.1.0
 * @category models
 */
export interface Options {
  /** Maximum entries of one owner. Default 100. */
  readonly maxEntries?: number | undefined
}

/**
 * Bounds the underlying store for each owner: after a write the oldest entries are removed, tool calls with their
 * results. Entries that the store held before count, too.
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = (
  options?: Options | undefined
): Effect.Effect<MemoryStore.Service, never, MemoryStore.MemoryStore> =>
  Effect.map(MemoryStore.MemoryStore, (store) => {
    const max = Count.count(options?.maxEntries, 100, 1)
    const locks = KeyedLock.make()
    return WrappedStore.make(store, {
      after: (entries) =>
        Effect.forEach(
          new Set(entries.map(({ ownerId }) => ownerId)),
          (ownerId) => locks.withLock(ownerId)(WrappedStore.trim(store, { ownerId, selection: {}, max })),
          { discard: true }
        )
    })
  })

/**
 * @since 0.1.0
 * @category layers
 * @example
 * ```ts
 * import { BufferMemoryStore, InMemoryMemoryStore } from "effect-lexigram/memory"
 * import * as Layer from "effect/Layer"
 *
 * const store = BufferMemoryStore.layer({ maxEntries: 100 }).pipe(Layer.provide(InMemoryMemoryStore.layer()))
 * ```
 */
export const layer = (
  options?: Options | undefined
): Layer.Layer<MemoryStore.MemoryStore, never, MemoryStore.MemoryStore> =>
  Layer.effect(MemoryStore.MemoryStore, make(options))
