/**
 * Estimates the cost of a model call. Without prices it is unknown: an unknown price never counts as zero.
 *
 * @since 0.1.0
 */
import * as Layer from "effect/Layer"
import type * as Usage from "../../domain/Usage.js"
import * as Ambient from "../../internal/fiber/Ambient.js"
import * as PriceNames from "./PriceNames.js"

/**
 * US dollars per million tokens.
 *
 * @since 0.1.0
 * @category models
 */
export interface Rates {
  readonly input: number
  readonly output: number
  /** Of input read from a cache; default that of other input. */
  readonly cachedInput?: number | undefined
  /** Of input written to a cache; default that of other input. */
  readonly cacheWrite?: number | undefined
  /** Of reasoning output; default that of other output. */
  readonly reasoning?: number | undefined
}

/**
 * The price of a model.
 *
 * @since 0.1.0
 * @category models
 */
export interface Price extends Rates {
  /** US dollars per call, whatever its tokens; default none. */
  readonly request?: number | undefined
  /**
   * Rates for all tokens of a call whose input, including cached input, is longer than `above`. The highest tier
   * reached applies; rates it omits are those below it.
   */
  readonly tiers?: ReadonlyArray<{ readonly above: number } & { readonly [R in keyof Rates]?: Rates[R] | undefined }>
}

/**
 * @since 0.1.0
 * @category models
 */
export interface Service {
  /**
   * US dollars, or `undefined` when the model's price or the usage is unknown. The usage must be that of one call,
   * since rates may depend on its length.
   */
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
export class CostEstimator extends Ambient.Reference<CostEstimator>()("effect-lexigram/llm/CostEstimator", {
  defaultValue: (): Service => ({ estimate: () => undefined })
}) {}

/**
 * The requirement of options that may limit money: prices, if one of these fields is given; otherwise `never`. A limit
 * without prices would reject every model.
 *
 * @since 0.1.0
 * @category models
 */
export type ForLimit<Options, Fields extends string> = [Extract<Options[Fields & keyof Options], number>] extends [
  never
]
  ? never
  : CostEstimator

/**
 * `CostEstimator` if limits of a run have one in dollars.
 *
 * @since 0.1.0
 * @category models
 */
export type ForCost<Options> = ForLimit<Options, "maxCostUsd" | "maxCostUsdPerStep">

const MILLION = 1_000_000

const isCount = (tokens: number | undefined): tokens is number => tokens !== undefined && tokens >= 0 && tokens < 1 / 0

const part = (tokens: number | undefined, of: number): number =>
  tokens !== undefined && tokens > 0 ? Math.min(tokens, of) : 0

/**
 * The cost of one call at a price, in US dollars, with the tools that the provider ran; `undefined` when its input, its
 * output or the price of a tool is unknown.
 *
 * @since 0.1.0
 * @category constructors
 */
export const costAt = (price: Price): ((usage: Usage.Usage) => number | undefined) => {
  const steps: Array<{ readonly above: number; readonly rates: Rates }> = [{ above: -1, rates: price }]
  for (const tier of [...(price.tiers ?? [])].sort((a, b) => a.above - b.above)) {
    const below = (steps[steps.length - 1] as (typeof steps)[0]).rates
    steps.push({
      above: tier.above,
      rates: {
        input: tier.input ?? below.input,
        output: tier.output ?? below.output,
        cachedInput: tier.cachedInput ?? below.cachedInput,
        cacheWrite: tier.cacheWrite ?? below.cacheWrite,
        reasoning: tier.reasoning ?? below.reasoning
      }
    })
  }
  const request = price.request ?? 0
  return (usage) => {
    const { cacheWriteTokens, cachedInputTokens, inputTokens, outputTokens, reasoningTokens } = usage
    const tools = usage.providerToolCalls === undefined ? 0 : usage.providerToolUsd
    if (!isCount(inputTokens) || !isCount(outputTokens) || tools === undefined) return undefined
    let at = steps.length - 1
    while (at > 0 && inputTokens <= (steps[at] as (typeof steps)[0]).above) at--
    const { cacheWrite, cachedInput, input, output, reasoning } = (steps[at] as (typeof steps)[0]).rates
    const cached = part(cachedInputTokens, inputTokens)
    const written = part(cacheWriteTokens, inputTokens - cached)
    const reasoned = part(reasoningTokens, outputTokens)
    return (
      request +
      tools +
      ((inputTokens - cached - written) * input +
        cached * (cachedInput ?? input) +
        written * (cacheWrite ?? input) +
        (outputTokens - reasoned) * output +
        reasoned * (reasoning ?? output)) /
        MILLION
    )
  }
}

/**
 * Prices by model name, or by `provider/model` where providers differ. A model that answers under a longer name
 * (`gpt-4.1-mini-2025-04-14`) has the price of the longest name it begins with, up to a `-`, `:` or `@`.
 *
 * @since 0.1.0
 * @category constructors
 */
export const fromPrices = (prices: { readonly [model: string]: Price }): Service => {
  const table = new Map(Object.entries(prices).map(([name, price]) => [name, costAt(price)]))
  const known = PriceNames.make(table.keys())
  return {
    estimate: ({ model, provider, usage }) => {
      if (model === undefined) return undefined
      const name = known(`${provider}/${model}`) ?? known(model)
      return name === undefined ? undefined : table.get(name)?.(usage)
    }
  }
}

/**
 * The maximum cost of a call with at most the given input and output, whether its input is read from or written to a
 * cache, and its output reasoning: the amount to hold before the call. `undefined` when the price is unknown.
 *
 * @since 0.1.0
 * @category accessors
 */
export const maxCost = (
  estimator: Service,
  call: {
    readonly provider: string
    readonly model?: string | undefined
    readonly inputTokens: number
    readonly maxOutputTokens: number
  }
): number | undefined => {
  const { inputTokens, maxOutputTokens, model, provider } = call
  let most: number | undefined
  for (const cache of [{}, { cachedInputTokens: inputTokens }, { cacheWriteTokens: inputTokens }]) {
    for (const reasoningTokens of [0, maxOutputTokens]) {
      const usage = { inputTokens, outputTokens: maxOutputTokens, reasoningTokens, ...cache }
      const cost = estimator.estimate({ provider, model, usage })
      if (cost === undefined) return undefined
      most = most === undefined ? cost : Math.max(most, cost)
    }
  }
  return most
}

/**
 * @since 0.1.0
 * @category layers
 * @example
 * ```ts
 * import { Agents, CostEstimator } from "effect-lexigram"
 *
 * // US dollars per million tokens.
 * const prices = CostEstimator.layerPrices({
 *   qwen3: { input: 0.1, output: 0.4, cachedInput: 0.02 },
 *   "ollama/qwen3": { input: 0, output: 0 }
 * })
 * const layer = Agents.layerWith({ prices })
 * ```
 */
export const layerPrices = (prices: { readonly [model: string]: Price }): Layer.Layer<CostEstimator> =>
  Layer.succeed(CostEstimator, fromPrices(prices))
