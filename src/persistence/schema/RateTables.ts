/**
 * Tables of `SqlRateLimitStore`: a row per key with the amount in its window, and a slot per time at which some of it
 * leaves.
 *
 * @private
 * @since 0.1.0
 */
import type { Dialect } from "../engine/Dialect.js"

/**
 * @category schemas
 */
export const tables = ({ types }: Dialect): ReadonlyArray<string> => [
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
