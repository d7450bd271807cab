/**
 * Work that becomes durable together with the result of an activity.
 *
 * @since 0.1.0
 */
import type * as Effect from "effect/Effect"
import * as Ambient from "../../internal/fiber/Ambient.js"

/**
 * Returns the effect to run before the result of an activity is committed, `undefined` for none.
 *
 * @since 0.1.0
 * @category models
 */
export type Hook = () => Effect.Effect<void, unknown> | undefined

/**
 * Read from the context of an activity when its result is about to be stored. The result and what the effect writes to
 * the same database are one transaction: both are stored, or neither. Writes of stores on the same `SqlClient` join it.
 *
 * If the effect fails, nothing is stored and the activity dies with the failure. The effect runs again after a conflict
 * of transactions, so it should do nothing but write to this database. It does not run for a result that was stored
 * before, nor for an activity that was suspended or interrupted.
 *
 * @since 0.1.0
 * @category references
 */
export class BeforeCommit extends Ambient.Reference<BeforeCommit>()("effect-lexigram/durable/BeforeCommit", {
  defaultValue: (): Hook | undefined => undefined
}) {}
