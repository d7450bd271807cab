/**
 * Retries calls of an embedder that failed transiently, each attempt with a timeout.
 *
 * @since 0.1.0
 */
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import * as Random from "effect/Random"
import { errorInfo } from "../../domain/ErrorInfo.js"
import * as Deadline from "../../internal/fiber/Deadline.js"
import * as Run from "../../observability/Run.js"
import * as LlmRetry from "../LlmRetry.js"
import * as Embedder from "./Embedder.js"

/**
 * Retries, delays and their defaults are those of `LlmRetry`.
 *
 * @since 0.1.0
 * @category models
 */
export interface Options
  extends Pick<LlmRetry.Options, "maxRetries" | "base" | "factor" | "cap" | "jitter" | "maxRetryAfter"> {
  /** Of one attempt; default 30 seconds, `Duration.infinity` removes it. */
  readonly timeout?: Duration.DurationInput | undefined
}

/**
 * @since 0.1.0
 * @category constants
 */
export const defaultTimeout: Duration.Duration = Duration.seconds(30)

/**
 * Errors that are not `isRetryable` propagate, and so does one that requests a longer delay than `maxRetryAfter`. An
 * attempt that takes too long is interrupted and counts as failed. Inside a run each retry is a `Degraded` event. Pure:
 * the wrapped embedder keeps no state.
 *
 * @since 0.1.0
 * @category combinators
 */
export const wrap = (options?: Options | undefined): ((inner: Embedder.Service) => Embedder.Service) => {
  const maxRetries = options?.maxRetries ?? LlmRetry.defaults.maxRetries
  const base = Duration.toMillis(options?.base ?? LlmRetry.defaults.base)
  const factor = options?.factor ?? LlmRetry.defaults.factor
  const cap = Duration.toMillis(options?.cap ?? LlmRetry.defaults.cap)
  const maxRetryAfter = Duration.toMillis(options?.maxRetryAfter ?? LlmRetry.defaults.maxRetryAfter)
  const isJittered = options?.jitter ?? true
  const whole = Duration.toMillis(options?.timeout ?? defaultTimeout)

  const delay = (error: Embedder.EmbeddingError, attempt: number): Effect.Effect<number> => {
    const backoff = Math.min(cap, base * factor ** (attempt - 1))
    const least = Math.max(0, error.retryAfterMs ?? 0)
    return isJittered
      ? Effect.map(Random.nextRange(backoff / 2, backoff), (drawn) => Math.max(least, drawn))
      : Effect.succeed(Math.max(least, backoff))
  }

  return (inner) => {
    const onTimeout = (_: Deadline.Phase, limit: number) =>
      new Embedder.EmbeddingError({
        message: `The embedding model ${inner.model} did not answer within ${limit} ms`,
        isRetryable: true
      })

    const retried = <A>(
      effect: Effect.Effect<A, Embedder.EmbeddingError>,
      attempt: number
    ): Effect.Effect<A, Embedder.EmbeddingError> =>
      Effect.catchAll(Number.isFinite(whole) ? Deadline.run(() => effect, { whole, onTimeout }) : effect, (error) => {
        if (attempt > maxRetries || !error.isRetryable || (error.retryAfterMs ?? 0) > maxRetryAfter) {
          return Effect.fail(error)
        }
        return Effect.flatMap(delay(error, attempt), (millis) =>
          Run.emit({
            _tag: "Degraded",
            stage: `embedding, attempt ${attempt + 1} in ${Math.ceil(millis)} ms`,
            error: errorInfo(error)
          }).pipe(
            Effect.zipRight(Effect.sleep(millis)),
            Effect.zipRight(Effect.suspend(() => retried(effect, attempt + 1)))
          )
        )
      })

    return {
      model: inner.model,
      dimensions: inner.dimensions,
      embed: (text) => retried(inner.embed(text), 1),
      embedMany: (texts) => retried(inner.embedMany(texts), 1)
    }
  }
}

/**
 * @example
 * ```ts
 * import { EmbedderRetry, HashingEmbedder } from "effect-lexigram/llm"
 * import * as Layer from "effect/Layer"
 *
 * const embedder = EmbedderRetry.layer({ maxRetries: 4, timeout: "10 seconds" }).pipe(
 *   Layer.provide(HashingEmbedder.layer())
 * )
 * ```
 *
 * @since 0.1.0
 * @category layers
 */
export const layer = (options?: Options | undefined): Layer.Layer<Embedder.Embedder, never, Embedder.Embedder> =>
  Embedder.layerWrapped((inner) => Effect.succeed(wrap(options)(inner)))
