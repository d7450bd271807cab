/**
 * Shared parts of governance: current rules, collaborators, and reporting.
 *
 * @private
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import type { RunId, UserId } from "../domain/Ids.js"
import * as CostEstimator from "../llm/model/CostEstimator.js"
import * as DomainEvent from "../observability/DomainEvent.js"
import { Run } from "../observability/Run.js"
import type { GovernanceConfig } from "./GovernanceConfig.js"
import type { ModelAccess } from "./policy/ModelAccess.js"
import type * as PolicyEngine from "./policy/PolicyEngine.js"
import type * as ResourceQuotas from "./ResourceQuotas.js"
import type * as AuditLog from "./store/AuditLog.js"
import type * as CostLedger from "./store/CostLedger.js"
import type { GovernanceError, GovernancePersistenceError } from "./store/GovernanceError.js"
import { GovernancePersistenceWritten, SoftLimitReachedEvent } from "./store/GovernanceEvents.js"
import * as GovernanceMetrics from "./store/GovernanceMetrics.js"
import type * as RateLimitStore from "./store/RateLimitStore.js"

/**
 * @since 0.1.0
 * @category models
 */
export interface Rules {
  readonly config: GovernanceConfig
  readonly access: ModelAccess
  readonly quotas: ResourceQuotas.Service
  /** The configured units, if those are counted. */
  readonly units: GovernanceConfig["resourceUnits"]
}

/**
 * @since 0.1.0
 * @category models
 */
export interface Parts {
  /** The current rules: they may be replaced between any two steps. */
  readonly rules: () => Rules
  readonly ledger: CostLedger.Service
  readonly rates: RateLimitStore.Service
  readonly audit: AuditLog.Service
  readonly policies: PolicyEngine.Service
  /** Prices given when governance was built; if absent, those of the run apply. */
  readonly estimator: CostEstimator.Service | undefined
}

/**
 * Subject of a decision.
 *
 * @since 0.1.0
 * @category models
 */
export interface About {
  readonly runId?: RunId | undefined
  readonly agent?: string | undefined
  readonly userId?: UserId | undefined
  readonly tenantId?: string | undefined
  readonly provider?: string | undefined
  readonly model?: string | undefined
}

/** Names come from programs, but may contain text of a model or a user. */
const shorten = (text: string): string => text.slice(0, 256)

/**
 * Returns the known subject fields of an audit event or a policy.
 *
 * @since 0.1.0
 * @category conversions
 */
export const aboutOf = (about: About) => ({
  ...(about.runId === undefined ? {} : { runId: about.runId }),
  ...(about.agent === undefined ? {} : { agent: about.agent }),
  ...(about.userId === undefined ? {} : { userId: about.userId }),
  ...(about.provider === undefined ? {} : { provider: shorten(about.provider) }),
  ...(about.model === undefined ? {} : { model: shorten(about.model) })
})

/**
 * Account name of rates and budgets: the user's, or the one shared by callers without an id.
 *
 * @since 0.1.0
 * @category conversions
 */
export const subjectOf = (userId: UserId | undefined): string => (userId === undefined ? "shared" : `user:${userId}`)

/** Tenants whose id resembles a user, a missing id, or one of these. */
const isAmbiguous = /^(?:shared$|user:|tenant:)/

/**
 * Account name of quotas and the tenant that policies see: the tenant's id, else `user:<id>`, else `shared`. A tenant
 * whose id could be taken for one of these becomes `tenant:<id>`, so names stay unique.
 *
 * @since 0.1.0
 * @category conversions
 */
export const tenantOf = ({ tenantId, userId }: About): string =>
  tenantId === undefined ? subjectOf(userId) : isAmbiguous.test(tenantId) ? `tenant:${tenantId}` : tenantId

/**
 * @since 0.1.0
 * @category accessors
 */
export const estimatorOf = (parts: Parts): Effect.Effect<CostEstimator.Service> =>
  parts.estimator === undefined ? CostEstimator.CostEstimator : Effect.succeed(parts.estimator)

/**
 * @since 0.1.0
 * @category observability
 */
export const warn = (message: string, annotations: Record<string, unknown>): Effect.Effect<void> =>
  Effect.annotateLogs(Effect.logWarning(message), { module: "governance", ...annotations })

/**
 * Writes an audit event, built only if the log keeps it.
 *
 * @since 0.1.0
 * @category observability
 */
export const record = (parts: Parts, entry: () => AuditLog.AuditEntry): Effect.Effect<void> =>
  parts.audit.enabled === false ? Effect.void : Effect.suspend(() => parts.audit.record(entry()))

/**
 * Reports a write to a persistent ledger.
 *
 * @since 0.1.0
 * @category observability
 */
export const reportWrite = (parts: Parts): Effect.Effect<void> =>
  parts.ledger.isPersistent
    ? Effect.flatMap(Run, ({ hooks }) =>
        hooks.has(GovernancePersistenceWritten)
          ? hooks.call(GovernancePersistenceWritten, { backend: parts.ledger.backend })
          : Effect.void
      )
    : Effect.void

/**
 * Handles a limit that cannot be read or written: returns `otherwise` if so configured, logged and counted, otherwise
 * fails.
 *
 * @since 0.1.0
 * @category error handling
 */
export const orElse = <A, B>(
  parts: Parts,
  operation: GovernanceMetrics.Operation,
  effect: Effect.Effect<A, GovernancePersistenceError>,
  otherwise: B
): Effect.Effect<A | B, GovernancePersistenceError> =>
  Effect.catchAll(effect, (error): Effect.Effect<B, GovernancePersistenceError> => {
    if (!parts.rules().config.failOpenOnPersistenceError) return Effect.fail(error)
    GovernanceMetrics.failedOpen(operation)
    return Effect.as(warn(`governance goes on without its limits: ${error.message}`, { operation }), otherwise)
  })

/**
 * Logs failures of corrections: the reservation remains until it expires, so no limit is left open.
 *
 * @since 0.1.0
 * @category error handling
 */
export const tolerate = (
  what: string,
  effect: Effect.Effect<unknown, GovernancePersistenceError>
): Effect.Effect<void> =>
  Effect.catchAll(Effect.asVoid(effect), (error) => warn(`${what} failed: ${error.message}`, {}))

const events = {
  ModelAccessDeniedError: "model_denied",
  BudgetExceededError: "budget_exceeded",
  RateLimitExceededError: "rate_limited",
  PolicyViolationError: "policy_denied",
  ResourceExhaustedError: "quota_exhausted"
} as const

const reasonOf = (error: Refusal): GovernanceMetrics.DenialReason => {
  switch (error._tag) {
    case "ModelAccessDeniedError":
      return error.reason
    case "RateLimitExceededError":
      return error.limitType
    case "PolicyViolationError":
      return "policy"
    case "ResourceExhaustedError":
      return "quota"
    case "BudgetExceededError":
      return error.budgetType as GovernanceMetrics.DenialReason
  }
}

/**
 * A failure that is a decision.
 *
 * @since 0.1.0
 * @category models
 */
export type Refusal = Exclude<GovernanceError, GovernancePersistenceError>

/**
 * Counts a refusal and records it.
 *
 * @since 0.1.0
 * @category observability
 */
export const refused = (
  parts: Parts,
  error: Refusal,
  about: About & { readonly toolName?: string | undefined }
): Effect.Effect<void> =>
  Effect.suspend(() => {
    const reason = reasonOf(error)
    GovernanceMetrics.denied(reason)
    return record(parts, () => ({
      eventType: events[error._tag],
      status: "denied",
      ...aboutOf(about),
      metadata:
        about.toolName === undefined
          ? { reason, code: error.code }
          : { reason, code: error.code, tool: shorten(about.toolName) }
    }))
  })

/**
 * Warns in the log, the audit log and on the bus that part of a budget is used.
 *
 * @since 0.1.0
 * @category observability
 */
export const reportSoftLimit = (
  parts: Parts,
  crossed: {
    readonly budget: GovernanceMetrics.SoftLimitBudget
    readonly account: string
    readonly limit: number
    readonly used: number
  },
  about: About
): Effect.Effect<void> =>
  Effect.flatMap(Run, (run) => {
    GovernanceMetrics.softLimitReached(crossed.budget)
    const { account, ...fields } = crossed
    run.announce(() =>
      DomainEvent.make(SoftLimitReachedEvent, { aggregateId: account, actorId: about.userId as string, fields })
    )
    return Effect.zipRight(
      warn("a soft limit is reached", crossed),
      record(parts, () => ({ eventType: "soft_limit_reached", ...aboutOf(about), metadata: crossed }))
    )
  })

/**
 * Warns about crossed units of a quota.
 *
 * @since 0.1.0
 * @category observability
 */
export const reportCrossedQuota = (
  parts: Parts,
  decision: {
    readonly crossed: ReadonlyArray<string>
    readonly usage: ReadonlyArray<{
      readonly unit: string
      readonly limit?: number | undefined
      readonly current: number
    }>
  },
  about: About
): Effect.Effect<void> =>
  Effect.forEach(
    decision.usage.filter(({ unit }) => decision.crossed.includes(unit)),
    ({ current, limit, unit }) =>
      reportSoftLimit(
        parts,
        { budget: "quota", account: `${tenantOf(about)}:${unit}`, limit: limit ?? current, used: current },
        about
      ),
    { discard: true }
  )
