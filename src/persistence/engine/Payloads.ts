/**
 * Stores large texts apart from their rows, compressed, and only once per scope (a session, a thread, an owner): a
 * state that is stored a hundred times takes its space once. A row has either the text or its hash.
 *
 * @private
 * @since 0.1.0
 */
import { createHash } from "node:crypto"
import * as Zlib from "node:zlib"
import type { SqlError } from "@effect/sql/SqlError"
import * as Effect from "effect/Effect"
import type { Access } from "./Database.js"
import type { Dialect } from "./Dialect.js"

/**
 * The most characters of a text that stays in its row.
 *
 * @category constants
 */
export const maxInline = 8_192

/** The most bytes to unpack: more than any stored text has. */
const maxBytes = 2 ** 28

/** Shorter texts are compressed synchronously, which is faster than another thread. */
const maxDirect = 65_536

/**
 * A text in its stored form: either `body` or `ref` is set.
 *
 * @category models
 */
export interface Packed {
  readonly body: string | null
  readonly ref: string | null
  /** The data to store under `ref`. */
  readonly data?: Uint8Array | undefined
}

/**
 * A stored text as read by a statement: the column `body` of the row and `data` of `join`.
 *
 * @category models
 */
export interface Kept {
  readonly body: string | null
  readonly data: Uint8Array | null
}

const level = { level: Zlib.constants.Z_BEST_SPEED }

const hashOf = (text: string): string => createHash("sha256").update(text).digest("base64url").slice(0, 32)

/**
 * Call it before the transaction, because compressing takes time.
 *
 * @category constructors
 */
export const pack = (text: string): Effect.Effect<Packed> => {
  if (text.length <= maxInline) return Effect.succeed({ body: text, ref: null })
  if (text.length <= maxDirect) {
    return Effect.sync(() => ({ body: null, ref: hashOf(text), data: Zlib.deflateRawSync(text, level) }))
  }
  return Effect.async((resume) => {
    Zlib.deflateRaw(text, level, (error, data) =>
      resume(error === null ? Effect.succeed({ body: null, ref: hashOf(text), data }) : Effect.die(error))
    )
  })
}

/**
 * The text; `undefined` if its data is missing or unreadable.
 *
 * @category conversions
 */
export const unpack = ({ body, data }: Kept): string | undefined => {
  if (body !== null) return body
  if (data === null) return undefined
  try {
    return Zlib.inflateRawSync(data, { maxOutputLength: maxBytes }).toString("utf8")
  } catch {
    return undefined
  }
}

/**
 * @category models
 */
export interface Payloads {
  /**
   * A join to append to the table of a row: `p.data`, or `data` of another name, is the data that the row refers to.
   * `scope` and `ref` are expressions like `t.session_id`.
   */
  readonly join: (scope: string, ref: string, name?: string) => string
  /**
   * Stores the data that rows of the scope refer to. Call it in the transaction that writes these rows, before them.
   */
  readonly put: (tx: Access, scope: string, packed: ReadonlyArray<Packed>) => Effect.Effect<void, SqlError>
  /**
   * Removes data that no row of the scope refers to. Call it in the transaction that deleted rows, after that. `refs`
   * are queries with the scope as their only parameter, each selecting a column of hashes without NULL.
   */
  readonly sweep: (tx: Access, scope: string, refs: ReadonlyArray<string>) => Effect.Effect<void, SqlError>
  /** Removes all data of the scope. */
  readonly clear: (tx: Access, scope: string) => Effect.Effect<void, SqlError>
}

/**
 * @category constructors
 */
export const make = (dialect: Dialect): Payloads => {
  const insert = dialect.sql(
    "INSERT INTO lex_payloads (scope, hash, data) VALUES (?, ?, ?) ON CONFLICT (scope, hash) DO NOTHING"
  )
  const clear = dialect.sql("DELETE FROM lex_payloads WHERE scope = ?")
  const any = dialect.sql("SELECT 1 AS found FROM lex_payloads WHERE scope = ? LIMIT 1")
  /** Prevents a sweep from removing data that another transaction begins to refer to. */
  const lock = (tx: Access, scope: string): Effect.Effect<unknown, SqlError> =>
    dialect.lock === undefined ? Effect.void : tx.rows(dialect.lock, [`lex_payloads ${scope}`])
  return {
    join: (scope, ref, name = "p") =>
      ` LEFT JOIN lex_payloads ${name} ON ${name}.scope = ${scope} AND ${name}.hash = ${ref}`,
    put: (tx, scope, packed) => {
      const heavy = packed.filter(({ data }) => data !== undefined)
      if (heavy.length === 0) return Effect.void
      return Effect.zipRight(
        lock(tx, scope),
        Effect.forEach(heavy, ({ data, ref }) => tx.run(insert, [scope, ref, data as Uint8Array]), { discard: true })
      )
    },
    sweep: (tx, scope, refs) =>
      Effect.flatMap(tx.first(any, [scope]), (found) => {
        if (found === undefined) return Effect.void
        const kept = refs.map((query) => ` AND hash NOT IN (${query})`).join("")
        const statement = dialect.sql(`DELETE FROM lex_payloads WHERE scope = ?${kept}`)
        return Effect.zipRight(lock(tx, scope), tx.run(statement, [scope, ...refs.map(() => scope)]))
      }),
    clear: (tx, scope) => tx.run(clear, [scope])
  }
}

/**
 * @category schemas
 */
export const tables = ({ types }: Dialect): ReadonlyArray<string> => [
  `CREATE TABLE lex_payloads (
    scope ${types.key} NOT NULL,
    hash ${types.key} NOT NULL,
    data ${types.bytes} NOT NULL,
    PRIMARY KEY (scope, hash)
  )`
]
