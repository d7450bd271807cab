/**
 * Tables of approvals.
 *
 * @private
 * @since 0.1.0
 */
import type { Dialect } from "../engine/Dialect.js"

/**
 * Rows of a user, a session or a run are found by `user_id`, `session_id`, `run_id` and `root_run_id`; remembered
 * decisions by `scope` (`user`, `session`, `run`) and `scope_id`.
 *
 * @category schemas
 */
export const tables = ({ types }: Dialect): ReadonlyArray<string> => [
  `CREATE TABLE lex_approvals (
    number ${types.serial},
    id ${types.key} NOT NULL UNIQUE,
    run_id ${types.key} NOT NULL,
    root_run_id ${types.key},
    session_id ${types.key},
    user_id ${types.key},
    agent ${types.key} NOT NULL,
    tool ${types.key} NOT NULL,
    requested_at ${types.number} NOT NULL,
    expires_at ${types.number},
    body ${types.text},
    data ${types.bytes},
    settled_at ${types.number},
    settlement ${types.text}
  )`,
  "CREATE INDEX lex_approvals_run ON lex_approvals (run_id, settled_at, requested_at, number)",
  ...["root_run_id", "session_id", "user_id"].map(
    (column) =>
      `CREATE INDEX lex_approvals_${column} ON lex_approvals (${column}, settled_at, requested_at, number)
      WHERE ${column} IS NOT NULL`
  ),
  ...["tool", "agent"].map(
    (column) =>
      `CREATE INDEX lex_approvals_${column} ON lex_approvals (${column}, requested_at, number) WHERE settled_at IS NULL`
  ),
  "CREATE INDEX lex_approvals_waiting ON lex_approvals (requested_at, number) WHERE settled_at IS NULL",
  "CREATE INDEX lex_approvals_expires ON lex_approvals (expires_at, number) WHERE settled_at IS NULL",
  "CREATE INDEX lex_approvals_settled ON lex_approvals (settled_at) WHERE settled_at IS NOT NULL",
  `CREATE TABLE lex_decisions (
    entry ${types.key} NOT NULL PRIMARY KEY,
    scope ${types.key} NOT NULL,
    scope_id ${types.key},
    agent ${types.key} NOT NULL,
    tool ${types.key} NOT NULL,
    at ${types.number} NOT NULL,
    body ${types.text},
    data ${types.bytes}
  )`,
  "CREATE INDEX lex_decisions_at ON lex_decisions (at, entry)",
  "CREATE INDEX lex_decisions_scope ON lex_decisions (scope, at, entry)",
  "CREATE INDEX lex_decisions_scope_id ON lex_decisions (scope_id, at, entry) WHERE scope_id IS NOT NULL",
  "CREATE INDEX lex_decisions_agent ON lex_decisions (agent, at, entry)",
  "CREATE INDEX lex_decisions_tool ON lex_decisions (tool, at, entry)"
]

/**
 * `user_id` is the user whose requests a decision answers. Earlier decisions applied to any user and are requested
 * again.
 *
 * @category schemas
 */
export const owners = ({ types }: Dialect): ReadonlyArray<string> => [
  `ALTER TABLE lex_decisions ADD COLUMN user_id ${types.key}`,
  "DELETE FROM lex_decisions",
  "CREATE INDEX lex_decisions_user_id ON lex_decisions (user_id, at, entry) WHERE user_id IS NOT NULL",
  "CREATE INDEX lex_decisions_nobodys ON lex_decisions (at, entry) WHERE user_id IS NULL"
]
