/**
 * The database of a `SqlClient` as the stores use it: statements by their text, and transactions that join a
 * transaction of the caller on the same client.
 *
 * The transaction that `@effect/sql` keeps in the context does not name its client, so a statement for one database
 * could run in the transaction of another. Here a transaction in the context counts only if its connection belongs to
 * this client. Writes within a transaction of the caller are committed or rolled back with it.
 *
 * @private
 * @since 0.1.0
 */
import * as SqlClient from "@effect/sql/SqlClient"
import type { Connection } from "@effect/sql/SqlConnection"
import { SqlError } from "@effect/sql/SqlError"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as Fiber from "effect/Fiber"
import * as Scope from "effect/Scope"
import type { Param } from "./Dialect.js"
import * as Dialect from "./Dialect.js"
import * as Leases from "./Leases.js"
import { type DatabaseError, PersistenceConfigurationError } from "./PersistenceError.js"
import * as SqlFailure from "./SqlFailure.js"
import { Synchronous } from "./Synchronous.js"

/**
 * @category models
 */
export interface Row {
  readonly [column: string]: any
}

/**
 * @category models
 */
export interface Insert {
  readonly head: string
  /** Parameters per row. */
  readonly columns: number
  readonly tail: string
}

/**
 * Runs statements, each by itself or all in one transaction. Their texts come from `Dialect.sql` and are built once.
 *
 * @category models
 */
export interface Access {
  readonly rows: <R extends Row = Row>(
    sql: string,
    params?: ReadonlyArray<Param>
  ) => Effect.Effect<ReadonlyArray<R>, SqlError>
  readonly first: <R extends Row = Row>(
    sql: string,
    params?: ReadonlyArray<Param>
  ) => Effect.Effect<R | undefined, SqlError>
  /** Succeeds with the number of changed rows. */
  readonly run: (sql: string, params?: ReadonlyArray<Param>) => Effect.Effect<number, SqlError>
  /**
   * Inserts many rows with as few statements as are fast. Atomic only in a transaction. Succeeds with the number of
   * added rows.
   */
  readonly insert: (insert: Insert, rows: ReadonlyArray<ReadonlyArray<Param>>) => Effect.Effect<number, SqlError>
}

/**
 * @category models
 */
export interface TransactionOptions {
  /**
   * Whether a committed write survives a power loss, where the database leaves that open (SQLite with `synchronous`
   * normal). Ignored in a transaction of the caller.
   */
  readonly durable?: boolean | undefined
}

/**
 * @category models
 */
export interface Database extends Access {
  readonly client: SqlClient.SqlClient
  readonly dialect: Dialect.Dialect
  /**
   * Runs the body atomically. In a transaction of the caller it becomes a savepoint. Otherwise it is a transaction of
   * its own, and the body runs again after a conflict with another one. Succeeds only after the commit.
   */
  readonly transaction: <A, E, R>(
    body: (tx: Access) => Effect.Effect<A, E, R>,
    options?: TransactionOptions
  ) => Effect.Effect<A, E | SqlError, R>
}

/**
 * `INSERT INTO table (columns) VALUES … tail`.
 *
 * @category constructors
 */
export const insertInto = (table: string, columns: ReadonlyArray<string>, tail = ""): Insert => ({
  head: `INSERT INTO ${table} (${columns.join(", ")}) VALUES `,
  columns: columns.length,
  tail: tail === "" ? "" : ` ${tail}`
})

/** The number of changed rows: `pg` reports `rowCount`, the SQLite drivers report `changes`. */
const changesOf = (raw: unknown): number => {
  if (typeof raw !== "object" || raw === null) return 0
  const { changes, rowCount } = raw as { readonly changes?: unknown; readonly rowCount?: unknown }
  return Number(rowCount ?? changes ?? 0)
}

const tuple = (columns: number): string => `(${new Array(columns).fill("?").join(", ")})`

const none: ReadonlyArray<Param> = []

/** The statement that inserts a number of rows. */
type InsertText = (insert: Insert, rows: number) => string

const insertTexts = (dialect: Dialect.Dialect): InsertText => {
  const texts = new WeakMap<Insert, Map<number, string>>()
  return (insert, rows) => {
    let bySize = texts.get(insert)
    if (bySize === undefined) {
      bySize = new Map()
      texts.set(insert, bySize)
    }
    let text = bySize.get(rows)
    if (text === undefined) {
      text = dialect.sql(insert.head + new Array(rows).fill(tuple(insert.columns)).join(", ") + insert.tail)
      bySize.set(rows, text)
    }
    return text
  }
}

/** An optional member of the SQLite connections: reads one row without building a list. */
interface WithFirst extends Connection {
  readonly first?:
    | ((sql: string, params: ReadonlyArray<unknown>) => Effect.Effect<Row | undefined, SqlError>)
    | undefined
}

const firstOf = (
  connection: WithFirst,
  sql: string,
  params: ReadonlyArray<Param>
): Effect.Effect<Row | undefined, SqlError> =>
  connection.first === undefined
    ? Effect.map(connection.execute(sql, params, undefined), (found) => found[0])
    : connection.first(sql, params)

const accessTo = (
  use: <A>(f: (connection: Connection) => Effect.Effect<A, SqlError>) => Effect.Effect<A, SqlError>,
  dialect: Dialect.Dialect,
  textOf: InsertText
): Access => {
  const run = (sql: string, params: ReadonlyArray<Param> = none) =>
    Effect.map(
      use((connection) => connection.executeRaw(sql, params)),
      changesOf
    )
  return {
    rows: <R extends Row = Row>(sql: string, params: ReadonlyArray<Param> = none) =>
      use((connection) => connection.execute(sql, params, undefined)) as Effect.Effect<ReadonlyArray<R>, SqlError>,
    run,
    first: <R extends Row = Row>(sql: string, params: ReadonlyArray<Param> = none) =>
      use((connection) => firstOf(connection, sql, params)) as Effect.Effect<R | undefined, SqlError>,
    insert: (insert, all) => {
      const size = Math.max(1, Math.min(Dialect.maxRows, Math.floor(dialect.maxParams / insert.columns)))
      const part = (chunk: ReadonlyArray<ReadonlyArray<Param>>) => run(textOf(insert, chunk.length), chunk.flat())
      if (all.length > 0 && all.length <= size) return part(all)
      const chunks: Array<ReadonlyArray<ReadonlyArray<Param>>> = []
      for (let at = 0; at < all.length; at += size) chunks.push(all.slice(at, at + size))
      return Effect.reduce(chunks, 0, (added, chunk) => Effect.map(part(chunk), (more) => added + more))
    }
  }
}

/** Attempts of a transaction that conflicts with others. */
const MAX_ATTEMPTS = 8

const undone = () =>
  new SqlError({ cause: undefined, message: "The transaction was undone: a statement of it had failed" })

const isConflict = (error: unknown): boolean => error instanceof SqlError && SqlFailure.describe(error).isConflict

/**
 * What only the connections of one client share: ours share their pool, the clients of `@effect/sql` have a class each.
 */
const originOf = (connection: Connection): object =>
  (connection as { readonly pool?: object }).pool ?? (Object.getPrototypeOf(connection) as object)

type Restore = <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>

/** Statements that begin and end a transaction. */
interface Bounds {
  readonly begin: string
  readonly commit: string
  readonly rollback: string
}

const make = Effect.fnUntraced(function* (client: SqlClient.SqlClient) {
  const dialect = client.onDialectOrElse({
    sqlite: (): Dialect.Dialect | undefined => Dialect.sqlite,
    pg: (): Dialect.Dialect | undefined => Dialect.postgres,
    orElse: (): Dialect.Dialect | undefined => undefined
  })
  if (dialect === undefined) {
    return yield* new PersistenceConfigurationError({
      message: "This database is neither SQLite nor Postgres",
      hint: "Give the store `SqliteClient.layer` or `PostgresClient.layer`"
    })
  }
  const origin = yield* Effect.scoped(Effect.map(client.reserve, originOf)).pipe(
    Effect.mapError(SqlFailure.toDatabaseError(dialect.name))
  )

  const textOf = insertTexts(dialect)

  /** The caller's connection and the depth of its transaction, if they belong to this client. */
  const callerOf = (fiber: Fiber.RuntimeFiber<any, any>): readonly [Connection, number] | undefined => {
    const found = fiber.currentContext.unsafeMap.get(SqlClient.TransactionConnection.key) as
      | readonly [Connection, number]
      | undefined
    return found !== undefined && originOf(found[0]) === origin ? found : undefined
  }

  const direct = (client as { readonly connection?: Connection }).connection
  const single = <A>(f: (connection: Connection) => Effect.Effect<A, SqlError>): Effect.Effect<A, SqlError> =>
    Effect.withFiberRuntime((fiber) => {
      const caller = callerOf(fiber)
      if (caller !== undefined) return f(caller[0])
      return direct !== undefined ? f(direct) : Effect.scoped(Effect.flatMap(client.reserve, f))
    })

  /** Commits or rolls back, depending on the exit of the body. */
  const settle = <A, E>(
    connection: Connection,
    bounds: Bounds,
    exit: Exit.Exit<A, E>
  ): Effect.Effect<A, E | SqlError> => {
    const undo = <E>(cause: Cause.Cause<E>): Effect.Effect<never, E> =>
      Effect.flatMap(Effect.exit(connection.executeUnprepared(bounds.rollback, [], undefined)), () =>
        Exit.failCause(cause)
      )
    if (Exit.isFailure(exit)) return undo(exit.cause)
    return Effect.flatMap(
      Effect.exit(connection.executeRaw(bounds.commit, [])),
      (committed): Effect.Effect<A, SqlError> => {
        if (Exit.isFailure(committed)) return undo(committed.cause)
        // Postgres rolls back a COMMIT after a failed statement without an error; only the command name tells.
        return (committed.value as { readonly command?: unknown } | undefined)?.command === "ROLLBACK"
          ? undo(Cause.fail(undone()))
          : Exit.succeed(exit.value)
      }
    )
  }

  /** Must be called uninterruptibly. */
  const bracket = <A, E, R>(
    connection: Connection,
    bounds: Bounds,
    body: (tx: Access) => Effect.Effect<A, E, R>,
    restore: Restore
  ): Effect.Effect<A, E | SqlError, R> => {
    const tx = accessTo((f) => f(connection), dialect, textOf)
    const opening = connection.executeUnprepared(bounds.begin, [], undefined)
    const begin = Effect.exit(direct === undefined ? opening : restore(opening))
    return Effect.flatMap(begin, (begun): Effect.Effect<A, E | SqlError, R> => {
      if (Exit.isFailure(begun)) return Exit.failCause(begun.cause)
      const work = restore(Effect.suspend(() => body(tx)))
      return Effect.flatMap(Effect.exit(work), (exit) => settle(connection, bounds, exit))
    })
  }

  const whole: Bounds = { begin: dialect.begin, commit: "COMMIT", rollback: "ROLLBACK" }
  const part = (depth: number): Bounds => {
    const name = `lex_${depth}`
    return {
      begin: `SAVEPOINT ${name}`,
      commit: `RELEASE SAVEPOINT ${name}`,
      rollback: `ROLLBACK TO SAVEPOINT ${name}`
    }
  }

  const lender = Leases.lenderOf(client)
  const own = <A, E, R>(body: (tx: Access) => Effect.Effect<A, E, R>): Effect.Effect<A, E | SqlError, R> =>
    Effect.uninterruptibleMask((restore) => {
      if (lender !== undefined) {
        return Effect.flatMap(lender.lease(restore), (lease) =>
          Effect.ensuring(
            bracket(lease, whole, body, restore),
            Effect.sync(() => lease.release())
          )
        )
      }
      return Effect.flatMap(Scope.make(), (scope) =>
        // The clients of `@effect/sql` lose a connection if the wait for it is interrupted; ours do not.
        (direct === undefined
          ? Scope.extend(client.reserve, scope)
          : restore(Scope.extend(client.reserve, scope))
        ).pipe(
          Effect.flatMap((connection) => bracket(connection, whole, body, restore)),
          Effect.onExit((exit) => Scope.close(scope, exit))
        )
      )
    })

  const attempted = <A, E, R>(
    body: (tx: Access) => Effect.Effect<A, E, R>,
    attempt: number
  ): Effect.Effect<A, E | SqlError, R> =>
    attempt >= MAX_ATTEMPTS
      ? own(body)
      : Effect.catchAllCause(own(body), (cause) => {
          const failure = Cause.failureOption(cause)
          return failure._tag === "Some" && isConflict(failure.value)
            ? attempted(body, attempt + 1)
            : Effect.failCause(cause)
        })

  const access = accessTo(single, dialect, textOf)
  const database: Database = {
    ...access,
    client,
    dialect,
    transaction: (body, options) =>
      Effect.withFiberRuntime((fiber) => {
        const caller = callerOf(fiber)
        if (caller !== undefined) {
          return Effect.uninterruptibleMask((restore) => bracket(caller[0], part(caller[1] + 1), body, restore))
        }
        return options?.durable === true
          ? Effect.provideService(attempted(body, 1), Synchronous, "full")
          : attempted(body, 1)
      })
  }
  return database
})

const opened = new WeakMap<SqlClient.SqlClient, Database>()

/**
 * The database of the client in context. Fails if it cannot be reached.
 *
 * @category constructors
 */
export const open: Effect.Effect<Database, DatabaseError | PersistenceConfigurationError, SqlClient.SqlClient> =
  Effect.flatMap(SqlClient.SqlClient, (client) => {
    const known = opened.get(client)
    return known !== undefined
      ? Effect.succeed(known)
      : Effect.tap(make(client), (database) => Effect.sync(() => opened.set(client, database)))
  })
