/**
 * Domain events published by the skill subsystem.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"
import * as DomainEvent from "../../observability/DomainEvent.js"

/**
 * An execution ended; `success` is false if it failed or was interrupted. The aggregate is the skill, the actor the
 * user it was executed for.
 *
 * @since 0.1.0
 * @category events
 */
export const SkillExecutedEvent = DomainEvent.define("SkillExecutedEvent", {
  aggregateType: "Skill",
  fields: {
    skillName: Schema.String,
    success: Schema.Boolean,
    /** Milliseconds without the wait for confirmation; 0 when cached. */
    durationMs: Schema.Number,
    cached: Schema.Boolean,
    /** The last attempt, from 1; 0 when there was none. */
    attempt: Schema.Number
  }
})
