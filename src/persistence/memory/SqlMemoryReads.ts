/**
 * Reads memory entries: by id, by time, around an entry, and by their number.
 *
 * @private
 * @since 0.1.0
 */
import type { SqlError } from "@effect/sql/SqlError"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import type { EntryId } from "../../domain/Ids.js"
import type { MemoryBackend, Position } from "../../memory/entry/MemoryBackend.js"
import type { MemoryEntry } from "../../memory/entry/MemoryEntry.js"
import { StorageError } from "../../memory/entry/MemoryError.js"
import type { Selection } from "../../memory/entry/Selection.js"
import type * as Database from "../engine/Database.js"
import type { Dialect, Param } from "../engine/Dialect.js"
import * as KeyText from "../engine/KeyText.js"
import * as SqlFailure from "../engine/SqlFailure.js"
import * as StatementTexts from "../engine/StatementTexts.js"
import * as SqlFullText from "./SqlFullText.js"
import type { Owners } from "./SqlMemoryOwners.js"
import * as Rows from "./SqlMemoryRows.js"
import * as SqlSelection from "./SqlSelection.js"

/**
 * If at most this many entries have the words that a filter asks for, only these are read instead of all entries of the
 * owner.
 */
const few = 2_000

/** A subquery of the serial, so that a statement finds nothing for an unknown owner. */
const OWNER = "(SELECT o.serial FROM lex_memory_owners o WHERE o.owner_id = ?)"

const LIVE = "(m.expires_at IS NULL OR m.expires_at > ?)"

type Direction = "ASC" | "DESC"

/** The entries that a statement selects from. */
interface Source {
  readonly from: string
  readonly params: ReadonlyArray<Param>
}

const everything: Source = { from: "FROM lex_memories m WHERE", params: [] }

/**
 * One statement instead of two, so that it finds an entry that is replaced concurrently. SQLite joins the tables of a
 * cross join in the order given.
 */
const narrowed = (full: SqlFullText.FullText, words: ReadonlyArray<string>): Source => ({
  from: `FROM (${full.having.sql}) n CROSS JOIN lex_memories m WHERE m.serial = n.serial AND`,
  params: full.having.params(words, Number.MAX_SAFE_INTEGER)
})

/**
 * Turns a failure of the database into one of the store.
 *
 * @category errors
 */
export const storage = <A, E>(
  effect: Effect.Effect<A, E | SqlError>
): Effect.Effect<A, Exclude<E, SqlError> | StorageError> =>
  Effect.catchIf(
    effect,
    (error): error is Extract<E | SqlError, SqlError> => (error as { _tag?: unknown })._tag === "SqlError",
    (error) => Effect.fail(new StorageError(SqlFailure.fields(error)))
  ) as Effect.Effect<A, Exclude<E, SqlError> | StorageError>

/**
 * @category conversions
 */
export const decoded = (
  ownerId: string,
  rows: ReadonlyArray<Database.Row>
): Effect.Effect<ReadonlyArray<MemoryEntry>, StorageError> =>
  Effect.suspend(() => {
    const entries: Array<MemoryEntry> = []
    for (const row of rows) {
      const entry = Rows.decode(ownerId, row)
      if (entry === undefined) return Effect.fail(Rows.unreadable())
      entries.push(entry)
    }
    return Effect.succeed(entries)
  })

const makeStatements = (dialect: Dialect, full: SqlFullText.FullText) => {
  /**
   * Orders twice: the inner query selects the few entries to read, and the join with their bodies may reorder them.
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

  return {
    walks,
    sessionWalks,
    counting,
    byId: dialect.sql(
      `SELECT ${Rows.read} FROM lex_memories m JOIN lex_memory_bodies b ON b.serial = m.serial` +
        ` WHERE m.owner = ${OWNER} AND ${LIVE} AND ${dialect.oneOf("m.id")}`
    ),
    place: dialect.sql(
      `SELECT m.owner, m.timestamp, m.id, m.session_id FROM lex_memories m WHERE m.owner = ${OWNER} AND m.id = ? AND ${LIVE}`
    ),
    owners: dialect.sql(
      "SELECT o.owner_id FROM lex_memory_owners o WHERE o.owner_id > ? AND EXISTS" +
        ` (SELECT 1 FROM lex_memories m WHERE m.owner = o.serial AND ${LIVE}) ORDER BY o.owner_id LIMIT ?`
    ),
    health: "SELECT serial FROM lex_memory_owners LIMIT 1",
    having: dialect.sql(full.having.sql)
  }
}

type Statements = ReturnType<typeof makeStatements>

const beyond = { ASC: " AND (m.timestamp, m.id) > (?, ?)", DESC: " AND (m.timestamp, m.id) < (?, ?)" }

/** Narrows the source to the entries with the words of a filter, if they are few. */
const makeSource =
  (database: Database.Database, full: SqlFullText.FullText, owners: Owners, sql: Statements) =>
  (ownerId: string, selection: Selection): Effect.Effect<Source, SqlError> => {
    const wanted = SqlSelection.wordsOf(selection)
    if (wanted === undefined) return Effect.succeed(everything)
    return Effect.flatMap(owners.find(database, ownerId), (owner) => {
      if (owner === undefined) return Effect.succeed(everything)
      const words = [...wanted, Rows.anyAttribute].map((word) => SqlFullText.attributeOf(owner.serial, word))
      return Effect.map(database.rows(sql.having, full.having.params(words, few + 1)), (rows) =>
        rows.length > few ? everything : narrowed(full, words)
      )
    })
  }

type SourceOf = ReturnType<typeof makeSource>

const makePages =
  (database: Database.Database, sql: Statements, sourceOf: SourceOf) =>
  (
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
        const where = SqlSelection.where(database.dialect, selection)
        const position = from === undefined ? [] : [from.timestamp, KeyText.encode(from.id)]
        const conditions = `${from === undefined ? "" : beyond[direction]}${where.sql}`
        const rows = yield* database.rows(sql.walks[direction](source.from, conditions), [
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

const makeCount =
  (database: Database.Database, owners: Owners, sql: Statements, sourceOf: SourceOf): MemoryBackend["count"] =>
  (ownerId: string, selection: Selection): Effect.Effect<number, StorageError> =>
    storage(
      Effect.gen(function* () {
        const now = yield* Clock.currentTimeMillis
        const where = SqlSelection.where(database.dialect, selection)
        if (where.sql === "") {
          const owner = yield* owners.find(database, ownerId)
          if (owner === undefined) return 0
          if (owner.nextExpiry === null || owner.nextExpiry > now) return owner.entries
        }
        const source = yield* sourceOf(ownerId, selection)
        const row = yield* database.first(sql.counting(source.from, where.sql), [
          ...source.params,
          KeyText.encode(ownerId),
          now,
          ...where.params
        ])
        return Number(row?.["count"] ?? 0)
      })
    )

const makeAround = (database: Database.Database, sql: Statements): MemoryBackend["around"] => {
  const beside = Effect.fnUntraced(function* (
    place: Database.Row,
    direction: Direction,
    limit: number,
    selection: Selection,
    now: number
  ) {
    if (limit <= 0) return []
    const where = SqlSelection.where(database.dialect, selection)
    const conditions = ` AND m.session_id = ?${beyond[direction]}${where.sql}`
    return yield* database.rows(sql.sessionWalks[direction](everything.from, conditions), [
      Number(place["owner"]),
      now,
      place["session_id"],
      Number(place["timestamp"]),
      place["id"],
      ...where.params,
      limit
    ])
  })

  return (ownerId, id, { after, before, selection }) =>
    storage(
      Effect.gen(function* () {
        const now = yield* Clock.currentTimeMillis
        const place = yield* database.first(sql.place, [KeyText.encode(ownerId), KeyText.encode(id), now])
        if (place === undefined || place["session_id"] === null) return []
        const earlier = yield* beside(place, "DESC", before, selection, now)
        const later = yield* beside(place, "ASC", after, selection, now)
        return yield* decoded(ownerId, [...earlier].reverse().concat(later))
      })
    )
}

/**
 * @category models
 */
export interface Reads extends Pick<MemoryBackend, "recent" | "page" | "around" | "count" | "owners" | "health"> {
  readonly byId: (
    access: Database.Access,
    ownerId: string,
    ids: ReadonlyArray<EntryId>,
    now: number
  ) => Effect.Effect<ReadonlyMap<EntryId, MemoryEntry>, SqlError | StorageError>
}

/**
 * @category constructors
 */
export const make = (database: Database.Database, full: SqlFullText.FullText, owners: Owners): Reads => {
  const { dialect } = database
  const sql = makeStatements(dialect, full)
  const sourceOf = makeSource(database, full, owners, sql)
  const page = makePages(database, sql, sourceOf)
  return {
    byId: (access: Database.Access, ownerId: string, ids: ReadonlyArray<EntryId>, now: number) =>
      Effect.gen(function* () {
        const list = dialect.list(ids.map(KeyText.encode))
        const entries = yield* decoded(ownerId, yield* access.rows(sql.byId, [KeyText.encode(ownerId), now, list]))
        return new Map(entries.map((entry) => [entry.id, entry]))
      }),
    recent: (ownerId, { before, limit, selection }) => page(ownerId, "DESC", { limit, selection, from: before }),
    page: (ownerId, { after, limit, selection }) => page(ownerId, "ASC", { limit, selection, from: after }),
    around: makeAround(database, sql),
    count: makeCount(database, owners, sql, sourceOf),
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
    health: storage(Effect.asVoid(database.rows(sql.health)))
  }
}
