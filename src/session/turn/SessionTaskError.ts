/**
 * Failures of the work that follows when a session was written: memory takes its turns, takes over what it held, and is
 * consolidated.
 *
 * None of them fails what a caller asked for, which is written by then. They are logged, counted and published as
 * `SessionTaskFailedEvent`.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"
import * as ErrorCode from "../../domain/ErrorCode.js"

/**
 * - `add`: memory takes the turns of a session
 * - `flush`: what it held of an ended session is handed over
 * - `consolidate`: the memory of its owner is consolidated
 *
 * @since 0.1.0
 * @category schemas
 */
export const Task = Schema.Literal("add", "flush", "consolidate")
/**
 * @since 0.1.0
 * @category models
 */
export type Task = typeof Task.Type

const fields = { sessionId: Schema.String, task: Task }

/**
 * The task was interrupted: the layer of sessions closed before it ended.
 *
 * @since 0.1.0
 * @category errors
 */
export class TaskCancelledError extends ErrorCode.TaggedError<TaskCancelledError>(
  "effect-lexigram/session/SessionTaskError/TaskCancelledError"
)("TaskCancelledError", { ...ErrorCode.fields("LEX_ERR_SES_002"), ...fields }) {}

/**
 * The task failed: a store could not be written, a model could not be asked, or there is a defect.
 *
 * @since 0.1.0
 * @category errors
 */
export class TaskError extends ErrorCode.TaggedError<TaskError>("effect-lexigram/session/SessionTaskError/TaskError")(
  "TaskError",
  { ...ErrorCode.fields("LEX_ERR_SES_003"), ...fields }
) {}

/**
 * The task did not end within its time. What it does may still have happened.
 *
 * @since 0.1.0
 * @category errors
 */
export class TaskTimeoutError extends ErrorCode.TaggedError<TaskTimeoutError>(
  "effect-lexigram/session/SessionTaskError/TaskTimeoutError"
)("TaskTimeoutError", { ...ErrorCode.fields("LEX_ERR_SES_004"), ...fields, timeoutMs: Schema.Number }) {}

/**
 * What the task was given cannot be taken: it is more than memory holds.
 *
 * @since 0.1.0
 * @category errors
 */
export class TaskValidationError extends ErrorCode.TaggedError<TaskValidationError>(
  "effect-lexigram/session/SessionTaskError/TaskValidationError"
)("TaskValidationError", { ...ErrorCode.fields("LEX_ERR_SES_005"), ...fields }) {}

/**
 * Any failure of such a task.
 *
 * @since 0.1.0
 * @category schemas
 */
export const SessionTaskError = Schema.Union(TaskCancelledError, TaskError, TaskTimeoutError, TaskValidationError)
/**
 * @since 0.1.0
 * @category models
 */
export type SessionTaskError = typeof SessionTaskError.Type
