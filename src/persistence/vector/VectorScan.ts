/**
 * Exact search in this process. The vectors of an owner are read once and cached as far as there is room; changes by
 * others are read when the owner's revision has grown. For an owner that is too large, and in a transaction of the
 * caller, which may be rolled back, every search reads all vectors.
 *
 * @private
 * @since 0.1.0
 */

import type { SqlError } from "@effect/sql/SqlError"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import type { EntryId } from "../../domain/Ids.js"
import * as KeyedLock from "../../internal/fiber/KeyedLock.js"
import { nextTurn } from "../../internal/fiber/NextTurn.js"
import type { Vector } from "../../llm/embedding/Embedder.js"
import { MemoryStoreError } from "../../memory/entry/MemoryError.js"
import { predicate } from "../../memory/entry/Selection.js"
import type * as VectorIndex from "../../memory/search/VectorIndex.js"
import * as VectorTable from "../../memory/search/VectorTable.js"
import type { Database, Row } from "../engine/Database.js"
import * as KeyText from "../engine/KeyText.js"
import * as VectorCandidates from "./VectorCandidates.js"
import type { State, VectorRows } from "./VectorRows.js"
import { isNested } from "./VectorRows.js"
import type { Space } from "./VectorSpaces.js"

type Failure = VectorIndex.VectorIndexFailure

/**
 * Default size of the cache in bytes, ids and metadata included.
 *
 * @category constants
 */
export const defaultCacheBytes = 512 * 2 ** 20

/** Rows read by one statement. */
const PAGE = 1_000

/** Multiplications between two yields to the event loop: some milliseconds. */
const WORK = 4_000_000

/** Bytes of an item beside its vector, id and metadata. */
const ITEM = 200

interface Held {
  readonly table: VectorTable.VectorTable
  incarnation: string
  revision: number
  /** Bytes beside the vectors. */
  extra: number
}

/**
 * @category models
 */
export interface VectorScan {
  readonly search: VectorIndex.Service["search"]
  readonly removed: (ownerId: string, before: State, after: State, ids: ReadonlyArray<EntryId>) => void
  readonly cleared: (ownerId: string) => void
  /** Bytes that are cached now. */
  readonly bytes: () => number
}

interface Options {
  readonly space: Space
  readonly cacheBytes: number
  readonly rows: () => Pick<VectorRows, "state" | "count" | "checked" | "guarded">
}

const bytesOf = ({ extra, table }: Held): number => table.bytes + extra

const drop = (one: Held, id: EntryId): void => {
  const per = one.table.size === 0 ? 0 : one.extra / one.table.size
  if (one.table.delete(id)) one.extra -= per
}

/** The vectors of the owners that were searched last, within a number of bytes. */
class Cache {
  /** The most recently used owner is the last. */
  private readonly held = new Map<string, Held>()
  total = 0

  constructor(private readonly limit: number) {}

  get(ownerId: string): Held | undefined {
    return this.held.get(ownerId)
  }

  release(ownerId: string): void {
    const one = this.held.get(ownerId)
    if (one === undefined) return
    this.held.delete(ownerId)
    this.total -= bytesOf(one)
  }

  keep(ownerId: string, one: Held): void {
    this.held.set(ownerId, one)
    this.total += bytesOf(one)
    for (const oldest of this.held.keys()) {
      if (this.total <= this.limit) break
      this.release(oldest)
    }
  }

  /** Marks the owner as most recently used. */
  touch(ownerId: string, one: Held): void {
    this.held.delete(ownerId)
    this.held.set(ownerId, one)
  }

  /** Applies a change and updates the total, if the vectors are still cached. */
  change(ownerId: string, one: Held, apply: () => void): void {
    const before = bytesOf(one)
    apply()
    if (this.held.get(ownerId) === one) this.total += bytesOf(one) - before
  }
}

/** Reads an owner's rows page by page. */
const makeReader = (database: Database, { space }: Options) => {
  const { dimensions, table } = space
  const { dialect } = database
  // Reused for every row, because drivers may return bytes that are not aligned.
  const vector = new Float32Array(dimensions)
  const vectorBytes = new Uint8Array(vector.buffer)

  const page = dialect.sql(
    `SELECT ${VectorCandidates.columns("v")}, v.revision, v.vector FROM ${table} v
     WHERE v.space_id = ? AND v.owner_id = ? AND (v.revision, v.id) > (?, ?) ORDER BY v.revision, v.id LIMIT ${PAGE}`
  )
  const ids = dialect.sql(
    `SELECT id, revision FROM ${table} WHERE space_id = ? AND owner_id = ? AND (revision, id) > (?, ?)
     ORDER BY revision, id LIMIT ${20 * PAGE}`
  )

  /** Visits pages of rows from a revision on. */
  const read = (
    sql: string,
    size: number,
    owner: string,
    from: number,
    take: (rows: ReadonlyArray<Row>) => Effect.Effect<void>
  ): Effect.Effect<void, SqlError> => {
    const next = (revision: number, id: string): Effect.Effect<void, SqlError> =>
      Effect.flatMap(database.rows(sql, [space.id, owner, revision, id]), (found) => {
        const last = found[found.length - 1]
        const taken = take(found)
        return last === undefined || found.length < size
          ? taken
          : Effect.zipRight(Effect.zipRight(taken, nextTurn), next(Number(last.revision), last.id))
      })
    return next(from, "")
  }

  const put = (one: Held, row: Row): void => {
    const item = VectorCandidates.item(row)
    const bytes: Uint8Array = row.vector
    if (bytes.length === 1) vector.fill(0)
    else vectorBytes.set(bytes)
    if (one.table.set(item, vector)) {
      one.extra += ITEM + 2 * (item.id.length + row.metadata.length)
    }
  }

  return {
    rows: (owner: string, from: number, take: (rows: ReadonlyArray<Row>) => Effect.Effect<void>) =>
      read(page, PAGE, owner, from, take),
    ids: (owner: string, take: (rows: ReadonlyArray<Row>) => Effect.Effect<void>) =>
      read(ids, 20 * PAGE, owner, 0, take),
    put
  }
}

type Reader = ReturnType<typeof makeReader>

/** Brings the cached vectors of an owner up to date. */
const makeCurrent = (reader: Reader, cache: Cache, { cacheBytes, rows, space }: Options) => {
  const { dimensions } = space
  const rowBytes = dimensions * Float32Array.BYTES_PER_ELEMENT
  const locks = KeyedLock.make()

  const takeAll = (ownerId: string, one: Held) => (found: ReadonlyArray<Row>) =>
    Effect.sync(() =>
      cache.change(ownerId, one, () => {
        for (const row of found) reader.put(one, row)
      })
    )

  /** Drops the vectors that others removed. */
  const reconcile = (ownerId: string, owner: string, one: Held): Effect.Effect<void, SqlError> => {
    const there = new Set<string>()
    return Effect.map(
      reader.ids(owner, (found) =>
        Effect.sync(() => {
          for (const { id } of found) there.add(KeyText.decode(id))
        })
      ),
      () =>
        cache.change(ownerId, one, () => {
          for (const id of [...one.table.ids()]) if (!there.has(id)) drop(one, id)
        })
    )
  }

  /** The vectors of the owner as in the database; `undefined` if they do not fit into the cache. */
  const current = (ownerId: string, state: State): Effect.Effect<Held | undefined, Failure> =>
    locks.withLock(ownerId)(
      Effect.suspend(() => {
        const owner = KeyText.encode(ownerId)
        const known = cache.get(ownerId)
        if (known !== undefined && known.incarnation === state.incarnation) {
          // Another fiber has caught up in the meantime.
          if (known.revision >= state.revision) return Effect.succeed(known)
          return rows()
            .guarded(
              Effect.zipRight(
                reader.rows(owner, known.revision, takeAll(ownerId, known)),
                state.purged > known.revision ? reconcile(ownerId, owner, known) : Effect.void
              )
            )
            .pipe(
              Effect.map(() => {
                known.revision = state.revision
                return known
              })
            )
        }
        cache.release(ownerId)
        return Effect.flatMap(rows().count(ownerId), (count) => {
          if (count * (rowBytes + ITEM) > cacheBytes) return Effect.succeed(undefined)
          const { incarnation, revision } = state
          const one: Held = { table: VectorTable.make(dimensions), incarnation, revision, extra: 0 }
          one.table.reserve(count)
          return Effect.as(
            Effect.tap(rows().guarded(reader.rows(owner, 0, takeAll(ownerId, one))), () =>
              Effect.sync(() => cache.keep(ownerId, one))
            ),
            one
          )
        })
      })
    )

  return current
}

const scan = (
  table: VectorTable.VectorTable,
  query: Vector,
  asked: VectorTable.SearchOptions,
  perTurn: number
): Effect.Effect<ReadonlyArray<VectorTable.Hit>> =>
  Effect.suspend(() => {
    const search = table.search(query, asked)
    const go: Effect.Effect<ReadonlyArray<VectorTable.Hit>> = Effect.suspend(() =>
      search.advance(perTurn) ? Effect.succeed(search.hits()) : Effect.zipRight(nextTurn, go)
    )
    return go
  })

/** Searches page by page without caching. */
const makeSieve =
  (reader: Reader, { rows, space }: Options) =>
  (
    ownerId: string,
    query: Vector,
    asked: VectorTable.SearchOptions
  ): Effect.Effect<ReadonlyArray<VectorTable.Hit>, Failure> =>
    Effect.suspend(() => {
      let best: ReadonlyArray<VectorTable.Hit> = []
      return Effect.map(
        rows().guarded(
          reader.rows(KeyText.encode(ownerId), 0, (found) =>
            Effect.sync(() => {
              const one: Held = { table: VectorTable.make(space.dimensions), incarnation: "", revision: 0, extra: 0 }
              one.table.reserve(found.length)
              for (const row of found) reader.put(one, row)
              // A row that is replaced while reading appears again later, in its new version.
              const again = new Set(one.table.ids())
              const before = best.filter(({ id }) => !again.has(id))
              best = VectorCandidates.merged([...before, ...one.table.nearest(query, asked)], asked.limit)
            })
          )
        ),
        () => best
      )
    })

/**
 * @category constructors
 */
export const make = (database: Database, options: Options): VectorScan => {
  const { rows } = options
  const perTurn = Math.max(1, Math.floor(WORK / options.space.dimensions))
  const cache = new Cache(options.cacheBytes)
  const reader = makeReader(database, options)
  const current = makeCurrent(reader, cache, options)
  const sieve = makeSieve(reader, options)

  return {
    bytes: () => cache.total,
    cleared: (ownerId) => cache.release(ownerId),
    removed: (ownerId, before, after, ids) => {
      const one = cache.get(ownerId)
      if (one === undefined || one.incarnation !== before.incarnation || one.revision !== before.revision) return
      cache.change(ownerId, one, () => {
        for (const id of ids) drop(one, id)
      })
      one.revision = after.revision
    },
    search: (ownerId, vector, { limit, selection }) =>
      Effect.gen(function* () {
        const query = rows().checked(vector)
        if (query instanceof MemoryStoreError) return yield* query
        const now = yield* Clock.currentTimeMillis
        const state = yield* rows().state(ownerId)
        if (state === undefined) cache.release(ownerId)
        if (state === undefined || !(limit >= 1)) return []
        const accepts = selection === undefined ? undefined : predicate(selection)
        const asked = { limit: Math.floor(limit), now, accepts }
        const one = (yield* isNested) ? undefined : yield* current(ownerId, state)
        if (one === undefined) return yield* sieve(ownerId, query, asked)
        if (cache.get(ownerId) === one) {
          cache.touch(ownerId, one)
          cache.change(ownerId, one, () => {
            for (const id of one.table.expired(now)) drop(one, id)
          })
        }
        return yield* scan(one.table, query, asked, perTurn)
      })
  }
}
