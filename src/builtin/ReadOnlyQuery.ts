/**
 * One reading statement on a connection of its own, on which the database itself refuses to write while it runs.
 *
 * @internal
 * @since 0.1.0
 */
import type * as SqlClient from "@effect/sql/SqlClient"
import type { Connection } from "@effect/sql/SqlConnection"
import type { SqlError } from "@effect/sql/SqlError"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Deadline from "../internal/Deadline.js"
import * as VisibleText from "../internal/VisibleText.js"
import * as ReadOnlySql from "./ReadOnlySql.js"

/**
 * The client of `@effect/sql` by its key: the package is only loaded by those who provide one.
 *
 * @since 0.1.0
 * @category tags
 */
export const Client: Context.Tag<SqlClient.SqlClient, SqlClient.SqlClient> =
  Context.GenericTag<SqlClient.SqlClient>("@effect/sql/SqlClient")

/**
 * @since 0.1.0
 * @category models
 */
export interface Failure {
  readonly reason: "Dialect" | "NotReadOnly" | "Query" | "Connection" | "Timeout"
  readonly message: string
}

/**
 * @since 0.1.0
 * @category models
 */
export interface Options {
  readonly maxRows: number
  readonly maxCellChars: number
  /** Of all cells together. */
  readonly maxChars: number
  readonly timeoutMs: number
}

/**
 * A cell is what JSON has: text for dates, large numbers and bytes (Base64).
 *
 * @since 0.1.0
 * @category models
 */
export interface Rows {
  readonly columns: ReadonlyArray<string>
  readonly rows: ReadonlyArray<{ readonly [column: string]: unknown }>
  /** Rows, or parts of cells, were left out. */
  readonly truncated: boolean
}

type Row = { readonly [column: string]: unknown }

const failure = (reason: Failure["reason"], message: string): Failure => ({ reason, message })

/** Where a database tells in its answer what is wrong with a statement, it says it in one line. */
const queryFailure = (error: SqlError): Failure => {
  const { cause } = error
  const text = cause instanceof Error ? cause.message : (error.message ?? "")
  return failure("Query", `The database refused the statement: ${VisibleText.visible(text.slice(0, 500))}`)
}

const broken = failure("Connection", "There is no connection to the database")

const dialectOf = (client: SqlClient.SqlClient): ReadOnlySql.Dialect | undefined =>
  client.onDialectOrElse({ sqlite: () => "sqlite" as const, pg: () => "pg" as const, orElse: () => undefined })

interface Guarded {
  readonly begin: Effect.Effect<void, SqlError>
  readonly end: Effect.Effect<void>
}

const guarded = (connection: Connection, dialect: ReadOnlySql.Dialect, timeoutMs: number): Guarded => {
  const run = (sql: string) => connection.executeUnprepared(sql, [], undefined)
  if (dialect === "pg") {
    return {
      begin: run("BEGIN TRANSACTION READ ONLY").pipe(
        Effect.zipRight(run(`SET LOCAL statement_timeout = ${Math.max(1, Math.ceil(timeoutMs))}`)),
        // Strings are read as the check has read them.
        Effect.zipRight(run("SET LOCAL standard_conforming_strings = on")),
        Effect.asVoid
      ),
      // Fails on a connection that is broken, and then nobody uses it again.
      end: Effect.ignore(run("ROLLBACK"))
    }
  }
  return {
    begin: Effect.asVoid(run("PRAGMA query_only = ON")),
    // The program's own statements use the same connection: it must not stay as it is.
    end: Effect.asVoid(Effect.orDie(run("PRAGMA query_only = OFF")))
  }
}

/** One row more than is given, to know whether there are more. */
const limited = ({ kind, sql }: ReadOnlySql.Statement, maxRows: number): string =>
  kind === "explain" ? sql : `SELECT * FROM (\n${sql}\n) AS read_only_rows LIMIT ${maxRows + 1}`

const bound = (params: ReadonlyArray<unknown>, dialect: ReadOnlySql.Dialect): ReadonlyArray<unknown> =>
  dialect === "sqlite" ? params.map((value) => (typeof value === "boolean" ? Number(value) : value)) : params

const jsonOf = (value: unknown): unknown => {
  if (typeof value === "bigint") return Number.isSafeInteger(Number(value)) ? Number(value) : String(value)
  if (typeof value === "number") return Number.isFinite(value) ? value : String(value)
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? null : value.toISOString()
  if (value instanceof Uint8Array)
    return Buffer.from(value.buffer, value.byteOffset, value.byteLength).toString("base64")
  return value ?? null
}

interface Cell {
  readonly value: unknown
  readonly chars: number
  readonly isCut: boolean
}

/** What is cut says how long it was; an object that is too large becomes the beginning of its text. */
const cellOf = (raw: unknown, maxChars: number): Cell => {
  const value = jsonOf(raw)
  if (typeof value !== "string" && typeof value !== "object") return { value, chars: 8, isCut: false }
  const text = typeof value === "string" ? value : JSON.stringify(value, (_, part) => jsonOf(part))
  if (text.length > maxChars) {
    return { value: `${text.slice(0, maxChars)}… (${text.length} characters)`, chars: maxChars, isCut: true }
  }
  return { value: typeof value === "string" ? value : JSON.parse(text), chars: text.length, isCut: false }
}

const rowsOf = (found: ReadonlyArray<Row>, options: Options): Rows => {
  const rows: Array<Row> = []
  let chars = 0
  let truncated = false
  for (const row of found) {
    const cells = Object.entries(row).map(([column, raw]) => [column, cellOf(raw, options.maxCellChars)] as const)
    for (const [column, cell] of cells) {
      chars += column.length + cell.chars
      truncated ||= cell.isCut
    }
    if (rows.length === options.maxRows || (chars > options.maxChars && rows.length > 0)) {
      truncated = true
      break
    }
    rows.push(Object.fromEntries(cells.map(([column, { value }]) => [column, value])))
  }
  return { columns: Object.keys(found[0] ?? {}), rows, truncated }
}

/**
 * Runs a statement whose parameters are bound in order: `$1` on Postgres, `?` on SQLite. A transaction around it is not joined. On Postgres
 * the database ends it when its time is up; a driver of SQLite that works in this thread cannot be stopped before its statement is done.
 *
 * @since 0.1.0
 * @category combinators
 */
export const run = (
  sql: string | ((dialect: ReadOnlySql.Dialect) => string),
  params: ReadonlyArray<unknown>,
  options: Options
): Effect.Effect<Rows, Failure, SqlClient.SqlClient> =>
  Effect.gen(function* () {
    const client = yield* Client
    const dialect = dialectOf(client)
    if (dialect === undefined) {
      return yield* Effect.fail(failure("Dialect", "Only SQLite and Postgres can be kept from writing here"))
    }
    const statement = yield* Either.mapLeft(
      ReadOnlySql.make(typeof sql === "string" ? sql : sql(dialect), dialect),
      (why) => failure("NotReadOnly", `The statement is not run: ${why}`)
    )
    const query = Effect.scoped(
      Effect.gen(function* () {
        const connection = yield* Effect.mapError(client.reserve, () => broken)
        const { begin, end } = guarded(connection, dialect, options.timeoutMs)
        const text = limited(statement, options.maxRows)
        return yield* Effect.acquireUseRelease(
          // What was begun in part must be ended, too.
          Effect.onError(
            Effect.mapError(begin, () => broken),
            () => end
          ),
          () => Effect.mapError(connection.execute(text, bound(params, dialect), undefined), queryFailure),
          () => end
        )
      })
    )
    const found = yield* Deadline.run(() => query, {
      whole: options.timeoutMs,
      onTimeout: (_, limit) => failure("Timeout", `The statement took longer than ${limit / 1000} seconds`)
    })
    return rowsOf(found, options)
  })
