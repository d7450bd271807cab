/**
 * Runs statements on a connection of the application's own `SqlClient`. A SQLite driver blocks this process while a
 * statement runs, and the statement cannot be stopped.
 *
 * @private
 * @since 0.1.0
 */
import type * as SqlClient from "@effect/sql/SqlClient"
import type { Connection } from "@effect/sql/SqlConnection"
import type { SqlError } from "@effect/sql/SqlError"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as ReadOnlyQuery from "./ReadOnlyQuery.js"
import * as ReadOnlyRows from "./ReadOnlyRows.js"
import type { Dialect } from "./ReadOnlySql.js"
import * as SqlCalls from "./SqlCalls.js"

/**
 * The client of `@effect/sql` by its key: only providers of a client load the package.
 *
 * @since 0.1.0
 * @category tags
 */
export const Client: Context.Tag<SqlClient.SqlClient, SqlClient.SqlClient> =
  Context.GenericTag<SqlClient.SqlClient>("@effect/sql/SqlClient")

const queryFailure = (error: SqlError): ReadOnlyQuery.Failure => {
  const { cause } = error
  return ReadOnlyQuery.refusedByDatabase(cause instanceof Error ? cause.message : (error.message ?? ""))
}

const broken = ReadOnlyQuery.failure("Connection", "There is no connection to the database")

const dialectOf = (client: SqlClient.SqlClient): Dialect | undefined =>
  client.onDialectOrElse({ sqlite: () => "sqlite" as const, pg: () => "pg" as const, orElse: () => undefined })

interface Guarded {
  readonly begin: Effect.Effect<void, SqlError>
  readonly end: Effect.Effect<void>
}

const guarded = (connection: Connection, dialect: Dialect, timeoutMs: number): Guarded => {
  const run = (sql: string) => connection.executeUnprepared(sql, [], undefined)
  if (dialect === "pg") {
    return {
      begin: run("BEGIN TRANSACTION READ ONLY").pipe(
        Effect.zipRight(run(`SET LOCAL statement_timeout = ${Math.max(1, Math.ceil(timeoutMs))}`)),
        // Makes the server read strings as the check does.
        Effect.zipRight(run("SET LOCAL standard_conforming_strings = on")),
        Effect.asVoid
      ),
      // Fails on a broken connection, which is then not reused.
      end: Effect.ignore(run("ROLLBACK"))
    }
  }
  return {
    begin: Effect.asVoid(run("PRAGMA query_only = ON")),
    // The program's own statements use the same connection, so the setting must be restored.
    end: Effect.asVoid(Effect.orDie(run("PRAGMA query_only = OFF")))
  }
}

/**
 * Names of a statement that Postgres knows as row functions: `t.f` means `f(t)` if no column has the name.
 *
 * @since 0.1.0
 * @category constants
 */
export const rowFunctions = `SELECT DISTINCT p.proname AS name FROM pg_catalog.pg_proc p
  JOIN pg_catalog.pg_type t ON t.oid = p.proargtypes[0]
  WHERE p.proname = ANY($1) AND p.pronargs >= 1 AND p.pronargs - p.pronargdefaults <= 1 AND t.typtype IN ('c', 'd', 'p')`

const virtualTables = "SELECT name FROM pragma_module_list"

/** Functions and virtual tables, as the database resolves them, that are not allowed. */
const checked = (connection: Connection, dialect: Dialect, { allowed, statement }: ReadOnlyQuery.Request) =>
  Effect.gen(function* () {
    const { names } = statement
    if (names.length === 0) return
    const rows =
      dialect === "pg"
        ? yield* connection.executeUnprepared(rowFunctions, [names], undefined)
        : yield* connection.executeUnprepared(virtualTables, [], undefined)
    const known = new Set(rows.map(({ name }) => String(name)))
    const refused = names.find((name) => known.has(name) && !SqlCalls.isAllowed(name, dialect, allowed))
    if (refused !== undefined) return yield* Effect.fail(ReadOnlyQuery.disallowed(refused))
  })

const isFailure = (error: SqlError | ReadOnlyQuery.Failure): error is ReadOnlyQuery.Failure => "reason" in error

const read = (client: SqlClient.SqlClient, dialect: Dialect, request: ReadOnlyQuery.Request) =>
  Effect.scoped(
    Effect.gen(function* () {
      const { limits, params, sql } = request
      const connection = yield* Effect.mapError(client.reserve, () => broken)
      const { begin, end } = guarded(connection, dialect, limits.timeoutMs)
      const found = yield* Effect.acquireUseRelease(
        // A partly started transaction must be ended, too.
        Effect.onError(
          Effect.mapError(begin, () => broken),
          () => end
        ),
        () =>
          Effect.zipRight(checked(connection, dialect, request), connection.execute(sql, params, undefined)).pipe(
            Effect.mapError((error) => (isFailure(error) ? error : queryFailure(error)))
          ),
        () => end
      )
      return ReadOnlyRows.make(found, limits)
    })
  )

const dialect = Effect.flatMap(Client, (client) => {
  const found = dialectOf(client)
  return found === undefined
    ? Effect.fail(ReadOnlyQuery.failure("Dialect", "Read-only access is supported only for SQLite and Postgres"))
    : Effect.succeed(found)
})

/**
 * Needs a connection that `reserve` gives exclusively. Does not join a surrounding transaction.
 *
 * @since 0.1.0
 * @category constructors
 */
export const reader: ReadOnlyQuery.Reader<SqlClient.SqlClient> = {
  dialect,
  read: (request) =>
    Effect.flatMap(Client, (client) => Effect.flatMap(dialect, (dialect) => read(client, dialect, request)))
}
