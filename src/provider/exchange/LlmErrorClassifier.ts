/**
 * Classifies failed exchanges with a provider: from status, headers and body to a typed error. All clients share it, so
 * that the same failure has the same class for every provider.
 *
 * @since 0.1.0
 */
import type * as Redacted from "effect/Redacted"
import * as SecretText from "../../internal/text/SecretText.js"
import * as LlmError from "../../llm/model/LlmError.js"
import * as ProviderFailure from "./ProviderFailure.js"

export { fromTransport } from "./TransportFailure.js"

/**
 * `headers` have lower-case names. `nowMs` is the current time, to resolve dates in headers. Values of `redact` never
 * appear in the error.
 *
 * @since 0.1.0
 * @category models
 */
export interface Answer {
  readonly provider: string
  readonly model?: string | undefined
  readonly status: number
  readonly headers: { readonly [name: string]: string | undefined }
  readonly body: string
  readonly nowMs?: number | undefined
  readonly redact?: ReadonlyArray<Redacted.Redacted<string>> | undefined
}

/**
 * The maximum length of an error message, in characters.
 *
 * @since 0.1.0
 * @category constants
 */
export const maxMessageLength = 500

type Kind =
  | "authentication"
  | "rate-limit"
  | "quota"
  | "context"
  | "policy"
  | "invalid"
  | "unknown-model"
  | "timeout"
  | "unavailable"

const codes = {
  context: [
    "context_length_exceeded",
    "exceed_context_size_error",
    "context_window_exceeded",
    "model_context_window_exceeded"
  ],
  policy: [
    "content_filter",
    "content_policy_violation",
    "responsibleaipolicyviolation",
    "moderation",
    "moderation_blocked",
    "data_inspection_failed",
    "content_policy"
  ],
  quota: [
    "insufficient_quota",
    "billing_hard_limit_reached",
    "billing_not_active",
    "billing_error",
    "insufficient_credits",
    "insufficient_balance",
    "payment_required"
  ],
  "rate-limit": ["rate_limit_exceeded", "rate_limit_error", "rate_limited", "too_many_requests", "throttlingexception"],
  authentication: [
    "invalid_api_key",
    "authentication_error",
    "permission_error",
    "permission_denied",
    "unauthorized",
    "unauthenticated",
    "api_key_invalid",
    "missing_api_key",
    "invalid_authentication"
  ],
  "unknown-model": ["model_not_found", "not_found_error", "deploymentnotfound", "unknown_model"],
  timeout: ["timeout", "timeout_error", "request_timeout", "deadline_exceeded"],
  unavailable: [
    "overloaded_error",
    "server_error",
    "internal_server_error",
    "internalservererror",
    "internal_error",
    "api_error",
    "service_unavailable",
    "engine_overloaded",
    "upstream_error"
  ],
  invalid: [
    "invalid_request_error",
    "bad_request",
    "badrequesterror",
    "invalid_argument",
    "unsupported_parameter",
    "unsupported_value",
    "validation_error",
    "json_validate_failed"
  ]
} as const satisfies { readonly [K in Kind]: ReadonlyArray<string> }

const contextText =
  /maximum context length|context[ _-](?:window|length|size)[^.]{0,80}(?:exceed|too (?:small|long)|overflow|limit|reached)|exceed[^.]{0,80}(?:context[ _-](?:window|length|size|limit)|n_ctx)|available context size|prompt is too long|prompt (?:token count|length)[^.]{0,60}exceed|input (?:token count|is too long|length)[^.]{0,120}(?:exceed|model|too long)|context the overflows|too many (?:input )?tokens|reduce the length of the (?:messages|prompt)|max_new_tokens`? must be <=|loaded with context length/i
const policyText =
  /content (?:management )?polic(?:y|ies)|content[ _]filter|responsible ai|safety system|flagged (?:as|by|for)|moderation|usage polic(?:y|ies)/i
const quotaText =
  /exceeded your current quota|insufficient (?:quota|credits?|balance|funds)|credit balance|out of credits?|no credits?|billing|payment required|spending limit|prepaid/i
const keyText =
  /(?:incorrect|invalid|missing|expired) (?:x-)?api[ -_]?key|api[ _]key (?:not valid|is invalid|expired|not found)|no (?:api key|auth credentials)/i
const modelText =
  /model\b.{0,200}(?:not found|does not exist|not exist|no longer|not supported|isn't loaded|is not loaded|not available)|no such model|unknown model|invalid model|deployment\b.{0,100}does not exist|try pulling it/i
const tooLargeText = /request too large|tokens per (?:min|day)[^.]{0,200}reduce your message size/i

const hints: { readonly [K in Kind]: string | undefined } = {
  authentication: "Check the API key, its project and its permissions.",
  "rate-limit": undefined,
  quota: "Add credit or raise the spending limit of the account.",
  context: "Shorten the conversation, or use a model with a larger context window.",
  policy: undefined,
  invalid: undefined,
  "unknown-model":
    "Check the name of the model and the base URL; a local server may have to load or pull the model first.",
  timeout: undefined,
  unavailable: undefined
}

const fallbackTexts: { readonly [K in Kind]: string } = {
  authentication: "The provider rejected the credentials",
  "rate-limit": "Too many requests",
  quota: "The account has no credit left",
  context: "The conversation is longer than the context window",
  policy: "The provider refused the request because of its content",
  invalid: "The provider rejected the request",
  "unknown-model": "The provider does not know the model or the path",
  timeout: "The provider timed out",
  unavailable: "The provider failed"
}

const has = (failure: ProviderFailure.ProviderFailure, kind: Kind): boolean =>
  codes[kind].some((code) => failure.codes.has(code))

/** Texts of plain rate limits contain addresses of billing pages. */
const withoutUrls = (text: string): string => text.slice(0, 4096).replace(/https?:\/\/\S{1,500}/gi, " ")

const kindOf = (status: number, failure: ProviderFailure.ProviderFailure): Kind => {
  const text = withoutUrls(failure.message)
  if (has(failure, "context")) return "context"
  if (status === 402) return "quota"
  if (status === 429) {
    if (tooLargeText.test(text)) return "context"
    if (has(failure, "quota")) return "quota"
    // Google reports per-minute limits as an exhausted quota, with a retry delay.
    const passing =
      failure.retryAfterMs !== undefined || Array.from(failure.codes).some((code) => code.includes("perminute"))
    return !passing && !has(failure, "rate-limit") && quotaText.test(text) ? "quota" : "rate-limit"
  }
  if (status === 401) return "authentication"
  if (status === 403) {
    if (has(failure, "quota")) return "quota"
    return has(failure, "policy") || policyText.test(text) ? "policy" : "authentication"
  }
  if (status === 404 || status < 400) return "unknown-model"
  if (status === 408 || status === 504) return "timeout"
  if (status >= 500) return contextText.test(text) ? "context" : "unavailable"
  if (status === 413 && (tooLargeText.test(text) || has(failure, "rate-limit"))) return "context"
  if (has(failure, "policy")) return "policy"
  if (has(failure, "quota") || quotaText.test(text)) return "quota"
  if (contextText.test(text)) return "context"
  if (has(failure, "authentication") || keyText.test(text)) return "authentication"
  if (has(failure, "unknown-model") || modelText.test(text)) return "unknown-model"
  return status === 400 && policyText.test(text) ? "policy" : "invalid"
}

const order: ReadonlyArray<readonly [Kind, number]> = [
  ["quota", 402],
  ["rate-limit", 429],
  ["authentication", 401],
  ["policy", 400],
  ["unknown-model", 404],
  ["timeout", 504],
  ["unavailable", 503],
  ["invalid", 400]
]

/** The status for an error inside a 2xx answer. Without further information, the server failed. */
const statusOf = (failure: ProviderFailure.ProviderFailure): number => {
  if (failure.status !== undefined) return failure.status
  for (const [kind, status] of order) if (has(failure, kind)) return status
  const text = withoutUrls(failure.message)
  if (contextText.test(text) || policyText.test(text) || keyText.test(text) || modelText.test(text)) return 400
  return /rate limit|too many requests/i.test(text) ? 429 : 500
}

const requestIdHeaders = [
  "x-request-id",
  "request-id",
  "apim-request-id",
  "x-ms-request-id",
  "x-amzn-requestid",
  "x-generation-id",
  "cf-ray"
] as const

/**
 * The provider's id of a request, from the headers of the answer.
 *
 * @since 0.1.0
 * @category decoding
 */
export const requestId = (
  headers: { readonly [name: string]: string | undefined },
  redact?: ReadonlyArray<Redacted.Redacted<string>> | undefined
): string | undefined => {
  for (const name of requestIdHeaders) {
    const value = Object.hasOwn(headers, name) ? headers[name] : undefined
    if (value !== undefined && value !== "") return SecretText.excerpt(value, { maxLength: 200, redact })
  }
  return undefined
}

/**
 * The error of an answer. Accepts error statuses and 2xx answers that contain an error object. Never throws; the
 * message is the provider's own, in one bounded line, with everything that looks like a key redacted.
 *
 * @example
 * ```ts
 * import { LlmErrorClassifier } from "effect-lexigram/provider"
 *
 * // An LlmRateLimitError.
 * const error = LlmErrorClassifier.classify({
 *   provider: "desk-llm",
 *   status: 429,
 *   headers: { "retry-after": "2" },
 *   body: `{ "error": { "message": "Too many requests" } }`
 * })
 * ```
 *
 * @since 0.1.0
 * @category constructors
 */
export const classify = (answer: Answer): LlmError.LlmError => {
  const failure = ProviderFailure.fromBody(answer.body)
  const status = answer.status >= 300 ? answer.status : statusOf(failure)
  const kind = kindOf(status, failure)
  const text = SecretText.excerpt(failure.message, { maxLength: maxMessageLength, redact: answer.redact })
  const id = requestId(answer.headers, answer.redact)
  const bodyId = failure.requestId
  const hint = hints[kind]
  const fields = {
    provider: answer.provider,
    status: answer.status,
    message: text === "" ? `${fallbackTexts[kind]} (status ${answer.status})` : text,
    ...(answer.model === undefined ? {} : { model: answer.model }),
    ...(hint === undefined ? {} : { hint }),
    ...(id !== undefined
      ? { requestId: id }
      : bodyId !== undefined
        ? { requestId: SecretText.excerpt(bodyId, { maxLength: 200, redact: answer.redact }) }
        : {})
  }
  const retryAfter = () => {
    const retryAfterMs = ProviderFailure.retryAfterMs({ headers: answer.headers, failure, nowMs: answer.nowMs })
    return retryAfterMs === undefined ? {} : { retryAfterMs }
  }
  switch (kind) {
    case "authentication":
      return new LlmError.LlmAuthenticationError(fields)
    case "rate-limit":
      return new LlmError.LlmRateLimitError({ ...fields, ...retryAfter() })
    case "quota":
      return new LlmError.LlmQuotaError(fields)
    case "context":
      return new LlmError.LlmContextOverflowError(fields)
    case "policy":
      return new LlmError.LlmContentPolicyError(fields)
    case "invalid":
    case "unknown-model":
      return new LlmError.LlmInvalidRequestError(fields)
    case "timeout":
      return new LlmError.LlmTimeoutError({ ...fields, phase: "server" })
    case "unavailable":
      return new LlmError.LlmUnavailableError({ ...fields, ...retryAfter() })
  }
}
