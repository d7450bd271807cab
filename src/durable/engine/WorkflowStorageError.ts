/**
 * The failure of the store of durable workflows.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"
import * as ErrorCode from "../../domain/ErrorCode.js"
import { Reason } from "../../persistence/engine/PersistenceError.js"

/**
 * The database of durable workflows failed, or holds something that cannot be read. `operation` is what was tried.
 * Operations of the engine cannot fail, so they die with it. No payload, result or name of a workflow is in it.
 *
 * @since 0.1.0
 * @category errors
 */
export class WorkflowStorageError extends ErrorCode.TaggedError<WorkflowStorageError>(
  "effect-lexigram/durable/WorkflowStorageError/WorkflowStorageError"
)("WorkflowStorageError", {
  ...ErrorCode.fields("LEX_ERR_DB_104"),
  operation: Schema.String,
  reason: Reason
}) {}
