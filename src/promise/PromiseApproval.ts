/**
 * Decides tool calls that need approval by a function.
 *
 * @since 0.1.0
 */
import type * as ApprovalGate from "../tool/approval/ApprovalGate.js"

/**
 * `true` approves the call as it is, `false` denies it.
 *
 * @since 0.1.0
 * @category models
 */
export type Decision =
  | boolean
  | {
      readonly approved: boolean
      /** Runs the approved call with these instead; they are checked like any others. */
      readonly params?: unknown
      /** What the model reads of a denial. */
      readonly reason?: string | undefined
    }

/**
 * Decides a call: at once or as a promise, without a time limit. The signal is aborted when the run ends before. An
 * exception denies the call.
 *
 * @since 0.1.0
 * @category models
 */
export type Approver = (
  request: ApprovalGate.ApprovalRequest,
  options: { readonly signal: AbortSignal }
) => Decision | PromiseLike<Decision>
