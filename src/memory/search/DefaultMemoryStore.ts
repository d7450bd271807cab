/**
 * The memory store over a backend: checks, lifetimes, pages, vectors and scores. Includes the in-process store.
 *
 * @since 0.1.0
 */
import * as Chunk from "effect/Chunk"
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import type { EntryId } from "../../domain/Ids.js"
import { Embedder, type Service as EmbedderService } from "../../llm/embedding/Embedder.js"
import * as EntryChecks from "../entry/EntryChecks.js"
import type { Change, ConditionalChange, MemoryBackend, Position } from "../entry/MemoryBackend.js"
import { type MemoryEntry, type MemorySearchResult, queryDefaults } from "../entry/MemoryEntry.js"
import { MemoryStoreError, type MemoryStoreFailure, type RetrievalFailure } from "../entry/MemoryError.js"
import * as OwnerNamespace from "../entry/OwnerNamespace.js"
import type { Selection } from "../entry/Selection.js"
import * as EntryVectors from "./EntryVectors.js"
import * as InMemoryBackend from "./InMemoryBackend.js"
import { MemoryStore, type Service } from "./MemoryStore.js"
import * as Retrieval from "./Retrieval.js"
import { VectorIndex, type Service as VectorIndexService } from "./VectorIndex.js"

/**
 * What a store does beyond keeping entries.
 *
 * @since 0.1.0
 * @category models
 */
export interface Options {
  /**
   * How long an entry lives after it was stored; its own `expiresAt` can end it sooner. 30 days unless set; 0 or
   * infinity: for ever.
   */
  readonly ttl?: Duration.DurationInput | undefined
  /** Results of a query that says nothing else; 10 unless set. */
  readonly topK?: number | undefined
  /** Weights of a query that says nothing else; `MemoryEntry.queryDefaults` unless set. */
  readonly weights?:
    | {
        readonly recency?: number | undefined
        readonly importance?: number | undefined
        readonly relevance?: number | undefined
      }
    | undefined
  /** The age at which recency has fallen to one half; 30 days unless set. */
  readonly recencyHalfLife?: Duration.DurationInput | undefined
}

/**
 * Entries get vectors too.
 *
 * @since 0.1.0
 * @category models
 */
export interface VectorOptions {
  readonly embedder: EmbedderService
  readonly index: VectorIndexService
  /** Characters of an entry that its vector is made from; 8,000 unless set. */
  readonly maxCharacters?: number | undefined
}

const PAGE = 256

const nothing: Selection = {}

/**
 * The store over a backend: checks, lifetimes, pages, vectors and scores. With vectors an entry is found by its meaning
 * too: what has an `embedding` of the index's length keeps it, all others are embedded in one batch.
 *
 * A call with vectors embeds first, then writes the vectors, then the entries: where one of these fails, nothing is
 * stored. A vector without an entry is taken back; where even that fails it stays, and nothing is found by it. An entry
 * that could not be replaced may be found by what it should have become until it is stored again.
 *
 * @since 0.1.0
 * @category constructors
 */
export const fromBackend = (
  backend: MemoryBackend,
  options: Options & { readonly vectors?: VectorOptions | undefined } = {}
): Service => {
  const name = backend.name
  const ttl = Duration.toMillis(options.ttl ?? "30 days")
  const vectors = options.vectors === undefined ? undefined : EntryVectors.make(backend, options.vectors)
  const sources: Retrieval.Sources = {
    backend,
    vectors: options.vectors,
    options: {
      topK: options.topK ?? queryDefaults.topK,
      recencyWeight: options.weights?.recency ?? queryDefaults.recencyWeight,
      importanceWeight: options.weights?.importance ?? queryDefaults.importanceWeight,
      relevanceWeight: options.weights?.relevance ?? queryDefaults.relevanceWeight,
      recencyHalfLife: Math.max(1, Duration.toMillis(options.recencyHalfLife ?? "30 days"))
    }
  }

  /** The entries as they are kept, the last of each id. */
  const checked = (
    ownerId: string,
    entries: ReadonlyArray<MemoryEntry>,
    now: number
  ): ReadonlyArray<MemoryEntry> | MemoryStoreError => {
    const latest = ttl > 0 ? now + ttl : Number.POSITIVE_INFINITY
    const kept = new Map<string, MemoryEntry>()
    for (const entry of entries) {
      const one = EntryChecks.entry(name, ownerId, entry, latest)
      if (one instanceof MemoryStoreError) return one
      kept.delete(one.id)
      kept.set(one.id, one)
    }
    return Array.from(kept.values())
  }

  const owned = <A, E>(ownerId: string, effect: () => Effect.Effect<A, E>): Effect.Effect<A, E | MemoryStoreError> =>
    Effect.suspend((): Effect.Effect<A, E | MemoryStoreError> => EntryChecks.owner(name, ownerId) ?? effect())

  const selected = <A, E>(
    ownerId: string,
    selection: Selection,
    effect: () => Effect.Effect<A, E>
  ): Effect.Effect<A, E | MemoryStoreError> =>
    owned(ownerId, (): Effect.Effect<A, E | MemoryStoreError> => EntryChecks.selection(name, selection) ?? effect())

  const write = (ownerId: string, change: ConditionalChange): Effect.Effect<number | undefined, RetrievalFailure> =>
    vectors === undefined ? backend.apply(ownerId, change) : vectors.apply(ownerId, change)

  const change = (ownerId: string, change: ConditionalChange): Effect.Effect<number | undefined, RetrievalFailure> =>
    owned(ownerId, () =>
      Effect.flatMap(Clock.currentTimeMillis, (now): Effect.Effect<number | undefined, RetrievalFailure> => {
        const store = checked(ownerId, change.store ?? [], now)
        if (store instanceof MemoryStoreError) return store
        const ids = change.delete ?? []
        const { unchanged = [] } = change
        return store.length === 0 && ids.length === 0 && unchanged.length === 0
          ? Effect.succeed(0)
          : write(ownerId, { delete: Array.from(new Set(ids)), store, unchanged })
      })
    )

  const apply = (ownerId: string, { delete: ids, store }: Change): Effect.Effect<number, RetrievalFailure> =>
    Effect.map(change(ownerId, { delete: ids, store }), (count) => count ?? 0)

  const storeMany = (entries: ReadonlyArray<MemoryEntry>): Effect.Effect<void, RetrievalFailure> =>
    Effect.flatMap(Clock.currentTimeMillis, (now): Effect.Effect<void, RetrievalFailure> => {
      const byOwner = new Map<string, Array<MemoryEntry>>()
      for (const entry of entries) {
        const same = byOwner.get(entry.ownerId)
        if (same === undefined) byOwner.set(entry.ownerId, [entry])
        else same.push(entry)
      }
      const changes: Array<readonly [string, Change]> = []
      for (const [ownerId, own] of byOwner) {
        const store = checked(ownerId, own, now)
        if (store instanceof MemoryStoreError) return store
        changes.push([ownerId, { store }])
      }
      return Effect.forEach(changes, ([ownerId, change]) => write(ownerId, change), { discard: true })
    })

  const getMany = (ownerId: string, ids: ReadonlyArray<EntryId>) =>
    owned(ownerId, () => (ids.length === 0 ? Effect.succeed([]) : backend.get(ownerId, ids)))

  return {
    name,
    store: (entry) => Effect.asVoid(apply(entry.ownerId, { store: [entry] })),
    storeMany,
    retrieve: (query) =>
      Effect.suspend(
        (): Effect.Effect<ReadonlyArray<MemorySearchResult>, RetrievalFailure> =>
          EntryChecks.query(name, query) ??
          Effect.flatMap(Clock.currentTimeMillis, (now) => Retrieval.retrieve(sources, query, now))
      ),
    getRecent: ({ n, ownerId, selection = nothing }) =>
      selected(ownerId, selection, (): Effect.Effect<ReadonlyArray<MemoryEntry>, MemoryStoreFailure> => {
        if (!(Number.isInteger(n) && n >= 0)) {
          return new MemoryStoreError({ message: "The number of entries is no whole number from 0 on", store: name })
        }
        return n === 0 ? Effect.succeed([]) : backend.recent(ownerId, { limit: n, selection })
      }),
    get: (ownerId, id) => Effect.map(getMany(ownerId, [id]), (found) => Option.fromNullable(found[0])),
    getMany,
    delete: (ownerId, id) =>
      owned(ownerId, () =>
        Effect.map(
          vectors === undefined ? backend.apply(ownerId, { delete: [id] }) : vectors.remove(ownerId, id),
          (count) => count !== undefined && count > 0
        )
      ),
    apply,
    applyIf: (ownerId, unchanged, { delete: ids, store }) =>
      Effect.map(change(ownerId, { delete: ids, store, unchanged }), Option.fromNullable),
    clear: (ownerId) => owned(ownerId, () => (vectors === undefined ? backend.clear(ownerId) : vectors.clear(ownerId))),
    count: (ownerId, selection = nothing) => selected(ownerId, selection, () => backend.count(ownerId, selection)),
    stream: (ownerId, selection = nothing) =>
      Stream.unwrap(
        selected(ownerId, selection, () =>
          Effect.sync(() => pages((after) => backend.page(ownerId, { limit: PAGE, selection, after })))
        )
      ),
    owners: Stream.paginateChunkEffect(undefined as string | undefined, (after) =>
      Effect.map(backend.owners({ limit: PAGE, after }), (owners) => [
        Chunk.unsafeFromArray(owners.filter((owner) => !OwnerNamespace.isReserved(owner))),
        owners.length < PAGE ? Option.none() : Option.some(owners[owners.length - 1])
      ])
    ),
    recordAccess: (ownerId, ids) =>
      owned(ownerId, () =>
        ids.length === 0
          ? Effect.void
          : Effect.flatMap(Clock.currentTimeMillis, (now) => backend.recordAccess(ownerId, ids, now))
      ),
    expire: backend.expire,
    health: vectors === undefined ? backend.health : Effect.zipRight(backend.health, vectors.health)
  }
}

/** Entries that move to a later place while they are read are not read again. */
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
        last === undefined || entries.length < PAGE
          ? Option.none()
          : Option.some({ timestamp: last.timestamp, id: last.id })
      ]
    })
  )
}

/**
 * How much a store in memory keeps and what it does when it is full; how it reads words.
 *
 * @since 0.1.0
 * @category models
 */
export interface MemoryOptions extends Options, Omit<InMemoryBackend.Options, "evicted"> {}

/**
 * Entries in the memory of this process: they end with it.
 *
 * @since 0.1.0
 * @category constructors
 */
export const makeMemory = (
  options: MemoryOptions & { readonly vectors?: VectorOptions | undefined } = {}
): Effect.Effect<Service> => {
  const index = options.vectors?.index
  return Effect.map(
    InMemoryBackend.make({
      ...options,
      // An entry that was let go is gone, whether or not its vector could be taken back.
      evicted: index === undefined ? undefined : (ownerId, ids) => Effect.ignore(index.delete(ownerId, ids))
    }),
    (backend) => fromBackend(backend, options)
  )
}

/**
 * In memory, found by their words.
 *
 * @since 0.1.0
 * @category layers
 */
export const layerMemory = (options?: MemoryOptions): Layer.Layer<MemoryStore> =>
  Layer.effect(MemoryStore, makeMemory(options))

/**
 * In memory, found by their words and by their vectors.
 *
 * @since 0.1.0
 * @category layers
 */
export const layerMemoryVectors = (
  options?: MemoryOptions & Pick<VectorOptions, "maxCharacters">
): Layer.Layer<MemoryStore, never, Embedder | VectorIndex> =>
  Layer.effect(
    MemoryStore,
    Effect.flatMap(Effect.all([Embedder, VectorIndex]), ([embedder, index]) =>
      makeMemory({ ...options, vectors: { embedder, index, maxCharacters: options?.maxCharacters } })
    )
  )
