/**
 * Domain events of sessions. The aggregate is the session.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"
import * as DomainEvent from "../../observability/DomainEvent.js"

const NAME = { aggregateType: "Session" } as const

/**
 * A session was created, by a caller or as a fork.
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
 * A session has ended. The duration is from its creation until then, in seconds.
 *
 * @since 0.1.0
 * @category events
 */
export const SessionClosedEvent = DomainEvent.define("SessionClosedEvent", {
  ...NAME,
  fields: { sessionId: Schema.String, status: Schema.Literal("closed", "expired"), durationSeconds: Schema.Number }
})

/**
 * A session was suspended, resumed, restored from a checkpoint, or another one was merged into it.
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
 * Work for memory after a write of the session failed (`SessionTaskError`). The write stays.
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
