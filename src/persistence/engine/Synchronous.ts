/**
 * How much of what SQLite commits survives a loss of power.
 *
 * @internal
 * @since 0.1.0
 */
import * as Ambient from "../../internal/fiber/Ambient.js"

/**
 * SQLite's `synchronous` for a commit: `full` survives a loss of power, `normal` may lose the last commits then, and
 * stays whole.
 */
export type Level = "normal" | "full"

/**
 * The level of the transactions in scope. It is read when a transaction begins, and by a statement that writes by
 * itself.
 *
 * @category references
 */
export class Synchronous extends Ambient.Reference<Synchronous>()(
  "effect-lexigram/persistence/SqliteClient/Synchronous",
  {
    defaultValue: (): Level | undefined => undefined
  }
) {}
