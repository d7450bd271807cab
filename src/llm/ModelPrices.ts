/**
 * The published model prices of many providers, from the installed version of the package `@pydantic/genai-prices`.
 * Nothing is fetched. If the application updates the prices itself, with the `updatePrices` of that package, the new
 * ones apply within a minute.
 *
 * A provider is looked up by the name of its client, whatever address the client uses. Servers that anybody can run
 * (`ollama`, `vllm`, `openai-compatible`, …) have no price, even for models that others sell: set their prices with
 * `own`, or the provider whose prices they have with `providers`. The embedded `offline` model costs nothing.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as OnDemand from "../internal/fiber/OnDemand.js"
import * as CostEstimator from "./model/CostEstimator.js"
import { LlmConfigurationError } from "./model/LlmError.js"
import type { Options } from "./PriceOptions.js"
import type { DataSet } from "./PublishedPrices.js"

export type { Options } from "./PriceOptions.js"

const estimators = OnDemand.make(() => import("./PublishedPrices.js"))

const missing = (cause: unknown): LlmConfigurationError =>
  new LlmConfigurationError({
    provider: "prices",
    message: "The package @pydantic/genai-prices, which has the published prices, is not installed",
    hint: "npm install @pydantic/genai-prices, or give prices of your own (CostEstimator.layerPrices)",
    cause
  })

/** Bundlers do not follow a name that is put together: a bundle has no price list that nobody asked for. */
const importPackage = (): Promise<object> => {
  const name = ["@pydantic", "genai-prices"].join("/")
  return import(/* webpackIgnore: true */ /* @vite-ignore */ name)
}

/**
 * Loads the data set. Prices that depend on the date or the time of day follow the `Clock` at construction. Fails when
 * the package is not installed, or `providers` names a provider without published prices.
 *
 * @example
 * ```ts
 * import { Agents, ModelPrices } from "effect-lexigram"
 *
 * const agents = Agents.layerWith({ prices: ModelPrices.layer })
 * ```
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = (options?: Options | undefined): Effect.Effect<CostEstimator.Service, LlmConfigurationError> =>
  Effect.flatMap(Effect.tryPromise({ try: options?.load ?? importPackage, catch: missing }), (data) =>
    Effect.flatMap(estimators, ({ make }) => make(data as DataSet, options))
  )

/**
 * The published prices, for every run below.
 *
 * @since 0.1.0
 * @category layers
 */
export const layer: Layer.Layer<CostEstimator.CostEstimator, LlmConfigurationError> = Layer.suspend(() => layerWith({}))

/**
 * The published prices, overridden by custom prices.
 *
 * @since 0.1.0
 * @category layers
 */
export const layerWith = (options: Options): Layer.Layer<CostEstimator.CostEstimator, LlmConfigurationError> =>
  Layer.effect(CostEstimator.CostEstimator, make(options))

/**
 * The published prices if their package is found when the layer is built; otherwise costs are unknown, with a warning.
 *
 * @since 0.1.0
 * @category layers
 */
export const layerInstalled: Layer.Layer<CostEstimator.CostEstimator> = Layer.effect(
  CostEstimator.CostEstimator,
  Effect.catchAll(make(), ({ hint, message }) =>
    Effect.as(Effect.logWarning(`${message}: costs are unknown. ${hint}`), CostEstimator.fromPrices({}))
  )
)
