/**
 * An `ApprovalStore` in a database: requests outlive the process that waits for them, and any process can decide.
 *
 * @since 0.1.0
 */
import type * as SqlClient from "@effect/sql/SqlClient"
import type { SqlError } from "@effect/sql/SqlError"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { count } from "../../internal/Count.js"
import { ApprovalError } from "../../tool/approval/ApprovalError.js"
import { ApprovalRequest } from "../../tool/approval/ApprovalGate.js"
import * as ApprovalStore from "../../tool/approval/ApprovalStore.js"
import type { Access, Database } from "../engine/Database.js"
import type { Param } from "../engine/Dialect.js"
import * as ExactJson from "../engine/ExactJson.js"
import * as IndexKey from "../engine/IndexKey.js"
import * as Lookups from "../engine/Lookups.js"
import * as Payloads from "../engine/Payloads.js"
import * as SqlFailure from "../engine/SqlFailure.js"
import * as MigrationRun from "../schema/MigrationRun.js"
import type { MigrationFailure } from "../schema/Migrations.js"
import * as ApprovalDecisions from "./ApprovalDecisions.js"

/**
 * @since 0.1.0
 * @category models
 */
export interface Options {
  /**
   * Approximate limit of remembered decisions. The oldest are deleted first. Default: 10,000; infinity for no limit.
   */
  readonly maxRemembered?: number | undefined
}

/** The most requests in one statement. */
const page = 500

type RequestRow = Payloads.Kept & {
  readonly number: number | string
  readonly requested_at: number
  readonly settlement: string | null
}

const columns = "number, requested_at, body, data, settlement"

const statements = ({ dialect }: Database) => ({
  add: dialect.sql(
    `INSERT INTO lex_approvals
      (id, run_id, root_run_id, session_id, user_id, agent, tool, requested_at, expires_at, body, data, settled_at, settlement)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO NOTHING`
  ),
  get: dialect.sql(`SELECT ${columns} FROM lex_approvals WHERE id = ?`),
  settle: dialect.sql(
    `UPDATE lex_approvals SET settled_at = ?, settlement = ? WHERE id = ? AND settled_at IS NULL RETURNING ${columns}`
  ),
  withdraw: dialect.sql(`DELETE FROM lex_approvals WHERE id = ? AND settled_at IS NULL RETURNING ${columns}`),
  overdue: dialect.sql(
    `SELECT ${columns}, expires_at FROM lex_approvals
    WHERE settled_at IS NULL AND expires_at <= ? AND (expires_at, number) > (?, ?) ORDER BY expires_at, number LIMIT ?`
  ),
  prune: dialect.sql(
    `WITH old AS MATERIALIZED (
      SELECT number FROM lex_approvals WHERE settled_at < ? ORDER BY settled_at LIMIT ${page}${dialect.forUpdateSkipLocked}
    ) DELETE FROM lex_approvals WHERE number IN (SELECT number FROM old)`
  ),
  pending: Lookups.make(
    dialect,
    (conditions) =>
      `SELECT ${columns} FROM lex_approvals WHERE ${conditions} AND settled_at IS NULL AND (requested_at, number) > (?, ?)
      ORDER BY requested_at, number LIMIT ?`
  )
})

const failure = (error: SqlError): ApprovalError =>
  new ApprovalError({ ...SqlFailure.fields(error), reason: "storage" })

const unreadable = (): ApprovalError =>
  new ApprovalError({ message: "What the database holds of an approval cannot be read", reason: "storage" })

const decodeRequest = Schema.decodeUnknown(ApprovalRequest, { onExcessProperty: "preserve" })
const decodeSettlement = Schema.decodeUnknown(ApprovalStore.Settlement, { onExcessProperty: "preserve" })

const parse = (text: string | undefined): Effect.Effect<unknown, ApprovalError> =>
  text === undefined ? Effect.fail(unreadable()) : Effect.try({ try: () => ExactJson.decode(text), catch: unreadable })

const recordOf = Effect.fnUntraced(function* (row: RequestRow) {
  const request = yield* Effect.mapError(Effect.flatMap(parse(Payloads.unpack(row)), decodeRequest), unreadable)
  const record: ApprovalStore.ApprovalRecord = { request, requestedAt: Number(row.requested_at) }
  if (row.settlement === null) return record
  const settlement = yield* Effect.mapError(Effect.flatMap(parse(row.settlement), decodeSettlement), unreadable)
  return { ...record, settlement }
})

const one = (
  access: Access,
  text: string,
  params: ReadonlyArray<Param>
): Effect.Effect<Option.Option<ApprovalStore.ApprovalRecord>, ApprovalError> =>
  Effect.flatMap(Effect.mapError(access.first<RequestRow>(text, params), failure), (row) =>
    row === undefined ? Effect.succeed(Option.none()) : Effect.map(recordOf(row), Option.some)
  )

/** Reads page by page until there are enough. */
const list = Effect.fnUntraced(function* <R extends RequestRow>(
  limit: number,
  place: (row: R) => readonly [at: number, number: number],
  read: (place: readonly [at: number, number: number], limit: number) => Effect.Effect<ReadonlyArray<R>, SqlError>
) {
  const found: Array<ApprovalStore.ApprovalRecord> = []
  let from: readonly [number, number] = [-Number.MAX_VALUE, 0]
  while (found.length < limit) {
    const size = Math.min(page, limit - found.length)
    const rows = yield* Effect.mapError(read(from, size), failure)
    for (const row of rows) found.push(yield* recordOf(row))
    const last = rows.at(-1)
    if (last === undefined || rows.length < size) break
    from = place(last)
  }
  return found
})

/** Whether this call settled the request. */
const by =
  (settled: boolean) =>
  (
    record: ApprovalStore.ApprovalRecord
  ): { readonly record: ApprovalStore.ApprovalRecord; readonly settled: boolean } => ({
    record,
    settled
  })

const makeService = (database: Database, options: Options | undefined): ApprovalStore.Service => {
  const sql = statements(database)
  const find = (id: string) => one(database, sql.get, [IndexKey.of(id)])

  const add = (
    record: ApprovalStore.ApprovalRecord,
    params: ReadonlyArray<Param>
  ): Effect.Effect<{ readonly record: ApprovalStore.ApprovalRecord; readonly added: boolean }, ApprovalError> =>
    Effect.flatMap(Effect.mapError(database.run(sql.add, params), failure), (added) => {
      if (added > 0) return Effect.succeed({ record, added: true })
      return Effect.flatMap(
        find(record.request.id),
        Option.match({
          // Withdrawn in the meantime.
          onNone: () => add(record, params),
          onSome: (there) => Effect.succeed({ record: there, added: false })
        })
      )
    })

  const prune = (before: number, dropped: number): Effect.Effect<number, ApprovalError> =>
    Effect.flatMap(Effect.mapError(database.run(sql.prune, [before]), failure), (more) =>
      more < page ? Effect.succeed(dropped + more) : prune(before, dropped + more)
    )

  return {
    add: (record) =>
      Effect.flatMap(Payloads.pack(ExactJson.encode(record.request)), ({ body, data }) => {
        const { request, requestedAt, settlement } = record
        return add(record, [
          IndexKey.of(request.id),
          IndexKey.of(request.runId),
          IndexKey.orNull(request.rootRunId),
          IndexKey.orNull(request.sessionId),
          IndexKey.orNull(request.userId),
          IndexKey.of(request.agent),
          IndexKey.of(request.tool),
          requestedAt,
          request.expiresAt ?? null,
          body,
          data ?? null,
          settlement?.at ?? null,
          settlement === undefined ? null : ExactJson.encode(settlement)
        ])
      }),
    get: find,
    settle: (id, settlement) =>
      Effect.flatMap(
        one(database, sql.settle, [settlement.at, ExactJson.encode(settlement), IndexKey.of(id)]),
        (settled) =>
          Option.isSome(settled)
            ? Effect.succeed(Option.map(settled, by(true)))
            : Effect.map(find(id), Option.map(by(false)))
      ),
    pending: (filter) => {
      const { text, values } = sql.pending([
        ["run_id", filter.runId],
        ["root_run_id", filter.rootRunId],
        ["session_id", filter.sessionId],
        ["user_id", filter.userId],
        ["tool", filter.tool],
        ["agent", filter.agent]
      ])
      return list<RequestRow>(
        count(filter.limit, ApprovalStore.DEFAULT_LIMIT, 0),
        (row) => [Number(row.requested_at), Number(row.number)],
        (place, limit) => database.rows(text, [...values, ...place, limit])
      )
    },
    overdue: (now, limit) =>
      list<RequestRow & { readonly expires_at: number }>(
        count(limit, ApprovalStore.DEFAULT_LIMIT, 0),
        (row) => [Number(row.expires_at), Number(row.number)],
        (place, size) => database.rows(sql.overdue, [now, ...place, size])
      ),
    withdraw: (id) => one(database, sql.withdraw, [IndexKey.of(id)]),
    prune: (before) => prune(before, 0),
    ...ApprovalDecisions.make(database, options?.maxRemembered)
  }
}

const build = (migrate: boolean, options: Options | undefined) =>
  Effect.map(MigrationRun.open({ migrate }), (database) => makeService(database, options))

/**
 * Requires a database with the tables of this version. If several processes decide at once, one of them succeeds.
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = (
  options?: Options | undefined
): Effect.Effect<ApprovalStore.Service, MigrationFailure, SqlClient.SqlClient> => build(false, options)

/**
 * Fails with `MigrationError` (`absent`) if the database lacks the tables.
 *
 * @since 0.1.0
 * @category layers
 */
export const layer = (
  options?: Options | undefined
): Layer.Layer<ApprovalStore.ApprovalStore, MigrationFailure, SqlClient.SqlClient> =>
  Layer.effect(ApprovalStore.ApprovalStore, make(options))

/**
 * Migrates the database first.
 *
 * @since 0.1.0
 * @category layers
 * @example
 * ```ts
 * import { Agents } from "effect-lexigram"
 * import { SqlApprovalStore, SqliteClient } from "effect-lexigram/persistence"
 * import { PendingApprovals } from "effect-lexigram/tool"
 * import * as Layer from "effect/Layer"
 *
 * // Another process on the same file may list and decide what agents of this one ask.
 * const approvals = PendingApprovals.layer({ expiresAfter: "1 hour", poll: "1 second" }).pipe(
 *   Layer.provide(SqlApprovalStore.layerMigrated()),
 *   Layer.provide(SqliteClient.layer({ file: "agents.db" }))
 * )
 *
 * const agents = Agents.layerWith({ approvals })
 * ```
 */
export const layerMigrated = (
  options?: Options | undefined
): Layer.Layer<ApprovalStore.ApprovalStore, MigrationFailure, SqlClient.SqlClient> =>
  Layer.effect(ApprovalStore.ApprovalStore, build(true, options))
