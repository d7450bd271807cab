/**
 * Stores vectors as rows: everything of an index except the search.
 *
 * A write locks the rows of the owner first, in the order of the spaces, so that no two writers deadlock. The revision
 * of the owner grows with each write, and the row of a vector has the revision of the write that stored it.
 *
 * @private
 * @since 0.1.0
 */

import * as SqlClient from "@effect/sql/SqlClient"
import type { SqlError } from "@effect/sql/SqlError"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type { EntryId } from "../../domain/Ids.js"
import { normalize, type Vector } from "../../llm/embedding/Embedder.js"
import { MemoryStoreError, StorageError } from "../../memory/entry/MemoryError.js"
import * as Selection from "../../memory/entry/Selection.js"
import type * as VectorIndex from "../../memory/search/VectorIndex.js"
import * as Database from "../engine/Database.js"
import type { Dialect, Param } from "../engine/Dialect.js"
import * as KeyText from "../engine/KeyText.js"
import * as SqlFailure from "../engine/SqlFailure.js"
import * as VectorTables from "../schema/VectorTables.js"
import * as VectorSelection from "./VectorSelection.js"
import type { Space } from "./VectorSpaces.js"

type Failure = VectorIndex.VectorIndexFailure

/** Ids in one statement. */
const MANY = 1_000

/** Expired vectors of any owner that one write removes. */
const SWEPT = 100

/**
 * The version of an owner's vectors. `purged` is the last revision that removed some. Revisions of different
 * incarnations are unrelated.
 *
 * @category models
 */
export interface State {
  readonly incarnation: string
  readonly revision: number
  readonly purged: number
}

/**
 * @category models
 */
export interface Options {
  /** The name of the index in errors. */
  readonly name: string
  readonly space: Space
  readonly encode: (vector: Vector) => Param
  /** Called after a delete with the state before and after it, except in a transaction of the caller. */
  readonly removed?: ((ownerId: string, before: State, after: State, ids: ReadonlyArray<EntryId>) => void) | undefined
  readonly cleared?: ((ownerId: string) => void) | undefined
}

/**
 * @category models
 */
export interface VectorRows
  extends Pick<VectorIndex.Service, "upsert" | "delete" | "clear" | "count" | "known" | "health"> {
  /** The vector normalized to length 1, or why it cannot be stored. */
  readonly checked: (vector: Vector) => Vector | MemoryStoreError
  /** Like `upsert` in a transaction, but keeps existing vectors, also those of other spaces. */
  readonly fill: (
    tx: Database.Access,
    ownerId: string,
    items: ReadonlyArray<VectorIndex.VectorItem>
  ) => Effect.Effect<void, SqlError | MemoryStoreError>
  /** `undefined` if the owner has no vectors. */
  readonly state: (ownerId: string) => Effect.Effect<State | undefined, Failure>
  readonly guarded: <A, E>(
    effect: Effect.Effect<A, E | SqlError>
  ) => Effect.Effect<A, Exclude<E, SqlError> | StorageError>
}

/**
 * Whether the caller is in a transaction, which may be rolled back.
 *
 * @category getters
 */
export const isNested: Effect.Effect<boolean> = Effect.map(
  Effect.context<never>(),
  (context) => Context.getOption(context, SqlClient.TransactionConnection)._tag === "Some"
)

const chunked = <A>(all: ReadonlyArray<A>, size: number): ReadonlyArray<ReadonlyArray<A>> => {
  const chunks: Array<ReadonlyArray<A>> = []
  for (let at = 0; at < all.length; at += size) chunks.push(all.slice(at, at + size))
  return chunks
}

const stateOf = (row: Database.Row): State => ({
  incarnation: row.incarnation,
  revision: Number(row.revision),
  purged: Number(row.purged)
})

const makeStatements = (dialect: Dialect, table: string) => {
  const unique = dialect.name === "sqlite" ? "lower(hex(randomblob(16)))" : "gen_random_uuid()::text"
  return {
    spaces: dialect.sql("SELECT id FROM lex_vector_indexes WHERE kind = ? AND name = ? ORDER BY id"),
    touch: dialect.sql(
      `INSERT INTO lex_vector_owners (space_id, owner_id, incarnation, revision, purged) VALUES (?, ?, ${unique}, 1, 0)
       ON CONFLICT (space_id, owner_id) DO UPDATE SET revision = lex_vector_owners.revision + 1
       RETURNING incarnation, revision, purged`
    ),
    hold: dialect.sql(
      `SELECT incarnation, revision, purged FROM lex_vector_owners WHERE space_id = ? AND owner_id = ?${dialect.forUpdate}`
    ),
    purge: dialect.sql(
      "UPDATE lex_vector_owners SET revision = revision + 1, purged = revision + 1 WHERE space_id = ? AND owner_id = ?"
    ),
    drop: dialect.sql(`DELETE FROM ${table} WHERE space_id = ? AND owner_id = ? AND ${dialect.oneOf("id")}`),
    clear: dialect.sql(`DELETE FROM ${table} WHERE space_id = ? AND owner_id = ?`),
    forget: dialect.sql("DELETE FROM lex_vector_owners WHERE space_id = ? AND owner_id = ?"),
    sweep: dialect.sql(
      `DELETE FROM ${table} WHERE (space_id, owner_id, id) IN (
        SELECT space_id, owner_id, id FROM ${table} WHERE expires_at <= ? ORDER BY expires_at LIMIT ${SWEPT}${dialect.forUpdateSkipLocked}
      )`
    ),
    count: dialect.sql(
      `SELECT COUNT(*) AS n FROM ${table} WHERE space_id = ? AND owner_id = ? AND (expires_at IS NULL OR expires_at > ?)`
    ),
    known: dialect.sql(
      `SELECT id FROM ${table} WHERE space_id = ? AND owner_id = ? AND ${dialect.oneOf("id")} AND (expires_at IS NULL OR expires_at > ?)`
    ),
    state: dialect.sql(
      `SELECT o.incarnation, o.revision, o.purged FROM lex_vector_indexes s
       LEFT JOIN lex_vector_owners o ON o.space_id = s.id AND o.owner_id = ? WHERE s.id = ?`
    ),
    health: dialect.sql("SELECT id FROM lex_vector_indexes WHERE id = ?")
  }
}

const updated = VectorTables.columns
  .slice(3)
  .map((column) => `${column} = excluded.${column}`)
  .join(", ")
const makeUpserts = (table: string) =>
  Database.insertInto(table, VectorTables.columns, `ON CONFLICT (space_id, owner_id, id) DO UPDATE SET ${updated}`)
const makeFills = (table: string) =>
  Database.insertInto(table, VectorTables.columns, "ON CONFLICT (space_id, owner_id, id) DO NOTHING")

const makeErrors = ({ name, space }: Options) => ({
  wrongLength: (length: number) =>
    new MemoryStoreError({
      store: name,
      message: `A vector of length ${length} does not fit an index of vectors of length ${space.dimensions}`,
      hint: `The index holds vectors of the model ${space.model}. Use another index for another model.`
    }),
  notFinite: () =>
    new MemoryStoreError({ store: name, message: "A vector has a component that is not a finite number" }),
  replaced: () =>
    new MemoryStoreError({
      store: name,
      message: `The index ${space.name} no longer holds vectors of the model ${space.model}`,
      hint: "Restart with the embedder that the index uses now"
    })
})

const makeChecked = (options: Options): VectorRows["checked"] => {
  const errors = makeErrors(options)
  return (vector) =>
    vector.length === options.space.dimensions
      ? (normalize(vector) ?? errors.notFinite())
      : errors.wrongLength(vector.length)
}

/** Fails a store operation with a `StorageError` instead of a `SqlError`. */
const guarded = <A, E>(effect: Effect.Effect<A, E | SqlError>): Effect.Effect<A, Exclude<E, SqlError> | StorageError> =>
  Effect.catchIf(
    effect as Effect.Effect<A, Exclude<E, SqlError> | SqlError>,
    (error): error is SqlError => (error as { readonly _tag?: unknown })._tag === "SqlError",
    (error) => Effect.fail(new StorageError(SqlFailure.fields(error)))
  ) as Effect.Effect<A, Exclude<E, SqlError> | StorageError>

/** Rows in the order of their ids, in which they are locked. The last of several items with one id wins. */
const rowsOf = (
  { encode, space }: Options,
  dialect: Dialect,
  owner: string,
  revision: number,
  items: ReadonlyArray<VectorIndex.VectorItem>,
  vectors: ReadonlyArray<Vector>
): ReadonlyArray<ReadonlyArray<Param>> => {
  const rows = new Map<string, ReadonlyArray<Param>>()
  for (const [at, item] of items.entries()) {
    const id = KeyText.encode(item.id)
    rows.set(id, [
      space.id,
      owner,
      id,
      revision,
      item.role,
      item.timestamp,
      item.sessionId === undefined ? null : KeyText.encode(item.sessionId),
      Selection.beginning(item),
      JSON.stringify(item.metadata),
      dialect.list(VectorSelection.tags(item)),
      item.expiresAt ?? null,
      encode(vectors[at] as Vector)
    ])
  }
  return [...rows.keys()].sort().map((id) => rows.get(id) as ReadonlyArray<Param>)
}

type Upkeep = Pick<VectorRows, "upsert" | "fill" | "delete" | "clear">

const makeUpkeep = (database: Database.Database, options: Options): Upkeep => {
  const { cleared, removed, space } = options
  const { dialect } = database
  const sql = makeStatements(dialect, space.table)
  const upserts = makeUpserts(space.table)
  const fills = makeFills(space.table)
  const errors = makeErrors(options)
  const checked = makeChecked(options)

  /** Ids of all spaces of this index, ascending. Deletes apply to all of them. */
  const spaces = (tx: Database.Access): Effect.Effect<ReadonlyArray<number>, SqlError> =>
    Effect.map(tx.rows(sql.spaces, [space.kind, KeyText.encode(space.name)]), (rows) =>
      rows.map(({ id }) => Number(id))
    )

  const remove = (tx: Database.Access, id: number, owner: string, ids: ReadonlyArray<string>) =>
    Effect.gen(function* () {
      const row = yield* tx.first(sql.hold, [id, owner])
      if (row === undefined) return undefined
      let count = 0
      for (const some of chunked(ids, MANY)) count += yield* tx.run(sql.drop, [id, owner, dialect.list(some)])
      if (count === 0) return undefined
      yield* tx.run(sql.purge, [id, owner])
      return stateOf(row)
    })

  const sweep = (tx: Database.Access) => Effect.flatMap(Clock.currentTimeMillis, (now) => tx.run(sql.sweep, [now]))

  const write = (
    tx: Database.Access,
    ownerId: string,
    items: ReadonlyArray<VectorIndex.VectorItem>,
    vectors: ReadonlyArray<Vector>,
    insert: Database.Insert
  ) =>
    Effect.gen(function* () {
      const owner = KeyText.encode(ownerId)
      const all = yield* spaces(tx)
      if (!all.includes(space.id)) return yield* errors.replaced()
      for (const id of all) {
        if (id === space.id) {
          const row = yield* tx.first(sql.touch, [id, owner])
          yield* tx.insert(insert, rowsOf(options, dialect, owner, Number(row?.revision), items, vectors))
        } else if (insert === upserts) {
          const ids = items.map((item) => KeyText.encode(item.id))
          yield* remove(tx, id, owner, ids)
        }
      }
      yield* sweep(tx)
    })

  const all = (items: ReadonlyArray<VectorIndex.VectorItem>): ReadonlyArray<Vector> | MemoryStoreError => {
    const vectors: Array<Vector> = []
    for (const item of items) {
      const vector = checked(item.vector)
      if (vector instanceof MemoryStoreError) return vector
      vectors.push(vector)
    }
    return vectors
  }

  return {
    upsert: (ownerId, items) =>
      Effect.suspend((): Effect.Effect<void, Failure> => {
        const vectors = all(items)
        if (vectors instanceof MemoryStoreError) return Effect.fail(vectors)
        if (items.length === 0) return Effect.void
        return guarded(database.transaction((tx) => write(tx, ownerId, items, vectors, upserts)))
      }),
    fill: (tx, ownerId, items) =>
      Effect.suspend((): Effect.Effect<void, SqlError | MemoryStoreError> => {
        const vectors = all(items)
        return vectors instanceof MemoryStoreError ? Effect.fail(vectors) : write(tx, ownerId, items, vectors, fills)
      }),
    delete: (ownerId, ids) => {
      if (ids.length === 0) return Effect.void
      const owner = KeyText.encode(ownerId)
      const encoded = ids.map(KeyText.encode)
      const work = database.transaction((tx) =>
        Effect.gen(function* () {
          let own: State | undefined
          for (const id of yield* spaces(tx)) {
            const before = yield* remove(tx, id, owner, encoded)
            if (id === space.id) own = before
          }
          return own
        })
      )
      return Effect.flatMap(isNested, (nested) =>
        Effect.map(guarded(work), (before) => {
          if (before === undefined || nested || removed === undefined) return
          const revision = before.revision + 1
          removed(ownerId, before, { incarnation: before.incarnation, revision, purged: revision }, ids)
        })
      )
    },
    clear: (ownerId) => {
      const owner = KeyText.encode(ownerId)
      return guarded(
        database.transaction((tx) =>
          Effect.flatMap(spaces(tx), (ids) =>
            Effect.forEach(
              ids,
              (id) =>
                Effect.gen(function* () {
                  yield* tx.rows(sql.hold, [id, owner])
                  yield* tx.run(sql.clear, [id, owner])
                  yield* tx.run(sql.forget, [id, owner])
                }),
              { discard: true }
            )
          )
        )
      ).pipe(Effect.tap(() => Effect.sync(() => cleared?.(ownerId))))
    }
  }
}

/**
 * @category constructors
 */
export const make = (database: Database.Database, options: Options): VectorRows => {
  const { space } = options
  const { dialect } = database
  const sql = makeStatements(dialect, space.table)
  const errors = makeErrors(options)
  return {
    checked: makeChecked(options),
    guarded,
    ...makeUpkeep(database, options),
    count: (ownerId) =>
      Effect.flatMap(Clock.currentTimeMillis, (now) =>
        guarded(
          Effect.map(database.first(sql.count, [space.id, KeyText.encode(ownerId), now]), (row) => Number(row?.n ?? 0))
        )
      ),
    known: (ownerId, ids) =>
      Effect.flatMap(Clock.currentTimeMillis, (now) => {
        const owner = KeyText.encode(ownerId)
        return guarded(
          Effect.reduce(chunked(ids, MANY), new Set<EntryId>(), (found, some) =>
            Effect.map(
              database.rows(sql.known, [space.id, owner, dialect.list(some.map(KeyText.encode)), now]),
              (rows) => {
                for (const { id } of rows) found.add(KeyText.decode(id) as EntryId)
                return found
              }
            )
          )
        )
      }),
    state: (ownerId) =>
      Effect.flatMap(
        guarded(database.first(sql.state, [KeyText.encode(ownerId), space.id])),
        (row): Effect.Effect<State | undefined, MemoryStoreError> => {
          if (row === undefined) return Effect.fail(errors.replaced())
          return Effect.succeed(row.incarnation === null ? undefined : stateOf(row))
        }
      ),
    health: Effect.flatMap(guarded(database.first(sql.health, [space.id])), (row) =>
      row === undefined ? Effect.fail(errors.replaced()) : Effect.void
    )
  }
}
