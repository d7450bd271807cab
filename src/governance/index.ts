/**
 * What governance decided and what runs did, written down.
 *
 * @since 0.1.0
 */
export * as AuditLog from "./store/AuditLog.js"

/**
 * The book of money and tokens: what was spent, and what is set aside for calls that are under way.
 *
 * @since 0.1.0
 */
export * as CostLedger from "./store/CostLedger.js"

/**
 * Layers of governance: limits, checks and the budget over replaceable collaborators.
 *
 * @since 0.1.0
 */
export * as DefaultGovernance from "./DefaultGovernance.js"

/**
 * Counts the use of resource quotas in a `RateLimitStore`.
 *
 * @since 0.1.0
 */
export * as DefaultResourceQuotas from "./DefaultResourceQuotas.js"

/**
 * Who may ask which model for what, and what it may cost.
 *
 * @since 0.1.0
 */
export * as Governance from "./Governance.js"

/**
 * What governance limits, from code or from the environment. A limit that is not set does not limit.
 *
 * @since 0.1.0
 */
export * as GovernanceConfig from "./GovernanceConfig.js"

/**
 * Changes what governance limits while it is in force.
 *
 * @since 0.1.0
 */
export * as GovernanceControl from "./GovernanceControl.js"

/**
 * How governance refuses or fails.
 *
 * @since 0.1.0
 */
export * as GovernanceError from "./store/GovernanceError.js"

/**
 * Where governance can be watched: places for hooks, and what is told on the event bus.
 *
 * @since 0.1.0
 */
export * as GovernanceEvents from "./store/GovernanceEvents.js"

/**
 * Metrics of governance, on Effect's `Metric`. Labels come from fixed lists: no user, model or run is ever one.
 *
 * @since 0.1.0
 */
export * as GovernanceMetrics from "./store/GovernanceMetrics.js"

/**
 * A cost ledger in the memory of this process.
 *
 * @since 0.1.0
 */
export * as MemoryCostLedger from "./store/MemoryCostLedger.js"

/**
 * Who may use which model, decided by lists of names.
 *
 * @since 0.1.0
 */
export * as ModelAccess from "./policy/ModelAccess.js"

/**
 * Policies as data: scopes, conditions, and their validation.
 *
 * @since 0.1.0
 */
export * as Policy from "./policy/Policy.js"

/**
 * Rules about who may use what, as data or code.
 *
 * @since 0.1.0
 */
export * as PolicyEngine from "./policy/PolicyEngine.js"

/**
 * How much was taken under a key within a sliding window: no stretch of the length of the window ever sees more than
 * the limit, borders of minutes included.
 *
 * @since 0.1.0
 */
export * as RateLimitStore from "./store/RateLimitStore.js"

/**
 * How much of a resource a tenant may use in a window of time.
 *
 * @since 0.1.0
 */
export * as ResourceQuotas from "./ResourceQuotas.js"
