/**
 * Tables of the log of runs.
 *
 * @private
 * @since 0.1.0
 */
import type { Dialect } from "../engine/Dialect.js"

/**
 * `lex_runs` has the owner of a run's events: `user_id` and `session_id`, which child runs inherit as far as known when
 * they began; `parent_run_id` leads to the rest.
 *
 * @category schemas
 */
export const tables = ({ types }: Dialect): ReadonlyArray<string> => [
  `CREATE TABLE lex_runs (
    run_id ${types.key} NOT NULL PRIMARY KEY,
    parent_run_id ${types.key},
    agent ${types.key} NOT NULL,
    session_id ${types.key},
    user_id ${types.key},
    last_at ${types.number} NOT NULL
  )`,
  ...["parent_run_id", "session_id", "user_id"].map(
    (column) => `CREATE INDEX lex_runs_${column} ON lex_runs (${column}) WHERE ${column} IS NOT NULL`
  ),
  "CREATE INDEX lex_runs_last_at ON lex_runs (last_at)",
  `CREATE TABLE lex_run_events (
    run_id ${types.key} NOT NULL,
    seq ${types.number} NOT NULL,
    body ${types.text},
    data ${types.bytes},
    PRIMARY KEY (run_id, seq)
  )`
]
