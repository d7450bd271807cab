/**
 * What the three drivers of SQLite have in common: synchronous statements on one connection. They are loaded when they
 * are asked for.
 *
 * @internal
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import { PersistenceConfigurationError } from "../engine/PersistenceError.js"
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
 * Rows of a statement that is not over. `next` gives none when it is; then, and after `close`, it holds no lock.
 *
 * @category models
 */
export interface Cursor {
  readonly next: (max: number) => ReadonlyArray<Row>
  readonly close: () => void
}

/**
 * Whatever these throw, the statement holds no lock then.
 *
 * @category models
 */
export interface Prepared {
  /** It gives rows; `run` is for those that do not. */
  readonly isReader: boolean
  readonly all: (params: ReadonlyArray<Bindable>) => Array<Row>
  /** The first of its rows. What it changes, it changes whole. */
  readonly first: (params: ReadonlyArray<Bindable>) => Row | undefined
  readonly values: (params: ReadonlyArray<Bindable>) => Array<Array<unknown>>
  readonly run: (params: ReadonlyArray<Bindable>) => Changes
  /** Not while the statement is used otherwise. */
  readonly iterate: (params: ReadonlyArray<Bindable>) => Cursor
}

/**
 * @category models
 */
export interface Traits {
  /** Its columns change with the tables. */
  readonly hasStar: boolean
  /** It may be run once more. */
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
  /** Closing finalizes what was prepared. Otherwise the collector does, some time later, and the side files stay. */
  readonly closesWhole: boolean
}

/** Half a surrogate pair, as the others have it: one driver would keep it as bytes that are no UTF-8. */
export const wellFormed = (params: ReadonlyArray<Bindable>): Array<Bindable> =>
  params.map((param) => (typeof param === "string" ? param.replace(/\p{Surrogate}/gu, "\ufffd") : param))

const absent = (name: Name, message: string, hint: string): PersistenceConfigurationError =>
  new PersistenceConfigurationError({ message: `The SQLite driver ${name} ${message}`, hint })

const hints: { readonly [N in Name]: string } = {
  "node:sqlite": 'Use Node 22.16 or later, or say driver: "libsql" and install it: npm install libsql',
  libsql: 'Install it: npm install libsql. Or say driver: "node:sqlite" on Node 22.16 or later',
  "better-sqlite3": "Install it: npm install better-sqlite3"
}

const modules: { readonly [N in Name]: () => Promise<Driver | undefined> } = {
  "node:sqlite": () => import("./SqliteNode.js").then(({ load }) => load()),
  libsql: () => import("./SqliteLibsql.js").then(({ load }) => load()),
  "better-sqlite3": () => import("./SqliteBetter.js").then(({ load }) => load())
}

/**
 * @category constructors
 */
export const load = (name: Name): Effect.Effect<Driver, PersistenceConfigurationError> =>
  Effect.tryPromise({
    try: modules[name],
    catch: () => absent(name, "is not installed, or cannot be loaded here", hints[name])
  }).pipe(
    Effect.flatMap((driver) =>
      driver === undefined ? Effect.fail(absent(name, "is too old here", hints[name])) : Effect.succeed(driver)
    )
  )

/**
 * The driver for a version of Node: its own from 22 on.
 *
 * @category accessors
 */
export const nameFor = (nodeVersion: string): Name =>
  Number.parseInt(nodeVersion, 10) >= 22 ? "node:sqlite" : "libsql"
