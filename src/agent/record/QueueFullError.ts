/**
 * A queue of runs that takes no more.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"
import * as ErrorCode from "../../domain/ErrorCode.js"

/**
 * As many runs wait as may wait. The run was not queued.
 *
 * @since 0.1.0
 * @category errors
 */
export class QueueFullError extends ErrorCode.TaggedError<QueueFullError>(
  "effect-lexigram/agent/QueueFullError/QueueFullError"
)("QueueFullError", {
  ...ErrorCode.fields("LEX_ERR_AGT_126"),
  maxWaiting: Schema.Number
}) {}

/**
 * @since 0.1.0
 * @category constructors
 */
export const make = (maxWaiting: number): QueueFullError =>
  new QueueFullError({
    maxWaiting,
    message: `${maxWaiting} runs already wait in the queue`,
    hint: "Try again later, wait for a place by `enqueueOrWait`, or raise `maxWaiting`"
  })
