import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as FastCheck from "effect/FastCheck"
import * as CostEstimator from "../../../src/llm/model/CostEstimator.js"

const usage = { inputTokens: 1_000_000, outputTokens: 500_000, totalTokens: 1_500_000 }

describe("CostEstimator", () => {
  const prices = CostEstimator.fromPrices({
    "gpt-4.1": { input: 2, output: 8 },
    "gpt-4.1-mini": { input: 0.4, output: 1.6, cachedInput: 0.1 },
    "azure/gpt-4.1": { input: 3, output: 9 }
  })

  it("multiplies tokens by the price per million", () => {
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

  it("charges input written to a cache at its own price, next to cached reads", () => {
    const cost = CostEstimator.costAt({ input: 4, output: 0, cachedInput: 1, cacheWrite: 5 })
    const usage = { inputTokens: 1_000_000, outputTokens: 0, cachedInputTokens: 250_000 }
    assert.strictEqual(cost({ ...usage, cacheWriteTokens: 500_000 }), 1 + 0.25 + 2.5)
    // Never more than the input that was not read.
    assert.strictEqual(cost({ ...usage, cacheWriteTokens: 9_000_000 }), 0.25 + 3.75)
    assert.strictEqual(CostEstimator.costAt({ input: 4, output: 0 })({ ...usage, cacheWriteTokens: 1 }), 4)
  })

  it("returns none for unknown models and usage", () => {
    assert.strictEqual(prices.estimate({ provider: "openai", model: "o9", usage }), undefined)
    assert.strictEqual(prices.estimate({ provider: "openai", usage }), undefined)
    assert.strictEqual(prices.estimate({ provider: "openai", model: "gpt-4.1", usage: {} }), undefined)
  })

  it.effect("has no price without a layer", () =>
    Effect.map(CostEstimator.CostEstimator, (estimator) =>
      assert.strictEqual(estimator.estimate({ provider: "openai", model: "gpt-4.1", usage }), undefined)
    )
  )

  it.effect("takes prices from its layer", () =>
    Effect.map(CostEstimator.CostEstimator, (estimator) =>
      assert.strictEqual(estimator.estimate({ provider: "x", model: "m", usage }), 1.5)
    ).pipe(Effect.provide(CostEstimator.layerPrices({ m: { input: 1, output: 1 } })))
  )

  it("charges the reasoning part of the output once, at its own price", () => {
    const price = { input: 1, output: 10, reasoning: 4 }
    const reasoned = { inputTokens: 0, outputTokens: 1_000_000, reasoningTokens: 250_000 }
    assert.closeTo(CostEstimator.costAt(price)(reasoned) ?? 0, 7.5 + 1, 1e-9)
    assert.closeTo(CostEstimator.costAt({ input: 1, output: 10 })(reasoned) ?? 0, 10, 1e-9)
    assert.closeTo(CostEstimator.costAt(price)({ ...reasoned, reasoningTokens: 9e9 }) ?? 0, 4, 1e-9)
    assert.closeTo(CostEstimator.costAt(price)({ ...reasoned, reasoningTokens: -5 }) ?? 0, 10, 1e-9)
  })

  it("charges a price per call", () => {
    assert.strictEqual(
      CostEstimator.costAt({ input: 0, output: 0, request: 0.012 })({ inputTokens: 5, outputTokens: 5 }),
      0.012
    )
  })

  it("applies the tier of a long input to all of its tokens", () => {
    const cost = CostEstimator.costAt({
      input: 1,
      output: 10,
      cachedInput: 0.5,
      // Given in any order.
      tiers: [
        { above: 500_000, input: 3 },
        { above: 200_000, input: 2, output: 15 }
      ]
    })
    assert.closeTo(cost({ inputTokens: 200_000, outputTokens: 0 }) ?? 0, 0.2, 1e-9)
    assert.closeTo(cost({ inputTokens: 200_001, outputTokens: 0 }) ?? 0, 0.400002, 1e-9)
    assert.closeTo(cost({ inputTokens: 300_000, outputTokens: 1_000_000 }) ?? 0, 0.6 + 15, 1e-9)
    assert.closeTo(cost({ inputTokens: 600_000, outputTokens: 1_000_000 }) ?? 0, 1.8 + 15, 1e-9)
    const cached = { inputTokens: 300_000, outputTokens: 0, cachedInputTokens: 300_000 }
    assert.closeTo(cost(cached) ?? 0, 0.15, 1e-9)
  })

  it("returns no cost for invalid token counts", () => {
    const cost = CostEstimator.costAt({ input: 1, output: 1 })
    for (const odd of [Number.NaN, -1, Number.POSITIVE_INFINITY, undefined]) {
      assert.strictEqual(cost({ inputTokens: odd, outputTokens: 1 }), undefined)
      assert.strictEqual(cost({ inputTokens: 1, outputTokens: odd }), undefined)
    }
  })

  it("never exceeds the maximum for any use of the tokens", () => {
    const tokens = FastCheck.integer({ min: 0, max: 400_000 })
    const rate = FastCheck.double({ min: 0, max: 50, noNaN: true })
    FastCheck.assert(
      FastCheck.property(
        rate,
        rate,
        rate,
        rate,
        tokens,
        tokens,
        tokens,
        tokens,
        (input, output, c, r, i, o, ci, ro) => {
          const estimator = CostEstimator.fromPrices({ m: { input, output, cachedInput: c, reasoning: r } })
          const call = { provider: "p", model: "m" }
          const most = CostEstimator.maxCost(estimator, { ...call, inputTokens: i, maxOutputTokens: o })
          const usage = { inputTokens: i, outputTokens: o, cachedInputTokens: ci, reasoningTokens: ro }
          assert.isAtMost(estimator.estimate({ ...call, usage }) ?? Number.NaN, (most ?? Number.NaN) + 1e-9)
        }
      )
    )
    const call = { provider: "p", model: "x", inputTokens: 1, maxOutputTokens: 1 }
    assert.strictEqual(CostEstimator.maxCost(prices, call), undefined)
    assert.closeTo(CostEstimator.maxCost(prices, { ...call, model: "gpt-4.1" }) ?? 0, 10 / 1e6, 1e-12)
  })
})
