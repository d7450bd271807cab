/**
 * Checks, limits and times one read-only statement, whatever runs it.
 *
 * @private
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Deadline from "../../internal/fiber/Deadline.js"
import * as VisibleText from "../../internal/text/VisibleText.js"
import type * as ReadOnlyRows from "./ReadOnlyRows.js"
import * as ReadOnlySql from "./ReadOnlySql.js"
import type { Allowed } from "./SqlCalls.js"

/**
 * @since 0.1.0
 * @category models
 */
export interface Failure {
  readonly reason:
    | "Configuration"
    | "Dialect"
    | "NotReadOnly"
    | "NotAllowed"
    | "Query"
    | "Connection"
    | "Timeout"
    | "TooLarge"
    | "Ended"
  readonly message: string
  readonly hint?: string | undefined
}

/**
 * @since 0.1.0
 * @category models
 */
export interface Request {
  readonly statement: ReadOnlySql.Statement
  /** The statement to run; the database applies the row limit. */
  readonly sql: string
  readonly params: ReadonlyArray<unknown>
  readonly limits: ReadOnlyRows.Limits
  readonly allowed: Allowed
}

/**
 * Runs statements. Interruption leaves nothing running.
 *
 * @since 0.1.0
 * @category models
 */
export interface Reader<R> {
  readonly dialect: Effect.Effect<ReadOnlySql.Dialect, Failure, R>
  readonly read: (request: Request) => Effect.Effect<ReadOnlyRows.Rows, Failure, R>
}

/**
 * @since 0.1.0
 * @category constructors
 */
export const failure = (reason: Failure["reason"], message: string, hint?: string): Failure => ({
  reason,
  message,
  ...(hint === undefined ? {} : { hint })
})

/**
 * A database's message about a statement, in one line.
 *
 * @since 0.1.0
 * @category constructors
 */
export const refusedByDatabase = (text: string): Failure =>
  failure("Query", `The database refused the statement: ${VisibleText.visible(text.slice(0, 500))}`)

/**
 * @since 0.1.0
 * @category constructors
 */
export const disallowed = (name: string): Failure =>
  failure(
    "NotAllowed",
    `The statement is not run: ${JSON.stringify(VisibleText.visible(name))} is not among the functions that may be called`
  )

/** Requests one row more than the limit, to know whether there are more. */
const limited = ({ kind, sql }: ReadOnlySql.Statement, maxRows: number): string =>
  kind === "explain" ? sql : `SELECT * FROM (\n${sql}\n) AS read_only_rows LIMIT ${maxRows + 1}`

/**
 * Runs a statement with parameters bound in order: `$1` on Postgres, `?` on SQLite.
 *
 * @since 0.1.0
 * @category combinators
 */
export const run = <R>(
  reader: Reader<R>,
  sql: string | ((dialect: ReadOnlySql.Dialect) => string),
  params: ReadonlyArray<unknown>,
  options: ReadOnlyRows.Limits & { readonly allowed: Allowed }
): Effect.Effect<ReadOnlyRows.Rows, Failure, R> =>
  Effect.gen(function* () {
    const { allowed, ...limits } = options
    const dialect = yield* reader.dialect
    const statement = yield* Either.mapLeft(
      ReadOnlySql.make(typeof sql === "string" ? sql : sql(dialect), dialect, allowed),
      ({ message, reason }) => failure(reason, `The statement is not run: ${message}`)
    )
    const bound =
      dialect === "sqlite" ? params.map((value) => (typeof value === "boolean" ? Number(value) : value)) : params
    const request = { statement, sql: limited(statement, limits.maxRows), params: bound, limits, allowed }
    return yield* Deadline.run(() => reader.read(request), {
      whole: limits.timeoutMs,
      onTimeout: (_, limit) => failure("Timeout", `The statement took longer than ${limit / 1000} seconds`)
    })
  })
