/**
 * Errors of strategies apart from those of model calls.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"
import { Reached } from "../../domain/AgentResponse.js"
import * as ErrorCode from "../../domain/ErrorCode.js"
import { PlanError } from "../../plan/PlanError.js"

export { PlanError, PlanIssue } from "../../plan/PlanError.js"

const fields = <const Code extends ErrorCode.ErrorCode>(code: Code) => ({
  ...ErrorCode.fields(code),
  strategyName: Schema.String,
  partial: Schema.optional(Reached)
})

/**
 * The strategy used up its iterations without an answer.
 *
 * @since 0.1.0
 * @category errors
 */
export class MaxIterationsExceededError extends ErrorCode.TaggedError<MaxIterationsExceededError>(
  "effect-lexigram/strategy/StrategyError/MaxIterationsExceededError"
)("MaxIterationsExceededError", {
  ...fields("LEX_ERR_AGT_009"),
  maxIterations: Schema.Number,
  currentIteration: Schema.Number
}) {}

/**
 * The same call gave the same result repeatedly.
 *
 * @since 0.1.0
 * @category errors
 */
export class NoProgressError extends ErrorCode.TaggedError<NoProgressError>(
  "effect-lexigram/strategy/StrategyError/NoProgressError"
)("NoProgressError", { ...fields("LEX_ERR_AGT_105"), toolName: Schema.String, repeats: Schema.Number }) {}

/**
 * The answer does not fit the output schema after all retries.
 *
 * @since 0.1.0
 * @category errors
 */
export class OutputValidationError extends ErrorCode.TaggedError<OutputValidationError>(
  "effect-lexigram/strategy/StrategyError/OutputValidationError"
)("OutputValidationError", {
  ...fields("LEX_ERR_AGT_103"),
  /** The last answer, at most 2,000 characters. */
  text: Schema.String,
  issues: Schema.String,
  attempts: Schema.Number
}) {}

/**
 * A step of the strategy got no usable reply after all retries: no text at all, or text without the required form.
 *
 * @since 0.1.0
 * @category errors
 */
export class StrategyReplyError extends ErrorCode.TaggedError<StrategyReplyError>(
  "effect-lexigram/strategy/StrategyError/StrategyReplyError"
)("StrategyReplyError", {
  ...fields("LEX_ERR_AGT_107"),
  /** The prompt of the step, for example `PlanAndSolveAgent/PlanStep`. */
  prompt: Schema.String,
  /** The last reply, at most 2,000 characters. */
  text: Schema.String,
  issues: Schema.String,
  attempts: Schema.Number
}) {}

/**
 * The strategy cannot work with its input, for example with options that do not fit the tools of the task. No model was
 * asked and no tool was run.
 *
 * @since 0.1.0
 * @category errors
 */
export class StrategyConfigurationError extends ErrorCode.TaggedError<StrategyConfigurationError>(
  "effect-lexigram/strategy/StrategyError/StrategyConfigurationError"
)("StrategyConfigurationError", {
  ...fields("LEX_ERR_AGT_109"),
  /** The invalid option, if there is one. */
  option: Schema.optional(Schema.String)
}) {}

/**
 * The strategy used up its budget of model calls, tokens, US dollars or milliseconds. A budget in dollars also refuses
 * a call without a known price.
 *
 * @since 0.1.0
 * @category errors
 */
export class StrategyBudgetError extends ErrorCode.TaggedError<StrategyBudgetError>(
  "effect-lexigram/strategy/StrategyError/StrategyBudgetError"
)("StrategyBudgetError", {
  ...fields("LEX_ERR_AGT_110"),
  limitType: Schema.Literal("model-calls", "tokens", "cost", "time"),
  limit: Schema.Number,
  used: Schema.Number
}) {}

/**
 * Every error that strategies define.
 *
 * @since 0.1.0
 * @category schemas
 */
export const StrategyError = ErrorCode.Union(
  MaxIterationsExceededError,
  NoProgressError,
  OutputValidationError,
  StrategyReplyError,
  PlanError,
  StrategyConfigurationError,
  StrategyBudgetError
)
/**
 * @since 0.1.0
 * @category models
 */
export type StrategyError = typeof StrategyError.Type
