/**
 * Steering whose messages to durable runs are in a database: any process adds them, and they wait for a run that sleeps
 * or goes on elsewhere.
 *
 * @since 0.1.0
 */
import type * as SqlClient from "@effect/sql/SqlClient"
import type { SqlError } from "@effect/sql/SqlError"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Steering from "../../agent/record/Steering.js"
import * as Step from "../../observability/Step.js"
import type { Database } from "../engine/Database.js"
import * as ExactJson from "../engine/ExactJson.js"
import * as IndexKey from "../engine/IndexKey.js"
import * as Payloads from "../engine/Payloads.js"
import * as SqlFailure from "../engine/SqlFailure.js"
import * as MigrationRun from "../schema/MigrationRun.js"
import type { MigrationFailure } from "../schema/Migrations.js"

const TABLE = "lex_run_messages"

/** `taken_by` of the row after which no message is added. */
const END = "end"

const isOpen = "EXISTS (SELECT 1 FROM lex_run_records WHERE run_id = ? AND ended_at IS NULL)"
const isClosed = `EXISTS (SELECT 1 FROM ${TABLE} WHERE run_id = ? AND taken_by = '${END}')`
const waits = `FROM ${TABLE} WHERE run_id = ? AND taken_by IS NULL`

const statements = ({ dialect }: Database) => {
  // Two rows never get one number: of an end and a message at the same time one fails and is tried again.
  const insert = (takenBy: string, condition: string) =>
    dialect.sql(
      `INSERT INTO ${TABLE} (run_id, number, taken_by, body, data)
      SELECT ?, (SELECT COALESCE(MAX(number), 0) + 1 FROM ${TABLE} WHERE run_id = ?), ${takenBy}, ?, ?
      WHERE NOT ${isClosed} AND ${condition} ON CONFLICT (run_id, number) DO NOTHING`
    )
  return {
    add: insert("NULL", `${isOpen} AND (SELECT COUNT(*) ${waits}) < ?`),
    state: dialect.sql(`SELECT ${isOpen} AND NOT ${isClosed} AS open, (SELECT COUNT(*) ${waits}) AS waiting`),
    close: insert(`'${END}'`, `NOT EXISTS (SELECT 1 ${waits})`),
    closed: dialect.sql(`SELECT ${isClosed} AS closed, EXISTS (SELECT 1 ${waits}) AS waiting`),
    some: dialect.sql(
      `SELECT EXISTS (SELECT 1 ${waits}) AS waiting,
        EXISTS (SELECT 1 FROM ${TABLE} WHERE run_id = ? AND taken_by = ?) AS taken`
    ),
    take: dialect.sql(`UPDATE ${TABLE} SET taken_by = ? WHERE run_id = ? AND taken_by IS NULL`),
    taken: dialect.sql(`SELECT body, data FROM ${TABLE} WHERE run_id = ? AND taken_by = ? ORDER BY number`)
  }
}

const failure = (error: SqlError): Steering.SteeringError =>
  new Steering.SteeringError({ ...SqlFailure.fields(error), reason: "storage" })

const isTrue = (value: unknown): boolean => value === true || Number(value) === 1

const textOf = (row: Payloads.Kept): string | undefined => {
  const text = Payloads.unpack(row)
  return text === undefined ? undefined : String(ExactJson.decode(text))
}

const warn = (what: string) => (error: SqlError) =>
  Effect.annotateLogs(Effect.logWarning(`${what}: ${SqlFailure.fields(error).message}`), { module: "SqlSteering" })

const inboxesOf = (database: Database): Steering.Inboxes => {
  const sql = statements(database)

  const add = (key: string, packed: Payloads.Packed, atMost: number): Effect.Effect<void, Steering.SteeringError> =>
    Effect.gen(function* () {
      const values = [key, key, packed.body, packed.data ?? null, key, key, key, atMost]
      const added = yield* Effect.mapError(database.run(sql.add, values), failure)
      if (added > 0) return
      const row = yield* Effect.mapError(database.first(sql.state, [key, key, key]), failure)
      if (!isTrue(row?.["open"])) return yield* Steering.notRunning()
      if (Number(row?.["waiting"]) >= atMost) return yield* Steering.full(atMost)
      // Another process took the number.
      yield* Effect.zipRight(Effect.yieldNow(), add(key, packed, atMost))
    })

  const close = (key: string): Effect.Effect<boolean, SqlError> =>
    Effect.gen(function* () {
      const added = yield* database.run(sql.close, [key, key, null, null, key, key])
      if (added > 0) return true
      const row = yield* database.first(sql.closed, [key, key])
      if (isTrue(row?.["closed"])) return true
      if (isTrue(row?.["waiting"])) return false
      return yield* Effect.zipRight(Effect.yieldNow(), close(key))
    })

  /** Those of a step: a process that died in the step has taken them for it too. */
  const take = (key: string, step: string): Effect.Effect<ReadonlyArray<string>, SqlError> =>
    Effect.gen(function* () {
      const some = yield* database.first(sql.some, [key, key, step])
      if (isTrue(some?.["waiting"])) yield* database.run(sql.take, [step, key])
      else if (!isTrue(some?.["taken"])) return []
      const rows = yield* database.rows<Payloads.Kept>(sql.taken, [key, step])
      return rows.flatMap((row) => textOf(row) ?? [])
    })

  return {
    add: (runId, message, atMost) =>
      Effect.flatMap(Payloads.pack(ExactJson.encode(message)), (packed) => add(IndexKey.of(runId), packed, atMost)),
    of: (runId) => {
      const key = IndexKey.of(runId)
      return {
        isKept: true,
        take: Effect.flatMap(Step.Place, ({ path }) =>
          Effect.catchAll(take(key, IndexKey.of(`at${path}`)), (error) =>
            // They wait for the next step.
            Effect.as(warn("messages to a run were not read")(error), [])
          )
        ),
        close: Effect.catchAll(close(key), (error) =>
          Effect.as(warn("a run could not say that it takes no more messages")(error), true)
        )
      }
    }
  }
}

const build = (migrate: boolean, options: Steering.Options | undefined) =>
  Effect.map(MigrationRun.open({ migrate }), (database) => Steering.make(options, inboxesOf(database)))

/**
 * Requires a database with the tables of this version. Runs that are not durable are steered within their process.
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = (
  options?: Steering.Options | undefined
): Effect.Effect<Steering.Service, MigrationFailure, SqlClient.SqlClient> => build(false, options)

/**
 * Fails with `MigrationError` (`absent`) if the database lacks the tables.
 *
 * @since 0.1.0
 * @category layers
 */
export const layer = (
  options?: Steering.Options | undefined
): Layer.Layer<Steering.Steering, MigrationFailure, SqlClient.SqlClient> =>
  Layer.effect(Steering.Steering, make(options))

/**
 * Migrates the database first.
 *
 * @since 0.1.0
 * @category layers
 * @example
 * ```ts
 * import { Agents, Steering } from "effect-lexigram"
 * import { SqliteClient, SqlSteering } from "effect-lexigram/persistence"
 * import * as Effect from "effect/Effect"
 * import * as Layer from "effect/Layer"
 *
 * const steering = SqlSteering.layerMigrated().pipe(Layer.provide(SqliteClient.layer({ file: "agents.db" })))
 *
 * const agents = Agents.layerWith({ steering })
 *
 * // From any process on this file, to a durable run.
 * const tell = (runId: string) =>
 *   Steering.steer({ runId }, "Only the first chapter, please").pipe(Effect.provide(steering))
 * ```
 */
export const layerMigrated = (
  options?: Steering.Options | undefined
): Layer.Layer<Steering.Steering, MigrationFailure, SqlClient.SqlClient> =>
  Layer.effect(Steering.Steering, build(true, options))
