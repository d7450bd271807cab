/**
 * Tables of audit logs and of rate limits.
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
export const audit = ({ types }: Dialect): ReadonlyArray<string> => [
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

/**
 * A row per key with the amount in its window, and a slot per time at which some of it leaves.
 *
 * @category schemas
 */
export const rates = ({ types }: Dialect): ReadonlyArray<string> => [
  // `leaves_from`: nothing leaves before. `leaves_by`: everything has left by then.
  `CREATE TABLE lex_rates (
    rate_key ${types.key} PRIMARY KEY,
    total ${types.number} NOT NULL,
    leaves_from ${types.number} NOT NULL,
    leaves_by ${types.number} NOT NULL
  )`,
  "CREATE INDEX lex_rates_end ON lex_rates (leaves_by)",
  `CREATE TABLE lex_rate_slots (
    rate_key ${types.key} NOT NULL,
    leaves_at ${types.number} NOT NULL,
    amount ${types.number} NOT NULL,
    PRIMARY KEY (rate_key, leaves_at)
  )`
]
