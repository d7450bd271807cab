/**
 * Builds the client of a provider by name, in code or from the environment (`LEX_AI_LLM__PROVIDER` and its siblings).
 *
 * @since 0.1.0
 */
import type * as HttpClient from "@effect/platform/HttpClient"
import * as Config from "effect/Config"
import * as ConfigError from "effect/ConfigError"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import { nearest } from "../internal/text/Nearest.js"
import * as CallGate from "../llm/model/CallGate.js"
import type { Service } from "../llm/model/LlmClient.js"
import { LlmClient } from "../llm/model/LlmClient.js"
import { LlmConfigurationError } from "../llm/model/LlmError.js"
import type { ModelSettings, Reasoning } from "../llm/model/ModelSettings.js"
import { ReasoningEffort } from "../llm/model/ModelSettings.js"
import * as ProviderExchange from "./exchange/ProviderExchange.js"
import * as Anthropic from "./format/Anthropic.js"
import * as ChatCompletions from "./format/ChatCompletions.js"
import * as ChatCompletionsDialect from "./format/ChatCompletionsDialect.js"
import * as OpenAi from "./format/OpenAi.js"

/**
 * The prefix of the variables; `PROVIDER`, `MODEL`, `BASE_URL`, `API_KEY`, `TEMPERATURE`, `MAX_TOKENS`, `REASONING`
 * follow.
 *
 * @since 0.1.0
 * @category constants
 */
export const ENV_PREFIX = "LEX_AI_LLM__"

/**
 * `openai` uses `/responses`, `openai-chat` and `openai-compatible` use `/chat/completions`.
 *
 * @since 0.1.0
 * @category models
 */
export type ProviderName = (typeof names)[number]

/**
 * @since 0.1.0
 * @category constants
 */
export const names = [
  "openai",
  "openai-chat",
  "anthropic",
  "azure",
  "openrouter",
  "groq",
  "deepseek",
  "gemini",
  "mistral",
  "xai",
  "together",
  "fireworks",
  "cerebras",
  "ollama",
  "vllm",
  "llamacpp",
  "lmstudio",
  "openai-compatible"
] as const

interface Known {
  /** The provider's own variable for its key; none if it needs no key. */
  readonly keyVariable?: string | undefined
  readonly preset?: (Omit<ChatCompletionsDialect.Preset, "baseUrl"> & { readonly baseUrl?: string }) | undefined
}

const table: { readonly [Name in ProviderName]: Known } = {
  openai: { keyVariable: "OPENAI_API_KEY" },
  "openai-chat": { keyVariable: "OPENAI_API_KEY", preset: ChatCompletionsDialect.openai },
  anthropic: { keyVariable: "ANTHROPIC_API_KEY" },
  azure: { keyVariable: "AZURE_OPENAI_API_KEY", preset: ChatCompletionsDialect.azure },
  openrouter: { keyVariable: "OPENROUTER_API_KEY", preset: ChatCompletionsDialect.openrouter },
  groq: { keyVariable: "GROQ_API_KEY", preset: ChatCompletionsDialect.groq },
  deepseek: { keyVariable: "DEEPSEEK_API_KEY", preset: ChatCompletionsDialect.deepseek },
  gemini: { keyVariable: "GEMINI_API_KEY", preset: ChatCompletionsDialect.gemini },
  mistral: { keyVariable: "MISTRAL_API_KEY", preset: ChatCompletionsDialect.mistral },
  xai: { keyVariable: "XAI_API_KEY", preset: ChatCompletionsDialect.xai },
  together: { keyVariable: "TOGETHER_API_KEY", preset: ChatCompletionsDialect.together },
  fireworks: { keyVariable: "FIREWORKS_API_KEY", preset: ChatCompletionsDialect.fireworks },
  cerebras: { keyVariable: "CEREBRAS_API_KEY", preset: ChatCompletionsDialect.cerebras },
  ollama: { preset: ChatCompletionsDialect.ollama },
  vllm: { preset: ChatCompletionsDialect.vllm },
  llamacpp: { preset: ChatCompletionsDialect.llamacpp },
  lmstudio: { preset: ChatCompletionsDialect.lmstudio },
  "openai-compatible": {
    preset: { provider: "openai-compatible", auth: "bearer", dialect: ChatCompletionsDialect.standard }
  }
}

/**
 * The default models. Every other provider requires one.
 *
 * @since 0.1.0
 * @category constants
 */
export const defaultModels: { readonly [name: string]: string } = {
  openai: "gpt-4.1-mini",
  "openai-chat": "gpt-4.1-mini",
  anthropic: "claude-sonnet-4-5"
}

/**
 * @since 0.1.0
 * @category models
 */
export interface Options {
  readonly provider: ProviderName | (string & {})
  /** Default: that of `settings`, then that of `defaultModels`. */
  readonly model?: string | undefined
  /**
   * The address of the server with its version (`https://api.openai.com/v1`). `azure` and `openai-compatible` require
   * it.
   */
  readonly baseUrl?: string | undefined
  readonly apiKey?: Redacted.Redacted<string> | undefined
  /** Settings of every request; those of a request override them. */
  readonly settings?: ModelSettings | undefined
}

const isKnown = (name: string): name is ProviderName => (names as ReadonlyArray<string>).includes(name)

const unknown = (given: string): LlmConfigurationError => {
  const excerpt = given.slice(0, 40)
  const similar = nearest(excerpt, names)
  return new LlmConfigurationError({
    provider: excerpt,
    message: `The provider ${JSON.stringify(excerpt)} is unknown. Known providers: ${names.join(", ")}.`,
    ...(similar === undefined ? {} : { hint: `Did you mean ${similar}?` })
  })
}

/**
 * Builds a client. Names are case-insensitive. Fails when the provider is unknown, or lacks a key, a model or an
 * address.
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = (options: Options): Effect.Effect<Service, LlmConfigurationError, HttpClient.HttpClient> =>
  Effect.gen(function* () {
    const provider = options.provider.trim().toLowerCase()
    if (!isKnown(provider)) return yield* unknown(provider)
    const { keyVariable, preset } = table[provider]
    const { apiKey, settings } = options
    const fail = (message: string, variables: string) =>
      new LlmConfigurationError({ provider, message, hint: `Set ${variables}.` })

    const model = options.model ?? settings?.model ?? defaultModels[provider]
    if (model === undefined) return yield* fail(`The provider ${provider} needs a model.`, `${ENV_PREFIX}MODEL`)
    if (keyVariable !== undefined && (apiKey === undefined || Redacted.value(apiKey).trim() === "")) {
      return yield* fail(`The provider ${provider} needs an API key.`, `${ENV_PREFIX}API_KEY or ${keyVariable}`)
    }
    if (preset === undefined) {
      const given = { apiKey: apiKey ?? Redacted.make(""), model, baseUrl: options.baseUrl, settings }
      return yield* provider === "anthropic" ? Anthropic.make(given) : OpenAi.make(given)
    }
    const baseUrl = options.baseUrl ?? preset.baseUrl
    if (baseUrl === undefined) return yield* fail(`The provider ${provider} needs a base URL.`, `${ENV_PREFIX}BASE_URL`)
    yield* ProviderExchange.baseUrl(baseUrl, provider)
    const key = apiKey === undefined ? undefined : yield* ProviderExchange.key(apiKey, provider)
    return yield* ChatCompletions.make({ ...preset, baseUrl, apiKey: key, model, settings })
  })

/**
 * @since 0.1.0
 * @category layers
 */
export const layer = (options: Options): Layer.Layer<LlmClient, LlmConfigurationError, HttpClient.HttpClient> =>
  Layer.effect(LlmClient, Effect.map(make(options), CallGate.wrap))

const variable = (name: string): Config.Config<string | undefined> =>
  Config.string(name).pipe(
    Config.withDefault(""),
    Config.map((value) => (value.trim() === "" ? undefined : value.trim()))
  )

const numeric = (
  name: string,
  requirement: { readonly message: string; readonly validation: (value: number) => boolean }
): Config.Config<number | undefined> =>
  Config.map(Config.option(Config.validate(Config.number(name), requirement)), Option.getOrUndefined)

const secret = (name: string): Config.Config<Redacted.Redacted<string> | undefined> =>
  Config.map(variable(name), (value) => (value === undefined ? undefined : Redacted.make(value)))

const reasoningOf = (text: string): Reasoning | undefined => {
  const level = ReasoningEffort.literals.find((level) => level === text.toLowerCase())
  if (level !== undefined) return level
  const budgetTokens = Number(text)
  return Number.isInteger(budgetTokens) && budgetTokens > 0 ? { budgetTokens } : undefined
}

/**
 * How much a model reasons: a level (`low`), or a budget in tokens (`4000`).
 *
 * @since 0.1.0
 * @category configuration
 */
export const reasoning = (name: string): Config.Config<Reasoning | undefined> =>
  Config.mapOrFail(variable(name), (text) => {
    const found = text === undefined ? undefined : reasoningOf(text)
    return text === undefined || found !== undefined
      ? Either.right(found)
      : Either.left(
          ConfigError.InvalidData([name], `Expected ${ReasoningEffort.literals.join(", ")}, or a number of tokens`)
        )
  })

/**
 * The provider's own variable for its key. None if the provider is unknown or needs no key.
 *
 * @since 0.1.0
 * @category configuration
 */
export const keyVariable = (provider: string): string | undefined => {
  const name = provider.trim().toLowerCase()
  return isKnown(name) ? table[name].keyVariable : undefined
}

/**
 * The key that the environment has for a provider, in the provider's own variable (`OPENAI_API_KEY`, …).
 *
 * @since 0.1.0
 * @category configuration
 */
export const keyOf = (
  provider: string
): Effect.Effect<Redacted.Redacted<string> | undefined, ConfigError.ConfigError> => {
  const own = keyVariable(provider)
  return own === undefined ? Effect.succeed(undefined) : secret(own)
}

const environment = Config.all({
  provider: variable(`${ENV_PREFIX}PROVIDER`),
  model: variable(`${ENV_PREFIX}MODEL`),
  baseUrl: variable(`${ENV_PREFIX}BASE_URL`),
  apiKey: secret(`${ENV_PREFIX}API_KEY`),
  openai: secret("OPENAI_API_KEY"),
  anthropic: secret("ANTHROPIC_API_KEY")
})

/**
 * The unchecked choice of the environment: the named provider; else `openai-compatible` if there is an address; else
 * the provider whose own key is set (`OPENAI_API_KEY`, then `ANTHROPIC_API_KEY`; the other way round for a model whose
 * name begins with `claude`).
 */
const chosen = Effect.map(environment, (env): Option.Option<Options> => {
  const { anthropic, apiKey, baseUrl, model, openai, provider } = env
  const isClaude = model?.startsWith("claude") === true
  const found =
    provider ??
    (baseUrl !== undefined
      ? "openai-compatible"
      : openai !== undefined && !(isClaude && anthropic !== undefined)
        ? "openai"
        : anthropic !== undefined
          ? "anthropic"
          : undefined)
  return found === undefined ? Option.none() : Option.some({ provider: found, model, baseUrl, apiKey })
})

/**
 * The provider and model that the environment names, if any, unchecked: `layerConfig` fails on invalid names.
 *
 * @since 0.1.0
 * @category configuration
 */
export const configured: Effect.Effect<
  Option.Option<{ readonly provider: string; readonly model: string | undefined }>,
  ConfigError.ConfigError
> = Effect.map(
  chosen,
  Option.map(({ model, provider }) => ({ provider, model: model ?? defaultModels[provider.trim().toLowerCase()] }))
)

/**
 * The options of the environment. `LEX_AI_LLM__API_KEY` overrides the provider's own variable.
 *
 * @since 0.1.0
 * @category configuration
 */
export const fromConfig: Effect.Effect<Options, LlmConfigurationError | ConfigError.ConfigError> = Effect.gen(
  function* () {
    const options = yield* chosen
    if (Option.isNone(options)) {
      return yield* new LlmConfigurationError({
        message: "No provider is configured.",
        hint: `Set ${ENV_PREFIX}PROVIDER to one of ${names.join(", ")}, or OPENAI_API_KEY, or ANTHROPIC_API_KEY.`
      })
    }
    const { apiKey, provider } = options.value
    const key = apiKey ?? (yield* keyOf(provider))
    const temperature = yield* numeric(`${ENV_PREFIX}TEMPERATURE`, {
      message: "Expected a number between 0 and 2",
      validation: (value) => value >= 0 && value <= 2
    })
    const maxTokens = yield* numeric(`${ENV_PREFIX}MAX_TOKENS`, {
      message: "Expected a positive whole number",
      validation: (value) => Number.isInteger(value) && value > 0
    })
    const asked = yield* reasoning(`${ENV_PREFIX}REASONING`)
    const settings = { temperature, maxTokens, ...(asked === undefined ? {} : { reasoning: asked }) }
    return { ...options.value, apiKey: key, settings }
  }
)

/**
 * Builds the client of the environment's provider.
 *
 * @example
 * ```ts
 * import * as FetchHttpClient from "@effect/platform/FetchHttpClient"
 * import * as Effect from "effect/Effect"
 * import * as Layer from "effect/Layer"
 * import { LlmClient, LlmGateway } from "effect-lexigram"
 * import { Providers } from "effect-lexigram/provider"
 *
 * const program = LlmGateway.complete({ messages: [{ role: "user", content: "Hello" }] }).pipe(
 *   Effect.map(LlmClient.text),
 *   Effect.provide(Providers.layerConfig.pipe(Layer.provide(FetchHttpClient.layer)))
 * )
 * ```
 *
 * @since 0.1.0
 * @category layers
 */
export const layerConfig: Layer.Layer<
  LlmClient,
  LlmConfigurationError | ConfigError.ConfigError,
  HttpClient.HttpClient
> = Layer.effect(LlmClient, Effect.map(Effect.flatMap(fromConfig, make), CallGate.wrap))

/**
 * Builds the client that the environment names, else the given one: `OfflineModel.layer()` for demos and first steps.
 *
 * @since 0.1.0
 * @category layers
 */
export const layerConfigOr = <E, R>(
  fallback: Layer.Layer<LlmClient, E, R>
): Layer.Layer<LlmClient, E | LlmConfigurationError | ConfigError.ConfigError, R | HttpClient.HttpClient> =>
  Layer.unwrapEffect(
    Effect.map(
      configured,
      (
        found
      ): Layer.Layer<LlmClient, E | LlmConfigurationError | ConfigError.ConfigError, R | HttpClient.HttpClient> =>
        Option.isSome(found) ? layerConfig : fallback
    )
  )
