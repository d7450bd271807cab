/**
 * Changes what governance limits while it is in force.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type { GovernanceConfig, Options } from "./GovernanceConfig.js"
import type { GovernanceConfigurationError } from "./store/GovernanceError.js"

/**
 * @since 0.1.0
 * @category models
 */
export interface Service {
  /** What is in force now. */
  readonly config: Effect.Effect<GovernanceConfig>
  /**
   * Puts another configuration in force, for every decision from now on: the defaults with these fields replaced. To
   * change one field alone spread what `config` gives. What was spent, taken and reserved stands, and so does what was
   * used of units that keep their kind and window; other units begin anew. A configuration that is wrong changes
   * nothing.
   */
  readonly reload: (options: Options) => Effect.Effect<GovernanceConfig, GovernanceConfigurationError>
}

/**
 * @since 0.1.0
 * @category tags
 */
export class GovernanceControl extends Context.Tag("effect-lexigram/governance/GovernanceControl")<
  GovernanceControl,
  Service
>() {}
