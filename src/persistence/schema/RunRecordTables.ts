/**
 * Tables of the records of runs.
 *
 * @private
 * @since 0.1.0
 */
import type { Dialect } from "../engine/Dialect.js"

/**
 * `body` has what never changes; `session` and `error` are texts that are not compared. A list reads one index in the
 * order of its pages. `lex_run_labels` has a row for each label of a run; `label` is its name and its value.
 *
 * @category schemas
 */
export const tables = ({ types }: Dialect): ReadonlyArray<string> => [
  `CREATE TABLE lex_run_records (
    run_id ${types.key} NOT NULL PRIMARY KEY,
    fingerprint ${types.key} NOT NULL,
    user_id ${types.key},
    session_id ${types.key},
    agent ${types.key} NOT NULL,
    state ${types.key} NOT NULL,
    created_at ${types.number} NOT NULL,
    updated_at ${types.number} NOT NULL,
    ended_at ${types.number},
    session ${types.text},
    error ${types.text},
    body ${types.text} NOT NULL
  )`,
  "CREATE INDEX lex_run_records_created_at ON lex_run_records (created_at, run_id)",
  ...["user_id", "session_id"].map(
    (column) =>
      `CREATE INDEX lex_run_records_${column} ON lex_run_records (${column}, created_at, run_id)
      WHERE ${column} IS NOT NULL`
  ),
  ...["agent", "state"].map(
    (column) => `CREATE INDEX lex_run_records_${column} ON lex_run_records (${column}, created_at, run_id)`
  ),
  "CREATE INDEX lex_run_records_nobodys ON lex_run_records (created_at, run_id) WHERE user_id IS NULL",
  "CREATE INDEX lex_run_records_open ON lex_run_records (created_at, run_id) WHERE ended_at IS NULL",
  "CREATE INDEX lex_run_records_ended_at ON lex_run_records (ended_at) WHERE ended_at IS NOT NULL",
  `CREATE TABLE lex_run_labels (
    label ${types.key} NOT NULL,
    created_at ${types.number} NOT NULL,
    run_id ${types.key} NOT NULL,
    PRIMARY KEY (label, created_at, run_id)
  )`,
  "CREATE INDEX lex_run_labels_run_id ON lex_run_labels (run_id)"
]

/**
 * Messages that were added to durable runs, numbered from 1. `taken_by` is the step that took a message, NULL while it
 * waits. A run that takes no more has a last row, without a message.
 *
 * @category schemas
 */
export const messages = ({ types }: Dialect): ReadonlyArray<string> => [
  `CREATE TABLE lex_run_messages (
    run_id ${types.key} NOT NULL,
    number ${types.number} NOT NULL,
    taken_by ${types.key},
    body ${types.text},
    data ${types.bytes},
    PRIMARY KEY (run_id, number)
  )`,
  "CREATE INDEX lex_run_messages_taken ON lex_run_messages (run_id, taken_by, number)",
  // Who reads a run in another process, until a time, and what they see before it is in the log.
  `CREATE TABLE lex_run_readers (
    run_id ${types.key} NOT NULL PRIMARY KEY,
    until ${types.number} NOT NULL
  )`,
  "CREATE INDEX lex_run_readers_until ON lex_run_readers (until)",
  `CREATE TABLE lex_run_deltas (
    run_id ${types.key} NOT NULL,
    last ${types.number} NOT NULL,
    body ${types.text},
    data ${types.bytes},
    PRIMARY KEY (run_id, last)
  )`
]

/**
 * The calls of a run that should be undone and are not, as JSON.
 *
 * @category schemas
 */
export const undone = ({ types }: Dialect): ReadonlyArray<string> => [
  `ALTER TABLE lex_run_records ADD COLUMN not_undone ${types.text}`
]

/**
 * Finds the open runs of a session however many have ended.
 *
 * @category schemas
 */
export const openRuns = (): ReadonlyArray<string> => [
  "CREATE INDEX lex_run_records_open_session ON lex_run_records (session_id) WHERE ended_at IS NULL"
]
