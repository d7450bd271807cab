/**
 * All ports over the database of the `SqlClient` in the context.
 *
 * @internal
 * @since 0.1.0
 */
import type * as SqlClient from "@effect/sql/SqlClient"
import * as Layer from "effect/Layer"
import type * as CacheBackend from "../llm/CacheBackend.js"
import * as HashingEmbedder from "../llm/HashingEmbedder.js"
import type * as MemoryConfig from "../memory/MemoryConfig.js"
import type * as MemoryStore from "../memory/MemoryStore.js"
import type * as VectorIndex from "../memory/VectorIndex.js"
import type * as SessionStore from "../session/SessionStore.js"
import * as SkillResultCache from "../skill/SkillResultCache.js"
import type { Backend, Given } from "./Composition.js"
import type { MigrationFailure } from "./Migrations.js"
import * as Migrations from "./Migrations.js"
import { PersistenceConfigurationError } from "./PersistenceError.js"
import * as RedisCacheBackend from "./RedisCacheBackend.js"
import type * as RedisClient from "./RedisClient.js"
import * as RedisMemoryStore from "./RedisMemoryStore.js"
import * as RedisRateLimitStore from "./RedisRateLimitStore.js"
import * as RedisSessionStore from "./RedisSessionStore.js"
import * as SqlApprovalStore from "./SqlApprovalStore.js"
import * as SqlAuditLog from "./SqlAuditLog.js"
import * as SqlCacheBackend from "./SqlCacheBackend.js"
import * as SqlCheckpointer from "./SqlCheckpointer.js"
import * as SqlCostLedger from "./SqlCostLedger.js"
import * as SqlFactStore from "./SqlFactStore.js"
import * as SqlMemoryStore from "./SqlMemoryStore.js"
import * as SqlRateLimitStore from "./SqlRateLimitStore.js"
import * as SqlRunLog from "./SqlRunLog.js"
import * as SqlSessionStore from "./SqlSessionStore.js"
import * as SqlSkillCache from "./SqlSkillCache.js"

type Of<Out> = Layer.Layer<Out, any, any>

/** What a database of SQL has, and what it leaves to Redis where that is there. */
export interface Databases {
  readonly client: Of<SqlClient.SqlClient>
  readonly vectors: Of<VectorIndex.VectorIndex>
  readonly redis?: Of<RedisClient.RedisClient> | undefined
}

const none = <Out>(what: string): Of<Out> =>
  Layer.fail(
    new PersistenceConfigurationError({
      message: `${what} are to be kept in a cache ("cache"), and there is none`,
      hint: 'Give the system a `redis`, or have them kept in its database ("database")'
    })
  )

type Cached = CacheBackend.CacheBackend | SkillResultCache.SkillResultCache

const cached = (
  redis: Databases["redis"]
): Layer.Layer<Cached, MigrationFailure, SqlClient.SqlClient | RedisClient.RedisClient> =>
  redis === undefined
    ? Layer.merge(SqlCacheBackend.layer(), SqlSkillCache.layer())
    : SkillResultCache.layer().pipe(Layer.provideMerge(RedisCacheBackend.layer()))

/**
 * @category constructors
 */
export const make = ({ redis, vectors }: Omit<Databases, "client">, given: Given): Backend => ({
  ports: Layer.mergeAll(
    SqlCheckpointer.layer,
    SqlCostLedger.layer(),
    redis === undefined ? SqlRateLimitStore.layer : RedisRateLimitStore.layer(),
    SqlAuditLog.layer(),
    SqlApprovalStore.layer(),
    SqlRunLog.layer(),
    cached(redis)
  ),
  entries: (backend) => {
    switch (backend) {
      case "in_memory":
        return undefined
      case "cache":
        return redis === undefined
          ? () => none<MemoryStore.MemoryStore>("Entries of memory")
          : (options) => RedisMemoryStore.layer(options)
      case "database":
        return (options) => SqlMemoryStore.layer(options)
      case "vector":
        return (options) =>
          SqlMemoryStore.layerVectors(options).pipe(
            Layer.provide(Layer.provideMerge(vectors, given.embedder ?? HashingEmbedder.layer()))
          )
    }
  },
  facts: (backend: MemoryConfig.Backend) => (backend === "in_memory" ? undefined : SqlFactStore.layer()),
  sessions: (backend) => {
    switch (backend) {
      case "in_memory":
        return undefined
      case "cache":
        return redis === undefined ? none<SessionStore.SessionStore>("Sessions") : RedisSessionStore.layer()
      case "database":
        return SqlSessionStore.layer
    }
  }
})

/**
 * The client, once its database has the tables of this version, and Redis where it is given.
 *
 * @category layers
 */
export const clients = ({ client, redis }: Databases): Of<SqlClient.SqlClient> =>
  Layer.merge(Layer.provideMerge(Migrations.layer, client), redis ?? Layer.empty) as Of<SqlClient.SqlClient>
