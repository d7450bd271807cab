/** A store of entries in maps: every word of the query counts once. */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import type { MemoryEntry } from "../../src/memory/MemoryEntry.js"
import * as MemoryStore from "../../src/memory/MemoryStore.js"
import * as Selection from "../../src/memory/Selection.js"

export const make = (): MemoryStore.Service => {
  const owners = new Map<string, Map<string, MemoryEntry>>()
  const of = (ownerId: string) => owners.get(ownerId) ?? new Map<string, MemoryEntry>()
  const order = (a: MemoryEntry, b: MemoryEntry) => a.timestamp - b.timestamp || (a.id < b.id ? -1 : 1)
  const sorted = (ownerId: string, now: number, selection: Selection.Selection = {}) =>
    [...of(ownerId).values()]
      .filter((entry) => entry.expiresAt === undefined || entry.expiresAt > now)
      .filter(Selection.predicate(selection) ?? (() => true))
      .sort(order)
  const put = (entry: MemoryEntry) => {
    const entries = of(entry.ownerId)
    owners.set(entry.ownerId, entries.set(entry.id, entry))
  }
  const turn = <A>(f: (now: number) => A) => Effect.zipRight(Effect.yieldNow(), Effect.map(Clock.currentTimeMillis, f))
  return {
    name: "map",
    store: (entry) => turn(() => put(entry)),
    storeMany: (entries) => turn(() => entries.forEach(put)),
    retrieve: ({ ownerId, query, topK = 10, ...selection }) =>
      turn((now) => {
        const words = new Set(query.split(" "))
        return sorted(ownerId, now, selection)
          .map((entry) => {
            const shared = entry.content.split(" ").filter((word) => words.has(word)).length
            const relevance = shared / Math.max(1, words.size)
            return { entry, score: relevance, relevance, source: "map" }
          })
          .filter(({ relevance }) => query === "" || relevance > 0)
          .reverse()
          .sort((a, b) => b.score - a.score)
          .slice(0, topK)
      }),
    getRecent: ({ n, ownerId, selection }) => turn((now) => sorted(ownerId, now, selection).reverse().slice(0, n)),
    get: (ownerId, id) => turn(() => Option.fromNullable(of(ownerId).get(id))),
    getMany: (ownerId, ids) => turn(() => ids.flatMap((id) => of(ownerId).get(id) ?? [])),
    delete: (ownerId, id) => turn(() => of(ownerId).delete(id)),
    apply: (ownerId, change) =>
      turn(() => {
        const deleted = (change.delete ?? []).filter((id) => of(ownerId).delete(id)).length
        change.store?.forEach(put)
        return deleted
      }),
    clear: (ownerId) =>
      turn(() => {
        const { size } = of(ownerId)
        owners.delete(ownerId)
        return size
      }),
    count: (ownerId, selection) => turn((now) => sorted(ownerId, now, selection).length),
    stream: (ownerId, selection) => Stream.unwrap(turn((now) => Stream.fromIterable(sorted(ownerId, now, selection)))),
    owners: Stream.suspend(() => Stream.fromIterable([...owners.keys()].sort())),
    recordAccess: () => Effect.void,
    expire: Effect.succeed(0),
    health: Effect.void
  }
}

export const layer: Layer.Layer<MemoryStore.MemoryStore> = Layer.sync(MemoryStore.MemoryStore, make)
