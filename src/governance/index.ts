/**
 * Who may ask which model for what, and what it may cost.
 *
 * @since 0.1.0
 */
export * as Governance from "./Governance.js"

/**
 * How governance refuses or fails.
 *
 * @since 0.1.0
 */
export * as GovernanceError from "./GovernanceError.js"
