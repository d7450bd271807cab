/**
 * A memory store on a `CacheBackend`: Redis, a `KeyValueStore`, this process. Entries live as long as the cache keeps
 * them.
 *
 * The entries of an owner are written in segments of up to 32, and a head that lists the current segments. A change
 * takes effect when its head is written, and the size of a write does not grow with the number of entries. Each process
 * reads the entries of an owner once and searches them in its own memory. After that, a read requests only the head,
 * and reads what another process has changed.
 *
 * A cache has no conditional write. Within a process, changes of an owner are sequential; if two processes change the
 * same owner at the same moment, one change is lost. So let one process at a time write for an owner, or use a
 * database. Entries that the cache evicts are gone, up to a segment at once, or all of an owner with its head.
 * Unreadable records count as evicted, with a warning. Only an unreadable head is a `StorageError`, so that a head of a
 * later version is not overwritten; `clear` removes it.
 *
 * @since 0.1.0
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type { EntryId } from "../../domain/Ids.js"
import * as Count from "../../internal/Count.js"
import { CacheBackend } from "../../llm/CacheBackend.js"
import type { Change, MemoryBackend } from "../entry/MemoryBackend.js"
import type { MemoryEntry } from "../entry/MemoryEntry.js"
import type { StorageError } from "../entry/MemoryError.js"
import * as Unchanged from "../entry/Unchanged.js"
import * as DefaultMemoryStore from "../search/DefaultMemoryStore.js"
import * as MemoryStore from "../search/MemoryStore.js"
import { scratch } from "../text/LexicalIndex.js"
import * as TextAnalyzer from "../text/TextAnalyzer.js"
import * as CacheAccess from "./CacheAccess.js"
import { CacheDecoded } from "./CacheDecoded.js"
import * as CacheOwners from "./CacheOwners.js"
import * as Records from "./CacheRecords.js"
import type { Written } from "./CacheSegments.js"
import * as CacheState from "./CacheState.js"

/**
 * @since 0.1.0
 * @category models
 */
export interface BackendOptions {
  /** Prefix of every key. Default `mem`. */
  readonly prefix?: string | undefined
  /**
   * Maximum entries of all owners that are kept in memory for searches. Default 100,000. The least recently used owners
   * are dropped and read again when needed. The most recently used owner always stays.
   */
  readonly maxReady?: number | undefined
  /** Analyzes words. Default `TextAnalyzer.english`. */
  readonly analyzer?: TextAnalyzer.TextAnalyzer | undefined
}

/**
 * @since 0.1.0
 * @category models
 */
export interface Options extends DefaultMemoryStore.Options, BackendOptions {}

const pageSize = 64

const measure = (entry: MemoryEntry): Written => ({ entry, characters: JSON.stringify(entry).length })

const higher = (a: number | undefined, b: number | undefined): number | undefined =>
  a === undefined ? b : b === undefined ? a : Math.max(a, b)

const withFigures = (entry: MemoryEntry, accessCount: number | undefined, lastAccessedAt: number | undefined) =>
  Object.freeze({
    ...entry,
    ...(accessCount === undefined ? {} : { accessCount }),
    ...(lastAccessedAt === undefined ? {} : { lastAccessedAt })
  })

const soonestOf = (references: ReadonlyArray<Records.Reference>): number =>
  references.reduce((soonest, one) => Math.min(soonest, one.soonest), Number.POSITIVE_INFINITY)

/** The changes of a state, and how many of the deleted entries existed. */
const changesOf = ({ decoded, segments }: CacheState.State, change: Change, now: number) => {
  const changes = new Map<EntryId, Written | undefined>()
  let deleted = 0
  for (const id of new Set(change.delete ?? [])) {
    if (decoded.get(id) !== undefined) deleted++
    if (segments.has(id)) changes.set(id, undefined)
  }
  for (const entry of change.store ?? []) {
    const before = changes.has(entry.id) ? changes.get(entry.id)?.entry : decoded.get(entry.id)
    if (entry.expiresAt === undefined || entry.expiresAt > now) {
      const accessCount = higher(entry.accessCount, before?.accessCount)
      const lastAccessedAt = higher(entry.lastAccessedAt, before?.lastAccessedAt)
      changes.set(entry.id, measure(withFigures(entry, accessCount, lastAccessedAt)))
    } else if (segments.has(entry.id)) changes.set(entry.id, undefined)
    else changes.delete(entry.id)
  }
  return { changes, deleted }
}

/** Counts one more access of each of these entries. */
const accessesOf = ({ decoded }: CacheState.State, ids: ReadonlyArray<EntryId>, at: number): CacheState.Changes => {
  const changes = new Map<EntryId, Written>()
  for (const id of ids) {
    const entry = changes.get(id)?.entry ?? decoded.get(id)
    if (entry === undefined) continue
    const count = (entry.accessCount ?? 0) + 1
    changes.set(id, measure(withFigures(entry, count, Math.max(at, entry.lastAccessedAt ?? at))))
  }
  return changes
}

interface Store {
  readonly access: CacheAccess.Access
  readonly owners: CacheOwners.CacheOwners
  readonly states: CacheState.States
}

/** Plans changes to the current state of the owner, and commits them unless the plan has none. */
const changing = <A>(
  { states }: Store,
  ownerId: string,
  plan: (
    state: CacheState.State,
    now: number
  ) => { readonly changes: CacheState.Changes | undefined; readonly result: A }
): Effect.Effect<A, StorageError> =>
  states.withLock(ownerId)(
    Effect.gen(function* () {
      const state = yield* states.current(ownerId)
      const now = yield* Clock.currentTimeMillis
      state.decoded.expire(now)
      const { changes, result } = plan(state, now)
      if (changes !== undefined) yield* states.commit(ownerId, state, changes)
      return result
    })
  )

const clear = Effect.fnUntraced(function* ({ access, states }: Store, ownerId: string) {
  const text = yield* access.get(states.headKey(ownerId))
  if (text === undefined) return 0
  if (Records.decodeHead(ownerId, text) === undefined) {
    yield* states.erase(ownerId, [])
    return 0
  }
  const state = yield* states.current(ownerId)
  state.decoded.expire(yield* Clock.currentTimeMillis)
  const count = state.decoded.entries.size
  yield* states.erase(ownerId, state.segments.keys().concat(state.dead))
  return count
})

const expireOwner = Effect.fnUntraced(function* ({ access, states }: Store, ownerId: string) {
  const text = yield* access.get(states.headKey(ownerId))
  if (text === undefined) {
    yield* states.remove(ownerId)
    return 0
  }
  const now = yield* Clock.currentTimeMillis
  const head = Records.decodeHead(ownerId, text)
  if (head === undefined) {
    yield* access.warn("The index of an owner in the cache cannot be read, so nothing of it expires")
    return 0
  }
  if (soonestOf(head.pages) > now) return 0
  const state = yield* states.current(ownerId)
  const expired = state.segments.expired(now)
  yield* states.commit(ownerId, state, new Map(expired.map((id) => [id, undefined])))
  return expired.length
})

const expire = Effect.fnUntraced(function* (store: Store) {
  let count = 0
  let after: string | undefined
  for (;;) {
    const names = yield* store.owners.page(after, pageSize)
    for (const name of names) count += yield* store.states.withLock(name)(expireOwner(store, name))
    if (names.length < pageSize) return count
    after = names[names.length - 1]
  }
})

/** The listed owners that have an unexpired record. */
const ownersOf = Effect.fnUntraced(function* (
  { access, owners, states }: Store,
  { after, limit }: Parameters<MemoryBackend["owners"]>[0]
) {
  const found: Array<string> = []
  let from = after
  while (found.length < limit) {
    const names = yield* owners.page(from, pageSize)
    const heads = yield* access.getMany(names.map(states.headKey))
    const now = yield* Clock.currentTimeMillis
    for (const [at, name] of names.entries()) {
      const text = heads[at]
      const head = text === undefined ? undefined : Records.decodeHead(name, text)
      if (head !== undefined && CacheState.latestOf(head.pages) > now) found.push(name)
    }
    if (names.length < pageSize) break
    from = names[names.length - 1]
  }
  return found.slice(0, limit)
})

/**
 * The memory backend on a cache. `DefaultMemoryStore.fromBackend` adds expiry, checks and scores.
 *
 * @since 0.1.0
 * @category constructors
 */
export const makeBackend = (options: BackendOptions = {}): Effect.Effect<MemoryBackend, never, CacheBackend> =>
  Effect.map(CacheBackend, (cache): MemoryBackend => {
    const analyzer = options.analyzer ?? TextAnalyzer.english
    const access = CacheAccess.make(cache, options.prefix ?? "mem")
    const owners = CacheOwners.make(access)
    const room = scratch()
    const states = CacheState.make(access, owners, {
      maxReady: Count.count(options.maxReady, 100_000, 1),
      decoded: (ownerId) => new CacheDecoded(ownerId, room, analyzer)
    })
    const store: Store = { access, owners, states }
    const { read, withLock } = states
    return {
      name: "cache",
      apply: (ownerId, change) =>
        changing<number | undefined>(store, ownerId, (state, now) => {
          if (!Unchanged.holds(change.unchanged, (id) => state.decoded.get(id))) {
            return { changes: undefined, result: undefined }
          }
          const { changes, deleted } = changesOf(state, change, now)
          return { changes, result: deleted }
        }),
      get: (ownerId, ids) =>
        read(ownerId, (decoded) => ids.map((id) => decoded.get(id)).filter((one) => one !== undefined)),
      recent: (ownerId, { before, limit, selection }) =>
        read(ownerId, ({ entries }) => entries.read({ direction: -1, limit, selection, from: before })),
      page: (ownerId, { after, limit, selection }) =>
        read(ownerId, ({ entries }) => entries.read({ direction: 1, limit, selection, from: after })),
      lexical: (ownerId, search) => read(ownerId, (decoded) => decoded.search(search)),
      around: (ownerId, id, around) =>
        read(ownerId, ({ entries }) => {
          const item = entries.get(id)
          return item === undefined ? [] : entries.around(item, around)
        }),
      count: (ownerId, selection) => read(ownerId, ({ entries }) => entries.count(selection)),
      owners: (options) => ownersOf(store, options),
      recordAccess: (ownerId, ids, at) =>
        changing(store, ownerId, (state) => ({ changes: accessesOf(state, ids, at), result: undefined })),
      clear: (ownerId) => withLock(ownerId)(clear(store, ownerId)),
      expire: expire(store),
      health: Effect.asVoid(access.get(Records.rootKey(access.prefix)))
    }
  })

/**
 * @since 0.1.0
 * @category constructors
 */
export const make = (options?: Options): Effect.Effect<MemoryStore.Service, never, CacheBackend> =>
  Effect.map(makeBackend(options), (backend) => DefaultMemoryStore.fromBackend(backend, options))

/**
 * A memory store on the cache in context, searched by words. Entries live 30 days unless `ttl` is set.
 *
 * @since 0.1.0
 * @category layers
 * @example
 * ```ts
 * import { CacheBackend } from "effect-lexigram"
 * import { CacheMemoryStore } from "effect-lexigram/memory"
 * import * as Layer from "effect/Layer"
 *
 * const store = CacheMemoryStore.layer({ prefix: "desk", ttl: "7 days" }).pipe(
 *   Layer.provide(CacheBackend.layerMemory({ capacity: 10_000 }))
 * )
 * ```
 */
export const layer = (options?: Options): Layer.Layer<MemoryStore.MemoryStore, never, CacheBackend> =>
  Layer.effect(MemoryStore.MemoryStore, make(options))
