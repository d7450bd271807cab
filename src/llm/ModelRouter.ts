/**
 * Which client and settings answer for a role: `thinking` may be a large model, `execution` a small one.
 *
 * @since 0.1.0
 */
import type * as HttpClient from "@effect/platform/HttpClient"
import * as Config from "effect/Config"
import type { ConfigError } from "effect/ConfigError"
import * as ConfigProvider from "effect/ConfigProvider"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as LlmClient from "./LlmClient.js"
import type { LlmConfigurationError } from "./LlmError.js"
import * as ModelSettings from "./ModelSettings.js"
import * as Providers from "./Providers.js"

/**
 * The roles that strategies ask for.
 *
 * @since 0.1.0
 * @category constants
 */
export const roles = [
  "thinking",
  "reflection",
  "planning",
  "execution",
  "evaluation",
  "documentation",
  "solver"
] as const

/**
 * One of `roles`, or a name of one's own.
 *
 * @since 0.1.0
 * @category models
 */
export type Role = (typeof roles)[number] | (string & {})

/**
 * @since 0.1.0
 * @category models
 */
export interface Resolved {
  readonly client: LlmClient.Service
  /**
   * What the role asks for; wins over the settings of the agent. A role with a client of its own always names that client's model, so
   * that the agent's model does not reach another provider.
   */
  readonly settings: ModelSettings.ModelSettings
}

/**
 * @since 0.1.0
 * @category models
 */
export interface Service {
  /** The client and settings of a role; for a role that nobody configured the default client and no settings. Always the same client. */
  readonly resolve: (role: Role) => Effect.Effect<Resolved>
}

/**
 * @since 0.1.0
 * @category tags
 */
export class ModelRouter extends Context.Tag("effect-lexigram/llm/ModelRouter")<ModelRouter, Service>() {}

/**
 * A role without `client` is the default client with those settings. A layer that needs an `LlmClient` itself (a wrapper) gets the
 * default one.
 *
 * @since 0.1.0
 * @category models
 */
export interface RoleOptions<E = never, R = never> {
  readonly client?: LlmClient.Service | Layer.Layer<LlmClient.LlmClient, E, R> | undefined
  readonly settings?: ModelSettings.ModelSettings | undefined
}

type ClientError<Options> = Options extends { readonly client: Layer.Layer<any, infer E, any> } ? E : never
type ClientContext<Options> = Options extends { readonly client: Layer.Layer<any, any, infer R> } ? R : never

/**
 * @since 0.1.0
 * @category accessors
 */
export const resolve = (role: Role): Effect.Effect<Resolved, never, ModelRouter> =>
  Effect.flatMap(ModelRouter, (router) => router.resolve(role))

const fromTable = (fallback: LlmClient.Service, table: ReadonlyMap<string, Resolved>): Service => {
  const standard: Effect.Effect<Resolved> = Effect.succeed({ client: fallback, settings: ModelSettings.empty })
  const resolved = new Map(Array.from(table, ([role, value]) => [role, Effect.succeed(value)] as const))
  return { resolve: (role) => resolved.get(role) ?? standard }
}

const own = (client: LlmClient.Service, settings: ModelSettings.ModelSettings | undefined): Resolved => ({
  client,
  settings: ModelSettings.merge(client.model === undefined ? ModelSettings.empty : { model: client.model }, settings)
})

/**
 * Every role is the default client.
 *
 * @since 0.1.0
 * @category layers
 */
export const layerDefault: Layer.Layer<ModelRouter, never, LlmClient.LlmClient> = Layer.effect(
  ModelRouter,
  Effect.map(LlmClient.LlmClient, (client) => fromTable(client, new Map()))
)

/**
 * Builds the client of each role once, when the layer is built, and one layer that several roles share once for all of them; they
 * close with the layer.
 *
 * @since 0.1.0
 * @category layers
 */
export const layer = <const Roles extends { readonly [role: string]: RoleOptions<any, any> }>(options: {
  readonly roles: Roles
}): Layer.Layer<
  ModelRouter,
  ClientError<Roles[keyof Roles]>,
  LlmClient.LlmClient | ClientContext<Roles[keyof Roles]>
> =>
  Layer.scoped(
    ModelRouter,
    Effect.gen(function* () {
      const fallback = yield* LlmClient.LlmClient
      const scope = yield* Effect.scope
      const memoMap = yield* Layer.makeMemoMap
      const table = new Map<string, Resolved>()
      for (const [role, { client, settings }] of Object.entries(options.roles)) {
        const built = Layer.isLayer(client)
          ? Context.get(
              yield* Layer.buildWithMemoMap(client as Layer.Layer<LlmClient.LlmClient, any, any>, memoMap, scope),
              LlmClient.LlmClient
            )
          : (client as LlmClient.Service | undefined)
        table.set(
          role,
          built === undefined ? { client: fallback, settings: settings ?? ModelSettings.empty } : own(built, settings)
        )
      }
      return fromTable(fallback, table)
    })
  )

/**
 * What the names of the variables begin with: the role in capitals and `__PROVIDER`, `__MODEL`, `__TEMPERATURE`, `__MAX_TOKENS` follow.
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
    )
  })
}

/**
 * The variables as they are for a role with a provider of its own: key, address and model of the default provider are hidden from any
 * other provider, which then has its own key variable and default model.
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
 * Roles from the environment: `LEX_AI_LLM__ROLES__THINKING__MODEL` and its siblings. A role with a `PROVIDER` has a client of its own,
 * with the key of that provider's own variable (`ANTHROPIC_API_KEY`), or with `LEX_AI_LLM__API_KEY` and `LEX_AI_LLM__BASE_URL` where it
 * is the same provider as `LEX_AI_LLM__PROVIDER`; roles of one provider and model share a client. A role without is the default client
 * with the role's model and settings.
 *
 * @since 0.1.0
 * @category layers
 */
export const layerConfig = <E = never, R = never>(options?: {
  /** Names of roles besides `roles`. */
  readonly roles?: ReadonlyArray<string> | undefined
  /** Applied to each client that is built here: retries, limits. */
  readonly wrap?: ((client: LlmClient.Service) => Effect.Effect<LlmClient.Service, E, R>) | undefined
}): Layer.Layer<
  ModelRouter,
  LlmConfigurationError | ConfigError | E,
  LlmClient.LlmClient | HttpClient.HttpClient | R
> =>
  Layer.effect(
    ModelRouter,
    Effect.gen(function* () {
      const fallback = yield* LlmClient.LlmClient
      const base = yield* Effect.configProviderWith(Effect.succeed)
      const standard = (yield* text(`${Providers.ENV_PREFIX}PROVIDER`))?.toLowerCase()
      const clients = new Map<string, LlmClient.Service>()
      const table = new Map<string, Resolved>()
      for (const role of new Set([...roles, ...(options?.roles ?? [])])) {
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
        table.set(role, own(client, settings))
      }
      return fromTable(fallback, table)
    })
  )
