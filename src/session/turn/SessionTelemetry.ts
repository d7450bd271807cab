/**
 * Records operations of sessions as spans, metrics, hooks and domain events.
 *
 * @private
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Option from "effect/Option"
import type { SessionId } from "../../domain/Ids.js"
import * as Spanned from "../../internal/fiber/Spanned.js"
import * as Announcer from "../../observability/Announcer.js"
import * as DomainEvent from "../../observability/DomainEvent.js"
import * as Observed from "../../observability/Observed.js"
import { attribute } from "../../observability/Telemetry.js"
import type { Session, SessionCheckpoint } from "./Session.js"
import {
  SessionChangedEvent,
  SessionClosedEvent,
  SessionCreatedEvent,
  SessionTaskFailedEvent
} from "./SessionEvents.js"
import { SessionCheckpointCreatedHook, SessionClosedHook, SessionStartedHook } from "./SessionHooks.js"
import * as SessionMetrics from "./SessionMetrics.js"
import type { SessionTaskError } from "./SessionTaskError.js"

/**
 * Makes the wait for handlers interruptible inside an uninterruptible region.
 *
 * @category models
 */
export type Restore = <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>

/**
 * Receives the written value, in the same uninterruptible step.
 *
 * @category models
 */
export type Written<A> = (value: A) => void

/**
 * A write that is uninterruptible once it has begun, so that its result is known.
 *
 * @category combinators
 */
export const reportWritten = <A, E, R>(write: Effect.Effect<A, E, R>, written: Written<A>): Effect.Effect<A, E, R> =>
  Effect.uninterruptible(Effect.tap(write, (value) => Effect.sync(() => written(value))))

/**
 * Runs `after` when something was written, even if the operation is interrupted afterwards; only the part inside
 * `restore` is skipped then.
 *
 * @category combinators
 */
export const thenAfterWrite = <A, E, R, B, E2, R2>(
  operation: (written: Written<A>) => Effect.Effect<A, E, R>,
  after: (value: A, restore: Restore) => Effect.Effect<B, E2, R2>
): Effect.Effect<B, E | E2, R | R2> =>
  Effect.uninterruptibleMask((restore) =>
    Effect.suspend(() => {
      let kept = Option.none<A>()
      const operated = operation((value) => {
        kept = Option.some(value)
      })
      return Effect.flatMap(Effect.exit(restore(operated)), (exit): Effect.Effect<B, E | E2, R2> => {
        if (Exit.isSuccess(exit)) return after(exit.value, restore)
        const failed = Exit.failCause(exit.cause)
        return Option.isNone(kept) ? failed : Effect.zipRight(after(kept.value, restore), failed)
      })
    })
  )

/**
 * The event is published at once; `restore` wraps only the handlers.
 *
 * @category models
 */
export interface SessionTelemetry {
  readonly started: (session: Session, restore?: Restore) => Effect.Effect<void>
  readonly checkpointed: (checkpoint: SessionCheckpoint, restore?: Restore) => Effect.Effect<void>
  /** Suspended, resumed, restored or merged; `updatedAt` is the time. */
  readonly changed: (change: "suspended" | "resumed" | "restored" | "merged", session: Session) => Effect.Effect<void>
  /** Closed or expired; `updatedAt` is the time. */
  readonly ended: (session: Session, restore?: Restore) => Effect.Effect<void>
  /** Work for memory failed after a write. */
  readonly taskFailed: (error: SessionTaskError) => Effect.Effect<void>
}

const noRestore: Restore = (effect) => effect

/**
 * Within a run, hooks and bus are those of the run; otherwise those in context here.
 *
 * @category constructors
 */
export const make: Effect.Effect<SessionTelemetry> = Effect.gen(function* () {
  const announcer = yield* Announcer.make
  return {
    started: ({ id: sessionId, parentSessionId, userId }, restore = noRestore) =>
      announcer((hooks, announce) => {
        announce(() =>
          DomainEvent.make(SessionCreatedEvent, {
            aggregateId: sessionId,
            fields: {
              sessionId,
              ...(userId === undefined ? {} : { userId }),
              ...(parentSessionId === undefined ? {} : { parentSessionId })
            }
          })
        )
        return hooks.has(SessionStartedHook)
          ? restore(hooks.call(SessionStartedHook, { sessionId, userId, parentSessionId }))
          : Effect.void
      }),
    checkpointed: ({ id: checkpointId, kind, sessionId }, restore = noRestore) =>
      announcer((hooks) => {
        SessionMetrics.checkpointed(kind)
        return hooks.has(SessionCheckpointCreatedHook)
          ? restore(hooks.call(SessionCheckpointCreatedHook, { sessionId, checkpointId, kind }))
          : Effect.void
      }),
    changed: (change, { id: sessionId, status }) =>
      announcer((_, announce) => {
        announce(() =>
          DomainEvent.make(SessionChangedEvent, { aggregateId: sessionId, fields: { sessionId, change, status } })
        )
        return Effect.void
      }),
    ended: ({ createdAt, id: sessionId, status: ended, updatedAt, userId }, restore = noRestore) =>
      announcer((hooks, announce) => {
        const status: "closed" | "expired" = ended === "expired" ? ended : "closed"
        SessionMetrics.ended(status)
        announce(() =>
          DomainEvent.make(SessionClosedEvent, {
            aggregateId: sessionId,
            fields: { sessionId, status, durationSeconds: Math.max(0, updatedAt - createdAt) / 1000 }
          })
        )
        return hooks.has(SessionClosedHook)
          ? restore(hooks.call(SessionClosedHook, { sessionId, userId, status }))
          : Effect.void
      }),
    taskFailed: ({ _tag: error, code, message, sessionId, task }) =>
      announcer((_, announce) => {
        announce(() =>
          DomainEvent.make(SessionTaskFailedEvent, {
            aggregateId: sessionId,
            fields: { sessionId, task, error, code, message }
          })
        )
        return Effect.void
      })
  }
})

/**
 * Runs a session operation with its span and metrics. The span carries the id of the session, if known.
 *
 * @category combinators
 */
export const observed = <A, E, R>(
  operation: SessionMetrics.Operation,
  sessionId: SessionId | undefined,
  effect: Effect.Effect<A, E, R>
): Effect.Effect<A, E, R> =>
  Observed.timed(
    (ended) =>
      Spanned.run(
        SessionMetrics.SPAN_SESSION + operation,
        { attributes: sessionId === undefined ? {} : { [attribute.genAiConversationId]: sessionId } },
        effect,
        ended
      ),
    (outcome, durationMs) => SessionMetrics.operated(operation, outcome, durationMs)
  )
