/**
 * Errors of sessions.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"
import * as ErrorCode from "../../domain/ErrorCode.js"

/**
 * No such session is visible to the caller. Another user's session is reported in the same way as one that does not
 * exist.
 *
 * @since 0.1.0
 * @category errors
 */
export class SessionNotFoundError extends ErrorCode.TaggedError<SessionNotFoundError>(
  "effect-lexigram/session/SessionError/SessionNotFoundError"
)("SessionNotFoundError", { ...ErrorCode.fields("LEX_ERR_SES_007"), sessionId: Schema.String }) {}

/**
 * The session is closed, which is final.
 *
 * @since 0.1.0
 * @category errors
 */
export class SessionClosedError extends ErrorCode.TaggedError<SessionClosedError>(
  "effect-lexigram/session/SessionError/SessionClosedError"
)("SessionClosedError", { ...ErrorCode.fields("LEX_ERR_SES_008"), sessionId: Schema.String }) {}

/**
 * The session was idle longer than its TTL.
 *
 * @since 0.1.0
 * @category errors
 */
export class SessionExpiredError extends ErrorCode.TaggedError<SessionExpiredError>(
  "effect-lexigram/session/SessionError/SessionExpiredError"
)("SessionExpiredError", { ...ErrorCode.fields("LEX_ERR_SES_009"), sessionId: Schema.String }) {}

/**
 * The caller has no such checkpoint.
 *
 * @since 0.1.0
 * @category errors
 */
export class CheckpointNotFoundError extends ErrorCode.TaggedError<CheckpointNotFoundError>(
  "effect-lexigram/session/SessionError/CheckpointNotFoundError"
)("CheckpointNotFoundError", { ...ErrorCode.fields("LEX_ERR_SES_010"), checkpointId: Schema.String }) {}

/**
 * The transition is not allowed: closed and expired sessions stay so, and a suspended session takes no turns.
 *
 * @since 0.1.0
 * @category errors
 */
export class SessionTransitionError extends ErrorCode.TaggedError<SessionTransitionError>(
  "effect-lexigram/session/SessionError/SessionTransitionError"
)("SessionTransitionError", {
  ...ErrorCode.fields("LEX_ERR_SES_011"),
  sessionId: Schema.String,
  fromStatus: Schema.String,
  toStatus: Schema.String
}) {}

/**
 * A limit is reached. `detail` names it: sessions of a user, turns of a session, branches, agents of a group.
 *
 * @since 0.1.0
 * @category errors
 */
export class SessionCapacityError extends ErrorCode.TaggedError<SessionCapacityError>(
  "effect-lexigram/session/SessionError/SessionCapacityError"
)("SessionCapacityError", { ...ErrorCode.fields("LEX_ERR_SES_012"), detail: Schema.String }) {}

/**
 * Another writer was faster: the session is no longer in the state that the caller expected. Read it again and decide
 * on the new state. `expected` and `actual` are revisions, or heads if the caller expected a head.
 *
 * @since 0.1.0
 * @category errors
 */
export class SessionConflictError extends ErrorCode.TaggedError<SessionConflictError>(
  "effect-lexigram/session/SessionError/SessionConflictError"
)("SessionConflictError", {
  ...ErrorCode.fields("LEX_ERR_SES_101"),
  sessionId: Schema.String,
  expected: Schema.String,
  actual: Schema.String
}) {}

/**
 * Two sessions cannot be merged: they have no turn in common, or both changed a value differently and the strategy does
 * not decide which wins.
 *
 * @since 0.1.0
 * @category errors
 */
export class SessionMergeError extends ErrorCode.TaggedError<SessionMergeError>(
  "effect-lexigram/session/SessionError/SessionMergeError"
)("SessionMergeError", {
  ...ErrorCode.fields("LEX_ERR_SES_102"),
  sessionId: Schema.String,
  branchSessionId: Schema.String,
  reason: Schema.Literal("same", "unrelated", "conflict", "unknown_turn", "resolver"),
  /** The variables that both changed. */
  variables: Schema.optionalWith(Schema.Array(Schema.String), { default: () => [] })
}) {}

/**
 * The input cannot be stored as it is: a field is out of bounds or not plain data. The message names the field and
 * never shows its value.
 *
 * @since 0.1.0
 * @category errors
 */
export class SessionInputError extends ErrorCode.TaggedError<SessionInputError>(
  "effect-lexigram/session/SessionError/SessionInputError"
)("SessionInputError", ErrorCode.fields("LEX_ERR_SES_106")) {}

/**
 * The configuration of sessions is invalid.
 *
 * @since 0.1.0
 * @category errors
 */
export class SessionConfigurationError extends ErrorCode.TaggedError<SessionConfigurationError>(
  "effect-lexigram/session/SessionError/SessionConfigurationError"
)("SessionConfigurationError", ErrorCode.fields("LEX_ERR_SES_103")) {}

/**
 * No session is bound to the fiber.
 *
 * @since 0.1.0
 * @category errors
 */
export class SessionUnboundError extends ErrorCode.TaggedError<SessionUnboundError>(
  "effect-lexigram/session/SessionError/SessionUnboundError"
)("SessionUnboundError", ErrorCode.fields("LEX_ERR_SES_110")) {}

/**
 * Sessions could not be read or written.
 *
 * @since 0.1.0
 * @category errors
 */
export class SessionStorageError extends ErrorCode.TaggedError<SessionStorageError>(
  "effect-lexigram/session/SessionError/SessionStorageError"
)("SessionStorageError", ErrorCode.fields("LEX_ERR_SES_100")) {}

/**
 * Any failure of sessions (family code `LEX_ERR_SES_001`).
 *
 * @since 0.1.0
 * @category schemas
 */
export const SessionError = ErrorCode.Union(
  SessionNotFoundError,
  SessionClosedError,
  SessionExpiredError,
  CheckpointNotFoundError,
  SessionTransitionError,
  SessionCapacityError,
  SessionConflictError,
  SessionMergeError,
  SessionInputError,
  SessionConfigurationError,
  SessionUnboundError,
  SessionStorageError
)
/**
 * @since 0.1.0
 * @category models
 */
export type SessionError = typeof SessionError.Type

/**
 * @since 0.1.0
 * @category guards
 */
export const isSessionError: (u: unknown) => u is SessionError = ErrorCode.is(SessionError)

/**
 * Failures of adding turns to a session.
 *
 * @since 0.1.0
 * @category errors
 */
export type TurnError =
  | SessionNotFoundError
  | SessionConflictError
  | SessionInputError
  | SessionClosedError
  | SessionExpiredError
  | SessionTransitionError
  | SessionCapacityError
  | SessionStorageError
