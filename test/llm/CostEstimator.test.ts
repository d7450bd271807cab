import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as CostEstimator from "../../src/llm/CostEstimator.js"

const usage = { inputTokens: 1_000_000, outputTokens: 500_000, totalTokens: 1_500_000 }

describe("CostEstimator", () => {
  const prices = CostEstimator.fromPrices({
    "gpt-4.1": { input: 2, output: 8 },
    "gpt-4.1-mini": { input: 0.4, output: 1.6, cachedInput: 0.1 },
    "azure/gpt-4.1": { input: 3, output: 9 }
  })

  it("multiplies tokens by the price of a million", () => {
    assert.strictEqual(prices.estimate({ provider: "openai", model: "gpt-4.1", usage }), 6)
  })

  it("prefers the price of the provider", () => {
    assert.strictEqual(prices.estimate({ provider: "azure", model: "gpt-4.1", usage }), 7.5)
  })

  it("knows a dated model by the longest name it begins with", () => {
    const call = { provider: "openai", model: "gpt-4.1-mini-2025-04-14", usage }
    assert.closeTo(prices.estimate(call) ?? 0, 1.2, 1e-9)
    assert.strictEqual(prices.estimate({ ...call, model: "gpt-4.10" }), undefined)
  })

  it("charges cached input at its own price, and never more than there was", () => {
    const call = { provider: "openai", model: "gpt-4.1-mini", usage: { ...usage, cachedInputTokens: 600_000 } }
    assert.closeTo(prices.estimate(call) ?? 0, 0.4 * 0.4 + 0.6 * 0.1 + 0.8, 1e-9)
    const odd = { ...call, usage: { ...usage, cachedInputTokens: 5_000_000 } }
    assert.closeTo(prices.estimate(odd) ?? 0, 0.1 + 0.8, 1e-9)
  })

  it("does not know what it was not told", () => {
    assert.strictEqual(prices.estimate({ provider: "openai", model: "o9", usage }), undefined)
    assert.strictEqual(prices.estimate({ provider: "openai", usage }), undefined)
    assert.strictEqual(prices.estimate({ provider: "openai", model: "gpt-4.1", usage: {} }), undefined)
  })

  it.effect("knows no price without a layer", () =>
    Effect.map(CostEstimator.CostEstimator, (estimator) =>
      assert.strictEqual(estimator.estimate({ provider: "openai", model: "gpt-4.1", usage }), undefined)
    )
  )

  it.effect("takes prices from its layer", () =>
    Effect.map(CostEstimator.CostEstimator, (estimator) =>
      assert.strictEqual(estimator.estimate({ provider: "x", model: "m", usage }), 1.5)
    ).pipe(Effect.provide(CostEstimator.layerPrices({ m: { input: 1, output: 1 } })))
  )
})
