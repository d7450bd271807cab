/**
 * A `BlobStore` in SQLite or Postgres. `OwnerData` exports, imports and erases its blobs with the other data of an
 * owner.
 *
 * @since 0.1.0
 */
import type * as SqlClient from "@effect/sql/SqlClient"
import type { SqlError } from "@effect/sql/SqlError"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as BlobBackend from "../../content/BlobBackend.js"
import * as BlobStore from "../../content/BlobStore.js"
import { BlobStoreError, type StoreReason } from "../../content/ContentError.js"
import type * as Database from "../engine/Database.js"
import * as IndexKey from "../engine/IndexKey.js"
import * as KeyText from "../engine/KeyText.js"
import type { Reason } from "../engine/PersistenceError.js"
import * as SqlFailure from "../engine/SqlFailure.js"
import * as MigrationRun from "../schema/MigrationRun.js"
import type { MigrationFailure } from "../schema/Migrations.js"

/**
 * @since 0.1.0
 * @category models
 */
export interface Options extends BlobBackend.Options {}

const pageSize = 100

const reasons: { readonly [R in Reason]?: StoreReason } = { full: "full", "read-only": "refused", refused: "refused" }

const toFailure =
  (store: string) =>
  (error: SqlError): BlobStoreError => {
    const { hint, message, reason } = SqlFailure.describe(error)
    return new BlobStoreError({
      store,
      reason: reasons[reason] ?? "storage",
      message,
      ...(hint === undefined ? {} : { hint })
    })
  }

interface Named extends Database.Row {
  readonly scope: string
  readonly hash: string
  readonly media_type: string
  readonly size: number
}

const makeStatements = ({ dialect }: Database.Database) => {
  const { oneOf, sql } = dialect
  const named = "SELECT scope, hash, media_type, size FROM lex_blobs WHERE owner_id = ?"
  const ordered = `ORDER BY scope, hash LIMIT ${pageSize}`
  const copied = `INSERT INTO lex_blobs (owner_id, scope, hash, media_type, size, data)
    SELECT owner_id, ?, hash, media_type, size, data FROM lex_blobs WHERE owner_id = ? AND scope = ?`
  return {
    write: sql(
      `INSERT INTO lex_blobs (owner_id, scope, hash, media_type, size, data) VALUES (?, ?, ?, ?, ?, ?)
      ON CONFLICT (owner_id, scope, hash) DO NOTHING`
    ),
    read: sql("SELECT data FROM lex_blobs WHERE owner_id = ? AND scope = ? AND hash = ?"),
    has: sql("SELECT hash FROM lex_blobs WHERE owner_id = ? AND scope = ? AND hash = ?"),
    first: sql(`${named} ${ordered}`),
    next: sql(`${named} AND (scope, hash) > (?, ?) ${ordered}`),
    firstOf: sql(`${named} AND scope = ? ${ordered}`),
    nextOf: sql(`${named} AND scope = ? AND hash > ? ${ordered}`),
    there: sql(`SELECT hash FROM lex_blobs WHERE owner_id = ? AND scope = ? AND ${oneOf("hash")}`),
    copyAll: sql(`${copied} ON CONFLICT (owner_id, scope, hash) DO NOTHING`),
    copySome: sql(`${copied} AND ${oneOf("hash")} ON CONFLICT (owner_id, scope, hash) DO NOTHING`),
    count: sql("SELECT COUNT(*) AS count FROM lex_blobs WHERE owner_id = ? AND scope = ?"),
    removeOwner: sql("DELETE FROM lex_blobs WHERE owner_id = ?"),
    removeScope: sql("DELETE FROM lex_blobs WHERE owner_id = ? AND scope = ?")
  }
}

const makeCopy = (database: Database.Database, statements: ReturnType<typeof makeStatements>) => {
  const { dialect } = database
  return ({ from, hashes, owner, to }: BlobStore.Copy) => {
    const source = [IndexKey.of(owner), KeyText.encode(from)]
    const target = [KeyText.encode(to), ...source]
    return database.transaction(
      Effect.fnUntraced(function* (tx) {
        if (hashes === undefined) {
          const copied = Number((yield* tx.first(statements.count, source))?.["count"])
          yield* tx.run(statements.copyAll, target)
          return { missing: [], copied }
        }
        const list = dialect.list(hashes)
        const rows = yield* tx.rows<{ readonly hash: string }>(statements.there, [...source, list])
        const there = new Set(rows.map(({ hash }) => hash))
        const missing = hashes.filter((hash) => !there.has(hash))
        if (missing.length === 0) yield* tx.run(statements.copySome, [...target, list])
        return { missing, copied: missing.length === 0 ? hashes.length : 0 }
      }),
      { durable: true }
    )
  }
}

const makePage = (database: Database.Database, statements: ReturnType<typeof makeStatements>) =>
  Effect.fnUntraced(function* (owner: string, scope: string | undefined, after: string | undefined) {
    const key = IndexKey.of(owner)
    const place = after === undefined ? undefined : (JSON.parse(after) as readonly [scope: string, hash: string])
    const rows = yield* scope === undefined
      ? database.rows<Named>(place === undefined ? statements.first : statements.next, [key, ...(place ?? [])])
      : database.rows<Named>(place === undefined ? statements.firstOf : statements.nextOf, [
          key,
          KeyText.encode(scope),
          ...(place === undefined ? [] : [place[1]])
        ])
    const last = rows.length < pageSize ? undefined : rows.at(-1)
    return {
      items: rows.map(({ hash, media_type, scope, size }) => ({
        scope: KeyText.decode(scope),
        ref: { hash, size: Number(size), mediaType: media_type }
      })),
      next: last === undefined ? undefined : JSON.stringify([last.scope, last.hash])
    }
  })

const backendOf = (database: Database.Database): BlobBackend.Backend => {
  const { name } = database.dialect
  const statements = makeStatements(database)
  const copy = makeCopy(database, statements)
  const page = makePage(database, statements)
  const failed = toFailure(name)
  const keyOf = ({ hash, owner, scope }: BlobStore.Get) => [IndexKey.of(owner), KeyText.encode(scope), hash]
  return {
    name,
    write: (key, { bytes, mediaType }) =>
      database
        .transaction(
          Effect.fnUntraced(function* (tx) {
            // A blob that exists is not sent again.
            if ((yield* tx.first(statements.has, keyOf(key))) !== undefined) return
            yield* tx.run(statements.write, [...keyOf(key), mediaType, bytes.length, bytes])
          }),
          { durable: true }
        )
        .pipe(Effect.mapError(failed)),
    read: (key) =>
      Effect.mapBoth(database.first<{ readonly data: Uint8Array }>(statements.read, keyOf(key)), {
        onFailure: failed,
        onSuccess: (row) => (row === undefined ? undefined : Uint8Array.from(row.data))
      }),
    copy: (blobs) => Effect.mapError(copy(blobs), failed),
    page: (owner, scope, after) => Effect.mapError(page(owner, scope, after), failed),
    remove: (owner, scope) =>
      Effect.mapError(
        scope === undefined
          ? database.run(statements.removeOwner, [IndexKey.of(owner)])
          : database.run(statements.removeScope, [IndexKey.of(owner), KeyText.encode(scope)]),
        failed
      )
  }
}

const open = (options: Options, migrate: boolean) =>
  Effect.map(MigrationRun.open({ migrate }), (database) => BlobBackend.toStore(backendOf(database), options))

/**
 * Requires a database with the tables of this version; fails with a `MigrationError` otherwise.
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = (options: Options = {}): Effect.Effect<BlobStore.Service, MigrationFailure, SqlClient.SqlClient> =>
  open(options, false)

/**
 * Requires a database with the tables of this version; fails with a `MigrationError` otherwise.
 *
 * @since 0.1.0
 * @category layers
 */
export const layer = (
  options?: Options | undefined
): Layer.Layer<BlobStore.BlobStore, MigrationFailure, SqlClient.SqlClient> =>
  Layer.effect(BlobStore.BlobStore, make(options))

/**
 * Migrates the database first.
 *
 * @since 0.1.0
 * @category layers
 * @example
 * ```ts
 * import { SqlBlobStore, SqliteClient } from "effect-lexigram/persistence"
 * import * as Layer from "effect/Layer"
 *
 * const blobs = SqlBlobStore.layerMigrated().pipe(Layer.provide(SqliteClient.layer({ file: "agents.db" })))
 * ```
 */
export const layerMigrated = (
  options: Options = {}
): Layer.Layer<BlobStore.BlobStore, MigrationFailure, SqlClient.SqlClient> =>
  Layer.effect(BlobStore.BlobStore, open(options, true))
