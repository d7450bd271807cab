/**
 * Exact search in this process: the vectors of an owner are read once and kept, as many as there is room for, and what
 * others change is read when the owner's revision says so. Of an owner that is too large, and within a transaction of
 * the caller, whose writes may be undone, every search reads them all.
 *
 * @internal
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
 * Bytes of vectors and what belongs to them that are kept unless another number is asked for.
 *
 * @category constants
 */
export const defaultCacheBytes = 512 * 2 ** 20

/** Rows that are read at a time. */
const PAGE = 1_000

/** Multiplications between two turns of the event loop; some milliseconds. */
const WORK = 4_000_000

/** What an item takes beside its vector, its id and its metadata. */
const ITEM = 200

interface Held {
  readonly table: VectorTable.VectorTable
  incarnation: string
  revision: number
  /** Beside the vectors. */
  extra: number
}

/**
 * @category models
 */
export interface VectorScan {
  readonly search: VectorIndex.Service["search"]
  readonly removed: (ownerId: string, before: State, after: State, ids: ReadonlyArray<EntryId>) => void
  readonly cleared: (ownerId: string) => void
  /** What is kept at this time. */
  readonly bytes: () => number
}

/**
 * @category constructors
 */
export const make = (
  database: Database,
  options: {
    readonly space: Space
    readonly cacheBytes: number
    readonly rows: () => Pick<VectorRows, "state" | "count" | "checked" | "guarded">
  }
): VectorScan => {
  const { cacheBytes, rows, space } = options
  const { dimensions, table } = space
  const { dialect } = database
  const rowBytes = dimensions * Float32Array.BYTES_PER_ELEMENT
  const perTurn = Math.max(1, Math.floor(WORK / dimensions))
  // Alone in their arrays, and only for the moment in which a row is taken over.
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

  const locks = KeyedLock.make()
  /** Those that were asked for last are at the end. */
  const held = new Map<string, Held>()
  let total = 0

  const bytesOf = ({ extra, table }: Held): number => table.bytes + extra
  const release = (ownerId: string): void => {
    const one = held.get(ownerId)
    if (one === undefined) return
    held.delete(ownerId)
    total -= bytesOf(one)
  }
  const keep = (ownerId: string, one: Held): void => {
    held.set(ownerId, one)
    total += bytesOf(one)
    for (const oldest of held.keys()) {
      if (total <= cacheBytes) break
      release(oldest)
    }
  }
  /** What it takes is counted anew. */
  const changed = (ownerId: string, one: Held, change: () => void): void => {
    const before = bytesOf(one)
    change()
    if (held.get(ownerId) !== one) return
    total += bytesOf(one) - before
  }

  /** Pages of rows from a position on. */
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

  const drop = (one: Held, id: EntryId): void => {
    const per = one.table.size === 0 ? 0 : one.extra / one.table.size
    if (one.table.delete(id)) one.extra -= per
  }

  const takeAll = (ownerId: string, one: Held) => (found: ReadonlyArray<Row>) =>
    Effect.sync(() =>
      changed(ownerId, one, () => {
        for (const row of found) put(one, row)
      })
    )

  /** Without what was removed by others. */
  const reconcile = (ownerId: string, owner: string, one: Held): Effect.Effect<void, SqlError> => {
    const there = new Set<string>()
    return Effect.map(
      read(ids, 20 * PAGE, owner, 0, (found) =>
        Effect.sync(() => {
          for (const { id } of found) there.add(KeyText.decode(id))
        })
      ),
      () =>
        changed(ownerId, one, () => {
          for (const id of [...one.table.ids()]) if (!there.has(id)) drop(one, id)
        })
    )
  }

  /** The vectors of the owner as they are in the database; undefined where they are too many to be kept. */
  const current = (ownerId: string, state: State): Effect.Effect<Held | undefined, Failure> =>
    locks.withLock(ownerId)(
      Effect.suspend(() => {
        const owner = KeyText.encode(ownerId)
        const known = held.get(ownerId)
        if (known !== undefined && known.incarnation === state.incarnation) {
          // Somebody else has caught up, further perhaps.
          if (known.revision >= state.revision) return Effect.succeed(known)
          return rows()
            .guarded(
              Effect.zipRight(
                read(page, PAGE, owner, known.revision, takeAll(ownerId, known)),
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
        release(ownerId)
        return Effect.flatMap(rows().count(ownerId), (count) => {
          if (count * (rowBytes + ITEM) > cacheBytes) return Effect.succeed(undefined)
          const { incarnation, revision } = state
          const one: Held = { table: VectorTable.make(dimensions), incarnation, revision, extra: 0 }
          one.table.reserve(count)
          return Effect.as(
            Effect.tap(rows().guarded(read(page, PAGE, owner, 0, takeAll(ownerId, one))), () =>
              Effect.sync(() => keep(ownerId, one))
            ),
            one
          )
        })
      })
    )

  const scan = (
    table: VectorTable.VectorTable,
    query: Vector,
    asked: VectorTable.SearchOptions
  ): Effect.Effect<ReadonlyArray<VectorTable.Hit>> =>
    Effect.suspend(() => {
      const search = table.search(query, asked)
      const go: Effect.Effect<ReadonlyArray<VectorTable.Hit>> = Effect.suspend(() =>
        search.advance(perTurn) ? Effect.succeed(search.hits()) : Effect.zipRight(nextTurn, go)
      )
      return go
    })

  /** Page by page, without keeping anything. */
  const sieve = (
    ownerId: string,
    query: Vector,
    asked: VectorTable.SearchOptions
  ): Effect.Effect<ReadonlyArray<VectorTable.Hit>, Failure> =>
    Effect.suspend(() => {
      let best: ReadonlyArray<VectorTable.Hit> = []
      return Effect.map(
        rows().guarded(
          read(page, PAGE, KeyText.encode(ownerId), 0, (found) =>
            Effect.sync(() => {
              const one: Held = { table: VectorTable.make(dimensions), incarnation: "", revision: 0, extra: 0 }
              one.table.reserve(found.length)
              for (const row of found) put(one, row)
              // What was replaced while it was read comes again, later, as it is now.
              const again = new Set(one.table.ids())
              const before = best.filter(({ id }) => !again.has(id))
              best = VectorCandidates.merged([...before, ...one.table.nearest(query, asked)], asked.limit)
            })
          )
        ),
        () => best
      )
    })

  return {
    bytes: () => total,
    cleared: release,
    removed: (ownerId, before, after, ids) => {
      const one = held.get(ownerId)
      if (one === undefined || one.incarnation !== before.incarnation || one.revision !== before.revision) return
      changed(ownerId, one, () => {
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
        if (state === undefined) release(ownerId)
        if (state === undefined || !(limit >= 1)) return []
        const accepts = selection === undefined ? undefined : predicate(selection)
        const asked = { limit: Math.floor(limit), now, accepts }
        const one = (yield* isNested) ? undefined : yield* current(ownerId, state)
        if (one === undefined) return yield* sieve(ownerId, query, asked)
        if (held.get(ownerId) === one) {
          held.delete(ownerId)
          held.set(ownerId, one)
          changed(ownerId, one, () => {
            for (const id of one.table.expired(now)) drop(one, id)
          })
        }
        return yield* scan(one.table, query, asked)
      })
  }
}
