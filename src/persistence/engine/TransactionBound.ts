/**
 * Ends transactions whose process has stopped. A frozen process, or one that was cut off, keeps its connection and with
 * it the locks of its transaction: others that need them would wait for as long as the client lets a transaction idle.
 *
 * @private
 * @since 0.1.0
 */
import type { Dialect } from "./Dialect.js"

const setting = "idle_in_transaction_session_timeout"

/**
 * A column of a statement with locks. From it on, Postgres rolls the transaction back once it has waited so many
 * milliseconds for its process. A lower bound of the client stays. In SQLite the column is empty.
 *
 * @category constructors
 */
export const column = ({ name }: Dialect, millis: number): string => {
  if (name !== "postgres") return "NULL"
  const known = `NULLIF(EXTRACT(EPOCH FROM current_setting('${setting}')::interval) * 1000, 0)`
  return `set_config('${setting}', LEAST(${Math.ceil(millis)}, ${known})::bigint::text, true)`
}
