/**
 * Which client and settings answer for a role: `thinking` may be a large model, `execution` a small one.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type * as LlmClient from "./model/LlmClient.js"
import type * as ModelSettings from "./model/ModelSettings.js"

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
 * @since 0.1.0
 * @category accessors
 */
export const resolve = (role: Role): Effect.Effect<Resolved, never, ModelRouter> =>
  Effect.flatMap(ModelRouter, (router) => router.resolve(role))
