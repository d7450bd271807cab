/**
 * Metrics of guards, on Effect's `Metric`, with the labels `guard`, `stage` and `action`.
 *
 * @since 0.1.0
 */
import * as Metric from "effect/Metric"
import * as MetricBoundaries from "effect/MetricBoundaries"
import * as MetricKey from "effect/MetricKey"
import * as MetricLabel from "effect/MetricLabel"
import type { GuardAction, GuardStage } from "./Guard.js"

/**
 * Texts that a guard judged.
 *
 * @since 0.1.0
 * @category constants
 */
export const METRIC_GUARD_CHECKS_TOTAL = "ai.guard.checks.total"
/**
 * Times a guard did more than pass; of an answer judged while it was written, each piece in which something was found.
 *
 * @since 0.1.0
 * @category constants
 */
export const METRIC_GUARD_VIOLATIONS_TOTAL = "ai.guard.violations.total"
/**
 * What a check of a whole text took.
 *
 * @since 0.1.0
 * @category constants
 */
export const METRIC_GUARD_CHECK_DURATION_MS = "ai.guard.check.duration_ms"

// From a hundredth of a millisecond for patterns to half a minute for models.
const milliseconds = MetricBoundaries.exponential({ start: 0.01, factor: 2, count: 22 })

/**
 * What came of a check: the action, or `error` where the guard could not judge.
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

const labelled = (labels: Record<string, string>) =>
  Object.entries(labels).map(([key, value]) => MetricLabel.make(key, value))

const outcomes: ReadonlyArray<Outcome> = ["pass", "warn", "redact", "block", "error"]

type Update = (value: number) => void

const make = (guard: string, stage: GuardStage): GuardMetrics => {
  // Labels are baked in once: a metric tagged on each update costs a microsecond and more.
  const each = (update: (labels: ReadonlyArray<MetricLabel.MetricLabel>) => Update): Record<Outcome, Update> => {
    const updates = {} as Record<Outcome, Update>
    for (const action of outcomes) updates[action] = update(labelled({ guard, stage, action }))
    return updates
  }
  const counter = (name: string) =>
    each((labels) => {
      const key = MetricKey.taggedWithLabels(MetricKey.counter(name, { incremental: true }), labels)
      const metric = Metric.fromMetricKey(key)
      return (value) => metric.unsafeUpdate(value, [])
    })
  const checks = counter(METRIC_GUARD_CHECKS_TOTAL)
  const violations = counter(METRIC_GUARD_VIOLATIONS_TOTAL)
  const durations = each((labels) => {
    const key = MetricKey.taggedWithLabels(MetricKey.histogram(METRIC_GUARD_CHECK_DURATION_MS, milliseconds), labels)
    const metric = Metric.fromMetricKey(key)
    return (value) => metric.unsafeUpdate(value, [])
  })
  return {
    checked: (outcome) => checks[outcome](1),
    violated: (outcome) => violations[outcome](1),
    took: (outcome, durationMs) => durations[outcome](durationMs)
  }
}

const guards = new Map<string, Map<GuardStage, GuardMetrics>>()

/**
 * The metrics of a guard, made once a name and stage. Names come from programs, never from models: the label sets stay
 * bounded.
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
