/**
 * Builds the model roles of the environment, each with its own provider.
 *
 * @since 0.1.0
 */
import type * as HttpClient from "@effect/platform/HttpClient"
import * as Config from "effect/Config"
import type { ConfigError } from "effect/ConfigError"
import * as ConfigProvider from "effect/ConfigProvider"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as DefaultModelRouter from "../llm/DefaultModelRouter.js"
import * as ModelRouter from "../llm/ModelRouter.js"
import type * as LlmClient from "../llm/model/LlmClient.js"
import { LlmClient as Client } from "../llm/model/LlmClient.js"
import type { LlmConfigurationError } from "../llm/model/LlmError.js"
import * as ModelSettings from "../llm/model/ModelSettings.js"
import * as Providers from "./Providers.js"

/**
 * The prefix of the variables; the role in capitals and `__PROVIDER`, `__MODEL`, `__TEMPERATURE`, `__MAX_TOKENS`,
 * `__REASONING` follow.
 *
 * @since 0.1.0
 * @category constants
 */
export const ENV_PREFIX = `${Providers.ENV_PREFIX}ROLES__`

const text = (name: string): Config.Config<string | undefined> =>
  Config.map(Config.withDefault(Config.string(name), ""), (value) => {
    const trimmed = value.trim()
    return trimmed === "" ? undefined : trimmed
  })

const number = (
  name: string,
  message: string,
  validation: (value: number) => boolean
): Config.Config<number | undefined> =>
  Config.map(Config.option(Config.validate(Config.number(name), { message, validation })), Option.getOrUndefined)

const roleConfig = (role: string) => {
  const prefix = `${ENV_PREFIX}${role.toUpperCase().replace(/[^A-Z0-9]/g, "_")}__`
  return Config.all({
    provider: text(`${prefix}PROVIDER`),
    model: text(`${prefix}MODEL`),
    temperature: number(
      `${prefix}TEMPERATURE`,
      "Expected a number between 0 and 2",
      (value) => value >= 0 && value <= 2
    ),
    maxTokens: number(
      `${prefix}MAX_TOKENS`,
      "Expected a positive whole number",
      (value) => Number.isInteger(value) && value > 0
    ),
    reasoning: Providers.reasoning(`${prefix}REASONING`)
  })
}

/**
 * The variables for a role with its own provider: key, address and model of the default provider are hidden from any
 * other provider, which then uses its own key variable and default model.
 */
const providerFor = (
  base: ConfigProvider.ConfigProvider,
  role: { readonly provider: string; readonly model: string | undefined },
  isSame: boolean
): ConfigProvider.ConfigProvider => {
  const variables = new Map([[`${Providers.ENV_PREFIX}PROVIDER`, role.provider]])
  if (role.model !== undefined || !isSame) variables.set(`${Providers.ENV_PREFIX}MODEL`, role.model ?? "")
  if (!isSame) {
    variables.set(`${Providers.ENV_PREFIX}API_KEY`, "")
    variables.set(`${Providers.ENV_PREFIX}BASE_URL`, "")
  }
  return ConfigProvider.orElse(ConfigProvider.fromMap(variables), () => base)
}

/**
 * Builds roles from the environment: `LEX_AI_LLM__ROLES__THINKING__MODEL` and its siblings. A role with a `PROVIDER`
 * has its own client, with the key of that provider's own variable (`ANTHROPIC_API_KEY`), or with `LEX_AI_LLM__API_KEY`
 * and `LEX_AI_LLM__BASE_URL` if it is the same provider as `LEX_AI_LLM__PROVIDER`; roles with the same provider and
 * model share a client. A role without one uses the default client with the role's model and settings.
 *
 * @example
 * ```ts
 * import { Agents } from "effect-lexigram"
 * import { ProviderRoles } from "effect-lexigram/provider"
 *
 * // LEX_AI_LLM__ROLES__TRANSLATOR__MODEL=qwen3 gives the role "translator" a model of its own.
 * const agents = Agents.layerWith({ router: ProviderRoles.layerConfig({ roles: ["translator"] }) })
 * ```
 *
 * @since 0.1.0
 * @category layers
 */
export const layerConfig = <E = never, R = never>(options?: {
  /** Names of roles in addition to `ModelRouter.roles`. */
  readonly roles?: ReadonlyArray<string> | undefined
  /** Wraps each client that is built here: retries, limits. */
  readonly wrap?: ((client: LlmClient.Service) => Effect.Effect<LlmClient.Service, E, R>) | undefined
}): Layer.Layer<
  ModelRouter.ModelRouter,
  LlmConfigurationError | ConfigError | E,
  LlmClient.LlmClient | HttpClient.HttpClient | R
> =>
  Layer.effect(
    ModelRouter.ModelRouter,
    Effect.gen(function* () {
      const fallback = yield* Client
      const base = yield* Effect.configProviderWith(Effect.succeed)
      const standard = (yield* text(`${Providers.ENV_PREFIX}PROVIDER`))?.toLowerCase()
      const clients = new Map<string, LlmClient.Service>()
      const table = new Map<string, ModelRouter.Resolved>()
      for (const role of new Set([...ModelRouter.roles, ...(options?.roles ?? [])])) {
        const { provider, ...settings } = yield* roleConfig(role)
        if (provider === undefined) {
          if (Object.values(settings).some((value) => value !== undefined)) {
            table.set(role, { client: fallback, settings: ModelSettings.merge(ModelSettings.empty, settings) })
          }
          continue
        }
        const key = JSON.stringify([provider.toLowerCase(), settings.model])
        let client = clients.get(key)
        if (client === undefined) {
          const variables = providerFor(base, { provider, model: settings.model }, provider.toLowerCase() === standard)
          const built = yield* Effect.flatMap(
            Effect.withConfigProvider(Providers.fromConfig, variables),
            Providers.make
          )
          client = options?.wrap === undefined ? built : yield* options.wrap(built)
          clients.set(key, client)
        }
        table.set(role, DefaultModelRouter.ownClient(client, settings))
      }
      return DefaultModelRouter.fromTable(fallback, table)
    })
  )
