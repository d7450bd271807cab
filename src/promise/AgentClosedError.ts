/**
 * The error of runs of an agent that was closed.
 *
 * @since 0.1.0
 */
import * as ErrorCode from "../domain/ErrorCode.js"

/**
 * The agent, or the runtime that it shares, was closed: before the run, which did not begin, or during it, which was
 * interrupted.
 *
 * @since 0.1.0
 * @category errors
 */
export class AgentClosedError extends ErrorCode.TaggedError<AgentClosedError>(
  "effect-lexigram/promise/AgentClosedError/AgentClosedError"
)("AgentClosedError", ErrorCode.fields("LEX_ERR_AGT_119")) {}
