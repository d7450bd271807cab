/**
 * Which client and settings answer for a role: `thinking` may be a large model, `execution` a small one.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as CallGate from "./model/CallGate.js"
import * as LlmClient from "./model/LlmClient.js"
import * as ModelSettings from "./model/ModelSettings.js"

/**
 * The roles that strategies and guards ask for.
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
  "solver",
  "guard"
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
   * What the role asks for; wins over the settings of the agent. A role with a client of its own always names that
   * client's model, so that the agent's model does not reach another provider.
   */
  readonly settings: ModelSettings.ModelSettings
  /** True where nobody configured the role. */
  readonly isDefault?: boolean | undefined
}

/**
 * @since 0.1.0
 * @category models
 */
export interface Service {
  /**
   * The client and settings of a role; for a role that nobody configured the default client and no settings. Always the
   * same client.
   */
  readonly resolve: (role: Role) => Effect.Effect<Resolved>
}

/**
 * @since 0.1.0
 * @category tags
 */
export class ModelRouter extends Context.Tag("effect-lexigram/llm/ModelRouter")<ModelRouter, Service>() {}

/**
 * A role without `client` is the default client with those settings. A layer that needs an `LlmClient` itself (a
 * wrapper) gets the default one.
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

/**
 * A router over a table; roles that are not in it are the default client.
 *
 * @since 0.1.0
 * @category constructors
 */
export const fromTable = (fallback: LlmClient.Service, table: ReadonlyMap<string, Resolved>): Service => {
  const standard: Effect.Effect<Resolved> = Effect.succeed({
    client: CallGate.wrap(fallback),
    settings: ModelSettings.empty,
    isDefault: true
  })
  const resolved = new Map(
    Array.from(
      table,
      ([role, value]) => [role, Effect.succeed({ ...value, client: CallGate.wrap(value.client) })] as const
    )
  )
  return { resolve: (role) => resolved.get(role) ?? standard }
}

/**
 * What a role with a client of its own resolves to: calls name that client's model unless the settings name another.
 *
 * @since 0.1.0
 * @category constructors
 */
export const ownClient = (client: LlmClient.Service, settings: ModelSettings.ModelSettings | undefined): Resolved => ({
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
 * Builds the client of each role once, when the layer is built, and one layer that several roles share once for all of
 * them; they close with the layer.
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
          built === undefined
            ? { client: fallback, settings: settings ?? ModelSettings.empty }
            : ownClient(built, settings)
        )
      }
      return fromTable(fallback, table)
    })
  )
