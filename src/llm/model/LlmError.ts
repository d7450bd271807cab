/**
 * Errors of model calls. Each names its provider and, where known, the model, the HTTP status and the provider's
 * request id. None ever contains a key or a header.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"
import * as ErrorCode from "../../domain/ErrorCode.js"

const fields = <const Code extends ErrorCode.ErrorCode>(code: Code) => ({
  ...ErrorCode.fields(code),
  /** The failing client: `openai`, `anthropic`, `ollama`, … */
  provider: Schema.String,
  model: Schema.optional(Schema.String),
  /** The HTTP status of the answer. */
  status: Schema.optional(Schema.Number),
  /** The provider's id of the request, for its support. */
  requestId: Schema.optional(Schema.String)
})

/**
 * The key is missing, invalid or lacks permission (401, 403).
 *
 * @since 0.1.0
 * @category errors
 */
export class LlmAuthenticationError extends ErrorCode.TaggedError<LlmAuthenticationError>(
  "effect-lexigram/llm/LlmError/LlmAuthenticationError"
)("LlmAuthenticationError", fields("LEX_ERR_LLM_100")) {
  readonly isRetryable = false
}

/**
 * Too many requests or tokens for now (429). `retryAfterMs` is the delay that the provider requested, in milliseconds.
 *
 * @since 0.1.0
 * @category errors
 */
export class LlmRateLimitError extends ErrorCode.TaggedError<LlmRateLimitError>(
  "effect-lexigram/llm/LlmError/LlmRateLimitError"
)("LlmRateLimitError", { ...fields("LEX_ERR_LLM_101"), retryAfterMs: Schema.optional(Schema.Number) }) {
  readonly isRetryable = true
}

/**
 * The account has no credit left: waiting does not help.
 *
 * @since 0.1.0
 * @category errors
 */
export class LlmQuotaError extends ErrorCode.TaggedError<LlmQuotaError>("effect-lexigram/llm/LlmError/LlmQuotaError")(
  "LlmQuotaError",
  fields("LEX_ERR_LLM_102")
) {
  readonly isRetryable = false
}

/**
 * The conversation is longer than the model's context window.
 *
 * @since 0.1.0
 * @category errors
 */
export class LlmContextOverflowError extends ErrorCode.TaggedError<LlmContextOverflowError>(
  "effect-lexigram/llm/LlmError/LlmContextOverflowError"
)("LlmContextOverflowError", fields("LEX_ERR_LLM_103")) {
  readonly isRetryable = false
}

/**
 * The provider refused the request or stopped the answer because of its content.
 *
 * @since 0.1.0
 * @category errors
 */
export class LlmContentPolicyError extends ErrorCode.TaggedError<LlmContentPolicyError>(
  "effect-lexigram/llm/LlmError/LlmContentPolicyError"
)("LlmContentPolicyError", fields("LEX_ERR_LLM_104")) {
  readonly isRetryable = false
}

/**
 * The provider rejected the request: an unknown model, an invalid parameter, a malformed tool.
 *
 * @since 0.1.0
 * @category errors
 */
export class LlmInvalidRequestError extends ErrorCode.TaggedError<LlmInvalidRequestError>(
  "effect-lexigram/llm/LlmError/LlmInvalidRequestError"
)("LlmInvalidRequestError", fields("LEX_ERR_LLM_105")) {
  readonly isRetryable = false
}

/**
 * No answer in time: in total, to the first part, or between two parts.
 *
 * @since 0.1.0
 * @category errors
 */
export class LlmTimeoutError extends ErrorCode.TaggedError<LlmTimeoutError>(
  "effect-lexigram/llm/LlmError/LlmTimeoutError"
)("LlmTimeoutError", {
  ...fields("LEX_ERR_LLM_106"),
  phase: Schema.Literal("whole", "first-part", "gap", "server"),
  timeoutMs: Schema.optional(Schema.Number)
}) {
  readonly isRetryable = true
}

/**
 * The server was unreachable, or the connection broke.
 *
 * @since 0.1.0
 * @category errors
 */
export class LlmConnectionError extends ErrorCode.TaggedError<LlmConnectionError>(
  "effect-lexigram/llm/LlmError/LlmConnectionError"
)("LlmConnectionError", {
  ...fields("LEX_ERR_LLM_107"),
  /** True if the request had been sent before the connection broke: the model may have answered. */
  sent: Schema.optional(Schema.Boolean)
}) {
  readonly isRetryable = true
}

/**
 * The provider failed or is overloaded (5xx, 529).
 *
 * @since 0.1.0
 * @category errors
 */
export class LlmUnavailableError extends ErrorCode.TaggedError<LlmUnavailableError>(
  "effect-lexigram/llm/LlmError/LlmUnavailableError"
)("LlmUnavailableError", { ...fields("LEX_ERR_LLM_108"), retryAfterMs: Schema.optional(Schema.Number) }) {
  readonly isRetryable = true
}

/**
 * The answer is unreadable: not JSON, not the promised shape, or a stream without a finish.
 *
 * @since 0.1.0
 * @category errors
 */
export class LlmMalformedResponseError extends ErrorCode.TaggedError<LlmMalformedResponseError>(
  "effect-lexigram/llm/LlmError/LlmMalformedResponseError"
)("LlmMalformedResponseError", fields("LEX_ERR_LLM_109")) {
  readonly isRetryable = true
}

/**
 * The run or the budget of the call does not allow it; `cause` says why. No model was called, and no fallback may be.
 *
 * @since 0.1.0
 * @category errors
 */
export class LlmCallRefusedError extends ErrorCode.TaggedError<LlmCallRefusedError>(
  "effect-lexigram/llm/LlmError/LlmCallRefusedError"
)("LlmCallRefusedError", fields("LEX_ERR_LLM_112")) {
  readonly isRetryable = false
}

/**
 * The model does not take a file of the request. Nothing was sent. The indexes begin at 0.
 *
 * @since 0.1.0
 * @category errors
 */
export class LlmUnsupportedContentError extends ErrorCode.TaggedError<LlmUnsupportedContentError>(
  "effect-lexigram/llm/LlmError/LlmUnsupportedContentError"
)("LlmUnsupportedContentError", {
  ...fields("LEX_ERR_LLM_113"),
  messageIndex: Schema.Number,
  partIndex: Schema.Number,
  mediaType: Schema.String,
  kind: Schema.Literal("image", "audio", "video", "document")
}) {
  readonly isRetryable = false
}

/**
 * The model or its provider cannot do what the request asks for: a budget of reasoning, a tool that the provider runs,
 * content that it keeps.
 * Nothing was sent. `feature` is what it cannot do.
 *
 * @since 0.1.0
 * @category errors
 */
export class LlmUnsupportedFeatureError extends ErrorCode.TaggedError<LlmUnsupportedFeatureError>(
  "effect-lexigram/llm/LlmError/LlmUnsupportedFeatureError"
)("LlmUnsupportedFeatureError", {
  ...fields("LEX_ERR_LLM_114"),
  feature: Schema.Literal("reasoning-budget", "provider-tool", "cached-content")
}) {
  readonly isRetryable = false
}

/**
 * Any failure of a model call.
 *
 * @since 0.1.0
 * @category schemas
 */
export const LlmError = ErrorCode.Union(
  LlmAuthenticationError,
  LlmRateLimitError,
  LlmQuotaError,
  LlmContextOverflowError,
  LlmContentPolicyError,
  LlmInvalidRequestError,
  LlmTimeoutError,
  LlmConnectionError,
  LlmUnavailableError,
  LlmMalformedResponseError,
  LlmCallRefusedError,
  LlmUnsupportedContentError,
  LlmUnsupportedFeatureError
)
/**
 * @since 0.1.0
 * @category models
 */
export type LlmError = typeof LlmError.Type

/**
 * A client cannot be built: an unknown provider, a missing key, a package that is not installed.
 *
 * @since 0.1.0
 * @category errors
 */
export class LlmConfigurationError extends ErrorCode.TaggedError<LlmConfigurationError>(
  "effect-lexigram/llm/LlmError/LlmConfigurationError"
)("LlmConfigurationError", { ...ErrorCode.fields("LEX_ERR_LLM_110"), provider: Schema.optional(Schema.String) }) {}

/**
 * @since 0.1.0
 * @category guards
 */
export const isLlmError: (u: unknown) => u is LlmError = ErrorCode.is(LlmError)
