/**
 * The audit log port: records governance decisions and activity of runs.
 *
 * @since 0.1.0
 */
export * as AuditLog from "./store/AuditLog.js"

/**
 * The cost ledger port: spent money and tokens, and holds for running calls.
 *
 * @since 0.1.0
 */
export * as CostLedger from "./store/CostLedger.js"

/**
 * The audit log over a store: in this process, on the logger, or any other.
 *
 * @since 0.1.0
 */
export * as DefaultAuditLog from "./store/DefaultAuditLog.js"

/**
 * Layers of governance: limits, checks and budgets over replaceable collaborators.
 *
 * @since 0.1.0
 */
export * as DefaultGovernance from "./DefaultGovernance.js"

/**
 * The policy engine: evaluates rules about who may use what, given as data or code.
 *
 * @since 0.1.0
 */
export * as DefaultPolicyEngine from "./policy/DefaultPolicyEngine.js"

/**
 * Counts resource quotas in a `RateLimitStore`.
 *
 * @since 0.1.0
 */
export * as DefaultResourceQuotas from "./DefaultResourceQuotas.js"

/**
 * The governance port: who may use which model for what, and at what cost.
 *
 * @since 0.1.0
 */
export * as Governance from "./Governance.js"

/**
 * Limits of governance, given in code or read from the environment. An unset limit does not apply.
 *
 * @since 0.1.0
 */
export * as GovernanceConfig from "./GovernanceConfig.js"

/**
 * Changes the limits of governance at run time.
 *
 * @since 0.1.0
 */
export * as GovernanceControl from "./GovernanceControl.js"

/**
 * Errors of governance.
 *
 * @since 0.1.0
 */
export * as GovernanceError from "./store/GovernanceError.js"

/**
 * Hook points and bus events of governance.
 *
 * @since 0.1.0
 */
export * as GovernanceEvents from "./store/GovernanceEvents.js"

/**
 * Governance metrics on Effect's `Metric`. Labels come from fixed lists, never from users, models or runs.
 *
 * @since 0.1.0
 */
export * as GovernanceMetrics from "./store/GovernanceMetrics.js"

/**
 * A cost ledger in the memory of this process.
 *
 * @since 0.1.0
 */
export * as InMemoryCostLedger from "./store/InMemoryCostLedger.js"

/**
 * Model access lists: decides which user may use which model.
 *
 * @since 0.1.0
 */
export * as ModelAccess from "./policy/ModelAccess.js"

/**
 * Policies as data: scopes, conditions and their validation.
 *
 * @since 0.1.0
 */
export * as Policy from "./policy/Policy.js"

/**
 * The port that decides who may use what.
 *
 * @since 0.1.0
 */
export * as PolicyEngine from "./policy/PolicyEngine.js"

/**
 * The rate limit port: counts takes under a key within a sliding window. No interval of the window's length exceeds the
 * limit, across minute borders too.
 *
 * @since 0.1.0
 */
export * as RateLimitStore from "./store/RateLimitStore.js"

/**
 * The resource quota port: limits a tenant's use of a resource in a window of time.
 *
 * @since 0.1.0
 */
export * as ResourceQuotas from "./ResourceQuotas.js"
