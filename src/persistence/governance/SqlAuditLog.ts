/**
 * An `AuditLog` in a database.
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
import * as AuditLog from "../../governance/store/AuditLog.js"
import * as DefaultAuditLog from "../../governance/store/DefaultAuditLog.js"
import { GovernancePersistenceError } from "../../governance/store/GovernanceError.js"
import type { Database } from "../engine/Database.js"
import type { Param } from "../engine/Dialect.js"
import * as ExactJson from "../engine/ExactJson.js"
import * as IndexKey from "../engine/IndexKey.js"
import * as Lookups from "../engine/Lookups.js"
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
  /** How long events are kept. Writes delete a few older events at a time. Default: forever. */
  readonly retain?: Duration.DurationInput | undefined
  /** How long a run waits for an event to be written. Default: 5 seconds. */
  readonly patience?: Duration.DurationInput | undefined
}

/** The most events in one statement. */
const page = 500
/** One of this many writes deletes old events, and deletes more than the others add. */
const dropEvery = 16
const dropped = 64

type EventRow = Payloads.Kept & { readonly at: number; readonly number: number | string }

interface Place {
  readonly at: number
  readonly number: number
}

const failure = (error: SqlError): GovernancePersistenceError =>
  new GovernancePersistenceError(SqlFailure.fields(error))

const unreadable = (): GovernancePersistenceError =>
  new GovernancePersistenceError({ message: "What the database holds of an audit event cannot be read" })

const decode = Schema.decodeUnknownOption(AuditLog.AuditEvent, { onExcessProperty: "preserve" })

/** `undefined` for an event of a type that this version does not know. */
const eventOf = (row: EventRow): Effect.Effect<AuditLog.AuditEvent | undefined, GovernancePersistenceError> => {
  const text = Payloads.unpack(row)
  if (text === undefined) return Effect.fail(unreadable())
  return Effect.map(Effect.try({ try: () => ExactJson.decode(text), catch: unreadable }), (value) =>
    Option.getOrUndefined(decode(value))
  )
}

const placeOf = (row: EventRow): Place => ({ at: Number(row.at), number: Number(row.number) })

/** Newest first. */
const byPlace = (a: EventRow, b: EventRow): number => b.at - a.at || Number(b.number) - Number(a.number)

const wanted = (filter: AuditLog.StoreFilter): Lookups.Wanted => [
  ["run_id", filter.runId],
  ["user_id", filter.userId],
  ["agent", filter.agent],
  ["model", filter.model],
  ["status", filter.status]
]

const reader = (database: Database) => {
  const { dialect } = database
  const text = (conditions: string) =>
    `SELECT at, number, body, data FROM lex_audit WHERE ${conditions} AND at >= ? AND (at, number) < (?, ?)
    ORDER BY at DESC, number DESC LIMIT ?`
  const lookup = Lookups.make(dialect, text)
  const lookupTyped = Lookups.make(dialect, (conditions) =>
    text(`${conditions} AND ${dialect.oneOf("(event_type || '')")}`)
  )

  /**
   * A page after a position. With several types and no other indexed filter, the first events of a page per type.
   */
  const pageOf = (
    filter: AuditLog.StoreFilter,
    place: Place,
    limit: number
  ): Effect.Effect<ReadonlyArray<EventRow>, SqlError> => {
    const columns = wanted(filter)
    const ends: ReadonlyArray<Param> = [filter.since ?? Number.MIN_SAFE_INTEGER, place.at, place.number, limit]
    const { eventTypes } = filter
    if (eventTypes === undefined) {
      const { text, values } = lookup(columns)
      return database.rows<EventRow>(text, [...values, ...ends])
    }
    if (columns.some(([, value]) => value !== undefined && value !== null)) {
      const { text, values } = lookupTyped(columns)
      return database.rows<EventRow>(text, [...values, dialect.list(eventTypes.map(IndexKey.of)), ...ends])
    }
    return Effect.map(
      Effect.forEach(new Set(eventTypes), (type) => {
        const { text, values } = lookup([["event_type", type], ...columns])
        return database.rows<EventRow>(text, [...values, ...ends])
      }),
      (pages) => pages.flat().sort(byPlace).slice(0, limit)
    )
  }

  return Effect.fnUntraced(function* (filter: AuditLog.StoreFilter) {
    const found: Array<AuditLog.AuditEvent> = []
    let place: Place = { at: filter.until ?? Number.MAX_VALUE, number: 0 }
    while (found.length < filter.limit) {
      const limit = Math.min(page, filter.limit - found.length)
      const rows = yield* Effect.mapError(pageOf(filter, place, limit), failure)
      for (const row of rows) {
        const event = yield* eventOf(row)
        if (event !== undefined) found.push(event)
      }
      const last = rows.at(-1)
      if (last === undefined || rows.length < limit) break
      place = placeOf(last)
    }
    return found
  })
}

const storeOf = (database: Database, options: Options | undefined): AuditLog.Store => {
  const { dialect } = database
  const retain = Duration.toMillis(options?.retain ?? Duration.infinity)
  const insert = dialect.sql(
    "INSERT INTO lex_audit (at, event_type, status, user_id, agent, run_id, model, body, data) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"
  )
  const drop = dialect.sql(dropText(dialect.forUpdateSkipLocked))
  const sweep = Number.isFinite(retain)
    ? Sweeps.oneIn(
        dropEvery,
        Effect.flatMap(Clock.currentTimeMillis, (now) => Effect.asVoid(database.run(drop, [now - retain])))
      )
    : Effect.void
  return {
    backend: dialect.name,
    isPersistent: true,
    append: (event) =>
      Effect.flatMap(Payloads.pack(ExactJson.encode(event)), ({ body, data }) =>
        Effect.zipRight(
          database.run(insert, [
            event.timestamp,
            IndexKey.of(event.eventType),
            IndexKey.of(event.status),
            IndexKey.orNull(event.userId),
            IndexKey.orNull(event.agent),
            IndexKey.orNull(event.runId),
            IndexKey.orNull(event.model),
            body,
            data ?? null
          ]),
          sweep
        )
      ).pipe(Effect.mapError(failure)),
    read: reader(database)
  }
}

const dropText = (lock: string): string => `WITH old AS MATERIALIZED (
  SELECT number FROM lex_audit WHERE at < ? ORDER BY at, number LIMIT ${dropped}${lock}
) DELETE FROM lex_audit WHERE number IN (SELECT number FROM old)`

const build = (migrate: boolean, options: Options | undefined) =>
  Effect.map(MigrationRun.open({ migrate }), (database) =>
    DefaultAuditLog.make(storeOf(database, options), { patience: options?.patience })
  )

/**
 * Requires a database with the tables of this version. Events are ordered by the times of their clocks, then by the
 * order in which they were written. Reading skips types written by a newer version of the library.
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = (
  options?: Options | undefined
): Effect.Effect<AuditLog.Service, MigrationFailure, SqlClient.SqlClient> => build(false, options)

/**
 * Fails with `MigrationError` (`absent`) if the database lacks the tables.
 *
 * @since 0.1.0
 * @category layers
 */
export const layer = (
  options?: Options | undefined
): Layer.Layer<AuditLog.AuditLog, MigrationFailure, SqlClient.SqlClient> =>
  Layer.effect(AuditLog.AuditLog, make(options))

/**
 * Migrates the database first.
 *
 * @since 0.1.0
 * @category layers
 * @example
 * ```ts
 * import { AuditLog, DefaultGovernance } from "effect-lexigram/governance"
 * import { SqlAuditLog, SqliteClient } from "effect-lexigram/persistence"
 * import * as Effect from "effect/Effect"
 * import * as Layer from "effect/Layer"
 *
 * const audit = SqlAuditLog.layerMigrated({ retain: "365 days" }).pipe(
 *   Layer.provide(SqliteClient.layer({ file: "audit.db" }))
 * )
 *
 * const governance = DefaultGovernance.layerWith({ audit })
 *
 * const events = Effect.flatMap(AuditLog.AuditLog, (log) => log.read({ limit: 20 })).pipe(Effect.provide(audit))
 * ```
 */
export const layerMigrated = (
  options?: Options | undefined
): Layer.Layer<AuditLog.AuditLog, MigrationFailure, SqlClient.SqlClient> =>
  Layer.effect(AuditLog.AuditLog, build(true, options))
