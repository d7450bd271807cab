/**
 * The allowed transitions between statuses of a session.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import type { SessionId } from "../../domain/Ids.js"
import type { SessionStatus } from "../turn/Session.js"
import { SessionTransitionError } from "../turn/SessionError.js"

/**
 * The statuses that may follow each status. A status never follows itself; closed and expired are final.
 *
 * @since 0.1.0
 * @category constants
 */
export const transitions: { readonly [From in SessionStatus]: ReadonlySet<SessionStatus> } = {
  active: new Set<SessionStatus>(["suspended", "closed", "expired"]),
  suspended: new Set<SessionStatus>(["active", "closed", "expired"]),
  closed: new Set(),
  expired: new Set()
}

/**
 * @since 0.1.0
 * @category predicates
 */
export const canTransition = (from: SessionStatus, to: SessionStatus): boolean => transitions[from].has(to)

/**
 * Whether the status is final.
 *
 * @since 0.1.0
 * @category predicates
 */
export const isTerminal = (status: SessionStatus): boolean => transitions[status].size === 0

const hintOf = (from: SessionStatus, to: SessionStatus): string => {
  if (from === to) return "It already has that status; there is nothing to do"
  return isTerminal(from)
    ? "Create another session, or restore one of its checkpoints with `reopen`"
    : `From ${from} it can become ${Array.from(transitions[from]).join(", ")}`
}

/**
 * The error for a transition that is not allowed, with a hint what to do instead.
 *
 * @since 0.1.0
 * @category errors
 */
export const refusal = (sessionId: SessionId, from: SessionStatus, to: SessionStatus): SessionTransitionError =>
  new SessionTransitionError({
    message: `A session that is ${from} cannot become ${to}`,
    hint: hintOf(from, to),
    sessionId,
    fromStatus: from,
    toStatus: to
  })

/**
 * Fails when the transition is not allowed.
 *
 * @since 0.1.0
 * @category combinators
 */
export const validate = (
  sessionId: SessionId,
  from: SessionStatus,
  to: SessionStatus
): Effect.Effect<void, SessionTransitionError> =>
  canTransition(from, to) ? Effect.void : Effect.fail(refusal(sessionId, from, to))
