/**
 * The port that selects client and settings for a role: `thinking` may use a large model, `execution` a small one.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type * as LlmClient from "./model/LlmClient.js"
import type * as ModelSettings from "./model/ModelSettings.js"

/**
 * The roles that strategies and guards use.
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
 * One of `roles`, or a custom name.
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
   * The settings of the role, which override those of the agent. A role with its own client always names that client's
   * model, so that the agent's model never reaches another provider.
   */
  readonly settings: ModelSettings.ModelSettings
  /** True if the role is not configured. */
  readonly isDefault?: boolean | undefined
}

/**
 * @since 0.1.0
 * @category models
 */
export interface Service {
  /**
   * The client and settings of a role; the default client without settings for a role that is not configured. Always
   * the same client.
   */
  readonly resolve: (role: Role) => Effect.Effect<Resolved>
  /** The roles that are configured; absent where the router does not know them. */
  readonly configured?: ReadonlyArray<Role> | undefined
}

/**
 * @since 0.1.0
 * @category tags
 */
export class ModelRouter extends Context.Tag("effect-lexigram/llm/ModelRouter")<ModelRouter, Service>() {}

/**
 * @since 0.1.0
 * @category accessors
 */
export const resolve = (role: Role): Effect.Effect<Resolved, never, ModelRouter> =>
  Effect.flatMap(ModelRouter, (router) => router.resolve(role))
