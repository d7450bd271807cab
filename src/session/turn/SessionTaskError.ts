/**
 * Failures of the work that follows a session write: adding turns to memory, flushing it, and consolidating it.
 *
 * They do not fail the caller's operation, which is already written. They are logged, counted and published as
 * `SessionTaskFailedEvent`.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"
import * as ErrorCode from "../../domain/ErrorCode.js"

/**
 * - `add`: adds the turns of a session to memory
 * - `flush`: flushes working memory of an ended session
 * - `consolidate`: consolidates the memory of its owner
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
 * The task was interrupted: the session layer closed first.
 *
 * @since 0.1.0
 * @category errors
 */
export class TaskCancelledError extends ErrorCode.TaggedError<TaskCancelledError>(
  "effect-lexigram/session/SessionTaskError/TaskCancelledError"
)("TaskCancelledError", { ...ErrorCode.fields("LEX_ERR_SES_002"), ...fields }) {}

/**
 * The task failed: a store or a model failed, or there is a defect.
 *
 * @since 0.1.0
 * @category errors
 */
export class TaskError extends ErrorCode.TaggedError<TaskError>("effect-lexigram/session/SessionTaskError/TaskError")(
  "TaskError",
  { ...ErrorCode.fields("LEX_ERR_SES_003"), ...fields }
) {}

/**
 * The task did not end within its time. It may still take effect.
 *
 * @since 0.1.0
 * @category errors
 */
export class TaskTimeoutError extends ErrorCode.TaggedError<TaskTimeoutError>(
  "effect-lexigram/session/SessionTaskError/TaskTimeoutError"
)("TaskTimeoutError", { ...ErrorCode.fields("LEX_ERR_SES_004"), ...fields, timeoutMs: Schema.Number }) {}

/**
 * Memory rejected the input of the task: it exceeds a limit of memory.
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
export const SessionTaskError = ErrorCode.Union(TaskCancelledError, TaskError, TaskTimeoutError, TaskValidationError)
/**
 * @since 0.1.0
 * @category models
 */
export type SessionTaskError = typeof SessionTaskError.Type
