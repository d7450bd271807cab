/**
 * Why runs of one process refuse a call.
 *
 * @private
 * @since 0.1.0
 */
import type { ApprovalError } from "../../tool/approval/ApprovalError.js"
import { RunError } from "../record/RunError.js"
import { isEnded, type RunRecord } from "../record/RunRecord.js"

export const notRunning = (runId: string, message: string, hint: string): RunError =>
  new RunError({ reason: "not-running", runId, message, hint })

export const elsewhere = (record: RunRecord): RunError =>
  isEnded(record.state)
    ? notRunning(record.runId, `The run has ended: it is ${record.state}`, "Start a new run")
    : notRunning(
        record.runId,
        "The run does not go on in this process",
        "Ask the process that started it; if that one has ended, start a new run"
      )

export const unsupported = (runId: string, what: string): RunError =>
  new RunError({
    reason: "unsupported",
    runId,
    message: `Runs of one process cannot be ${what}`,
    hint: "Provide a durable layer of Runs, which keeps the steps of runs"
  })

export const storageError = ({
  message,
  hint
}: {
  readonly message: string
  readonly hint?: string | undefined
}): RunError => new RunError({ reason: "storage", message, ...(hint === undefined ? {} : { hint }) })

export const full = (message: string): RunError =>
  new RunError({ reason: "full", message, hint: "Try again when some of them have ended" })

export const unanswered = (error: ApprovalError): RunError => {
  const reason =
    error.reason === "storage"
      ? "storage"
      : error.reason === "unknown" || error.reason === "decided" || error.reason === "expired"
        ? "not-waiting"
        : "invalid"
  const hint = error.hint ?? (reason === "not-waiting" ? "List the requests that wait" : "Correct the answer")
  return new RunError({ reason, message: error.message, hint })
}
