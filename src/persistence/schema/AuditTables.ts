/**
 * Tables of audit logs.
 *
 * @private
 * @since 0.1.0
 */
import type { Dialect } from "../engine/Dialect.js"

/** Columns with an index in the order of the log. */
const anchors = ["run_id", "user_id", "agent", "model", "status", "event_type"] as const

/**
 * Events of a user are found by `user_id`, of a run by `run_id`. The body is the event.
 *
 * @category schemas
 */
export const tables = ({ types }: Dialect): ReadonlyArray<string> => [
  `CREATE TABLE lex_audit (
    number ${types.serial},
    at ${types.number} NOT NULL,
    event_type ${types.key} NOT NULL,
    status ${types.key} NOT NULL,
    user_id ${types.key},
    agent ${types.key},
    run_id ${types.key},
    model ${types.key},
    body ${types.text},
    data ${types.bytes}
  )`,
  "CREATE INDEX lex_audit_at ON lex_audit (at, number)",
  ...anchors.map(
    (column) => `CREATE INDEX lex_audit_${column} ON lex_audit (${column}, at, number) WHERE ${column} IS NOT NULL`
  )
]
