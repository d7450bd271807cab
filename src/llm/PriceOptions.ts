/**
 * Options of published prices.
 *
 * @private
 * @since 0.1.0
 */
import type * as CostEstimator from "./model/CostEstimator.js"

/**
 * @since 0.1.0
 * @category models
 */
export interface Options {
  /**
   * Custom prices, by model name or `provider/model`. A model with exactly that name, or a release of it
   * (`gpt-4.1-2025-04-14`), has the custom price; a model whose name merely begins with it (`gpt-4.1-mini`) has it only
   * if no price is published.
   */
  readonly own?: { readonly [model: string]: CostEstimator.Price } | undefined
  /**
   * The provider whose published prices a client has, by the client's provider name: `{ "openai-compatible": "together"
   * }`.
   */
  readonly providers?: { readonly [name: string]: string } | undefined
  /**
   * Loads the package. Default: imports it. Bundlers do not follow that import, so a bundle that is to contain the
   * price list gives `() => import("@pydantic/genai-prices")`.
   */
  readonly load?: (() => Promise<object>) | undefined
}
