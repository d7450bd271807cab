/**
 * The gate of an approver.
 *
 * @private
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import * as SecretText from "../internal/text/SecretText.js"
import * as ApprovalGate from "../tool/approval/ApprovalGate.js"
import type { Approver, Decision } from "./PromiseApproval.js"

const toDecision = (decision: Decision): ApprovalGate.ApprovalDecision => {
  const { approved, params, reason } = typeof decision === "boolean" ? { approved: decision } : decision
  // From code without types, anything but `true` is a denial.
  return approved === true ? ApprovalGate.approve({ params }) : ApprovalGate.deny({ reason })
}

export const make = (approve: Approver): Layer.Layer<ApprovalGate.ApprovalGate> =>
  ApprovalGate.layer((request) =>
    Effect.tryPromise(async (signal) => {
      // An interruption that began before this fiber waits would not abort the signal.
      await undefined
      return toDecision(await approve(request, { signal }))
    }).pipe(
      Effect.catchAll(({ error }) =>
        Effect.as(
          Effect.annotateLogs(
            Effect.logWarning(`The approver failed: ${SecretText.excerpt(String(error), { maxLength: 200 })}`),
            {
              module: "PromiseApproval"
            }
          ),
          ApprovalGate.deny({ reason: "The call could not be decided" })
        )
      )
    )
  )
