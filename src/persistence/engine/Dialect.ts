/**
 * What is written differently for SQLite and for Postgres. Everything else of a statement is the same: `ON CONFLICT`,
 * `RETURNING`, `LIMIT`, common table expressions.
 *
 * Numbers are kept as doubles, which hold every number of JavaScript: a 64-bit integer would come out of Postgres as a
 * text. Truth is 0 or 1, time is milliseconds since the epoch.
 *
 * @internal
 * @since 0.1.0
 */

/**
 * What a parameter may be. A list only by `Dialect.list`.
 *
 * @category models
 */
export type Param = string | number | null | Uint8Array | ReadonlyArray<string>

/**
 * @category models
 */
export interface Types {
  /** A text that is compared: by `KeyText`, in the order of its bytes. */
  readonly key: string
  /** A text that is only kept. JSON as this, not as a type of the database: that would not keep every string. */
  readonly text: string
  readonly number: string
  /** Below 2^31: a flag, a kind, a count. */
  readonly integer: string
  readonly bytes: string
  /** A number of its own for each row, in the order in which they were added by one connection; the primary key. */
  readonly serial: string
}

/**
 * @category models
 */
export interface Dialect {
  readonly name: "sqlite" | "postgres"
  readonly types: Types
  /** A statement with `?` for its parameters, as this database has it. No `?` may stand in it otherwise. */
  readonly sql: (text: string) => string
  /** Begins a transaction that writes. */
  readonly begin: string
  /**
   * Behind a `SELECT` in a transaction: nobody else changes these rows until its end. SQLite has one writer at a time
   * anyway.
   */
  readonly forUpdate: string
  /** As `forUpdate`, but passes over what somebody else holds. */
  readonly forUpdateSkipLocked: string
  /** That a column is one of the texts of a `list`, which stands as one `?`. */
  readonly oneOf: (column: string) => string
  readonly list: (texts: ReadonlyArray<string>) => Param
  /**
   * A statement without rows that waits until no other transaction has locked the same text, given as its parameter;
   * none in SQLite.
   */
  readonly lock: string | undefined
  /** Parameters of one statement at most. */
  readonly maxParams: number
}

/** What one list of rows in a statement may have, so that there are not too many statements to prepare. */
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
