/**
 * What changes the entries of an owner, in a transaction that has the row of the owner first: of two writers of one
 * owner, in whatever processes, the second waits for the first, so the numbers that search needs of all entries are
 * right, and no two wait for each other.
 *
 * @internal
 * @since 0.1.0
 */
import type { SqlError } from "@effect/sql/SqlError"
import * as Effect from "effect/Effect"
import type { EntryId } from "../../domain/Ids.js"
import { StorageError } from "../../memory/entry/MemoryError.js"
import type { TextAnalyzer } from "../../memory/text/TextAnalyzer.js"
import * as Database from "../engine/Database.js"
import type { Dialect, Param } from "../engine/Dialect.js"
import { maxRows } from "../engine/Dialect.js"
import * as KeyText from "../engine/KeyText.js"
import type * as SqlFullText from "./SqlFullText.js"
import type { Figures, Prepared } from "./SqlMemoryRows.js"
import * as Rows from "./SqlMemoryRows.js"

/**
 * Everything of the owner, expired or not.
 *
 * @category models
 */
export interface Owner {
  readonly serial: number
  readonly analyzer: string
  readonly entries: number
  readonly words: number
  /** Nothing expires before. */
  readonly nextExpiry: number | null
}

/**
 * @category models
 */
export interface Writes {
  /**
   * With `holds`: gives `undefined` and changes nothing unless it is true once the owner is locked. Removes what has
   * one of `ids`, which are those of all that is deleted or stored, then stores. Of what is not among `deleted` the
   * access figures stay. Gives how many of those there were.
   */
  readonly apply: (
    tx: Database.Access,
    ownerId: string,
    change: {
      readonly ids: ReadonlyArray<EntryId>
      readonly deleted: ReadonlySet<EntryId>
      readonly prepared: ReadonlyArray<Prepared>
      readonly holds?: Effect.Effect<boolean, SqlError | StorageError> | undefined
    },
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
  /** At most one chunk. */
  readonly expire: (tx: Database.Access, ownerId: string, now: number) => Effect.Effect<number, SqlError>
  /** Reads all words of the owner anew if they were read by another analyzer. */
  readonly reread: (tx: Database.Access, ownerId: string) => Effect.Effect<void, SqlError | StorageError>
}

/** Entries that are removed or read anew by one statement. */
const CHUNK = 1_000

/** How often an owner may vanish between being added and being locked. */
const MAX_ATTEMPTS = 8

/**
 * @category conversions
 */
export const ownerOf = (row: Database.Row): Owner => ({
  serial: Number(row["serial"]),
  analyzer: KeyText.decode(row["analyzer"]),
  entries: Number(row["entries"]),
  words: Number(row["words"]),
  nextExpiry: row["next_expiry"] === null ? null : Number(row["next_expiry"])
})

/**
 * @category errors
 */
export const unreadable = (): StorageError =>
  new StorageError({
    message: "An entry in the database cannot be read",
    hint: "It was written by something else or by a later version"
  })

const vanishing = (): StorageError =>
  new StorageError({
    message: "The owner was cleared again and again while something was to be stored",
    hint: "Try again"
  })

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

/**
 * @category constructors
 */
export const make = (dialect: Dialect, full: SqlFullText.FullText, analyzer: TextAnalyzer): Writes => {
  const sql = {
    lock: dialect.sql(
      `SELECT serial, analyzer, entries, words, next_expiry FROM lex_memory_owners WHERE owner_id = ?${dialect.forUpdate}`
    ),
    add: dialect.sql(
      "INSERT INTO lex_memory_owners (owner_id, analyzer, entries, words, next_expiry) VALUES (?, ?, 0, 0, NULL)" +
        " ON CONFLICT (owner_id) DO NOTHING"
    ),
    keep: dialect.sql(
      "UPDATE lex_memory_owners SET analyzer = ?, entries = ?, words = ?, next_expiry = ? WHERE serial = ?"
    ),
    drop: dialect.sql("DELETE FROM lex_memory_owners WHERE serial = ?"),
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
  }
  const name = KeyText.encode(analyzer.name)
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

  /**
   * An entry with all that belongs to it and the row of its owner in one statement: each one is a way to the server and
   * back.
   */
  const one =
    dialect.name === "postgres"
      ? dialect.sql(
          `WITH m AS (INSERT INTO lex_memories (${Rows.columns.join(", ")}) VALUES` +
            ` (${Rows.columns.map(() => "?").join(", ")}) RETURNING serial),` +
            " b AS (INSERT INTO lex_memory_bodies (serial, body, data, embedding)" +
            " SELECT m.serial, ?::text, ?::bytea, ?::bytea FROM m)," +
            " w AS (INSERT INTO lex_memory_words (serial, owner, length, words, often)" +
            " SELECT m.serial, ?::integer, ?::float8, ?::tsvector, ?::jsonb FROM m)" +
            " UPDATE lex_memory_owners SET analyzer = ?, entries = ?, words = ?, next_expiry = ? WHERE serial = ?"
        )
      : undefined

  const lock = (tx: Database.Access, ownerId: string): Effect.Effect<Owner | undefined, SqlError> =>
    Effect.map(tx.first(sql.lock, [KeyText.encode(ownerId)]), (row) => (row === undefined ? undefined : ownerOf(row)))

  const lockOrAdd = (
    tx: Database.Access,
    ownerId: string,
    attempt = 1
  ): Effect.Effect<Owner, SqlError | StorageError> =>
    Effect.flatMap(lock(tx, ownerId), (owner) => {
      if (owner !== undefined) return Effect.succeed(owner)
      if (attempt > MAX_ATTEMPTS) return Effect.fail(vanishing())
      return Effect.zipRight(tx.run(sql.add, [KeyText.encode(ownerId), name]), lockOrAdd(tx, ownerId, attempt + 1))
    })

  const kept = (owner: Owner): ReadonlyArray<Param> => [
    KeyText.encode(owner.analyzer),
    owner.entries,
    owner.words,
    owner.nextExpiry,
    owner.serial
  ]

  const keep = (tx: Database.Access, owner: Owner): Effect.Effect<unknown, SqlError> =>
    owner.entries === 0 ? tx.run(sql.drop, [owner.serial]) : tx.run(sql.keep, kept(owner))

  const remove = Effect.fnUntraced(function* (tx: Database.Access, serials: ReadonlyArray<number>) {
    for (let at = 0; at < serials.length; at += CHUNK) {
      const list = Rows.serials(dialect, serials.slice(at, at + CHUNK))
      yield* tx.run(sql.removeWords, [list])
      yield* tx.run(sql.removeBodies, [list])
      yield* tx.run(sql.removeEntries, [list])
    }
  })

  const insert = Effect.fnUntraced(function* (
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

  /** Under the lock. */
  const readAnew = Effect.fnUntraced(function* (tx: Database.Access, owner: Owner) {
    let after = 0
    let words = 0
    for (;;) {
      const rows = yield* tx.rows(sql.contents, [owner.serial, after, maxRows])
      if (rows.length === 0) break
      yield* tx.run(sql.removeWords, [Rows.serials(dialect, rows.map(serialOf))])
      const anew: Array<readonly [number, SqlFullText.Words]> = []
      for (const row of rows) {
        const content = Rows.contentOf(row)
        if (content === undefined) return yield* unreadable()
        anew.push([serialOf(row), Rows.wordsOf(analyzer, content, JSON.parse(row["attributes"]))])
      }
      yield* tx.insert(
        full.insert,
        anew.map(([serial, words]) => full.row(serial, owner.serial, words))
      )
      for (const [serial, { length }] of anew) {
        yield* tx.run(sql.count, [length, serial])
        words += length
        after = serial
      }
    }
    return { ...owner, analyzer: analyzer.name, words }
  })

  return {
    apply: Effect.fnUntraced(function* (tx, ownerId, { deleted, holds, ids, prepared }, now) {
      const known = yield* prepared.length === 0 || holds !== undefined ? lock(tx, ownerId) : lockOrAdd(tx, ownerId)
      if (known === undefined) return holds === undefined ? 0 : undefined
      if (holds !== undefined && !(yield* holds)) return undefined
      const owner = known.analyzer === analyzer.name ? known : yield* readAnew(tx, known)
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
      const after: Owner = {
        ...owner,
        entries: owner.entries - found.length + prepared.length,
        words: owner.words - wordsIn(found) + prepared.reduce((sum, { words }) => sum + words.length, 0),
        nextExpiry: prepared.reduce((next, { entry }) => earlier(next, entry.expiresAt ?? null), owner.nextExpiry)
      }
      const [first] = prepared
      if (one !== undefined && first !== undefined && prepared.length === 1) {
        yield* tx.run(one, [
          ...Rows.row(owner.serial, first, before.get(first.entry.id)),
          ...Rows.bodyRow(0, first).slice(1),
          ...full.row(0, owner.serial, first.words).slice(1),
          ...kept(after)
        ])
        return count
      }
      yield* insert(tx, owner.serial, prepared, before)
      yield* keep(tx, after)
      return count
    }),

    recordAccess: Effect.fnUntraced(function* (tx, ownerId, ids, at, now) {
      const owner = yield* lock(tx, ownerId)
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
      const owner = yield* lock(tx, ownerId)
      if (owner === undefined) return 0
      const live = yield* tx.first(sql.live, [owner.serial, now])
      for (;;) {
        const rows = yield* tx.rows(sql.some, [owner.serial, CHUNK])
        if (rows.length === 0) break
        yield* remove(tx, rows.map(serialOf))
      }
      yield* tx.run(sql.drop, [owner.serial])
      return Number(live?.["count"] ?? 0)
    }),

    expire: Effect.fnUntraced(function* (tx, ownerId, now) {
      const owner = yield* lock(tx, ownerId)
      if (owner === undefined) return 0
      const rows = yield* tx.rows(sql.expired, [owner.serial, now, CHUNK])
      yield* remove(tx, rows.map(serialOf))
      const next = yield* tx.first(sql.nextExpiry, [owner.serial])
      yield* keep(tx, {
        ...owner,
        entries: owner.entries - rows.length,
        words: owner.words - wordsIn(rows),
        nextExpiry: next === undefined || next["next"] === null ? null : Number(next["next"])
      })
      return rows.length
    }),

    reread: Effect.fnUntraced(function* (tx, ownerId) {
      const owner = yield* lock(tx, ownerId)
      if (owner === undefined || owner.analyzer === analyzer.name) return
      yield* keep(tx, yield* readAnew(tx, owner))
    })
  }
}
