/**
 * Says what happens to sessions: hooks and domain events, from wherever it is done.
 *
 * @internal
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as DomainEvent from "../observability/DomainEvent.js"
import * as EventBus from "../observability/EventBus.js"
import * as Hooks from "../observability/Hooks.js"
import * as Run from "../observability/Run.js"
import type { Session, SessionCheckpoint } from "./Session.js"
import { SessionChangedEvent, SessionClosedEvent, SessionCreatedEvent } from "./SessionEvents.js"
import { SessionCheckpointCreatedHook, SessionClosedHook, SessionStartedHook } from "./SessionHooks.js"

/**
 * @category models
 */
export interface Notices {
  readonly started: (session: Session) => Effect.Effect<void>
  readonly checkpointed: (checkpoint: SessionCheckpoint) => Effect.Effect<void>
  /** Suspended, resumed, restored or merged: `updatedAt` is when. */
  readonly changed: (change: "suspended" | "resumed" | "restored" | "merged", session: Session) => Effect.Effect<void>
  /** Closed or expired: `updatedAt` is when. */
  readonly ended: (session: Session) => Effect.Effect<void>
}

/**
 * Within a run hooks and bus are those of the run, else those that are in context here.
 *
 * @category constructors
 */
export const make: Effect.Effect<Notices> = Effect.gen(function* () {
  const outside = Option.getOrElse(yield* Effect.serviceOption(Hooks.Hooks), () => Hooks.noop)
  const bus = Option.getOrElse(yield* Effect.serviceOption(EventBus.EventBus), () => EventBus.noop)
  const told = (tell: (hooks: Hooks.Service, announce: Run.Service["announce"]) => Effect.Effect<void>) =>
    Effect.flatMap(Run.Run, (run) =>
      Run.isCurrent(run)
        ? tell(run.hooks, run.announce)
        : tell(outside, (event) => {
            if (bus.enabled) bus.offer(event())
          })
    )
  return {
    started: ({ id: sessionId, parentSessionId, userId }) =>
      told((hooks, announce) => {
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
          ? hooks.call(SessionStartedHook, { sessionId, userId, parentSessionId })
          : Effect.void
      }),
    checkpointed: ({ id: checkpointId, kind, sessionId }) =>
      told((hooks) =>
        hooks.has(SessionCheckpointCreatedHook)
          ? hooks.call(SessionCheckpointCreatedHook, { sessionId, checkpointId, kind })
          : Effect.void
      ),
    changed: (change, { id: sessionId, status }) =>
      told((_, announce) => {
        announce(() =>
          DomainEvent.make(SessionChangedEvent, { aggregateId: sessionId, fields: { sessionId, change, status } })
        )
        return Effect.void
      }),
    ended: ({ createdAt, id: sessionId, status: ended, updatedAt, userId }) =>
      told((hooks, announce) => {
        const status: "closed" | "expired" = ended === "expired" ? ended : "closed"
        announce(() =>
          DomainEvent.make(SessionClosedEvent, {
            aggregateId: sessionId,
            fields: { sessionId, status, durationSeconds: Math.max(0, updatedAt - createdAt) / 1000 }
          })
        )
        return hooks.has(SessionClosedHook) ? hooks.call(SessionClosedHook, { sessionId, userId, status }) : Effect.void
      })
  }
})
