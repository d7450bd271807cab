/**
 * Metrics of guards, on Effect's `Metric`, with the labels `guard`, `stage` and `action`.
 *
 * @since 0.1.0
 */

import * as MetricBoundaries from "effect/MetricBoundaries"
import * as Observed from "../../observability/Observed.js"
import type { GuardAction, GuardStage } from "./Guard.js"

/**
 * Counts texts judged by a guard.
 *
 * @since 0.1.0
 * @category constants
 */
export const METRIC_GUARD_CHECKS_TOTAL = "ai.guard.checks.total"
/**
 * Counts the times a guard did more than pass; for an answer judged while it is written, the pieces with findings.
 *
 * @since 0.1.0
 * @category constants
 */
export const METRIC_GUARD_VIOLATIONS_TOTAL = "ai.guard.violations.total"
/**
 * Duration of a check of a whole text.
 *
 * @since 0.1.0
 * @category constants
 */
export const METRIC_GUARD_CHECK_DURATION_MS = "ai.guard.check.duration_ms"

// From 0.01 ms for patterns to half a minute for models.
const milliseconds = MetricBoundaries.exponential({ start: 0.01, factor: 2, count: 22 })

/**
 * Outcome of a check: the action, or `error` if the guard could not judge.
 *
 * @since 0.1.0
 * @category models
 */
export type Outcome = GuardAction | "error"

/**
 * The metrics of one guard at one stage.
 *
 * @since 0.1.0
 * @category models
 */
export interface GuardMetrics {
  readonly checked: (outcome: Outcome) => void
  readonly violated: (outcome: Outcome) => void
  readonly took: (outcome: Outcome, durationMs: number) => void
}

const make = (guard: string, stage: GuardStage): GuardMetrics => {
  const labels = (action: Outcome) => ({ guard, stage, action })
  const checks = Observed.each((action: Outcome) => Observed.counter(METRIC_GUARD_CHECKS_TOTAL, labels(action)))
  const violations = Observed.each((action: Outcome) => Observed.counter(METRIC_GUARD_VIOLATIONS_TOTAL, labels(action)))
  const durations = Observed.each((action: Outcome) =>
    Observed.histogram(METRIC_GUARD_CHECK_DURATION_MS, milliseconds, labels(action))
  )
  return {
    checked: (outcome) => checks(outcome)(),
    violated: (outcome) => violations(outcome)(),
    took: (outcome, durationMs) => durations(outcome)(durationMs)
  }
}

const guards = new Map<string, Map<GuardStage, GuardMetrics>>()

/**
 * Returns the metrics of a guard, created once per name and stage. Names come from programs, never from models, so the
 * label sets stay bounded.
 *
 * @since 0.1.0
 * @category constructors
 */
export const forGuard = (guard: string, stage: GuardStage): GuardMetrics => {
  let stages = guards.get(guard)
  if (stages === undefined) {
    stages = new Map()
    guards.set(guard, stages)
  }
  let metrics = stages.get(stage)
  if (metrics === undefined) {
    metrics = make(guard, stage)
    stages.set(stage, metrics)
  }
  return metrics
}
