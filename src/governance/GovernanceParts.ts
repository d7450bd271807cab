/**
 * What the parts of governance share: its rules as they stand, its collaborators, and how it tells what it did.
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
  /** The units of the configuration, where they are what is counted. */
  readonly units: GovernanceConfig["resourceUnits"]
}

/**
 * @since 0.1.0
 * @category models
 */
export interface Parts {
  /** Those of this moment: they may be replaced between any two steps. */
  readonly rules: () => Rules
  readonly ledger: CostLedger.Service
  readonly rates: RateLimitStore.Service
  readonly audit: AuditLog.Service
  readonly policies: PolicyEngine.Service
  /** The prices where governance was built; absent when there were none, and those of the run count. */
  readonly estimator: CostEstimator.Service | undefined
}

/**
 * Who or what a decision is about.
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

/** Names come from programs, but may be made of what a model or a user says. */
const cut = (text: string): string => text.slice(0, 256)

/**
 * The fields of an audit event or a policy that say who and what, without those that are not known.
 *
 * @since 0.1.0
 * @category conversions
 */
export const aboutOf = (about: About) => ({
  ...(about.runId === undefined ? {} : { runId: about.runId }),
  ...(about.agent === undefined ? {} : { agent: about.agent }),
  ...(about.userId === undefined ? {} : { userId: about.userId }),
  ...(about.provider === undefined ? {} : { provider: cut(about.provider) }),
  ...(about.model === undefined ? {} : { model: cut(about.model) })
})

/**
 * Whose rates and budgets count: those of the user, or the ones that all share who have no id.
 *
 * @since 0.1.0
 * @category conversions
 */
export const subjectOf = (userId: UserId | undefined): string => (userId === undefined ? "shared" : `user:${userId}`)

/** Tenants that are called like a user or like nobody, or like one of these. */
const isAmbiguous = /^(?:shared$|user:|tenant:)/

/**
 * Whose quotas count, and which tenant policies see: the tenant by its id, else the user as `user:<id>`, else `shared`.
 * A tenant whose id could be taken for one of these is `tenant:<id>`, so that no two are one.
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
 * Writes an audit event, made only where one is kept.
 *
 * @since 0.1.0
 * @category observability
 */
export const record = (parts: Parts, entry: () => AuditLog.AuditEntry): Effect.Effect<void> =>
  parts.audit.enabled === false ? Effect.void : Effect.suspend(() => parts.audit.record(entry()))

/**
 * Tells that the ledger was written to, where it outlives the process.
 *
 * @since 0.1.0
 * @category observability
 */
export const written = (parts: Parts): Effect.Effect<void> =>
  parts.ledger.isPersistent
    ? Effect.flatMap(Run, ({ hooks }) =>
        hooks.has(GovernancePersistenceWritten)
          ? hooks.call(GovernancePersistenceWritten, { backend: parts.ledger.backend })
          : Effect.void
      )
    : Effect.void

/**
 * A limit that cannot be read or written: `otherwise` where that is configured, logged and counted; else the failure.
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
 * For corrections that leave no limit open when they fail: what was set aside stays so until it expires. Logged.
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
 * Counts a refusal and writes it down.
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
          : { reason, code: error.code, tool: cut(about.toolName) }
    }))
  })

/**
 * Warns that a part of a budget is used: in the log, in the audit and on the bus.
 *
 * @since 0.1.0
 * @category observability
 */
export const softLimit = (
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
 * Warns about the units of a quota that were crossed.
 *
 * @since 0.1.0
 * @category observability
 */
export const quotaCrossed = (
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
      softLimit(
        parts,
        { budget: "quota", account: `${tenantOf(about)}:${unit}`, limit: limit ?? current, used: current },
        about
      ),
    { discard: true }
  )
