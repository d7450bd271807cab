/**
 * Rows of memory owners. A change of entries locks the row of their owner first: concurrent writers of one owner wait
 * for each other, in whatever processes they run, so the totals that search needs stay right and no two writers
 * deadlock.
 *
 * @private
 * @since 0.1.0
 */
import type { SqlError } from "@effect/sql/SqlError"
import * as Effect from "effect/Effect"
import { StorageError } from "../../memory/entry/MemoryError.js"
import type * as Database from "../engine/Database.js"
import type { Dialect, Param } from "../engine/Dialect.js"
import * as KeyText from "../engine/KeyText.js"

/**
 * The row of an owner. Its numbers include expired entries.
 *
 * @category models
 */
export interface Owner {
  readonly serial: number
  readonly analyzer: string
  readonly entries: number
  readonly words: number
  /** No entry expires before this time. */
  readonly nextExpiry: number | null
}

/**
 * @category models
 */
export interface Owners {
  readonly find: (access: Database.Access, ownerId: string) => Effect.Effect<Owner | undefined, SqlError>
  readonly lock: (tx: Database.Access, ownerId: string) => Effect.Effect<Owner | undefined, SqlError>
  /** Adds the owner if there is none. */
  readonly lockOrAdd: (tx: Database.Access, ownerId: string) => Effect.Effect<Owner, SqlError | StorageError>
  /** Writes the row, or deletes it if the owner has no entries. */
  readonly keep: (tx: Database.Access, owner: Owner) => Effect.Effect<unknown, SqlError>
  readonly drop: (tx: Database.Access, owner: Owner) => Effect.Effect<unknown, SqlError>
}

/** How often an owner may be deleted between being added and being locked. */
const MAX_ATTEMPTS = 8

/**
 * Sets the columns that `params` gives the values of.
 *
 * @category constants
 */
export const update =
  "UPDATE lex_memory_owners SET analyzer = ?, entries = ?, words = ?, next_expiry = ? WHERE serial = ?"

/**
 * @category conversions
 */
export const params = (owner: Owner): ReadonlyArray<Param> => [
  KeyText.encode(owner.analyzer),
  owner.entries,
  owner.words,
  owner.nextExpiry,
  owner.serial
]

const fromRow = (row: Database.Row | undefined): Owner | undefined =>
  row === undefined
    ? undefined
    : {
        serial: Number(row["serial"]),
        analyzer: KeyText.decode(row["analyzer"]),
        entries: Number(row["entries"]),
        words: Number(row["words"]),
        nextExpiry: row["next_expiry"] === null ? null : Number(row["next_expiry"])
      }

const vanishing = (): StorageError =>
  new StorageError({
    message: "The owner was cleared concurrently on every attempt to store an entry",
    hint: "Try again"
  })

/**
 * `analyzer` is the name that added owners get.
 *
 * @category constructors
 */
export const make = (dialect: Dialect, analyzer: string): Owners => {
  const select = "SELECT serial, analyzer, entries, words, next_expiry FROM lex_memory_owners WHERE owner_id = ?"
  const sql = {
    find: dialect.sql(select),
    lock: dialect.sql(`${select}${dialect.forUpdate}`),
    add: dialect.sql(
      "INSERT INTO lex_memory_owners (owner_id, analyzer, entries, words, next_expiry) VALUES (?, ?, 0, 0, NULL)" +
        " ON CONFLICT (owner_id) DO NOTHING"
    ),
    keep: dialect.sql(update),
    drop: dialect.sql("DELETE FROM lex_memory_owners WHERE serial = ?")
  }
  const first = (text: string) => (access: Database.Access, ownerId: string) =>
    Effect.map(access.first(text, [KeyText.encode(ownerId)]), fromRow)
  const lock = first(sql.lock)
  const drop: Owners["drop"] = (tx, owner) => tx.run(sql.drop, [owner.serial])
  const lockOrAdd = (
    tx: Database.Access,
    ownerId: string,
    attempt = 1
  ): Effect.Effect<Owner, SqlError | StorageError> =>
    Effect.flatMap(lock(tx, ownerId), (owner) => {
      if (owner !== undefined) return Effect.succeed(owner)
      if (attempt > MAX_ATTEMPTS) return Effect.fail(vanishing())
      return Effect.zipRight(
        tx.run(sql.add, [KeyText.encode(ownerId), KeyText.encode(analyzer)]),
        lockOrAdd(tx, ownerId, attempt + 1)
      )
    })

  return {
    find: first(sql.find),
    lock,
    lockOrAdd: (tx, ownerId) => lockOrAdd(tx, ownerId),
    keep: (tx, owner) => (owner.entries === 0 ? drop(tx, owner) : tx.run(sql.keep, params(owner))),
    drop
  }
}
