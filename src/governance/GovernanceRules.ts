/**
 * Builds governance over its collaborators.
 *
 * @internal
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { CostEstimator } from "../llm/model/CostEstimator.js"
import type { Allowed, Denied, Governance, Service } from "./Governance.js"
import * as GovernanceBudgets from "./GovernanceBudgets.js"
import * as GovernanceChecks from "./GovernanceChecks.js"
import * as GovernanceConfig from "./GovernanceConfig.js"
import { GovernanceControl } from "./GovernanceControl.js"
import { aboutOf, type Parts, type Rules, record, warn } from "./GovernanceParts.js"
import * as ModelAccess from "./policy/ModelAccess.js"
import { PolicyEngine } from "./policy/PolicyEngine.js"
import * as QuotaUnits from "./QuotaUnits.js"
import * as ResourceQuotas from "./ResourceQuotas.js"
import { AuditLog } from "./store/AuditLog.js"
import { CostLedger } from "./store/CostLedger.js"
import type { GovernanceError } from "./store/GovernanceError.js"
import * as HoldLeases from "./store/HoldLeases.js"
import { RateLimitStore } from "./store/RateLimitStore.js"

/** How a verdict is said. */
interface Decisions {
  readonly allow: (options: { readonly remainingBudget?: number | undefined }) => Allowed
  readonly deny: (error: GovernanceError, options: { readonly remainingBudget?: number | undefined }) => Denied
}

interface Options extends Decisions {
  /** Quotas are those in context, whatever the configuration says of units. */
  readonly hasQuotas: boolean
}

const service = (parts: Parts, leases: HoldLeases.HoldLeases, decisions: Decisions): Service => {
  const budgets = GovernanceBudgets.make(parts, leases)
  const checks = GovernanceChecks.make(parts, budgets)
  const said = ({ refusal, remaining }: GovernanceChecks.Verdict) =>
    refusal === undefined
      ? decisions.allow({ remainingBudget: remaining })
      : decisions.deny(refusal, { remainingBudget: remaining })
  return {
    get enabled() {
      return parts.rules().config.enabled
    },
    checkRequest: (request) => Effect.map(checks.request(request), said),
    checkGuardrail: (request) => Effect.map(checks.guardrail(request), said),
    checkToolCall: (request) => Effect.map(checks.toolCall(request), said),
    checkBudget: budgets.checkBudget,
    reserve: budgets.reserve,
    settle: budgets.settle,
    refund: budgets.refund,
    trackCost: budgets.trackCost,
    getBudget: budgets.getBudget,
    release: budgets.release,
    audit: (entry) =>
      Effect.suspend(() => {
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

/** The names of the fields that differ: their values may tell who may do what. */
const changes = (before: GovernanceConfig.GovernanceConfig, after: GovernanceConfig.GovernanceConfig) =>
  (Object.keys(GovernanceConfig.defaults) as Array<keyof GovernanceConfig.GovernanceConfig>).filter(
    (field) => JSON.stringify(before[field]) !== JSON.stringify(after[field])
  )

/**
 * Both services over what is in context.
 *
 * @since 0.1.0
 * @category layers
 */
export const layer = <E>(
  tag: typeof Governance,
  config: Effect.Effect<GovernanceConfig.GovernanceConfig, E>,
  options: Options
): Layer.Layer<
  Governance | GovernanceControl,
  E,
  CostLedger | RateLimitStore | AuditLog | PolicyEngine | ResourceQuotas.ResourceQuotas
> =>
  Layer.scopedContext(
    Effect.gen(function* () {
      const rates = yield* RateLimitStore
      const given = yield* ResourceQuotas.ResourceQuotas
      const rulesOf = Effect.fnUntraced(
        function* (config: GovernanceConfig.GovernanceConfig) {
          const access = ModelAccess.make(config)
          if (options.hasQuotas) {
            if (config.resourceUnits.length > 0) {
              yield* warn("resourceUnits are not used: governance was given other quotas", {})
            }
            return { config, access, quotas: given, units: [] } satisfies Rules
          }
          // What a configuration says of units was checked with it.
          const quotas = yield* Effect.orDie(ResourceQuotas.make(QuotaUnits.fromConfig(config.resourceUnits)))
          return { config, access, quotas, units: config.resourceUnits } satisfies Rules
        },
        Effect.provideService(RateLimitStore, rates)
      )
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
      return Context.make(tag, service(parts, leases, options)).pipe(
        Context.add(GovernanceControl, {
          config: Effect.sync(() => rules.config),
          reload: (options) =>
            Effect.gen(function* () {
              const next = yield* rulesOf(yield* GovernanceConfig.make(options))
              const fields = changes(rules.config, next.config)
              rules = next
              yield* record(parts, () => ({ eventType: "config_reloaded", metadata: { fields } }))
              return next.config
            })
        })
      )
    })
  )
