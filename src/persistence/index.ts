/**
 * Which backend a URL means: `sqlite:` a file, `postgres://` a server, `redis://` a cache, `memory:` this process.
 * Nothing else is guessed.
 *
 * @since 0.1.0
 */
export * as DatabaseUrl from "./engine/DatabaseUrl.js"

/**
 * A whole system in one line: agents with memory, sessions and governance over one backend, with every port that keeps
 * something.
 *
 * @since 0.1.0
 */
export * as Lexigram from "./Lexigram.js"

/**
 * Brings the tables of a database to the version that this code needs: forward only, each version once, all or nothing,
 * however many processes begin at once. A version that was released never changes; what comes later is a version of its
 * own.
 *
 * @since 0.1.0
 */
export * as Migrations from "./schema/Migrations.js"

/**
 * Everything that is kept of a user: given out, taken in by another database, erased.
 *
 * @since 0.1.0
 */
export * as OwnerData from "./OwnerData.js"

/**
 * How databases fail where no port is asked: when they are opened, migrated, chosen, copied. What a port does over a
 * database fails with the port's own errors.
 *
 * @since 0.1.0
 */
export * as PersistenceError from "./engine/PersistenceError.js"

/**
 * Vectors in Postgres by its extension pgvector (0.8 or later): a graph (HNSW, Malkov and Yashunin 2016) finds the
 * nearest without looking at all of them.
 *
 * @since 0.1.0
 */
export * as PgVectorIndex from "./vector/PgVectorIndex.js"

/**
 * Metrics of connection pools, by OpenTelemetry's semantic conventions for databases. They are set when a connection is
 * taken, given back, made or closed: no timer runs for them.
 *
 * @since 0.1.0
 */
export * as PoolMetrics from "./postgres/PoolMetrics.js"

/**
 * A Postgres server as the database of the stores: `PgClient` of `@effect/sql-pg` over a pool that gives up in time,
 * recovers by itself and tells how it is.
 *
 * @since 0.1.0
 */
export * as PostgresClient from "./postgres/PostgresClient.js"

/**
 * A cache in Redis, which many processes share.
 *
 * @since 0.1.0
 */
export * as RedisCacheBackend from "./redis/RedisCacheBackend.js"

/**
 * A connection to Redis (6.2 or later, one server or a cluster) through `ioredis`, shared by all stores on that server.
 *
 * @since 0.1.0
 */
export * as RedisClient from "./redis/RedisClient.js"

/**
 * Memory in Redis, which any number of processes may write at once, for one owner too.
 *
 * @since 0.1.0
 */
export * as RedisMemoryStore from "./redis/RedisMemoryStore.js"

/**
 * Rates in Redis: all processes that use one prefix share their limits, and together never pass one.
 *
 * @since 0.1.0
 */
export * as RedisRateLimitStore from "./redis/RedisRateLimitStore.js"

/**
 * Lua scripts that a Redis server runs as one step. No other command can observe a script halfway.
 *
 * @since 0.1.0
 */
export * as RedisScript from "./redis/RedisScript.js"

/**
 * Sessions, turns and checkpoints in Redis, for any number of processes at once.
 *
 * @since 0.1.0
 */
export * as RedisSessionStore from "./redis/RedisSessionStore.js"

/**
 * Approvals in a database: requests outlive the process that waits for them, and whoever decides may do so in another
 * one.
 *
 * @since 0.1.0
 */
export * as SqlApprovalStore from "./run/SqlApprovalStore.js"

/**
 * An audit log in a database.
 *
 * @since 0.1.0
 */
export * as SqlAuditLog from "./governance/SqlAuditLog.js"

/**
 * A `CacheBackend` in a database: what one process has put there another finds.
 *
 * @since 0.1.0
 */
export * as SqlCacheBackend from "./run/SqlCacheBackend.js"

/**
 * A `Checkpointer` in a database. A checkpoint has the whole state of its graph, and takes room for what has changed:
 * large fields are kept in pieces that the checkpoints of a thread share.
 *
 * @since 0.1.0
 */
export * as SqlCheckpointer from "./run/SqlCheckpointer.js"

/**
 * The book of money and tokens in a database: SQLite or Postgres, whichever the `SqlClient` is of. Every process that
 * works on the same database has the same book: what one holds is gone for all of them, and no limit is passed.
 *
 * @since 0.1.0
 */
export * as SqlCostLedger from "./governance/SqlCostLedger.js"

/**
 * Facts in a database: SQLite or Postgres, whichever the `SqlClient` is of. Several processes may assert facts of the
 * same owner at once.
 *
 * @since 0.1.0
 */
export * as SqlFactStore from "./memory/SqlFactStore.js"

/**
 * Entries of memory in SQLite or Postgres, found by their words: by full text of the database over the words that the
 * store's own analyzer reads, ranked as the store in memory ranks. What one process has stored the next call of any
 * other finds; of several that change one owner at the same time none loses anything.
 *
 * @since 0.1.0
 */
export * as SqlMemoryStore from "./memory/SqlMemoryStore.js"

/**
 * Rates in a database: SQLite or Postgres, whichever the `SqlClient` is of. All processes that work on the same
 * database share their limits, and together never pass one.
 *
 * @since 0.1.0
 */
export * as SqlRateLimitStore from "./governance/SqlRateLimitStore.js"

/**
 * The events of runs in a database.
 *
 * @since 0.1.0
 */
export * as SqlRunLog from "./run/SqlRunLog.js"

/**
 * Keeps sessions in SQLite or Postgres, by the `SqlClient` in the context. Any number of processes may use one
 * database: of two that write to one session at once one gets a `SessionConflictError`, and limits hold for all of them
 * together.
 *
 * @since 0.1.0
 */
export * as SqlSessionStore from "./session/SqlSessionStore.js"

/**
 * Results of skills in a database: `SkillResultCache` over `SqlCacheBackend`, in one layer.
 *
 * @since 0.1.0
 */
export * as SqlSkillCache from "./run/SqlSkillCache.js"

/**
 * Vectors in SQLite or Postgres, without any extension: exact search in this process.
 *
 * @since 0.1.0
 */
export * as SqlVectorIndex from "./vector/SqlVectorIndex.js"

/**
 * SQLite as an `SqlClient` of `@effect/sql`, by `node:sqlite`, `libsql` or `better-sqlite3`: the same files, values and
 * failures with each.
 *
 * @since 0.1.0
 */
export * as SqliteClient from "./sqlite/SqliteClient.js"

/**
 * Vectors in SQLite: exact search, in this process or by the extension `sqlite-vec`.
 *
 * @since 0.1.0
 */
export * as SqliteVectorIndex from "./vector/SqliteVectorIndex.js"

/**
 * Embeds entries again after a change of the model, for an index opened with `onModelChange: "reembed"`.
 *
 * @since 0.1.0
 */
export * as VectorReembedding from "./vector/VectorReembedding.js"
