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
import { tenantOf } from "../../governance/GovernanceParts.js"
import * as ResourceQuotas from "../../governance/ResourceQuotas.js"
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
    const resources = Option.filter(
      yield* Effect.serviceOption(ResourceQuotas.ResourceQuotas),
      ({ enabled }) => enabled !== false
    )
    const logs = Refusals.offered(
      yield* Effect.serviceOption(AuditLog.AuditLog),
      "audit log: add `AuditLog.layerMemory`, or one of the layers on a database, to it"
    )
    const configured = Option.match(control, {
      onNone: () => Effect.succeed(undefined),
      onSome: ({ config }) => config
    })
    return handlers
      .handle("governance", () =>
        Effect.gen(function* () {
          const governance = yield* governances
          const { tenantId, userId } = yield* Caller
          const config = yield* configured
          const tenant = tenantOf({ tenantId, userId })
          const quotas = Option.isNone(resources)
            ? []
            : yield* Effect.forEach(config?.resourceUnits ?? [], ({ kind, name }) =>
                Effect.map(resources.value.snapshot(tenant, name), ({ tenantId: _, ...used }) => ({ ...used, kind }))
              )
          return {
            budget: yield* governance.getBudget(userId),
            quotas,
            ...(config === undefined ? {} : { limits: limitsOf(config) })
          }
        }).pipe(
          Effect.catchTags({
            GovernancePersistenceError: (error) => Refusals.unavailable(error),
            GovernanceConfigurationError: (error) => Refusals.unavailable(error)
          })
        )
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
