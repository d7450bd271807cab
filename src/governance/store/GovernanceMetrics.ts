/**
 * Governance metrics on Effect's `Metric`. Labels come from fixed lists, never from users, models or runs.
 *
 * @since 0.1.0
 */
import * as Observed from "../../observability/Observed.js"

/**
 * Refusals, by `reason`.
 *
 * @since 0.1.0
 * @category constants
 */
export const METRIC_GOVERNANCE_DENIALS_TOTAL = "governance.denials.total"
/**
 * US dollars booked.
 *
 * @since 0.1.0
 * @category constants
 */
export const METRIC_GOVERNANCE_SPEND_USD = "governance.spend.usd"
/**
 * Tokens booked.
 *
 * @since 0.1.0
 * @category constants
 */
export const METRIC_GOVERNANCE_TOKENS_TOTAL = "governance.tokens.total"
/**
 * Reservations neither settled nor refunded.
 *
 * @since 0.1.0
 * @category constants
 */
export const METRIC_GOVERNANCE_RESERVATIONS_OPEN = "governance.reservations.open"
/**
 * Crossed soft limits, by `budget`.
 *
 * @since 0.1.0
 * @category constants
 */
export const METRIC_GOVERNANCE_SOFT_LIMITS_TOTAL = "governance.soft_limits.total"
/**
 * Ignored failures to read or write limits, by `operation`.
 *
 * @since 0.1.0
 * @category constants
 */
export const METRIC_GOVERNANCE_FAIL_OPENS_TOTAL = "governance.fail_opens.total"

/**
 * @since 0.1.0
 * @category models
 */
export const denialReasons = [
  "restricted",
  "not_in_allowlist",
  "in_denylist",
  "rpm",
  "tpm",
  "policy",
  "quota",
  "monthly",
  "monthly_tokens",
  "request",
  "tokens",
  "unknown_price"
] as const
/**
 * @since 0.1.0
 * @category models
 */
export type DenialReason = (typeof denialReasons)[number]

/**
 * @since 0.1.0
 * @category models
 */
export const softLimitBudgets = ["monthly", "monthly_tokens", "quota"] as const
/**
 * @since 0.1.0
 * @category models
 */
export type SoftLimitBudget = (typeof softLimitBudgets)[number]

/**
 * @since 0.1.0
 * @category models
 */
export const operations = ["check", "reserve", "settle", "refund", "track", "read"] as const
/**
 * @since 0.1.0
 * @category models
 */
export type Operation = (typeof operations)[number]

const counters = <Value extends string>(name: string, label: string): ((value: Value) => void) => {
  const count = Observed.each((value: Value) => Observed.counter(name, { [label]: value }))
  return (value) => count(value)()
}

/**
 * @since 0.1.0
 * @category metrics
 */
export const denied: (reason: DenialReason) => void = counters(METRIC_GOVERNANCE_DENIALS_TOTAL, "reason")

/**
 * @since 0.1.0
 * @category metrics
 */
export const softLimitReached: (budget: SoftLimitBudget) => void = counters(
  METRIC_GOVERNANCE_SOFT_LIMITS_TOTAL,
  "budget"
)

/**
 * @since 0.1.0
 * @category metrics
 */
export const failedOpen: (operation: Operation) => void = counters(METRIC_GOVERNANCE_FAIL_OPENS_TOTAL, "operation")

const spend = Observed.counter(METRIC_GOVERNANCE_SPEND_USD)
const tokenCount = Observed.counter(METRIC_GOVERNANCE_TOKENS_TOTAL)

/**
 * @since 0.1.0
 * @category metrics
 */
export const booked = (usd: number, tokens: number): void => {
  if (usd > 0) spend(usd)
  if (tokens > 0) tokenCount(tokens)
}

const openGauge = Observed.gauge(METRIC_GOVERNANCE_RESERVATIONS_OPEN)
let open = 0

/**
 * Counts the reservations of all governances in this process.
 *
 * @since 0.1.0
 * @category metrics
 */
export const reserved = (by: number): void => {
  open += by
  openGauge(open)
}
