/**
 * Layers of governance: limits, checks and budgets over replaceable collaborators.
 *
 * @since 0.1.0
 */
import type * as ConfigError from "effect/ConfigError"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type { ExactOptions } from "../internal/ExactOptions.js"
import type * as CostEstimator from "../llm/model/CostEstimator.js"
import type * as Governance from "./Governance.js"
import * as GovernanceConfig from "./GovernanceConfig.js"
import type * as GovernanceControl from "./GovernanceControl.js"
import * as GovernanceRules from "./GovernanceRules.js"
import * as PolicyEngine from "./policy/PolicyEngine.js"
import * as ResourceQuotas from "./ResourceQuotas.js"
import * as AuditLog from "./store/AuditLog.js"
import type * as CostLedger from "./store/CostLedger.js"
import type { GovernanceConfigurationError } from "./store/GovernanceError.js"
import * as InMemoryCostLedger from "./store/InMemoryCostLedger.js"
import * as RateLimitStore from "./store/RateLimitStore.js"

/**
 * Layers of the replaceable collaborators.
 *
 * @since 0.1.0
 * @category models
 */
export interface Replaceable {
  /** Default in memory. */
  readonly ledger?: Layer.Layer<CostLedger.CostLedger, any, any> | undefined
  /** Default in memory. */
  readonly rates?: Layer.Layer<RateLimitStore.RateLimitStore, any, any> | undefined
  /** Default: records nothing. */
  readonly audit?: Layer.Layer<AuditLog.AuditLog, any, any> | undefined
  /** Default none. */
  readonly policies?: Layer.Layer<PolicyEngine.PolicyEngine, any, any> | undefined
  /** Default: the configured `resourceUnits`, counted in `rates`. */
  readonly quotas?: Layer.Layer<ResourceQuotas.ResourceQuotas, any, any> | undefined
}

type Given<L, Key extends keyof Replaceable> = Extract<L[Key & keyof L], Layer.Layer<any, any, any>>

/**
 * Failures of the given layers.
 *
 * @since 0.1.0
 * @category models
 */
export type ErrorOf<L extends Replaceable> = [Given<L, keyof Replaceable>] extends [never]
  ? never
  : Layer.Layer.Error<Given<L, keyof Replaceable>>

/**
 * Requirements of the given layers.
 *
 * @since 0.1.0
 * @category models
 */
export type ContextOf<L extends Replaceable> = [Given<L, keyof Replaceable>] extends [never]
  ? never
  : Layer.Layer.Context<Given<L, keyof Replaceable>>

/**
 * Prices, which a configuration with money limits requires, in budgets or `cost` quotas.
 *
 * @since 0.1.0
 * @category models
 */
export type PricesFor<C> =
  | CostEstimator.ForLimit<C, "monthlyBudget" | "maxRequestCost">
  | ([Extract<KindsOf<C>, "cost">] extends [never] ? never : CostEstimator.CostEstimator)

type KindsOf<C> = Extract<C["resourceUnits" & keyof C], ReadonlyArray<{ readonly kind: unknown }>>[number]["kind"]

/** Rejects misspelled names, which would otherwise be ignored. */
type NothingElse<L, Known extends string = never> = {
  readonly [K in Exclude<keyof L, keyof Replaceable | Known>]: never
}

const compose = (
  config: Effect.Effect<GovernanceConfig.GovernanceConfig, any>,
  given: Replaceable
): Layer.Layer<Governance.Governance | GovernanceControl.GovernanceControl, any, any> =>
  GovernanceRules.layer(config, { hasQuotas: given.quotas !== undefined }).pipe(
    Layer.provide(
      Layer.mergeAll(
        given.ledger ?? InMemoryCostLedger.layer(),
        given.rates ?? RateLimitStore.layerMemory(),
        given.audit ?? AuditLog.layerNoop,
        given.policies ?? PolicyEngine.layerNoop,
        given.quotas ?? ResourceQuotas.layerNoop
      )
    )
  )

/**
 * Governance within this process: spending, rates and quotas are kept in memory, nothing is recorded, and there are no
 * policies. Money limits require prices, usually those given to the executor.
 *
 * @example
 * ```ts
 * import { Agents, ModelPrices } from "effect-lexigram"
 * import { DefaultGovernance } from "effect-lexigram/governance"
 *
 * const layer = Agents.layerWith({
 *   governance: DefaultGovernance.layer({ monthlyBudget: 100, maxRequestCost: 2, rpmLimit: 60 }),
 *   prices: ModelPrices.layer
 * })
 * ```
 *
 * @since 0.1.0
 * @category layers
 */
export const layer = <const C extends GovernanceConfig.Options = {}>(
  config?: ExactOptions<C, GovernanceConfig.Options> | undefined
): Layer.Layer<
  Governance.Governance | GovernanceControl.GovernanceControl,
  GovernanceConfigurationError,
  PricesFor<C>
> => compose(GovernanceConfig.make(config), {})

/**
 * Like `layer`, with some collaborators replaced; their failures and requirements appear in the type.
 *
 * @since 0.1.0
 * @category layers
 */
export const layerWith = <
  const L extends Replaceable & { readonly config?: C | undefined },
  const C extends GovernanceConfig.Options = {}
>(
  options: L & NothingElse<L, "config"> & { readonly config?: ExactOptions<C, GovernanceConfig.Options> | undefined }
): Layer.Layer<
  Governance.Governance | GovernanceControl.GovernanceControl,
  GovernanceConfigurationError | ErrorOf<L>,
  ContextOf<L> | PricesFor<C>
> => compose(GovernanceConfig.make(options.config), options)

/**
 * Configured from the environment (`LEX_AI_GOVERNANCE__*`), with collaborators as in `layerWith`. Fails with
 * `GovernanceConfigurationError` if that limits money and this layer has no prices.
 *
 * @since 0.1.0
 * @category layers
 */
export const layerConfig = <const L extends Replaceable = {}>(
  options?: (L & NothingElse<L>) | undefined
): Layer.Layer<
  Governance.Governance | GovernanceControl.GovernanceControl,
  ConfigError.ConfigError | GovernanceConfigurationError | ErrorOf<L>,
  ContextOf<L>
> => compose(Effect.tap(GovernanceConfig.config, GovernanceConfig.requirePrices), options ?? {})
