/**
 * Errors of guards.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"
import * as ErrorCode from "../../domain/ErrorCode.js"
import { GuardStage } from "./Guard.js"

/**
 * A guard blocked an input: the user's message or the parameters of a tool call.
 *
 * @since 0.1.0
 * @category errors
 */
export class InputGuardError extends ErrorCode.TaggedError<InputGuardError>(
  "effect-lexigram/guard/GuardError/InputGuardError"
)("InputGuardError", {
  ...ErrorCode.fields("LEX_ERR_GUARD_002"),
  guard: Schema.String,
  stage: Schema.Literal("input", "toolInput")
}) {}

/**
 * A guard blocked an output: the agent's answer or a tool result.
 *
 * @since 0.1.0
 * @category errors
 */
export class OutputGuardError extends ErrorCode.TaggedError<OutputGuardError>(
  "effect-lexigram/guard/GuardError/OutputGuardError"
)("OutputGuardError", {
  ...ErrorCode.fields("LEX_ERR_GUARD_003"),
  guard: Schema.String,
  stage: Schema.Literal("output", "toolOutput")
}) {}

/**
 * A guard cannot be built from its configuration.
 *
 * @since 0.1.0
 * @category errors
 */
export class GuardConfigurationError extends ErrorCode.TaggedError<GuardConfigurationError>(
  "effect-lexigram/guard/GuardError/GuardConfigurationError"
)("GuardConfigurationError", {
  ...ErrorCode.fields("LEX_ERR_GUARD_005"),
  /** Absent if the configuration as a whole is invalid. */
  guard: Schema.optional(Schema.String)
}) {}

/**
 * A guard could not judge a text, which is withheld.
 *
 * @since 0.1.0
 * @category errors
 */
export class GuardPipelineError extends ErrorCode.TaggedError<GuardPipelineError>(
  "effect-lexigram/guard/GuardError/GuardPipelineError"
)("GuardPipelineError", {
  ...ErrorCode.fields("LEX_ERR_GUARD_006"),
  guard: Schema.String,
  stage: GuardStage
}) {}

/**
 * A guard blocked a tool result; the model does not see it.
 *
 * @since 0.1.0
 * @category errors
 */
export class ToolObservationBlockedError extends ErrorCode.TaggedError<ToolObservationBlockedError>(
  "effect-lexigram/guard/GuardError/ToolObservationBlockedError"
)("ToolObservationBlockedError", { ...ErrorCode.fields("LEX_ERR_GUARD_100"), toolName: Schema.String }) {}

/**
 * A tool result could not be judged; the model does not see it.
 *
 * @since 0.1.0
 * @category errors
 */
export class ToolObservationGuardError extends ErrorCode.TaggedError<ToolObservationGuardError>(
  "effect-lexigram/guard/GuardError/ToolObservationGuardError"
)("ToolObservationGuardError", { ...ErrorCode.fields("LEX_ERR_GUARD_101"), toolName: Schema.String }) {}

/**
 * Any guard failure (family code `LEX_ERR_GUARD_001`).
 *
 * @since 0.1.0
 * @category schemas
 */
export const GuardError = ErrorCode.Union(
  InputGuardError,
  OutputGuardError,
  GuardConfigurationError,
  GuardPipelineError,
  ToolObservationBlockedError,
  ToolObservationGuardError
)
/**
 * @since 0.1.0
 * @category models
 */
export type GuardError = typeof GuardError.Type

/**
 * @since 0.1.0
 * @category guards
 */
export const isGuardError: (u: unknown) => u is GuardError = ErrorCode.is(GuardError)
