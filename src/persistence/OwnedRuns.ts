/**
 * What runs have left in a database, by whom they belong to: to be exported and erased as a whole. Runs that others have begun go with them,
 * also those of which it was not known yet whose they were.
 *
 * @internal
 * @since 0.1.0
 */
import type { SqlError } from "@effect/sql/SqlError"
import * as Effect from "effect/Effect"
import type { Access } from "./Database.js"
import type { Dialect } from "./Dialect.js"
import * as ExactJson from "./ExactJson.js"
import * as IndexKey from "./IndexKey.js"
import * as Payloads from "./Payloads.js"

/**
 * @category models
 */
export interface Owner {
  readonly by: "user" | "session" | "run"
  readonly id: string
}

/**
 * One kind of what is kept.
 *
 * @category models
 */
export interface Part {
  readonly name: "runs" | "approvals" | "decisions" | "audit"
  /** Hands over everything as plain values, a page at a time; what cannot be read as `undefined`. */
  readonly pages: <E, R>(
    access: Access,
    owner: Owner,
    use: (values: ReadonlyArray<unknown>) => Effect.Effect<void, E, R>
  ) => Effect.Effect<void, SqlError | E, R>
  /** Removes everything; how many rows. */
  readonly erase: (tx: Access, owner: Owner) => Effect.Effect<number, SqlError>
}

const page = 200

type BodyRow = Payloads.Kept & {
  readonly number: number | string
  readonly at: number
  readonly more: string | null
}

const decoded = (text: string | null | undefined): unknown => {
  if (text === undefined || text === null) return undefined
  try {
    return ExactJson.decode(text)
  } catch {
    return undefined
  }
}

const valueOf = (row: BodyRow): unknown => decoded(Payloads.unpack(row))

/** As an `ApprovalRecord`. */
const approvalOf = (row: BodyRow): unknown => ({
  request: valueOf(row),
  requestedAt: Number(row.at),
  ...(row.more === null ? {} : { settlement: decoded(row.more) })
})

type By = Owner["by"]

const each = <A>(f: (by: By) => A): { readonly [B in By]: A } => ({
  user: f("user"),
  session: f("session"),
  run: f("run")
})

/** The runs of an owner, as a table of the name `owned`; one parameter. */
const owned = (by: By): string =>
  `WITH RECURSIVE owned (run_id) AS (
    SELECT run_id FROM lex_runs WHERE ${by}_id = ?
    UNION SELECT r.run_id FROM owned o JOIN lex_runs r ON r.parent_run_id = o.run_id
  ) `

const ofRuns = "run_id IN (SELECT run_id FROM owned)"

/**
 * In the order in which they are to be erased: runs last, as others are found by them.
 *
 * @category constructors
 */
export const make = (dialect: Dialect): ReadonlyArray<Part> => {
  const runTexts = each((by) => dialect.sql(`${owned(by)}SELECT run_id FROM owned`))
  const runsOf = (access: Access, { by, id }: Owner): Effect.Effect<ReadonlyArray<string>, SqlError> =>
    Effect.map(access.rows<{ readonly run_id: string }>(runTexts[by], [IndexKey.of(id)]), (rows) =>
      rows.map(({ run_id }) => run_id)
    )

  /** A page at a time, each behind the last row of the one before. */
  const read = <E, R>(
    access: Access,
    text: string,
    params: (at: number, number: number) => ReadonlyArray<string | number>,
    use: (rows: ReadonlyArray<BodyRow>) => Effect.Effect<void, E, R>
  ): Effect.Effect<void, SqlError | E, R> => {
    const from = (at: number, number: number): Effect.Effect<void, SqlError | E, R> =>
      Effect.flatMap(access.rows<BodyRow>(text, [...params(at, number), page]), (rows) => {
        const last = rows.at(-1)
        if (last === undefined) return Effect.void
        const more = rows.length < page ? Effect.void : Effect.suspend(() => from(Number(last.at), Number(last.number)))
        return Effect.zipRight(use(rows), more)
      })
    return from(-Number.MAX_VALUE, -1)
  }

  /** What has columns for whose it is, and belongs to whom its run does. */
  const part = (
    name: Part["name"],
    table: string,
    columns: { readonly at: string; readonly more: string } & { readonly [B in By]: ReadonlyArray<string> },
    value: (row: BodyRow) => unknown
  ): Part => {
    const texts = new Map(
      ["user_id", "session_id", "root_run_id", "run_id"].map((column) => [
        column,
        dialect.sql(
          `SELECT number, ${columns.at} AS at, body, data, ${columns.more} AS more FROM ${table}
          WHERE ${column} = ? AND (${columns.at}, number) > (?, ?) ORDER BY ${columns.at}, number LIMIT ?`
        )
      ])
    )
    const erases = each((by) => [
      ...columns[by].map((column) => dialect.sql(`DELETE FROM ${table} WHERE ${column} = ?`)),
      dialect.sql(`${owned(by)}DELETE FROM ${table} WHERE ${ofRuns}`)
    ])
    return {
      name,
      pages: (access, owner, use) =>
        Effect.flatMap(runsOf(access, owner), (runs) => {
          const seen = new Set<number>()
          const news = (rows: ReadonlyArray<BodyRow>) => {
            const values = rows.filter(({ number }) => !seen.has(Number(number))).map(value)
            for (const { number } of rows) seen.add(Number(number))
            return values.length === 0 ? Effect.void : use(values)
          }
          const direct = columns[owner.by].map((column) => [column, IndexKey.of(owner.id)] as const)
          const places = [...direct, ...runs.map((run) => ["run_id", run] as const)]
          return Effect.forEach(
            places,
            ([column, key]) => read(access, texts.get(column) as string, (at, number) => [key, at, number], news),
            {
              discard: true
            }
          )
        }),
      erase: (tx, { by, id }) =>
        Effect.reduce(erases[by], 0, (erased, text) =>
          Effect.map(tx.run(text, [IndexKey.of(id)]), (more) => erased + more)
        )
    }
  }

  const events = dialect.sql(
    `SELECT seq AS at, 0 AS number, body, data, NULL AS more FROM lex_run_events
    WHERE run_id = ? AND seq > ? ORDER BY seq LIMIT ?`
  )
  const eraseRuns = each((by) =>
    ["lex_run_events", "lex_runs"].map((table) => dialect.sql(`${owned(by)}DELETE FROM ${table} WHERE ${ofRuns}`))
  )
  const ofScope = each((by) => `lex_decisions WHERE scope_id = ? AND scope || '' = '${by}'`)
  const decisions = each((by) => dialect.sql(`SELECT body, data, NULL AS more FROM ${ofScope[by]}`))
  const eraseDecisions = each((by) => dialect.sql(`DELETE FROM ${ofScope[by]}`))

  return [
    part(
      "approvals",
      "lex_approvals",
      {
        at: "requested_at",
        more: "settlement",
        user: ["user_id"],
        session: ["session_id"],
        run: ["root_run_id", "run_id"]
      },
      approvalOf
    ),
    {
      name: "decisions",
      pages: (access, { by, id }, use) =>
        Effect.flatMap(access.rows<BodyRow>(decisions[by], [IndexKey.of(id)]), (rows) =>
          rows.length === 0 ? Effect.void : use(rows.map(valueOf))
        ),
      erase: (tx, { by, id }) => tx.run(eraseDecisions[by], [IndexKey.of(id)])
    },
    part("audit", "lex_audit", { at: "at", more: "NULL", user: ["user_id"], session: [], run: ["run_id"] }, valueOf),
    {
      name: "runs",
      pages: (access, owner, use) =>
        Effect.flatMap(runsOf(access, owner), (runs) =>
          Effect.forEach(
            runs,
            (run) =>
              read(
                access,
                events,
                (seq) => [run, seq],
                (rows) => use(rows.map(valueOf))
              ),
            { discard: true }
          )
        ),
      erase: (tx, { by, id }) =>
        Effect.reduce(eraseRuns[by], 0, (erased, text) =>
          Effect.map(tx.run(text, [IndexKey.of(id)]), (more) => erased + more)
        )
    }
  ]
}
