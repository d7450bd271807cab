/**
 * The user and session of an execution, and what its handler knows about it.
 *
 * @since 0.1.0
 */
import type { SessionId, UserId } from "../../domain/Ids.js"

/**
 * The user and session a skill is executed for.
 *
 * @since 0.1.0
 * @category models
 */
export interface SkillContext {
  readonly userId?: UserId | undefined
  readonly sessionId?: SessionId | undefined
}

/**
 * Information about the execution, for its handler.
 *
 * @since 0.1.0
 * @category models
 */
export interface SkillCall extends SkillContext {
  /** The name under which the skill is executed. */
  readonly skillName: string
  /** Id of the execution, the same on every attempt: an idempotency key. */
  readonly id: string
  /** From 1. */
  readonly attempt: number
}
