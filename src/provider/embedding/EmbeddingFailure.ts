/**
 * Converts errors of model calls to those of embedders.
 *
 * @private
 * @since 0.1.0
 */
import { EmbeddingError } from "../../llm/embedding/Embedder.js"
import type { LlmError } from "../../llm/model/LlmError.js"

/**
 * The cause is the error of the call. It contains neither keys nor headers.
 *
 * @since 0.1.0
 * @category constructors
 */
export const fromLlmError = (error: LlmError): EmbeddingError => {
  const retryAfterMs = "retryAfterMs" in error ? error.retryAfterMs : undefined
  return new EmbeddingError({
    message: `${error.provider}: ${error.message}`,
    isRetryable: error.isRetryable,
    cause: error,
    ...(error.hint === undefined ? {} : { hint: error.hint }),
    ...(retryAfterMs === undefined ? {} : { retryAfterMs })
  })
}
