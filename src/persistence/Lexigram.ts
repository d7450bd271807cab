/**
 * A whole system as one layer: agents with memory, sessions and governance on one backend, and every port that stores
 * data.
 *
 * @since 0.1.0
 */
import type * as SqlClient from "@effect/sql/SqlClient"
import * as Config from "effect/Config"
import type * as ConfigError from "effect/ConfigError"
import * as ConfigProvider from "effect/ConfigProvider"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import type * as DefaultGovernance from "../governance/DefaultGovernance.js"
import type * as ModelRouter from "../llm/ModelRouter.js"
import type * as CostEstimator from "../llm/model/CostEstimator.js"
import type * as LlmClient from "../llm/model/LlmClient.js"
import * as Memory from "../memory/Memory.js"
import * as Health from "../observability/Health.js"
import type * as SessionManager from "../session/manager/SessionManager.js"
import * as Sessions from "../session/Sessions.js"
import * as DatabaseUrl from "./engine/DatabaseUrl.js"
import { type DatabaseError, PersistenceConfigurationError } from "./engine/PersistenceError.js"
import type * as OwnerData from "./OwnerData.js"
import * as PostgresClient from "./postgres/PostgresClient.js"
import * as RedisClient from "./redis/RedisClient.js"
import * as SqlBackend from "./SqlBackend.js"
import * as SqlOwnerData from "./SqlOwnerData.js"
import * as SystemComposition from "./SystemComposition.js"
import type { MigrationFailure } from "./schema/Migrations.js"
import * as SqliteClient from "./sqlite/SqliteClient.js"
import * as PgVectorIndex from "./vector/PgVectorIndex.js"
import * as SqliteVectorIndex from "./vector/SqliteVectorIndex.js"
import * as SqlVectorIndex from "./vector/SqlVectorIndex.js"

/**
 * Prefix of the environment variables, as in `LEX_AI_DATABASE__URL`.
 *
 * @since 0.1.0
 * @category constants
 */
export const ENV_PREFIX = "LEX_AI_DATABASE__"

/**
 * @since 0.1.0
 * @category models
 */
export interface Service {
  /** The backend: `memory`, `sqlite` or `postgres`. */
  readonly backend: string
  /** Health of the databases, memory and sessions. */
  readonly health: Effect.Effect<Health.Report>
}

/**
 * @since 0.1.0
 * @category tags
 */
export class Lexigram extends Context.Tag("effect-lexigram/persistence/Lexigram")<Lexigram, Service>() {}

/**
 * The configurations of the parts, each with its own defaults. Memory and sessions are kept in the database unless
 * configured otherwise.
 *
 * @since 0.1.0
 * @category models
 */
export interface Settings extends SystemComposition.Settings {}

/**
 * Optional collaborators of the executor (`Agents.layerWith`), of memory (`DefaultMemory.layer`) and of governance.
 * Each may require the ports of the system.
 *
 * @since 0.1.0
 * @category models
 */
export interface Replaceable extends SystemComposition.Given {}

type Given<L> = Extract<L[keyof L & keyof Replaceable], Layer.Layer<any, any, any>>
/** Services that the system provides to collaborators. */
type Inside = SystemComposition.Ports | SqlClient.SqlClient | ModelRouter.ModelRouter | SessionManager.SessionManager

/**
 * Errors of the given layers.
 *
 * @since 0.1.0
 * @category models
 */
export type ErrorOf<L extends Replaceable> = [Given<L>] extends [never] ? never : Layer.Layer.Error<Given<L>>

/**
 * What the given layers require beyond the system.
 *
 * @since 0.1.0
 * @category models
 */
export type ContextOf<L extends Replaceable> =
  | ([Given<L>] extends [never] ? never : Exclude<Layer.Layer.Context<Given<L>>, Inside>)
  | ([Extract<L["prices" & keyof L], Layer.Layer<any, any, any>>] extends [never]
      ? DefaultGovernance.PricesFor<NonNullable<L["governance" & keyof L]>>
      : never)

/** Rejects misspelled options, which would be ignored otherwise. */
type NothingElse<L, Known extends string> = {
  readonly [K in Exclude<keyof L, keyof Replaceable | keyof Settings | Known>]: never
}

/**
 * Errors of the configurations.
 *
 * @since 0.1.0
 * @category models
 */
export type ConfigurationFailure = SystemComposition.ConfigurationFailure

/**
 * Services of a system: the executor, memory, sessions, governance, and every port.
 *
 * @since 0.1.0
 * @category models
 */
export type Out = Lexigram | SystemComposition.Composed | SystemComposition.Ports

/**
 * The prices given to a system, which dollar limits of agents require.
 *
 * @since 0.1.0
 * @category models
 */
export type PricesOf<L extends Replaceable> = [Extract<L["prices" & keyof L], Layer.Layer<any, any, any>>] extends [
  never
]
  ? never
  : CostEstimator.CostEstimator

/** Reports the health of the databases first, then of the parts. */
const makeLexigram = (backend: string) =>
  Layer.effect(
    Lexigram,
    Effect.gen(function* () {
      const { health: memory } = yield* Memory.Memory
      const { health: sessions } = yield* Sessions.Sessions
      const databases = yield* Effect.all({
        sqlite: Effect.serviceOption(SqliteClient.SqliteClient),
        postgres: Effect.serviceOption(PostgresClient.PostgresClient),
        redis: Effect.serviceOption(RedisClient.RedisClient)
      })
      const checks = Object.entries(databases).flatMap(([name, client]) =>
        Option.match(client as Option.Option<{ readonly health: Effect.Effect<void, DatabaseError> }>, {
          onNone: () => [],
          onSome: ({ health }) => [{ name, check: health }]
        })
      )
      return {
        backend,
        health: Effect.map(Effect.all([Health.sum(checks), memory, sessions]), Health.merge)
      }
    })
  )

type Of<Out> = Layer.Layer<Out, any, any>

/** Builds a system on a backend from its configuration and the given collaborators. */
const system = (
  name: string,
  parts: Effect.Effect<SystemComposition.Configured, any>,
  backend: SystemComposition.Backend,
  given: Replaceable
): Of<any> =>
  Layer.unwrapEffect(
    Effect.map(parts, (parts) =>
      makeLexigram(name).pipe(Layer.provideMerge(SystemComposition.compose(backend, parts, given)))
    )
  )

const sql = (
  name: string,
  parts: Effect.Effect<SystemComposition.Configured, any>,
  databases: SqlBackend.Databases,
  given: Replaceable
): Of<any> =>
  SqlOwnerData.layer.pipe(
    Layer.provideMerge(system(name, parts, SqlBackend.make(databases, given), given)),
    Layer.provideMerge(SqlBackend.clients(databases))
  )

const inMemory: SystemComposition.Backend = {
  ports: SystemComposition.portsInMemory,
  entries: () => undefined,
  facts: () => undefined,
  sessions: () => undefined
}

/**
 * Keeps everything in the memory of this process: for tests and experiments.
 *
 * @since 0.1.0
 * @category layers
 */
export const layerMemory = <const L extends Replaceable & Settings = {}>(
  options?: (L & NothingElse<L, never>) | undefined
): Layer.Layer<Out | PricesOf<L>, ConfigurationFailure | ErrorOf<L>, LlmClient.LlmClient | ContextOf<L>> =>
  system(
    "memory",
    SystemComposition.fromSettings(options ?? {}, { memory: "in_memory", sessions: "in_memory" }),
    inMemory,
    options ?? {}
  )

/**
 * Options of all systems on a database.
 *
 * @since 0.1.0
 * @category models
 */
export interface DatabaseSettings {
  /**
   * Keeps caches and rates, and memory or sessions configured with the backend `"cache"`. Default: the database keeps
   * caches and rates.
   */
  readonly redis?: RedisClient.Options | undefined
}

/**
 * @since 0.1.0
 * @category models
 */
export interface SqliteSettings extends SqliteClient.Options, DatabaseSettings {}

/**
 * @since 0.1.0
 * @category models
 */
export interface PostgresSettings extends PostgresClient.Options, DatabaseSettings {
  /**
   * How vectors are searched with `defaultBackend: "vector"`: by the extension pgvector, or by comparing all vectors of
   * an owner in this process. Default: `pgvector`, which fails if the server lacks the extension.
   */
  readonly vectors?: "pgvector" | "scan" | undefined
}

/**
 * Errors of opening and migrating a database.
 *
 * @since 0.1.0
 * @category models
 */
export type DatabaseFailure = MigrationFailure

const inTables = { memory: "database", sessions: "database" } as const

/** One layer value, so that everything built on it shares one client. */
const redisOf = (options: RedisClient.Options | undefined) =>
  options === undefined ? undefined : RedisClient.layer(options)

/**
 * Keeps everything in one SQLite file: runs, approvals, memory, sessions, caches, costs. The file and its tables are
 * created if missing. Later processes continue with its data, and several processes may use it at once.
 *
 * @since 0.1.0
 * @category layers
 * @example
 * ```ts
 * import { Agent, AgentExecutor, Ids } from "effect-lexigram"
 * import { OfflineModel } from "effect-lexigram/offline"
 * import { Lexigram } from "effect-lexigram/persistence"
 * import * as Effect from "effect/Effect"
 * import * as Layer from "effect/Layer"
 *
 * const helper = Agent.make("helper", { system: "You help." })
 *
 * const system = Lexigram.layerSqlite({ file: "agents.db" }).pipe(Layer.provide(OfflineModel.layer()))
 *
 * const program = AgentExecutor.run(helper, {
 *   input: "What did I ask you yesterday?",
 *   sessionId: "chat",
 *   userId: Ids.UserId.make("ada")
 * }).pipe(Effect.provide(system))
 * ```
 */
export const layerSqlite = <const L extends Replaceable & Settings & SqliteSettings>(
  options: L & NothingElse<L, keyof SqliteSettings>
): Layer.Layer<
  Out | PricesOf<L> | OwnerData.OwnerData | SqlClient.SqlClient | SqliteClient.SqliteClient,
  ConfigurationFailure | DatabaseFailure | ErrorOf<L>,
  LlmClient.LlmClient | ContextOf<L>
> =>
  sql(
    "sqlite",
    SystemComposition.fromSettings(options, inTables),
    {
      client: SqliteClient.layer(options),
      vectors: SqliteVectorIndex.layer(),
      redis: redisOf(options.redis)
    },
    options
  ) as Of<any>

/**
 * Keeps everything in one Postgres database, which any number of processes may use at once.
 *
 * @since 0.1.0
 * @category layers
 */
export const layerPostgres = <const L extends Replaceable & Settings & PostgresSettings>(
  options: L & NothingElse<L, keyof PostgresSettings>
): Layer.Layer<
  Out | PricesOf<L> | OwnerData.OwnerData | SqlClient.SqlClient | PostgresClient.PostgresClient,
  ConfigurationFailure | DatabaseFailure | ErrorOf<L>,
  LlmClient.LlmClient | ContextOf<L>
> =>
  sql(
    "postgres",
    SystemComposition.fromSettings(options, inTables),
    {
      client: PostgresClient.layer(options),
      vectors: options.vectors === "scan" ? SqlVectorIndex.layer() : PgVectorIndex.layerMigrated(),
      redis: redisOf(options.redis)
    },
    options
  ) as Of<any>

const redisAsDatabase: PersistenceConfigurationError = new PersistenceConfigurationError({
  message: "Redis cannot be the database of a whole system: it only keeps memory, sessions, caches and rates",
  hint: `Set it as ${ENV_PREFIX}REDIS_URL, and a \`sqlite:\` file or a \`postgres://\` server in ${ENV_PREFIX}URL`
})

const noCache: PersistenceConfigurationError = new PersistenceConfigurationError({
  message: `${ENV_PREFIX}REDIS_URL is not a URL of Redis`,
  hint: "Use a URL that begins with `redis://` or `rediss://`"
})

/** The databases named by the environment. */
const named = Effect.gen(function* () {
  const url = yield* Effect.flatMap(Config.redacted(`${ENV_PREFIX}URL`), DatabaseUrl.parse)
  const redis = yield* Config.option(Config.redacted(`${ENV_PREFIX}REDIS_URL`))
  if (url._tag === "Redis") return yield* redisAsDatabase
  if (Option.isNone(redis)) return { url, redis: undefined }
  const cache = yield* DatabaseUrl.parse(redis.value)
  return cache._tag === "Redis" ? { url, redis: { url: cache.url } } : yield* noCache
})

/**
 * Uses the database named by `LEX_AI_DATABASE__URL`: `sqlite:` with a file, `postgres://` or `memory:`, with caches and
 * rates in Redis if `LEX_AI_DATABASE__REDIS_URL` is set. Everything else is configured by the variables of the parts
 * (`LEX_AI_MEMORY__*`, `LEX_AI_SESSION__*`, `LEX_AI_GOVERNANCE__*`, `LEX_AI_AGENTS__*`), except that memory and
 * sessions default to the database. A database that cannot be reached is an error; there is no fallback.
 *
 * @since 0.1.0
 * @category layers
 */
export const layerConfig = <const L extends Replaceable = {}>(
  options?: (L & { readonly [K in Exclude<keyof L, keyof Replaceable>]: never }) | undefined
): Layer.Layer<
  Out | CostEstimator.CostEstimator,
  ConfigurationFailure | DatabaseFailure | ConfigError.ConfigError | ErrorOf<L>,
  LlmClient.LlmClient | ContextOf<L>
> =>
  Layer.unwrapEffect(
    Effect.gen(function* () {
      const given: Replaceable = options ?? {}
      const { redis, url } = yield* named
      if (url._tag === "Memory") return system("memory", SystemComposition.fromEnvironment, inMemory, given)
      const parts = Effect.flatMap(Effect.configProviderWith(Effect.succeed), (provider) =>
        Effect.withConfigProvider(
          SystemComposition.fromEnvironment,
          ConfigProvider.orElse(provider, () => SystemComposition.inDatabase)
        )
      )
      const cache = redisOf(redis)
      return url._tag === "Sqlite"
        ? sql(
            "sqlite",
            parts,
            {
              client: SqliteClient.layer({ file: url.file, createDirectories: true }),
              vectors: SqliteVectorIndex.layer(),
              redis: cache
            },
            given
          )
        : sql(
            "postgres",
            parts,
            { client: PostgresClient.layer({ url: url.url }), vectors: PgVectorIndex.layerMigrated(), redis: cache },
            given
          )
    })
  ) as Of<any>
