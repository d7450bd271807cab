/**
 * A `MemoryStore` in Redis, which any number of processes may write at once, even for one owner.
 *
 * Every change is one script. Each process caches the entries of its owners, decoded and indexed, and asks Redis before
 * each read for changes since: then it reads the changed entries, or all of them if there are too many. So a search
 * finds what a store in memory would find, and a read costs one short round trip. The first read of an owner reads all
 * of its entries.
 *
 * Entries expire by Effect's `Clock`; a change of the owner and `expire` remove expired ones. Redis itself removes
 * nothing, so it must not evict (`maxmemory-policy noeviction` or `volatile-lru`). Durability is that of its
 * append-only file (`appendfsync`).
 *
 * In a cluster all data of an owner is on one node, and owners are spread over sixteen slots by their names. Move these
 * slots only while nobody writes.
 *
 * @since 0.1.0
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type { EntryId } from "../../domain/Ids.js"
import * as Count from "../../internal/Count.js"
import * as KeyedLock from "../../internal/fiber/KeyedLock.js"
import type { CacheDecoded } from "../../memory/cache/CacheDecoded.js"
import type { Change, MemoryBackend } from "../../memory/entry/MemoryBackend.js"
import type { MemoryEntry } from "../../memory/entry/MemoryEntry.js"
import { StorageError } from "../../memory/entry/MemoryError.js"
import * as Unchanged from "../../memory/entry/Unchanged.js"
import * as DefaultMemoryStore from "../../memory/search/DefaultMemoryStore.js"
import * as MemoryStore from "../../memory/search/MemoryStore.js"
import { scratch } from "../../memory/text/LexicalIndex.js"
import * as TextAnalyzer from "../../memory/text/TextAnalyzer.js"
import * as KeyText from "../engine/KeyText.js"
import type { DatabaseError } from "../engine/PersistenceError.js"
import { RedisClient } from "./RedisClient.js"
import * as Scripts from "./RedisMemoryScripts.js"
import { encode, Ready, State } from "./RedisMemoryState.js"
import type { Argument, Script } from "./RedisScript.js"
import * as RedisText from "./RedisText.js"

/**
 * @since 0.1.0
 * @category models
 */
export interface BackendOptions {
  /**
   * Hash tag that begins all keys. Stores with different prefixes are independent. Default: `lexigram-memory`.
   */
  readonly prefix?: string | undefined
  /**
   * The most entries of all owners that a process caches. The least recently used owners are evicted, and read again
   * when needed; the most recently used owner always stays. Default: 100,000.
   */
  readonly maxReady?: number | undefined
  /** Default: `TextAnalyzer.english`. */
  readonly analyzer?: TextAnalyzer.TextAnalyzer | undefined
}

/**
 * @since 0.1.0
 * @category models
 */
export interface Options extends DefaultMemoryStore.Options, BackendOptions {}

const BUCKETS = 16
const PAGE = 500
/** How often an owner may change by more than is recorded while all of it is read. */
const MAX_READS = 8

/** By code unit (Fowler, Noll and Vo, 32 bits). It determines where an owner is stored and must never change. */
const bucketOf = (ownerId: string): number => {
  let hash = 0x811c9dc5
  for (let at = 0; at < ownerId.length; at++) hash = Math.imul(hash ^ ownerId.charCodeAt(at), 0x01000193)
  return (hash >>> 0) % BUCKETS
}

const failed = (cause: DatabaseError): StorageError =>
  new StorageError({ message: "The memory in Redis could not be read or written", cause })

const restless = new StorageError({
  message: "The memory of an owner in Redis changes faster than it can be read",
  hint: "Try again when less is written for the owner"
})

const storeArgs = (entry: MemoryEntry): ReadonlyArray<Argument> => [
  KeyText.encode(entry.id),
  encode(entry),
  entry.expiresAt ?? "",
  entry.accessCount ?? "",
  entry.lastAccessedAt ?? ""
]

type Changes =
  | readonly ["none"]
  | readonly ["same"]
  | readonly ["all", string, string]
  | readonly ["some", string, string, ReadonlyArray<string | null>]

const makeAccess = ({ evaluate }: RedisClient["Type"], prefix: string) => {
  const buckets = Array.from({ length: BUCKETS }, (_, bucket) => RedisText.tag(`${prefix}:${bucket}`))
  const tagOf = (ownerId: string): string => buckets[bucketOf(ownerId)] as string
  const run = (script: Script, tag: string, args: ReadonlyArray<Argument>) =>
    Effect.mapError(evaluate(script, [tag], args), failed)
  const read = (script: Script, ownerId: string, args: ReadonlyArray<Argument>) =>
    run(script, tagOf(ownerId), [KeyText.encode(ownerId), ...args])
  /** Uninterruptible, so that the caller knows the outcome: the reply comes within the command timeout. */
  const write = (script: Script, ownerId: string, args: ReadonlyArray<Argument>) =>
    Effect.uninterruptible(read(script, ownerId, args))
  return { buckets, tagOf, run, read, write }
}

type Access = ReturnType<typeof makeAccess>

/** Keeps the states of owners up to date with Redis. */
const makeStates = (
  { command }: RedisClient["Type"],
  access: Access,
  options: { readonly maxReady?: number | undefined; readonly analyzer: TextAnalyzer.TextAnalyzer }
) => {
  const { analyzer } = options
  const { tagOf } = access
  const ready = new Ready(Count.count(options.maxReady, 100_000, 1))
  const { withLock } = KeyedLock.make()
  const room = scratch()

  const changes = (ownerId: string, state: State | undefined) =>
    access.read(Scripts.changes, ownerId, [state?.revision ?? "", state?.changedAt ?? ""]) as Effect.Effect<
      Changes,
      StorageError
    >

  /** Visits all fields of a hash page by page. A field of a hash that changes meanwhile may be visited twice. */
  const fields = (key: string, each: (name: string, value: string) => void) =>
    Effect.gen(function* () {
      let cursor = "0"
      do {
        const reply: unknown = yield* Effect.mapError(command("hscan", key, cursor, "COUNT", PAGE), failed)
        const [next, some] = reply as readonly [string, ReadonlyArray<string>]
        for (let at = 0; at < some.length; at += 2) each(some[at] as string, some[at + 1] as string)
        cursor = next
      } while (cursor !== "0")
    })

  /** Changes made while it reads are found by the next `changes`, which start at the given revision. */
  const readAll = Effect.fnUntraced(function* (ownerId: string, revision: string, changedAt: string) {
    const state = new State(ownerId, room, analyzer)
    const key = (kind: string) => `${tagOf(ownerId)}:${kind}:${KeyText.encode(ownerId)}`
    const figures = new Map<string, string>()
    yield* fields(key("f"), (name, text) => void figures.set(name, text))
    yield* fields(key("e"), (name, text) => state.put(name, text, figures.get(name) ?? null))
    state.revision = revision
    state.changedAt = changedAt
    if (state.unreadable > 0) {
      yield* Effect.logWarning(
        `${state.unreadable} entries of a memory in Redis cannot be read, and are passed over`
      ).pipe(Effect.annotateLogs({ module: "RedisMemoryStore" }))
    }
    return state
  })

  const follow = (known: State | undefined, ownerId: string, reply: Changes): State | undefined => {
    if (reply[0] === "none") {
      ready.delete(ownerId)
      return new State(ownerId, room, analyzer)
    }
    if (reply[0] === "all" || known === undefined) return undefined
    if (reply[0] === "some") known.take(reply[1], reply[2], reply[3])
    ready.set(known)
    return known
  }

  const read = Effect.fnUntraced(function* (ownerId: string) {
    let known = ready.get(ownerId)
    for (let reads = 0; reads < MAX_READS; reads++) {
      const reply: Changes = yield* changes(ownerId, known)
      const state = follow(known, ownerId, reply)
      if (state !== undefined) return state
      if (reply[0] !== "all") continue
      known = yield* readAll(ownerId, reply[1], reply[2])
    }
    return yield* restless
  })

  /** The current state of the owner. */
  const currentState = Effect.fnUntraced(function* (ownerId: string) {
    const known = ready.get(ownerId)
    const state =
      (known === undefined ? undefined : follow(known, ownerId, yield* changes(ownerId, known))) ??
      (yield* withLock(ownerId)(read(ownerId)))
    state.decoded.expire(yield* Clock.currentTimeMillis)
    return state
  })
  return { currentState }
}

type States = ReturnType<typeof makeStates>

const makeApply = ({ write }: Access, { currentState }: States): MemoryBackend["apply"] => {
  /** With `at`: changes nothing and succeeds with -1 if the owner has changed since. */
  const applied = (ownerId: string, change: Change, at?: Pick<State, "revision" | "changedAt"> | undefined) =>
    Effect.flatMap(Clock.currentTimeMillis, (now) => {
      const stored = new Map<EntryId, MemoryEntry>()
      for (const entry of change.store ?? []) stored.set(entry.id, entry)
      const entries = Array.from(stored.values())
      const isGone = ({ expiresAt }: MemoryEntry): boolean => expiresAt !== undefined && expiresAt <= now
      const deleted = Array.from(new Set(change.delete), KeyText.encode)
      const gone = entries.filter(isGone).map(({ id }) => KeyText.encode(id))
      const kept = entries.filter((entry) => !isGone(entry)).flatMap(storeArgs)
      const known = [at?.revision ?? "", at?.changedAt ?? ""]
      return Effect.map(
        write(Scripts.apply, ownerId, [now, deleted.length, gone.length, ...known, ...deleted, ...gone, ...kept]),
        Number
      )
    })

  const appliedIf = Effect.fnUntraced(function* (
    ownerId: string,
    change: Change,
    unchanged: ReadonlyArray<MemoryEntry>
  ) {
    for (let reads = 0; reads < MAX_READS; reads++) {
      const state = yield* currentState(ownerId)
      if (!Unchanged.holds(unchanged, (id) => state.decoded.get(id))) return undefined
      const count = yield* applied(ownerId, change, { revision: state.revision, changedAt: state.changedAt })
      if (count >= 0) return count
    }
    return yield* restless
  })

  return (ownerId, { unchanged = [], ...change }) =>
    unchanged.length === 0 ? applied(ownerId, change) : appliedIf(ownerId, change, unchanged)
}

/**
 * The backend of the store. Checks and scores come with `DefaultMemoryStore.fromBackend`.
 *
 * @since 0.1.0
 * @category constructors
 */
export const makeBackend = (options: BackendOptions = {}): Effect.Effect<MemoryBackend, never, RedisClient> =>
  Effect.map(RedisClient, (client): MemoryBackend => {
    const access = makeAccess(client, options.prefix ?? "lexigram-memory")
    const { buckets, run, write } = access
    const states = makeStates(client, access, {
      maxReady: options.maxReady,
      analyzer: options.analyzer ?? TextAnalyzer.english
    })
    const reading = <A>(ownerId: string, f: (decoded: CacheDecoded) => A): Effect.Effect<A, StorageError> =>
      Effect.map(states.currentState(ownerId), ({ decoded }) => f(decoded))

    return {
      name: "redis",
      apply: makeApply(access, states),
      get: (ownerId, ids) =>
        reading(ownerId, (decoded) => ids.map((id) => decoded.get(id)).filter((one) => one !== undefined)),
      recent: (ownerId, { before, limit, selection }) =>
        reading(ownerId, ({ entries }) => entries.read({ direction: -1, limit, selection, from: before })),
      page: (ownerId, { after, limit, selection }) =>
        reading(ownerId, ({ entries }) => entries.read({ direction: 1, limit, selection, from: after })),
      lexical: (ownerId, search) =>
        reading(ownerId, (decoded) =>
          decoded.entries.size === 0 ? { hits: [], ceiling: 0, entries: 0 } : decoded.search(search)
        ),
      around: (ownerId, id, around) =>
        reading(ownerId, ({ entries }) => {
          const item = entries.get(id)
          return item === undefined ? [] : entries.around(item, around)
        }),
      count: (ownerId, selection) => reading(ownerId, ({ entries }) => entries.count(selection)),
      owners: Effect.fnUntraced(function* ({ after, limit }) {
        if (limit <= 0) return []
        const now = yield* Clock.currentTimeMillis
        const most = Math.min(limit, 1e9)
        const found: Array<string> = []
        for (const tag of buckets) {
          const names = yield* run(Scripts.listOwners, tag, [now, KeyText.encode(after ?? ""), most])
          for (const name of names as ReadonlyArray<string>) found.push(KeyText.decode(name))
        }
        return found.sort((a, b) => (a < b ? -1 : 1)).slice(0, limit)
      }),
      recordAccess: (ownerId, ids, at) =>
        ids.length === 0
          ? Effect.void
          : Effect.flatMap(Clock.currentTimeMillis, (now) =>
              Effect.asVoid(write(Scripts.recordAccess, ownerId, [now, at, ...ids.map(KeyText.encode)]))
            ),
      clear: (ownerId) =>
        Effect.flatMap(Clock.currentTimeMillis, (now) => Effect.map(write(Scripts.clear, ownerId, [now]), Number)),
      expire: Effect.gen(function* () {
        const now = yield* Clock.currentTimeMillis
        let count = 0
        for (const tag of buckets) {
          let gone = Number(yield* run(Scripts.expire, tag, [now]))
          for (; gone >= 0; gone = Number(yield* run(Scripts.expire, tag, [now]))) count += gone
        }
        return count
      }),
      health: Effect.mapError(client.health, failed)
    }
  })

/**
 * @since 0.1.0
 * @category constructors
 */
export const make = (options?: Options | undefined): Effect.Effect<MemoryStore.Service, never, RedisClient> =>
  Effect.map(makeBackend(options), (backend) => DefaultMemoryStore.fromBackend(backend, options))

/**
 * Entries in Redis with full-text search. An entry lives 30 days unless `ttl` is set.
 *
 * @since 0.1.0
 * @category layers
 * @example
 * ```ts
 * import { DefaultMemory } from "effect-lexigram/memory"
 * import { RedisClient, RedisMemoryStore } from "effect-lexigram/persistence"
 * import * as Config from "effect/Config"
 * import * as Layer from "effect/Layer"
 *
 * const redis = RedisClient.layerConfig({ url: Config.redacted("REDIS_URL") })
 *
 * const memory = DefaultMemory.layer({
 *   store: RedisMemoryStore.layer({ prefix: "desk", ttl: "7 days" }).pipe(Layer.provide(redis))
 * })
 * ```
 */
export const layer = (options?: Options | undefined): Layer.Layer<MemoryStore.MemoryStore, never, RedisClient> =>
  Layer.effect(MemoryStore.MemoryStore, make(options))
