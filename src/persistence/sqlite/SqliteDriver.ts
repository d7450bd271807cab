/**
 * The interface of the three SQLite drivers: synchronous statements on one connection.
 *
 * @private
 * @since 0.1.0
 */
import type { Bindable, Row } from "./SqliteValues.js"

/**
 * @category models
 */
export type Name = "node:sqlite" | "libsql" | "better-sqlite3"

/**
 * @category models
 */
export interface Changes {
  readonly changes: number
  readonly lastInsertRowid: number | bigint
}

/**
 * Rows of a running statement. `next` returns no rows at its end; then, and after `close`, it holds no lock.
 *
 * @category models
 */
export interface Cursor {
  readonly next: (max: number) => ReadonlyArray<Row>
  readonly close: () => void
}

/**
 * After any of these throws, the statement holds no lock.
 *
 * @category models
 */
export interface Prepared {
  /** It returns rows. `run` is for statements that do not. */
  readonly isReader: boolean
  readonly all: (params: ReadonlyArray<Bindable>) => Array<Row>
  /** The first row. A statement that writes still runs to its end. */
  readonly first: (params: ReadonlyArray<Bindable>) => Row | undefined
  readonly values: (params: ReadonlyArray<Bindable>) => Array<Array<unknown>>
  readonly run: (params: ReadonlyArray<Bindable>) => Changes
  /** The statement must not be used otherwise until the cursor is closed. */
  readonly iterate: (params: ReadonlyArray<Bindable>) => Cursor
}

/**
 * @category models
 */
export interface Traits {
  /** Its columns change with the tables. */
  readonly hasStar: boolean
  /** It can be repeated. */
  readonly isRead: boolean
}

/**
 * @category models
 */
export interface Handle {
  readonly prepare: (sql: string, traits?: Traits) => Prepared
  /** Several statements, without parameters. */
  readonly exec: (sql: string) => void
  readonly isInTransaction: () => boolean
  readonly close: () => void
}

/**
 * @category models
 */
export interface OpenOptions {
  /** An absolute path, or `:memory:`. */
  readonly file: string
  readonly readonly: boolean
  /** Paths of libraries to load. */
  readonly extensions: ReadonlyArray<string>
}

/**
 * @category models
 */
export interface Driver {
  readonly name: Name
  readonly open: (options: OpenOptions) => Handle
  /** Whether closing finalizes prepared statements. Otherwise garbage collection does, and the side files remain. */
  readonly closesWhole: boolean
}

/** Replaces lone surrogates like the other drivers do. One driver would store bytes that are not UTF-8. */
export const wellFormed = (params: ReadonlyArray<Bindable>): Array<Bindable> =>
  params.map((param) => (typeof param === "string" ? param.replace(/\p{Surrogate}/gu, "\ufffd") : param))
