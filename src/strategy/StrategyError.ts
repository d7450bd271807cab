/**
 * How reasoning can fail besides its model calls.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"
import type { AgentResponse } from "../domain/AgentResponse.js"
import * as ErrorCode from "../domain/ErrorCode.js"

/**
 * What a run had reached when it was stopped: the fold of its events so far.
 *
 * @since 0.1.0
 * @category schemas
 */
export const Partial: Schema.Schema<AgentResponse<unknown>> = Schema.Any.annotations({
  identifier: "effect-lexigram/strategy/StrategyError/Partial"
})

const fields = <const Code extends ErrorCode.ErrorCode>(code: Code) => ({
  ...ErrorCode.fields(code),
  strategyName: Schema.String,
  partial: Schema.optional(Partial)
})

/**
 * The strategy used up its iterations without an answer.
 *
 * @since 0.1.0
 * @category errors
 */
export class MaxIterationsExceededError extends Schema.TaggedError<MaxIterationsExceededError>(
  "effect-lexigram/strategy/StrategyError/MaxIterationsExceededError"
)("MaxIterationsExceededError", {
  ...fields("LEX_ERR_AGT_009"),
  maxIterations: Schema.Number,
  currentIteration: Schema.Number
}) {}

/**
 * The same call gave the same result again and again.
 *
 * @since 0.1.0
 * @category errors
 */
export class NoProgressError extends Schema.TaggedError<NoProgressError>(
  "effect-lexigram/strategy/StrategyError/NoProgressError"
)("NoProgressError", { ...fields("LEX_ERR_AGT_105"), toolName: Schema.String, repeats: Schema.Number }) {}

/**
 * The answer does not fit the output schema, however often the model was told why.
 *
 * @since 0.1.0
 * @category errors
 */
export class OutputValidationError extends Schema.TaggedError<OutputValidationError>(
  "effect-lexigram/strategy/StrategyError/OutputValidationError"
)("OutputValidationError", {
  ...fields("LEX_ERR_AGT_103"),
  /** The last answer, at most 2,000 characters. */
  text: Schema.String,
  issues: Schema.String,
  attempts: Schema.Number
}) {}

/**
 * Any failure of a strategy of its own.
 *
 * @since 0.1.0
 * @category schemas
 */
export const StrategyError = Schema.Union(MaxIterationsExceededError, NoProgressError, OutputValidationError)
/**
 * @since 0.1.0
 * @category models
 */
export type StrategyError = typeof StrategyError.Type
