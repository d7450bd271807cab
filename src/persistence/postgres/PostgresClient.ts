/**
 * A Postgres server as the database of the stores: `PgClient` of `@effect/sql-pg` on a pool with timeouts, automatic
 * recovery and metrics.
 *
 * Requires the packages `pg`, `@effect/sql` and `@effect/sql-pg`. Missing options are read from the environment
 * variables of Postgres (`PGHOST`, `PGUSER`, …), like in `pg`.
 *
 * @since 0.1.0
 */
import * as Reactivity from "@effect/experimental/Reactivity"
import * as SqlClient from "@effect/sql/SqlClient"
import type { SqlError } from "@effect/sql/SqlError"
import type * as PgModule from "@effect/sql-pg/PgClient"
import * as Config from "effect/Config"
import type { ConfigError } from "effect/ConfigError"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import type * as Pg from "pg"
import { atServers, DatabaseError, PersistenceConfigurationError } from "../engine/PersistenceError.js"
import type { PoolFigures } from "./PoolMetrics.js"
import * as PostgresConnection from "./PostgresConnection.js"
import * as PostgresFailure from "./PostgresFailure.js"
import * as PostgresPool from "./PostgresPool.js"
import * as PostgresSettings from "./PostgresSettings.js"

/**
 * @since 0.1.0
 * @category models
 */
export interface Options extends PostgresSettings.Options {}

/**
 * @since 0.1.0
 * @category models
 */
export interface Service {
  /** The current state of the pool. */
  readonly pool: Effect.Effect<PoolFigures>
  /** Succeeds if the server answers a statement in time. */
  readonly health: Effect.Effect<void, DatabaseError>
}

/**
 * State of the pool under the `SqlClient`.
 *
 * @since 0.1.0
 * @category tags
 */
export class PostgresClient extends Context.Tag("effect-lexigram/persistence/PostgresClient")<
  PostgresClient,
  Service
>() {}

/**
 * @since 0.1.0
 * @category models
 */
export type Services = PgModule.PgClient | SqlClient.SqlClient | PostgresClient

type Failure = DatabaseError | PersistenceConfigurationError

const modules = Effect.tryPromise({
  try: async () => {
    const [pg, sqlPg] = await Promise.all([import("pg"), import("@effect/sql-pg/PgClient")])
    return { pg: pg.default, sqlPg }
  },
  catch: (cause) => {
    const code = (cause as { readonly code?: unknown } | null)?.code
    const isMissing = code === "ERR_MODULE_NOT_FOUND" || code === "MODULE_NOT_FOUND"
    return new PersistenceConfigurationError({
      message: isMissing
        ? "Postgres needs the packages pg and @effect/sql-pg, of which one is not installed"
        : "The packages pg and @effect/sql-pg could not be loaded",
      hint: "npm install pg @effect/sql@^0.52.1 @effect/sql-pg@^0.53.0"
    })
  }
})

const isCreatedElsewhere = ({ cause }: SqlError): boolean => {
  const code = (cause as { readonly code?: unknown } | null)?.code
  return code === "23505" || code === "42P06"
}

/** Another process may create it at the same time. */
const ensureSchema = (
  query: (config: Pg.QueryConfig) => Effect.Effect<Pg.QueryResult, SqlError>,
  schema: string,
  { createSchema, quoted }: { readonly createSchema: boolean; readonly quoted: string }
): Effect.Effect<void, SqlError | DatabaseError> =>
  Effect.gen(function* () {
    // Creating a schema requires a right even if it exists.
    const { rows } = yield* query({ text: "select 1 from pg_namespace where nspname = $1", values: [schema] })
    if (rows.length > 0) return
    if (!createSchema)
      return yield* new DatabaseError({
        backend: "postgres",
        reason: "schema",
        message: "Postgres has no schema of this name",
        hint: "Create it, or leave `createSchema` on for a user who may"
      })
    yield* Effect.catchIf(
      query({ text: `create schema if not exists ${quoted}` }),
      isCreatedElsewhere,
      () => Effect.void
    )
  })

/**
 * Closes the connection afterwards: one that resolves its search path at the moment in which another creates the schema
 * may never see the schema, because the server keeps the resolved path by connection.
 */
const withSchema = (
  escape: (name: string) => string,
  pool: PostgresPool.PostgresPool,
  { createSchema, schema }: PostgresSettings.Settings
): Effect.Effect<void, SqlError | DatabaseError> =>
  schema === undefined
    ? Effect.void
    : Effect.uninterruptibleMask((restore) =>
        Effect.flatMap(pool.acquire(restore), (lease) => {
          const query = (config: Pg.QueryConfig) => pool.query(lease, config)
          return Effect.ensuring(
            restore(ensureSchema(query, schema, { createSchema, quoted: escape(schema) })),
            Effect.sync(lease.discard)
          )
        })
      )

const warm = (pool: PostgresPool.PostgresPool, connections: number): Effect.Effect<void, SqlError> =>
  Effect.scoped(Effect.forEach(Array.from({ length: Math.max(1, connections) }), () => pool.reserve, { discard: true }))

const services = (
  options: Options
): Effect.Effect<Context.Context<Services>, Failure, Scope.Scope | Reactivity.Reactivity> =>
  Effect.gen(function* () {
    const { pg, sqlPg } = yield* modules
    const settings = yield* PostgresSettings.resolve(pg, options)
    const pool = yield* Effect.acquireRelease(
      Effect.sync(() => PostgresPool.make(pg, settings)),
      (pool) => pool.close
    )
    const toDatabaseError = (error: unknown): DatabaseError =>
      atServers(PostgresFailure.toDatabaseError(error), [
        { host: settings.pool.host ?? "localhost", port: settings.pool.port ?? 5432 }
      ])
    const client = yield* Effect.gen(function* () {
      yield* withSchema(pg.escapeIdentifier, pool, settings)
      yield* warm(pool, settings.minConnections)
      return yield* PostgresConnection.make({ pg, sqlPg }, settings, pool)
    }).pipe(Effect.catchTag("SqlError", toDatabaseError))
    return Context.make(sqlPg.PgClient, client).pipe(
      Context.add(SqlClient.SqlClient, client),
      Context.add(PostgresClient, {
        pool: Effect.sync(pool.figures),
        // Uses its own connection, whatever transaction the caller is in.
        health: Effect.scoped(Effect.flatMap(pool.reserve, (lease) => pool.query(lease, { text: "select 1" }))).pipe(
          Effect.mapError(toDatabaseError),
          Effect.asVoid
        )
      })
    )
  })

/**
 * Connects; fails if that is not possible. The scope closes every connection. After an outage or a cut connection the
 * pool opens new ones.
 *
 * @since 0.1.0
 * @category layers
 * @example
 * ```ts
 * import { PostgresClient, SqlSessionStore } from "effect-lexigram/persistence"
 * import * as Effect from "effect/Effect"
 * import * as Layer from "effect/Layer"
 * import * as Redacted from "effect/Redacted"
 *
 * const database = PostgresClient.layer({
 *   url: Redacted.make("postgres://agents@localhost/agents"),
 *   maxConnections: 20,
 *   queryTimeout: "10 seconds"
 * })
 *
 * const sessions = SqlSessionStore.layerMigrated.pipe(Layer.provide(database))
 *
 * const waiting = Effect.flatMap(PostgresClient.PostgresClient, ({ pool }) => pool).pipe(Effect.provide(database))
 * ```
 */
export const layer = (options: Options): Layer.Layer<Services, Failure> =>
  Layer.provide(Layer.scopedContext(services(options)), Reactivity.layer)

/**
 * @since 0.1.0
 * @category layers
 */
export const layerConfig = (options: Config.Config.Wrap<Options>): Layer.Layer<Services, Failure | ConfigError> =>
  Layer.unwrapEffect(Effect.map(Config.unwrap(options), layer))

/**
 * Runs an effect, usually a transaction, whose statements have another time limit than `queryTimeout`;
 * `Duration.infinity` is no limit. Within a transaction it applies from here to the end of the transaction.
 *
 * @since 0.1.0
 * @category combinators
 */
export const withStatementTimeout = <A, E, R>(
  effect: Effect.Effect<A, E, R>,
  timeout: Duration.DurationInput
): Effect.Effect<A, E | SqlError, R | SqlClient.SqlClient> =>
  Effect.flatMap(SqlClient.SqlClient, (client) =>
    client.withTransaction(
      Effect.gen(function* () {
        const time = Duration.toMillis(timeout)
        const millis = time === Infinity ? 0 : Math.max(1, Math.round(time))
        yield* client.unsafe("select set_config('statement_timeout', $1, true)", [String(millis)])
        const [connection] = yield* SqlClient.TransactionConnection
        const lease = PostgresConnection.leaseOf(connection)
        if (lease !== undefined) lease.queryTimeoutMillis = millis === 0 ? 0 : millis + PostgresSettings.grace
        return yield* effect
      })
    )
  ) as Effect.Effect<A, E | SqlError, R | SqlClient.SqlClient>
