/**
 * The statements of the queue of runs. Each reads few rows, by an index.
 *
 * @private
 * @since 0.1.0
 */
import type { Dialect } from "../engine/Dialect.js"
import * as TransactionBound from "../engine/TransactionBound.js"

/** The most runs that are counted before another one. */
export const maxAhead = 1000

/** Delayed runs whose time has come that one claim lets wait. */
export const maxReady = 100

/** How long a process that stops in a transaction keeps the others from the queue, in milliseconds. */
const bound = 3000

const columns = "run_id, owner, user_id, agent, fingerprint, state, rank, cancelled, body"

/**
 * @category models
 */
export type Statements = ReturnType<typeof make>

/**
 * @category constructors
 */
export const make = (dialect: Dialect) => ({
  insert: dialect.sql(
    `INSERT INTO lex_queue (run_id, owner, user_id, agent, fingerprint, state, rank, not_before, cancelled, body)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, 0, ?)`
  ),
  get: dialect.sql(`SELECT ${columns} FROM lex_queue WHERE run_id = ?`),
  ahead: dialect.sql(
    `SELECT COUNT(*) AS count FROM (
      SELECT 1 FROM lex_queue WHERE owner = ? AND agent = ? AND state = 1 AND (rank, run_id) < (?, ?) LIMIT ${maxAhead}
    ) found`
  ),
  /** Locks the row until the end of the transaction. */
  totals: dialect.sql(
    `INSERT INTO lex_queue_totals (name, turn, waiting) VALUES ('all', 0, 0)
    ON CONFLICT (name) DO UPDATE SET turn = lex_queue_totals.turn
    RETURNING turn, waiting, ${TransactionBound.column(dialect, bound)} AS bound`
  ),
  setTotals: dialect.sql("UPDATE lex_queue_totals SET turn = ?, waiting = ? WHERE name = 'all'"),
  readTotals: dialect.sql("SELECT waiting FROM lex_queue_totals WHERE name = 'all'"),
  /** Asked only where the queue is full by its totals: what was erased no longer waits. */
  waiting: dialect.sql(
    `SELECT (SELECT COUNT(*) FROM lex_queue WHERE state = 0) + (SELECT COUNT(*) FROM lex_queue WHERE state = 1) AS count`
  ),
  waitingOf: dialect.sql("SELECT COUNT(*) AS count FROM lex_queue WHERE owner = ? AND state < 2"),
  claimedOf: dialect.sql("SELECT COUNT(*) AS count FROM lex_queue WHERE owner = ? AND state = 2"),
  claimed: dialect.sql("SELECT owner, agent, COUNT(*) AS count FROM lex_queue WHERE state = 2 GROUP BY owner, agent"),
  ready: dialect.sql(
    `SELECT run_id, owner, agent FROM lex_queue WHERE state = 0 AND not_before <= ?
    ORDER BY not_before, run_id LIMIT ${maxReady}`
  ),
  wait: dialect.sql("UPDATE lex_queue SET state = 1 WHERE run_id = ? AND state = 0"),
  enterLane: dialect.sql(
    `INSERT INTO lex_queue_lanes (owner, agent, turn, waiting)
    SELECT ?, ?, COALESCE((SELECT MAX(turn) FROM lex_queue_lanes WHERE owner = ?), ?), 1 WHERE true
    ON CONFLICT (owner, agent) DO UPDATE SET waiting = lex_queue_lanes.waiting + 1`
  ),
  leaveLane: dialect.sql("UPDATE lex_queue_lanes SET waiting = waiting - 1 WHERE owner = ? AND agent = ?"),
  dropLane: dialect.sql("DELETE FROM lex_queue_lanes WHERE owner = ? AND agent = ? AND waiting <= 0"),
  emptyLane: dialect.sql("DELETE FROM lex_queue_lanes WHERE owner = ? AND agent = ?"),
  lane: dialect.sql(
    `SELECT owner, turn FROM lex_queue_lanes WHERE agent = ? AND NOT (${dialect.oneOf("owner || ''")})
    ORDER BY turn, owner LIMIT 1`
  ),
  head: dialect.sql(
    `SELECT ${columns} FROM lex_queue WHERE owner = ? AND agent = ? AND state = 1 ORDER BY rank, run_id LIMIT 1`
  ),
  take: dialect.sql("UPDATE lex_queue SET state = 2, worker = ?, lease_until = ?, cancelled = ? WHERE run_id = ?"),
  turn: dialect.sql("UPDATE lex_queue_lanes SET turn = ? WHERE owner = ?"),
  expired: dialect.sql(
    `SELECT ${columns}, ${TransactionBound.column(dialect, bound)} AS bound FROM lex_queue
    WHERE state = 2 AND lease_until <= ? AND ${dialect.oneOf("agent || ''")}
    ORDER BY lease_until, run_id LIMIT 16${dialect.forUpdateSkipLocked}`
  ),
  renew: dialect.sql("UPDATE lex_queue SET lease_until = ? WHERE state = 2 AND worker = ? RETURNING run_id, body"),
  remove: dialect.sql("DELETE FROM lex_queue WHERE run_id = ? AND state = 2"),
  isEmpty: dialect.sql(
    `SELECT EXISTS (SELECT 1 FROM lex_queue WHERE state = 0) OR EXISTS (SELECT 1 FROM lex_queue WHERE state = 1)
    AS waits`
  )
})
