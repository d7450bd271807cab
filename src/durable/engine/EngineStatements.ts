/**
 * The statements of the workflow engine. Every write of an execution's owner names the owner, so that the write of a
 * runner that lost the execution changes nothing.
 *
 * @private
 * @since 0.1.0
 */
import type { Dialect } from "../../persistence/engine/Dialect.js"
import * as TransactionBound from "../../persistence/engine/TransactionBound.js"

/** The most rows of one look for work. */
export const page = 100

const EXECUTIONS = "lex_workflow_executions"
const ACTIVITIES = "lex_workflow_activities"
const DEFERREDS = "lex_workflow_deferreds"
const CLOCKS = "lex_workflow_clocks"
const RUNNERS = "lex_workflow_runners"

/** Ready, and nobody's. */
const isReady = "status = 0 AND runner_id IS NULL"

/** A share lock on the execution of a runner, which ends after `bound` milliseconds if the runner stops meanwhile. */
const owned = (dialect: Dialect, bound: number | undefined): string => {
  const isOwned = "WHERE execution_id = ? AND runner_id = ?"
  if (dialect.name !== "postgres") return isOwned
  return bound === undefined
    ? `${isOwned} FOR SHARE`
    : `${isOwned} AND ${TransactionBound.column(dialect, bound)} IS NOT NULL FOR SHARE`
}

const columns = `(execution_id, long_id, workflow, parent_id, status, wake, interrupted, created_at, updated_at, bytes,
  payload, payload_data)`

/**
 * @category models
 */
export type Statements = ReturnType<typeof make>

const ofExecutions = (dialect: Dialect) => ({
  insert: dialect.sql(
    `INSERT INTO ${EXECUTIONS} ${columns} VALUES (?, ?, ?, ?, 0, 0, 0, ?, ?, ?, ?, ?)
    ON CONFLICT (execution_id) DO NOTHING`
  ),
  state: dialect.sql(
    `SELECT status, runner_id, wake, interrupted, result AS body, result_data AS data FROM ${EXECUTIONS}
    WHERE execution_id = ?`
  ),
  ready: dialect.sql(
    `SELECT execution_id FROM ${EXECUTIONS} WHERE ${isReady} AND ${dialect.oneOf("workflow")} LIMIT ${page}`
  ),
  claim: dialect.sql(
    `UPDATE ${EXECUTIONS} SET runner_id = ?, updated_at = ?
    WHERE execution_id = ? AND ${isReady} AND ${dialect.oneOf("workflow")}
    RETURNING execution_id, long_id, workflow, parent_id, wake, interrupted, payload AS body, payload_data AS data`
  ),
  wake: dialect.sql(
    `UPDATE ${EXECUTIONS} SET wake = wake + 1, status = 0, updated_at = ? WHERE execution_id = ? AND status <> 2`
  ),
  interrupt: dialect.sql(
    `UPDATE ${EXECUTIONS} SET wake = wake + 1, status = 0, updated_at = ?,
      interrupted = CASE WHEN interrupted > 0 THEN interrupted WHEN status = 1 THEN 1 ELSE 2 END
    WHERE execution_id = ? AND status <> 2`
  ),
  suspend: dialect.sql(
    `UPDATE ${EXECUTIONS} SET status = ?, runner_id = NULL, result = ?, result_data = ?, updated_at = ?
    WHERE execution_id = ? AND runner_id = ? AND wake = ?`
  ),
  complete: dialect.sql(
    `UPDATE ${EXECUTIONS} SET status = 2, runner_id = NULL, result = ?, result_data = ?, bytes = bytes + ?,
      ended_at = ?, updated_at = ?
    WHERE execution_id = ? AND runner_id = ?`
  ),
  release: dialect.sql(`UPDATE ${EXECUTIONS} SET runner_id = NULL WHERE execution_id = ? AND runner_id = ?`),
  interrupted: dialect.sql(`SELECT execution_id FROM ${EXECUTIONS} WHERE runner_id = ? AND interrupted > 0`),
  /** Those of callers, which wait for an end, and those of parents, which also return on a suspension. */
  ended: dialect.sql(`SELECT execution_id FROM ${EXECUTIONS} WHERE ${dialect.oneOf("execution_id")} AND status > 1`),
  paused: dialect.sql(`SELECT execution_id FROM ${EXECUTIONS} WHERE ${dialect.oneOf("execution_id")} AND status > 0`)
})

const ofActivities = (dialect: Dialect, bound: number | undefined) => ({
  find: dialect.sql(
    `SELECT e.runner_id, a.attempt, a.body, a.data FROM ${EXECUTIONS} e
    LEFT JOIN ${ACTIVITIES} a ON a.execution_id = e.execution_id AND a.name = ? AND a.attempt = ?
    WHERE e.execution_id = ?`
  ),
  // The share lock keeps another runner from taking the execution before this is committed.
  commit: dialect.sql(
    `INSERT INTO ${ACTIVITIES} (execution_id, name, attempt, long_name, at, bytes, body, data)
    SELECT execution_id, ?, ?, ?, ?, ?, ?, ? FROM ${EXECUTIONS} ${owned(dialect, bound)}
    ON CONFLICT (execution_id, name, attempt) DO NOTHING`
  ),
  /** Within the transaction of a commit. */
  commitWith: dialect.sql(
    `INSERT INTO ${ACTIVITIES} (execution_id, name, attempt, long_name, at, bytes, body, data)
    VALUES (?, ?, 1, ?, ?, ?, ?, ?) ON CONFLICT (execution_id, name, attempt) DO NOTHING`
  ),
  recorded: dialect.sql(`SELECT name, attempt FROM ${ACTIVITIES} WHERE execution_id = ?`),
  activities: dialect.sql(
    `SELECT name, long_name, attempt, at, bytes FROM ${ACTIVITIES}
    WHERE execution_id = ? AND (name, attempt) > (?, ?) ORDER BY name, attempt LIMIT ?`
  )
})

const ofDeferreds = (dialect: Dialect, bound: number | undefined) => {
  const early = `CASE WHEN EXISTS (SELECT 1 FROM ${EXECUTIONS} WHERE execution_id = ?) THEN 0 ELSE 1 END`
  const insert = (condition: string) =>
    dialect.sql(
      `INSERT INTO ${DEFERREDS} (execution_id, name, early, at, bytes, body, data)
      SELECT ?, ?, ${early}, ?, ?, ?, ?
      WHERE NOT EXISTS (SELECT 1 FROM ${EXECUTIONS} WHERE execution_id = ? AND status = 2)${condition}
      ON CONFLICT (execution_id, name) DO NOTHING`
    )
  const schedule = (condition: string) =>
    dialect.sql(
      `INSERT INTO ${CLOCKS} (execution_id, name, due_at) SELECT ?, ?, ?
      WHERE NOT EXISTS (SELECT 1 FROM ${DEFERREDS} WHERE execution_id = ? AND name = ?)${condition}
      ON CONFLICT (execution_id, name) DO NOTHING`
    )
  return {
    deferred: dialect.sql(`SELECT body, data FROM ${DEFERREDS} WHERE execution_id = ? AND name = ?`),
    settle: insert(""),
    schedule: schedule(""),
    /** By an execution, while it is this runner's. */
    owner: dialect.sql(`SELECT 1 FROM ${EXECUTIONS} ${owned(dialect, bound)}`),
    due: dialect.sql(`SELECT execution_id, name FROM ${CLOCKS} WHERE due_at <= ? ORDER BY due_at LIMIT ${page}`),
    ring: dialect.sql(`DELETE FROM ${CLOCKS} WHERE execution_id = ? AND name = ?`)
  }
}

const ofRunners = (dialect: Dialect) => ({
  enter: dialect.sql(`INSERT INTO ${RUNNERS} (id, expires_at) VALUES (?, ?) ON CONFLICT (id) DO NOTHING`),
  renew: dialect.sql(`UPDATE ${RUNNERS} SET expires_at = ? WHERE id = ?`),
  leave: dialect.sql(`DELETE FROM ${RUNNERS} WHERE id = ?`),
  releaseAll: dialect.sql(`UPDATE ${EXECUTIONS} SET runner_id = NULL WHERE runner_id = ?`),
  expire: dialect.sql(`DELETE FROM ${RUNNERS} WHERE expires_at <= ? AND id <> ?`),
  /**
   * Executions of runners that are gone. No id is empty: the condition makes the index usable. Those that begin with
   * "@" belong to a cluster.
   */
  abandoned: dialect.sql(
    `UPDATE ${EXECUTIONS} SET runner_id = NULL
    WHERE runner_id > '' AND runner_id NOT LIKE '@%' AND NOT EXISTS (SELECT 1 FROM ${RUNNERS} r WHERE r.id = ${EXECUTIONS}.runner_id)`
  ),
  look: dialect.sql(
    `SELECT EXISTS (SELECT 1 FROM ${CLOCKS} WHERE due_at <= ?) AS due,
      EXISTS (SELECT 1 FROM ${RUNNERS} WHERE expires_at <= ? AND id <> ?) AS expired,
      EXISTS (SELECT 1 FROM ${EXECUTIONS} WHERE ${isReady} AND ${dialect.oneOf("workflow")}) AS ready,
      EXISTS (SELECT 1 FROM ${EXECUTIONS} WHERE runner_id = ? AND interrupted > 0) AS interrupted`
  )
})

const ofJournal = (dialect: Dialect) => {
  const removed = (table: string) => dialect.sql(`DELETE FROM ${table} WHERE ${dialect.oneOf("execution_id")}`)
  const sum = (table: string) => `(SELECT COALESCE(SUM(bytes), 0) FROM ${table} WHERE execution_id = ?)`
  return {
    old: dialect.sql(
      `SELECT execution_id FROM ${EXECUTIONS} WHERE ended_at < ? ORDER BY ended_at LIMIT ${page}${dialect.forUpdateSkipLocked}`
    ),
    /** The execution first: its owner cannot add rows after that. */
    remove: [EXECUTIONS, ACTIVITIES, DEFERREDS, CLOCKS].map(removed),
    result: dialect.sql(`SELECT body, data FROM ${ACTIVITIES} WHERE execution_id = ? AND name = ? AND attempt = 1`),
    payload: dialect.sql(`SELECT payload AS body, payload_data AS data FROM ${EXECUTIONS} WHERE execution_id = ?`),
    removeEarly: dialect.sql(
      `DELETE FROM ${DEFERREDS} WHERE early = 1 AND at < ?
      AND NOT EXISTS (SELECT 1 FROM ${EXECUTIONS} e WHERE e.execution_id = ${DEFERREDS}.execution_id)`
    ),
    size: dialect.sql(`SELECT ${[EXECUTIONS, ACTIVITIES, DEFERREDS].map(sum).join(" + ")} AS bytes`)
  }
}

/**
 * `bound` is how long a runner may stop in a transaction before it loses its locks, in milliseconds. Default: as long
 * as the client lets a transaction idle.
 *
 * @category constructors
 */
export const make = (dialect: Dialect, bound?: number) => ({
  ...ofExecutions(dialect),
  ...ofActivities(dialect, bound),
  ...ofDeferreds(dialect, bound),
  ...ofRunners(dialect),
  ...ofJournal(dialect)
})
