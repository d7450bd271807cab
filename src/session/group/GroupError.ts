/**
 * Errors of groups, in addition to those of their sessions.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"
import * as ErrorCode from "../../domain/ErrorCode.js"

/**
 * The group or its run has invalid options.
 *
 * @since 0.1.0
 * @category errors
 */
export class GroupConfigurationError extends ErrorCode.TaggedError<GroupConfigurationError>(
  "effect-lexigram/session/GroupError/GroupConfigurationError"
)("GroupConfigurationError", {
  ...ErrorCode.fields("LEX_ERR_SES_104"),
  groupName: Schema.String,
  reason: Schema.Literal(
    "no-participants",
    "too-many-participants",
    "duplicate-participant",
    "invalid-name",
    "turn-manager",
    "run-id",
    "tenant-id"
  )
}) {}

/**
 * A participant did not answer in time. It is skipped; the outcome of the group reports it.
 *
 * @since 0.1.0
 * @category errors
 */
export class ParticipantTimeoutError extends ErrorCode.TaggedError<ParticipantTimeoutError>(
  "effect-lexigram/session/GroupError/ParticipantTimeoutError"
)("ParticipantTimeoutError", {
  ...ErrorCode.fields("LEX_ERR_SES_105"),
  participant: Schema.String,
  timeoutMs: Schema.Number
}) {}
