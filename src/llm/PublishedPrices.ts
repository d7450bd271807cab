/**
 * Prices of model calls by the data set of `@pydantic/genai-prices`, however that is loaded.
 *
 * @private
 * @since 0.1.0
 */
import type { ModelInfo, ModelPrice } from "@pydantic/genai-prices"
import * as Effect from "effect/Effect"
import type { Usage } from "../domain/Usage.js"
import * as CostEstimator from "./model/CostEstimator.js"
import { LlmConfigurationError } from "./model/LlmError.js"
import * as PriceNames from "./model/PriceNames.js"
import type { Options } from "./PriceOptions.js"

/** The package. */
export type DataSet = typeof import("@pydantic/genai-prices")

/** Common provider names that differ from those of the data set. */
const aliases: ReadonlyMap<string, string> = new Map([
  ["openai-chat", "openai"],
  ["azure-openai", "azure"],
  ["azure.ai.openai", "azure"],
  ["azure.ai.inference", "azure"],
  ["bedrock", "aws"],
  ["amazon-bedrock", "aws"],
  ["aws-bedrock", "aws"],
  ["aws.bedrock", "aws"],
  ["gemini", "google"],
  ["google-gemini", "google"],
  ["google-vertex", "google"],
  ["vertex-ai", "google"],
  ["gcp.gemini", "google"],
  ["gcp.gen_ai", "google"],
  ["gcp.vertex_ai", "google"],
  ["xai", "x-ai"],
  ["x_ai", "x-ai"],
  ["mistralai", "mistral"],
  ["mistral_ai", "mistral"],
  ["together-ai", "together"],
  ["together_ai", "together"],
  ["fireworks-ai", "fireworks"],
  ["moonshot", "moonshotai"]
])

const OFFLINE = "offline"
const MAX_NAME_LENGTH = 256
const MAX_KEPT = 1000
const KEPT_MS = 60_000
const DAY_MS = 86_400_000

type Cost = (usage: Usage) => number | undefined

/** The price of a model at a time, in milliseconds since the epoch. */
type Tariff = (now: number) => Cost

const unknown: Cost = () => undefined
const always =
  (cost: Cost): Tariff =>
  () =>
    cost
const never: Tariff = always(unknown)
const free: Tariff = always(() => 0)

type Value = ModelPrice[string]

const basePrice = (value: Value): number | undefined => (typeof value === "object" ? value.base : value)

/** The price of the highest tier reached; none below all tiers. */
const tierPrice = (value: Value, above: number): number | undefined => {
  if (typeof value !== "object") return undefined
  let last: (typeof value.tiers)[number] | undefined
  for (const tier of value.tiers) {
    if (tier.start <= above && (last === undefined || tier.start >= last.start)) last = tier
  }
  return last?.price
}

const cost = (id: string, prices: ModelPrice): Cost => {
  const {
    cache_read_mtok: cachedInput,
    cache_write_mtok: cacheWrite,
    input_mtok: input,
    output_mtok: output,
    output_reasoning_mtok: reasoning,
    requests_kcount: requests
  } = prices
  const inputRate = basePrice(input)
  // Without any price, only a model whose name says so is free; the others are sold in units that a usage does not
  // count.
  if (inputRate === undefined) return Object.keys(prices).length === 0 && id.endsWith(":free") ? () => 0 : unknown
  const outputRate = basePrice(output)
  const starts = new Set<number>()
  for (const value of [input, output, cachedInput, cacheWrite, reasoning]) {
    if (typeof value === "object") for (const { start } of value.tiers) starts.add(start)
  }
  const request = basePrice(requests)
  const known = CostEstimator.costAt({
    input: inputRate,
    output: outputRate ?? 0,
    cachedInput: basePrice(cachedInput),
    cacheWrite: basePrice(cacheWrite),
    reasoning: basePrice(reasoning),
    request: request === undefined ? undefined : request / 1000,
    tiers: Array.from(starts, (above) => ({
      above,
      input: tierPrice(input, above),
      output: tierPrice(output, above),
      cachedInput: tierPrice(cachedInput, above),
      cacheWrite: tierPrice(cacheWrite, above),
      reasoning: tierPrice(reasoning, above)
    }))
  })
  // Embedding models have no output price and no output.
  return outputRate === undefined ? (usage) => (usage.outputTokens === 0 ? known(usage) : undefined) : known
}

/** `HH:MM:SS`, with or without a fraction, and `Z` or an offset, as milliseconds of the day in UTC. */
const timeOfDay = (text: string): number => ((Date.parse(`1970-01-01T${text}`) % DAY_MS) + DAY_MS) % DAY_MS

/** The last price whose time has come applies, else the first, as in the data set. */
const tariff = ({ id, prices }: ModelInfo): Tariff => {
  if (!Array.isArray(prices)) return always(cost(id, prices))
  const all = prices.map(({ constraint, prices }) => {
    if (constraint === undefined) return { isOn: () => true, cost: cost(id, prices) }
    if (constraint.type === "start_date") {
      const start = Date.parse(constraint.start_date)
      return { isOn: (now: number) => now >= start, cost: cost(id, prices) }
    }
    const start = timeOfDay(constraint.start_time)
    const end = timeOfDay(constraint.end_time)
    return {
      isOn: (now: number) => {
        const time = now % DAY_MS
        return end < start ? time >= start || time < end : time >= start && time < end
      },
      cost: cost(id, prices)
    }
  })
  return (now) => (all.findLast(({ isOn }) => isOn(now)) ?? all[0])?.cost ?? unknown
}

/** `undefined` if no price is published. */
const published = (data: DataSet, provider: string, model: string): Tariff | undefined => {
  try {
    const found = data.calcPrice({}, model, { providerId: provider })
    return found === null ? undefined : tariff(found.model)
  } catch {
    // The package throws when prices that the application updated contradict each other: the price is then unknown.
    return undefined
  }
}

interface Own {
  /** The price of this model, or of a release of it. */
  readonly named: Tariff | undefined
  /** The price of a model whose name this one begins with. */
  readonly similar: Tariff | undefined
}

const ownPrices = (prices: { readonly [model: string]: CostEstimator.Price }) => {
  const table = new Map(Object.entries(prices).map(([name, price]) => [name, always(CostEstimator.costAt(price))]))
  const known = PriceNames.make(table.keys())
  return (provider: string, model: string): Own => {
    let similar: Tariff | undefined
    for (const name of [`${provider}/${model}`, model]) {
      const like = known(name)
      if (like === undefined) continue
      const own = table.get(like)
      if (PriceNames.isRelease(name.slice(like.length))) return { named: own, similar: own }
      similar ??= own
    }
    return { named: undefined, similar }
  }
}

/**
 * Results of the last minute. The cache is cleared when it grows too large, because servers may make up model names.
 */
class Kept {
  private readonly providers = new Map<string, Map<string, { readonly tariff: Tariff; readonly since: number }>>()
  private size = 0

  get(provider: string, model: string, now: number): Tariff | undefined {
    const found = this.providers.get(provider)?.get(model)
    return found !== undefined && now >= found.since && now - found.since < KEPT_MS ? found.tariff : undefined
  }

  set(provider: string, model: string, tariff: Tariff, since: number): void {
    if (this.size >= MAX_KEPT) {
      this.providers.clear()
      this.size = 0
    }
    let models = this.providers.get(provider)
    if (models === undefined) {
      models = new Map()
      this.providers.set(provider, models)
    }
    if (!models.has(model)) this.size++
    models.set(model, { tariff, since })
  }
}

/** The provider with exactly that name: the data set itself would match `openai-compatible` to `openai`. */
const isSold = (data: DataSet, id: string): boolean => data.findProvider({ providerId: id })?.id === id

const estimator = (
  data: DataSet,
  now: () => number,
  ids: (provider: string) => string,
  own: (provider: string, model: string) => Own
): CostEstimator.Service => {
  const find = (provider: string, model: string): Tariff => {
    const { named, similar } = own(provider, model)
    if (named !== undefined) return named
    if (provider === OFFLINE) return free
    const id = ids(provider)
    return (isSold(data, id) ? published(data, id, model) : undefined) ?? similar ?? never
  }
  const kept = new Kept()
  return {
    estimate: ({ model, provider, usage }) => {
      if (model === undefined) return undefined
      if (model.length > MAX_NAME_LENGTH || provider.length > MAX_NAME_LENGTH) return undefined
      const at = now()
      let tariff = kept.get(provider, model, at)
      if (tariff === undefined) {
        tariff = find(provider, model)
        kept.set(provider, model, tariff, at)
      }
      return tariff(at)(usage)
    }
  }
}

/** Prices by a data set, dated by the `Clock` at construction. Fails for a provider without published prices. */
export const make = (
  data: DataSet,
  options?: Options | undefined
): Effect.Effect<CostEstimator.Service, LlmConfigurationError> =>
  Effect.gen(function* () {
    const clock = yield* Effect.clock
    const given = new Map(Object.entries(options?.providers ?? {}))
    for (const [name, id] of given) {
      if (isSold(data, id)) continue
      return yield* new LlmConfigurationError({
        provider: name,
        message: `There are no published prices for the provider ${JSON.stringify(id)}, which \`providers\` assigns to ${JSON.stringify(name)}.`
      })
    }
    return estimator(
      data,
      () => clock.unsafeCurrentTimeMillis(),
      (provider) => {
        const name = provider.toLowerCase()
        return given.get(provider) ?? aliases.get(name) ?? name
      },
      ownPrices(options?.own ?? {})
    )
  })
