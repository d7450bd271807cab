/**
 * Parses database URLs: `sqlite:` names a file, `postgres://` a server, `redis://` a cache, `memory:` this process. Any
 * other URL is an error.
 *
 * @since 0.1.0
 */
export * as DatabaseUrl from "./engine/DatabaseUrl.js"

/**
 * A `BlobStore` in folders: `<root>/<owner>/<scope>/<hash>`, with owners and scopes by the SHA-256 of their ids, so
 * that no id is a path. `scope.json` in a folder has the ids themselves. A file of a blob begins with a line of JSON
 * that has its media type; its bytes follow.
 *
 * @since 0.1.0
 */
export * as FileBlobStore from "./blob/FileBlobStore.js"

/**
 * A whole system as one layer: agents with memory, sessions and governance on one backend, and every port that stores
 * data.
 *
 * @since 0.1.0
 */
export * as Lexigram from "./Lexigram.js"

/**
 * Migrates the tables of a database to the version of this code: forward only, each version once and atomically, even
 * if several processes begin at once. A released version never changes; later changes get a version of their own.
 *
 * @since 0.1.0
 */
export * as Migrations from "./schema/Migrations.js"

/**
 * Exports, imports and erases all data of a user, and the memory of a shared namespace.
 *
 * @since 0.1.0
 */
export * as OwnerData from "./OwnerData.js"

/**
 * Errors of databases outside of the ports: opening, migrating, configuring, copying. Ports on a database fail with
 * their own errors.
 *
 * @since 0.1.0
 */
export * as PersistenceError from "./engine/PersistenceError.js"

/**
 * A `VectorIndex` in Postgres with the extension pgvector (0.8 or later). A graph (HNSW, Malkov and Yashunin 2016)
 * finds the nearest vectors without comparing all of them.
 *
 * @since 0.1.0
 */
export * as PgVectorIndex from "./vector/PgVectorIndex.js"

/**
 * Metrics of connection pools by OpenTelemetry's semantic conventions for databases. They are updated when a connection
 * is taken, returned, opened or closed; there is no timer.
 *
 * @since 0.1.0
 */
export * as PoolMetrics from "./postgres/PoolMetrics.js"

/**
 * A Postgres server as the database of the stores: `PgClient` of `@effect/sql-pg` on a pool with timeouts, automatic
 * recovery and metrics.
 *
 * @since 0.1.0
 */
export * as PostgresClient from "./postgres/PostgresClient.js"

/**
 * A `CacheBackend` in Redis, shared by many processes.
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
 * A `MemoryStore` in Redis, which any number of processes may write at once, even for one owner.
 *
 * @since 0.1.0
 */
export * as RedisMemoryStore from "./redis/RedisMemoryStore.js"

/**
 * A `RateLimitStore` in Redis. All processes with one prefix share their limits, which are never exceeded.
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
 * A `SessionStore` in Redis for any number of concurrent processes.
 *
 * @since 0.1.0
 */
export * as RedisSessionStore from "./redis/RedisSessionStore.js"

/**
 * A `BlobStore` in a bucket of any S3-compatible server: `<prefix><owner>/<scope>/<hash>`, with owners and scopes by
 * the SHA-256 of their ids. `scope.json` beside the blobs of a scope has the id itself. Requests are signed by AWS
 * Signature Version 4 with the hash of their bodies.
 *
 * @since 0.1.0
 */
export * as S3BlobStore from "./blob/S3BlobStore.js"

/**
 * An `ApprovalStore` in a database: requests outlive the process that waits for them, and any process can decide.
 *
 * @since 0.1.0
 */
export * as SqlApprovalStore from "./run/SqlApprovalStore.js"

/**
 * An `AuditLog` in a database.
 *
 * @since 0.1.0
 */
export * as SqlAuditLog from "./governance/SqlAuditLog.js"

/**
 * A `BlobStore` in SQLite or Postgres. `OwnerData` exports, imports and erases its blobs with the other data of an
 * owner.
 *
 * @since 0.1.0
 */
export * as SqlBlobStore from "./blob/SqlBlobStore.js"

/**
 * A `CacheBackend` in a database, shared by all processes that use it.
 *
 * @since 0.1.0
 */
export * as SqlCacheBackend from "./run/SqlCacheBackend.js"

/**
 * A `Checkpointer` in a database. A checkpoint holds the whole state of its graph but only takes space for changes:
 * large fields are stored in pieces that the checkpoints of a thread share.
 *
 * @since 0.1.0
 */
export * as SqlCheckpointer from "./run/SqlCheckpointer.js"

/**
 * The ledger of costs and tokens in SQLite or Postgres, whichever the `SqlClient` is. All processes on one database
 * share the ledger: a hold counts for all of them, and limits are never exceeded.
 *
 * @since 0.1.0
 */
export * as SqlCostLedger from "./governance/SqlCostLedger.js"

/**
 * A `DeltaFeed` in a database. What is shown is written only while somebody reads it in another process.
 *
 * @since 0.1.0
 */
export * as SqlDeltaFeed from "./run/SqlDeltaFeed.js"

/**
 * A `DocumentIndex` in SQLite or Postgres, whichever the `SqlClient` is. Documents are rows of the tables of memory, in
 * a space of their own for each owner: `OwnerData` exports, imports and erases them with the memory of their owner.
 *
 * @since 0.1.0
 */
export * as SqlDocumentIndex from "./document/SqlDocumentIndex.js"

/**
 * An `ExperimentStore` in a database: experiments outlive their process, and several processes share them.
 *
 * @since 0.1.0
 */
export * as SqlExperimentStore from "./run/SqlExperimentStore.js"

/**
 * A `FactStore` in SQLite or Postgres, whichever the `SqlClient` is. Several processes may assert facts of the same
 * owner at once.
 *
 * @since 0.1.0
 */
export * as SqlFactStore from "./memory/SqlFactStore.js"

/**
 * A `MemoryStore` in SQLite or Postgres with full-text search over the words that the store's analyzer reads, ranked
 * like the store in memory. An entry stored by one process is visible to the next call of any other; concurrent changes
 * of one owner lose nothing.
 *
 * @since 0.1.0
 */
export * as SqlMemoryStore from "./memory/SqlMemoryStore.js"

/**
 * `OwnerData` over the database and the stores in the context.
 *
 * @since 0.1.0
 */
export * as SqlOwnerData from "./SqlOwnerData.js"

/**
 * A `QueueStore` in a database: the queue outlives its process, and several processes share it.
 *
 * @since 0.1.0
 */
export * as SqlQueueStore from "./run/SqlQueueStore.js"

/**
 * A `RateLimitStore` in SQLite or Postgres, whichever the `SqlClient` is. All processes on one database share their
 * limits, which are never exceeded.
 *
 * @since 0.1.0
 */
export * as SqlRateLimitStore from "./governance/SqlRateLimitStore.js"

/**
 * A `RunLog` in a database.
 *
 * @since 0.1.0
 */
export * as SqlRunLog from "./run/SqlRunLog.js"

/**
 * A `RunStore` in a database: records outlive the process that runs them, and any process can read them.
 *
 * @since 0.1.0
 */
export * as SqlRunStore from "./run/SqlRunStore.js"

/**
 * A `ScheduleStore` in a database: schedules outlive their process, and several processes share them.
 *
 * @since 0.1.0
 */
export * as SqlScheduleStore from "./run/SqlScheduleStore.js"

/**
 * A `SessionStore` in SQLite or Postgres, on the `SqlClient` in context. Any number of processes may share a database:
 * of two concurrent writers of one session one gets a `SessionConflictError`, and limits apply to all processes
 * together.
 *
 * @since 0.1.0
 */
export * as SqlSessionStore from "./session/SqlSessionStore.js"

/**
 * A `SkillResultCache` on a `SqlCacheBackend`, in one layer.
 *
 * @since 0.1.0
 */
export * as SqlSkillCache from "./run/SqlSkillCache.js"

/**
 * Steering whose messages to durable runs are in a database: any process adds them, and they wait for a run that sleeps
 * or goes on elsewhere.
 *
 * @since 0.1.0
 */
export * as SqlSteering from "./run/SqlSteering.js"

/**
 * A `VectorIndex` in SQLite or Postgres without extensions: exact search in this process.
 *
 * @since 0.1.0
 */
export * as SqlVectorIndex from "./vector/SqlVectorIndex.js"

/**
 * SQLite as an `SqlClient` of `@effect/sql`, through `node:sqlite`, `libsql` or `better-sqlite3`, with the same files,
 * values and failures for each.
 *
 * @since 0.1.0
 */
export * as SqliteClient from "./sqlite/SqliteClient.js"

/**
 * A `VectorIndex` in SQLite: exact search in this process or with the extension `sqlite-vec`.
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
