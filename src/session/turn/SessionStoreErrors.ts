/**
 * Errors with which session stores reject a write.
 *
 * @private
 * @since 0.1.0
 */
import type { Session } from "./Session.js"
import { isLive } from "./Session.js"
import { SessionCapacityError, SessionConflictError, SessionStorageError } from "./SessionError.js"
import type { Limits } from "./SessionStore.js"

/**
 * @category constructors
 */
export const staleRevision = (next: Session, kept: Pick<Session, "revision"> | undefined): SessionConflictError =>
  new SessionConflictError({
    message:
      kept === undefined ? "The session is no longer stored" : "Another writer changed the session in the meantime",
    hint: "Read it again and decide on the new state",
    sessionId: next.id,
    expected: `revision ${next.revision - 1}`,
    actual: kept === undefined ? "none" : `revision ${kept.revision}`
  })

/**
 * @category constructors
 */
export const sessionMissing = (sessionId: Session["id"]): SessionConflictError =>
  new SessionConflictError({
    message: "The session is no longer stored",
    hint: "It was deleted; create it again, or use another one",
    sessionId,
    expected: "a stored session",
    actual: "none"
  })

/**
 * @category constructors
 */
export const headMissing = (session: Session): SessionConflictError =>
  new SessionConflictError({
    message: "The turn that the session begins with is missing",
    hint: "It was deleted with its session; begin with another one",
    sessionId: session.id,
    expected: "a stored head",
    actual: "none"
  })

/**
 * @category constructors
 */
export const idInUse = (session: Session): SessionConflictError =>
  new SessionConflictError({
    message: "The session with this id is deleted, but branches still need some of its turns",
    hint: "Choose another id, or delete its branches first",
    sessionId: session.id,
    expected: "a free id",
    actual: "turns of a deleted session"
  })

/**
 * @category constructors
 */
export const checkpointExists: SessionStorageError = new SessionStorageError({
  message: "A checkpoint with this id already exists; nothing is written",
  hint: "Checkpoints are immutable; give each an id of its own"
})

/**
 * @category constructors
 */
export const duplicateTurns: SessionStorageError = new SessionStorageError({
  message: "Two of the turns have the same id; nothing is written",
  hint: "Turn ids are unique within a session"
})

/**
 * @category constructors
 */
export const notJson: SessionStorageError = new SessionStorageError({
  message: "The session cannot be written as JSON that can be read again; nothing is written",
  hint: "Metadata, variables, and parameters and results of tools hold plain data: no cycles, no big integers; times and costs are numbers"
})

/**
 * The limits that apply to a write: all of them for a session that becomes live, the user's for a live session that
 * changes its user.
 *
 * @category accessors
 */
export const limitsOf = (
  before: { readonly isLive: boolean; readonly isUsers: boolean },
  limits: Limits | undefined
): Limits | undefined => {
  if (!before.isLive || limits === undefined) return limits
  return before.isUsers || limits.perUser === undefined ? undefined : { perUser: limits.perUser }
}

/**
 * The error for the limit that a live session would exceed, if any. `count` returns the number of other live sessions.
 *
 * @category constructors
 */
export const overLimit = (
  session: Session,
  limits: Limits | undefined,
  count: { readonly ofUser: () => number; readonly ofParent: () => number }
): SessionCapacityError | undefined => {
  if (limits === undefined || !isLive(session)) return undefined
  const { perParent, perUser } = limits
  if (perUser !== undefined && session.userId !== undefined && count.ofUser() >= perUser) {
    return new SessionCapacityError({
      message: `The user has ${perUser} active or suspended sessions, and no more are allowed`,
      hint: "Close one of them first",
      detail: "sessions of a user"
    })
  }
  if (perParent !== undefined && session.parentSessionId !== undefined && count.ofParent() >= perParent) {
    return new SessionCapacityError({
      message: `The session has ${perParent} active or suspended branches, and no more are allowed`,
      hint: "Close or merge one of them first",
      detail: "branches of a session"
    })
  }
  return undefined
}
