/**
 * Failures of the SQLite drivers in one form: with SQLite's own code, and without parameters in the message.
 *
 * @private
 * @since 0.1.0
 */
import { SqlError } from "@effect/sql/SqlError"

/** https://www.sqlite.org/rescode.html: those below 256, in order. */
const primary: ReadonlyArray<string> = [
  "OK ERROR INTERNAL PERM ABORT BUSY LOCKED NOMEM READONLY INTERRUPT IOERR CORRUPT NOTFOUND FULL CANTOPEN PROTOCOL EMPTY SCHEMA TOOBIG",
  "CONSTRAINT MISMATCH MISUSE NOLFS AUTH FORMAT RANGE NOTADB NOTICE WARNING"
].flatMap((names) => names.split(" "))

/** The second byte of an extended code, from 1. */
const extended: { readonly [code: number]: ReadonlyArray<string> } = {
  1: ["MISSING_COLLSEQ", "RETRY", "SNAPSHOT"],
  4: ["", "ROLLBACK"],
  5: ["RECOVERY", "SNAPSHOT", "TIMEOUT"],
  6: ["SHAREDCACHE", "VTAB"],
  8: ["RECOVERY", "CANTLOCK", "ROLLBACK", "DBMOVED", "CANTINIT", "DIRECTORY"],
  10: [
    "READ SHORT_READ WRITE FSYNC DIR_FSYNC TRUNCATE FSTAT UNLOCK RDLOCK DELETE BLOCKED NOMEM ACCESS CHECKRESERVEDLOCK LOCK CLOSE DIR_CLOSE",
    "SHMOPEN SHMSIZE SHMLOCK SHMMAP SEEK DELETE_NOENT MMAP GETTEMPPATH CONVPATH VNODE AUTH BEGIN_ATOMIC COMMIT_ATOMIC ROLLBACK_ATOMIC DATA",
    "CORRUPTFS IN_PAGE"
  ].flatMap((names) => names.split(" ")),
  11: ["VTAB", "SEQUENCE", "INDEX"],
  14: ["NOTEMPDIR", "ISDIR", "FULLPATH", "CONVPATH", "DIRTYWAL", "SYMLINK"],
  19: "CHECK COMMITHOOK FOREIGNKEY FUNCTION NOTNULL PRIMARYKEY TRIGGER UNIQUE VTAB ROWID PINNED DATATYPE".split(" ")
}

const nameOf = (code: number): string => {
  const main = primary[code & 0xff] ?? "ERROR"
  const more = extended[code & 0xff]?.[(code >> 8) - 1]
  return more === undefined || more === "" ? `SQLITE_${main}` : `SQLITE_${main}_${more}`
}

/** How messages of SQLite begin. Deno's `exec` throws them without their codes. */
const messages: ReadonlyArray<readonly [begin: string, code: string]> = [
  ["database is locked", "SQLITE_BUSY"],
  ["database table is locked", "SQLITE_LOCKED"],
  ["attempt to write a readonly database", "SQLITE_READONLY"],
  ["disk I/O error", "SQLITE_IOERR"],
  ["database disk image is malformed", "SQLITE_CORRUPT"],
  ["database or disk is full", "SQLITE_FULL"],
  ["unable to open database file", "SQLITE_CANTOPEN"],
  ["file is not a database", "SQLITE_NOTADB"],
  ["FOREIGN KEY constraint failed", "SQLITE_CONSTRAINT_FOREIGNKEY"],
  ["NOT NULL constraint failed", "SQLITE_CONSTRAINT_NOTNULL"],
  ["CHECK constraint failed", "SQLITE_CONSTRAINT_CHECK"],
  ["UNIQUE constraint failed", "SQLITE_CONSTRAINT_UNIQUE"]
]

const codeByMessage = (message: unknown): string | undefined =>
  typeof message === "string" ? messages.find(([begin]) => message.startsWith(begin))?.[1] : undefined

/**
 * @category errors
 */
export class SqliteFailure extends Error {
  override readonly name = "SqliteFailure"
  /** Like `SQLITE_CONSTRAINT_UNIQUE`. */
  readonly code: string
  /** Part of the work was done, so it must not be retried. */
  readonly isPartial: boolean
  constructor(code: string, message: string, isPartial = false) {
    super(message)
    this.code = code
    this.isPartial = isPartial
  }
}

/**
 * Messages quote full-text queries, which are parameters: `fts5: syntax error near "…"`, `no such column: …`.
 */
const withoutParams = (message: string, params: ReadonlyArray<unknown>): string => {
  const texts = params.filter((param): param is string => typeof param === "string")
  if (texts.length === 0) return message
  const colon = message.lastIndexOf(": ")
  const pieces = message.split('"')
  let told = message
  for (const piece of colon < 0 ? pieces : [...pieces, message.slice(colon + 2)]) {
    if (piece !== message && piece !== "" && texts.some((text) => text.includes(piece)))
      told = told.replaceAll(piece, "…")
  }
  return told
}

/**
 * Converts what a driver has thrown. `fallback` is the code of an error without one.
 *
 * @category conversions
 */
export const from = (error: unknown, params: ReadonlyArray<unknown>, fallback = "SQLITE_ERROR"): SqliteFailure => {
  if (error instanceof SqliteFailure) return error
  const { code, errcode, message, rawCode } = (typeof error === "object" && error !== null ? error : {}) as {
    readonly code?: unknown
    readonly errcode?: unknown
    readonly rawCode?: unknown
    readonly message?: unknown
  }
  const number = typeof errcode === "number" ? errcode : rawCode
  const name =
    typeof number === "number" && number > 0
      ? nameOf(number)
      : typeof code === "string" && code.startsWith("SQLITE_") && code !== "SQLITE_OK"
        ? code
        : ((code === "ERR_SQLITE_ERROR" ? codeByMessage(message) : undefined) ?? fallback)
  return new SqliteFailure(name, withoutParams(typeof message === "string" ? message : "The driver failed", params))
}

/**
 * @category conversions
 */
export const toSqlError = (cause: SqliteFailure): SqlError =>
  new SqlError({ cause, message: "Failed to execute statement" })

const find = (error: unknown): SqliteFailure | undefined => {
  for (let depth = 0, at = error; depth < 5 && typeof at === "object" && at !== null; depth++) {
    if (at instanceof SqliteFailure) return at
    at = (at as { readonly cause?: unknown }).cause
  }
  return undefined
}

/**
 * The code of an `SqlError`, of its cause or of any other error with one, for every driver: `SQLITE_FULL`,
 * `SQLITE_CONSTRAINT_UNIQUE`.
 *
 * @category accessors
 */
export const codeOf = (error: unknown): string | undefined => find(error)?.code

/**
 * Whether another process held a lock and nothing was done.
 *
 * @category predicates
 */
export const isBusy = (error: unknown): boolean => {
  const failure = find(error)
  return failure?.isPartial === false && failure.code.startsWith("SQLITE_BUSY")
}
