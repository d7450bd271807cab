/**
 * Writes memory entries in a transaction that holds the lock of their owner.
 *
 * @private
 * @since 0.1.0
 */
import type { SqlError } from "@effect/sql/SqlError"
import * as Effect from "effect/Effect"
import type { EntryId } from "../../domain/Ids.js"
import type { StorageError } from "../../memory/entry/MemoryError.js"
import type { TextAnalyzer } from "../../memory/text/TextAnalyzer.js"
import * as Database from "../engine/Database.js"
import type { Dialect } from "../engine/Dialect.js"
import { maxRows } from "../engine/Dialect.js"
import * as KeyText from "../engine/KeyText.js"
import type * as SqlFullText from "./SqlFullText.js"
import * as Owners from "./SqlMemoryOwners.js"
import type { Figures, Prepared } from "./SqlMemoryRows.js"
import * as Rows from "./SqlMemoryRows.js"

/**
 * @category models
 */
export interface Replacement {
  readonly ids: ReadonlyArray<EntryId>
  readonly deleted: ReadonlySet<EntryId>
  readonly prepared: ReadonlyArray<Prepared>
}

/**
 * @category models
 */
export interface Writes {
  /**
   * Removes the entries with one of `ids`, which are the ids of everything that is deleted or stored, then stores.
   * Entries that are replaced keep their access figures. Succeeds with the number of entries that were deleted.
   */
  readonly apply: (
    tx: Database.Access,
    ownerId: string,
    change: Replacement,
    now: number
  ) => Effect.Effect<number, SqlError | StorageError>
  /**
   * Like `apply`, but changes nothing and succeeds with `undefined` unless `holds` is true while the owner is locked.
   */
  readonly applyIf: (
    holds: Effect.Effect<boolean, SqlError | StorageError>,
    tx: Database.Access,
    ownerId: string,
    change: Replacement,
    now: number
  ) => Effect.Effect<number | undefined, SqlError | StorageError>
  readonly recordAccess: (
    tx: Database.Access,
    ownerId: string,
    ids: ReadonlyArray<EntryId>,
    at: number,
    now: number
  ) => Effect.Effect<void, SqlError>
  readonly clear: (tx: Database.Access, ownerId: string, now: number) => Effect.Effect<number, SqlError>
  /** Deletes at most one chunk. */
  readonly expire: (tx: Database.Access, ownerId: string, now: number) => Effect.Effect<number, SqlError>
  /** Analyzes the entries of the owner again if another analyzer read them. */
  readonly reread: (tx: Database.Access, ownerId: string) => Effect.Effect<void, SqlError | StorageError>
}

/** Entries that one statement removes. */
const CHUNK = 1_000

const earlier = (a: number | null, b: number | null): number | null =>
  a === null ? b : b === null ? a : Math.min(a, b)

const isExpired = (row: Database.Row, now: number): boolean =>
  row["expires_at"] !== null && Number(row["expires_at"]) <= now

const figuresOf = (row: Database.Row): Figures => ({
  count: row["access_count"] === null ? null : Number(row["access_count"]),
  at: row["accessed_at"] === null ? null : Number(row["accessed_at"])
})

const serialOf = (row: Database.Row): number => Number(row["serial"])

const wordsIn = (rows: ReadonlyArray<Database.Row>): number => rows.reduce((sum, row) => sum + Number(row["words"]), 0)

const makeStatements = (dialect: Dialect, full: SqlFullText.FullText) => ({
  byId: dialect.sql(
    "SELECT serial, id, words, expires_at, access_count, accessed_at FROM lex_memories" +
      ` WHERE owner = ? AND ${dialect.oneOf("id")}`
  ),
  removeEntries: dialect.sql(`DELETE FROM lex_memories WHERE ${Rows.oneOfSerials(dialect, "serial")}`),
  removeBodies: dialect.sql(`DELETE FROM lex_memory_bodies WHERE ${Rows.oneOfSerials(dialect, "serial")}`),
  removeWords: dialect.sql(full.remove),
  some: dialect.sql("SELECT serial FROM lex_memories WHERE owner = ? LIMIT ?"),
  live: dialect.sql(
    "SELECT COUNT(*) AS count FROM lex_memories WHERE owner = ? AND (expires_at IS NULL OR expires_at > ?)"
  ),
  expired: dialect.sql(
    "SELECT serial, words FROM lex_memories WHERE owner = ? AND expires_at <= ? ORDER BY expires_at LIMIT ?"
  ),
  nextExpiry: dialect.sql("SELECT MIN(expires_at) AS next FROM lex_memories WHERE owner = ?"),
  access: dialect.sql(
    "UPDATE lex_memories SET access_count = COALESCE(access_count, 0) + ?," +
      " accessed_at = CASE WHEN accessed_at > ? THEN accessed_at ELSE ? END" +
      ` WHERE owner = ? AND ${dialect.oneOf("id")} AND (expires_at IS NULL OR expires_at > ?)`
  ),
  contents: dialect.sql(
    "SELECT m.serial, m.attributes, b.body, b.data FROM lex_memories m JOIN lex_memory_bodies b ON b.serial = m.serial" +
      " WHERE m.owner = ? AND m.serial > ? ORDER BY m.serial LIMIT ?"
  ),
  count: dialect.sql("UPDATE lex_memories SET words = ? WHERE serial = ?")
})

type Statements = ReturnType<typeof makeStatements>

const makeRemove = (dialect: Dialect, sql: Statements) =>
  Effect.fnUntraced(function* (tx: Database.Access, serials: ReadonlyArray<number>) {
    for (let at = 0; at < serials.length; at += CHUNK) {
      const list = Rows.serials(dialect, serials.slice(at, at + CHUNK))
      yield* tx.run(sql.removeWords, [list])
      yield* tx.run(sql.removeBodies, [list])
      yield* tx.run(sql.removeEntries, [list])
    }
  })

const makeInsert = (dialect: Dialect, full: SqlFullText.FullText) => {
  const bodies = Database.insertInto("lex_memory_bodies", ["serial", "body", "data", "embedding"])
  const inserts = new Map<number, string>()
  const insertOf = (rows: number): string => {
    let text = inserts.get(rows)
    if (text === undefined) {
      const tuple = `(${Rows.columns.map(() => "?").join(", ")})`
      text = dialect.sql(
        `INSERT INTO lex_memories (${Rows.columns.join(", ")}) VALUES ${new Array(rows).fill(tuple).join(", ")} RETURNING serial, id`
      )
      inserts.set(rows, text)
    }
    return text
  }

  const many = Effect.fnUntraced(function* (
    tx: Database.Access,
    owner: number,
    prepared: ReadonlyArray<Prepared>,
    before: ReadonlyMap<string, Figures>
  ) {
    for (let at = 0; at < prepared.length; at += maxRows) {
      const chunk = prepared.slice(at, at + maxRows)
      const rows = yield* tx.rows(
        insertOf(chunk.length),
        chunk.flatMap((one) => Rows.row(owner, one, before.get(one.entry.id)))
      )
      const serials = new Map(rows.map((row) => [KeyText.decode(row["id"]), serialOf(row)]))
      const numbered = chunk.map((one) => [serials.get(one.entry.id) as number, one] as const)
      yield* tx.insert(
        bodies,
        numbered.map(([serial, one]) => Rows.bodyRow(serial, one))
      )
      yield* tx.insert(
        full.insert,
        numbered.map(([serial, one]) => full.row(serial, owner, one.words))
      )
    }
  })

  /**
   * Writes one entry and the row of its owner in one statement, to save round trips to the server. SQLite gains nothing
   * from it.
   */
  const whole =
    dialect.name === "postgres"
      ? dialect.sql(
          `WITH m AS (INSERT INTO lex_memories (${Rows.columns.join(", ")}) VALUES` +
            ` (${Rows.columns.map(() => "?").join(", ")}) RETURNING serial),` +
            " b AS (INSERT INTO lex_memory_bodies (serial, body, data, embedding)" +
            " SELECT m.serial, ?::text, ?::bytea, ?::bytea FROM m)," +
            " w AS (INSERT INTO lex_memory_words (serial, owner, length, words, often)" +
            " SELECT m.serial, ?::integer, ?::float8, ?::tsvector, ?::jsonb FROM m)" +
            ` ${Owners.update}`
        )
      : undefined

  return { many, whole }
}

/** Analyzes all entries of a locked owner again. */
const makeReindex = (dialect: Dialect, full: SqlFullText.FullText, sql: Statements, analyzer: TextAnalyzer) =>
  Effect.fnUntraced(function* (tx: Database.Access, owner: Owners.Owner) {
    let after = 0
    let words = 0
    for (;;) {
      const rows = yield* tx.rows(sql.contents, [owner.serial, after, maxRows])
      if (rows.length === 0) break
      yield* tx.run(sql.removeWords, [Rows.serials(dialect, rows.map(serialOf))])
      const read: Array<readonly [number, SqlFullText.Words]> = []
      for (const row of rows) {
        const content = Rows.contentOf(row)
        if (content === undefined) return yield* Rows.unreadable()
        read.push([serialOf(row), Rows.wordsOf(analyzer, content, JSON.parse(row["attributes"]))])
      }
      yield* tx.insert(
        full.insert,
        read.map(([serial, words]) => full.row(serial, owner.serial, words))
      )
      for (const [serial, { length }] of read) {
        yield* tx.run(sql.count, [length, serial])
        words += length
        after = serial
      }
    }
    return { ...owner, analyzer: analyzer.name, words }
  })

/**
 * @category constructors
 */
export const make = (
  dialect: Dialect,
  full: SqlFullText.FullText,
  analyzer: TextAnalyzer,
  owners: Owners.Owners
): Writes => {
  const sql = makeStatements(dialect, full)
  const remove = makeRemove(dialect, sql)
  const insert = makeInsert(dialect, full)
  const reindex = makeReindex(dialect, full, sql, analyzer)

  const replace = Effect.fnUntraced(function* (
    tx: Database.Access,
    locked: Owners.Owner,
    { deleted, ids, prepared }: Replacement,
    now: number
  ) {
    const owner = locked.analyzer === analyzer.name ? locked : yield* reindex(tx, locked)
    const found = yield* tx.rows(sql.byId, [owner.serial, dialect.list(ids.map(KeyText.encode))])
    const before = new Map<string, Figures>()
    let count = 0
    for (const row of found) {
      if (isExpired(row, now)) continue
      const id = KeyText.decode(row["id"]) as EntryId
      if (deleted.has(id)) count++
      else before.set(id, figuresOf(row))
    }
    yield* remove(tx, found.map(serialOf))
    const after: Owners.Owner = {
      ...owner,
      entries: owner.entries - found.length + prepared.length,
      words: owner.words - wordsIn(found) + prepared.reduce((sum, { words }) => sum + words.length, 0),
      nextExpiry: prepared.reduce((next, { entry }) => earlier(next, entry.expiresAt ?? null), owner.nextExpiry)
    }
    const [first] = prepared
    if (insert.whole !== undefined && first !== undefined && prepared.length === 1) {
      yield* tx.run(insert.whole, [
        ...Rows.row(owner.serial, first, before.get(first.entry.id)),
        ...Rows.bodyRow(0, first).slice(1),
        ...full.row(0, owner.serial, first.words).slice(1),
        ...Owners.params(after)
      ])
      return count
    }
    yield* insert.many(tx, owner.serial, prepared, before)
    yield* owners.keep(tx, after)
    return count
  })

  return {
    apply: Effect.fnUntraced(function* (tx, ownerId, change, now) {
      const owner = yield* change.prepared.length === 0 ? owners.lock(tx, ownerId) : owners.lockOrAdd(tx, ownerId)
      return owner === undefined ? 0 : yield* replace(tx, owner, change, now)
    }),

    applyIf: Effect.fnUntraced(function* (holds, tx, ownerId, change, now) {
      const owner = yield* owners.lock(tx, ownerId)
      return owner !== undefined && (yield* holds) ? yield* replace(tx, owner, change, now) : undefined
    }),

    recordAccess: Effect.fnUntraced(function* (tx, ownerId, ids, at, now) {
      const owner = yield* owners.lock(tx, ownerId)
      if (owner === undefined) return
      const times = new Map<EntryId, number>()
      for (const id of ids) times.set(id, (times.get(id) ?? 0) + 1)
      const byTimes = new Map<number, Array<string>>()
      for (const [id, n] of times) {
        const same = byTimes.get(n)
        if (same === undefined) byTimes.set(n, [KeyText.encode(id)])
        else same.push(KeyText.encode(id))
      }
      for (const [n, same] of byTimes) {
        yield* tx.run(sql.access, [n, at, at, owner.serial, dialect.list(same), now])
      }
    }),

    clear: Effect.fnUntraced(function* (tx, ownerId, now) {
      const owner = yield* owners.lock(tx, ownerId)
      if (owner === undefined) return 0
      const live = yield* tx.first(sql.live, [owner.serial, now])
      for (;;) {
        const rows = yield* tx.rows(sql.some, [owner.serial, CHUNK])
        if (rows.length === 0) break
        yield* remove(tx, rows.map(serialOf))
      }
      yield* owners.drop(tx, owner)
      return Number(live?.["count"] ?? 0)
    }),

    expire: Effect.fnUntraced(function* (tx, ownerId, now) {
      const owner = yield* owners.lock(tx, ownerId)
      if (owner === undefined) return 0
      const rows = yield* tx.rows(sql.expired, [owner.serial, now, CHUNK])
      yield* remove(tx, rows.map(serialOf))
      const next = yield* tx.first(sql.nextExpiry, [owner.serial])
      yield* owners.keep(tx, {
        ...owner,
        entries: owner.entries - rows.length,
        words: owner.words - wordsIn(rows),
        nextExpiry: next === undefined || next["next"] === null ? null : Number(next["next"])
      })
      return rows.length
    }),

    reread: Effect.fnUntraced(function* (tx, ownerId) {
      const owner = yield* owners.lock(tx, ownerId)
      if (owner === undefined || owner.analyzer === analyzer.name) return
      yield* owners.keep(tx, yield* reindex(tx, owner))
    })
  }
}
