/**
 * Computes maximum and actual amounts of calls in ledger units, names accounts, and builds refusals.
 *
 * @private
 * @since 0.1.0
 */
import * as DateTime from "effect/DateTime"
import type { RunId, UserId } from "../domain/Ids.js"
import type * as Usage from "../domain/Usage.js"
import * as CostEstimator from "../llm/model/CostEstimator.js"
import type { Reservation, ReserveRequest, Settlement } from "./Governance.js"
import type * as GovernanceConfig from "./GovernanceConfig.js"
import { type About, subjectOf } from "./GovernanceParts.js"
import * as CostLedger from "./store/CostLedger.js"
import { BudgetExceededError } from "./store/GovernanceError.js"

/**
 * @since 0.1.0
 * @category conversions
 */
export const runAccount = (rootRunId: RunId): string => `run:${rootRunId}`

/**
 * Converts a limit to ledger units, rounded down. The added fraction of a billionth absorbs the error of doubles: 0.3 *
 * 1e9 counts as 300,000,000.
 */
const nanoUsd = (usd: number | undefined): number | undefined =>
  usd === undefined ? undefined : Math.floor(usd * 1e9 + 1e-3)

/**
 * Tokens counted elsewhere; non-numeric values count as 0.
 *
 * @since 0.1.0
 * @category conversions
 */
export const toTokenCount = (tokens: number): number => (tokens > 0 ? tokens : 0)

/** A cost computed elsewhere; non-numeric values are unknown. */
const knownCost = (cost: number | undefined): number | undefined =>
  cost === undefined || Number.isNaN(cost) ? undefined : Math.max(0, cost)

/**
 * @since 0.1.0
 * @category models
 */
export interface Limits {
  readonly month: CostLedger.Limit
  readonly run: CostLedger.Limit
}

/**
 * @since 0.1.0
 * @category conversions
 */
export const limitsOf = (config: GovernanceConfig.GovernanceConfig): Limits => ({
  month: { nanoUsd: nanoUsd(config.monthlyBudget), tokens: config.monthlyTokens },
  run: { nanoUsd: nanoUsd(config.maxRequestCost), tokens: config.maxTokensPerRequest }
})

/**
 * @since 0.1.0
 * @category constants
 */
export const names = {
  month: { nanoUsd: "monthly", tokens: "monthly_tokens" },
  run: { nanoUsd: "request", tokens: "tokens" }
} as const

const texts = {
  monthly: "The budget of the month does not cover it",
  monthly_tokens: "The tokens of the month do not cover it",
  request: "What one run may cost does not cover it",
  tokens: "The tokens that one run may use do not cover it"
} as const

const hints = {
  monthly: "Wait for the next month, or raise monthlyBudget",
  monthly_tokens: "Wait for the next month, or raise monthlyTokens",
  request: "Lower the longest answer or the number of calls, or raise maxRequestCost",
  tokens: "Lower the longest answer or the number of calls, or raise maxTokensPerRequest"
} as const

/**
 * @since 0.1.0
 * @category constructors
 */
export const exceeded = (scope: keyof Limits, unit: keyof CostLedger.Amount, limit: number, used: number) => {
  const budgetType = names[scope][unit]
  const shown = unit === "nanoUsd" ? CostLedger.toUsd : (tokens: number) => tokens
  return new BudgetExceededError({
    message: `${texts[budgetType]}: ${shown(used)} of ${shown(limit)} ${unit === "nanoUsd" ? "US dollars" : "tokens"} are spent or reserved`,
    hint: hints[budgetType],
    budgetType,
    limit: shown(limit),
    used: shown(used)
  })
}

/**
 * Names accounts `user:<id>:2026-11`, by UTC month. The name of a month is computed once per month.
 *
 * @since 0.1.0
 * @category constructors
 */
export const months = () => {
  let from = 0
  let to = 0
  let name = ""
  return (userId: UserId | undefined, now: number): string => {
    if (now < from || now >= to) {
      const start = DateTime.startOf(DateTime.unsafeMake(now), "month")
      from = start.epochMillis
      to = DateTime.add(start, { months: 1 }).epochMillis
      name = DateTime.formatIso(start).slice(0, 7)
    }
    return `${subjectOf(userId)}:${name}`
  }
}

/**
 * Maximum cost of a call, whatever is cached or spent on reasoning; `undefined` if the price is unknown.
 *
 * @since 0.1.0
 * @category accessors
 */
export const mostOf = (estimator: CostEstimator.Service, request: ReserveRequest): number | undefined =>
  knownCost(
    CostEstimator.maxCost(estimator, {
      provider: request.provider ?? "",
      model: request.model,
      inputTokens: toTokenCount(request.inputTokens),
      maxOutputTokens: toTokenCount(request.maxOutputTokens)
    })
  )

const estimate = (estimator: CostEstimator.Service, about: About, usage: Usage.Usage): number | undefined =>
  knownCost(
    estimator.estimate({
      provider: about.provider ?? "",
      usage,
      ...(about.model === undefined ? {} : { model: about.model })
    })
  )

/**
 * Unknown amounts count as reserved.
 *
 * @since 0.1.0
 * @category conversions
 */
export const tokensOf = (reservation: Reservation, usage: Usage.Usage): number =>
  usage.totalTokens ??
  toTokenCount(usage.inputTokens ?? reservation.inputTokens) +
    toTokenCount(usage.outputTokens ?? reservation.maxOutputTokens)

/**
 * @since 0.1.0
 * @category accessors
 */
export const costOf = (
  estimator: CostEstimator.Service,
  answered: About,
  reservation: Reservation,
  usage: Usage.Usage,
  settlement: Settlement | undefined
): number | undefined =>
  knownCost(settlement?.cost) ??
  estimate(estimator, answered, {
    ...usage,
    inputTokens: toTokenCount(usage.inputTokens ?? reservation.inputTokens),
    outputTokens: toTokenCount(usage.outputTokens ?? reservation.maxOutputTokens)
  }) ??
  reservation.cost
