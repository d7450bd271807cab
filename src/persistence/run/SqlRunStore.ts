/**
 * A `RunStore` in a database: records outlive the process that runs them, and any process can read them.
 *
 * @since 0.1.0
 */
import type * as SqlClient from "@effect/sql/SqlClient"
import type { SqlError } from "@effect/sql/SqlError"
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as RunErrors from "../../agent/record/RunError.js"
import * as RunPage from "../../agent/record/RunPage.js"
import { isEnded, RunRecord } from "../../agent/record/RunRecord.js"
import * as RunStore from "../../agent/record/RunStore.js"
import * as SystemAccess from "../../domain/SystemAccess.js"
import * as Database from "../engine/Database.js"
import type { Param } from "../engine/Dialect.js"
import * as ExactJson from "../engine/ExactJson.js"
import * as IndexKey from "../engine/IndexKey.js"
import * as SqlFailure from "../engine/SqlFailure.js"
import * as Sweeps from "../engine/Sweeps.js"
import * as MigrationRun from "../schema/MigrationRun.js"
import type { MigrationFailure } from "../schema/Migrations.js"
import * as RunRecordLists from "./RunRecordLists.js"

type RunError = RunErrors.RunError

/**
 * @since 0.1.0
 * @category models
 */
export interface Options {
  /**
   * How long a run is kept after its end. Writes delete a few old runs at a time. Default: 90 days; infinity to keep
   * all.
   */
  readonly retain?: Duration.DurationInput | undefined
}

/**
 * @since 0.1.0
 * @category constants
 */
export const defaults = { retain: Duration.days(90) } as const

/** The most runs that are removed at once. */
const page = 500
/** One of this many inserts removes old runs. */
const dropEvery = 16

const columns = [
  "run_id",
  "user_id",
  "fingerprint",
  "state",
  "updated_at",
  "ended_at",
  "session",
  "error",
  "not_undone",
  "body"
]
const selected = columns.join(", ")

interface Row {
  readonly run_id: string
  readonly user_id: string | null
  readonly fingerprint: string
  readonly state: string
  readonly updated_at: number
  readonly ended_at: number | null
  readonly session: string | null
  readonly error: string | null
  readonly not_undone: string | null
  readonly body: string
}

const labels = Database.insertInto("lex_run_labels", ["label", "created_at", "run_id"], "ON CONFLICT DO NOTHING")

const statements = ({ dialect }: Database.Database) => {
  const old = (where: string) =>
    dialect.sql(`SELECT run_id FROM lex_run_records WHERE ${where} LIMIT ${page}${dialect.forUpdateSkipLocked}`)
  return {
    insert: dialect.sql(
      `INSERT INTO lex_run_records
        (run_id, fingerprint, user_id, session_id, agent, state, created_at, updated_at, ended_at, session, error, not_undone,
        body)
      VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (run_id) DO NOTHING`
    ),
    get: dialect.sql(`SELECT ${selected} FROM lex_run_records WHERE run_id = ?`),
    update: dialect.sql(
      `UPDATE lex_run_records SET state = ?, updated_at = ?, ended_at = ?, error = COALESCE(?, error),
        not_undone = COALESCE(?, not_undone),
        session_id = COALESCE(session_id, ?), session = COALESCE(session, ?)
      WHERE run_id = ? AND ended_at IS NULL AND ${dialect.oneOf("state || ''")} RETURNING ${selected}`
    ),
    hasOld: dialect.sql("SELECT 1 AS old FROM lex_run_records WHERE ended_at < ? LIMIT 1"),
    old: old("ended_at < ? ORDER BY ended_at"),
    ofUser: old("user_id = ?"),
    dropRest: ["lex_run_labels", "lex_run_messages", "lex_run_deltas"].map((table) =>
      dialect.sql(`DELETE FROM ${table} WHERE ${dialect.oneOf("run_id")}`)
    ),
    drop: dialect.sql(`DELETE FROM lex_run_records WHERE ${dialect.oneOf("run_id")}`),
    list: RunRecordLists.make(dialect, columns.map((column) => `r.${column}`).join(", "))
  }
}

const failure = (error: SqlError): RunError =>
  new RunErrors.RunError({ ...SqlFailure.fields(error), reason: "storage" })

const unreadable = (): RunError =>
  new RunErrors.RunError({ reason: "storage", message: "What the database holds of a run cannot be read" })

const decode = Schema.decodeUnknown(RunRecord)

const parse = (text: string): Effect.Effect<any, RunError> =>
  Effect.try({ try: () => ExactJson.decode(text), catch: unreadable })

const recordOf = Effect.fnUntraced(function* (row: Row) {
  const body = yield* parse(row.body)
  const session = row.session === null ? {} : { sessionId: yield* parse(row.session) }
  const error = row.error === null ? {} : { error: yield* parse(row.error) }
  const notUndone = row.not_undone === null ? {} : { notUndone: yield* parse(row.not_undone) }
  const ended = row.ended_at === null ? {} : { endedAt: Number(row.ended_at) }
  const changing = { state: row.state, updatedAt: Number(row.updated_at), ...session, ...ended, ...error, ...notUndone }
  return yield* Effect.mapError(decode({ ...body, ...changing }), unreadable)
})

const textOrNull = (value: unknown): string | null => (value === undefined ? null : ExactJson.encode(value))

/** The owner of a row. A run of the system belongs neither to a user nor to nobody. */
const ownerOf = ({ system, userId }: RunRecord): string | null =>
  system === true ? IndexKey.everybody : IndexKey.orNull(userId)

const rowOf = (record: RunRecord, fingerprint: string): ReadonlyArray<Param> => {
  const { createdAt, endedAt, error, notUndone, sessionId, state, updatedAt, ...rest } = record
  return [
    IndexKey.of(record.runId),
    fingerprint,
    ownerOf(record),
    IndexKey.orNull(sessionId),
    IndexKey.of(record.agent),
    state,
    createdAt,
    updatedAt,
    endedAt ?? (isEnded(state) ? updatedAt : null),
    textOrNull(sessionId),
    textOrNull(error),
    textOrNull(notUndone),
    ExactJson.encode({ ...rest, createdAt })
  ]
}

const makeService = (database: Database.Database, options: Options | undefined): RunStore.Service => {
  const sql = statements(database)
  const retain = Duration.toMillis(options?.retain ?? defaults.retain)
  const first = (text: string, params: ReadonlyArray<Param>) => Effect.mapError(database.first(text, params), failure)

  /** Removes a page of runs, and returns how many. */
  const dropPage = (text: string, param: Param): Effect.Effect<number, SqlError> =>
    database.transaction(
      Effect.fnUntraced(function* (tx) {
        const found = yield* tx.rows<{ readonly run_id: string }>(text, [param])
        if (found.length === 0) return 0
        const list = [database.dialect.list(found.map(({ run_id }) => run_id))]
        for (const drop of sql.dropRest) yield* tx.run(drop, list)
        return yield* tx.run(sql.drop, list)
      })
    )
  const dropAll = (text: string, param: Param, dropped = 0): Effect.Effect<number, RunError> =>
    Effect.flatMap(Effect.mapError(dropPage(text, param), failure), (more) =>
      more < page ? Effect.succeed(dropped + more) : dropAll(text, param, dropped + more)
    )
  const sweep = Number.isFinite(retain)
    ? Sweeps.oneIn(
        dropEvery,
        Effect.flatMap(Clock.currentTimeMillis, (now) =>
          Effect.flatMap(database.first(sql.hasOld, [now - retain]), (old) =>
            old === undefined ? Effect.void : Effect.asVoid(dropPage(sql.old, now - retain))
          )
        )
      )
    : Effect.void

  const insert: RunStore.Service["insert"] = (record, fingerprint) =>
    Effect.gen(function* () {
      const row = rowOf(record, fingerprint)
      const [key, , owner] = row
      const names = Object.entries(record.labels).map(([name, value]) => [
        RunRecordLists.labelOf(name, value),
        record.createdAt,
        key as string
      ])
      const added = yield* database
        .transaction(
          Effect.fnUntraced(function* (tx) {
            const added = yield* tx.run(sql.insert, row)
            if (added > 0) yield* tx.insert(labels, names)
            return added
          })
        )
        .pipe(Effect.zipLeft(sweep), Effect.mapError(failure))
      if (added > 0) return { record, added: true }
      const known = (yield* first(sql.get, [key as string])) as Row | undefined
      // Removed in the meantime.
      if (known === undefined) return yield* insert(record, fingerprint)
      if (known.fingerprint !== fingerprint || known.user_id !== owner) return yield* RunErrors.conflict(record.runId)
      return { record: yield* recordOf(known), added: false }
    })

  const find = (runId: string) =>
    Effect.map(first(sql.get, [IndexKey.of(runId)]), (row) => Option.fromNullable(row as Row | undefined))

  return {
    insert,
    update: (runId, change) =>
      Effect.gen(function* () {
        const row = (yield* first(sql.update, [
          change.to,
          change.at,
          isEnded(change.to) ? change.at : null,
          textOrNull(change.error),
          textOrNull(change.notUndone),
          IndexKey.orNull(change.sessionId),
          textOrNull(change.sessionId),
          IndexKey.of(runId),
          database.dialect.list(change.from)
        ])) as Row | undefined
        if (row !== undefined) return Option.some({ record: yield* recordOf(row), changed: true })
        const known = yield* find(runId)
        return Option.isNone(known)
          ? Option.none()
          : Option.some({ record: yield* recordOf(known.value), changed: false })
      }),
    get: (runId, access) =>
      Effect.flatMap(
        find(runId),
        Option.match({
          onNone: () => Effect.succeed(Option.none()),
          onSome: (row) =>
            Effect.flatMap(SystemAccess.permits(IndexKey.orNull(access?.userId), row.user_id), (mayRead) =>
              mayRead ? Effect.asSome(recordOf(row)) : Effect.succeed(Option.none())
            )
        })
      ),
    list: (filter = {}) =>
      Effect.gen(function* () {
        const place = yield* RunPage.fromCursor(filter.cursor)
        const limit = RunPage.limitOf(filter)
        const owner = filter.userId ?? ((yield* SystemAccess.isGranted) ? undefined : null)
        // A run has at most 16 labels.
        if (filter.states?.length === 0 || Object.keys(filter.labels ?? {}).length > 16) return { records: [] }
        const { params, text } = sql.list(filter, owner, place, limit + 1)
        const rows = yield* Effect.mapError(database.rows(text, params), failure)
        const records: Array<RunRecord> = []
        for (const row of rows.slice(0, limit)) records.push(yield* recordOf(row as Row))
        const last = records.at(-1)
        return last === undefined || rows.length <= limit
          ? { records }
          : { records, next: RunPage.toCursor({ createdAt: last.createdAt, key: (rows[limit - 1] as Row).run_id }) }
      }),
    prune: ({ before }) => dropAll(sql.old, before),
    erase: (userId) => dropAll(sql.ofUser, IndexKey.of(userId))
  }
}

const build = (migrate: boolean, options: Options | undefined) =>
  Effect.map(MigrationRun.open({ migrate }), (database) => makeService(database, options))

/**
 * Requires a database with the tables of this version. If several processes change a run at once, one of them succeeds.
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = (
  options?: Options | undefined
): Effect.Effect<RunStore.Service, MigrationFailure, SqlClient.SqlClient> => build(false, options)

/**
 * Fails with `MigrationError` (`absent`) if the database lacks the tables.
 *
 * @since 0.1.0
 * @category layers
 */
export const layer = (
  options?: Options | undefined
): Layer.Layer<RunStore.RunStore, MigrationFailure, SqlClient.SqlClient> =>
  Layer.effect(RunStore.RunStore, make(options))

/**
 * Migrates the database first.
 *
 * @since 0.1.0
 * @category layers
 * @example
 * ```ts
 * import { RunStore } from "effect-lexigram/agent"
 * import { SqliteClient, SqlRunStore } from "effect-lexigram/persistence"
 * import * as Effect from "effect/Effect"
 *
 * // The records of the runs of a user, whichever process runs them.
 * const program = Effect.flatMap(RunStore.RunStore, (store) => store.list({ userId: "ada" })).pipe(
 *   Effect.provide(SqlRunStore.layerMigrated({ retain: "30 days" })),
 *   Effect.provide(SqliteClient.layer({ file: "agents.db" }))
 * )
 * ```
 */
export const layerMigrated = (
  options?: Options | undefined
): Layer.Layer<RunStore.RunStore, MigrationFailure, SqlClient.SqlClient> =>
  Layer.effect(RunStore.RunStore, build(true, options))
