/**
 * Names the owners of memory by users and sessions.
 *
 * @private
 * @since 0.1.0
 */
import type { SessionId, UserId } from "../../domain/Ids.js"
import * as CanonicalJson from "../../internal/text/CanonicalJson.js"

/** The maximum length of an owner. */
const maxOwner = 256

/** Ids that are too long are hashed, after a character that no id contains. */
const bounded = (prefix: string, id: string): string =>
  prefix.length + id.length <= maxOwner ? prefix + id : `${prefix}\u001f${CanonicalJson.hash(id)}`

/**
 * The user's id, with the prefix `user:` if it looks like the owner of a session.
 *
 * @category conversions
 */
export const ofUser = (userId: UserId): string => bounded(/^(?:session|user):/.test(userId) ? "user:" : "", userId)

/**
 * The owner of what a session without a user remembers.
 *
 * @category conversions
 */
export const ofSession = (sessionId: SessionId): string => bounded("session:", sessionId)
