/**
 * Hook points of sessions. Handlers are called after the session is stored.
 *
 * @since 0.1.0
 */
import type { SessionId, UserId } from "../../domain/Ids.js"
import * as Hooks from "../../observability/Hooks.js"
import type { CheckpointId } from "./Session.js"

/**
 * A session was created, by a caller or as a fork.
 *
 * @since 0.1.0
 * @category hooks
 */
export const SessionStartedHook: Hooks.Action<{
  readonly sessionId: SessionId
  readonly userId: UserId | undefined
  /** The session it was forked from. */
  readonly parentSessionId: SessionId | undefined
}> = Hooks.action("SessionStartedHook")

/**
 * A checkpoint was created: by a caller, after N turns, or after a merge.
 *
 * @since 0.1.0
 * @category hooks
 */
export const SessionCheckpointCreatedHook: Hooks.Action<{
  readonly sessionId: SessionId
  readonly checkpointId: CheckpointId
  readonly kind: "manual" | "auto" | "fork" | "merge"
}> = Hooks.action("SessionCheckpointCreatedHook")

/**
 * A session has ended: it was closed, or expired when idle for too long. Called once per session.
 *
 * @since 0.1.0
 * @category hooks
 */
export const SessionClosedHook: Hooks.Action<{
  readonly sessionId: SessionId
  readonly userId: UserId | undefined
  readonly status: "closed" | "expired"
}> = Hooks.action("SessionClosedHook")
