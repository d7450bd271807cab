/**
 * Failures of agents elsewhere.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"
import * as ErrorCode from "../domain/ErrorCode.js"

/**
 * - `unreachable`: the other side does not answer, or its connection broke
 * - `card`: it has no card, or none that can be used: no JSON-RPC of A2A 1.0, or an address at another site
 * - `refused`: it refuses the call, as `message` says
 * - `answer`: its answer is not valid, or too large
 * - `failed`: the task failed, was rejected or canceled there
 *
 * @since 0.1.0
 * @category errors
 */
export class A2aError extends ErrorCode.TaggedError<A2aError>("effect-lexigram/a2a/A2aError/A2aError")("A2aError", {
  ...ErrorCode.fields("LEX_ERR_A2A_100"),
  reason: Schema.Literal("unreachable", "card", "refused", "answer", "failed")
}) {}
