/**
 * Errors of approvals.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"
import * as ErrorCode from "../../domain/ErrorCode.js"

const NAME = "effect-lexigram/tool/ApprovalError"

/**
 * - `unknown`: no request of that id waits or is remembered; it may have been withdrawn
 * - `decided`: the request is already decided
 * - `expired`: nobody decided in time, and it was denied
 * - `scope`: the request has no run, session or user to remember the decision for
 * - `policy`: the rules are not valid
 * - `answer`: the answer does not fit the question, which stays open; `issues` say why
 * - `storage`: requests could not be read or written
 *
 * @since 0.1.0
 * @category schemas
 */
export const ApprovalErrorReason = Schema.Literal(
  "unknown",
  "decided",
  "expired",
  "scope",
  "policy",
  "answer",
  "storage"
).annotations({ identifier: `${NAME}/ApprovalErrorReason` })
/**
 * @since 0.1.0
 * @category models
 */
export type ApprovalErrorReason = typeof ApprovalErrorReason.Type

/**
 * A decision was not recorded, or approvals could not be set up.
 *
 * @since 0.1.0
 * @category errors
 */
export class ApprovalError extends ErrorCode.TaggedError<ApprovalError>(`${NAME}/ApprovalError`)("ApprovalError", {
  ...ErrorCode.fields("LEX_ERR_AGT_112"),
  reason: ApprovalErrorReason,
  /** The request concerned. */
  requestId: Schema.optional(Schema.String),
  /** What does not fit, by field. */
  issues: Schema.optional(Schema.Array(Schema.Struct({ path: Schema.String, message: Schema.String })))
}) {}
