/**
 * Entries in a `CacheBackend`: Redis, a `KeyValueStore`, this process. They live as long as the cache keeps them.
 *
 * What an owner has is written in segments of up to 32 entries, and a head that says which ones count: all of a change
 * counts once its head is written, and what it writes does not grow with the number of entries. Each process reads the
 * entries of an owner once and searches them in its own memory; from then on a read asks the cache for the head alone,
 * and reads again what somebody else has changed.
 *
 * A cache has no way to change something only if nobody else has. Within a process the changes of an owner come one
 * after the other, but of two processes that change the same owner at the same moment one loses its change. So let one
 * process write for an owner at a time, or take a database. What the cache evicts is gone, up to a segment at once, or
 * all of an owner with its head; what is in it and cannot be read counts as evicted, with a warning. Only a head that
 * cannot be read is a `StorageError`, so that a later version of it is not written over; `clear` removes it.
 *
 * @since 0.1.0
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type { EntryId } from "../../domain/Ids.js"
import * as Count from "../../internal/Count.js"
import * as KeyedLock from "../../internal/fiber/KeyedLock.js"
import { CacheBackend } from "../../llm/CacheBackend.js"
import type { Change, MemoryBackend } from "../entry/MemoryBackend.js"
import type { MemoryEntry } from "../entry/MemoryEntry.js"
import { StorageError } from "../entry/MemoryError.js"
import * as Unchanged from "../entry/Unchanged.js"
import * as DefaultMemoryStore from "../search/DefaultMemoryStore.js"
import * as MemoryStore from "../search/MemoryStore.js"
import { scratch } from "../text/LexicalIndex.js"
import * as TextAnalyzer from "../text/TextAnalyzer.js"
import * as CacheAccess from "./CacheAccess.js"
import { CacheDecoded } from "./CacheDecoded.js"
import * as CacheOwners from "./CacheOwners.js"
import * as Records from "./CacheRecords.js"
import { CacheSegments, type Written } from "./CacheSegments.js"
import type { State } from "./CacheState.js"
import * as CacheState from "./CacheState.js"

/**
 * @since 0.1.0
 * @category models
 */
export interface BackendOptions {
  /** Stands before every key; `mem` unless set. */
  readonly prefix?: string | undefined
  /**
   * Entries of all owners that are kept ready to be searched; 100,000 unless set. The owners that were used least
   * recently make room, and are read again when they are used again. The owner that was used last is always ready.
   */
  readonly maxReady?: number | undefined
  /** How words are read; `TextAnalyzer.english` unless set. */
  readonly analyzer?: TextAnalyzer.TextAnalyzer | undefined
}

/**
 * @since 0.1.0
 * @category models
 */
export interface Options extends DefaultMemoryStore.Options, BackendOptions {}

type Changes = ReadonlyMap<EntryId, Written | undefined>

/** Times the head may change while the entries are read by it. */
const MAX_READS = 5

const PAGE = 64

const written = (entry: MemoryEntry): Written => ({ entry, characters: JSON.stringify(entry).length })

const higher = (a: number | undefined, b: number | undefined): number | undefined =>
  a === undefined ? b : b === undefined ? a : Math.max(a, b)

const withFigures = (entry: MemoryEntry, accessCount: number | undefined, lastAccessedAt: number | undefined) =>
  Object.freeze({
    ...entry,
    ...(accessCount === undefined ? {} : { accessCount }),
    ...(lastAccessedAt === undefined ? {} : { lastAccessedAt })
  })

const latestOf = (references: ReadonlyArray<Records.Reference>): number =>
  references.reduce((latest, one) => Math.max(latest, one.latest), Number.NEGATIVE_INFINITY)

const soonestOf = (references: ReadonlyArray<Records.Reference>): number =>
  references.reduce((soonest, one) => Math.min(soonest, one.soonest), Number.POSITIVE_INFINITY)

const unreadable = () =>
  new StorageError({
    message: "The index of an owner in the cache cannot be read",
    hint: "It was written by something else or by a later version; clearing the owner removes it"
  })

/**
 * What a store needs from below, over a cache. Expiry, checks and scores come with `DefaultMemoryStore.fromBackend`.
 *
 * @since 0.1.0
 * @category constructors
 */
export const makeBackend = (options: BackendOptions = {}): Effect.Effect<MemoryBackend, never, CacheBackend> =>
  Effect.map(CacheBackend, (cache): MemoryBackend => {
    const analyzer = options.analyzer ?? TextAnalyzer.english
    const access = CacheAccess.make(cache, options.prefix ?? "mem")
    const owners = CacheOwners.make(access)
    const { withLock } = KeyedLock.make()
    const ready = new CacheState.Ready(Count.count(options.maxReady, 100_000, 1))
    const room = scratch()
    const headKey = (ownerId: string) => Records.headKey(access.prefix, ownerId)

    const stateOf = (ownerId: string, segments: CacheSegments, fields: Partial<State>, now: number): State => {
      const decoded = new CacheDecoded(ownerId, room, analyzer)
      for (const entry of segments.entries()) {
        if (entry.expiresAt === undefined || entry.expiresAt > now) decoded.put(entry)
      }
      return { segments, decoded, text: undefined, dead: [], isListed: false, counted: 0, ...fields }
    }

    /** What the owner has now. Under its lock. */
    const current = Effect.fnUntraced(function* (ownerId: string) {
      let text = yield* access.get(headKey(ownerId))
      const now = yield* Clock.currentTimeMillis
      for (let reads = 1; text !== undefined; reads++) {
        const known = ready.get(ownerId, text)
        if (known !== undefined) return known
        const head = Records.decodeHead(ownerId, text)
        if (head === undefined) return yield* unreadable()
        const { missing, segments } = yield* CacheState.read(access, ownerId, head, now)
        const again: string | undefined = missing === 0 ? text : yield* access.get(headKey(ownerId))
        if (again !== text && reads < MAX_READS) {
          text = again
          continue
        }
        if (missing > 0) yield* access.warn(`${missing} records of a memory are gone from its cache or cannot be read`)
        const state = stateOf(ownerId, segments, { text, dead: head.dead }, now)
        ready.set(ownerId, state)
        return state
      }
      ready.delete(ownerId)
      return stateOf(ownerId, new CacheSegments(), {}, now)
    })

    const read = <A>(ownerId: string, f: (decoded: CacheDecoded) => A): Effect.Effect<A, StorageError> =>
      Effect.gen(function* () {
        const text = yield* access.get(headKey(ownerId))
        if (text === undefined) return f(new CacheDecoded(ownerId, room, analyzer))
        const { decoded } = ready.get(ownerId, text) ?? (yield* withLock(ownerId)(current(ownerId)))
        decoded.expire(yield* Clock.currentTimeMillis)
        return f(decoded)
      })

    /** The head goes first: with it the owner has nothing. */
    const erase = Effect.fnUntraced(function* (ownerId: string, keys: ReadonlyArray<string>) {
      ready.delete(ownerId)
      yield* access.delete(headKey(ownerId))
      // An owner without a head is given to nobody, and `expire` takes it off the list.
      yield* Effect.catchAll(owners.remove(ownerId), () => access.warn("An owner without entries stays on the list"))
      yield* access.forget(keys)
    })

    const write = Effect.fnUntraced(function* (ownerId: string, state: State, changes: Changes) {
      const { decoded, segments } = state
      segments.change(changes)
      if (segments.size === 0) return yield* erase(ownerId, segments.keys().concat(state.dead))
      if (!state.isListed) {
        yield* owners.add(ownerId)
        state.isListed = true
      }
      const now = yield* Clock.currentTimeMillis
      const version = yield* access.unique
      let count = 0
      for (const { done, latest, text } of segments.writings()) {
        const key = Records.recordKey(access.prefix, ownerId, `${version}.${count++}`)
        yield* access.set(key, text, { latest, now })
        done(key)
      }
      const pages = segments.references()
      const dead = segments.takeDead()
      const text = Records.encodeHead({ ownerId, version, pages, dead })
      yield* access.set(headKey(ownerId), text, { latest: latestOf(pages), now })
      for (const [id, one] of changes) {
        if (one === undefined) decoded.remove(id)
        else decoded.put(one.entry)
      }
      const before = state.dead
      state.text = text
      state.dead = dead
      ready.set(ownerId, state)
      yield* access.forget(before)
    })

    /** A state that a write has left halfway is read anew. */
    const commit = (ownerId: string, state: State, changes: Changes): Effect.Effect<void, StorageError> =>
      changes.size === 0
        ? Effect.void
        : Effect.onError(write(ownerId, state, changes), () => Effect.sync(() => ready.delete(ownerId)))

    const changesOf = (state: State, change: Change, now: number) => {
      const { decoded, segments } = state
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
          changes.set(entry.id, written(withFigures(entry, accessCount, lastAccessedAt)))
        } else if (segments.has(entry.id)) changes.set(entry.id, undefined)
        else changes.delete(entry.id)
      }
      return { changes, deleted }
    }

    /** The condition of a change does not hold. */
    const unchanged = { changes: undefined, result: undefined }

    /** Changes what the owner has now, and gives what `plan` says. */
    const changing = <A>(
      ownerId: string,
      plan: (state: State, now: number) => { readonly changes: Changes | undefined; readonly result: A }
    ): Effect.Effect<A, StorageError> =>
      withLock(ownerId)(
        Effect.gen(function* () {
          const state = yield* current(ownerId)
          const now = yield* Clock.currentTimeMillis
          state.decoded.expire(now)
          const { changes, result } = plan(state, now)
          if (changes !== undefined) yield* commit(ownerId, state, changes)
          return result
        })
      )

    const clear = Effect.fnUntraced(function* (ownerId: string) {
      const text = yield* access.get(headKey(ownerId))
      if (text === undefined) return 0
      if (Records.decodeHead(ownerId, text) === undefined) {
        yield* erase(ownerId, [])
        return 0
      }
      const state = yield* current(ownerId)
      state.decoded.expire(yield* Clock.currentTimeMillis)
      const count = state.decoded.entries.size
      yield* erase(ownerId, state.segments.keys().concat(state.dead))
      return count
    })

    const expireOwner = Effect.fnUntraced(function* (ownerId: string) {
      const text = yield* access.get(headKey(ownerId))
      if (text === undefined) {
        ready.delete(ownerId)
        yield* owners.remove(ownerId)
        return 0
      }
      const now = yield* Clock.currentTimeMillis
      const head = Records.decodeHead(ownerId, text)
      if (head === undefined) {
        yield* access.warn("The index of an owner in the cache cannot be read: nothing of it expires")
        return 0
      }
      if (soonestOf(head.pages) > now) return 0
      const state = yield* current(ownerId)
      const expired = state.segments.expired(now)
      yield* commit(ownerId, state, new Map(expired.map((id) => [id, undefined])))
      return expired.length
    })

    return {
      name: "cache",
      apply: (ownerId, change) =>
        changing(ownerId, (state, now) => {
          if (!Unchanged.holds(change.unchanged, (id) => state.decoded.get(id))) return unchanged
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
      owners: Effect.fnUntraced(function* ({ after, limit }) {
        const found: Array<string> = []
        let from = after
        while (found.length < limit) {
          const names = yield* owners.page(from, PAGE)
          const heads = yield* access.getMany(names.map(headKey))
          const now = yield* Clock.currentTimeMillis
          for (const [at, name] of names.entries()) {
            const text = heads[at]
            const head = text === undefined ? undefined : Records.decodeHead(name, text)
            if (head !== undefined && latestOf(head.pages) > now) found.push(name)
          }
          if (names.length < PAGE) break
          from = names[names.length - 1]
        }
        return found.slice(0, limit)
      }),
      recordAccess: (ownerId, ids, at) =>
        changing(ownerId, ({ decoded }) => {
          const changes = new Map<EntryId, Written>()
          for (const id of ids) {
            const entry = changes.get(id)?.entry ?? decoded.get(id)
            if (entry === undefined) continue
            const count = (entry.accessCount ?? 0) + 1
            changes.set(id, written(withFigures(entry, count, Math.max(at, entry.lastAccessedAt ?? at))))
          }
          return { changes, result: undefined }
        }),
      clear: (ownerId) => withLock(ownerId)(clear(ownerId)),
      expire: Effect.gen(function* () {
        let count = 0
        let after: string | undefined
        for (;;) {
          const names = yield* owners.page(after, PAGE)
          for (const name of names) count += yield* withLock(name)(expireOwner(name))
          if (names.length < PAGE) return count
          after = names[names.length - 1]
        }
      }),
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
 * Entries in a cache, found by their words; each lives 30 days unless `ttl` says otherwise.
 *
 * @since 0.1.0
 * @category layers
 */
export const layer = (options?: Options): Layer.Layer<MemoryStore.MemoryStore, never, CacheBackend> =>
  Layer.effect(MemoryStore.MemoryStore, make(options))
