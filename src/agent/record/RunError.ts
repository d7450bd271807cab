/**
 * Errors of runs that are started, found and steered by their ids.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"
import { Reached } from "../../domain/AgentResponse.js"
import * as ErrorCode from "../../domain/ErrorCode.js"
import { ErrorInfo } from "../../domain/ErrorInfo.js"

const NAME = "effect-lexigram/agent/RunError"

/**
 * - `unknown-agent`: no agent has this name; the hint has the nearest one
 * - `unknown-run`: the caller may see no run with this id
 * - `conflict`: another run has this id
 * - `not-running`: the run has ended, or goes on in another process
 * - `not-waiting`: no request with this id waits for an answer
 * - `invalid`: an id, a label, a filter or an answer is not valid
 * - `unsupported`: these runs cannot do it
 * - `storage`: records or events could not be read or written
 * - `full`: too many runs or messages wait
 *
 * @since 0.1.0
 * @category schemas
 */
export const RunErrorReason = Schema.Literal(
  "unknown-agent",
  "unknown-run",
  "conflict",
  "not-running",
  "not-waiting",
  "invalid",
  "unsupported",
  "storage",
  "full"
).annotations({ identifier: `${NAME}/RunErrorReason` })
/**
 * @since 0.1.0
 * @category models
 */
export type RunErrorReason = typeof RunErrorReason.Type

/**
 * A run was not started, found or changed.
 *
 * @since 0.1.0
 * @category errors
 */
export class RunError extends ErrorCode.TaggedError<RunError>(`${NAME}/RunError`)("RunError", {
  ...ErrorCode.fields("LEX_ERR_AGT_121"),
  reason: RunErrorReason,
  /** The run concerned, at most its first 256 characters. */
  runId: Schema.optional(Schema.String)
}) {}

/**
 * The run that somebody waited for failed or was interrupted. `error` is its failure as its last event has it, without
 * secrets; `response` is what it had reached. In the process of the run, `cause` is the failure itself.
 *
 * @since 0.1.0
 * @category errors
 */
export class RunFailedError extends ErrorCode.TaggedError<RunFailedError>(`${NAME}/RunFailedError`)("RunFailedError", {
  ...ErrorCode.fields("LEX_ERR_AGT_122"),
  runId: Schema.String,
  state: Schema.Literal("failed", "interrupted"),
  error: ErrorInfo,
  response: Schema.optional(Reached)
}) {}

/**
 * No run that the caller may see has this id. A run of another owner looks the same.
 *
 * @since 0.1.0
 * @category constructors
 */
export const unknownRun = (runId: string): RunError =>
  new RunError({
    reason: "unknown-run",
    runId: runId.slice(0, 256),
    message: "No run with this id is known",
    hint: "Check the id, and name the user for whom the run was started"
  })

/**
 * @since 0.1.0
 * @category constructors
 */
export const conflict = (runId: string): RunError =>
  new RunError({
    reason: "conflict",
    runId: runId.slice(0, 256),
    message: "Another run already has this id",
    hint: "Start the run with another id, or with none; the same request with the same id gives the known run"
  })
