/**
 * How a model of the AI SDK is asked for reasoning: by the options of its provider where these say more than the
 * specification, else by the level of the specification.
 *
 * @private
 * @since 0.1.0
 */
import type { LlmRequest } from "../../llm/model/LlmClient.js"
import type { LlmUnsupportedFeatureError } from "../../llm/model/LlmError.js"
import type { ModelSettings } from "../../llm/model/ModelSettings.js"
import * as ReasoningLevels from "../exchange/ReasoningLevels.js"
import type * as Sdk from "./SdkSpecification.js"

/**
 * @category models
 */
export interface Asked {
  /** Options of the provider. */
  readonly own: { readonly [key: string]: unknown }
  /** The level in terms of the specification, version 4. */
  readonly level?: string | undefined
  /** The bound of the answer alone: the package of Anthropic adds the budget to it. */
  readonly maxOutputTokens: number | undefined
  /** False if the model rejects `temperature` and `topP`. */
  readonly samples: boolean
}

const isForced = ({ responseFormat, toolChoice, tools }: LlmRequest): boolean =>
  responseFormat?.type !== "json" &&
  (tools ?? []).length > 0 &&
  (toolChoice === "required" || typeof toolChoice === "object")

const anthropic = (settings: ModelSettings, request: LlmRequest, model: string): Asked => {
  const { effort, samples, thinking } = ReasoningLevels.anthropic(settings, model, {
    isForced: isForced(request),
    usual: 8192
  })
  const { budget_tokens: budgetTokens, ...rest } = thinking ?? {}
  const budget = typeof budgetTokens === "number" ? budgetTokens : 0
  return {
    own: {
      ...(thinking === undefined ? {} : { thinking: { ...rest, ...(budget === 0 ? {} : { budgetTokens: budget }) } }),
      ...(effort === undefined ? {} : { effort })
    },
    maxOutputTokens: settings.maxTokens === undefined ? undefined : settings.maxTokens - budget,
    samples
  }
}

/**
 * @category conversions
 */
export const ask = (request: LlmRequest, target: { readonly version: Sdk.Version } & ReasoningLevels.Target): Asked => {
  const settings = request.settings ?? {}
  const { model, provider, version } = target
  const plain = { own: {}, maxOutputTokens: settings.maxTokens, samples: true }
  switch (provider) {
    case "anthropic":
      return anthropic(settings, request, model)
    case "google": {
      const thinkingConfig = ReasoningLevels.google(settings, model)
      return thinkingConfig === undefined ? plain : { ...plain, own: { thinkingConfig } }
    }
    case "azure":
    case "openai": {
      const effort = ReasoningLevels.openAiEffort(settings, model)
      const summary = ReasoningLevels.wishOf(settings)?.summary
      return {
        ...plain,
        own: {
          ...(effort === undefined ? {} : { reasoningEffort: effort }),
          ...(summary === true ? { reasoningSummary: "auto" } : {})
        }
      }
    }
    default: {
      const effort = ReasoningLevels.wishOf(settings)?.effort
      if (effort === undefined) return plain
      return version === "v4" ? { ...plain, level: effort } : { ...plain, own: { reasoningEffort: effort } }
    }
  }
}

/**
 * The error for a budget that the model, or its package, does not take.
 *
 * @category guards
 */
export const check = (
  settings: ModelSettings,
  target: ReasoningLevels.Target
): LlmUnsupportedFeatureError | undefined => {
  switch (target.provider) {
    case "anthropic":
      return ReasoningLevels.checkAnthropic(settings, target)
    case "google":
      return ReasoningLevels.checkGoogle(settings, target)
    default:
      return ReasoningLevels.levelsOnly(settings, target)
  }
}
