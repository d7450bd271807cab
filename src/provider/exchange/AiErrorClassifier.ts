/**
 * Converts the errors of `@effect/ai`, which contain the request and its headers, to {@link LlmError}s, which do not.
 *
 * @private
 * @since 0.1.0
 */
import type * as AiError from "@effect/ai/AiError"
import type * as Redacted from "effect/Redacted"
import * as SecretText from "../../internal/text/SecretText.js"
import type { LlmError } from "../../llm/model/LlmError.js"
import { LlmInvalidRequestError, LlmMalformedResponseError } from "../../llm/model/LlmError.js"
import * as LlmErrorClassifier from "./LlmErrorClassifier.js"

/**
 * @since 0.1.0
 * @category models
 */
export interface Options {
  readonly provider: string
  readonly model?: string | undefined
  readonly nowMs?: number | undefined
  readonly redact?: ReadonlyArray<Redacted.Redacted<string>> | undefined
}

const plainHeaders = (headers: { readonly [name: string]: unknown }): { readonly [name: string]: string } => {
  const plain: Record<string, string> = {}
  for (const [name, value] of Object.entries(headers)) {
    if (typeof value === "string") plain[name.toLowerCase()] = value
  }
  return plain
}

/**
 * The error of a failed call of a language model. It contains nothing of the request.
 *
 * @since 0.1.0
 * @category constructors
 */
export const classify = (error: AiError.AiError, options: Options): LlmError => {
  const fields = {
    provider: options.provider,
    ...(options.model === undefined ? {} : { model: options.model })
  }
  const excerpt = (text: string): string =>
    SecretText.excerpt(text, { maxLength: LlmErrorClassifier.maxMessageLength, redact: options.redact })
  switch (error._tag) {
    case "HttpRequestError": {
      if (error.reason === "Transport") {
        return LlmErrorClassifier.fromTransport({ ...options, error: error.cause ?? error.description })
      }
      return new LlmInvalidRequestError({
        ...fields,
        message: "The request could not be built",
        hint: "Check the base URL and the headers of the client."
      })
    }
    case "HttpResponseError": {
      const headers = plainHeaders(error.response.headers)
      const status = error.response.status
      if (status >= 400) {
        const body = error.body === undefined || error.body === "undefined" ? error.description : error.body
        return LlmErrorClassifier.classify({ ...options, status, headers, body: body ?? "" })
      }
      const requestId = LlmErrorClassifier.requestId(headers, options.redact)
      return new LlmMalformedResponseError({
        ...fields,
        status,
        message: "The answer could not be read to its end.",
        ...(requestId === undefined ? {} : { requestId })
      })
    }
    case "MalformedInput":
      return new LlmInvalidRequestError({
        ...fields,
        message: excerpt(error.description ?? "The provider's client cannot express the request.")
      })
    case "MalformedOutput":
    case "UnknownError": {
      const described = excerpt(error.description ?? "")
      return new LlmMalformedResponseError({
        ...fields,
        message: described === "" ? "The answer does not have the promised shape." : described
      })
    }
  }
}
