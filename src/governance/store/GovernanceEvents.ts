/**
 * Hook points and bus events of governance.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"
import * as DomainEvent from "../../observability/DomainEvent.js"
import * as Hooks from "../../observability/Hooks.js"

/**
 * An entry was written to the audit log. `eventType` is its kind.
 *
 * @since 0.1.0
 * @category hooks
 */
export const GovernanceAuditRecorded: Hooks.Action<{ readonly eventType: string }> =
  Hooks.action("GovernanceAuditRecorded")

/**
 * A policy decided about a request. `policyName` is its id.
 *
 * @since 0.1.0
 * @category hooks
 */
export const GovernancePolicyEvaluated: Hooks.Action<{ readonly policyName: string }> =
  Hooks.action("GovernancePolicyEvaluated")

/**
 * Governance wrote persistent data. `backend` names the destination.
 *
 * @since 0.1.0
 * @category hooks
 */
export const GovernancePersistenceWritten: Hooks.Action<{ readonly backend: string }> =
  Hooks.action("GovernancePersistenceWritten")

/**
 * A policy decided about a request: the one that denied it, or one whose `allow` ended its scope.
 *
 * @since 0.1.0
 * @category events
 */
export const PolicyEvaluatedEvent = DomainEvent.define("PolicyEvaluatedEvent", {
  aggregateType: "Policy",
  fields: { policyId: Schema.String, decision: Schema.Literal("allow", "deny") }
})

/**
 * The use of a month's budget or a quota crossed its soft limit. `limit` and `used` are in US dollars for `monthly`, in
 * tokens for `monthly_tokens`, and in units of the quota for `quota`.
 *
 * @since 0.1.0
 * @category events
 */
export const SoftLimitReachedEvent = DomainEvent.define("SoftLimitReachedEvent", {
  aggregateType: "Budget",
  fields: {
    budget: Schema.Literal("monthly", "monthly_tokens", "quota"),
    limit: Schema.Number,
    used: Schema.Number
  }
})
