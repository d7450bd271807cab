/**
 * Loads or creates the session of a run.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import type { BlobNotFoundError, BlobStoreError } from "../../content/ContentError.js"
import * as OnDemand from "../../internal/fiber/OnDemand.js"
import type {
  SessionCapacityError,
  SessionClosedError,
  SessionConflictError,
  SessionExpiredError,
  SessionInputError,
  SessionNotFoundError,
  SessionStorageError,
  SessionTransitionError
} from "../../session/turn/SessionError.js"
import { hasOwner } from "../definition/RunIdentity.js"
import type { Stage } from "../definition/Stage.js"

const sessions = OnDemand.make(() => import("../conversation/RunSession.js"))

/**
 * With a session id, the session is resumed, or created if the user has none with that id, and its visible part
 * (`SessionHistory`) precedes the message. If the session cannot be loaded, the run fails: without it the conversation
 * would be a different one.
 *
 * The session is bound during the run (`SessionContext`). A run without a session sees the one bound around it, unless
 * the run is for another user, and writes nothing into it.
 *
 * @since 0.1.0
 * @category stages
 */
export const stage: Stage<
  | BlobNotFoundError
  | BlobStoreError
  | SessionNotFoundError
  | SessionClosedError
  | SessionConflictError
  | SessionExpiredError
  | SessionCapacityError
  | SessionInputError
  | SessionStorageError
  | SessionTransitionError
> = {
  name: "session",
  wrap: (state, next) => (hasOwner(state) ? Effect.flatMap(sessions, ({ within }) => within(state, next)) : next(state))
}
