/**
 * Domain events of sessions. The aggregate is the session.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"
import * as DomainEvent from "../../observability/DomainEvent.js"

const NAME = { aggregateType: "Session" } as const

/**
 * A session was created, by itself or as a branch of another one.
 *
 * @since 0.1.0
 * @category events
 */
export const SessionCreatedEvent = DomainEvent.define("SessionCreatedEvent", {
  ...NAME,
  fields: {
    sessionId: Schema.String,
    userId: Schema.optional(Schema.String),
    parentSessionId: Schema.optional(Schema.String)
  }
})

/**
 * A session has come to its end. The duration goes from its creation to then, in seconds.
 *
 * @since 0.1.0
 * @category events
 */
export const SessionClosedEvent = DomainEvent.define("SessionClosedEvent", {
  ...NAME,
  fields: { sessionId: Schema.String, status: Schema.Literal("closed", "expired"), durationSeconds: Schema.Number }
})

/**
 * A session was suspended, resumed, taken back to a checkpoint, or another one was merged into it.
 *
 * @since 0.1.0
 * @category events
 */
export const SessionChangedEvent = DomainEvent.define("SessionChangedEvent", {
  ...NAME,
  fields: {
    sessionId: Schema.String,
    change: Schema.Literal("suspended", "resumed", "restored", "merged"),
    status: Schema.String
  }
})

/**
 * Work for memory that followed a write of the session failed (`SessionTaskError`). What was written stays.
 *
 * @since 0.1.0
 * @category events
 */
export const SessionTaskFailedEvent = DomainEvent.define("SessionTaskFailedEvent", {
  ...NAME,
  fields: {
    sessionId: Schema.String,
    task: Schema.Literal("add", "flush", "consolidate"),
    /** The tag of the error. */
    error: Schema.String,
    code: Schema.String,
    message: Schema.String
  }
})
