/** Builds the layers of published prices where their package is not installed, and reports what they say. */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as ModelPrices from "../../../src/llm/ModelPrices.js"
import { CostEstimator } from "../../../src/llm/model/CostEstimator.js"
import * as Programs from "../Programs.js"

export interface Said {
  /** Of `layer`. */
  readonly failure: { readonly tag: string; readonly hint: string | undefined }
  /** Of `layerInstalled`. */
  readonly warnings: ReadonlyArray<string>
  readonly hasPrice: boolean
}

Programs.main(({ say }) =>
  Effect.gen(function* () {
    const failure = yield* Effect.flip(Effect.scoped(Layer.build(ModelPrices.layer)))
    const warnings: Array<string> = []
    const logger = Logger.make(({ logLevel, message }) => warnings.push(`${logLevel.label}: ${message}`))
    const quiet = Logger.replace(Logger.defaultLogger, logger)
    const prices = yield* CostEstimator.pipe(Effect.provide(Layer.provide(ModelPrices.layerInstalled, quiet)))
    const usage = { inputTokens: 1000, outputTokens: 1000 }
    const hasPrice = prices.estimate({ provider: "openai", model: "gpt-4o", usage }) !== undefined
    yield* say({ failure: { tag: failure._tag, hint: failure.hint }, warnings, hasPrice } satisfies Said)
  })
)
