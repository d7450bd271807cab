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
 * (OpenAI). `content` is the name of content that Gemini keeps (`cachedContents/…`): the system prompt and the tools
 * are those of that content, so the call sends none. `false`: Anthropic gets no marks.
 *
 * @since 0.1.0
 * @category schemas
 */
export const PromptCache = Schema.Union(
  Schema.Literal(false),
  Schema.Struct({
    ttl: Schema.optional(Schema.Literal("5m", "1h", "24h")),
    key: Schema.optional(Schema.String.pipe(Schema.minLength(1), Schema.maxLength(64))),
    content: Schema.optional(Schema.String)
  })
)
/**
 * @since 0.1.0
 * @category models
 */
export type PromptCache = typeof PromptCache.Type

/**
 * Levels of reasoning, from none to the most. A model without the level gets the next lower one that it has, else its
 * lowest: a model that always reasons reasons least for `none`. A model that does not reason gets none.
 *
 * @since 0.1.0
 * @category schemas
 */
export const ReasoningEffort = Schema.Literal("none", "minimal", "low", "medium", "high", "xhigh", "max")
/**
 * @since 0.1.0
 * @category models
 */
export type ReasoningEffort = typeof ReasoningEffort.Type

const summary = Schema.optional(Schema.Boolean)

/**
 * How much a model reasons before it answers: a level, or at most that many tokens. Models that take only levels fail
 * with `LlmUnsupportedFeatureError` for a number, before anything is sent. `summary` asks for the text of the reasoning
 * where a provider shows it on request only (OpenAI's Responses, Gemini, newer models of Anthropic).
 *
 * @since 0.1.0
 * @category schemas
 */
export const Reasoning = Schema.Union(
  ReasoningEffort,
  Schema.Struct({ effort: ReasoningEffort, summary }),
  Schema.Struct({ budgetTokens: Schema.Number.pipe(Schema.int(), Schema.positive()), summary })
)
/**
 * @since 0.1.0
 * @category models
 */
export type Reasoning = typeof Reasoning.Type

/**
 * A tool that the provider runs itself, as `ProviderTool` makes it: `tool` is the name for all providers, or that of
 * one `provider`. `usdPerCall` is its price.
 *
 * @since 0.1.0
 * @category schemas
 */
export const ProviderTool = Schema.Struct({
  tool: Schema.String,
  provider: Schema.optional(Schema.String),
  options: Schema.optional(Schema.Record({ key: Schema.String, value: Schema.Unknown })),
  usdPerCall: Schema.optional(Schema.Number)
})
/**
 * @since 0.1.0
 * @category models
 */
export type ProviderTool = typeof ProviderTool.Type

/**
 * `maxTokens` bounds the answer and its reasoning; `providerOptions` are merged into the request body as they are, with
 * the provider's keys, and override everything else.
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
  /** Default: what the model does by itself. */
  reasoning: Schema.optional(Reasoning),
  parallelToolCalls: Schema.optional(Schema.Boolean),
  /**
   * Default: whatever caches by itself does (OpenAI, Gemini and most others), and calls of Anthropic's models mark
   * tools, system prompt and a conversation that is likely to go on.
   */
  promptCache: Schema.optional(PromptCache),
  /** Tools that the provider runs itself. */
  providerTools: Schema.optional(Schema.Array(ProviderTool)),
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

/**
 * The tokens that reasoning of each level takes where a provider wants a number.
 *
 * @since 0.1.0
 * @category constants
 */
export const reasoningTokens: { readonly [Effort in ReasoningEffort]: number } = {
  none: 0,
  minimal: 1024,
  low: 2048,
  medium: 8192,
  high: 24_576,
  xhigh: 32_768,
  max: 32_768
}

/**
 * The tokens that reasoning takes of an answer: those of its level, or its budget.
 *
 * @since 0.1.0
 * @category getters
 */
export const reasoningRoom = ({ reasoning }: ModelSettings): number => {
  if (typeof reasoning === "object" && "budgetTokens" in reasoning) return reasoning.budgetTokens
  const effort = typeof reasoning === "object" ? reasoning.effort : reasoning
  return effort === undefined ? 0 : reasoningTokens[effort]
}
