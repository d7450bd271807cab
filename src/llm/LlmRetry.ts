/**
 * Retries model calls that failed transiently, with exponential, jittered delays and the provider's `Retry-After`.
 *
 * @since 0.1.0
 */
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import * as Random from "effect/Random"
import { errorInfo } from "../domain/ErrorInfo.js"
import * as Run from "../observability/Run.js"
import * as Delivery from "./Delivery.js"
import * as CallMeter from "./model/CallMeter.js"
import type * as LlmClient from "./model/LlmClient.js"
import type { LlmError } from "./model/LlmError.js"
import * as LlmGateway from "./model/LlmGateway.js"

/**
 * A retry about to happen: `attempt` is 1 for the first retry.
 *
 * @since 0.1.0
 * @category models
 */
export interface Retry {
  readonly attempt: number
  readonly delayMs: number
  readonly error: LlmError
}

/**
 * @since 0.1.0
 * @category models
 */
export interface Options {
  /** Retries, not calls: 2 means at most three calls. */
  readonly maxRetries?: number | undefined
  /**
   * The delay before the first retry (500 millis); each later one is `factor` (2) times longer, up to `cap` (30
   * seconds).
   */
  readonly base?: Duration.DurationInput | undefined
  readonly factor?: number | undefined
  readonly cap?: Duration.DurationInput | undefined
  /** Draws each delay between half of it and all of it, so that clients that failed together do not retry together. */
  readonly jitter?: boolean | undefined
  /** Never retries earlier than the provider requested. */
  readonly honourRetryAfter?: boolean | undefined
  /** If the provider requests a longer delay than this (60 seconds), the call fails at once. */
  readonly maxRetryAfter?: Duration.DurationInput | undefined
  /** Narrows which errors are retried; errors that are not `isRetryable` never are. */
  readonly while?: ((error: LlmError) => boolean) | undefined
  readonly onRetry?: ((retry: Retry) => Effect.Effect<void>) | undefined
}

/**
 * @since 0.1.0
 * @category constants
 */
export const defaults = {
  maxRetries: 2,
  base: Duration.millis(500),
  factor: 2,
  cap: Duration.seconds(30),
  maxRetryAfter: Duration.seconds(60)
} as const

const retryAfter = (error: LlmError): number => {
  const millis = "retryAfterMs" in error ? error.retryAfterMs : undefined
  return millis === undefined || Number.isNaN(millis) ? 0 : Math.max(0, millis)
}

/** Inside a run a retry is one of its events. */
const announce = ({ attempt, delayMs, error }: Retry): Effect.Effect<void> =>
  Run.emit({
    _tag: "Degraded",
    stage: `model call, attempt ${attempt + 1} in ${Math.ceil(delayMs)} ms`,
    error: errorInfo(error)
  })

/**
 * Retries until the first part reached `onParts`: after that errors propagate, because a retry would repeat text. Free
 * while calls succeed. Pure: the wrapped client keeps no state. Inside a run each retry is a `Degraded` event.
 *
 * @since 0.1.0
 * @category combinators
 */
export const wrap = (options?: Options | undefined): ((inner: LlmClient.Service) => LlmClient.Service) => {
  const maxRetries = options?.maxRetries ?? defaults.maxRetries
  const base = Duration.toMillis(options?.base ?? defaults.base)
  const factor = options?.factor ?? defaults.factor
  const cap = Duration.toMillis(options?.cap ?? defaults.cap)
  const jitter = options?.jitter ?? true
  const honourRetryAfter = options?.honourRetryAfter ?? true
  const maxRetryAfter = Duration.toMillis(options?.maxRetryAfter ?? defaults.maxRetryAfter)
  const accepts = options?.while
  const onRetry = options?.onRetry

  const delay = (error: LlmError, attempt: number): Effect.Effect<number> => {
    const backoff = Math.min(cap, base * factor ** (attempt - 1))
    const least = honourRetryAfter ? retryAfter(error) : 0
    return jitter
      ? Effect.map(Random.nextRange(backoff / 2, backoff), (drawn) => Math.max(least, drawn))
      : Effect.succeed(Math.max(least, backoff))
  }

  const mayRetry = (error: LlmError): boolean =>
    error.isRetryable &&
    (!honourRetryAfter || retryAfter(error) <= maxRetryAfter) &&
    (accepts === undefined || accepts(error))

  return (given) => {
    const inner = CallMeter.metered(given)
    return {
      provider: inner.provider,
      model: inner.model,
      metered: true,
      complete: (request, completeOptions) =>
        Effect.suspend(() => {
          const watched = Delivery.watch<LlmClient.LlmPart, LlmClient.CompleteOptions | undefined>(completeOptions)
          const call = (attempt: number): Effect.Effect<LlmClient.LlmResponse, LlmError> =>
            Effect.catchAll(inner.complete(request, watched.options), (error) => {
              if (watched.hasBegun() || attempt > maxRetries || !mayRetry(error)) return Effect.fail(error)
              return Effect.flatMap(delay(error, attempt), (delayMs) => {
                const retry: Retry = { attempt, delayMs, error }
                const announced =
                  onRetry === undefined ? announce(retry) : Effect.zipRight(announce(retry), onRetry(retry))
                return announced.pipe(
                  Effect.zipRight(Effect.sleep(delayMs)),
                  Effect.zipRight(Effect.suspend(() => call(attempt + 1)))
                )
              })
            })
          return call(1)
        })
    }
  }
}

/**
 * @example
 * ```ts
 * import { LlmRetry } from "effect-lexigram"
 * import { OfflineModel } from "effect-lexigram/offline"
 * import * as Layer from "effect/Layer"
 *
 * const model = LlmRetry.layer({ maxRetries: 4, maxRetryAfter: "20 seconds" }).pipe(
 *   Layer.provide(OfflineModel.layer())
 * )
 * ```
 *
 * @since 0.1.0
 * @category layers
 */
export const layer = (options?: Options | undefined): Layer.Layer<LlmClient.LlmClient, never, LlmClient.LlmClient> =>
  LlmGateway.layerWrapped((inner) => Effect.succeed(wrap(options)(inner)))
