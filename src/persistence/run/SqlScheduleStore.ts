/**
 * A `ScheduleStore` in a database: schedules outlive their process, and several processes share them.
 *
 * @since 0.1.0
 */
import type * as SqlClient from "@effect/sql/SqlClient"
import type { SqlError } from "@effect/sql/SqlError"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as RunPage from "../../agent/record/RunPage.js"
import { dueAt, RunSchedule } from "../../agent/record/RunSchedule.js"
import * as ScheduleErrors from "../../agent/record/ScheduleError.js"
import * as SchedulePage from "../../agent/record/SchedulePage.js"
import * as ScheduleStore from "../../agent/record/ScheduleStore.js"
import * as SystemAccess from "../../domain/SystemAccess.js"
import type * as Database from "../engine/Database.js"
import type { Param } from "../engine/Dialect.js"
import * as ExactJson from "../engine/ExactJson.js"
import * as IndexKey from "../engine/IndexKey.js"
import * as SqlFailure from "../engine/SqlFailure.js"
import * as StatementTexts from "../engine/StatementTexts.js"
import * as MigrationRun from "../schema/MigrationRun.js"
import type { MigrationFailure } from "../schema/Migrations.js"

type ScheduleError = ScheduleErrors.ScheduleError

interface Row {
  readonly id: string
  readonly user_id: string | null
  readonly fingerprint: string
  readonly body: string
}

const TABLE = "lex_run_schedules"
const selected = "id, user_id, fingerprint, body"

const statements = ({ dialect }: Database.Database) => ({
  insert: dialect.sql(
    `INSERT INTO ${TABLE} (id, uid, fingerprint, user_id, agent, state, created_at, due_at, revision, body)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO NOTHING`
  ),
  get: dialect.sql(`SELECT ${selected} FROM ${TABLE} WHERE id = ?`),
  replace: dialect.sql(
    `UPDATE ${TABLE} SET agent = ?, state = ?, due_at = ?, revision = ?, body = ?
    WHERE id = ? AND uid = ? AND revision = ?`
  ),
  remove: dialect.sql(`DELETE FROM ${TABLE} WHERE id = ? AND uid = ?`),
  due: dialect.sql(
    `SELECT ${selected} FROM ${TABLE} WHERE due_at <= ? AND (due_at, id) > (?, ?) AND ${dialect.oneOf("agent || ''")}
    ORDER BY due_at, id LIMIT ?`
  ),
  nextDue: dialect.sql(
    `SELECT due_at FROM ${TABLE} WHERE due_at IS NOT NULL AND ${dialect.oneOf("agent || ''")} ORDER BY due_at LIMIT 1`
  ),
  erase: dialect.sql(`DELETE FROM ${TABLE} WHERE user_id = ?`),
  list: StatementTexts.make((where) =>
    dialect.sql(
      `SELECT ${selected} FROM ${TABLE} WHERE (created_at, id) < (?, ?)${where}
      ORDER BY created_at DESC, id DESC LIMIT ?`
    )
  )
})

const failure = (error: SqlError): ScheduleError =>
  new ScheduleErrors.ScheduleError({ ...SqlFailure.fields(error), reason: "storage" })

const unreadable = (): ScheduleError =>
  new ScheduleErrors.ScheduleError({
    reason: "storage",
    message: "What the database holds of a schedule cannot be read"
  })

const decode = Schema.decodeUnknown(RunSchedule)
const encode = Schema.encodeSync(RunSchedule)

const scheduleOf = ({ body }: Row): Effect.Effect<RunSchedule, ScheduleError> =>
  Effect.try({ try: () => ExactJson.decode(body), catch: unreadable }).pipe(
    Effect.flatMap((value) => Effect.mapError(decode(value), unreadable))
  )

const textOf = (schedule: RunSchedule): string => ExactJson.encode(encode(schedule))

/** The owner of a row. A schedule of the system belongs neither to a user nor to nobody. */
const ownerOf = ({ system, userId }: RunSchedule): string | null =>
  system === true ? IndexKey.everybody : IndexKey.orNull(userId)

/** The conditions of a filter, and their parameters. The first column uses its index. */
const conditionsOf = (
  { agent, state }: ScheduleStore.Filter,
  owner: string | null | undefined
): { readonly where: string; readonly params: ReadonlyArray<Param> } => {
  const equal: ReadonlyArray<readonly [string, string]> = [
    ...(typeof owner === "string" ? [["user_id", owner] as const] : []),
    ...(agent === undefined ? [] : [["agent", IndexKey.of(agent)] as const])
  ]
  const isLed = owner === null
  return {
    where: [
      ...(isLed ? [" AND user_id IS NULL"] : []),
      ...equal.map(([column], i) => ` AND ${column}${isLed || i > 0 ? " || ''" : ""} = ?`),
      ...(state === undefined ? [] : [" AND state = ?"])
    ].join(""),
    params: [...equal.map(([, value]) => value), ...(state === undefined ? [] : [state])]
  }
}

const makeService = (database: Database.Database): ScheduleStore.Service => {
  const sql = statements(database)
  const { dialect } = database
  const first = (text: string, params: ReadonlyArray<Param>) =>
    Effect.mapError(database.first<Row>(text, params), failure)
  const run = (text: string, params: ReadonlyArray<Param>) => Effect.mapError(database.run(text, params), failure)
  const rows = (text: string, params: ReadonlyArray<Param>) =>
    Effect.mapError(database.rows<Row>(text, params), failure)
  const names = (agents: ReadonlyArray<string>) => dialect.list(agents.map(IndexKey.of))

  const insert: ScheduleStore.Service["insert"] = (schedule, fingerprint) =>
    Effect.gen(function* () {
      const id = IndexKey.of(schedule.id)
      const owner = ownerOf(schedule)
      const added = yield* run(sql.insert, [
        id,
        IndexKey.of(schedule.key),
        fingerprint,
        owner,
        IndexKey.of(schedule.agent),
        schedule.state,
        schedule.createdAt,
        dueAt(schedule) ?? null,
        schedule.revision,
        textOf(schedule)
      ])
      if (added > 0) return { schedule, added: true }
      const known = yield* first(sql.get, [id])
      // Removed in the meantime.
      if (known === undefined) return yield* insert(schedule, fingerprint)
      if (known.fingerprint !== fingerprint || known.user_id !== owner) {
        return yield* ScheduleErrors.conflict(schedule.id)
      }
      return { schedule: yield* scheduleOf(known), added: false }
    })

  return {
    insert,
    get: (id, access) =>
      Effect.gen(function* () {
        const row = yield* first(sql.get, [IndexKey.of(id)])
        if (row === undefined) return Option.none()
        const mayRead = yield* SystemAccess.permits(IndexKey.orNull(access?.userId), row.user_id)
        return mayRead ? Option.some(yield* scheduleOf(row)) : Option.none()
      }),
    list: (filter = {}) =>
      Effect.gen(function* () {
        const place = yield* SchedulePage.fromCursor(filter)
        const limit = SchedulePage.limitOf(filter)
        const isSystem = filter.userId === undefined && (yield* SystemAccess.isGranted)
        const { params, where } = conditionsOf(filter, isSystem ? undefined : IndexKey.orNull(filter.userId))
        const { createdAt, key } = place ?? { createdAt: Number.MAX_VALUE, key: "" }
        const found = yield* rows(sql.list(where), [createdAt, key, ...params, limit + 1])
        const page = found.slice(0, limit)
        const schedules = yield* Effect.forEach(page, scheduleOf)
        const last = schedules.at(-1)
        return last === undefined || found.length <= limit
          ? { schedules }
          : { schedules, next: RunPage.toCursor({ createdAt: last.createdAt, key: page.at(-1)?.id ?? "" }) }
      }),
    replace: (schedule) =>
      Effect.map(
        run(sql.replace, [
          IndexKey.of(schedule.agent),
          schedule.state,
          dueAt(schedule) ?? null,
          schedule.revision,
          textOf(schedule),
          IndexKey.of(schedule.id),
          IndexKey.of(schedule.key),
          schedule.revision - 1
        ]),
        (changed) => changed > 0
      ),
    remove: ({ id, key }) => Effect.map(run(sql.remove, [IndexKey.of(id), IndexKey.of(key)]), (removed) => removed > 0),
    due: ({ after, agents, limit, now }) =>
      Effect.flatMap(
        rows(sql.due, [
          now,
          after === undefined ? -Number.MAX_VALUE : (dueAt(after) ?? -Number.MAX_VALUE),
          after === undefined ? "" : IndexKey.of(after.id),
          names(agents),
          limit
        ]),
        (found) => Effect.forEach(found, scheduleOf)
      ),
    nextDue: (agents) =>
      Effect.map(
        Effect.mapError(database.first<{ readonly due_at: number }>(sql.nextDue, [names(agents)]), failure),
        (row) => (row === undefined ? Option.none() : Option.some(Number(row.due_at)))
      ),
    erase: (userId) => run(sql.erase, [IndexKey.of(userId)])
  }
}

const build = (migrate: boolean) => Effect.map(MigrationRun.open({ migrate }), makeService)

/**
 * Requires a database with the tables of this version. If several processes change a schedule at once, one of them
 * succeeds.
 *
 * @since 0.1.0
 * @category constructors
 */
export const make: Effect.Effect<ScheduleStore.Service, MigrationFailure, SqlClient.SqlClient> = build(false)

/**
 * Fails with `MigrationError` (`absent`) if the database lacks the tables.
 *
 * @since 0.1.0
 * @category layers
 */
export const layer: Layer.Layer<ScheduleStore.ScheduleStore, MigrationFailure, SqlClient.SqlClient> = Layer.effect(
  ScheduleStore.ScheduleStore,
  make
)

/**
 * Migrates the database first.
 *
 * @since 0.1.0
 * @category layers
 * @example
 * ```ts
 * import { Agent } from "effect-lexigram"
 * import { Scheduler } from "effect-lexigram/agent"
 * import { SqliteClient, SqlScheduleStore } from "effect-lexigram/persistence"
 * import * as Layer from "effect/Layer"
 *
 * const reporter = Agent.make("reporter", { system: "You write a short report." })
 *
 * // Requires `Runs` of the same agents, such as `DurableRuns.layer({ agents: [reporter] })`.
 * const schedules = Scheduler.layer({ agents: [reporter] }).pipe(
 *   Layer.provide(SqlScheduleStore.layerMigrated),
 *   Layer.provide(SqliteClient.layer({ file: "agents.db" }))
 * )
 * ```
 */
export const layerMigrated: Layer.Layer<ScheduleStore.ScheduleStore, MigrationFailure, SqlClient.SqlClient> =
  Layer.effect(ScheduleStore.ScheduleStore, build(true))
