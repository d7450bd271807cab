/**
 * Models as plain values: a provider by its name, a model of the AI SDK, or any Layer.
 *
 * @since 0.1.0
 */
import type * as Layer from "effect/Layer"
import type * as LlmClient from "../llm/model/LlmClient.js"
import type * as ModelSettings from "../llm/model/ModelSettings.js"
import type { ProviderName } from "../provider/Providers.js"
import type * as AiSdkModel from "../provider/sdk/AiSdkModel.js"

/**
 * A model of a provider, asked by `fetch`.
 *
 * @since 0.1.0
 * @category models
 */
export interface ProviderModel {
  readonly provider: ProviderName | (string & {})
  /** Most providers have no default. */
  readonly model?: string | undefined
  /** Default: the provider's own variable of the environment (`OPENAI_API_KEY`, …). */
  readonly apiKey?: string | undefined
  /** The address of the server with its version; `azure` and `openai-compatible` require it. */
  readonly baseUrl?: string | undefined
  /** Settings of every request. */
  readonly settings?: ModelSettings.ModelSettings | undefined
}

/**
 * A provider by its name, a language model of the AI SDK (`google("gemini-…")`), or a Layer. The modules and the
 * optional package of a provider are loaded by the first run.
 *
 * @since 0.1.0
 * @category models
 */
export type Model = ProviderModel | AiSdkModel.Model | Layer.Layer<LlmClient.LlmClient, any, never>
