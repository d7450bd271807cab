/**
 * A whole system in one line: agents with memory, sessions and governance over one backend, with every port that keeps
 * something.
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
import type * as AgentConfig from "../agent/definition/AgentConfig.js"
import type * as Governance from "../governance/Governance.js"
import * as GovernanceConfig from "../governance/GovernanceConfig.js"
import type { GovernanceConfigurationError } from "../governance/store/GovernanceError.js"
import type * as ModelRouter from "../llm/ModelRouter.js"
import type * as CostEstimator from "../llm/model/CostEstimator.js"
import type * as LlmClient from "../llm/model/LlmClient.js"
import type { MemorySystemError } from "../memory/entry/MemoryError.js"
import * as Memory from "../memory/Memory.js"
import * as MemoryConfig from "../memory/MemoryConfig.js"
import * as Health from "../observability/Health.js"
import type * as SessionManager from "../session/manager/SessionManager.js"
import * as SessionConfig from "../session/SessionConfig.js"
import * as Sessions from "../session/Sessions.js"
import type { SessionConfigurationError } from "../session/turn/SessionError.js"
import * as Composition from "./Composition.js"
import * as DatabaseUrl from "./engine/DatabaseUrl.js"
import { type DatabaseError, PersistenceConfigurationError } from "./engine/PersistenceError.js"
import * as OwnerData from "./OwnerData.js"
import * as PostgresClient from "./postgres/PostgresClient.js"
import * as RedisClient from "./redis/RedisClient.js"
import * as SqlPorts from "./SqlPorts.js"
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
  /** Where everything is kept: `memory`, `sqlite`, `postgres`. */
  readonly backend: string
  /** The database and what lies over it, part by part. */
  readonly health: Effect.Effect<Health.Report>
}

/**
 * @since 0.1.0
 * @category tags
 */
export class Lexigram extends Context.Tag("effect-lexigram/persistence/Lexigram")<Lexigram, Service>() {}

/**
 * The configurations of the parts, with the defaults of each. Memory and sessions are kept in the database unless they
 * say otherwise.
 *
 * @since 0.1.0
 * @category models
 */
export interface Settings {
  readonly agents?: AgentConfig.Options | undefined
  readonly memory?: MemoryConfig.Options | undefined
  readonly sessions?: SessionConfig.Options | undefined
  readonly governance?: GovernanceConfig.Options | undefined
}

/**
 * What else a system can be given: collaborators of the executor (`Agents.layerWith`), of memory
 * (`DefaultMemory.layer`) and of governance. Each may require the ports that are kept here.
 *
 * @since 0.1.0
 * @category models
 */
export interface Replaceable extends Composition.Given {}

type Given<L> = Extract<L[keyof L & keyof Replaceable], Layer.Layer<any, any, any>>
/** What a collaborator may find here. */
type Inside = Composition.Ports | SqlClient.SqlClient | ModelRouter.ModelRouter | SessionManager.SessionManager

/**
 * What the given layers fail with.
 *
 * @since 0.1.0
 * @category models
 */
export type ErrorOf<L extends Replaceable> = [Given<L>] extends [never] ? never : Layer.Layer.Error<Given<L>>

/**
 * What the given layers require beyond what is here.
 *
 * @since 0.1.0
 * @category models
 */
export type ContextOf<L extends Replaceable> =
  | ([Given<L>] extends [never] ? never : Exclude<Layer.Layer.Context<Given<L>>, Inside>)
  | ([Extract<L["prices" & keyof L], Layer.Layer<any, any, any>>] extends [never]
      ? Governance.PricesFor<NonNullable<L["governance" & keyof L]>>
      : never)

/** A name that is misspelt would be passed over in silence. */
type NothingElse<L, Known extends string> = {
  readonly [K in Exclude<keyof L, keyof Replaceable | keyof Settings | Known>]: never
}

/**
 * How a configuration is refused.
 *
 * @since 0.1.0
 * @category models
 */
export type ConfigurationFailure = MemorySystemError | SessionConfigurationError | GovernanceConfigurationError

/**
 * What a system provides: the executor, memory, sessions and governance, and every port.
 *
 * @since 0.1.0
 * @category models
 */
export type Out = Lexigram | Composition.Composed | Composition.Ports

/**
 * The prices that a system was given: limits in dollars of agents require them.
 *
 * @since 0.1.0
 * @category models
 */
export type PricesOf<L extends Replaceable> = [Extract<L["prices" & keyof L], Layer.Layer<any, any, any>>] extends [
  never
]
  ? never
  : CostEstimator.CostEstimator

/**
 * The parts as code configures them.
 */
const configured = (
  { agents, governance, memory, sessions }: Settings,
  kept: { readonly memory: MemoryConfig.Backend; readonly sessions: SessionConfig.Backend }
): Effect.Effect<Composition.Configured, ConfigurationFailure> =>
  Effect.gen(function* () {
    return {
      memory: yield* MemoryConfig.make({ ...memory, defaultBackend: memory?.defaultBackend ?? kept.memory }),
      sessions: yield* SessionConfig.make({ ...sessions, backend: sessions?.backend ?? kept.sessions }),
      governance: yield* GovernanceConfig.make(governance),
      agents: { options: agents }
    }
  })

/**
 * As `configured`, from the environment: what it does not say about where memory and sessions are kept is the database.
 */
const fromEnvironment: Effect.Effect<Composition.Configured, ConfigError.ConfigError> = Effect.gen(function* () {
  return {
    memory: yield* MemoryConfig.config,
    sessions: yield* SessionConfig.config,
    governance: yield* GovernanceConfig.config,
    agents: "environment" as const
  }
})

const inDatabase = ConfigProvider.fromMap(
  new Map([
    [`${MemoryConfig.ENV_PREFIX}DEFAULT_BACKEND`, "database"],
    [`${SessionConfig.ENV_PREFIX}BACKEND`, "database"]
  ])
)

/** How the parts are, the databases before all. */
const told = (backend: string) =>
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

/** A system over a backend: what is not given in code comes from `configured`. */
const system = (
  name: string,
  parts: Effect.Effect<Composition.Configured, any>,
  backend: Composition.Backend,
  given: Replaceable
): Of<any> =>
  Layer.unwrapEffect(
    Effect.map(parts, (parts) => told(name).pipe(Layer.provideMerge(Composition.compose(backend, parts, given))))
  )

const sql = (
  name: string,
  parts: Effect.Effect<Composition.Configured, any>,
  databases: SqlPorts.Databases,
  given: Replaceable
): Of<any> =>
  OwnerData.layer.pipe(
    Layer.provideMerge(system(name, parts, SqlPorts.make(databases, given), given)),
    Layer.provideMerge(SqlPorts.clients(databases))
  )

const inMemory: Composition.Backend = {
  ports: Composition.portsInMemory,
  entries: () => undefined,
  facts: () => undefined,
  sessions: () => undefined
}

/**
 * Everything in the memory of this process, and gone with it: for tests and for trying things out.
 *
 * @since 0.1.0
 * @category layers
 */
export const layerMemory = <const L extends Replaceable & Settings = {}>(
  options?: (L & NothingElse<L, never>) | undefined
): Layer.Layer<Out | PricesOf<L>, ConfigurationFailure | ErrorOf<L>, LlmClient.LlmClient | ContextOf<L>> =>
  system("memory", configured(options ?? {}, { memory: "in_memory", sessions: "in_memory" }), inMemory, options ?? {})

/**
 * What the systems over a database have in common.
 *
 * @since 0.1.0
 * @category models
 */
export interface DatabaseSettings {
  /**
   * Keeps caches and rates, and what is to be kept in a cache (`defaultBackend` or `backend` `"cache"`). Default: the
   * database does.
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
   * How vectors are searched with `defaultBackend: "vector"`: by the extension pgvector, or by comparing all of an
   * owner's in this process. Default: `pgvector`; a server that has not got it is a failure.
   */
  readonly vectors?: "pgvector" | "scan" | undefined
}

/**
 * How a database cannot be had.
 *
 * @since 0.1.0
 * @category models
 */
export type DatabaseFailure = MigrationFailure

const inTables = { memory: "database", sessions: "database" } as const

/** The one layer of a client: what is built of it twice is the same. */
const redisOf = (options: RedisClient.Options | undefined) =>
  options === undefined ? undefined : RedisClient.layer(options)

/**
 * Everything in one file of SQLite: agents, their runs and approvals, memory, sessions, caches, costs. The file is made
 * if it is not there, with its tables; a process that comes later goes on with what it holds, and several may use it at
 * once.
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
    configured(options, inTables),
    {
      client: SqliteClient.layer(options),
      vectors: SqliteVectorIndex.layer(),
      redis: redisOf(options.redis)
    },
    options
  ) as Of<any>

/**
 * Everything in one database of Postgres, which any number of processes may use at once.
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
    configured(options, inTables),
    {
      client: PostgresClient.layer(options),
      vectors: options.vectors === "scan" ? SqlVectorIndex.layer() : PgVectorIndex.layerMigrated(),
      redis: redisOf(options.redis)
    },
    options
  ) as Of<any>

const redisAsDatabase: PersistenceConfigurationError = new PersistenceConfigurationError({
  message: "Redis cannot be the database of a whole system: it keeps memory, sessions, caches and rates",
  hint: `Name it in ${ENV_PREFIX}REDIS_URL, and a \`sqlite:\` file or a \`postgres://\` server in ${ENV_PREFIX}URL`
})

const noCache: PersistenceConfigurationError = new PersistenceConfigurationError({
  message: `${ENV_PREFIX}REDIS_URL is no URL of Redis`,
  hint: "Begin it with `redis://` or `rediss://`"
})

/** The databases that the environment names. */
const named = Effect.gen(function* () {
  const url = yield* Effect.flatMap(Config.redacted(`${ENV_PREFIX}URL`), DatabaseUrl.parse)
  const redis = yield* Config.option(Config.redacted(`${ENV_PREFIX}REDIS_URL`))
  if (url._tag === "Redis") return yield* redisAsDatabase
  if (Option.isNone(redis)) return { url, redis: undefined }
  const cache = yield* DatabaseUrl.parse(redis.value)
  return cache._tag === "Redis" ? { url, redis: { url: cache.url } } : yield* noCache
})

/**
 * Over the database that `LEX_AI_DATABASE__URL` names: `sqlite:` with a file, `postgres://` or `memory:`; with caches
 * and rates in Redis where `LEX_AI_DATABASE__REDIS_URL` does. Everything else is configured as the parts are by
 * themselves (`LEX_AI_MEMORY__*`, `LEX_AI_SESSION__*`, `LEX_AI_GOVERNANCE__*`, `LEX_AI_AGENTS__*`), but that memory and
 * sessions are kept in the database unless the environment says otherwise. What is named and cannot be had is a
 * failure, never something else.
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
      if (url._tag === "Memory") return system("memory", fromEnvironment, inMemory, given)
      const parts = Effect.flatMap(Effect.configProviderWith(Effect.succeed), (provider) =>
        Effect.withConfigProvider(
          fromEnvironment,
          ConfigProvider.orElse(provider, () => inDatabase)
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
