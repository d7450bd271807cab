/** Numbers of the price data set, read from its file without its functions. */
import * as Fs from "node:fs"
import { createRequire } from "node:module"

export type RawPrice =
  | number
  | { readonly base: number; readonly tiers: ReadonlyArray<{ start: number; price: number }> }
export type RawPrices = { readonly [key: string]: RawPrice }
export interface RawModel {
  readonly id: string
  readonly prices:
    | RawPrices
    | ReadonlyArray<{ readonly constraint?: { readonly [key: string]: string }; readonly prices: RawPrices }>
}
export interface RawProvider {
  readonly id: string
  readonly models: ReadonlyArray<RawModel>
}

const read = (): ReadonlyArray<RawProvider> => {
  const file = createRequire(import.meta.url)
    .resolve("@pydantic/genai-prices")
    .replace(/index\.cjs$/, "index.js")
  const text = Fs.readFileSync(file, "utf8")
  const start = text.indexOf("[")
  const end = text.indexOf("\n]", start) + 2
  return new Function(`return ${text.slice(start, end)}`)()
}

export const providers: ReadonlyArray<RawProvider> = read()

export const model = (provider: string, id: string): RawModel => {
  const found = providers.find((one) => one.id === provider)?.models.find((one) => one.id === id)
  if (found === undefined) throw new Error(`the data set has no ${provider}/${id}`)
  return found
}

/** Prices of a model with constant prices. */
export const prices = (provider: string, id: string): RawPrices => {
  const { prices } = model(provider, id)
  if (Array.isArray(prices)) throw new Error(`${provider}/${id} has prices by time`)
  return prices as RawPrices
}
