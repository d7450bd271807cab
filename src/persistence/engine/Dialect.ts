/**
 * The syntax in which SQLite and Postgres differ. The rest of a statement is the same for both: `ON CONFLICT`,
 * `RETURNING`, `LIMIT`, common table expressions.
 *
 * Numbers are stored as doubles, which hold every JavaScript number: Postgres returns 64-bit integers as text. Booleans
 * are 0 or 1, times are milliseconds since the epoch.
 *
 * @private
 * @since 0.1.0
 */

/**
 * A parameter. Lists must come from `Dialect.list`.
 *
 * @category models
 */
export type Param = string | number | null | Uint8Array | ReadonlyArray<string>

/**
 * @category models
 */
export interface Types {
  /** A text that is compared: encoded by `KeyText`, in byte order. */
  readonly key: string
  /**
   * A text that is only stored. JSON uses this type, because the JSON types of the databases do not keep every string.
   */
  readonly text: string
  readonly number: string
  /** Below 2^31: a flag, a kind, a count. */
  readonly integer: string
  readonly bytes: string
  /** A primary key with a unique number per row, in the order in which one connection added them. */
  readonly serial: string
}

/**
 * @category models
 */
export interface Dialect {
  readonly name: "sqlite" | "postgres"
  readonly types: Types
  /** Converts a statement with `?` for its parameters. `?` must not occur elsewhere in it. */
  readonly sql: (text: string) => string
  /** Begins a transaction that writes. */
  readonly begin: string
  /**
   * Appended to a `SELECT` in a transaction: locks the rows until its end. SQLite has one writer at a time anyway.
   */
  readonly forUpdate: string
  /** Like `forUpdate`, but skips rows locked by others. */
  readonly forUpdateSkipLocked: string
  /** A condition that a column is one of the texts of a `list`, which is one `?`. */
  readonly oneOf: (column: string) => string
  readonly list: (texts: ReadonlyArray<string>) => Param
  /**
   * A statement that waits until no other transaction has locked the same text, given as its parameter; `undefined` in
   * SQLite.
   */
  readonly lock: string | undefined
  /** The most parameters of one statement. */
  readonly maxParams: number
}

/** The most rows of one insert. Limits the number of prepared statements. */
export const maxRows = 100

const numbered = (text: string): string => {
  let n = 0
  return text.replace(/\?/g, () => `$${++n}`)
}

/**
 * @category constants
 */
export const sqlite: Dialect = {
  name: "sqlite",
  types: {
    key: "TEXT",
    text: "TEXT",
    number: "REAL",
    integer: "INTEGER",
    bytes: "BLOB",
    serial: "INTEGER PRIMARY KEY AUTOINCREMENT"
  },
  sql: (text) => text,
  begin: "BEGIN IMMEDIATE",
  forUpdate: "",
  forUpdateSkipLocked: "",
  oneOf: (column) => `${column} IN (SELECT value FROM json_each(?))`,
  list: (texts) => JSON.stringify(texts),
  lock: undefined,
  maxParams: 32_000
}

/**
 * @category constants
 */
export const postgres: Dialect = {
  name: "postgres",
  types: {
    key: 'TEXT COLLATE "C"',
    text: "TEXT",
    number: "DOUBLE PRECISION",
    integer: "INTEGER",
    bytes: "BYTEA",
    serial: "BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY"
  },
  sql: numbered,
  begin: "BEGIN",
  forUpdate: " FOR UPDATE",
  forUpdateSkipLocked: " FOR UPDATE SKIP LOCKED",
  oneOf: (column) => `${column} = ANY(?::text[])`,
  list: (texts) => texts,
  lock: "SELECT pg_advisory_xact_lock(hashtextextended($1, 0))",
  maxParams: 60_000
}
