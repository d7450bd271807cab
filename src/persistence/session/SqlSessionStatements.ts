/**
 * SQL statements of the session tables, built once per database.
 *
 * @private
 * @since 0.1.0
 */
import type { SessionStatus } from "../../session/turn/Session.js"
import type * as SessionStore from "../../session/turn/SessionStore.js"
import type { Database } from "../engine/Database.js"
import type { Param } from "../engine/Dialect.js"
import * as KeyText from "../engine/KeyText.js"
import * as Payloads from "../engine/Payloads.js"
import * as StatementTexts from "../engine/StatementTexts.js"
import * as SessionTables from "../schema/SessionTables.js"
import * as Rows from "./SqlSessionRows.js"

/**
 * A statement and its parameters.
 *
 * @category models
 */
export interface Query {
  readonly sql: string
  readonly params: ReadonlyArray<Param>
}

const moving = [
  "head_session = ?",
  "head_turn = ?",
  "depth = ?",
  "total_tokens = ?",
  "total_cost = ?",
  "updated_at = ?",
  "revision = ?",
  "checkpoint_id = ?"
]

/** As `moving`, but keeps the columns whose parameter is NULL. */
const moved = moving.map((set) => set.replace(/^(head_session|head_turn|checkpoint_id) = \?/, "$1 = COALESCE(?, $1)"))

const standing = [...moving, "user_id = ?", "parent_id = ?", "root_id = ?", "status = ?", "created_at = ?"]

const columnsOf = (sets: ReadonlyArray<string>): ReadonlyArray<string> => sets.map((set) => set.split(" ")[0] as string)

const values = (count: number): string => new Array(count).fill("?").join(", ")

const isKept = `id = ? AND revision = ? AND status < ${SessionTables.deleted}`

/** Continues the run if the head is the turn that the session wrote last; otherwise starts a new run. */
const going = `run = CASE WHEN is_tip = 1 AND head_session = ? AND head_turn = ? THEN run ELSE turns + 1 END,
  turns = turns + ?, is_tip = 1`

/** If the head moves, the next turn starts a new run. */
const staying = "is_tip = CASE WHEN head_session = ? AND head_turn = ? THEN is_tip ELSE 0 END"

const heavy = ", is_heavy = 1"

const byStatus: { readonly [S in SessionStatus]: number } = { active: 0, suspended: 1, closed: 2, expired: 3 }

/** Small enough for an integer of either database. */
const count = (limit: number): number => Math.max(0, Math.min(2_147_483_647, Math.floor(limit)))

const both = (of: (flag: boolean) => string): ((flag: boolean) => string) => {
  const [no, yes] = [of(false), of(true)]
  return (flag) => (flag ? yes : no)
}

const insertSession = (extra: ReadonlyArray<string>): string => {
  const columns = ["id", ...columnsOf(standing), ...extra]
  return `INSERT INTO lex_sessions (${columns.join(", ")}) VALUES (${values(columns.length)})
    ON CONFLICT (id) DO NOTHING`
}

/** Columns and joins that several statements read. */
const projections = (payloads: Payloads.Payloads) => {
  const sessionColumns = `s.id, s.status, s.created_at, s.updated_at, s.revision, s.head_session, s.head_turn, s.depth,
    s.total_tokens, s.total_cost, s.checkpoint_id, st.body, b.data AS body_data, st.state, p.data AS state_data`
  const inStates = `'${Rows.scopes.states}' || `
  const states = `LEFT JOIN lex_session_states st ON st.session_id = s.id
    ${payloads.join(`${inStates}s.id`, "st.ref", "b")}${payloads.join(`${inStates}s.id`, "st.state_ref")}`
  const turnColumns = "t.turn_id, t.body, p.data AS body_data"
  const turnPayloads = payloads.join(`'${Rows.scopes.turns}' || t.session_id`, "t.ref")
  const checkpointColumns = "c.id, c.body, b.data AS body_data, c.state, p.data AS state_data"
  const checkpointPayloads =
    payloads.join(`${inStates}c.session_id`, "c.ref", "b") + payloads.join(`${inStates}c.session_id`, "c.state_ref")

  return { sessionColumns, states, turnColumns, turnPayloads, checkpointColumns, checkpointPayloads }
}

type Projections = ReturnType<typeof projections>

const live = `status < ${SessionTables.ended}`
const liveOf = (column: string): string => `(SELECT COUNT(*) FROM (
    SELECT 1 AS one FROM lex_sessions WHERE ${column} = ? AND status IN (0, 1) AND id <> ? LIMIT ?) x)`

const sessionStatements = ({ dialect }: Database, { sessionColumns, states }: Projections) => {
  const { sql } = dialect
  const append = (sets: ReadonlyArray<string>, isHeavy: boolean): string =>
    sql(`UPDATE lex_sessions SET ${going}, ${sets.join(", ")}${isHeavy ? heavy : ""} WHERE ${isKept}
      RETURNING turns, run, is_heavy`)

  const save = (isHeavy: boolean): string =>
    sql(`UPDATE lex_sessions SET ${staying}, ${standing.join(", ")}${isHeavy ? heavy : ""} WHERE ${isKept}
      RETURNING is_heavy`)

  const idle = (hasAfter: boolean): string =>
    sql(`SELECT ${sessionColumns} FROM (
        SELECT id, updated_at AS at FROM lex_sessions WHERE ${live} AND updated_at <= ?
        ${hasAfter ? "AND (updated_at, id) > (?, ?)" : ""} ORDER BY updated_at, id LIMIT ?
      ) k JOIN lex_sessions s ON s.id = k.id ${states} ORDER BY k.at, k.id`)

  return {
    load: sql(`SELECT ${sessionColumns} FROM lex_sessions s ${states}
      WHERE s.id = ? AND s.status < ${SessionTables.deleted}`),
    loadAll: sql(`SELECT ${sessionColumns} FROM lex_sessions s ${states} WHERE ${dialect.oneOf("s.id")}`),
    standing: sql("SELECT status, revision FROM lex_sessions WHERE id = ?"),
    standingForUpdate: sql(`SELECT status, revision, user_id FROM lex_sessions WHERE id = ?${dialect.forUpdate}`),
    /** Includes the position it branches from, and whether it has large texts. */
    insert: sql(insertSession(["base_session", "base_run", "base_place", "is_heavy"])),
    insertState: sql(`INSERT INTO lex_session_states (session_id, body, ref, state, state_ref) VALUES (${values(5)})`),
    setState: sql("UPDATE lex_session_states SET body = ?, ref = ?, state = ?, state_ref = ? WHERE session_id = ?"),
    save: both(save),
    move: both((isHeavy) => append(moved, isHeavy)),
    moveWhole: both((isHeavy) => append(standing, isHeavy)),
    live: sql(`SELECT ${liveOf("user_id")} AS of_user, ${liveOf("parent_id")} AS of_parent`),
    idle: both(idle),
    idleForUpdate: sql(`SELECT id FROM lex_sessions WHERE ${live} AND updated_at <= ?
      ORDER BY updated_at, id LIMIT ?${dialect.forUpdateSkipLocked}`),
    expire: sql(`UPDATE lex_sessions SET status = 3, updated_at = ?, revision = revision + 1
      WHERE ${dialect.oneOf("id")}`),
    health: sql("SELECT COUNT(*) AS one FROM (SELECT 1 AS one FROM lex_sessions LIMIT 1) x")
  }
}

const exchangeStatements = ({ dialect }: Database) => {
  const { sql } = dialect
  return {
    open: sql(`INSERT INTO lex_session_exchanges (session_id, run_id, owner_id, body)
      SELECT id, CAST(? AS TEXT), CAST(? AS TEXT), CAST(? AS TEXT) FROM lex_sessions
      WHERE id = ? AND status < ${SessionTables.deleted}${dialect.forUpdate}
      ON CONFLICT (session_id, run_id) DO UPDATE SET owner_id = excluded.owner_id, body = excluded.body`),
    exchange: sql("SELECT body FROM lex_session_exchanges WHERE session_id = ? AND run_id = ?"),
    withdraw: sql("DELETE FROM lex_session_exchanges WHERE session_id = ? AND run_id = ?"),
    deleteExchanges: sql("DELETE FROM lex_session_exchanges WHERE session_id = ?"),
    lease: sql(`INSERT INTO lex_session_leases (owner_id, until) VALUES (?, ?)
      ON CONFLICT (owner_id) DO UPDATE SET until = excluded.until`),
    /** An owner without a lease gets one that has ended. */
    owner: sql("INSERT INTO lex_session_leases (owner_id, until) VALUES (?, 0) ON CONFLICT (owner_id) DO NOTHING"),
    endedLeases: sql(`SELECT until, owner_id FROM lex_session_leases WHERE until <= ? AND (until, owner_id) > (?, ?)
      ORDER BY until, owner_id LIMIT ?`),
    orphans: sql(`SELECT session_id, run_id, body FROM lex_session_exchanges
      WHERE owner_id = ? AND (session_id, run_id) > (?, ?) ORDER BY session_id, run_id LIMIT ?`),
    forgetLease: sql(`DELETE FROM lex_session_leases WHERE owner_id = ? AND until <= ?
      AND NOT EXISTS (SELECT 1 FROM lex_session_exchanges e WHERE e.owner_id = lex_session_leases.owner_id)`)
  }
}

const turnInsert = [
  "session_id",
  "place",
  "run",
  "turn_id",
  "parent_session",
  "parent_run",
  "parent_place",
  "body",
  "ref"
]

const turnStatements = ({ dialect }: Database, { turnColumns, turnPayloads }: Projections) => {
  const { sql } = dialect
  /** Reads back from the head: a run, then the run with the parent of its first turn, until there are enough turns. */
  const window = (hasSince: boolean): string => {
    const mark = (of: string): string =>
      hasSince
        ? `LEFT JOIN mark m ON m.session_id = ${of}.session_id AND m.place BETWEEN ${of}.run AND ${of}.place`
        : ""
    const low = (of: string): string => (hasSince ? `COALESCE(m.place + 1, ${of}.run)` : `${of}.run`)
    return sql(`WITH RECURSIVE ${
      hasSince
        ? `mark (session_id, place) AS (
      SELECT t.session_id, t.place FROM lex_session_turns t WHERE t.session_id = ? AND t.turn_id = ?
    ), `
        : ""
    }way (level, session_id, run, place, low, room) AS (
      SELECT 0, t.session_id, t.run, t.place, ${low("t")}, CAST(? AS INTEGER)
      FROM lex_session_turns t ${mark("t")}
      WHERE t.session_id = ? AND t.turn_id = ?
      UNION ALL
      SELECT w.level + 1, q.session_id, q.run, q.place, ${low("q")}, w.room - (w.place - w.run + 1)
      FROM way w
      JOIN lex_session_turns f ON f.session_id = w.session_id AND f.place = w.run
      JOIN lex_session_turns q ON q.session_id = f.parent_session AND q.place = f.parent_place
      ${mark("q")}
      WHERE w.low = w.run AND w.room > w.place - w.run + 1
    )
    SELECT ${turnColumns}
    FROM way w
    JOIN lex_session_turns t ON t.session_id = w.session_id AND t.place <= w.place
      AND t.place >= CASE WHEN w.place - w.room + 1 > w.low THEN w.place - w.room + 1 ELSE w.low END
    ${turnPayloads}
    ORDER BY w.level, t.place DESC`)
  }

  return {
    turn: sql(
      `SELECT ${turnColumns} FROM lex_session_turns t ${turnPayloads} WHERE t.session_id = ? AND t.turn_id = ?`
    ),
    turnPlace: sql("SELECT run, place FROM lex_session_turns WHERE session_id = ? AND turn_id = ?"),
    window: both(window),
    knownTurns: sql(`SELECT ${turnColumns} FROM lex_session_turns t ${turnPayloads}
      WHERE t.session_id = ? AND t.place < ? AND ${dialect.oneOf("t.turn_id")}`),
    insertTurn: sql(`INSERT INTO lex_session_turns (${turnInsert.join(", ")}) VALUES (${values(turnInsert.length)})
      ON CONFLICT (session_id, turn_id) DO NOTHING`),
    turnInsert
  }
}

const checkpointInsert = ["id", "session_id", "revision", "kind", "merged_id", "body", "ref", "state", "state_ref"]

const checkpointStatements = ({ dialect }: Database, { checkpointColumns, checkpointPayloads }: Projections) => {
  const { sql } = dialect
  return {
    checkpoint: sql(`SELECT ${checkpointColumns} FROM lex_session_checkpoints c ${checkpointPayloads} WHERE c.id = ?`),
    lastMerge: sql(`SELECT ${checkpointColumns} FROM lex_session_checkpoints c ${checkpointPayloads}
      WHERE c.session_id = ? AND c.merged_id = ? ORDER BY c.revision DESC, c.id DESC LIMIT 1`),
    insertCheckpoint: sql(`INSERT INTO lex_session_checkpoints (${checkpointInsert.join(", ")})
      VALUES (${values(checkpointInsert.length)}) ON CONFLICT (id) DO NOTHING`),
    trim: sql(`DELETE FROM lex_session_checkpoints WHERE session_id = ? AND kind < ${SessionTables.bounded}
      AND (revision, id) <= (
        SELECT revision, id FROM lex_session_checkpoints WHERE session_id = ? AND kind < ${SessionTables.bounded}
        ORDER BY revision DESC, id DESC LIMIT 1 OFFSET ?
      )`),
    deleteCheckpoint: sql("DELETE FROM lex_session_checkpoints WHERE id = ? RETURNING session_id, ref, state_ref")
  }
}

const deletionStatements = ({ dialect }: Database) => {
  const { sql } = dialect
  return {
    leaving: sql(`SELECT status, turns, base_session, is_heavy FROM lex_sessions WHERE id = ?${dialect.forUpdate}`),
    deleteCheckpoints: sql("DELETE FROM lex_session_checkpoints WHERE session_id = ?"),
    deleteState: sql("DELETE FROM lex_session_states WHERE session_id = ?"),
    deleteSession: sql("DELETE FROM lex_sessions WHERE id = ?"),
    /** The remaining row has no owner and is in no list. */
    bury: sql(`UPDATE lex_sessions SET status = ${SessionTables.deleted}, user_id = '', parent_id = NULL, root_id = '',
      created_at = 0, updated_at = 0, head_session = NULL, head_turn = NULL, depth = 0, total_tokens = 0,
      total_cost = 0, checkpoint_id = NULL, revision = revision + 1 WHERE id = ?`),
    deleteTurns: sql("DELETE FROM lex_session_turns WHERE session_id = ? AND place > ? AND place < ?"),
    /** The last place of each run of a session that is in the lineage of another session's origin or turn. */
    needed: sql(`WITH RECURSIVE need (run, place) AS (
        SELECT run, place FROM (
          SELECT base_run AS run, MAX(base_place) AS place FROM lex_sessions
          WHERE base_session = ? AND status < ${SessionTables.deleted} GROUP BY base_run
          UNION
          SELECT parent_run, MAX(parent_place) FROM lex_session_turns
          WHERE parent_session = ? AND session_id <> ? GROUP BY parent_run
        ) direct
        UNION
        SELECT f.parent_run, f.parent_place FROM need n
        JOIN lex_session_turns f ON f.session_id = ? AND f.place = n.run
        WHERE f.parent_session = ?
      )
      SELECT run, MAX(place) AS place FROM need GROUP BY run ORDER BY run`)
  }
}

const inScope = (scope: string): string => `session_id = substr(?, ${scope.length + 1})`

/** Queries of the hashes that rows of a scope refer to, for `Payloads.sweep`. */
const references = {
  turnRefs: [`SELECT ref FROM lex_session_turns WHERE ${inScope(Rows.scopes.turns)} AND ref IS NOT NULL`],
  stateRefs: ["lex_session_states", "lex_session_checkpoints"].flatMap((table) =>
    ["ref", "state_ref"].map(
      (column) => `SELECT ${column} FROM ${table} WHERE ${inScope(Rows.scopes.states)} AND ${column} IS NOT NULL`
    )
  )
}

type Cached = (text: string) => string

/** Reads the newest of each status separately, so that the rows it skips do not grow with the table. */
const makeList =
  (cached: Cached, { sessionColumns, states }: Projections) =>
  (options: SessionStore.ListOptions): Query => {
    const { after, parentSessionId, rootSessionId, userId } = options
    const isInTree = parentSessionId !== undefined || rootSessionId !== undefined
    const time = options.order === "updated" ? "updated_at" : "created_at"
    // A tree has few sessions and no index by this time. The expression keeps the planner from using an unrelated
    // index.
    const by = isInTree && time === "updated_at" ? "updated_at + 0" : time
    const filters: Array<string> = []
    const params: Array<Param> = []
    const where = (filter: string, ...given: ReadonlyArray<Param>): void => {
      filters.push(filter)
      params.push(...given)
    }
    if (parentSessionId !== undefined) where("parent_id = ?", KeyText.encode(parentSessionId))
    if (rootSessionId !== undefined) where("root_id = ?", KeyText.encode(rootSessionId))
    if (userId !== undefined) where("user_id = ?", Rows.userKey(userId))
    if (after !== undefined) where(`(${by}, id) < (?, ?)`, after.at, KeyText.encode(after.id))
    const limit = count(options.limit)
    params.push(limit)
    const codes = [...new Set(options.statuses ?? SessionTables.statuses)].map((status) => byStatus[status]).sort()
    const arms = codes.map(
      (code) => `SELECT * FROM (SELECT id, ${time} AS at FROM lex_sessions WHERE status = ${code}
      ${filters.map((filter) => `AND ${filter}`).join(" ")}
      ORDER BY ${by} DESC, id DESC LIMIT ?) k${code}`
    )
    return {
      sql: cached(`SELECT ${sessionColumns} FROM (${arms.join(" UNION ALL ")}) k JOIN lex_sessions s ON s.id = k.id
      ${states} ORDER BY k.at DESC, k.id DESC LIMIT ?`),
      params: [...codes.flatMap(() => params), limit]
    }
  }

const makeCheckpoints =
  (cached: Cached, { checkpointColumns, checkpointPayloads }: Projections) =>
  (
    session: string,
    options: { readonly limit: number; readonly before?: number | undefined; readonly kinds: ReadonlyArray<number> }
  ): Query => {
    const { before, kinds } = options
    const limit = count(options.limit)
    const arms = kinds.map(
      (kind) => `SELECT * FROM (SELECT id FROM lex_session_checkpoints WHERE session_id = ? AND kind = ${kind}
      ${before === undefined ? "" : "AND revision < ?"} ORDER BY revision DESC, id DESC LIMIT ?) k${kind}`
    )
    return {
      sql: cached(`SELECT ${checkpointColumns} FROM (${arms.join(" UNION ALL ")}) k
      JOIN lex_session_checkpoints c ON c.id = k.id ${checkpointPayloads}
      ORDER BY c.revision DESC, c.id DESC LIMIT ?`),
      params: [...kinds.flatMap(() => [session, ...(before === undefined ? [] : [before]), limit]), limit]
    }
  }

/**
 * @category models
 */
export type Statements = ReturnType<typeof make>

/**
 * @category constructors
 */
export const make = (database: Database) => {
  const payloads = Payloads.make(database.dialect)
  const columns = projections(payloads)
  const cached = StatementTexts.make((text: string) => database.dialect.sql(text))
  return {
    payloads,
    count,
    list: makeList(cached, columns),
    checkpoints: makeCheckpoints(cached, columns),
    ...sessionStatements(database, columns),
    ...exchangeStatements(database),
    ...turnStatements(database, columns),
    ...checkpointStatements(database, columns),
    ...deletionStatements(database),
    ...references
  }
}
