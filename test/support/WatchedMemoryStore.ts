/** A memory store whose calls tests can count, inspect and fail. */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Stream from "effect/Stream"
import type { MemoryEntry, MemoryQuery } from "../../src/memory/entry/MemoryEntry.js"
import { MemoryStoreError, type RetrievalFailure } from "../../src/memory/entry/MemoryError.js"
import * as InMemoryMemoryStore from "../../src/memory/search/InMemoryMemoryStore.js"
import * as MemoryStore from "../../src/memory/search/MemoryStore.js"

type Method = "storeMany" | "retrieve" | "getMany" | "apply" | "stream" | "owners" | "recordAccess" | "health"

export interface Watched extends MemoryStore.Service {
  /** Entries of an owner, oldest first. */
  readonly all: (ownerId: string) => Effect.Effect<ReadonlyArray<MemoryEntry>>
  readonly queries: Array<MemoryQuery>
  /** Called methods, in order. */
  readonly calls: Array<Method>
  /** Runs before the method, and fails it if it fails. */
  readonly before: Map<Method, Effect.Effect<unknown, RetrievalFailure>>
}

export const refusal = new MemoryStoreError({ message: "refused", store: "watched" })

/** Entries do not expire by default. */
export const make = (options?: InMemoryMemoryStore.Options): Effect.Effect<Watched> =>
  Effect.map(InMemoryMemoryStore.make({ ttl: 0, ...options }), (store) => {
    const queries: Array<MemoryQuery> = []
    const calls: Array<Method> = []
    const before = new Map<Method, Effect.Effect<unknown, any>>()
    const first = (method: Method): Effect.Effect<void, any> =>
      Effect.suspend(() => {
        calls.push(method)
        return Effect.asVoid(before.get(method) ?? Effect.void)
      })
    return {
      ...store,
      queries,
      calls,
      before,
      all: (ownerId) =>
        Stream.runCollect(store.stream(ownerId)).pipe(
          Effect.map((entries) => Array.from(entries)),
          Effect.orDie
        ),
      storeMany: (entries) => Effect.zipRight(first("storeMany"), store.storeMany(entries)),
      retrieve: (query) =>
        Effect.zipRight(
          first("retrieve"),
          Effect.suspend(() => {
            queries.push(query)
            return store.retrieve(query)
          })
        ),
      getMany: (ownerId, ids) => Effect.zipRight(first("getMany"), store.getMany(ownerId, ids)),
      apply: (ownerId, change) => Effect.zipRight(first("apply"), store.apply(ownerId, change)),
      applyIf: (ownerId, unchanged, change) =>
        Effect.zipRight(first("apply"), store.applyIf(ownerId, unchanged, change)),
      stream: (ownerId, selection) => Stream.unwrap(Effect.as(first("stream"), store.stream(ownerId, selection))),
      owners: Stream.unwrap(Effect.as(first("owners"), store.owners)),
      recordAccess: (ownerId, ids) => Effect.zipRight(first("recordAccess"), store.recordAccess(ownerId, ids)),
      health: Effect.zipRight(first("health"), store.health)
    }
  })

export const layer = (store: Watched): Layer.Layer<MemoryStore.MemoryStore> =>
  Layer.succeed(MemoryStore.MemoryStore, store)
