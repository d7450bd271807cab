/**
 * The settings of a model call. Every field that is set reaches the request body.
 *
 * Only settings that the API or the model is known to reject are omitted: a default temperature must not fail every
 * call of a reasoning model.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"

/**
 * How the provider caches the beginning of prompts. `ttl` is how long at least: Anthropic keeps 5 minutes or an hour
 * (`24h` is an hour there), OpenAI keeps as long as it wants or 24 hours. `key` groups the calls that share a beginning
 * (OpenAI). `false`: Anthropic gets no marks.
 *
 * @since 0.1.0
 * @category schemas
 */
export const PromptCache = Schema.Union(
  Schema.Literal(false),
  Schema.Struct({
    ttl: Schema.optional(Schema.Literal("5m", "1h", "24h")),
    key: Schema.optional(Schema.String.pipe(Schema.minLength(1), Schema.maxLength(64)))
  })
)
/**
 * @since 0.1.0
 * @category models
 */
export type PromptCache = typeof PromptCache.Type

/**
 * `maxTokens` bounds the answer; `providerOptions` are merged into the request body as they are, with the provider's
 * keys, and override everything else.
 *
 * @since 0.1.0
 * @category schemas
 */
export const ModelSettings = Schema.Struct({
  model: Schema.optional(Schema.String),
  temperature: Schema.optional(Schema.Number.pipe(Schema.between(0, 2))),
  topP: Schema.optional(Schema.Number.pipe(Schema.between(0, 1))),
  maxTokens: Schema.optional(Schema.Number.pipe(Schema.int(), Schema.positive())),
  stop: Schema.optional(Schema.Array(Schema.String)),
  seed: Schema.optional(Schema.Number.pipe(Schema.int())),
  presencePenalty: Schema.optional(Schema.Number),
  frequencyPenalty: Schema.optional(Schema.Number),
  reasoningEffort: Schema.optional(Schema.Literal("minimal", "low", "medium", "high")),
  parallelToolCalls: Schema.optional(Schema.Boolean),
  /**
   * Default: whatever caches by itself does (OpenAI, Gemini and most others), and calls of Anthropic's models mark
   * tools, system prompt and a conversation that is likely to go on.
   */
  promptCache: Schema.optional(PromptCache),
  providerOptions: Schema.optional(Schema.Record({ key: Schema.String, value: Schema.Unknown }))
}).annotations({ identifier: "effect-lexigram/llm/ModelSettings" })

/**
 * @since 0.1.0
 * @category models
 */
export interface ModelSettings extends Schema.Schema.Type<typeof ModelSettings> {}

/**
 * @since 0.1.0
 * @category constructors
 */
export const empty: ModelSettings = {}

/**
 * Fields of `over` override those of `base`; an absent or `undefined` field keeps the value of `base`.
 * `providerOptions` are merged key by key.
 *
 * @since 0.1.0
 * @category combining
 */
export const merge = (base: ModelSettings, over: ModelSettings | undefined): ModelSettings => {
  if (over === undefined) return base
  const result: Record<string, unknown> = { ...base }
  for (const [key, value] of Object.entries(over)) {
    if (value !== undefined) result[key] = value
  }
  if (base.providerOptions !== undefined && over.providerOptions !== undefined) {
    result["providerOptions"] = { ...base.providerOptions, ...over.providerOptions }
  }
  return result as ModelSettings
}
