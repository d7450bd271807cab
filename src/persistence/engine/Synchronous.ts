/**
 * The durability of SQLite commits.
 *
 * @private
 * @since 0.1.0
 */
import * as Ambient from "../../internal/fiber/Ambient.js"

/**
 * SQLite's `synchronous` for a commit: `full` survives a power loss; `normal` may lose the last commits but keeps the
 * file intact.
 */
export type Level = "normal" | "full"

/**
 * The level of the transactions in scope. It is read when a transaction begins, and by single statements that write.
 *
 * @category references
 */
export class Synchronous extends Ambient.Reference<Synchronous>()(
  "effect-lexigram/persistence/SqliteClient/Synchronous",
  {
    defaultValue: (): Level | undefined => undefined
  }
) {}
