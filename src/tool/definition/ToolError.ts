/**
 * Errors of tool calls. Most of them stay within a run, where the model reads them as observations.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"
import * as ErrorCode from "../../domain/ErrorCode.js"

const fields = <const Code extends ErrorCode.ErrorCode>(code: Code) => ({
  ...ErrorCode.fields(code),
  toolName: Schema.String
})

/**
 * The set has no tool of that name.
 *
 * @since 0.1.0
 * @category errors
 */
export class ToolNotFoundError extends ErrorCode.TaggedError<ToolNotFoundError>(
  "effect-lexigram/tool/ToolError/ToolNotFoundError"
)("ToolNotFoundError", { ...fields("LEX_ERR_AGT_006"), availableTools: Schema.Array(Schema.String) }) {}

/**
 * The tool ran and failed.
 *
 * @since 0.1.0
 * @category errors
 */
export class ToolExecutionError extends ErrorCode.TaggedError<ToolExecutionError>(
  "effect-lexigram/tool/ToolError/ToolExecutionError"
)("ToolExecutionError", { ...fields("LEX_ERR_AGT_007"), arguments: Schema.optional(Schema.Unknown) }) {}

/**
 * The calling agent's module may not see the tool's module.
 *
 * @since 0.1.0
 * @category errors
 */
export class ToolAccessDeniedError extends ErrorCode.TaggedError<ToolAccessDeniedError>(
  "effect-lexigram/tool/ToolError/ToolAccessDeniedError"
)("ToolAccessDeniedError", {
  ...fields("LEX_ERR_AGT_008"),
  agentModule: Schema.optional(Schema.String),
  toolModule: Schema.optional(Schema.String)
}) {}

/**
 * The arguments do not match the tool's parameters. `field` is the path of the first issue, `issues` all of them.
 *
 * @since 0.1.0
 * @category errors
 */
export class ToolValidationError extends ErrorCode.TaggedError<ToolValidationError>(
  "effect-lexigram/tool/ToolError/ToolValidationError"
)("ToolValidationError", {
  ...fields("LEX_ERR_AGT_011"),
  field: Schema.optional(Schema.String),
  issues: Schema.Array(Schema.Struct({ path: Schema.String, message: Schema.String }))
}) {}

/**
 * The tool exceeded its timeout and was interrupted.
 *
 * @since 0.1.0
 * @category errors
 */
export class ToolTimeoutError extends ErrorCode.TaggedError<ToolTimeoutError>(
  "effect-lexigram/tool/ToolError/ToolTimeoutError"
)("ToolTimeoutError", { ...fields("LEX_ERR_AGT_100"), timeoutMs: Schema.Number }) {}

/**
 * The process of a durable run died while the tool ran, and nobody knows whether the call had its effect. It was not
 * run again.
 *
 * @since 0.1.0
 * @category errors
 */
export class ToolUnknownOutcomeError extends ErrorCode.TaggedError<ToolUnknownOutcomeError>(
  "effect-lexigram/tool/ToolError/ToolUnknownOutcomeError"
)("ToolUnknownOutcomeError", { ...fields("LEX_ERR_AGT_123"), idempotencyKey: Schema.String }) {}

/**
 * A call of a run that failed or was interrupted is not undone: its compensation failed (`failed`), or nobody knows
 * whether the call or its compensation had its effect (`unknown`). The failure of the compensation is the `cause`.
 *
 * @since 0.1.0
 * @category errors
 */
export class ToolCompensationError extends ErrorCode.TaggedError<ToolCompensationError>(
  "effect-lexigram/tool/ToolError/ToolCompensationError"
)("ToolCompensationError", {
  ...fields("LEX_ERR_AGT_127"),
  callId: Schema.String,
  reason: Schema.Literal("failed", "unknown")
}) {}

/**
 * The approver did not allow the call.
 *
 * @since 0.1.0
 * @category errors
 */
export class ToolApprovalDeniedError extends ErrorCode.TaggedError<ToolApprovalDeniedError>(
  "effect-lexigram/tool/ToolError/ToolApprovalDeniedError"
)("ToolApprovalDeniedError", { ...fields("LEX_ERR_AGT_101"), reason: Schema.optional(Schema.String) }) {}

/**
 * The model made more calls in one turn than allowed; this one was not run.
 *
 * @since 0.1.0
 * @category errors
 */
export class ToolCallLimitError extends ErrorCode.TaggedError<ToolCallLimitError>(
  "effect-lexigram/tool/ToolError/ToolCallLimitError"
)("ToolCallLimitError", { ...fields("LEX_ERR_AGT_116"), maxCallsPerTurn: Schema.Number }) {}

/**
 * The definition of a tool is unusable: a schema without a JSON form or one that does not compile, or a duplicate name.
 *
 * @since 0.1.0
 * @category errors
 */
export class ToolDefinitionError extends ErrorCode.TaggedError<ToolDefinitionError>(
  "effect-lexigram/tool/ToolError/ToolDefinitionError"
)("ToolDefinitionError", fields("LEX_ERR_AGT_102")) {}

/**
 * Any failure of a tool call or definition.
 *
 * @since 0.1.0
 * @category schemas
 */
export const ToolError = ErrorCode.Union(
  ToolNotFoundError,
  ToolExecutionError,
  ToolAccessDeniedError,
  ToolValidationError,
  ToolTimeoutError,
  ToolApprovalDeniedError,
  ToolCallLimitError,
  ToolDefinitionError,
  ToolUnknownOutcomeError,
  ToolCompensationError
)
/**
 * @since 0.1.0
 * @category models
 */
export type ToolError = typeof ToolError.Type
