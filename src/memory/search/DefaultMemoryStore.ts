/**
 * The memory store over a backend: checks, lifetimes, pages, vectors and scores.
 *
 * @since 0.1.0
 */
import * as Chunk from "effect/Chunk"
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import type { EntryId } from "../../domain/Ids.js"
import type { Service as EmbedderService } from "../../llm/embedding/Embedder.js"
import * as EntryChecks from "../entry/EntryChecks.js"
import * as EntryGroups from "../entry/EntryGroups.js"
import type { Change, ConditionalChange, MemoryBackend, Position } from "../entry/MemoryBackend.js"
import { type MemoryEntry, type MemorySearchResult, queryDefaults } from "../entry/MemoryEntry.js"
import { MemoryStoreError, type MemoryStoreFailure, type RetrievalFailure } from "../entry/MemoryError.js"
import * as OwnerNamespace from "../entry/OwnerNamespace.js"
import type { Selection } from "../entry/Selection.js"
import * as EntryVectors from "./EntryVectors.js"
import type { Service } from "./MemoryStore.js"
import * as Renewal from "./Renewal.js"
import * as Retrieval from "./Retrieval.js"
import type { Service as VectorIndexService } from "./VectorIndex.js"

/**
 * Settings of a store.
 *
 * @since 0.1.0
 * @category models
 */
export interface Options {
  /**
   * How long an entry lives after it was stored, unless its `expiresAt` is earlier. Default 30 days; 0 or infinity:
   * forever.
   */
  readonly ttl?: Duration.DurationInput | undefined
  /** Number of results of a query that does not set it. Default 10. */
  readonly topK?: number | undefined
  /** Weights of a query that does not set them. Default `MemoryEntry.queryDefaults`. */
  readonly weights?:
    | {
        readonly recency?: number | undefined
        readonly importance?: number | undefined
        readonly relevance?: number | undefined
      }
    | undefined
  /** The age at which recency is one half. Default 30 days. */
  readonly recencyHalfLife?: Duration.DurationInput | undefined
  /**
   * The share of vectors in the relevance of what words and vectors find, 0 to 1. Default 0.25; a strong embedding
   * model earns more.
   */
  readonly vectorWeight?: number | undefined
  /**
   * Lets an entry live for another `ttl` when it is recalled (`recordAccess`) in the second half of its life, up to
   * `maxAge` after it was stored (default 365 days). Entries that were stored with an `expiresAt` end then. A recall
   * that cannot be written renews nothing. Default off.
   */
  readonly renewal?: Renewal.Options | undefined
}

/**
 * How entries are embedded.
 *
 * @since 0.1.0
 * @category models
 */
export interface VectorOptions {
  readonly embedder: EmbedderService
  readonly index: VectorIndexService
  /** Maximum characters of an entry that are embedded. Default 8,000. */
  readonly maxCharacters?: number | undefined
}

const defaultVectorWeight = 0.25

const pageSize = 256

const nothing: Selection = {}

/** A backend with what its store adds. */
interface Base {
  readonly backend: MemoryBackend
  /** Writes of entries with vectors. */
  readonly vectors: EntryVectors.EntryVectors | undefined
  /** Milliseconds; 0 or infinity: forever. */
  readonly ttl: number
  readonly renewal: Renewal.Options | undefined
}

const sourcesOf = (
  backend: MemoryBackend,
  options: Options & { readonly vectors?: VectorOptions | undefined }
): Retrieval.Sources => ({
  backend,
  vectors: options.vectors,
  options: {
    topK: options.topK ?? queryDefaults.topK,
    recencyWeight: options.weights?.recency ?? queryDefaults.recencyWeight,
    importanceWeight: options.weights?.importance ?? queryDefaults.importanceWeight,
    relevanceWeight: options.weights?.relevance ?? queryDefaults.relevanceWeight,
    recencyHalfLife: Math.max(1, Duration.toMillis(options.recencyHalfLife ?? "30 days")),
    vectorWeight: options.vectorWeight ?? defaultVectorWeight
  }
})

/** The entry, renewed by recalls if the store chose how long it lives. */
const lasting = (entry: MemoryEntry, how: Parameters<typeof Renewal.marked>[1]): MemoryEntry => {
  if (how.options === undefined) return Object.freeze(Renewal.unmarked(entry))
  const { expiresAt: _, ...endless } = entry
  return Object.freeze(Renewal.marked(endless, how))
}

/** Validates entries of the owner and returns them as they are stored, the last of each id. */
const checked = (
  { backend, renewal, ttl }: Base,
  ownerId: string,
  entries: ReadonlyArray<MemoryEntry>,
  now: number
): ReadonlyArray<MemoryEntry> | MemoryStoreError => {
  const latest = ttl > 0 ? now + ttl : Number.POSITIVE_INFINITY
  const kept = new Map<string, MemoryEntry>()
  for (const entry of entries) {
    const one = EntryChecks.entry(backend.name, ownerId, entry, latest)
    if (one instanceof MemoryStoreError) return one
    kept.delete(one.id)
    kept.set(one.id, entry.expiresAt === undefined ? lasting(one, { life: ttl, now, options: renewal }) : one)
  }
  return Array.from(kept.values())
}

const write = (
  { backend, vectors }: Base,
  ownerId: string,
  change: ConditionalChange
): Effect.Effect<number | undefined, RetrievalFailure> =>
  vectors === undefined ? backend.apply(ownerId, change) : vectors.apply(ownerId, change)

const storeMany = (base: Base, entries: ReadonlyArray<MemoryEntry>): Effect.Effect<void, RetrievalFailure> =>
  Effect.flatMap(Clock.currentTimeMillis, (now): Effect.Effect<void, RetrievalFailure> => {
    const byOwner = EntryGroups.groupBy(entries, ({ ownerId }) => ownerId)
    const changes: Array<readonly [string, Change]> = []
    for (const [ownerId, own] of byOwner) {
      const store = checked(base, ownerId, own, now)
      if (store instanceof MemoryStoreError) return store
      changes.push([ownerId, { store }])
    }
    return Effect.forEach(changes, ([ownerId, change]) => write(base, ownerId, change), { discard: true })
  })

/** Runs the effect if the owner is valid. */
const owned = <A, E>(
  { backend }: Base,
  ownerId: string,
  effect: () => Effect.Effect<A, E>
): Effect.Effect<A, E | MemoryStoreError> =>
  Effect.suspend((): Effect.Effect<A, E | MemoryStoreError> => EntryChecks.owner(backend.name, ownerId) ?? effect())

/** Runs the effect if the owner and the selection are valid. */
const selected = <A, E>(
  base: Base,
  ownerId: string,
  selection: Selection,
  effect: () => Effect.Effect<A, E>
): Effect.Effect<A, E | MemoryStoreError> =>
  owned(
    base,
    ownerId,
    (): Effect.Effect<A, E | MemoryStoreError> => EntryChecks.selection(base.backend.name, selection) ?? effect()
  )

/** Applies a change. `undefined` if its condition does not hold. */
const apply = (
  base: Base,
  ownerId: string,
  { delete: ids = [], store = [], unchanged = [] }: ConditionalChange
): Effect.Effect<number | undefined, RetrievalFailure> =>
  owned(base, ownerId, () =>
    Effect.flatMap(Clock.currentTimeMillis, (now): Effect.Effect<number | undefined, RetrievalFailure> => {
      const entries = checked(base, ownerId, store, now)
      if (entries instanceof MemoryStoreError) return entries
      return entries.length === 0 && ids.length === 0 && unchanged.length === 0
        ? Effect.succeed(0)
        : write(base, ownerId, { delete: Array.from(new Set(ids)), store: entries, unchanged })
    })
  )

const recent = (
  base: Base,
  { n, ownerId, selection = nothing }: Parameters<Service["getRecent"]>[0]
): Effect.Effect<ReadonlyArray<MemoryEntry>, MemoryStoreFailure> =>
  selected(base, ownerId, selection, (): Effect.Effect<ReadonlyArray<MemoryEntry>, MemoryStoreFailure> => {
    if (Number.isInteger(n) && n >= 0) {
      return n === 0 ? Effect.succeed([]) : base.backend.recent(ownerId, { limit: n, selection })
    }
    return new MemoryStoreError({
      message: "The number of entries must be an integer of at least 0",
      store: base.backend.name
    })
  })

const ownersOf = (backend: MemoryBackend): Stream.Stream<string, MemoryStoreFailure> =>
  Stream.paginateChunkEffect(undefined as string | undefined, (after) =>
    Effect.map(backend.owners({ limit: pageSize, after }), (owners) => [
      Chunk.unsafeFromArray(owners.filter((owner) => !OwnerNamespace.isReserved(owner))),
      owners.length < pageSize ? Option.none() : Option.some(owners[owners.length - 1])
    ])
  )

/**
 * The memory store over a backend: adds validation, lifetimes, pages, vectors and scores. With vectors, entries are
 * also found by meaning. An entry whose `embedding` has the length of the index keeps it; all others are embedded in
 * one batch.
 *
 * A call with vectors first embeds, then writes the vectors, then the entries. If one of these fails, nothing is
 * stored. The vector of an entry that was not stored is removed; if that fails, too, it remains and finds nothing. An
 * entry that could not be replaced may be found by its intended replacement until it is stored again.
 *
 * @since 0.1.0
 * @category constructors
 * @example
 * ```ts
 * import { CacheMemoryStore, DefaultMemoryStore, MemoryStore } from "effect-lexigram/memory"
 * import * as Effect from "effect/Effect"
 * import * as Layer from "effect/Layer"
 *
 * // Newer entries count more than with the default weights, and entries live 90 days.
 * const store = Layer.effect(
 *   MemoryStore.MemoryStore,
 *   Effect.map(CacheMemoryStore.makeBackend({ prefix: "desk" }), (backend) =>
 *     DefaultMemoryStore.fromBackend(backend, { ttl: "90 days", weights: { recency: 0.6 }, recencyHalfLife: "2 days" })
 *   )
 * )
 * ```
 */
export const fromBackend = (
  backend: MemoryBackend,
  options: Options & { readonly vectors?: VectorOptions | undefined } = {}
): Service => {
  const vectors = options.vectors === undefined ? undefined : EntryVectors.make(backend, options.vectors)
  const ttl = Duration.toMillis(options.ttl ?? "30 days")
  const base: Base = { backend, vectors, ttl, renewal: options.renewal }
  const sources = sourcesOf(backend, options)
  const applied = (ownerId: string, change: Change) => Effect.map(apply(base, ownerId, change), (count) => count ?? 0)
  const getMany = (ownerId: string, ids: ReadonlyArray<EntryId>) =>
    owned(base, ownerId, () => (ids.length === 0 ? Effect.succeed([]) : backend.get(ownerId, ids)))
  return {
    name: backend.name,
    store: (entry) => Effect.asVoid(applied(entry.ownerId, { store: [entry] })),
    storeMany: (entries) => storeMany(base, entries),
    retrieve: (query) =>
      Effect.suspend(
        (): Effect.Effect<ReadonlyArray<MemorySearchResult>, RetrievalFailure> =>
          EntryChecks.query(backend.name, query) ??
          Effect.flatMap(Clock.currentTimeMillis, (now) => Retrieval.retrieve(sources, query, now))
      ),
    getRecent: (options) => recent(base, options),
    get: (ownerId, id) => Effect.map(getMany(ownerId, [id]), (found) => Option.fromNullable(found[0])),
    getMany,
    delete: (ownerId, id) =>
      owned(base, ownerId, () =>
        Effect.map(
          vectors === undefined ? backend.apply(ownerId, { delete: [id] }) : vectors.remove(ownerId, id),
          (count) => count !== undefined && count > 0
        )
      ),
    apply: applied,
    applyIf: (ownerId, unchanged, { delete: ids, store }) =>
      Effect.map(apply(base, ownerId, { delete: ids, store, unchanged }), Option.fromNullable),
    clear: (ownerId) => owned(base, ownerId, () => (vectors ?? backend).clear(ownerId)),
    count: (ownerId, selection = nothing) =>
      selected(base, ownerId, selection, () => backend.count(ownerId, selection)),
    stream: (ownerId, selection = nothing) =>
      Stream.unwrap(
        selected(base, ownerId, selection, () =>
          Effect.sync(() => pages((after) => backend.page(ownerId, { limit: pageSize, selection, after })))
        )
      ),
    owners: ownersOf(backend),
    recordAccess: (ownerId, ids) =>
      owned(base, ownerId, () =>
        ids.length === 0
          ? Effect.void
          : Effect.zipRight(
              Effect.flatMap(Clock.currentTimeMillis, (now) => backend.recordAccess(ownerId, ids, now)),
              base.renewal === undefined ? Effect.void : renew(base, ownerId, ids)
            )
      ),
    expire: backend.expire,
    health: vectors === undefined ? backend.health : Effect.zipRight(backend.health, vectors.health)
  }
}

/** An entry that cannot be embedded again keeps its expiry. */
const renew = (base: Base, ownerId: string, ids: ReadonlyArray<EntryId>): Effect.Effect<void, MemoryStoreFailure> =>
  Renewal.renew(ownerId, ids, { get: base.backend.get, apply: (owner, change) => write(base, owner, change) }).pipe(
    Effect.catchTag("EmbeddingError", (error) => Renewal.warn(error._tag))
  )

/** An entry that moves to a later position during the read is not returned again. */
const pages = <E>(
  read: (after: Position | undefined) => Effect.Effect<ReadonlyArray<MemoryEntry>, E>
): Stream.Stream<MemoryEntry, E> => {
  const seen = new Set<string>()
  return Stream.paginateChunkEffect(undefined as Position | undefined, (after) =>
    Effect.map(read(after), (entries) => {
      const last = entries[entries.length - 1]
      const fresh = entries.filter((entry) => !seen.has(entry.id))
      for (const entry of fresh) seen.add(entry.id)
      return [
        Chunk.unsafeFromArray(fresh),
        last === undefined || entries.length < pageSize
          ? Option.none()
          : Option.some({ timestamp: last.timestamp, id: last.id })
      ]
    })
  )
}
