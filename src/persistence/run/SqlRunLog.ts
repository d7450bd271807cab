/**
 * A `RunLog` in a database.
 *
 * @since 0.1.0
 */
import * as SqlClient from "@effect/sql/SqlClient"
import type { SqlError } from "@effect/sql/SqlError"
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as AgentEvent from "../../domain/AgentEvent.js"
import type { RunId } from "../../domain/Ids.js"
import * as SystemAccess from "../../domain/SystemAccess.js"
import { count } from "../../internal/Count.js"
import * as RunLog from "../../observability/RunLog.js"
import * as Database from "../engine/Database.js"
import * as Dialect from "../engine/Dialect.js"
import * as ExactJson from "../engine/ExactJson.js"
import * as IndexKey from "../engine/IndexKey.js"
import * as Payloads from "../engine/Payloads.js"
import * as SqlFailure from "../engine/SqlFailure.js"
import * as Sweeps from "../engine/Sweeps.js"
import * as MigrationRun from "../schema/MigrationRun.js"
import type { MigrationFailure } from "../schema/Migrations.js"

/**
 * @since 0.1.0
 * @category models
 */
export interface Options {
  /**
   * How long a run is kept after its last event, accurate to an hour. Writes delete a few old runs at a time. Default:
   * 90 days; infinity to keep all.
   */
  readonly retain?: Duration.DurationInput | undefined
}

/**
 * @since 0.1.0
 * @category constants
 */
export const defaults = { retain: Duration.days(90) } as const

/** The most events in one statement. */
const page = 500
/** Minimum time in milliseconds between two updates of a run's last event time. */
const seenEvery = 3_600_000
/** The most running runs whose row a log remembers. One that it forgets is written again. */
const mostRuns = 4096
/** One of this many writes deletes old runs. */
const dropEvery = 16
const droppedRuns = 16
const droppedEvents = 2000

const events = Database.insertInto(
  "lex_run_events",
  ["run_id", "seq", "body", "data"],
  "ON CONFLICT (run_id, seq) DO NOTHING"
)

const statements = ({ dialect }: Database.Database) => {
  const select = "SELECT seq, body, data FROM lex_run_events WHERE run_id = ? AND"
  return {
    run: dialect.sql(
      `INSERT INTO lex_runs (run_id, parent_run_id, agent, session_id, user_id, last_at)
      VALUES (?, ?, ?, COALESCE(?, (SELECT session_id FROM lex_runs WHERE run_id = ?)),
        COALESCE(?, (SELECT user_id FROM lex_runs WHERE run_id = ?), ?), ?)
      ON CONFLICT (run_id) DO UPDATE SET
        session_id = COALESCE(lex_runs.session_id, excluded.session_id),
        user_id = COALESCE(lex_runs.user_id, excluded.user_id),
        last_at = CASE WHEN excluded.last_at > lex_runs.last_at THEN excluded.last_at ELSE lex_runs.last_at END
      WHERE excluded.last_at >= lex_runs.last_at + ${seenEvery}
        OR (excluded.session_id IS NOT NULL AND lex_runs.session_id IS NULL)
        OR (excluded.user_id IS NOT NULL AND lex_runs.user_id IS NULL)`
    ),
    owner: dialect.sql("SELECT user_id FROM lex_runs WHERE run_id = ?"),
    from: dialect.sql(`${select} seq >= ? ORDER BY seq LIMIT ?`),
    after: dialect.sql(`${select} seq > ? ORDER BY seq LIMIT ?`),
    hasOld: dialect.sql("SELECT 1 AS old FROM lex_runs WHERE last_at < ? LIMIT 1"),
    old: dialect.sql(
      `SELECT run_id FROM lex_runs WHERE last_at < ? ORDER BY last_at LIMIT ${droppedRuns}${dialect.forUpdateSkipLocked}`
    ),
    dropEvents: dialect.sql(
      `WITH old AS MATERIALIZED (SELECT run_id, seq FROM lex_run_events WHERE run_id = ? LIMIT ${droppedEvents})
      DELETE FROM lex_run_events WHERE (run_id, seq) IN (SELECT run_id, seq FROM old)`
    ),
    dropRun: dialect.sql("DELETE FROM lex_runs WHERE run_id = ?")
  }
}

type OwnerRow = { readonly user_id: string | null }

type EventRow = Payloads.Kept & { readonly seq: number }

const failure = (operation: RunLog.RunLogError["operation"]) => (error: SqlError) =>
  new RunLog.RunLogError({ ...SqlFailure.fields(error), operation })

/** What some events of a run say about it. */
interface Told {
  readonly parentRunId: string | undefined
  readonly agent: string
  sessionId?: string | undefined
  userId?: string | undefined
  system?: boolean | undefined
  lastAt: number
  hasStarted: boolean
  hasEnded: boolean
}

/** Parent runs come before their children. */
const runsOf = (events: ReadonlyArray<AgentEvent.AgentEvent>): ReadonlyMap<RunId, Told> => {
  const runs = new Map<RunId, Told>()
  for (const event of events) {
    let told = runs.get(event.runId)
    if (told === undefined) {
      told = {
        parentRunId: event.parentRunId,
        agent: event.agent,
        lastAt: event.at,
        hasStarted: false,
        hasEnded: false
      }
      runs.set(event.runId, told)
    }
    if (event.at > told.lastAt) told.lastAt = event.at
    if (event._tag === "Started") {
      told.hasStarted = true
      told.userId = event.userId
      told.system = event.system
    }
    if (event._tag === "Started" || event._tag === "Finished") told.sessionId ??= event.sessionId
    if (AgentEvent.isTerminal(event)) told.hasEnded = true
  }
  return runs
}

/** The runs whose rows are written, with the times of their last events there. */
const makeWritten = () => {
  const times = new Map<RunId, number>()
  return {
    /** Whether events of a run change its row: the first ones, the last ones, and those of an hour later. */
    isDue: ([runId, told]: readonly [RunId, Told]): boolean => {
      const at = times.get(runId)
      return at === undefined || told.hasStarted || told.hasEnded || told.lastAt >= at + seenEvery
    },
    add: ([runId, told]: readonly [RunId, Told]): void => {
      times.delete(runId)
      if (told.hasEnded) return
      times.set(runId, told.lastAt)
      if (times.size > mostRuns) times.delete(times.keys().next().value as RunId)
    }
  }
}

const runParams = ([runId, told]: readonly [string, Told]): ReadonlyArray<Dialect.Param> => {
  const parent = IndexKey.orNull(told.parentRunId)
  const { agent, lastAt, sessionId, system, userId } = told
  // A run that the system began without a user belongs neither to a user nor to nobody.
  const least = system === true ? IndexKey.everybody : null
  const owners = [IndexKey.orNull(sessionId), parent, IndexKey.orNull(userId), parent, least]
  return [IndexKey.of(runId), parent, IndexKey.of(agent), ...owners, lastAt]
}

const rowOf = (event: AgentEvent.AgentEvent): Effect.Effect<ReadonlyArray<Dialect.Param>> =>
  Effect.map(Payloads.pack(ExactJson.encode(event)), ({ body, data }) => [
    IndexKey.of(event.runId),
    event.seq,
    body,
    data ?? null
  ])

const rowsOf = Effect.fnUntraced(function* (events: ReadonlyArray<AgentEvent.AgentEvent>) {
  const rows: Array<ReadonlyArray<Dialect.Param>> = []
  for (const event of events) rows.push(yield* rowOf(event))
  return rows
})

const decode = Schema.decodeUnknownOption(AgentEvent.AgentEvent, { onExcessProperty: "preserve" })

/** `None` for an event that this version of the library does not know. */
const eventOf = (row: EventRow): Effect.Effect<Option.Option<AgentEvent.AgentEvent>, RunLog.RunLogError> => {
  const unreadable = () =>
    new RunLog.RunLogError({
      message: `What the database holds of event ${Number(row.seq)} cannot be read`,
      operation: "read"
    })
  const text = Payloads.unpack(row)
  return text === undefined
    ? Effect.fail(unreadable())
    : Effect.map(Effect.try({ try: () => ExactJson.decode(text), catch: unreadable }), decode)
}

const passedOver = (events: number): Effect.Effect<void> =>
  events === 0
    ? Effect.void
    : Effect.annotateLogs(
        Effect.logWarning(`${events} events of a run were passed over: this version of the library does not know them`),
        { module: "SqlRunLog" }
      )

const inTransaction: Effect.Effect<boolean> = Effect.map(
  Effect.serviceOption(SqlClient.TransactionConnection),
  Option.isSome
)

const makeService = (database: Database.Database, options: Options | undefined): RunLog.Service => {
  const sql = statements(database)
  const retain = Duration.toMillis(options?.retain ?? defaults.retain)

  /** Deletes some runs whose last event is older, and only some events of a long run. */
  const drop = (before: number): Effect.Effect<void, SqlError> =>
    database.transaction(
      Effect.fnUntraced(function* (tx) {
        let left = droppedEvents
        for (const { run_id } of yield* tx.rows<{ readonly run_id: string }>(sql.old, [before])) {
          if (left <= 0) return
          const dropped = yield* tx.run(sql.dropEvents, [run_id])
          left -= dropped
          if (dropped < droppedEvents) yield* tx.run(sql.dropRun, [run_id])
        }
      })
    )

  const sweep = Number.isFinite(retain)
    ? Sweeps.oneIn(
        dropEvery,
        Effect.flatMap(Clock.currentTimeMillis, (now) =>
          Effect.flatMap(database.first(sql.hasOld, [now - retain]), (old) =>
            old === undefined ? Effect.void : drop(now - retain)
          )
        )
      )
    : Effect.void

  const written = makeWritten()
  const write = (appended: ReadonlyArray<AgentEvent.AgentEvent>, rows: ReadonlyArray<ReadonlyArray<Dialect.Param>>) => {
    const due = Array.from(runsOf(appended)).filter(written.isDue)
    if (due.length === 0 && rows.length <= Dialect.maxRows) return database.insert(events, rows)
    return Effect.tap(
      database.transaction(
        Effect.fnUntraced(function* (tx) {
          for (const run of due) yield* tx.run(sql.run, runParams(run))
          return yield* tx.insert(events, rows)
        })
      ),
      // The transaction of a caller may still be rolled back: it says when it is committed.
      () =>
        Effect.map(inTransaction, (isOfCaller) => {
          if (!isOfCaller) due.forEach(written.add)
        })
    )
  }

  return RunLog.withLive({
    enabled: true,
    inTransaction,
    committed: (events) => {
      for (const run of runsOf(events)) written.add(run)
    },
    append: (appended) =>
      appended.length === 0
        ? Effect.void
        : Effect.flatMap(rowsOf(appended), (rows) => Effect.zipRight(write(appended, rows), sweep)).pipe(
            Effect.mapError(failure("append"))
          ),
    read: Effect.fnUntraced(function* (runId, readOptions) {
      const key = IndexKey.of(runId)
      const run = yield* Effect.mapError(database.first<OwnerRow>(sql.owner, [key]), failure("read"))
      const reader = readOptions?.userId
      if (run === undefined || !(yield* SystemAccess.permits(IndexKey.orNull(reader), run.user_id))) return []
      const limit = count(readOptions?.limit, Number.POSITIVE_INFINITY, 0)
      const found: Array<AgentEvent.AgentEvent> = []
      let unknown = 0
      for (let after: number | undefined; found.length < limit; ) {
        const size = Math.min(page, limit - found.length)
        const text = after === undefined ? sql.from : sql.after
        const place = after ?? readOptions?.from ?? 0
        const rows = yield* Effect.mapError(database.rows<EventRow>(text, [key, place, size]), failure("read"))
        for (const row of rows) {
          const event = yield* eventOf(row)
          if (Option.isSome(event)) found.push(event.value)
          else unknown++
        }
        const last = rows.at(-1)
        if (last === undefined || rows.length < size) break
        after = Number(last.seq)
      }
      yield* passedOver(unknown)
      return found
    })
  })
}

const build = (migrate: boolean, options: Options | undefined) =>
  Effect.map(MigrationRun.open({ migrate }), (database) => makeService(database, options))

/**
 * Requires a database with the tables of this version. Reading skips events written by a newer version of the library
 * and logs a warning. An unreadable event fails with a `RunLogError` that names its `seq`.
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = (
  options?: Options | undefined
): Effect.Effect<RunLog.Service, MigrationFailure, SqlClient.SqlClient> => build(false, options)

/**
 * Fails with `MigrationError` (`absent`) if the database lacks the tables.
 *
 * @since 0.1.0
 * @category layers
 */
export const layer = (
  options?: Options | undefined
): Layer.Layer<RunLog.RunLog, MigrationFailure, SqlClient.SqlClient> => Layer.effect(RunLog.RunLog, make(options))

/**
 * Migrates the database first.
 *
 * @since 0.1.0
 * @category layers
 * @example
 * ```ts
 * import { Agents, Ids, RunLog } from "effect-lexigram"
 * import { SqliteClient, SqlRunLog } from "effect-lexigram/persistence"
 * import * as Effect from "effect/Effect"
 * import * as Layer from "effect/Layer"
 *
 * const log = SqlRunLog.layerMigrated({ retain: "30 days" }).pipe(
 *   Layer.provide(SqliteClient.layer({ file: "agents.db" }))
 * )
 *
 * const agents = Agents.layerWith({ log })
 *
 * const events = Effect.flatMap(RunLog.RunLog, (log) => log.read(Ids.RunId.make("run-1"))).pipe(Effect.provide(log))
 * ```
 */
export const layerMigrated = (
  options?: Options | undefined
): Layer.Layer<RunLog.RunLog, MigrationFailure, SqlClient.SqlClient> =>
  Layer.effect(RunLog.RunLog, build(true, options))
