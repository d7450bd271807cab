/**
 * Failures of durable runs.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"
import * as ErrorCode from "../domain/ErrorCode.js"

/**
 * A run that goes on came to another step than the one that is recorded: its agent, its tools or what they read have
 * changed.
 *
 * @since 0.1.0
 * @category errors
 */
export class ReplayError extends ErrorCode.TaggedError<ReplayError>("effect-lexigram/durable/ReplayError/ReplayError")(
  "ReplayError",
  {
    ...ErrorCode.fields("LEX_ERR_AGT_124"),
    /** The kind of the step and its place in the run. */
    step: Schema.String
  }
) {}
