/**
 * Entries of memory in a database: what a `MemoryBackend` has to do, in SQL.
 *
 * @internal
 * @since 0.1.0
 */
import type { SqlError } from "@effect/sql/SqlError"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import type { EntryId } from "../../domain/Ids.js"
import type { LexicalMatches, MemoryBackend, Position } from "../../memory/entry/MemoryBackend.js"
import type { MemoryEntry } from "../../memory/entry/MemoryEntry.js"
import { StorageError } from "../../memory/entry/MemoryError.js"
import type { Selection } from "../../memory/entry/Selection.js"
import * as Unchanged from "../../memory/entry/Unchanged.js"
import { queryTerms, type TextAnalyzer } from "../../memory/text/TextAnalyzer.js"
import type * as Database from "../engine/Database.js"
import type { Param } from "../engine/Dialect.js"
import * as KeyText from "../engine/KeyText.js"
import * as SqlFailure from "../engine/SqlFailure.js"
import * as StatementTexts from "../engine/StatementTexts.js"
import * as SqlFullText from "./SqlFullText.js"
import * as Rows from "./SqlMemoryRows.js"
import * as SqlMemorySearch from "./SqlMemorySearch.js"
import * as Writes from "./SqlMemoryWrites.js"
import * as SqlSelection from "./SqlSelection.js"

/**
 * Entries with what a filter asks for: as many or fewer are looked at by themselves, without walking through all of the
 * owner.
 */
const few = 2_000

/** How often what was found may be gone when it is read. */
const MAX_SEARCHES = 3

/** Another owner has another number, so a statement finds nothing for one that is not there. */
const OWNER = "(SELECT o.serial FROM lex_memory_owners o WHERE o.owner_id = ?)"

const LIVE = "(m.expires_at IS NULL OR m.expires_at > ?)"

type Direction = "ASC" | "DESC"

/** From which entries a statement chooses. */
interface Source {
  readonly from: string
  readonly params: ReadonlyArray<Param>
}

const everything: Source = { from: "FROM lex_memories m WHERE", params: [] }

/**
 * In one statement: an entry that is replaced meanwhile is there before and after. SQLite takes the tables of a cross
 * join in this order.
 */
const narrowed = (full: SqlFullText.FullText, words: ReadonlyArray<string>): Source => ({
  from: `FROM (${full.having.sql}) n CROSS JOIN lex_memories m WHERE m.serial = n.serial AND`,
  params: full.having.params(words, Number.MAX_SAFE_INTEGER)
})

const storage = <A, E>(effect: Effect.Effect<A, E | SqlError>): Effect.Effect<A, Exclude<E, SqlError> | StorageError> =>
  Effect.catchIf(
    effect,
    (error): error is Extract<E | SqlError, SqlError> => (error as { _tag?: unknown })._tag === "SqlError",
    (error) => Effect.fail(new StorageError(SqlFailure.fields(error)))
  ) as Effect.Effect<A, Exclude<E, SqlError> | StorageError>

/**
 * @category constructors
 */
export const make = (database: Database.Database, analyzer: TextAnalyzer): MemoryBackend => {
  const { dialect } = database
  const full = SqlFullText.make(dialect)
  const writes = Writes.make(dialect, full, analyzer)
  const search = SqlMemorySearch.make(dialect, full)

  const sql = {
    owner: dialect.sql(
      "SELECT serial, analyzer, entries, words, next_expiry FROM lex_memory_owners WHERE owner_id = ?"
    ),
    byId: dialect.sql(
      `SELECT ${Rows.read} FROM lex_memories m JOIN lex_memory_bodies b ON b.serial = m.serial` +
        ` WHERE m.owner = ${OWNER} AND ${LIVE} AND ${dialect.oneOf("m.id")}`
    ),
    bySerial: dialect.sql(
      `SELECT ${Rows.read} FROM lex_memories m JOIN lex_memory_bodies b ON b.serial = m.serial` +
        ` WHERE ${Rows.oneOfSerials(dialect, "m.serial")}`
    ),
    place: dialect.sql(
      `SELECT m.owner, m.timestamp, m.id, m.session_id FROM lex_memories m WHERE m.owner = ${OWNER} AND m.id = ? AND ${LIVE}`
    ),
    owners: dialect.sql(
      "SELECT o.owner_id FROM lex_memory_owners o WHERE o.owner_id > ? AND EXISTS" +
        ` (SELECT 1 FROM lex_memories m WHERE m.owner = o.serial AND ${LIVE}) ORDER BY o.owner_id LIMIT ?`
    ),
    expiring: dialect.sql("SELECT owner_id FROM lex_memory_owners WHERE next_expiry <= ? ORDER BY next_expiry LIMIT 1"),
    health: "SELECT serial FROM lex_memory_owners LIMIT 1",
    having: dialect.sql(full.having.sql)
  }

  /**
   * Rows of the columns are ordered twice: those that are read are few, and the join with their bodies may mix them up.
   */
  const walk = (owner: string, direction: Direction) =>
    StatementTexts.make((from: string, where: string) => {
      const order = `ORDER BY m.timestamp ${direction}, m.id ${direction}`
      return dialect.sql(
        `SELECT ${Rows.read} FROM (SELECT m.serial, m.id, m.timestamp, m.role, m.session_id, m.expires_at, m.access_count,` +
          ` m.accessed_at ${from} m.owner = ${owner} AND ${LIVE}${where} ${order} LIMIT ?) m` +
          ` JOIN lex_memory_bodies b ON b.serial = m.serial ${order}`
      )
    })
  const walks = { ASC: walk(OWNER, "ASC"), DESC: walk(OWNER, "DESC") }
  const sessionWalks = { ASC: walk("?", "ASC"), DESC: walk("?", "DESC") }
  const counting = StatementTexts.make((from: string, where: string) =>
    dialect.sql(`SELECT COUNT(*) AS count ${from} m.owner = ${OWNER} AND ${LIVE}${where}`)
  )

  const beyond = { ASC: " AND (m.timestamp, m.id) > (?, ?)", DESC: " AND (m.timestamp, m.id) < (?, ?)" }

  const decoded = (
    ownerId: string,
    rows: ReadonlyArray<Database.Row>
  ): Effect.Effect<ReadonlyArray<MemoryEntry>, StorageError> =>
    Effect.suspend(() => {
      const entries: Array<MemoryEntry> = []
      for (const row of rows) {
        const entry = Rows.decode(ownerId, row)
        if (entry === undefined) return Effect.fail(Writes.unreadable())
        entries.push(entry)
      }
      return Effect.succeed(entries)
    })

  const ownerOf = (ownerId: string): Effect.Effect<Writes.Owner | undefined, SqlError> =>
    Effect.map(database.first(sql.owner, [KeyText.encode(ownerId)]), (row) =>
      row === undefined ? undefined : Writes.ownerOf(row)
    )

  /** What a filter asks for may stand in few entries: then these are all there is to look at. */
  const sourceOf = (ownerId: string, selection: Selection): Effect.Effect<Source, SqlError> => {
    const wanted = SqlSelection.wordsOf(selection)
    if (wanted === undefined) return Effect.succeed(everything)
    return Effect.flatMap(ownerOf(ownerId), (owner) => {
      if (owner === undefined) return Effect.succeed(everything)
      const words = [...wanted, Rows.anyAttribute].map((word) => SqlFullText.attributeOf(owner.serial, word))
      return Effect.map(database.rows(sql.having, full.having.params(words, few + 1)), (rows) =>
        rows.length > few ? everything : narrowed(full, words)
      )
    })
  }

  const read = (
    ownerId: string,
    direction: Direction,
    options: { readonly limit: number; readonly selection: Selection; readonly from?: Position | undefined }
  ): Effect.Effect<ReadonlyArray<MemoryEntry>, StorageError> => {
    const { from, limit, selection } = options
    if (limit <= 0) return Effect.succeed([])
    return storage(
      Effect.gen(function* () {
        const now = yield* Clock.currentTimeMillis
        const source = yield* sourceOf(ownerId, selection)
        const where = SqlSelection.where(dialect, selection)
        const position = from === undefined ? [] : [from.timestamp, KeyText.encode(from.id)]
        const conditions = `${from === undefined ? "" : beyond[direction]}${where.sql}`
        const rows = yield* database.rows(walks[direction](source.from, conditions), [
          ...source.params,
          KeyText.encode(ownerId),
          now,
          ...position,
          ...where.params,
          limit
        ])
        return yield* decoded(ownerId, rows)
      })
    )
  }

  const count = (ownerId: string, selection: Selection): Effect.Effect<number, StorageError> =>
    storage(
      Effect.gen(function* () {
        const now = yield* Clock.currentTimeMillis
        const where = SqlSelection.where(dialect, selection)
        if (where.sql === "") {
          const owner = yield* ownerOf(ownerId)
          if (owner === undefined) return 0
          if (owner.nextExpiry === null || owner.nextExpiry > now) return owner.entries
        }
        const source = yield* sourceOf(ownerId, selection)
        const row = yield* database.first(counting(source.from, where.sql), [
          ...source.params,
          KeyText.encode(ownerId),
          now,
          ...where.params
        ])
        return Number(row?.["count"] ?? 0)
      })
    )

  const beside = Effect.fnUntraced(function* (
    place: Database.Row,
    direction: Direction,
    limit: number,
    selection: Selection,
    now: number
  ) {
    if (limit <= 0) return []
    const where = SqlSelection.where(dialect, selection)
    const conditions = ` AND m.session_id = ?${beyond[direction]}${where.sql}`
    return yield* database.rows(sessionWalks[direction](everything.from, conditions), [
      Number(place["owner"]),
      now,
      place["session_id"],
      Number(place["timestamp"]),
      place["id"],
      ...where.params,
      limit
    ])
  })

  const lexical = (
    ownerId: string,
    options: { readonly text: string; readonly limit: number; readonly selection: Selection },
    now: number,
    searches: number
  ): Effect.Effect<LexicalMatches, SqlError | StorageError> =>
    Effect.gen(function* () {
      let owner = yield* ownerOf(ownerId)
      if (owner === undefined) return { hits: [], ceiling: 0 }
      if (owner.analyzer !== analyzer.name) {
        yield* database.transaction((tx) => writes.reread(tx, ownerId))
        owner = (yield* ownerOf(ownerId)) ?? owner
      }
      const { limit, selection, text } = options
      const { ceiling, hits, isStale } = yield* search(database, owner, {
        terms: queryTerms(analyzer, text),
        limit,
        selection,
        now
      })
      if (isStale && searches > 1) return yield* lexical(ownerId, options, now, searches - 1)
      if (hits.length === 0) return { hits: [], ceiling }
      const rows = yield* database.rows(sql.bySerial, [
        Rows.serials(
          dialect,
          hits.map(({ serial }) => serial)
        )
      ])
      // Somebody has replaced what was found: it may be found again.
      if (rows.length < hits.length && searches > 1) return yield* lexical(ownerId, options, now, searches - 1)
      const entries = yield* decoded(ownerId, rows)
      const bySerial = new Map(rows.map((row, at) => [Number(row["serial"]), entries[at] as MemoryEntry]))
      return {
        hits: hits.flatMap(({ score, serial }) => {
          const entry = bySerial.get(serial)
          return entry === undefined ? [] : [{ entry, score }]
        }),
        ceiling
      }
    })

  const byId = (access: Database.Access, ownerId: string, ids: ReadonlyArray<EntryId>, now: number) =>
    Effect.gen(function* () {
      const list = dialect.list(ids.map(KeyText.encode))
      const entries = yield* decoded(ownerId, yield* access.rows(sql.byId, [KeyText.encode(ownerId), now, list]))
      return new Map(entries.map((entry) => [entry.id, entry]))
    })

  return {
    name: dialect.name,
    apply: (ownerId, change) =>
      Effect.gen(function* () {
        const now = yield* Clock.currentTimeMillis
        const stored = new Map((change.store ?? []).map((entry) => [entry.id, entry]))
        const deleted = new Set(change.delete ?? [])
        const ids = Array.from(new Set([...deleted, ...stored.keys()]))
        const lasting = Array.from(stored.values()).filter(
          ({ expiresAt }) => expiresAt === undefined || expiresAt > now
        )
        const prepared = yield* Effect.forEach(lasting, (entry) => Rows.prepare(entry, analyzer))
        const { unchanged = [] } = change
        return yield* storage(
          database.transaction((tx) => {
            const holds =
              unchanged.length === 0
                ? undefined
                : Effect.map(
                    byId(
                      tx,
                      ownerId,
                      unchanged.map(({ id }) => id),
                      now
                    ),
                    (found) => Unchanged.holds(unchanged, (id) => found.get(id))
                  )
            return writes.apply(tx, ownerId, { deleted, holds, ids, prepared }, now)
          })
        )
      }),
    get: (ownerId, ids) =>
      storage(
        Effect.gen(function* () {
          const found = yield* byId(database, ownerId, ids, yield* Clock.currentTimeMillis)
          return ids.map((id) => found.get(id)).filter((entry) => entry !== undefined)
        })
      ),
    recent: (ownerId, { before, limit, selection }) => read(ownerId, "DESC", { limit, selection, from: before }),
    page: (ownerId, { after, limit, selection }) => read(ownerId, "ASC", { limit, selection, from: after }),
    lexical: (ownerId, options) =>
      storage(Effect.flatMap(Clock.currentTimeMillis, (now) => lexical(ownerId, options, now, MAX_SEARCHES))),
    around: (ownerId, id, { after, before, selection }) =>
      storage(
        Effect.gen(function* () {
          const now = yield* Clock.currentTimeMillis
          const place = yield* database.first(sql.place, [KeyText.encode(ownerId), KeyText.encode(id), now])
          if (place === undefined || place["session_id"] === null) return []
          const earlier = yield* beside(place, "DESC", before, selection, now)
          const later = yield* beside(place, "ASC", after, selection, now)
          return yield* decoded(ownerId, [...earlier].reverse().concat(later))
        })
      ),
    count,
    owners: ({ after, limit }) =>
      limit <= 0
        ? Effect.succeed([])
        : storage(
            Effect.flatMap(Clock.currentTimeMillis, (now) =>
              Effect.map(database.rows(sql.owners, [KeyText.encode(after ?? ""), now, limit]), (rows) =>
                rows.map((row) => KeyText.decode(row["owner_id"]))
              )
            )
          ),
    recordAccess: (ownerId, ids, at) =>
      storage(
        Effect.flatMap(Clock.currentTimeMillis, (now) =>
          database.transaction((tx) => writes.recordAccess(tx, ownerId, ids as ReadonlyArray<EntryId>, at, now))
        )
      ),
    clear: (ownerId) =>
      storage(
        Effect.flatMap(Clock.currentTimeMillis, (now) => database.transaction((tx) => writes.clear(tx, ownerId, now)))
      ),
    expire: storage(
      Effect.gen(function* () {
        const now = yield* Clock.currentTimeMillis
        let count = 0
        for (;;) {
          const next = yield* database.first(sql.expiring, [now])
          if (next === undefined) return count
          const ownerId = KeyText.decode(next["owner_id"])
          count += yield* database.transaction((tx) => writes.expire(tx, ownerId, now))
        }
      })
    ),
    health: storage(Effect.asVoid(database.rows(sql.health)))
  }
}
