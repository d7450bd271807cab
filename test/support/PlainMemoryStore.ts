/** A memory store in a few lines, whose contents tests can look at and whose calls they can make fail. */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import type { EntryId } from "../../src/domain/Ids.js"
import type { MemoryEntry, MemoryQuery } from "../../src/memory/MemoryEntry.js"
import { MemoryStoreError, type RetrievalFailure } from "../../src/memory/MemoryError.js"
import * as MemoryStore from "../../src/memory/MemoryStore.js"
import * as Selection from "../../src/memory/Selection.js"

const order = (a: MemoryEntry, b: MemoryEntry): number =>
  a.timestamp - b.timestamp || (a.id < b.id ? -1 : a.id > b.id ? 1 : 0)

export interface Plain extends MemoryStore.Service {
  /** What the owner has, oldest first. */
  readonly all: (ownerId: string) => ReadonlyArray<MemoryEntry>
  /** Queries as they came. */
  readonly queries: Array<MemoryQuery>
  /** How often each method was called. */
  readonly calls: Map<string, number>
  /** Runs before the method, and fails it if it fails. */
  readonly before: Map<string, Effect.Effect<void, RetrievalFailure>>
}

export const refusal = new MemoryStoreError({ message: "refused", store: "plain" })

export const make = (): Plain => {
  const owners = new Map<string, Map<EntryId, MemoryEntry>>()
  const of = (ownerId: string): Map<EntryId, MemoryEntry> => {
    const own = owners.get(ownerId) ?? new Map<EntryId, MemoryEntry>()
    owners.set(ownerId, own)
    return own
  }
  const calls = new Map<string, number>()
  const before = new Map<string, Effect.Effect<void, any>>()
  const queries: Array<MemoryQuery> = []
  const step = <A>(name: string, f: (now: number) => A): Effect.Effect<A, any> =>
    Effect.suspend(() => {
      calls.set(name, (calls.get(name) ?? 0) + 1)
      return Effect.zipRight(
        before.get(name) ?? Effect.void,
        Effect.clockWith((clock) => Effect.sync(() => f(clock.unsafeCurrentTimeMillis())))
      )
    })
  const all = (ownerId: string): ReadonlyArray<MemoryEntry> => Array.from(of(ownerId).values()).sort(order)
  const put = (entry: MemoryEntry): void => {
    const known = of(entry.ownerId).get(entry.id)
    const accessCount = Math.max(known?.accessCount ?? 0, entry.accessCount ?? 0)
    of(entry.ownerId).set(entry.id, { ...entry, ...(accessCount === 0 ? {} : { accessCount }) })
  }
  return {
    all,
    queries,
    calls,
    before,
    name: "plain",
    store: (entry) => step("store", () => put(entry)),
    storeMany: (entries) => step("storeMany", () => entries.forEach(put)),
    retrieve: (query) =>
      step("retrieve", () => {
        queries.push(query)
        const wanted = query.query.toLowerCase().split(" ")
        return all(query.ownerId)
          .filter(({ content }) => wanted.some((word) => content.toLowerCase().includes(word)))
          .slice(0, query.topK)
          .map((entry) => ({ entry, score: 1, relevance: 1, source: "plain" }))
      }),
    getRecent: ({ n, ownerId, selection }) =>
      step("getRecent", () =>
        all(ownerId)
          .filter(Selection.predicate(selection ?? {}) ?? (() => true))
          .slice(-n)
          .reverse()
      ),
    get: (ownerId, id) => step("get", () => Option.fromNullable(of(ownerId).get(id))),
    getMany: (ownerId, ids) => step("getMany", () => ids.flatMap((id) => of(ownerId).get(id) ?? [])),
    delete: (ownerId, id) => step("delete", () => of(ownerId).delete(id)),
    apply: (ownerId, change) =>
      step("apply", () => {
        const gone = (change.delete ?? []).filter((id) => of(ownerId).delete(id))
        change.store?.forEach(put)
        return gone.length
      }),
    clear: (ownerId) =>
      step("clear", () => {
        const { size } = of(ownerId)
        owners.delete(ownerId)
        return size
      }),
    count: (ownerId) => step("count", () => of(ownerId).size),
    stream: (ownerId, selection) =>
      Stream.unwrap(
        step("stream", () =>
          Stream.fromIterable(all(ownerId).filter(Selection.predicate(selection ?? {}) ?? (() => true)))
        )
      ),
    owners: Stream.unwrap(
      step("owners", () =>
        Stream.fromIterable(
          Array.from(owners.keys())
            .filter((owner) => of(owner).size > 0)
            .sort()
        )
      )
    ),
    recordAccess: (ownerId, ids) =>
      step("recordAccess", (now) => {
        for (const id of ids) {
          const entry = of(ownerId).get(id)
          if (entry === undefined) continue
          of(ownerId).set(id, { ...entry, accessCount: (entry.accessCount ?? 0) + 1, lastAccessedAt: now })
        }
      }),
    expire: Effect.succeed(0),
    health: step("health", () => undefined)
  }
}

export const layer = (store: Plain): Layer.Layer<MemoryStore.MemoryStore> =>
  Layer.succeed(MemoryStore.MemoryStore, store)
