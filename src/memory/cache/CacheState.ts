/**
 * Reads, caches and writes the state of the owners in a cache.
 *
 * @since 0.1.0
 * @private
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import type { EntryId } from "../../domain/Ids.js"
import * as KeyedLock from "../../internal/fiber/KeyedLock.js"
import { StorageError } from "../entry/MemoryError.js"
import type { Access } from "./CacheAccess.js"
import type { CacheDecoded } from "./CacheDecoded.js"
import type * as CacheOwners from "./CacheOwners.js"
import * as Records from "./CacheRecords.js"
import { CacheSegments, type Written } from "./CacheSegments.js"

/**
 * The state of an owner.
 *
 * @since 0.1.0
 * @category models
 */
export interface State {
  readonly segments: CacheSegments
  readonly decoded: CacheDecoded
  /** The head it was read from or written with. */
  text: string | undefined
  /** Keys that the next change deletes. */
  dead: ReadonlyArray<string>
  /** Whether the owner is certainly on the list of owners. */
  isListed: boolean
  /** Number of entries at the time of caching. */
  counted: number
}

/** The states of owners, the most recently used last. */
class Ready {
  private readonly states = new Map<string, State>()
  private entries = 0

  constructor(private readonly limit: number) {}

  get(ownerId: string, text: string): State | undefined {
    const state = this.states.get(ownerId)
    if (state?.text !== text) return undefined
    this.states.delete(ownerId)
    this.states.set(ownerId, state)
    return state
  }

  set(ownerId: string, state: State): void {
    this.delete(ownerId)
    this.states.set(ownerId, state)
    state.counted = state.segments.size
    this.entries += state.counted
    for (const oldest of this.states.keys()) {
      if (this.entries <= this.limit || oldest === ownerId) return
      this.delete(oldest)
    }
  }

  delete(ownerId: string): void {
    this.entries -= this.states.get(ownerId)?.counted ?? 0
    this.states.delete(ownerId)
  }
}

/** Reads the records of a head. Counts the unexpired ones that are missing. */
const readSegments = Effect.fnUntraced(function* (access: Access, ownerId: string, head: Records.Head, now: number) {
  const segments = new CacheSegments()
  let missing = 0
  const count = (one: Records.Reference) => {
    if (one.latest > now) missing++
  }
  const pages = yield* access.getMany(head.pages.map((page) => page.key))
  const decoded = pages.map((text) => (text === undefined ? undefined : Records.decodePage(text)))
  const texts = yield* access.getMany(decoded.flatMap((page) => (page ?? []).map((segment) => segment.key)))
  let at = 0
  for (const [index, reference] of head.pages.entries()) {
    const page = decoded[index]
    if (page === undefined) {
      count(reference)
      segments.lost(reference)
      continue
    }
    const restored = page.map((one) => {
      const text = texts[at++]
      const entries = text === undefined ? undefined : Records.decodeSegment(ownerId, text)
      if (text === undefined || entries === undefined) {
        count(one)
        return { at: one, entries: undefined }
      }
      // An average, accurate enough to keep segments small.
      const characters = Math.ceil(text.length / entries.length)
      return { at: one, entries: entries.map((entry) => ({ entry, characters })) }
    })
    segments.restore(reference, restored)
  }
  return { segments, missing }
})

/**
 * Entries to write, and ids to remove (`undefined`).
 *
 * @since 0.1.0
 * @category models
 */
export type Changes = ReadonlyMap<EntryId, Written | undefined>

/**
 * Reads and writes the states of owners. All but `read` and `withLock` must be called under the lock of the owner.
 *
 * @since 0.1.0
 * @category models
 */
export interface States {
  /** One at a time per owner. */
  readonly withLock: KeyedLock.KeyedLock["withLock"]
  readonly headKey: (ownerId: string) => string
  /** The current state of the owner. */
  readonly current: (ownerId: string) => Effect.Effect<State, StorageError>
  /** Applies `f` to the unexpired entries of the owner. */
  readonly read: <A>(ownerId: string, f: (decoded: CacheDecoded) => A) => Effect.Effect<A, StorageError>
  /** Writes changes to a current state. */
  readonly commit: (ownerId: string, state: State, changes: Changes) => Effect.Effect<void, StorageError>
  /** Deletes the head of the owner and then the records under these keys. */
  readonly erase: (ownerId: string, keys: ReadonlyArray<string>) => Effect.Effect<void, StorageError>
  /** Removes an owner without a head from the process and from the list of owners. */
  readonly remove: (ownerId: string) => Effect.Effect<void, StorageError>
}

/** How often the head may change while its records are read. */
const maxReads = 5

const unreadable = () =>
  new StorageError({
    message: "The index of an owner in the cache cannot be read",
    hint: "It was written by something else or by a later version; clearing the owner removes it"
  })

/**
 * The latest time of these records, or `-Infinity`.
 *
 * @since 0.1.0
 * @category getters
 */
export const latestOf = (references: ReadonlyArray<Records.Reference>): number =>
  references.reduce((latest, one) => Math.max(latest, one.latest), Number.NEGATIVE_INFINITY)

/**
 * @since 0.1.0
 * @category constructors
 */
export const make = (
  access: Access,
  owners: CacheOwners.CacheOwners,
  options: { readonly maxReady: number; readonly decoded: (ownerId: string) => CacheDecoded }
): States => {
  const { withLock } = KeyedLock.make()
  const ready = new Ready(options.maxReady)
  const headKey = (ownerId: string) => Records.headKey(access.prefix, ownerId)

  const stateOf = (ownerId: string, segments: CacheSegments, fields: Partial<State>, now: number): State => {
    const decoded = options.decoded(ownerId)
    for (const entry of segments.entries()) {
      if (entry.expiresAt === undefined || entry.expiresAt > now) decoded.put(entry)
    }
    return { segments, decoded, text: undefined, dead: [], isListed: false, counted: 0, ...fields }
  }

  const current: States["current"] = Effect.fnUntraced(function* (ownerId) {
    let text = yield* access.get(headKey(ownerId))
    const now = yield* Clock.currentTimeMillis
    for (let reads = 1; text !== undefined; reads++) {
      const known = ready.get(ownerId, text)
      if (known !== undefined) return known
      const head = Records.decodeHead(ownerId, text)
      if (head === undefined) return yield* unreadable()
      const { missing, segments } = yield* readSegments(access, ownerId, head, now)
      const again: string | undefined = missing === 0 ? text : yield* access.get(headKey(ownerId))
      if (again !== text && reads < maxReads) {
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

  // The head goes first: without it the owner has nothing.
  const erase: States["erase"] = Effect.fnUntraced(function* (ownerId, keys) {
    ready.delete(ownerId)
    yield* access.delete(headKey(ownerId))
    // An owner without a head is not returned to callers, and `expire` removes it from the list.
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

  return {
    withLock,
    headKey,
    current,
    erase,
    read: (ownerId, f) =>
      Effect.gen(function* () {
        const text = yield* access.get(headKey(ownerId))
        if (text === undefined) return f(options.decoded(ownerId))
        const { decoded } = ready.get(ownerId, text) ?? (yield* withLock(ownerId)(current(ownerId)))
        decoded.expire(yield* Clock.currentTimeMillis)
        return f(decoded)
      }),
    // A failed write leaves a state that must be read again.
    commit: (ownerId, state, changes) =>
      changes.size === 0
        ? Effect.void
        : Effect.onError(write(ownerId, state, changes), () => Effect.sync(() => ready.delete(ownerId))),
    remove: (ownerId) =>
      Effect.suspend(() => {
        ready.delete(ownerId)
        return owners.remove(ownerId)
      })
  }
}
