/**
 * Content that Gemini keeps, named by `settings.promptCache.content`.
 *
 * @private
 * @since 0.1.0
 */
import { LlmUnsupportedFeatureError } from "./model/LlmError.js"
import type { ModelSettings } from "./model/ModelSettings.js"

/**
 * The name of the content that settings refer to.
 *
 * @since 0.1.0
 * @category getters
 */
export const nameOf = ({ promptCache }: ModelSettings): string | undefined =>
  promptCache === undefined || promptCache === false ? undefined : promptCache.content

/**
 * The error of a client that does not know such content: without it the call would ask something else.
 *
 * @since 0.1.0
 * @category guards
 */
export const check = (
  settings: ModelSettings,
  { model, provider }: { readonly provider: string; readonly model: string }
): LlmUnsupportedFeatureError | undefined =>
  nameOf(settings) === undefined
    ? undefined
    : new LlmUnsupportedFeatureError({
        provider,
        model,
        feature: "cached-content",
        message: `${provider} keeps no content that a call of ${model} can name`,
        hint: "Use a model of @ai-sdk/google through AiSdkModel, or leave out `promptCache.content`"
      })
