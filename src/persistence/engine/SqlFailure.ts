/**
 * Describes database failures in words that reveal no data: messages of Postgres quote values, so they do not leave
 * this module. A SQLite code or an SQLSTATE identifies the failure.
 *
 * @private
 * @since 0.1.0
 */
import type { SqlError } from "@effect/sql/SqlError"
import { DatabaseError, type Reason } from "./PersistenceError.js"

/**
 * @category models
 */
export interface Described {
  readonly reason: Reason
  /** Like `SQLITE_BUSY`, `40001`, `ECONNREFUSED`. */
  readonly code: string | undefined
  readonly message: string
  readonly hint?: string | undefined
  /** Two transactions conflicted and this one was rolled back; a retry may succeed. */
  readonly isConflict: boolean
}

const messages: { readonly [R in Reason]: readonly [message: string, hint: string | undefined] } = {
  unreachable: ["The database cannot be reached", "See that it runs and can be connected to; then try again"],
  busy: ["Somebody else held a lock of the database for too long", "Try again, or give it more time to wait"],
  full: ["The database has no room", "Make room on its disk, then try again"],
  "read-only": ["The database takes no writes", "Open it for writing, or write to the primary server"],
  refused: ["The database refused the user", "See to its user, password, database name and rights"],
  schema: ["The database has not the tables that are needed", "Migrate it first: `layerMigrated` does"],
  data: ["The database holds or was given something that it cannot keep", undefined],
  other: ["The database failed", undefined]
}

/** Codes that need more specific words than their reason. */
const byCode: { readonly [code: string]: readonly [message: string, hint: string] } = {
  "53300": [
    "All connections to the database are taken",
    "Raise `maxConnections` or what the server allows, or hold connections for less time"
  ],
  "57014": ["A statement of the database took too long", "Try again, or give it more time"]
}

const sqliteReasons: ReadonlyArray<readonly [prefix: string, reason: Reason]> = [
  ["SQLITE_BUSY", "busy"],
  ["SQLITE_LOCKED", "busy"],
  ["SQLITE_FULL", "full"],
  ["SQLITE_NOMEM", "full"],
  ["SQLITE_READONLY", "read-only"],
  ["SQLITE_CANTOPEN", "unreachable"],
  ["SQLITE_IOERR", "unreachable"],
  ["SQLITE_PROTOCOL", "busy"],
  ["SQLITE_PERM", "refused"],
  ["SQLITE_AUTH", "refused"],
  ["SQLITE_SCHEMA", "schema"],
  ["SQLITE_CORRUPT", "data"],
  ["SQLITE_NOTADB", "data"],
  ["SQLITE_CONSTRAINT", "data"],
  ["SQLITE_MISMATCH", "data"],
  ["SQLITE_TOOBIG", "data"]
]

/** By SQLSTATE or its class (the first two characters): PostgreSQL documentation, appendix A. */
const postgresReasons: ReadonlyArray<readonly [prefix: string, reason: Reason]> = [
  ["08", "unreachable"],
  ["57P", "unreachable"],
  ["57014", "busy"],
  ["40", "busy"],
  ["55P03", "busy"],
  ["53300", "busy"],
  ["25P0", "busy"],
  ["53100", "full"],
  ["53", "full"],
  ["25006", "read-only"],
  ["28", "refused"],
  ["42501", "refused"],
  ["3D", "refused"],
  ["42P01", "schema"],
  ["42703", "schema"],
  ["42883", "schema"],
  ["3F", "schema"],
  ["22", "data"],
  ["23", "data"],
  ["54", "data"],
  ["XX001", "data"],
  ["XX002", "data"]
]

const conflicts: ReadonlySet<string> = new Set(["40001", "40P01", "SQLITE_BUSY_SNAPSHOT"])

/** The innermost cause with a code. Of several errors (one per address) the first counts. */
const codeOf = (error: unknown): { readonly code?: string | undefined; readonly text: string } => {
  let text = ""
  for (let depth = 0, at = error; depth < 5 && typeof at === "object" && at !== null; depth++) {
    const { cause, code, errors, message } = at as {
      readonly cause?: unknown
      readonly code?: unknown
      readonly errors?: unknown
      readonly message?: unknown
    }
    if (typeof message === "string") text = message
    if (typeof code === "string" && code !== "") return { code, text }
    at = Array.isArray(errors) ? errors[0] : cause
  }
  return { text }
}

const reasonOf = (code: string | undefined, text: string): Reason => {
  if (code === undefined) {
    return /terminated|timeout|timed out|closed|not queryable|ended|no client|socket/i.test(text)
      ? "unreachable"
      : "other"
  }
  if (code === "SQLITE_ERROR") return /no such (?:table|column)|has no column/i.test(text) ? "schema" : "other"
  if (/^E[A-Z_]+$/.test(code)) return "unreachable"
  const known = code.startsWith("SQLITE_") ? sqliteReasons : postgresReasons
  return known.find(([prefix]) => code.startsWith(prefix))?.[1] ?? "other"
}

/**
 * @category conversions
 */
export const describe = (error: unknown): Described => {
  const { code, text } = codeOf(error)
  const reason = reasonOf(code, text)
  const [message, hint] =
    (code !== undefined && Object.hasOwn(byCode, code) ? byCode[code] : undefined) ?? messages[reason]
  return {
    reason,
    code,
    message: code === undefined ? message : `${message} (${code})`,
    hint,
    isConflict: code !== undefined && conflicts.has(code)
  }
}

/**
 * The fields of a port's own error: `new SessionStorageError(SqlFailure.fields(error))`.
 *
 * @category conversions
 */
export const fields = (error: SqlError): { readonly message: string; readonly hint?: string } => {
  const { hint, message } = describe(error)
  return hint === undefined ? { message } : { message, hint }
}

/**
 * @category conversions
 */
export const toDatabaseError =
  (backend: string) =>
  (error: unknown): DatabaseError => {
    const { hint, message, reason } = describe(error)
    return new DatabaseError({ backend, reason, message, ...(hint === undefined ? {} : { hint }) })
  }
