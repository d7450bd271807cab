/**
 * The client of `@effect/sql-pg` on our pool: it tells its own transactions from those of other clients, reports failed
 * commits, and is interruptible while it waits.
 *
 * @private
 * @since 0.1.0
 */
import type * as Reactivity from "@effect/experimental/Reactivity"
import * as SqlClient from "@effect/sql/SqlClient"
import type { Connection } from "@effect/sql/SqlConnection"
import { SqlError } from "@effect/sql/SqlError"
import * as Statement from "@effect/sql/Statement"
import type * as PgModule from "@effect/sql-pg/PgClient"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import type * as Pg from "pg"
import * as Leases from "../engine/Leases.js"
import type * as PostgresPool from "./PostgresPool.js"
import type { Library, Settings } from "./PostgresSettings.js"
import { end as endClient } from "./PostgresWire.js"

const leases = new WeakMap<object, PostgresPool.Lease>()

/**
 * The lease of a reserved connection, if it is one of ours.
 *
 * @category accessors
 */
export const leaseOf = (connection: Connection): PostgresPool.Lease | undefined => leases.get(connection)

type Transform = (<A extends object>(row: ReadonlyArray<A>) => ReadonlyArray<A>) | undefined

const rowsOf = (result: Pg.QueryResult | ReadonlyArray<Pg.QueryResult>): ReadonlyArray<any> =>
  Array.isArray(result) ? result.map(({ rows }) => rows ?? []) : ((result as Pg.QueryResult).rows ?? [])

const undone = () =>
  new SqlError({ message: "The transaction was undone: a statement of it had failed", cause: undefined })

/**
 * Opens a connection per stream of notifications. The stream fails if the connection is lost, and closes it at its end.
 */
const listening =
  (pg: Library, settings: Settings) =>
  (channel: string): Stream.Stream<string, SqlError> =>
    Stream.asyncPush<string, SqlError>((emit) =>
      Effect.acquireRelease(
        Effect.tryPromise({
          try: async () => {
            const client = new pg.Client({ ...settings.pool, query_timeout: settings.queryTimeoutMillis })
            const lost = (cause?: unknown) => emit.fail(new SqlError({ message: "Failed to listen", cause }))
            client.on("error", lost)
            client.on("end", lost)
            client.on("notification", (message) => {
              if (message.channel === channel) emit.single(message.payload ?? "")
            })
            try {
              await client.connect()
              await client.query(`listen ${pg.escapeIdentifier(channel)}`)
            } catch (error) {
              await endClient(client)
              throw error
            }
            return client
          },
          catch: (cause) => new SqlError({ message: "Failed to listen", cause })
        }),
        (client) => Effect.promise(() => endClient(client))
      )
    )

/**
 * @category constructors
 */
export const make = (
  modules: { readonly pg: Library; readonly sqlPg: typeof PgModule },
  settings: Settings,
  pool: PostgresPool.PostgresPool
): Effect.Effect<PgModule.PgClient, SqlError, Scope.Scope | Reactivity.Reactivity> =>
  Effect.gen(function* () {
    const base = yield* modules.sqlPg.fromPool({ acquire: Effect.succeed(pool.pg) })
    // Streams use the cursors of the package, whose connections wrap a client of `pg`.
    const Cursors = yield* Effect.scoped(
      Effect.map(base.reserve, ({ constructor }) => constructor as new (client: Pg.PoolClient) => Connection)
    )

    const pooled = (config: Pg.QueryConfig): Effect.Effect<Pg.QueryResult, SqlError> =>
      Effect.uninterruptibleMask((restore) =>
        Effect.flatMap(pool.acquire(restore), (lease) =>
          Effect.onExit(restore(pool.query(lease, config)), () => Effect.sync(lease.release))
        )
      )

    // A class per client, by which a client recognizes its connections.
    class PostgresConnection implements Connection {
      readonly #lease: PostgresPool.Lease | undefined
      constructor(lease: PostgresPool.Lease | undefined) {
        this.#lease = lease
        if (lease !== undefined) leases.set(this, lease)
      }
      release() {
        this.#lease?.release()
      }
      #run(config: Pg.QueryConfig) {
        return this.#lease === undefined ? pooled(config) : pool.query(this.#lease, config)
      }
      execute(text: string, values: ReadonlyArray<unknown>, transform: Transform) {
        return Effect.map(this.#run({ text, values: values as Array<unknown> }), (result) =>
          transform === undefined ? rowsOf(result) : transform(rowsOf(result))
        )
      }
      executeUnprepared(text: string, values: ReadonlyArray<unknown>, transform: Transform) {
        return this.execute(text, values, transform)
      }
      executeRaw(text: string, values: ReadonlyArray<unknown>) {
        return this.#run({ text, values: values as Array<unknown> })
      }
      executeValues(text: string, values: ReadonlyArray<unknown>) {
        const config: Pg.QueryArrayConfig = { text, values: values as Array<unknown>, rowMode: "array" }
        return Effect.map(this.#run(config), rowsOf)
      }
      executeStream(text: string, values: ReadonlyArray<unknown>, transform: Transform) {
        return this.#lease === undefined
          ? Stream.unwrapScoped(Effect.map(reserve, (connection) => connection.executeStream(text, values, transform)))
          : new Cursors(pool.forCursors(this.#lease)).executeStream(text, values, transform)
      }
    }

    const reserve: Effect.Effect<Connection, SqlError, Scope.Scope> = Effect.map(
      pool.reserve,
      (lease) => new PostgresConnection(lease)
    )
    const direct = new PostgresConnection(undefined)

    const isOwn = (context: Context.Context<never>): boolean => {
      const found = Context.getOption(context, SqlClient.TransactionConnection)
      return found._tag === "Some" && found.value[0] instanceof PostgresConnection
    }
    const current = Effect.map(Effect.context<never>(), (context): Connection => {
      const found = Context.getOption(context, SqlClient.TransactionConnection)
      return found._tag === "Some" && found.value[0] instanceof PostgresConnection ? found.value[0] : direct
    })

    const execute = (connection: Connection, text: string) => connection.executeRaw(text, [])
    // If this fails, the connection is lost, and the transaction with it.
    const rollback = (connection: Connection) => Effect.ignore(execute(connection, "ROLLBACK"))
    const withTransaction = <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E | SqlError, R> =>
      Effect.uninterruptibleMask((restore) =>
        Effect.suspend(() => {
          let failure: SqlError | undefined
          const transaction = SqlClient.makeWithTransaction({
            transactionTag: SqlClient.TransactionConnection,
            spanAttributes,
            acquireConnection: Effect.flatMap(Scope.make(), (scope) =>
              Effect.map(Scope.extend(restore(reserve), scope), (connection) => [scope, connection] as const)
            ),
            begin: (connection) => execute(connection, "BEGIN"),
            savepoint: (connection, id) => execute(connection, `SAVEPOINT lex_sql_${id}`),
            commit: (connection) =>
              execute(connection, "COMMIT").pipe(
                // Postgres rolls back a COMMIT after a failed statement without an error.
                Effect.filterOrFail((raw) => (raw as Pg.QueryResult).command !== "ROLLBACK", undone),
                Effect.catchAll((error) => {
                  failure = error
                  return rollback(connection)
                })
              ),
            rollback,
            rollbackSavepoint: (connection, id) =>
              Effect.ignore(execute(connection, `ROLLBACK TO SAVEPOINT lex_sql_${id}`))
          })
          return Effect.flatMap(transaction(restore(effect)), (value) =>
            failure === undefined ? Effect.succeed(value) : Effect.fail(failure)
          )
        })
      ).pipe((whole) =>
        Effect.contextWithEffect((context: Context.Context<R>) =>
          isOwn(context as Context.Context<never>)
            ? whole
            : Effect.mapInputContext(
                whole,
                (context: Context.Context<R>) =>
                  Context.omit(SqlClient.TransactionConnection)(context as never) as Context.Context<R>
              )
        )
      )

    const compiler = modules.sqlPg.makeCompiler()
    const { database, host, port, user } = settings.pool
    const spanAttributes: ReadonlyArray<readonly [string, unknown]> = [
      ["db.system.name", "postgresql"],
      ["db.namespace", database ?? user ?? ""],
      ["server.address", host ?? ""],
      ["server.port", port]
    ]
    const common = yield* SqlClient.make({
      acquirer: Effect.succeed(direct),
      transactionAcquirer: reserve,
      compiler,
      spanAttributes
    })
    const statements = Statement.make(current, compiler, spanAttributes, undefined)
    const client = Object.assign(
      statements,
      { ...common, ...statements },
      {
        withTransaction,
        // Lets `Database` run single statements without reserving a connection.
        connection: direct,
        [modules.sqlPg.TypeId]: modules.sqlPg.TypeId,
        config: base.config,
        // `pg` would convert a list to a Postgres array and treat a text as JSON.
        json: (value: unknown) => base.json(JSON.stringify(value)),
        listen: listening(modules.pg, settings),
        notify: (channel: string, payload: string) =>
          Effect.asVoid(direct.executeRaw("select pg_notify($1, $2)", [channel, payload]))
      }
    ) as unknown as PgModule.PgClient
    Leases.provide(client, {
      lease: (restore) => Effect.map(pool.acquire(restore), (lease) => new PostgresConnection(lease))
    })
    return Object.assign(client, { safe: client })
  })
