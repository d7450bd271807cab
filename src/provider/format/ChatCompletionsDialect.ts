/**
 * The differences between servers of the chat-completions API, as plain values.
 *
 * @since 0.1.0
 */
import type { ReasoningEffort } from "../../llm/model/ModelSettings.js"

/**
 * @since 0.1.0
 * @category models
 */
export interface Dialect {
  /** The field for `settings.maxTokens`. */
  readonly maxTokensField: "max_tokens" | "max_completion_tokens"
  /** The role of system messages. */
  readonly systemRole: "system" | "developer"
  /** Whether a stream request asks for usage (`stream_options`). */
  readonly streamUsage: boolean
  /**
   * Whether `strict` is set on schemas that satisfy OpenAI's rules for it: every object closed, every property
   * required.
   */
  readonly strictSchemas: boolean
  /** How JSON output is requested. If the server accepts no schema, the system message contains it. */
  readonly jsonMode: "json_schema" | "json_object" | "none"
  /** How a level of `settings.reasoning` is sent: as `reasoning_effort`, as `reasoning.effort`, or not at all. */
  readonly reasoningEffort: "reasoning_effort" | "reasoning" | "none"
  /**
   * The levels that the server knows; any other becomes the next lower one, else the lowest. Default: all, and those of
   * each model where `reasoningModels` is true.
   */
  readonly reasoningLevels?: ReadonlyArray<ReasoningEffort> | undefined
  /**
   * How a budget of `settings.reasoning` is sent: as `reasoning.max_tokens`, as Gemini's `thinking_config`, or as a
   * field of that name. Default: not at all, and such a call fails with `LlmUnsupportedFeatureError`.
   */
  readonly reasoningBudget?: "reasoning" | "google" | { readonly field: string } | undefined
  /**
   * Which reasoning is returned to the server that sent it, in the field it came in: none, that of turns with tool
   * calls (everything between two user messages), or all.
   */
  readonly reasoningBack: "never" | "tool-turns" | "always"
  /** A reasoning field that assistant messages of turns with tool calls must have, even when empty. */
  readonly requiredReasoningField?: "reasoning_content" | "reasoning" | undefined
  /**
   * Whether models with the names of OpenAI's reasoning models (the o series, gpt-5 except gpt-5-chat) get no
   * `temperature`, `top_p`, penalties and `stop`, which they reject.
   */
  readonly reasoningModels: boolean
  /** False if `tool_choice` is a word only: a specific tool is then forced by offering no other one. */
  readonly namedToolChoice: boolean
  /** The word of `tool_choice` that forces some tool. Default `required`. */
  readonly requiredToolChoice?: "required" | "any" | undefined
  /** The field for `settings.seed`. Default `seed`. */
  readonly seedField?: "seed" | "random_seed" | undefined
  /** Whether `settings.promptCache` is sent, as OpenAI's `prompt_cache_key` and `prompt_cache_retention`. */
  readonly promptCache?: boolean | undefined
  /** Fields that the server rejects: the settings behind them are not sent. */
  readonly rejects?:
    | ReadonlyArray<"stop" | "presence_penalty" | "frequency_penalty" | "parallel_tool_calls">
    | undefined
}

/**
 * The dialect that an unknown server most likely understands.
 *
 * @example
 * ```ts
 * import { ChatCompletions, ChatCompletionsDialect } from "effect-lexigram/provider"
 *
 * // A server that forces no single tool, and refuses requests with `stop`.
 * const client = ChatCompletions.make({
 *   baseUrl: "http://127.0.0.1:9000/v1",
 *   model: "qwen3",
 *   dialect: { ...ChatCompletionsDialect.standard, namedToolChoice: false, rejects: ["stop"] }
 * })
 * ```
 *
 * @since 0.1.0
 * @category dialects
 */
export const standard: Dialect = {
  maxTokensField: "max_tokens",
  systemRole: "system",
  streamUsage: true,
  strictSchemas: false,
  jsonMode: "json_schema",
  reasoningEffort: "reasoning_effort",
  reasoningBack: "tool-turns",
  reasoningModels: false,
  namedToolChoice: true
}

const fewLevels: ReadonlyArray<ReasoningEffort> = ["none", "low", "medium", "high"]

/**
 * A server: its name in telemetry, its usual address, its key header and its dialect. Spread it into the options of the
 * client.
 *
 * @since 0.1.0
 * @category models
 */
export interface Preset {
  readonly provider: string
  readonly baseUrl: string
  readonly auth: "bearer" | "api-key"
  readonly dialect: Dialect
  /** Media types that the server fetches by their URL. Default `image/*`. */
  readonly urls?: ReadonlyArray<string> | undefined
}

/**
 * @since 0.1.0
 * @category presets
 */
export const openai: Preset = {
  provider: "openai",
  baseUrl: "https://api.openai.com/v1",
  auth: "bearer",
  dialect: {
    ...standard,
    maxTokensField: "max_completion_tokens",
    strictSchemas: true,
    reasoningBack: "never",
    reasoningModels: true,
    promptCache: true
  }
}

/**
 * Azure's addresses name the resource: pass `baseUrl` (`https://<resource>.openai.azure.com/openai/v1`, or
 * `…/openai/deployments/<deployment>` with `query: { "api-version": "…" }`).
 *
 * @since 0.1.0
 * @category presets
 */
export const azure: Omit<Preset, "baseUrl"> = {
  provider: "azure",
  auth: "api-key",
  dialect: openai.dialect
}

/**
 * @since 0.1.0
 * @category presets
 */
export const openrouter: Preset = {
  provider: "openrouter",
  baseUrl: "https://openrouter.ai/api/v1",
  auth: "bearer",
  dialect: { ...standard, reasoningEffort: "reasoning", reasoningBudget: "reasoning", reasoningBack: "always" },
  urls: ["image/*", "application/pdf"]
}

/**
 * Its JSON Schema mode works with a few models only, and it rejects messages with reasoning.
 *
 * @since 0.1.0
 * @category presets
 */
export const groq: Preset = {
  provider: "groq",
  baseUrl: "https://api.groq.com/openai/v1",
  auth: "bearer",
  dialect: {
    ...standard,
    maxTokensField: "max_completion_tokens",
    jsonMode: "json_object",
    reasoningLevels: fewLevels,
    reasoningBack: "never"
  }
}

/**
 * Its thinking models ignore old reasoning, but reject a turn with tool calls that lacks it.
 *
 * @since 0.1.0
 * @category presets
 */
export const deepseek: Preset = {
  provider: "deepseek",
  baseUrl: "https://api.deepseek.com",
  auth: "bearer",
  dialect: { ...standard, jsonMode: "json_object", requiredReasoningField: "reasoning_content" }
}

/**
 * Gemini models. Their calls carry a signature that goes back with the results.
 *
 * @since 0.1.0
 * @category presets
 */
export const gemini: Preset = {
  provider: "gemini",
  baseUrl: "https://generativelanguage.googleapis.com/v1beta/openai",
  auth: "bearer",
  dialect: {
    ...standard,
    reasoningLevels: ["none", "minimal", "low", "medium", "high"],
    reasoningBudget: "google",
    reasoningBack: "never",
    namedToolChoice: false
  }
}

/**
 * It has words and fields of its own for forced tools and seeds, and other levels of reasoning.
 *
 * @since 0.1.0
 * @category presets
 */
export const mistral: Preset = {
  provider: "mistral",
  baseUrl: "https://api.mistral.ai/v1",
  auth: "bearer",
  dialect: {
    ...standard,
    streamUsage: false,
    reasoningEffort: "none",
    reasoningBack: "never",
    namedToolChoice: false,
    requiredToolChoice: "any",
    seedField: "random_seed"
  }
}

/**
 * @since 0.1.0
 * @category presets
 */
export const xai: Preset = {
  provider: "xai",
  baseUrl: "https://api.x.ai/v1",
  auth: "bearer",
  dialect: {
    ...standard,
    maxTokensField: "max_completion_tokens",
    reasoningLevels: fewLevels,
    rejects: ["stop", "presence_penalty", "frequency_penalty", "parallel_tool_calls"]
  }
}

/**
 * @since 0.1.0
 * @category presets
 */
export const together: Preset = {
  provider: "together",
  baseUrl: "https://api.together.xyz/v1",
  auth: "bearer",
  dialect: { ...standard, jsonMode: "json_object" }
}

/**
 * @since 0.1.0
 * @category presets
 */
export const fireworks: Preset = {
  provider: "fireworks",
  baseUrl: "https://api.fireworks.ai/inference/v1",
  auth: "bearer",
  dialect: standard
}

/**
 * Its streams report their usage unasked.
 *
 * @since 0.1.0
 * @category presets
 */
export const cerebras: Preset = {
  provider: "cerebras",
  baseUrl: "https://api.cerebras.ai/v1",
  auth: "bearer",
  dialect: {
    ...standard,
    streamUsage: false,
    reasoningLevels: fewLevels,
    rejects: ["presence_penalty", "frequency_penalty"]
  }
}

/**
 * It takes images by their bytes alone.
 *
 * @since 0.1.0
 * @category presets
 */
export const ollama: Preset = {
  provider: "ollama",
  baseUrl: "http://127.0.0.1:11434/v1",
  auth: "bearer",
  dialect: { ...standard, reasoningLevels: fewLevels, namedToolChoice: false },
  urls: []
}

/**
 * @since 0.1.0
 * @category presets
 */
export const vllm: Preset = {
  provider: "vllm",
  baseUrl: "http://127.0.0.1:8000/v1",
  auth: "bearer",
  dialect: standard
}

/**
 * @since 0.1.0
 * @category presets
 */
export const llamacpp: Preset = {
  provider: "llamacpp",
  baseUrl: "http://127.0.0.1:8080/v1",
  auth: "bearer",
  dialect: { ...standard, reasoningEffort: "none", namedToolChoice: false }
}

/**
 * @since 0.1.0
 * @category presets
 */
export const lmstudio: Preset = {
  provider: "lmstudio",
  baseUrl: "http://127.0.0.1:1234/v1",
  auth: "bearer",
  dialect: { ...standard, namedToolChoice: false }
}
