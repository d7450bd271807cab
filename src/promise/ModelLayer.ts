/**
 * Makes the layer of a model. What it needs is loaded when the layer is built.
 *
 * @private
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import * as OnDemand from "../internal/fiber/OnDemand.js"
import type * as LlmClient from "../llm/model/LlmClient.js"
import type { Model, ProviderModel } from "./PromiseModel.js"

const retries = OnDemand.make(() => import("../llm/LlmRetry.js"))
const transports = OnDemand.make(() => import("../provider/exchange/FetchTransport.js"))
const providers = OnDemand.make(() => import("../provider/Providers.js"))
const sdk = OnDemand.make(() => import("../provider/sdk/AiSdkModel.js"))

const fromProvider = ({ apiKey, ...options }: ProviderModel): Layer.Layer<LlmClient.LlmClient, unknown> =>
  Layer.unwrapEffect(
    Effect.gen(function* () {
      const Providers = yield* providers
      const FetchTransport = yield* transports
      const key = apiKey === undefined ? yield* Providers.keyOf(options.provider) : Redacted.make(apiKey)
      return Layer.provide(Providers.layer({ ...options, apiKey: key }), FetchTransport.layer)
    })
  )

/** Failed requests are repeated, but for those of a Layer, which says itself whether they are. */
export const make = (model: Model, maxRetries: number | undefined): Layer.Layer<LlmClient.LlmClient, unknown> => {
  if (Layer.isLayer(model)) return model as Layer.Layer<LlmClient.LlmClient, unknown>
  const client: Layer.Layer<LlmClient.LlmClient, unknown> =
    "specificationVersion" in model
      ? Layer.unwrapEffect(Effect.map(sdk, ({ layer }) => layer(model)))
      : fromProvider(model as ProviderModel)
  return Layer.unwrapEffect(
    Effect.map(retries, ({ layer }) => Layer.provide(layer(maxRetries === undefined ? {} : { maxRetries }), client))
  )
}
