/**
 * A model router with a table of roles.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as ModelRouter from "./ModelRouter.js"
import * as CallGate from "./model/CallGate.js"
import * as LlmClient from "./model/LlmClient.js"
import * as ModelSettings from "./model/ModelSettings.js"

/**
 * A role without `client` uses the default client with those settings. A layer that requires an `LlmClient` itself (a
 * wrapper) receives the default one.
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
 * Makes a router from a table; roles without an entry use the default client.
 *
 * @since 0.1.0
 * @category constructors
 */
export const fromTable = (
  fallback: LlmClient.Service,
  table: ReadonlyMap<string, ModelRouter.Resolved>
): ModelRouter.Service => {
  const standard: Effect.Effect<ModelRouter.Resolved> = Effect.succeed({
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
  return { resolve: (role) => resolved.get(role) ?? standard, configured: Array.from(table.keys()) }
}

/**
 * The resolution of a role with its own client: calls name that client's model unless the settings name another.
 *
 * @since 0.1.0
 * @category constructors
 */
export const ownClient = (
  client: LlmClient.Service,
  settings: ModelSettings.ModelSettings | undefined
): ModelRouter.Resolved => ({
  client,
  settings: ModelSettings.merge(client.model === undefined ? ModelSettings.empty : { model: client.model }, settings)
})

/**
 * Every role uses the default client.
 *
 * @since 0.1.0
 * @category layers
 */
export const layerDefault: Layer.Layer<ModelRouter.ModelRouter, never, LlmClient.LlmClient> = Layer.effect(
  ModelRouter.ModelRouter,
  Effect.map(LlmClient.LlmClient, (client) => fromTable(client, new Map()))
)

/**
 * Builds the client of each role when the layer is built; a layer that several roles share is built once. All close
 * with the layer.
 *
 * @since 0.1.0
 * @category layers
 * @example
 * ```ts
 * import { Agents, DefaultModelRouter } from "effect-lexigram"
 * import { OfflineModel } from "effect-lexigram/offline"
 *
 * const router = DefaultModelRouter.layer({
 *   roles: {
 *     // The default client, with another model.
 *     planner: { settings: { model: "large", temperature: 0 } },
 *     // A client of its own.
 *     judge: { client: OfflineModel.layer() }
 *   }
 * })
 * const layer = Agents.layerWith({ router })
 * ```
 */
export const layer = <const Roles extends { readonly [role: string]: RoleOptions<any, any> }>(options: {
  readonly roles: Roles
}): Layer.Layer<
  ModelRouter.ModelRouter,
  ClientError<Roles[keyof Roles]>,
  LlmClient.LlmClient | ClientContext<Roles[keyof Roles]>
> =>
  Layer.scoped(
    ModelRouter.ModelRouter,
    Effect.gen(function* () {
      const fallback = yield* LlmClient.LlmClient
      const scope = yield* Effect.scope
      const memoMap = yield* Layer.makeMemoMap
      const table = new Map<string, ModelRouter.Resolved>()
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
