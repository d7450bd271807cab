/**
 * The backend of a system on the database of the `SqlClient` in context.
 *
 * @private
 * @since 0.1.0
 */
import type * as SqlClient from "@effect/sql/SqlClient"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as CacheBackend from "../llm/CacheBackend.js"
import * as HashingEmbedder from "../llm/embedding/HashingEmbedder.js"
import type * as FactStore from "../memory/facts/FactStore.js"
import type * as MemoryStore from "../memory/search/MemoryStore.js"
import type * as VectorIndex from "../memory/search/VectorIndex.js"
import * as FactVectors from "../memory/semantic/FactVectors.js"
import type * as SessionStore from "../session/turn/SessionStore.js"
import * as SkillResultBackend from "../skill/execute/SkillResultBackend.js"
import type * as SkillResultCache from "../skill/execute/SkillResultCache.js"
import * as SqlBlobStore from "./blob/SqlBlobStore.js"
import { PersistenceConfigurationError } from "./engine/PersistenceError.js"
import * as SqlAuditLog from "./governance/SqlAuditLog.js"
import * as SqlCostLedger from "./governance/SqlCostLedger.js"
import * as SqlRateLimitStore from "./governance/SqlRateLimitStore.js"
import * as SqlFactStore from "./memory/SqlFactStore.js"
import * as SqlMemoryStore from "./memory/SqlMemoryStore.js"
import * as RedisCacheBackend from "./redis/RedisCacheBackend.js"
import type * as RedisClient from "./redis/RedisClient.js"
import * as RedisMemoryStore from "./redis/RedisMemoryStore.js"
import * as RedisRateLimitStore from "./redis/RedisRateLimitStore.js"
import * as RedisSessionStore from "./redis/RedisSessionStore.js"
import * as SqlApprovalStore from "./run/SqlApprovalStore.js"
import * as SqlCacheBackend from "./run/SqlCacheBackend.js"
import * as SqlCheckpointer from "./run/SqlCheckpointer.js"
import * as SqlRunLog from "./run/SqlRunLog.js"
import * as SqlRunStore from "./run/SqlRunStore.js"
import * as SqlSkillCache from "./run/SqlSkillCache.js"
import { type Backend, blobsOr, type Given } from "./SystemComposition.js"
import type { MigrationFailure } from "./schema/Migrations.js"
import * as Migrations from "./schema/Migrations.js"
import * as SqlSessionStore from "./session/SqlSessionStore.js"

type Of<Out> = Layer.Layer<Out, any, any>

/** The SQL database, and Redis if it keeps caches and rates. */
export interface Databases {
  readonly client: Of<SqlClient.SqlClient>
  readonly vectors: Of<VectorIndex.VectorIndex>
  readonly redis?: Of<RedisClient.RedisClient> | undefined
}

const none = <Out>(what: string): Of<Out> =>
  Layer.fail(
    new PersistenceConfigurationError({
      message: `${what} are configured with the backend "cache", but there is no Redis`,
      hint: 'Set `redis`, or use the backend "database"'
    })
  )

type Cached = CacheBackend.CacheBackend | SkillResultCache.SkillResultCache

const cached = (
  redis: Databases["redis"]
): Layer.Layer<Cached, MigrationFailure, SqlClient.SqlClient | RedisClient.RedisClient> =>
  redis === undefined
    ? Layer.merge(SqlCacheBackend.layer(), SqlSkillCache.layer())
    : SkillResultBackend.layer().pipe(Layer.provideMerge(RedisCacheBackend.layer()))

/** Found by meaning where an embedder is in context. */
const factStore: Of<FactStore.FactStore> = Layer.unwrapEffect(
  Effect.map(FactVectors.inContext, (wrapBackend) => SqlFactStore.layer({ wrapBackend }))
)

/**
 * @category constructors
 */
export const make = ({ redis, vectors }: Omit<Databases, "client">, given: Given): Backend => ({
  ports: Layer.mergeAll(
    blobsOr(SqlBlobStore.layer()),
    SqlCheckpointer.layer,
    SqlCostLedger.layer(),
    redis === undefined ? SqlRateLimitStore.layer : RedisRateLimitStore.layer(),
    SqlAuditLog.layer(),
    SqlApprovalStore.layer(),
    SqlRunLog.layer(),
    SqlRunStore.layer(),
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
  facts: (backend) => {
    if (backend === "in_memory") return undefined
    const { embedder } = given
    if (embedder === undefined) return factStore
    // The index in the database is only built for entries: its extension may be missing.
    return Layer.provide(factStore, backend === "vector" ? Layer.provideMerge(vectors, embedder) : embedder)
  },
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
 * The client after migrating its database, and Redis if it is configured.
 *
 * @category layers
 */
export const clients = ({ client, redis }: Databases): Of<SqlClient.SqlClient> =>
  Layer.merge(Layer.provideMerge(Migrations.layer, client), redis ?? Layer.empty) as Of<SqlClient.SqlClient>
