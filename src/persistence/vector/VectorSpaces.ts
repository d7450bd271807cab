/**
 * The spaces of an index: which vectors it holds, and what happens if the embedder differs from the one that made them.
 *
 * @private
 * @since 0.1.0
 */
import type { SqlError } from "@effect/sql/SqlError"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import { MemorySystemError } from "../../memory/entry/MemoryError.js"
import type { Access, Database } from "../engine/Database.js"
import * as KeyText from "../engine/KeyText.js"
import type { DatabaseError } from "../engine/PersistenceError.js"
import * as SqlFailure from "../engine/SqlFailure.js"

/**
 * The model and the index of a space.
 *
 * @category models
 */
export interface Identity {
  readonly kind: "plain" | "pgvector"
  /** The table of its vectors. */
  readonly table: string
  readonly name: string
  readonly model: string
  readonly dimensions: number
}

/**
 * @category models
 */
export interface Space extends Identity {
  readonly id: number
}

/**
 * The default name of an index.
 *
 * @category constants
 */
export const defaultName = "memory"

/**
 * What a layer does if the database holds vectors of another model: it fails, or starts a new space that
 * `VectorReembedding` fills.
 *
 * @category models
 */
export type OnModelChange = "fail" | "reembed"

/**
 * @category constructors
 */
export const open = (
  database: Database,
  options: Identity & {
    readonly onModelChange: OnModelChange
    /** Runs in the transaction that opens the space, new or not. */
    readonly prepared?: ((tx: Access, id: number) => Effect.Effect<void, SqlError>) | undefined
  }
): Effect.Effect<Space, DatabaseError | MemorySystemError> => {
  const { dimensions, kind, model, name, onModelChange, prepared = () => Effect.void, table } = options
  const { dialect } = database
  const all = dialect.sql(
    "SELECT id, model, dimensions, active FROM lex_vector_indexes WHERE kind = ? AND name = ? ORDER BY id"
  )
  const add = dialect.sql(
    "INSERT INTO lex_vector_indexes (kind, name, model, dimensions, active, created_at) VALUES (?, ?, ?, ?, ?, ?) RETURNING id"
  )
  const removed = remove(database, table)
  const some = dialect.sql(`SELECT 1 AS found FROM ${table} WHERE space_id = ? LIMIT 1`)
  return database
    .transaction(
      Effect.fnUntraced(function* (tx) {
        if (dialect.lock !== undefined) yield* tx.rows(dialect.lock, ["lex_vector_indexes"])
        const rows = yield* tx.rows(all, [kind, KeyText.encode(name)])
        const own = rows.find((row) => KeyText.decode(row.model) === model && Number(row.dimensions) === dimensions)
        const active = rows.find((row) => Number(row.active) === 1)
        if (own !== undefined && (own === active || onModelChange === "reembed")) {
          yield* prepared(tx, Number(own.id))
          return Number(own.id)
        }
        if (active !== undefined && onModelChange === "fail") {
          if ((yield* tx.first(some, [Number(active.id)])) !== undefined) {
            return yield* new MemorySystemError({
              message:
                `The index ${name} of the database holds vectors of ${KeyText.decode(active.model)} (length ${active.dimensions}), ` +
                `but the embedder makes vectors of ${model} (length ${dimensions})`,
              hint: 'Use the embedder that made them, another `name` for these, or `onModelChange: "reembed"` to have them made again'
            })
          }
          // A space that is being filled may be of this model.
          yield* Effect.forEach(rows, (row) => removed(tx, Number(row.id)), { discard: true })
        }
        const now = yield* Clock.currentTimeMillis
        const isActive = active === undefined || onModelChange === "fail" ? 1 : 0
        const values = [kind, KeyText.encode(name), KeyText.encode(model), dimensions, isActive, now]
        const id = Number((yield* tx.first(add, values))?.id)
        yield* prepared(tx, id)
        return id
      }),
      { durable: true }
    )
    .pipe(
      Effect.catchTag("SqlError", (error) => Effect.fail(SqlFailure.toDatabaseError(dialect.name)(error))),
      Effect.map((id) => ({ kind, table, name, model, dimensions, id }))
    )
}

/**
 * Removes a space with its vectors. Concurrent writers wait and then fail.
 *
 * @category combinators
 */
export const remove = ({ dialect }: Pick<Database, "dialect">, table: string) => {
  const lock = dialect.sql(`SELECT id FROM lex_vector_indexes WHERE id = ?${dialect.forUpdate}`)
  const statements = [
    `DELETE FROM ${table} WHERE space_id = ?`,
    "DELETE FROM lex_vector_owners WHERE space_id = ?",
    "DELETE FROM lex_vector_indexes WHERE id = ?"
  ].map(dialect.sql)
  const indexes = (id: number) => ["single", "half"].map((precision) => indexOf({ table, id }, precision))
  return (tx: Access, id: number): Effect.Effect<void, SqlError> =>
    Effect.gen(function* () {
      yield* tx.rows(lock, [id])
      for (const sql of statements) yield* tx.run(sql, [id])
      if (dialect.name === "sqlite") return
      for (const name of indexes(id)) yield* tx.run(`DROP INDEX IF EXISTS ${name}`)
    })
}

/**
 * The pgvector index of one space; other tables have none.
 *
 * @category getters
 */
export const indexOf = ({ id, table }: Pick<Space, "id" | "table">, precision: string): string =>
  `${table}_space_${id}_${precision}`
