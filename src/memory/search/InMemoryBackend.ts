/**
 * A memory backend in this process. The cost of a call does not grow with the number of entries, apart from those it
 * reads. The next call removes what has expired.
 *
 * @private
 * @since 0.1.0
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import type * as Order from "effect/Order"
import type { EntryId } from "../../domain/Ids.js"
import * as Count from "../../internal/Count.js"
import { IndexedHeap } from "../../internal/IndexedHeap.js"
import { OrderedList } from "../../internal/OrderedList.js"
import type { ConditionalChange, MemoryBackend } from "../entry/MemoryBackend.js"
import type { MemoryEntry } from "../entry/MemoryEntry.js"
import { MemoryCapacityError, type MemoryStoreFailure } from "../entry/MemoryError.js"
import * as MemoryMetrics from "../entry/MemoryMetrics.js"
import * as Unchanged from "../entry/Unchanged.js"
import { scratch } from "../text/LexicalIndex.js"
import * as TextAnalyzer from "../text/TextAnalyzer.js"
import { byPosition, type Eviction, type Held, OwnerEntries } from "./OwnerEntries.js"

/**
 * Which entry to evict: the oldest, the least important (the oldest of them), the least recently stored or recalled, or
 * the first in a custom order, which must not throw.
 *
 * @category models
 */
export type EvictionPolicy = "oldest" | "leastImportant" | "leastRecentlyUsed" | Order.Order<MemoryEntry>

/**
 * @category models
 */
export interface Options {
  /** Maximum entries of one owner. Default 100,000. */
  readonly capacityPerOwner?: number | undefined
  /** Maximum entries of all owners. Default 1,000,000. */
  readonly capacity?: number | undefined
  /**
   * What happens if an entry does not fit: `fail` (default) rejects it with a `MemoryCapacityError`; a policy evicts
   * another entry of the owner. If the whole store is full, the owner with the most entries loses one. A call never
   * evicts what it stores itself, so a call with more entries than fit is rejected.
   */
  readonly onFull?: "fail" | EvictionPolicy | undefined
  /** Analyzes words. Default `TextAnalyzer.english`. */
  readonly analyzer?: TextAnalyzer.TextAnalyzer | undefined
  /** Called with the entries that were evicted. */
  readonly evicted?: ((ownerId: string, ids: ReadonlyArray<EntryId>) => Effect.Effect<void>) | undefined
}

const NAME = "in_memory"

const evictionOf = (policy: "fail" | EvictionPolicy): Eviction | undefined => {
  switch (policy) {
    case "fail":
    case "oldest":
      return undefined
    case "leastImportant":
      return (a, b) => a.entry.importance - b.entry.importance || byPosition(a.entry, b.entry)
    case "leastRecentlyUsed":
      return (a, b) => a.usedAt - b.usedAt || byPosition(a.entry, b.entry)
    default:
      return (a, b) => policy(a.entry, b.entry) || byPosition(a.entry, b.entry)
  }
}

const later = (a: number | undefined, b: number | undefined): number | undefined =>
  a === undefined ? b : b === undefined ? a : Math.max(a, b)

/** The higher access count and time stay. */
const accessed = (entry: MemoryEntry, before: MemoryEntry | undefined): MemoryEntry => {
  const accessCount = later(entry.accessCount, before?.accessCount)
  const lastAccessedAt = later(entry.lastAccessedAt, before?.lastAccessedAt)
  return accessCount === entry.accessCount && lastAccessedAt === entry.lastAccessedAt
    ? entry
    : Object.freeze({
        ...entry,
        ...(accessCount === undefined ? {} : { accessCount }),
        ...(lastAccessedAt === undefined ? {} : { lastAccessedAt })
      })
}

const refusal = (capacity: number) =>
  new MemoryCapacityError({
    message: `The store is full: it holds at most ${capacity} entries`,
    capacity,
    hint: "Raise the capacity, let entries expire, or choose which ones to evict with `onFull`"
  })

class Store {
  private readonly owners = new Map<string, OwnerEntries>()
  private readonly names = new OrderedList<string>((a, b) => (a < b ? -1 : a > b ? 1 : 0))
  /** The owner with the most entries first. */
  private readonly sizes = new IndexedHeap<"rank", OwnerEntries>("rank", (a, b) => b.size - a.size)
  private readonly expiries = new IndexedHeap<"expiry", Held>(
    "expiry",
    (a, b) => (a.entry.expiresAt as number) - (b.entry.expiresAt as number)
  )
  private readonly room = scratch()
  private held = 0

  constructor(
    private readonly perOwner: number,
    private readonly capacity: number,
    private readonly analyzer: TextAnalyzer.TextAnalyzer,
    private readonly evicts: boolean,
    private readonly eviction: Eviction | undefined
  ) {}

  owner(ownerId: string): OwnerEntries | undefined {
    return this.owners.get(ownerId)
  }

  ownersAfter(after: string | undefined, limit: number): ReadonlyArray<string> {
    const found: Array<string> = []
    if (limit <= 0) return found
    for (const name of this.names.ascending((name) => after === undefined || name > after)) {
      found.push(name)
      if (found.length >= limit) break
    }
    return found
  }

  /** Removes what has expired and returns how many entries it removed. */
  expire(now: number): number {
    let count = 0
    for (let first = this.expiries.first; first !== undefined; first = this.expiries.first) {
      if ((first.entry.expiresAt as number) > now) break
      this.remove(first)
      count++
    }
    if (count > 0) this.report()
    return count
  }

  clear(ownerId: string): number {
    const owner = this.owners.get(ownerId)
    if (owner === undefined) return 0
    const count = owner.size
    for (const item of owner.items()) this.expiries.remove(item)
    this.owners.delete(ownerId)
    this.names.remove(ownerId)
    this.sizes.remove(owner)
    this.held -= count
    this.report()
    return count
  }

  /** Checks everything that could reject the change before it changes anything. */
  apply(
    ownerId: string,
    change: ConditionalChange,
    now: number
  ): { readonly deleted: number; readonly evicted: ReadonlyArray<Held> } | MemoryCapacityError | undefined {
    const before = this.owners.get(ownerId)
    if (!Unchanged.holds(change.unchanged, (id) => before?.get(id)?.entry)) return undefined
    const stored = new Map<string, MemoryEntry>()
    const leaving = new Map<string, Held>()
    const leave = (id: EntryId): void => {
      const item = before?.get(id)
      if (item !== undefined) leaving.set(id, item)
    }
    for (const id of change.delete ?? []) leave(id)
    const deleted = leaving.size
    // Deletions come first: a new entry inherits nothing from a deleted one.
    const kept = (id: string) => (leaving.has(id) ? undefined : before?.get(id as EntryId)?.entry)
    for (const entry of change.store ?? []) stored.set(entry.id, accessed(entry, kept(entry.id)))
    for (const { expiresAt, id } of stored.values()) {
      leave(id)
      if (expiresAt !== undefined && expiresAt <= now) stored.delete(id)
    }
    const owned = (before?.size ?? 0) - leaving.size + stored.size
    const total = this.held - leaving.size + stored.size
    const tooMany = (count: number, capacity: number) => (this.evicts ? stored.size : count) > capacity
    if (tooMany(owned, this.perOwner)) return refusal(this.perOwner)
    if (tooMany(total, this.capacity)) return refusal(this.capacity)
    for (const item of leaving.values()) this.remove(item)
    const evicted = this.makeRoom(ownerId, stored.size)
    for (const entry of stored.values()) this.add(ownerId, entry, now)
    this.report()
    return { deleted, evicted }
  }

  recordAccess(ownerId: string, ids: ReadonlyArray<EntryId>, at: number): void {
    const owner = this.owners.get(ownerId)
    for (const id of ids) {
      const item = owner?.get(id)
      if (item === undefined) continue
      const entry = Object.freeze({
        ...item.entry,
        accessCount: (item.entry.accessCount ?? 0) + 1,
        lastAccessedAt: Math.max(at, item.entry.lastAccessedAt ?? at)
      })
      owner?.replace(item, entry, Math.max(at, item.usedAt))
    }
  }

  search(ownerId: string, options: Parameters<MemoryBackend["lexical"]>[1]) {
    const owner = this.owners.get(ownerId)
    if (owner === undefined) return { hits: [], ceiling: 0, entries: 0 }
    const { ceiling, hits } = owner.search(
      TextAnalyzer.queryTerms(this.analyzer, options.text),
      options.limit,
      options.selection
    )
    return { hits: hits.map(({ item, score }) => ({ entry: item.entry, score })), ceiling, entries: owner.size }
  }

  private add(ownerId: string, entry: MemoryEntry, now: number): void {
    let owner = this.owners.get(ownerId)
    if (owner === undefined) {
      owner = new OwnerEntries(ownerId, this.room, this.eviction)
      this.owners.set(ownerId, owner)
      this.names.add(ownerId)
      this.sizes.add(owner)
    }
    const item = owner.add(entry, Math.max(now, entry.lastAccessedAt ?? now), this.analyzer.analyze(entry.content))
    if (entry.expiresAt !== undefined) this.expiries.add(item)
    this.held++
    this.sizes.moved(owner)
  }

  private remove(item: Held): void {
    const owner = item.owner
    owner.remove(item)
    this.expiries.remove(item)
    this.held--
    if (owner.size > 0) {
      this.sizes.moved(owner)
      return
    }
    this.owners.delete(owner.ownerId)
    this.names.remove(owner.ownerId)
    this.sizes.remove(owner)
  }

  private makeRoom(ownerId: string, entries: number): ReadonlyArray<Held> {
    const evicted: Array<Held> = []
    for (;;) {
      const owner = this.owners.get(ownerId)
      const from =
        owner !== undefined && owner.size + entries > this.perOwner
          ? owner
          : this.held + entries > this.capacity
            ? this.sizes.first
            : undefined
      const item = from?.evictable
      if (item === undefined) return evicted
      this.remove(item)
      evicted.push(item)
    }
  }

  private report(): void {
    MemoryMetrics.held(NAME, this.held)
  }
}

/**
 * @category constructors
 */
export const make = (options: Options = {}): Effect.Effect<MemoryBackend> =>
  Effect.sync(() => {
    const onFull = options.onFull ?? "fail"
    const store = new Store(
      Count.count(options.capacityPerOwner, 100_000, 1),
      Count.count(options.capacity, 1_000_000, 1),
      options.analyzer ?? TextAnalyzer.english,
      onFull !== "fail",
      evictionOf(onFull)
    )
    const current = <A>(read: (now: number) => A): Effect.Effect<A> =>
      Effect.map(Clock.currentTimeMillis, (now) => {
        store.expire(now)
        return read(now)
      })
    const evicted = options.evicted
    return {
      name: NAME,
      apply: (ownerId, change) =>
        Effect.flatMap(
          current((now) => store.apply(ownerId, change, now)),
          (applied): Effect.Effect<number | undefined, MemoryStoreFailure> => {
            if (applied === undefined) return Effect.succeed(undefined)
            if (applied instanceof MemoryCapacityError) return Effect.fail(applied)
            if (evicted === undefined || applied.evicted.length === 0) return Effect.succeed(applied.deleted)
            const byOwner = new Map<string, Array<EntryId>>()
            for (const { entry, owner } of applied.evicted) {
              const ids = byOwner.get(owner.ownerId)
              if (ids === undefined) byOwner.set(owner.ownerId, [entry.id])
              else ids.push(entry.id)
            }
            return Effect.as(
              Effect.forEach(byOwner, ([owner, ids]) => evicted(owner, ids), { discard: true }),
              applied.deleted
            )
          }
        ),
      get: (ownerId, ids) =>
        current(() => {
          const owner = store.owner(ownerId)
          const found: Array<MemoryEntry> = []
          for (const id of ids) {
            const item = owner?.get(id)
            if (item !== undefined) found.push(item.entry)
          }
          return found
        }),
      recent: (ownerId, { before, limit, selection }) =>
        current(() => store.owner(ownerId)?.read({ direction: -1, limit, selection, from: before }) ?? []),
      page: (ownerId, { after, limit, selection }) =>
        current(() => store.owner(ownerId)?.read({ direction: 1, limit, selection, from: after }) ?? []),
      lexical: (ownerId, options) => current(() => store.search(ownerId, options)),
      around: (ownerId, id, options) =>
        current(() => {
          const owner = store.owner(ownerId)
          const item = owner?.get(id)
          return owner === undefined || item === undefined ? [] : owner.around(item, options)
        }),
      count: (ownerId, selection) => current(() => store.owner(ownerId)?.count(selection) ?? 0),
      owners: ({ after, limit }) => current(() => store.ownersAfter(after, limit)),
      recordAccess: (ownerId, ids, at) => current(() => store.recordAccess(ownerId, ids, at)),
      clear: (ownerId) => current(() => store.clear(ownerId)),
      expire: Effect.map(Clock.currentTimeMillis, (now) => store.expire(now)),
      health: Effect.void
    }
  })
