/**
 * Classifies errors of the AI SDK, which contain the request and its headers, as errors of this library, which do not.
 *
 * @private
 * @since 0.1.0
 */
import type * as Redacted from "effect/Redacted"
import * as SecretText from "../../internal/text/SecretText.js"
import * as LlmError from "../../llm/model/LlmError.js"
import * as LlmErrorClassifier from "../exchange/LlmErrorClassifier.js"
import * as Wire from "../exchange/WireDecoder.js"

/**
 * @category models
 */
export interface Context {
  readonly provider: string
  readonly model: string
  readonly nowMs: number
  readonly redact?: ReadonlyArray<Redacted.Redacted<string>> | undefined
}

/** An error is a record only if its prototype is left aside. */
const fieldsOf = (error: unknown): Wire.Json =>
  typeof error === "object" && error !== null ? (error as Wire.Json) : { message: error }

const headersOf = (value: unknown): { readonly [name: string]: string } => {
  const headers: Record<string, string> = {}
  for (const [name, text] of Object.entries(Wire.record(value) ?? {})) {
    if (typeof text === "string") headers[name.toLowerCase()] = text
  }
  return headers
}

/** The response could not be read. */
const malformed: ReadonlySet<string> = new Set([
  "AI_EmptyResponseBodyError",
  "AI_InvalidResponseDataError",
  "AI_JSONParseError",
  "AI_NoContentGeneratedError",
  "AI_TypeValidationError"
])

/** The model cannot be asked this. */
const invalid: ReadonlySet<string> = new Set([
  "AI_InvalidArgumentError",
  "AI_InvalidPromptError",
  "AI_LoadSettingError",
  "AI_NoSuchModelError",
  "AI_UnsupportedFunctionalityError"
])

const isReset = (code: unknown): boolean => typeof code === "string" && /^(?:E[A-Z]+|UND_ERR_[A-Z_]+)$/.test(code)

/** The request did not reach the server, or its answer broke off. */
const isTransport = (error: unknown): boolean => {
  const { cause, code, message, name } = fieldsOf(error)
  if (isReset(code) || name === "AbortError") return true
  if (name === "TypeError" && typeof message === "string" && /fetch failed|terminated|network/i.test(message))
    return true
  return cause !== undefined && cause !== error && isTransport(cause)
}

/**
 * @category constructors
 */
export const classify = (error: unknown, context: Context): LlmError.LlmError => {
  const { provider, model, nowMs, redact } = context
  const known = { provider, model }
  const fields = fieldsOf(error)
  const name = Wire.string(fields.name) ?? ""
  const message = SecretText.excerpt(Wire.string(fields.message) ?? "", {
    maxLength: LlmErrorClassifier.maxMessageLength,
    redact
  })
  const status = Wire.number(fields.statusCode)
  if (name === "AI_APICallError" && status !== undefined && status >= 400) {
    return LlmErrorClassifier.classify({
      ...known,
      status,
      headers: headersOf(fields.responseHeaders),
      body: Wire.string(fields.responseBody) ?? Wire.string(fields.message) ?? "",
      nowMs,
      redact
    })
  }
  if (name === "AI_LoadAPIKeyError")
    return new LlmError.LlmAuthenticationError({
      ...known,
      message: message === "" ? "The API key of the model is missing" : message,
      hint: "Give the key to the function that makes the provider, or set its environment variable."
    })
  if (invalid.has(name))
    return new LlmError.LlmInvalidRequestError({
      ...known,
      message: message === "" ? "The provider's package cannot express the request" : message
    })
  // An answer with a status was there, but could not be read.
  if (malformed.has(name) || status !== undefined)
    return new LlmError.LlmMalformedResponseError({
      ...known,
      message: message === "" ? "The answer does not have the promised shape" : message,
      ...(status === undefined ? {} : { status })
    })
  if (name === "AI_APICallError" || isTransport(error))
    return LlmErrorClassifier.fromTransport({ ...known, error: fields.cause ?? error, redact })
  // What a provider reports within a stream: an object with type and message, or a text.
  return LlmErrorClassifier.classify({
    ...known,
    status: 200,
    headers: {},
    body: Wire.failure(plain(error)),
    redact,
    nowMs
  })
}

/** An `Error` has its message on the prototype side of `JSON`. */
const plain = (error: unknown): unknown =>
  error instanceof Error ? { message: error.message, code: fieldsOf(error).code } : error
