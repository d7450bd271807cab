/**
 * Failures of database queries.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"
import * as ErrorCode from "../../domain/ErrorCode.js"
import type * as ReadOnlyQuery from "./ReadOnlyQuery.js"

/**
 * A statement was not run, or gave no result.
 *
 * - `Configuration`: the options name no database that can be read this way
 * - `Dialect`: the database is neither SQLite nor Postgres
 * - `NotReadOnly`: not exactly one read-only statement
 * - `NotAllowed`: it uses a function, table-valued function or catalog that is not on the list
 * - `Query`: the database refused it; the message is the database's
 * - `UnknownTable`: no table has this name
 * - `Connection`: there was no connection
 * - `Timeout`: it took too long
 * - `TooLarge`: it needs too much memory, or its answer is too large
 * - `Ended`: the process that ran it, or the connection, has ended
 *
 * @since 0.1.0
 * @category errors
 */
export class DatabaseQueryError extends ErrorCode.TaggedError<DatabaseQueryError>(
  "effect-lexigram/builtin/DatabaseQueryError/DatabaseQueryError"
)("DatabaseQueryError", {
  ...ErrorCode.fields("LEX_ERR_SKILL_111"),
  reason: Schema.Literal(
    "Configuration",
    "Dialect",
    "NotReadOnly",
    "NotAllowed",
    "Query",
    "UnknownTable",
    "Connection",
    "Timeout",
    "TooLarge",
    "Ended"
  )
}) {}

const hints: Readonly<Record<DatabaseQueryError["reason"], string>> = {
  Configuration: "Give `sqlite` or `postgres`, or provide a SqlClient and say `allowBlocking: true`",
  Dialect: "Provide a SqlClient of SQLite or Postgres",
  NotReadOnly: "Send one SELECT, WITH, VALUES or EXPLAIN statement; put names that SQL reserves in double quotes",
  NotAllowed: "Do without it; an application allows more functions by the option `functions`",
  Query: "Correct the statement",
  UnknownTable: "Ask for the tables first",
  Connection: "Try again later",
  Timeout: "Ask for less",
  TooLarge: "Ask for fewer rows, or for parts of long values",
  Ended: "Ask for less"
}

/**
 * @since 0.1.0
 * @category internals
 * @internal
 */
export const errorOf = ({
  hint,
  message,
  reason
}: Omit<ReadOnlyQuery.Failure, "reason"> & {
  readonly reason: DatabaseQueryError["reason"]
}): DatabaseQueryError => new DatabaseQueryError({ reason, message, hint: hint ?? hints[reason] })
