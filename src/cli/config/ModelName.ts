/**
 * Models by the names that people type: `offline`, `openai/gpt-4.1-mini`, `ollama/llama3.2`.
 *
 * @since 0.1.0
 */
import * as FetchHttpClient from "@effect/platform/FetchHttpClient"
import type * as ConfigError from "effect/ConfigError"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type { LlmClient } from "../../llm/model/LlmClient.js"
import type { LlmConfigurationError } from "../../llm/model/LlmError.js"
import * as OfflineModel from "../../offline/OfflineModel.js"
import * as Providers from "../../provider/Providers.js"

/**
 * The options of a provider by a name: that of the provider and, after a slash, that of the model, which may have
 * slashes. The key is the one of the environment, in the provider's own variable.
 *
 * @since 0.1.0
 * @category conversions
 */
export const parse = (name: string): Effect.Effect<Providers.Options, ConfigError.ConfigError> => {
  const slash = name.indexOf("/")
  const provider = (slash === -1 ? name : name.slice(0, slash)).trim()
  const model = slash === -1 ? "" : name.slice(slash + 1).trim()
  return Effect.map(Providers.keyOf(provider), (apiKey) => ({
    provider,
    ...(model === "" ? {} : { model }),
    ...(apiKey === undefined ? {} : { apiKey })
  }))
}

/**
 * The model of a name, over `fetch`. `offline` is the embedded one, which needs no network. Fails if the provider is
 * unknown, or lacks a key, a model or an address.
 *
 * @example
 * ```ts
 * import { Agents } from "effect-lexigram"
 * import { ModelName } from "effect-lexigram/cli"
 * import * as Layer from "effect/Layer"
 *
 * // Reads OPENROUTER_API_KEY.
 * const agents = Agents.layer().pipe(Layer.provide(ModelName.layer("openrouter/qwen/qwen3-32b")))
 * ```
 *
 * @since 0.1.0
 * @category layers
 */
export const layer = (name: string): Layer.Layer<LlmClient, LlmConfigurationError | ConfigError.ConfigError> =>
  name.trim().toLowerCase() === OfflineModel.provider
    ? OfflineModel.layer()
    : Layer.provide(Layer.unwrapEffect(Effect.map(parse(name), Providers.layer)), FetchHttpClient.layer)
