/**
 * Changes the limits of governance at run time.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type { UserId } from "../domain/Ids.js"
import type { GovernanceConfig, Options } from "./GovernanceConfig.js"
import type { Snapshot } from "./ResourceQuotas.js"
import type { GovernanceConfigurationError, GovernancePersistenceError } from "./store/GovernanceError.js"

/**
 * @since 0.1.0
 * @category models
 */
export interface Service {
  /** The configuration in force. */
  readonly config: Effect.Effect<GovernanceConfig>
  /**
   * Applies another configuration to every later decision: the defaults with these fields replaced. To change one field
   * only, spread the current `config`. Spent, taken and reserved amounts remain, as does the use of units that keep
   * their kind and window; other units start from zero. An invalid configuration changes nothing.
   */
  readonly reload: (options: Options) => Effect.Effect<GovernanceConfig, GovernanceConfigurationError>
  /**
   * What a caller used of each unit of `resourceUnits`, in their order: that of its tenant, else of its user, else of
   * all callers without an id.
   */
  readonly quotas: (caller: {
    readonly userId?: UserId | undefined
    readonly tenantId?: string | undefined
  }) => Effect.Effect<ReadonlyArray<Snapshot>, GovernancePersistenceError>
}

/**
 * @since 0.1.0
 * @category tags
 */
export class GovernanceControl extends Context.Tag("effect-lexigram/governance/GovernanceControl")<
  GovernanceControl,
  Service
>() {}
