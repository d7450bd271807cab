/**
 * The differences between OpenAI's models.
 *
 * @private
 * @since 0.1.0
 */
import type { ModelSettings } from "../../llm/model/ModelSettings.js"

/**
 * The reasoning models: the o series, gpt-5 and its successors except gpt-5-chat, the codex and the computer-use
 * models.
 *
 * @since 0.1.0
 * @category guards
 */
export const isReasoning = (model: string): boolean =>
  /^(?:ft:)?(?:o\d|gpt-(?!5-chat)[5-9]|codex-|computer-use)/i.test(model)

/**
 * Omits the settings that a reasoning model rejects with status 400: sampling and stop sequences. Other models keep
 * all.
 *
 * @since 0.1.0
 * @category conversions
 */
export const accepted = (model: string, settings: ModelSettings): ModelSettings => {
  if (!isReasoning(model)) return settings
  const { frequencyPenalty: _f, presencePenalty: _p, stop: _s, temperature: _t, topP: _o, ...rest } = settings
  return rest
}

/**
 * The fields of the prompt cache, which caches by itself. It keeps as long as it wants, or 24 hours.
 *
 * @since 0.1.0
 * @category conversions
 */
export const cacheFields = ({ promptCache }: ModelSettings): { readonly [key: string]: string } =>
  promptCache === undefined || promptCache === false
    ? {}
    : {
        ...(promptCache.key === undefined ? {} : { prompt_cache_key: promptCache.key }),
        ...(promptCache.ttl === "24h" ? { prompt_cache_retention: "24h" } : {})
      }
