/**
 * Large texts apart from the rows they belong to: compressed, and once for all equal ones of a scope (a session, a
 * thread, an owner), so that a state that is kept a hundred times costs its place once. A row has either the text or
 * the hash under which it lies here.
 *
 * @internal
 * @since 0.1.0
 */
import { createHash } from "node:crypto"
import * as Zlib from "node:zlib"
import type { SqlError } from "@effect/sql/SqlError"
import * as Effect from "effect/Effect"
import type { Access } from "./Database.js"
import type { Dialect } from "./Dialect.js"

/**
 * Characters of a text that stays in its row.
 *
 * @category constants
 */
export const maxInline = 8_192

/** More than any text that is kept has: what says it holds more is not unpacked. */
const maxBytes = 2 ** 28

/** Below this compressing is over sooner than another thread could be asked. */
const maxDirect = 65_536

/**
 * A text as a row keeps it: one of both columns is set.
 *
 * @category models
 */
export interface Packed {
  readonly body: string | null
  readonly ref: string | null
  /** What has to be put under `ref`. */
  readonly data?: Uint8Array | undefined
}

/**
 * What a statement has read of it: the columns `body` of the row and `data` of `join`.
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
 * Before the transaction that keeps it begins: what takes long must not hold others up.
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
 * The text again; `undefined` where what it refers to is not there or cannot be read.
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
   * To be put behind the table of a row: `p.data` is what the row refers to, or that of another name than `p`. `scope`
   * and `ref` are expressions, as `t.session_id`.
   */
  readonly join: (scope: string, ref: string, name?: string) => string
  /** Keeps what rows of the scope refer to; in the transaction that writes these rows, before it does. */
  readonly put: (tx: Access, scope: string, packed: ReadonlyArray<Packed>) => Effect.Effect<void, SqlError>
  /**
   * Removes what no row of the scope refers to any more; in the transaction that deleted rows, behind it. `refs` are
   * queries with one `?`, the scope, each of which gives a column of hashes without NULL.
   */
  readonly sweep: (tx: Access, scope: string, refs: ReadonlyArray<string>) => Effect.Effect<void, SqlError>
  /** Removes everything of the scope. */
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
  /** So that nobody sweeps what somebody else begins to refer to. */
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
