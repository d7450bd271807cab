/**
 * Builds the embedder of a provider by name, in code or from the environment (`LEX_AI_LLM__EMBEDDING__PROVIDER` and its
 * siblings).
 *
 * @since 0.1.0
 */
import type * as HttpClient from "@effect/platform/HttpClient"
import * as Config from "effect/Config"
import type { ConfigError } from "effect/ConfigError"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import { nearest } from "../../internal/text/Nearest.js"
import * as Embedder from "../../llm/embedding/Embedder.js"
import * as HashingEmbedder from "../../llm/embedding/HashingEmbedder.js"
import { LlmConfigurationError } from "../../llm/model/LlmError.js"
import * as ProviderExchange from "../exchange/ProviderExchange.js"
import * as ChatCompletionsDialect from "../format/ChatCompletionsDialect.js"
import * as Providers from "../Providers.js"
import * as Embeddings from "./Embeddings.js"

/**
 * The prefix of the variables; `PROVIDER`, `MODEL`, `DIMENSIONS`, `SEND_DIMENSIONS`, `BASE_URL`, `API_KEY` follow.
 *
 * @since 0.1.0
 * @category constants
 */
export const ENV_PREFIX = `${Providers.ENV_PREFIX}EMBEDDING__`

/**
 * `hashing` is `HashingEmbedder`, which needs no server; the others use the embeddings API of OpenAI.
 *
 * @since 0.1.0
 * @category constants
 */
export const names = [
  "openai",
  "azure",
  "openrouter",
  "ollama",
  "vllm",
  "llamacpp",
  "lmstudio",
  "openai-compatible",
  "hashing"
] as const

/**
 * @since 0.1.0
 * @category models
 */
export type ProviderName = (typeof names)[number]

interface Server {
  readonly baseUrl?: string | undefined
  readonly auth?: "bearer" | "api-key" | undefined
  /** The provider's own variable for its key; none if it needs no key. */
  readonly keyVariable?: string | undefined
}

const servers: { readonly [Name in Exclude<ProviderName, "hashing">]: Server } = {
  openai: { baseUrl: ChatCompletionsDialect.openai.baseUrl, keyVariable: "OPENAI_API_KEY" },
  azure: { auth: ChatCompletionsDialect.azure.auth, keyVariable: "AZURE_OPENAI_API_KEY" },
  openrouter: { baseUrl: ChatCompletionsDialect.openrouter.baseUrl, keyVariable: "OPENROUTER_API_KEY" },
  ollama: { baseUrl: ChatCompletionsDialect.ollama.baseUrl },
  vllm: { baseUrl: ChatCompletionsDialect.vllm.baseUrl },
  llamacpp: { baseUrl: ChatCompletionsDialect.llamacpp.baseUrl },
  lmstudio: { baseUrl: ChatCompletionsDialect.lmstudio.baseUrl },
  "openai-compatible": {}
}

/**
 * The default model of `openai`. Every other server requires one.
 *
 * @since 0.1.0
 * @category constants
 */
export const defaultModel = "text-embedding-3-small"

/** The vector lengths of well-known models, and whether they can shorten their vectors. */
const models: { readonly [name: string]: { readonly dimensions: number; readonly shortens?: true } } = {
  "text-embedding-3-small": { dimensions: 1536, shortens: true },
  "text-embedding-3-large": { dimensions: 3072, shortens: true },
  "text-embedding-ada-002": { dimensions: 1536 },
  "nomic-embed-text": { dimensions: 768 },
  "mxbai-embed-large": { dimensions: 1024 },
  "all-minilm": { dimensions: 384 },
  "bge-m3": { dimensions: 1024 }
}

/** `openai/text-embedding-3-small`, `nomic-embed-text:v1.5` */
const knownModel = (model: string) => {
  const name = (model.split("/").at(-1) ?? "").replace(/:.*/s, "").toLowerCase()
  return Object.hasOwn(models, name) ? models[name] : undefined
}

/**
 * @since 0.1.0
 * @category models
 */
export interface Options {
  readonly provider: ProviderName | (string & {})
  /** `openai` has a default, and `hashing` has only one model. */
  readonly model?: string | undefined
  /** The length of the vectors: required for models whose length is not known here. */
  readonly dimensions?: number | undefined
  /**
   * Whether the request names that length; default: if the model has another known length and can shorten its vectors.
   */
  readonly sendDimensions?: boolean | undefined
  /** The address of the server with its version. `azure` and `openai-compatible` require it. */
  readonly baseUrl?: string | undefined
  readonly apiKey?: Redacted.Redacted<string> | undefined
}

const isKnown = (name: string): name is ProviderName => (names as ReadonlyArray<string>).includes(name)

const unknown = (given: string): LlmConfigurationError => {
  const excerpt = given.slice(0, 40)
  const similar = nearest(excerpt, names)
  return new LlmConfigurationError({
    provider: excerpt,
    message: `The provider ${JSON.stringify(excerpt)} is unknown or has no embeddings. Known providers: ${names.join(", ")}.`,
    ...(similar === undefined ? {} : { hint: `Did you mean ${similar}?` })
  })
}

/**
 * Builds an embedder. Names are case-insensitive. Fails when the provider is unknown, or lacks a key, a model, an
 * address or the length of the model's vectors.
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = (options: Options): Effect.Effect<Embedder.Service, LlmConfigurationError, HttpClient.HttpClient> =>
  Effect.gen(function* () {
    const provider = options.provider.trim().toLowerCase()
    if (!isKnown(provider)) return yield* unknown(provider)
    if (provider === "hashing") return HashingEmbedder.make({ dimensions: options.dimensions })
    const { apiKey } = options
    const { auth, keyVariable, ...server } = servers[provider]
    const fail = (message: string, variables: string) =>
      new LlmConfigurationError({ provider, message, hint: `Set ${variables}.` })

    const model = options.model ?? (provider === "openai" ? defaultModel : undefined)
    if (model === undefined) return yield* fail(`The provider ${provider} needs a model.`, `${ENV_PREFIX}MODEL`)
    const known = knownModel(model)
    const dimensions = options.dimensions ?? known?.dimensions
    if (dimensions === undefined) {
      return yield* fail("The length of the model's vectors is unknown.", `${ENV_PREFIX}DIMENSIONS`)
    }
    const isOther = known !== undefined && known.dimensions !== dimensions
    const sendDimensions = options.sendDimensions ?? (isOther && known.shortens === true)
    if (isOther && !sendDimensions) {
      return yield* fail(
        `The model returns vectors of length ${known.dimensions}, not ${dimensions}.`,
        `${ENV_PREFIX}DIMENSIONS to ${known.dimensions}`
      )
    }
    if (keyVariable !== undefined && (apiKey === undefined || Redacted.value(apiKey).trim() === "")) {
      return yield* fail(`The provider ${provider} needs an API key.`, `${ENV_PREFIX}API_KEY or ${keyVariable}`)
    }
    const baseUrl = options.baseUrl ?? server.baseUrl
    if (baseUrl === undefined) return yield* fail(`The provider ${provider} needs a base URL.`, `${ENV_PREFIX}BASE_URL`)
    const key = apiKey === undefined ? undefined : yield* ProviderExchange.key(apiKey, provider)
    return yield* Embeddings.make({ provider, baseUrl, auth, apiKey: key, model, dimensions, sendDimensions })
  })

/**
 * `make` as a layer.
 *
 * @example
 * ```ts
 * import * as FetchHttpClient from "@effect/platform/FetchHttpClient"
 * import { EmbeddingProviders } from "effect-lexigram/provider"
 * import * as Layer from "effect/Layer"
 *
 * const embedder = EmbeddingProviders.layer({ provider: "ollama", model: "nomic-embed-text", dimensions: 768 }).pipe(
 *   Layer.provide(FetchHttpClient.layer)
 * )
 * ```
 *
 * @since 0.1.0
 * @category layers
 */
export const layer = (options: Options): Layer.Layer<Embedder.Embedder, LlmConfigurationError, HttpClient.HttpClient> =>
  Layer.effect(Embedder.Embedder, make(options))

const variable = (name: string): Config.Config<string | undefined> =>
  Config.string(name).pipe(
    Config.withDefault(""),
    Config.map((value) => (value.trim() === "" ? undefined : value.trim()))
  )

const secret = (name: string): Config.Config<Redacted.Redacted<string> | undefined> =>
  Config.map(variable(name), (value) => (value === undefined ? undefined : Redacted.make(value)))

const environment = Config.all({
  provider: variable(`${ENV_PREFIX}PROVIDER`),
  model: variable(`${ENV_PREFIX}MODEL`),
  baseUrl: variable(`${ENV_PREFIX}BASE_URL`),
  apiKey: secret(`${ENV_PREFIX}API_KEY`),
  dimensions: Config.map(
    Config.option(
      Config.validate(Config.integer(`${ENV_PREFIX}DIMENSIONS`), {
        message: "Expected a positive whole number",
        validation: (value) => value > 0
      })
    ),
    Option.getOrUndefined
  ),
  sendDimensions: Config.map(Config.option(Config.boolean(`${ENV_PREFIX}SEND_DIMENSIONS`)), Option.getOrUndefined)
})

/** `openai-chat` names the same server. */
const chatProvider = Effect.map(variable(`${Providers.ENV_PREFIX}PROVIDER`), (name) =>
  name?.toLowerCase() === "openai-chat" ? "openai" : name?.toLowerCase()
)

/**
 * The options of the environment, if it names a provider of embeddings, or only the address of a server
 * (`openai-compatible`). The key is `LEX_AI_LLM__EMBEDDING__API_KEY`; else, with `LEX_AI_LLM__BASE_URL`,
 * `LEX_AI_LLM__API_KEY` if the models have the same provider; else the provider's own variable.
 *
 * @since 0.1.0
 * @category configuration
 */
export const fromConfig: Effect.Effect<Option.Option<Options>, ConfigError> = Effect.gen(function* () {
  const env = yield* environment
  const provider = (env.provider ?? (env.baseUrl === undefined ? undefined : "openai-compatible"))?.toLowerCase()
  if (provider === undefined) return Option.none()
  const isShared = provider === (yield* chatProvider)
  const keyVariable = isKnown(provider) && provider !== "hashing" ? servers[provider].keyVariable : undefined
  const apiKey =
    env.apiKey ??
    (isShared ? yield* secret(`${Providers.ENV_PREFIX}API_KEY`) : undefined) ??
    (keyVariable === undefined ? undefined : yield* secret(keyVariable))
  const baseUrl = env.baseUrl ?? (isShared ? yield* variable(`${Providers.ENV_PREFIX}BASE_URL`) : undefined)
  return Option.some({ ...env, provider, apiKey, baseUrl })
})

/**
 * Builds the embedder of the environment.
 *
 * @since 0.1.0
 * @category layers
 */
export const layerConfig: Layer.Layer<Embedder.Embedder, LlmConfigurationError | ConfigError, HttpClient.HttpClient> =
  Layer.effect(
    Embedder.Embedder,
    Effect.flatMap(
      fromConfig,
      Option.match({
        onNone: () =>
          Effect.fail(
            new LlmConfigurationError({
              message: "No embedding provider is configured.",
              hint: `Set ${ENV_PREFIX}PROVIDER to one of ${names.join(", ")}.`
            })
          ),
        onSome: make
      })
    )
  )

/**
 * Builds the embedder that the environment names, else the given one: `HashingEmbedder.layer()` needs no server.
 *
 * @since 0.1.0
 * @category layers
 */
export const layerConfigOr = <E, R>(
  fallback: Layer.Layer<Embedder.Embedder, E, R>
): Layer.Layer<Embedder.Embedder, E | LlmConfigurationError | ConfigError, R | HttpClient.HttpClient> =>
  Layer.unwrapEffect(
    Effect.map(
      fromConfig,
      (found): Layer.Layer<Embedder.Embedder, E | LlmConfigurationError | ConfigError, R | HttpClient.HttpClient> =>
        Option.isSome(found) ? layer(found.value) : fallback
    )
  )
