/**
 * Limits the duration of a model call: in total, to the first part, and between two parts.
 *
 * @since 0.1.0
 */
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import * as Deadline from "../internal/fiber/Deadline.js"
import * as CallGate from "./model/CallGate.js"
import * as CallMeter from "./model/CallMeter.js"
import type * as LlmClient from "./model/LlmClient.js"
import { LlmTimeoutError } from "./model/LlmError.js"
import * as LlmGateway from "./model/LlmGateway.js"

/**
 * `first` and `gap` apply to streamed calls only and have no default. No limit counts the time in which the consumer of
 * the parts works.
 *
 * @since 0.1.0
 * @category models
 */
export interface Options {
  /** Default 120 seconds; `Duration.infinity` removes it. */
  readonly whole?: Duration.DurationInput | undefined
  readonly first?: Duration.DurationInput | undefined
  readonly gap?: Duration.DurationInput | undefined
}

/**
 * @since 0.1.0
 * @category constants
 */
export const defaultWhole: Duration.Duration = Duration.seconds(120)

const millis = (input: Duration.DurationInput | undefined): number | undefined => {
  if (input === undefined) return undefined
  const result = Duration.toMillis(input)
  return Number.isFinite(result) ? result : undefined
}

const messages: Record<Deadline.Phase, string> = {
  whole: "no whole answer",
  "first-part": "no first part",
  gap: "no further part"
}

/**
 * A call that takes too long is interrupted and fails with `LlmTimeoutError`. Pure: the wrapped client keeps no state.
 *
 * @since 0.1.0
 * @category combinators
 */
export const wrap = (options?: Options | undefined): ((inner: LlmClient.Service) => LlmClient.Service) => {
  const whole = millis(options?.whole ?? defaultWhole)
  const first = millis(options?.first)
  const gap = millis(options?.gap)
  const timed = (given: LlmClient.Service): LlmClient.Service => {
    const inner = CallMeter.metered(given)
    return {
      provider: inner.provider,
      model: inner.model,
      metered: true,
      complete: (request, completeOptions) => {
        const onTimeout = (phase: Deadline.Phase, limit: number) => {
          const model = request.settings?.model ?? inner.model
          return new LlmTimeoutError({
            message: `${inner.provider} returned ${messages[phase]} within ${limit} ms`,
            provider: inner.provider,
            ...(model === undefined ? {} : { model }),
            phase,
            timeoutMs: limit
          })
        }
        const onParts = completeOptions?.onParts
        if (onParts === undefined)
          return Deadline.run(() => inner.complete(request, completeOptions), { whole, onTimeout })
        return Deadline.run(
          (pulse) =>
            inner.complete(request, {
              ...completeOptions,
              onParts: (parts) =>
                Effect.suspend(() => {
                  pulse.hold()
                  return Effect.map(onParts(parts), () => pulse.beat())
                })
            }),
          { whole, first, gap, onTimeout }
        )
      }
    }
  }
  return (inner) => CallGate.wrap(timed(inner))
}

/**
 * @example
 * ```ts
 * import { LlmTimeout } from "effect-lexigram"
 * import { OfflineModel } from "effect-lexigram/offline"
 * import * as Layer from "effect/Layer"
 *
 * const model = LlmTimeout.layer({ whole: "2 minutes", first: "20 seconds", gap: "15 seconds" }).pipe(
 *   Layer.provide(OfflineModel.layer())
 * )
 * ```
 *
 * @since 0.1.0
 * @category layers
 */
export const layer = (options?: Options | undefined): Layer.Layer<LlmClient.LlmClient, never, LlmClient.LlmClient> =>
  LlmGateway.layerWrapped((inner) => Effect.succeed(wrap(options)(inner)))
