/**
 * Remembered decisions of a `SqlApprovalStore`.
 *
 * @private
 * @since 0.1.0
 */
import type { SqlError } from "@effect/sql/SqlError"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { count } from "../../internal/Count.js"
import { ApprovalError } from "../../tool/approval/ApprovalError.js"
import * as ApprovalStore from "../../tool/approval/ApprovalStore.js"
import type { Database } from "../engine/Database.js"
import * as ExactJson from "../engine/ExactJson.js"
import * as IndexKey from "../engine/IndexKey.js"
import * as Lookups from "../engine/Lookups.js"
import * as Payloads from "../engine/Payloads.js"
import * as SqlFailure from "../engine/SqlFailure.js"
import * as Sweeps from "../engine/Sweeps.js"

/** The most decisions in one statement. */
const page = 500

/** Surplus decisions are deleted once they exceed this fraction of the limit. */
const slack = 8

const defaultMost = 10_000

type DecisionRow = Payloads.Kept & { readonly at: number; readonly entry: string }

const statements = ({ dialect }: Database) => ({
  remember: dialect.sql(
    `INSERT INTO lex_decisions (entry, scope, scope_id, user_id, agent, tool, at, body, data)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
    ON CONFLICT (entry) DO UPDATE SET scope = excluded.scope, scope_id = excluded.scope_id, user_id = excluded.user_id, agent = excluded.agent,
      tool = excluded.tool, at = excluded.at, body = excluded.body, data = excluded.data`
  ),
  recall: dialect.sql(`SELECT entry, at, body, data FROM lex_decisions WHERE ${dialect.oneOf("entry")}`),
  /** The newest surplus decision. */
  edge: dialect.sql("SELECT at, entry FROM lex_decisions ORDER BY at DESC, entry DESC LIMIT 1 OFFSET ?"),
  evict: dialect.sql(
    `WITH old AS MATERIALIZED (
      SELECT entry FROM lex_decisions WHERE (at, entry) <= (?, ?) ORDER BY at, entry LIMIT ${page}${dialect.forUpdateSkipLocked}
    ) DELETE FROM lex_decisions WHERE entry IN (SELECT entry FROM old)`
  ),
  remembered: Lookups.make(
    dialect,
    (conditions) =>
      `SELECT at, entry, body, data FROM lex_decisions WHERE ${conditions} AND (at, entry) > (?, ?)
      ORDER BY at, entry LIMIT ${page}`
  ),
  forget: Lookups.make(dialect, (conditions) => `DELETE FROM lex_decisions WHERE ${conditions}`)
})

const failure = (error: SqlError): ApprovalError =>
  new ApprovalError({ ...SqlFailure.fields(error), reason: "storage" })

const unreadable = (): ApprovalError =>
  new ApprovalError({ message: "What the database holds of a decision cannot be read", reason: "storage" })

const decode = Schema.decodeUnknown(ApprovalStore.Remembered, { onExcessProperty: "preserve" })

const decisionOf = (row: DecisionRow): Effect.Effect<ApprovalStore.Remembered, ApprovalError> =>
  Effect.suspend(() => {
    const text = Payloads.unpack(row)
    if (text === undefined) return Effect.fail(unreadable())
    return Effect.mapError(
      Effect.flatMap(Effect.try({ try: () => ExactJson.decode(text), catch: unreadable }), decode),
      unreadable
    )
  })

const wanted = (filter: ApprovalStore.RememberedFilter): Lookups.Wanted => [
  ["scope_id", filter.scopeId],
  ["user_id", filter.userId],
  ["tool", filter.tool],
  ["agent", filter.agent],
  ["scope", filter.scope]
]

/**
 * @category constructors
 */
export const make = (
  database: Database,
  maxRemembered: number | undefined
): Pick<ApprovalStore.Service, "remember" | "recall" | "remembered" | "forget"> => {
  const sql = statements(database)
  const most = count(maxRemembered, defaultMost, 0)

  const evict: Effect.Effect<void, SqlError> = Effect.flatMap(
    database.first<{ readonly at: number; readonly entry: string }>(sql.edge, [most]),
    (edge) => (edge === undefined ? Effect.void : Effect.asVoid(database.run(sql.evict, [Number(edge.at), edge.entry])))
  )
  const sweep = Number.isFinite(most) ? Sweeps.oneIn(most / slack, evict) : Effect.void

  return {
    remember: (remembered) =>
      Effect.flatMap(Payloads.pack(ExactJson.encode(remembered)), ({ body, data }) => {
        const { agent, at, key, scope, scopeId, tool, userId } = remembered
        const owner = scope === "tool" ? IndexKey.everybody : IndexKey.orNull(userId)
        const ids = [IndexKey.of(key), scope, IndexKey.orNull(scopeId), owner, IndexKey.of(agent), IndexKey.of(tool)]
        return Effect.zipRight(database.run(sql.remember, [...ids, at, body, data ?? null]), sweep)
      }).pipe(Effect.mapError(failure)),
    recall: (keys) => {
      if (keys.length === 0) return Effect.succeed(Option.none())
      const entries = keys.map(IndexKey.of)
      return Effect.flatMap(
        Effect.mapError(database.rows<DecisionRow>(sql.recall, [database.dialect.list(entries)]), failure),
        (rows) => {
          const byEntry = new Map(rows.map((row) => [row.entry, row]))
          const first = entries.find((entry) => byEntry.has(entry))
          const row = first === undefined ? undefined : byEntry.get(first)
          return row === undefined ? Effect.succeed(Option.none()) : Effect.map(decisionOf(row), Option.some)
        }
      )
    },
    remembered: Effect.fnUntraced(function* (filter) {
      const found: Array<ApprovalStore.Remembered> = []
      const { text, values } = sql.remembered(wanted(filter))
      for (let place: readonly [number, string] = [-Number.MAX_VALUE, ""]; ; ) {
        const rows = yield* Effect.mapError(database.rows<DecisionRow>(text, [...values, ...place]), failure)
        for (const row of rows) found.push(yield* decisionOf(row))
        const last = rows.at(-1)
        if (last === undefined || rows.length < page) return found
        place = [Number(last.at), last.entry]
      }
    }),
    forget: (filter) => {
      const { text, values } = sql.forget(wanted(filter))
      return Effect.mapError(database.run(text, values), failure)
    }
  }
}
