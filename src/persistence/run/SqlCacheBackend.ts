/**
 * A `CacheBackend` in a database, shared by all processes that use it.
 *
 * @since 0.1.0
 */
import type * as SqlClient from "@effect/sql/SqlClient"
import type { SqlError } from "@effect/sql/SqlError"
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import { count } from "../../internal/Count.js"
import * as CacheBackend from "../../llm/CacheBackend.js"
import type { Database } from "../engine/Database.js"
import * as IndexKey from "../engine/IndexKey.js"
import * as Payloads from "../engine/Payloads.js"
import * as SqlFailure from "../engine/SqlFailure.js"
import * as Sweeps from "../engine/Sweeps.js"
import * as MigrationRun from "../schema/MigrationRun.js"
import type { MigrationFailure } from "../schema/Migrations.js"

/**
 * @since 0.1.0
 * @category models
 */
export interface Options {
  /** Caches with different names in one database are independent. Default: `default`. */
  readonly name?: string | undefined
  /**
   * The most entries. The least recently used are deleted first, and there may be about an eighth more for a while.
   * Default: 100,000; infinity for no limit.
   */
  readonly capacity?: number | undefined
}

/**
 * @since 0.1.0
 * @category constants
 */
export const defaults = { name: "default", capacity: 100_000 } as const

/** Minimum time in milliseconds between two recorded uses of an entry, so that reads rarely write. */
const useEvery = 60_000

/** The most entries removed at once. */
const batch = 1000
/** One of this many writes removes expired entries, and removes more than the others add. */
const expireEvery = 16
const expiredBatch = 64
/** Surplus entries are removed once they exceed this fraction of the capacity. */
const slack = 8

type Entry = Payloads.Kept & { readonly used_at: number }

const statements = ({ dialect }: Database) => ({
  get: dialect.sql(
    "SELECT body, data, used_at FROM lex_cache WHERE name = ? AND entry = ? AND (expires_at IS NULL OR expires_at > ?)"
  ),
  use: dialect.sql("UPDATE lex_cache SET used_at = ? WHERE name = ? AND entry = ? AND used_at <= ?"),
  set: dialect.sql(
    `INSERT INTO lex_cache (name, entry, body, data, expires_at, used_at) VALUES (?, ?, ?, ?, ?, ?)
    ON CONFLICT (name, entry) DO UPDATE SET body = excluded.body, data = excluded.data,
      expires_at = excluded.expires_at, used_at = excluded.used_at`
  ),
  remove: dialect.sql("DELETE FROM lex_cache WHERE name = ? AND entry = ?"),
  expire: dialect.sql(
    `WITH old AS MATERIALIZED (
      SELECT name, entry FROM lex_cache WHERE expires_at <= ? ORDER BY expires_at LIMIT ${expiredBatch}${dialect.forUpdateSkipLocked}
    ) DELETE FROM lex_cache WHERE (name, entry) IN (SELECT name, entry FROM old)`
  ),
  /** The newest surplus entry. */
  edge: dialect.sql(
    "SELECT used_at, entry FROM lex_cache WHERE name = ? ORDER BY used_at DESC, entry DESC LIMIT 1 OFFSET ?"
  ),
  evict: dialect.sql(
    `WITH old AS MATERIALIZED (
      SELECT name, entry FROM lex_cache WHERE name = ? AND (used_at, entry) <= (?, ?)
      ORDER BY used_at, entry LIMIT ${batch}${dialect.forUpdateSkipLocked}
    ) DELETE FROM lex_cache WHERE (name, entry) IN (SELECT name, entry FROM old)`
  )
})

const failure = (operation: CacheBackend.CacheBackendError["operation"]) => (error: SqlError) =>
  new CacheBackend.CacheBackendError({ ...SqlFailure.fields(error), operation })

const unreadable = () =>
  new CacheBackend.CacheBackendError({
    message: "What the database holds of an entry cannot be read",
    operation: "get"
  })

const valueOf = (entry: Entry): string | undefined => {
  try {
    return JSON.parse(Payloads.unpack(entry) ?? "") as string
  } catch {
    return undefined
  }
}

const makeService = (database: Database, options: Options | undefined): CacheBackend.Service => {
  const name = IndexKey.of(options?.name ?? defaults.name)
  const capacity = count(options?.capacity, defaults.capacity, 0)
  const sql = statements(database)

  const expire = (now: number): Effect.Effect<void, SqlError> => Effect.asVoid(database.run(sql.expire, [now]))

  const evict: Effect.Effect<void, SqlError> = Effect.flatMap(
    database.first<{ readonly used_at: number; readonly entry: string }>(sql.edge, [name, capacity]),
    (edge) =>
      edge === undefined
        ? Effect.void
        : Effect.asVoid(database.run(sql.evict, [name, Number(edge.used_at), edge.entry]))
  )

  const sweep = (now: number): Effect.Effect<void, SqlError> =>
    Effect.zipRight(
      Sweeps.oneIn(expireEvery, expire(now)),
      Number.isFinite(capacity) ? Sweeps.oneIn(capacity / slack, Effect.zipRight(expire(now), evict)) : Effect.void
    )

  return {
    get: (key) =>
      Effect.flatMap(Clock.currentTimeMillis, (now) => {
        const entry = IndexKey.of(key)
        return Effect.mapError(database.first<Entry>(sql.get, [name, entry, now]), failure("get")).pipe(
          Effect.flatMap((found) => {
            if (found === undefined) return Effect.succeed(Option.none<string>())
            const kept = valueOf(found)
            if (kept === undefined) return Effect.fail(unreadable())
            const value = Option.some(kept)
            const before = now - useEvery
            return Number(found.used_at) > before
              ? Effect.succeed(value)
              : Effect.as(Effect.mapError(database.run(sql.use, [now, name, entry, before]), failure("get")), value)
          })
        )
      }),
    set: (key, value, setOptions) =>
      Effect.flatMap(Clock.currentTimeMillis, (now) =>
        Effect.flatMap(Payloads.pack(JSON.stringify(value)), ({ body, data }) => {
          const lasts = setOptions?.ttl === undefined ? Number.POSITIVE_INFINITY : Duration.toMillis(setOptions.ttl)
          const expiresAt = Number.isFinite(lasts) ? now + lasts : null
          return Effect.zipRight(
            database.run(sql.set, [name, IndexKey.of(key), body, data ?? null, expiresAt, now]),
            sweep(now)
          )
        })
      ).pipe(Effect.mapError(failure("set"))),
    delete: (key) =>
      Effect.mapError(Effect.asVoid(database.run(sql.remove, [name, IndexKey.of(key)])), failure("delete"))
  }
}

const build = (migrate: boolean, options: Options | undefined) =>
  Effect.map(MigrationRun.open({ migrate }), (database) => makeService(database, options))

/**
 * Requires a database with the tables of this version. Large values are compressed. Joins a transaction of the caller
 * on the same client.
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = (
  options?: Options | undefined
): Effect.Effect<CacheBackend.Service, MigrationFailure, SqlClient.SqlClient> => build(false, options)

/**
 * Fails with `MigrationError` (`absent`) if the database lacks the tables.
 *
 * @since 0.1.0
 * @category layers
 */
export const layer = (
  options?: Options | undefined
): Layer.Layer<CacheBackend.CacheBackend, MigrationFailure, SqlClient.SqlClient> =>
  Layer.effect(CacheBackend.CacheBackend, make(options))

/**
 * Migrates the database first.
 *
 * @since 0.1.0
 * @category layers
 * @example
 * ```ts
 * import { LlmCache } from "effect-lexigram"
 * import { OfflineModel } from "effect-lexigram/offline"
 * import { SqlCacheBackend, SqliteClient } from "effect-lexigram/persistence"
 * import * as Layer from "effect/Layer"
 *
 * const cache = SqlCacheBackend.layerMigrated({ name: "answers", capacity: 10_000 }).pipe(
 *   Layer.provide(SqliteClient.layer({ file: "agents.db" }))
 * )
 *
 * // Equal calls are answered from the file, also after a restart.
 * const model = LlmCache.layer({ ttl: "1 day" }).pipe(Layer.provide([OfflineModel.layer(), cache]))
 * ```
 */
export const layerMigrated = (
  options?: Options | undefined
): Layer.Layer<CacheBackend.CacheBackend, MigrationFailure, SqlClient.SqlClient> =>
  Layer.effect(CacheBackend.CacheBackend, build(true, options))
