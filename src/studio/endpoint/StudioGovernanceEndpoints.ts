/**
 * The handlers of what governs runs.
 *
 * @private
 * @since 0.1.0
 */
import * as HttpApiBuilder from "@effect/platform/HttpApiBuilder"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as PublicView from "../../domain/PublicView.js"
import * as Governance from "../../governance/Governance.js"
import type { GovernanceConfig } from "../../governance/GovernanceConfig.js"
import * as GovernanceControl from "../../governance/GovernanceControl.js"
import * as AuditLog from "../../governance/store/AuditLog.js"
import { Caller } from "../../http/api/Authentication.js"
import * as Refusals from "../../http/api/Refusals.js"
import { StudioApi } from "../api/StudioApi.js"

/** The lists of models by user are those of other people, too. */
const limitsOf = (config: GovernanceConfig) => ({
  enabled: config.enabled,
  enforced: config.enforceBudget,
  monthlyBudget: config.monthlyBudget,
  monthlyTokens: config.monthlyTokens,
  maxRequestCost: config.maxRequestCost,
  maxTokensPerRequest: config.maxTokensPerRequest,
  rpmLimit: config.rpmLimit,
  tpmLimit: config.tpmLimit,
  restrictedModels: config.restrictedModels
})

/**
 * @category layers
 */
export const layer = HttpApiBuilder.group(StudioApi, "governance", (handlers) =>
  Effect.gen(function* () {
    const governances = Refusals.offered(
      Option.filter(yield* Effect.serviceOption(Governance.Governance), ({ enabled }) => enabled !== false),
      "budgets: add `Governance.layer` to it"
    )
    const control = yield* Effect.serviceOption(GovernanceControl.GovernanceControl)
    const logs = Refusals.offered(
      Option.filter(yield* Effect.serviceOption(AuditLog.AuditLog), ({ enabled }) => enabled !== false),
      "audit log: give `audit: true` to `Application` or `Lexigram`, or add a layer of `AuditLog`"
    )
    return handlers
      .handle("governance", () =>
        Effect.gen(function* () {
          const governance = yield* governances
          const caller = yield* Caller
          const budget = yield* governance.getBudget(caller.userId)
          if (Option.isNone(control)) return { budget, quotas: [] }
          const config = yield* control.value.config
          const kinds = new Map(config.resourceUnits.map(({ kind, name }) => [name, kind]))
          const quotas = yield* control.value.quotas(caller)
          return {
            budget,
            limits: limitsOf(config),
            quotas: quotas.map(({ tenantId: _, ...used }) => ({ ...used, kind: kinds.get(used.unit) ?? "custom" }))
          }
        }).pipe(Effect.catchTag("GovernancePersistenceError", (error) => Refusals.unavailable(error)))
      )
      .handle("audit", ({ urlParams: { type, ...filter } }) =>
        Effect.gen(function* () {
          const log = yield* logs
          const { userId } = yield* Caller
          const events = yield* log.read({
            ...filter,
            ...(userId === undefined ? {} : { userId }),
            ...(type === undefined ? {} : { eventTypes: [type] })
          })
          return {
            events: events.map(({ metadata, ...event }) =>
              metadata === undefined ? event : { ...event, metadata: PublicView.fromValue(metadata) as typeof metadata }
            )
          }
        }).pipe(Effect.catchTag("GovernancePersistenceError", (error) => Refusals.unavailable(error)))
      )
  })
)
