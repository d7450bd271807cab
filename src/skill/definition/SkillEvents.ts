/**
 * The domain events of skills: what other parts of an application are told of.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"
import * as DomainEvent from "../../observability/DomainEvent.js"

/**
 * An execution ended, whichever way; `success` is false when it failed or was interrupted. The aggregate is the skill,
 * and the actor the user it was executed for.
 *
 * @since 0.1.0
 * @category events
 */
export const SkillExecutedEvent = DomainEvent.define("SkillExecutedEvent", {
  aggregateType: "Skill",
  fields: {
    skillName: Schema.String,
    success: Schema.Boolean,
    /** Milliseconds, without the time in which somebody was asked to confirm; 0 when cached. */
    durationMs: Schema.Number,
    cached: Schema.Boolean,
    /** The last attempt, from 1; 0 when there was none. */
    attempt: Schema.Number
  }
})
