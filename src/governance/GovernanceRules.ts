/**
 * Builds governance over its collaborators.
 *
 * @private
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { CostEstimator } from "../llm/model/CostEstimator.js"
import * as DefaultResourceQuotas from "./DefaultResourceQuotas.js"
import { allow, deny, Governance, type Service } from "./Governance.js"
import * as GovernanceBudgets from "./GovernanceBudgets.js"
import * as GovernanceChecks from "./GovernanceChecks.js"
import * as GovernanceConfig from "./GovernanceConfig.js"
import { GovernanceControl } from "./GovernanceControl.js"
import { aboutOf, type Parts, type Rules, record, tenantOf, warn } from "./GovernanceParts.js"
import * as ModelAccess from "./policy/ModelAccess.js"
import { PolicyEngine } from "./policy/PolicyEngine.js"
import * as QuotaUnits from "./QuotaUnits.js"
import * as ResourceQuotas from "./ResourceQuotas.js"
import { AuditLog } from "./store/AuditLog.js"
import { CostLedger } from "./store/CostLedger.js"
import * as HoldLeases from "./store/HoldLeases.js"
import { RateLimitStore, type Service as RateLimits } from "./store/RateLimitStore.js"

interface Options {
  /** True if quotas come from the context, which override the configured units. */
  readonly hasQuotas: boolean
}

const makeService = (parts: Parts, leases: HoldLeases.HoldLeases): Service => {
  const budgets = GovernanceBudgets.make(parts, leases)
  const checks = GovernanceChecks.make(parts, budgets)
  const toDecision = ({ refusal, remaining }: GovernanceChecks.Verdict) =>
    refusal === undefined ? allow({ remainingBudget: remaining }) : deny(refusal, { remainingBudget: remaining })
  return {
    get enabled() {
      return parts.rules().config.enabled
    },
    checkRequest: (request) => Effect.map(checks.request(request), toDecision),
    checkGuardrail: (request) => Effect.map(checks.guardrail(request), toDecision),
    checkToolCall: (request) =>
      Effect.suspend(() =>
        checks.areToolCallsCounted() ? Effect.map(checks.toolCall(request), toDecision) : Effect.succeed(allow())
      ),
    checkBudget: budgets.checkBudget,
    reserve: budgets.reserve,
    settle: budgets.settle,
    adopt: budgets.adopt,
    refund: budgets.refund,
    trackCost: budgets.trackCost,
    getBudget: budgets.getBudget,
    release: budgets.release,
    audit: (entry) =>
      parts.audit.enabled === false
        ? Effect.void
        : Effect.suspend(() => {
            if (!parts.rules().config.enabled) return Effect.void
            return record(parts, () => ({
              eventType: entry.type,
              status: entry.status,
              latencyMs: entry.latencyMs,
              ...aboutOf(entry),
              ...(entry.tokens === undefined ? {} : { tokens: entry.tokens }),
              ...(entry.cost === undefined ? {} : { cost: entry.cost }),
              ...(entry.metadata === undefined ? {} : { metadata: entry.metadata })
            }))
          })
  }
}

/** Names the fields that differ; their values may reveal who may do what. */
const changes = (before: GovernanceConfig.GovernanceConfig, after: GovernanceConfig.GovernanceConfig) =>
  (Object.keys(GovernanceConfig.defaults) as Array<keyof GovernanceConfig.GovernanceConfig>).filter(
    (field) => JSON.stringify(before[field]) !== JSON.stringify(after[field])
  )

/** Compiles the rules of a configuration. Given quotas replace its `resourceUnits`. */
const makeRules = Effect.fnUntraced(function* (
  config: GovernanceConfig.GovernanceConfig,
  given: ResourceQuotas.Service | undefined,
  rates: RateLimits
) {
  const access = ModelAccess.make(config)
  if (given !== undefined) {
    if (config.resourceUnits.length > 0) {
      yield* warn("resourceUnits are not used: governance was given other quotas", {})
    }
    return { config, access, quotas: given, units: [] } satisfies Rules
  }
  // The units were validated with the configuration.
  const quotas = yield* DefaultResourceQuotas.make(QuotaUnits.fromConfig(config.resourceUnits)).pipe(
    Effect.orDie,
    Effect.provideService(RateLimitStore, rates)
  )
  return { config, access, quotas, units: config.resourceUnits } satisfies Rules
})

/**
 * Provides both services from the context.
 *
 * @since 0.1.0
 * @category layers
 */
export const layer = <E>(
  config: Effect.Effect<GovernanceConfig.GovernanceConfig, E>,
  { hasQuotas }: Options
): Layer.Layer<
  Governance | GovernanceControl,
  E,
  CostLedger | RateLimitStore | AuditLog | PolicyEngine | ResourceQuotas.ResourceQuotas
> =>
  Layer.scopedContext(
    Effect.gen(function* () {
      const rates = yield* RateLimitStore
      const given = hasQuotas ? yield* ResourceQuotas.ResourceQuotas : undefined
      const rulesOf = (config: GovernanceConfig.GovernanceConfig) => makeRules(config, given, rates)
      let rules: Rules = yield* rulesOf(yield* config)
      const context = yield* Effect.context<never>()
      const parts: Parts = {
        rules: () => rules,
        ledger: yield* CostLedger,
        rates,
        audit: yield* AuditLog,
        policies: yield* PolicyEngine,
        estimator: context.unsafeMap.has(CostEstimator.key)
          ? Context.get(context as Context.Context<CostEstimator>, CostEstimator)
          : undefined
      }
      yield* record(parts, () => ({
        eventType: "created",
        metadata: { fields: changes(GovernanceConfig.defaults, rules.config) }
      }))
      const leases = yield* HoldLeases.make(parts.ledger)
      return Context.make(Governance, makeService(parts, leases)).pipe(
        Context.add(GovernanceControl, {
          config: Effect.sync(() => rules.config),
          reload: (options) =>
            Effect.gen(function* () {
              const next = yield* rulesOf(yield* GovernanceConfig.make(options))
              const fields = changes(rules.config, next.config)
              rules = next
              yield* record(parts, () => ({ eventType: "config_reloaded", metadata: { fields } }))
              return next.config
            }),
          quotas: (caller) =>
            Effect.suspend(() => {
              const { quotas, units } = rules
              // The units are those that these quotas were made of.
              return Effect.forEach(units, ({ name }) =>
                Effect.catchTag(quotas.snapshot(tenantOf(caller), name), "GovernanceConfigurationError", Effect.die)
              )
            })
        })
      )
    })
  )
