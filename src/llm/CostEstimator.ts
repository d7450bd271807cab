/**
 * What a model call cost. Unknown unless prices are given: a price that is not known is never taken for zero.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import * as Layer from "effect/Layer"
import type * as Usage from "../domain/Usage.js"

/**
 * US dollars for a million tokens. Cached input costs as other input where `cachedInput` is not given; reasoning counts as output.
 *
 * @since 0.1.0
 * @category models
 */
export interface Price {
  readonly input: number
  readonly output: number
  readonly cachedInput?: number | undefined
}

/**
 * @since 0.1.0
 * @category models
 */
export interface Service {
  /** US dollars, or `undefined` when the model's price or the usage is not known. */
  readonly estimate: (call: {
    readonly provider: string
    readonly model?: string | undefined
    readonly usage: Usage.Usage
  }) => number | undefined
}

/**
 * Without a layer every cost is unknown.
 *
 * @since 0.1.0
 * @category tags
 */
export class CostEstimator extends Context.Reference<CostEstimator>()("effect-lexigram/llm/CostEstimator", {
  defaultValue: (): Service => ({ estimate: () => undefined })
}) {}

const million = 1_000_000

/**
 * Prices by model name, or by `provider/model` where providers differ. A model that answers under a longer name (`gpt-4.1-mini-2025-04-14`)
 * has the price of the longest name it begins with, up to a `-`, `:` or `@`.
 *
 * @since 0.1.0
 * @category constructors
 */
export const fromPrices = (prices: { readonly [model: string]: Price }): Service => {
  const table = new Map(Object.entries(prices))
  const names = Array.from(table.keys()).sort((a, b) => b.length - a.length)
  const find = (name: string): Price | undefined => {
    const exact = table.get(name)
    if (exact !== undefined) return exact
    const prefix = names.find((known) => name.startsWith(known) && /[-:@]/.test(name.charAt(known.length)))
    return prefix === undefined ? undefined : table.get(prefix)
  }
  return {
    estimate: ({ model, provider, usage }) => {
      if (model === undefined || usage.inputTokens === undefined || usage.outputTokens === undefined) return undefined
      const price = find(`${provider}/${model}`) ?? find(model)
      if (price === undefined) return undefined
      const cached = Math.min(usage.cachedInputTokens ?? 0, usage.inputTokens)
      return (
        ((usage.inputTokens - cached) * price.input +
          cached * (price.cachedInput ?? price.input) +
          usage.outputTokens * price.output) /
        million
      )
    }
  }
}

/**
 * @since 0.1.0
 * @category layers
 */
export const layerPrices = (prices: { readonly [model: string]: Price }): Layer.Layer<never> =>
  Layer.succeed(CostEstimator, fromPrices(prices)) as Layer.Layer<never>
