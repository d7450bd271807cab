/**
 * A `DeltaFeed` in a database. What is shown is written only while somebody reads it in another process.
 *
 * @since 0.1.0
 */
import type * as SqlClient from "@effect/sql/SqlClient"
import type { SqlError } from "@effect/sql/SqlError"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as AgentEvent from "../../domain/AgentEvent.js"
import * as DeltaFeed from "../../observability/log/DeltaFeed.js"
import type { Database } from "../engine/Database.js"
import * as ExactJson from "../engine/ExactJson.js"
import * as IndexKey from "../engine/IndexKey.js"
import * as Payloads from "../engine/Payloads.js"
import * as SqlFailure from "../engine/SqlFailure.js"
import * as MigrationRun from "../schema/MigrationRun.js"
import type { MigrationFailure } from "../schema/Migrations.js"

const statements = ({ dialect }: Database) => ({
  wanted: dialect.sql("SELECT run_id FROM lex_run_readers WHERE until > ?"),
  want: dialect.sql(
    "INSERT INTO lex_run_readers (run_id, until) VALUES (?, ?) ON CONFLICT (run_id) DO UPDATE SET until = excluded.until"
  ),
  drop: dialect.sql("DELETE FROM lex_run_readers WHERE until <= ?"),
  put: dialect.sql(
    "INSERT INTO lex_run_deltas (run_id, last, body, data) VALUES (?, ?, ?, ?) ON CONFLICT (run_id, last) DO NOTHING"
  ),
  clear: dialect.sql("DELETE FROM lex_run_deltas WHERE run_id = ?"),
  read: dialect.sql("SELECT body, data FROM lex_run_deltas WHERE run_id = ? AND last >= ? ORDER BY last")
})

const decode = Schema.decodeUnknownOption(Schema.Array(AgentEvent.AgentEvent), { onExcessProperty: "preserve" })

const eventsOf = (row: Payloads.Kept): ReadonlyArray<AgentEvent.AgentEvent> => {
  const text = Payloads.unpack(row)
  return text === undefined ? [] : Option.getOrElse(decode(ExactJson.decode(text)), () => [])
}

/** What fails is not shown. */
const orElse =
  <A>(other: A) =>
  (effect: Effect.Effect<A, SqlError>): Effect.Effect<A> =>
    Effect.catchAll(effect, (error) =>
      Effect.as(
        Effect.annotateLogs(
          Effect.logDebug(`a run is not shown to other processes: ${SqlFailure.fields(error).message}`),
          { module: "SqlDeltaFeed" }
        ),
        other
      )
    )

const makeService = (database: Database): DeltaFeed.Service => {
  const sql = statements(database)
  return {
    wanted: (runIds) =>
      Effect.flatMap(Clock.currentTimeMillis, (now) =>
        Effect.map(database.rows<{ readonly run_id: string }>(sql.wanted, [now]), (rows) => {
          if (rows.length === 0) return []
          const keys = new Set(rows.map(({ run_id }) => run_id))
          return runIds.filter((runId) => keys.has(IndexKey.of(runId)))
        })
      ).pipe(orElse<ReadonlyArray<(typeof runIds)[number]>>([])),
    put: (runId, events) => {
      const last = events.at(-1)
      if (last === undefined) return Effect.succeed(true)
      return Effect.flatMap(Payloads.pack(ExactJson.encode(events)), ({ body, data }) =>
        Effect.as(database.run(sql.put, [IndexKey.of(runId), last.seq, body, data ?? null]), true)
      ).pipe(orElse(false))
    },
    clear: (runId) => orElse<void>(undefined)(Effect.asVoid(database.run(sql.clear, [IndexKey.of(runId)]))),
    want: (runId, millis) =>
      Effect.flatMap(Clock.currentTimeMillis, (now) =>
        Effect.zipRight(
          database.run(sql.want, [IndexKey.of(runId), now + millis]),
          Effect.asVoid(database.run(sql.drop, [now]))
        )
      ).pipe(orElse<void>(undefined)),
    read: (runId, from) =>
      Effect.map(database.rows<Payloads.Kept>(sql.read, [IndexKey.of(runId), from]), (rows) =>
        rows.flatMap(eventsOf).filter(({ seq }) => seq >= from)
      ).pipe(orElse<ReadonlyArray<AgentEvent.AgentEvent>>([]))
  }
}

const build = (migrate: boolean) => Effect.map(MigrationRun.open({ migrate }), makeService)

/**
 * Requires a database with the tables of this version.
 *
 * @since 0.1.0
 * @category constructors
 */
export const make: Effect.Effect<DeltaFeed.Service, MigrationFailure, SqlClient.SqlClient> = build(false)

/**
 * Fails with `MigrationError` (`absent`) if the database lacks the tables.
 *
 * @since 0.1.0
 * @category layers
 * @example
 * ```ts
 * import { Migrations, PostgresClient, SqlDeltaFeed } from "effect-lexigram/persistence"
 * import * as Layer from "effect/Layer"
 * import * as Redacted from "effect/Redacted"
 *
 * // `Durable.layerSql` has one. For other ports of durable runs: the readers of all processes see texts as they come.
 * const feed = SqlDeltaFeed.layer.pipe(
 *   Layer.provide(Migrations.layer),
 *   Layer.provide(PostgresClient.layer({ url: Redacted.make("postgres://localhost/agents") }))
 * )
 * ```
 */
export const layer: Layer.Layer<DeltaFeed.DeltaFeed, MigrationFailure, SqlClient.SqlClient> = Layer.effect(
  DeltaFeed.DeltaFeed,
  make
)
