/**
 * What providers are told about reasoning: the levels and budgets of their models.
 *
 * A level is a wish and becomes the nearest one that the model has. A budget is a bound: a model that cannot keep it is
 * an error before the call.
 *
 * @private
 * @since 0.1.0
 */
import { LlmUnsupportedFeatureError } from "../../llm/model/LlmError.js"
import * as ModelSettings from "../../llm/model/ModelSettings.js"
import type { Json } from "./WireDecoder.js"

/**
 * The reasoning of some settings, with all its fields.
 *
 * @category models
 */
export interface Wish {
  readonly effort: ModelSettings.ReasoningEffort | undefined
  readonly budgetTokens: number | undefined
  readonly summary: boolean | undefined
}

/**
 * The model that is asked.
 *
 * @category models
 */
export interface Target {
  readonly provider: string
  readonly model: string
}

/**
 * @category conversions
 */
export const wishOf = ({ reasoning }: ModelSettings.ModelSettings): Wish | undefined => {
  if (reasoning === undefined) return undefined
  if (typeof reasoning === "string") return { effort: reasoning, budgetTokens: undefined, summary: undefined }
  const { summary } = reasoning
  return "budgetTokens" in reasoning
    ? { effort: undefined, budgetTokens: reasoning.budgetTokens, summary }
    : { effort: reasoning.effort, budgetTokens: undefined, summary }
}

type Levels = ReadonlyArray<ModelSettings.ReasoningEffort>

const all: Levels = ModelSettings.ReasoningEffort.literals

/**
 * The level, else the next lower one of the model, else its lowest. Only `none` is none.
 *
 * @category getters
 */
export const nearest = (
  effort: ModelSettings.ReasoningEffort,
  levels: Levels = all
): ModelSettings.ReasoningEffort | undefined => {
  const place = all.indexOf(effort)
  const lower = all.slice(1, Math.max(1, place)).toReversed()
  return [effort, ...lower, ...all.slice(place + 1)].find((level) => levels.includes(level))
}

/**
 * The error for a budget that a model cannot keep.
 *
 * @category constructors
 */
export const noBudget = (
  { model, provider }: Target,
  message = `${model} of ${provider} takes no budget of reasoning`,
  hint = 'Give a level (`reasoning: "low"`), or the provider\'s own field in `providerOptions`'
): LlmUnsupportedFeatureError =>
  new LlmUnsupportedFeatureError({ provider, model, feature: "reasoning-budget", message, hint })

/**
 * The error for settings with a budget, for models that take only levels.
 *
 * @category guards
 */
export const levelsOnly = (
  settings: ModelSettings.ModelSettings,
  target: Target
): LlmUnsupportedFeatureError | undefined =>
  wishOf(settings)?.budgetTokens === undefined ? undefined : noBudget(target)

// OpenAI

const openAiVersion = /^gpt-(\d+)(?:\.(\d+))?(?:-(.+))?$/

const upTo = (from: ModelSettings.ReasoningEffort, to: ModelSettings.ReasoningEffort): Levels =>
  all.slice(all.indexOf(from), all.indexOf(to) + 1)

/** The levels of a generation of gpt-5. */
const gpt5Levels = (minor: number, variant: string): Levels => {
  if (/^codex/.test(variant)) return upTo("low", minor > 1 || /max/.test(variant) ? "xhigh" : "high")
  if (/^pro/.test(variant)) return minor === 0 ? ["high"] : upTo("medium", "xhigh")
  if (/^chat/.test(variant)) return ["medium"]
  if (minor === 0) return upTo("minimal", "high")
  const most = minor === 1 ? "high" : minor < 6 ? "xhigh" : "max"
  return ["none", ...upTo("low", most)]
}

/**
 * The levels of one of OpenAI's models: none for one that does not reason, `undefined` for an unknown one.
 *
 * @category getters
 */
export const openAiLevels = (named: string): Levels | undefined => {
  const [first = "", second = ""] = named.toLowerCase().split(":")
  const model = first === "ft" ? second : first
  if (/^o\d/.test(model)) return upTo("low", "high")
  if (/^(?:chatgpt-|gpt-3|gpt-4|gpt-5-chat)/.test(model)) return []
  const [, major, minor = "0", variant = ""] = openAiVersion.exec(model) ?? []
  if (major === undefined) return undefined
  return Number(major) === 5 ? gpt5Levels(Number(minor), variant) : Number(major) > 5 ? upTo("low", "max") : undefined
}

/**
 * The level for one of OpenAI's models.
 *
 * @category getters
 */
export const openAiEffort = (
  settings: ModelSettings.ModelSettings,
  model: string
): ModelSettings.ReasoningEffort | undefined => {
  const effort = wishOf(settings)?.effort
  return effort === undefined ? undefined : nearest(effort, openAiLevels(model))
}

// Anthropic

/**
 * @category models
 */
export interface Thinking {
  /** The bound of answer and thinking, if the settings name none. */
  readonly maxTokens: number
  /** `thinking` of the body. */
  readonly thinking?: Json
  /** The level, for models that take one. */
  readonly effort?: string | undefined
  /** False for a model that rejects `temperature` and `top_p`, or does while it thinks. */
  readonly samples: boolean
}

/** Models before adaptive thinking receive a budget of tokens for a level. */
const takesBudget = /claude-(?:3|(?:sonnet|opus|haiku)-4(?:-[0-5])?(?:-\d{8}|-latest|@\d{8})?(?:-v\d.*)?$)/

/** Models that reject a budget, and sampling. They have the level `xhigh`. */
const adaptiveOnly = /claude-(?:(?:opus|sonnet|haiku)-(?:4-[7-9]|[5-9])|fable)/

/**
 * True for one of Anthropic's models that always thinks.
 *
 * @category guards
 */
export const alwaysThinks = (model: string): boolean => /claude-(?:fable|opus-5-5|sonnet-5-5)/.test(model)

/** The fewest tokens of a budget. */
const minBudget = 1024

const longest = (model: string): number => (/claude-opus-4(?:-[01])?(?:-\d{8}|@|$)/.test(model) ? 32_000 : 64_000)

/** A budget within the bound of the answer; none if the bound leaves no room for one. */
const budgetOf = (wanted: number, isBound: boolean, maxTokens: number | undefined): number | undefined => {
  if (maxTokens === undefined) return wanted
  // A level leaves a quarter or 2,048 tokens to the answer; a given budget leaves what the caller wants.
  const room = isBound ? maxTokens - 1 : maxTokens - Math.min(2048, Math.ceil(maxTokens / 4))
  const budget = Math.min(wanted, room)
  return budget < minBudget ? undefined : budget
}

const withBudget = (wish: Wish, settings: ModelSettings.ModelSettings, model: string, usual: number): Thinking => {
  const most = longest(model) - usual
  const wanted = wish.budgetTokens ?? Math.min(most, ModelSettings.reasoningTokens[wish.effort ?? "none"])
  const budget = budgetOf(wanted, wish.budgetTokens !== undefined, settings.maxTokens)
  const maxTokens = settings.maxTokens ?? usual + (budget ?? 0)
  return budget === undefined
    ? { maxTokens, samples: true }
    : { maxTokens, thinking: { type: "enabled", budget_tokens: budget }, samples: false }
}

/** The word of Anthropic for a level of an adaptive model. */
const adaptiveEffort = (effort: ModelSettings.ReasoningEffort, model: string): string | undefined =>
  nearest(effort, adaptiveOnly.test(model) ? upTo("low", "max") : [...upTo("low", "high"), "max"])

/**
 * How one of Anthropic's models thinks. Thinking is a part of `max_tokens`: `usual` is the bound of an answer without
 * thinking, and a budget that leaves no room for an answer becomes smaller. No thinking is asked for while a tool is
 * forced, because Anthropic rejects both together.
 *
 * @category conversions
 */
export const anthropic = (
  settings: ModelSettings.ModelSettings,
  model: string,
  { isForced, usual }: { readonly isForced: boolean; readonly usual: number }
): Thinking => {
  const wish = wishOf(settings)
  const maxTokens = settings.maxTokens ?? usual
  const samples = !adaptiveOnly.test(model)
  if (wish === undefined) return { maxTokens, samples }
  if (wish.effort === "none")
    return alwaysThinks(model)
      ? { maxTokens, effort: "low", samples }
      : { maxTokens, thinking: { type: "disabled" }, samples }
  if (wish.effort === undefined || takesBudget.test(model))
    return isForced ? { maxTokens, samples } : withBudget(wish, settings, model, usual)
  const effort = adaptiveEffort(wish.effort, model)
  if (isForced) return { maxTokens, effort, samples }
  const display = wish.summary === undefined ? {} : { display: wish.summary ? "summarized" : "omitted" }
  return { maxTokens, thinking: { type: "adaptive", ...display }, effort, samples: false }
}

/**
 * The error for a budget that one of Anthropic's models cannot keep.
 *
 * @category guards
 */
export const checkAnthropic = (
  settings: ModelSettings.ModelSettings,
  target: Target
): LlmUnsupportedFeatureError | undefined => {
  const budget = wishOf(settings)?.budgetTokens
  if (budget === undefined) return undefined
  if (adaptiveOnly.test(target.model)) return noBudget(target)
  return budget < minBudget
    ? noBudget(target, `A budget of reasoning has at least ${minBudget} tokens at Anthropic`, "Give more, or a level")
    : undefined
}

// Gemini

const isLevelled = (model: string): boolean => /gemini-(?:[3-9]|flash-latest|pro-latest)/.test(model)

const isBudgeted = (model: string): boolean => /gemini-2\.5|gemini-3-pro-image/.test(model)

const googleLevels = (model: string): Levels => upTo(/-pro/.test(model) ? "low" : "minimal", "high")

/** The bounds of a budget. */
const googleBudgets = (model: string): { readonly least: number; readonly most: number } =>
  /-pro/.test(model) ? { least: 128, most: 32_768 } : { least: 0, most: 24_576 }

/**
 * The thinking of one of Gemini's models: a level since Gemini 3, a budget before.
 *
 * @category conversions
 */
export const google = (settings: ModelSettings.ModelSettings, model: string): Json | undefined => {
  const wish = wishOf(settings)
  if (wish === undefined) return undefined
  const { least, most } = googleBudgets(model)
  const shown = wish.summary === undefined ? {} : { includeThoughts: wish.summary }
  if (wish.budgetTokens !== undefined) return { ...shown, thinkingBudget: Math.min(most, wish.budgetTokens) }
  const effort = wish.effort ?? "none"
  if (isBudgeted(model)) {
    const tokens = Math.min(most, ModelSettings.reasoningTokens[effort])
    return { ...shown, thinkingBudget: Math.max(least, tokens) }
  }
  return isLevelled(model) ? { ...shown, thinkingLevel: nearest(effort, googleLevels(model)) } : undefined
}

/**
 * The error for a budget that one of Gemini's models cannot keep.
 *
 * @category guards
 */
export const checkGoogle = (
  settings: ModelSettings.ModelSettings,
  target: Target
): LlmUnsupportedFeatureError | undefined => {
  const budget = wishOf(settings)?.budgetTokens
  if (budget === undefined) return undefined
  if (!isBudgeted(target.model) && !isLevelled(target.model)) return noBudget(target)
  const { least } = googleBudgets(target.model)
  return budget < least
    ? noBudget(target, `${target.model} reasons with at least ${least} tokens`, "Give more, or a level")
    : undefined
}
