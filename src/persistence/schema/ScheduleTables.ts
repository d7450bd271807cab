/**
 * The table of schedules of runs.
 *
 * @private
 * @since 0.1.0
 */
import type { Dialect } from "../engine/Dialect.js"

/**
 * `body` is the schedule; the other columns are those by which it is found. `due_at` is NULL while nothing is due.
 *
 * @category schemas
 */
export const tables = ({ types }: Dialect): ReadonlyArray<string> => [
  `CREATE TABLE lex_run_schedules (
    id ${types.key} NOT NULL PRIMARY KEY,
    uid ${types.key} NOT NULL,
    fingerprint ${types.key} NOT NULL,
    user_id ${types.key},
    agent ${types.key} NOT NULL,
    state ${types.key} NOT NULL,
    created_at ${types.number} NOT NULL,
    due_at ${types.number},
    revision ${types.number} NOT NULL,
    body ${types.text} NOT NULL
  )`,
  "CREATE INDEX lex_run_schedules_created_at ON lex_run_schedules (created_at, id)",
  "CREATE INDEX lex_run_schedules_user ON lex_run_schedules (user_id, created_at, id) WHERE user_id IS NOT NULL",
  "CREATE INDEX lex_run_schedules_nobodys ON lex_run_schedules (created_at, id) WHERE user_id IS NULL",
  "CREATE INDEX lex_run_schedules_agent ON lex_run_schedules (agent, created_at, id)",
  "CREATE INDEX lex_run_schedules_due ON lex_run_schedules (due_at, id) WHERE due_at IS NOT NULL"
]
