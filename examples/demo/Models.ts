/**
 * Selects the model: the one named by the environment, else the embedded one.
 */
import type * as ConfigError from "effect/ConfigError"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import { type LlmClient, type LlmError, LlmResilience } from "effect-lexigram"
import { OfflineModel } from "effect-lexigram/offline"
import { FetchTransport, Providers } from "effect-lexigram/provider"

export interface Chosen {
  readonly provider: string
  readonly model: string
  readonly embedded: boolean
  readonly layer: Layer.Layer<LlmClient.LlmClient, LlmError.LlmConfigurationError | ConfigError.ConfigError>
}

export const choose = (options?: LlmResilience.Options): Effect.Effect<Chosen, ConfigError.ConfigError> =>
  Effect.map(
    Providers.configured,
    Option.match({
      onNone: (): Chosen => ({
        provider: OfflineModel.provider,
        model: OfflineModel.model,
        embedded: true,
        layer: OfflineModel.layer({ delay: "8 millis" })
      }),
      onSome: ({ model, provider }): Chosen => ({
        provider,
        model: model ?? "no model named",
        embedded: false,
        layer: LlmResilience.layer(options).pipe(
          Layer.provide(Providers.layerConfig),
          Layer.provide(FetchTransport.layer)
        )
      })
    })
  )

/** How to select another model. */
export const hint = (chosen: Chosen): string =>
  chosen.embedded
    ? [
        "For a real model, set one of these and run the demo again:",
        "  OPENAI_API_KEY=…   or   ANTHROPIC_API_KEY=…",
        `  ${Providers.ENV_PREFIX}PROVIDER=ollama ${Providers.ENV_PREFIX}MODEL=qwen3   (${Providers.names.join(", ")})`,
        `  ${Providers.ENV_PREFIX}BASE_URL=http://127.0.0.1:8000/v1 ${Providers.ENV_PREFIX}MODEL=…   (any server of chat completions)`
      ].join("\n")
    : `Another model: ${Providers.ENV_PREFIX}PROVIDER and ${Providers.ENV_PREFIX}MODEL; without them and without a key, the embedded one.`
