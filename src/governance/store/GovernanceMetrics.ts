/**
 * Metrics of governance, on Effect's `Metric`. Labels come from fixed lists: no user, model or run is ever one.
 *
 * @since 0.1.0
 */
import * as Metric from "effect/Metric"
import * as MetricKey from "effect/MetricKey"
import * as MetricLabel from "effect/MetricLabel"

/**
 * What was refused, by `reason`.
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
 * Reservations that are neither settled nor refunded.
 *
 * @since 0.1.0
 * @category constants
 */
export const METRIC_GOVERNANCE_RESERVATIONS_OPEN = "governance.reservations.open"
/**
 * Soft limits that were crossed, by `budget`.
 *
 * @since 0.1.0
 * @category constants
 */
export const METRIC_GOVERNANCE_SOFT_LIMITS_TOTAL = "governance.soft_limits.total"
/**
 * Failures to read or write limits that were passed over, by `operation`.
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

const counter = (name: string, label?: readonly [key: string, value: string]) => {
  const key = MetricKey.counter(name, { incremental: true })
  const metric = Metric.fromMetricKey(
    label === undefined ? key : MetricKey.taggedWithLabels(key, [MetricLabel.make(label[0], label[1])])
  )
  return (amount: number): void => {
    if (amount > 0) metric.unsafeUpdate(amount, [])
  }
}

const counters = <const Names extends ReadonlyArray<string>>(name: string, label: string, values: Names) => {
  const made = new Map<string, (amount: number) => void>(values.map((value) => [value, counter(name, [label, value])]))
  return (value: Names[number]): void => made.get(value)?.(1)
}

/**
 * @since 0.1.0
 * @category metrics
 */
export const denied: (reason: DenialReason) => void = counters(METRIC_GOVERNANCE_DENIALS_TOTAL, "reason", denialReasons)

/**
 * @since 0.1.0
 * @category metrics
 */
export const softLimitReached: (budget: SoftLimitBudget) => void = counters(
  METRIC_GOVERNANCE_SOFT_LIMITS_TOTAL,
  "budget",
  softLimitBudgets
)

/**
 * @since 0.1.0
 * @category metrics
 */
export const failedOpen: (operation: Operation) => void = counters(
  METRIC_GOVERNANCE_FAIL_OPENS_TOTAL,
  "operation",
  operations
)

const spend = counter(METRIC_GOVERNANCE_SPEND_USD)
const tokenCount = counter(METRIC_GOVERNANCE_TOKENS_TOTAL)

/**
 * @since 0.1.0
 * @category metrics
 */
export const booked = (usd: number, tokens: number): void => {
  spend(usd)
  tokenCount(tokens)
}

const openGauge = Metric.fromMetricKey(MetricKey.gauge(METRIC_GOVERNANCE_RESERVATIONS_OPEN))
let open = 0

/**
 * Counts the reservations of all governances of this process.
 *
 * @since 0.1.0
 * @category metrics
 */
export const reserved = (by: number): void => {
  open += by
  openGauge.unsafeUpdate(open, [])
}
