/** The model: that of the environment (`ANTHROPIC_API_KEY`, `OPENAI_API_KEY`, `LEX_AI_LLM__*`), else the scripted one. */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import { LlmResilience, ModelPrices } from "effect-lexigram"
import { FetchTransport, Providers } from "effect-lexigram/provider"
import * as ScriptedModel from "./ScriptedModel.js"

const real = LlmResilience.layer().pipe(Layer.provide(Providers.layerConfig), Layer.provide(FetchTransport.layer))

export const layer = Layer.unwrapEffect(
  Effect.map(Providers.configured, Option.match({ onNone: () => ScriptedModel.layer, onSome: () => real }))
)

/** The published prices, and that of the script, in dollars per million tokens. */
export const prices = ModelPrices.layerWith({
  own: { [`${ScriptedModel.provider}/${ScriptedModel.model}`]: { input: 1, output: 4 } }
})
