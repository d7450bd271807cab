/**
 * An `ExperimentStore` in a database: experiments outlive their process, and several processes share them.
 *
 * @since 0.1.0
 */
import type * as SqlClient from "@effect/sql/SqlClient"
import type { SqlError } from "@effect/sql/SqlError"
import * as Chunk from "effect/Chunk"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import * as ExperimentPage from "../../eval/record/ExperimentPage.js"
import { Entry, Header, keyOf } from "../../eval/record/ExperimentRecord.js"
import * as ExperimentStore from "../../eval/record/ExperimentStore.js"
import * as StoreErrors from "../../eval/record/ExperimentStoreError.js"
import type * as Database from "../engine/Database.js"
import * as ExactJson from "../engine/ExactJson.js"
import * as IndexKey from "../engine/IndexKey.js"
import * as SqlFailure from "../engine/SqlFailure.js"
import * as StatementTexts from "../engine/StatementTexts.js"
import * as MigrationRun from "../schema/MigrationRun.js"
import type { MigrationFailure } from "../schema/Migrations.js"

type ExperimentStoreError = StoreErrors.ExperimentStoreError

interface EntryRow {
  readonly number: number
  readonly body: string
}

/** Entries that one statement reads. */
const pageSize = 500

/**
 * An entry is added under a lock of its experiment. It gets its number once it has the lock, which its transaction
 * keeps. So entries of an experiment are committed in the order of their numbers, and a reader that goes on after a
 * number misses none.
 */
const statements = ({ dialect }: Database.Database) => ({
  open: dialect.sql(
    `INSERT INTO lex_experiments (id, name, fingerprint, created_at, body) VALUES (?, ?, ?, ?, ?)
    ON CONFLICT (id) DO NOTHING`
  ),
  get: dialect.sql("SELECT body FROM lex_experiments WHERE id = ?"),
  append: dialect.sql(
    `INSERT INTO lex_experiment_entries (experiment, trial, body)
    SELECT id, ?, ? FROM lex_experiments WHERE id = ?${dialect.forUpdate} ON CONFLICT DO NOTHING`
  ),
  read: dialect.sql(
    `SELECT number, body FROM lex_experiment_entries WHERE experiment = ? AND number > ? ORDER BY number LIMIT ?`
  ),
  remove: dialect.sql("DELETE FROM lex_experiments WHERE id = ?"),
  removeEntries: dialect.sql("DELETE FROM lex_experiment_entries WHERE experiment = ?"),
  list: StatementTexts.make((where) =>
    dialect.sql(
      `SELECT body FROM lex_experiments WHERE (created_at, id) < (?, ?)${where} ORDER BY created_at DESC, id DESC LIMIT ?`
    )
  )
})

const failure = (error: SqlError): ExperimentStoreError => {
  const { hint, message } = SqlFailure.fields(error)
  return StoreErrors.storage(message, hint === undefined ? {} : { hint })
}

const unreadable = (): ExperimentStoreError =>
  StoreErrors.storage("What the database holds of an experiment cannot be read", {
    hint: "A newer version of the library may have written it"
  })

const decoderOf = <A, I>(schema: Schema.Schema<A, I>) => {
  const decode = Schema.decodeUnknown(schema)
  return (body: string): Effect.Effect<A, ExperimentStoreError> =>
    Effect.try({ try: () => ExactJson.decode(body), catch: unreadable }).pipe(
      Effect.flatMap((value) => Effect.mapError(decode(value), unreadable))
    )
}

const headerOf = decoderOf(Header)
const entryOf = decoderOf(Entry)
const encodeHeader = Schema.encodeSync(Header)
const encodeEntry = Schema.encodeSync(Entry)

const makeService = (database: Database.Database): ExperimentStore.Service => {
  const sql = statements(database)
  const get = (id: string) =>
    Effect.mapError(database.first<{ readonly body: string }>(sql.get, [IndexKey.of(id)]), failure).pipe(
      Effect.flatMap((row) => (row === undefined ? Effect.succeedNone : Effect.asSome(headerOf(row.body))))
    )
  const known = (id: string) =>
    Effect.flatMap(get(id), (header) => (Option.isNone(header) ? Effect.fail(StoreErrors.unknown(id)) : Effect.void))
  const open: ExperimentStore.Service["open"] = (header) =>
    Effect.gen(function* () {
      const { createdAt, fingerprint, id, name } = header
      const body = ExactJson.encode(encodeHeader(header))
      const params = [IndexKey.of(id), IndexKey.of(name), IndexKey.of(fingerprint), createdAt, body]
      if ((yield* Effect.mapError(database.run(sql.open, params), failure)) > 0) return { header, added: true }
      const found = yield* get(id)
      // Removed in the meantime.
      if (Option.isNone(found)) return yield* open(header)
      if (found.value.fingerprint !== fingerprint) return yield* StoreErrors.conflict(id)
      return { header: found.value, added: false }
    })
  const page = (id: string, after: number) =>
    Effect.mapError(database.rows<EntryRow>(sql.read, [IndexKey.of(id), after, pageSize]), failure).pipe(
      Effect.flatMap((rows) =>
        Effect.map(
          Effect.forEach(rows, (row) =>
            Effect.map(entryOf(row.body), (entry) => ({ entry, position: `${numberOf(row)}` }))
          ),
          (entries) =>
            [
              Chunk.unsafeFromArray(entries),
              rows.length < pageSize ? Option.none<number>() : Option.map(Option.fromNullable(rows.at(-1)), numberOf)
            ] as const
        )
      )
    )
  return {
    open,
    get,
    list: (filter = {}) =>
      Effect.gen(function* () {
        const place = yield* ExperimentPage.fromCursor(filter)
        const limit = ExperimentPage.limitOf(filter)
        const { name } = filter
        const rows = yield* Effect.mapError(
          database.rows<{ readonly body: string }>(sql.list(name === undefined ? "" : " AND name = ?"), [
            place?.createdAt ?? Number.MAX_VALUE,
            place === undefined ? "" : IndexKey.of(place.id),
            ...(name === undefined ? [] : [IndexKey.of(name)]),
            limit + 1
          ]),
          failure
        )
        return ExperimentPage.of(yield* Effect.forEach(rows, ({ body }) => headerOf(body)), limit)
      }),
    append: (id, entry) => {
      const trial = entry._tag === "Ended" ? IndexKey.of(keyOf(entry.trial)) : null
      const params = [trial, ExactJson.encode(encodeEntry(entry)), IndexKey.of(id)]
      return Effect.flatMap(Effect.mapError(database.run(sql.append, params), failure), (added) =>
        added > 0 ? Effect.void : known(id)
      )
    },
    read: (id, options = {}) =>
      Stream.unwrap(
        Effect.map(Effect.zipRight(known(id), ExperimentPage.fromPosition(options)), (from) =>
          Stream.paginateChunkEffect(from, (after) => page(id, after))
        )
      ),
    remove: (id) =>
      Effect.mapError(
        database.transaction((tx) =>
          Effect.flatMap(tx.run(sql.remove, [IndexKey.of(id)]), (removed) =>
            Effect.as(tx.run(sql.removeEntries, [IndexKey.of(id)]), removed > 0)
          )
        ),
        failure
      )
  }
}

const numberOf = ({ number }: EntryRow): number => Number(number)

const build = (migrate: boolean) => Effect.map(MigrationRun.open({ migrate }), makeService)

/**
 * Requires a database with the tables of this version.
 *
 * @since 0.1.0
 * @category constructors
 */
export const make: Effect.Effect<ExperimentStore.Service, MigrationFailure, SqlClient.SqlClient> = build(false)

/**
 * Fails with `MigrationError` (`absent`) if the database lacks the tables.
 *
 * @since 0.1.0
 * @category layers
 */
export const layer: Layer.Layer<ExperimentStore.ExperimentStore, MigrationFailure, SqlClient.SqlClient> = Layer.effect(
  ExperimentStore.ExperimentStore,
  make
)

/**
 * Migrates the database first.
 *
 * @since 0.1.0
 * @category layers
 * @example
 * ```ts
 * import { Experiment, Gate } from "effect-lexigram/eval"
 * import { SqlExperimentStore, SqliteClient } from "effect-lexigram/persistence"
 * import * as Effect from "effect/Effect"
 *
 * // A later process judges what `Experiment.run` has kept.
 * const program = Effect.gen(function* () {
 *   const results = yield* Experiment.load("1a2b3c4")
 *   yield* Gate.check(results, { min: { exact: 0.9 } })
 * }).pipe(Effect.provide(SqlExperimentStore.layerMigrated), Effect.provide(SqliteClient.layer({ file: "evals.db" })))
 * ```
 */
export const layerMigrated: Layer.Layer<ExperimentStore.ExperimentStore, MigrationFailure, SqlClient.SqlClient> =
  Layer.effect(ExperimentStore.ExperimentStore, build(true))
