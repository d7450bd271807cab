/**
 * Metrics and span names of skills. Labels are skill names, at most `maxNames`, and outcomes from a fixed list.
 *
 * @since 0.1.0
 */

import * as MetricBoundaries from "effect/MetricBoundaries"
import * as Observed from "../../observability/Observed.js"

/**
 * Span of an execution.
 *
 * @since 0.1.0
 * @category constants
 */
export const SPAN_SKILL_EXECUTE = "skill.execute"

/**
 * Span attributes, in addition to `error.type`.
 *
 * @since 0.1.0
 * @category constants
 */
export const attribute = {
  name: "skill.name",
  category: "skill.category",
  attempt: "skill.attempt",
  cached: "skill.cached"
} as const

/**
 * Executions, by `skill` and `outcome`.
 *
 * @since 0.1.0
 * @category constants
 */
export const METRIC_SKILL_EXECUTIONS_TOTAL = "skill.executions.total"
/**
 * Milliseconds of executions that were not cached, by `skill`.
 *
 * @since 0.1.0
 * @category constants
 */
export const METRIC_SKILL_EXECUTION_DURATION_MS = "skill.execution.duration_ms"
/**
 * Retries, by `skill`.
 *
 * @since 0.1.0
 * @category constants
 */
export const METRIC_SKILL_RETRIES_TOTAL = "skill.retries.total"
/**
 * Results from the cache or from an equal concurrent execution, by `skill`.
 *
 * @since 0.1.0
 * @category constants
 */
export const METRIC_SKILL_CACHE_HITS = "skill.cache.hits"
/**
 * Cache look-ups without a result, by `skill`.
 *
 * @since 0.1.0
 * @category constants
 */
export const METRIC_SKILL_CACHE_MISSES = "skill.cache.misses"
/**
 * Failures of the cache backend, and unreadable entries.
 *
 * @since 0.1.0
 * @category constants
 */
export const METRIC_SKILL_CACHE_FAILURES = "skill.cache.failures"
/**
 * Attempts that wait for a slot.
 *
 * @since 0.1.0
 * @category constants
 */
export const METRIC_SKILL_EXECUTIONS_WAITING = "skill.executions.waiting"

/**
 * Outcomes of executions.
 *
 * @since 0.1.0
 * @category models
 */
export const outcomes = [
  "success",
  "cached",
  "failed",
  "timeout",
  "denied",
  "invalid",
  "not_found",
  "interrupted"
] as const
/**
 * @since 0.1.0
 * @category models
 */
export type Outcome = (typeof outcomes)[number]

/**
 * Number of names with their own label; further names are counted under `other`, unknown skills under `unknown`.
 *
 * @since 0.1.0
 * @category constants
 */
export const maxNames = 1000

const milliseconds = MetricBoundaries.exponential({ start: 1, factor: 2, count: 20 })

/**
 * The metrics of one skill.
 *
 * @since 0.1.0
 * @category models
 */
export interface SkillMetrics {
  readonly executed: (outcome: Outcome, durationMs: number) => void
  readonly retried: () => void
  readonly hit: () => void
  readonly missed: () => void
}

const make = (skill: string): SkillMetrics => {
  const count = Observed.each((outcome: Outcome) => Observed.counter(METRIC_SKILL_EXECUTIONS_TOTAL, { skill, outcome }))
  const duration = Observed.histogram(METRIC_SKILL_EXECUTION_DURATION_MS, milliseconds, { skill })
  return {
    executed: (outcome, durationMs) => {
      count(outcome)()
      if (outcome !== "cached") duration(durationMs)
    },
    retried: Observed.counter(METRIC_SKILL_RETRIES_TOTAL, { skill }),
    hit: Observed.counter(METRIC_SKILL_CACHE_HITS, { skill }),
    missed: Observed.counter(METRIC_SKILL_CACHE_MISSES, { skill })
  }
}

const unknown = make("unknown")
const other = make("other")
const skills = new Map<string, SkillMetrics>()

/**
 * The metrics of a skill, created once per name; `undefined` for unknown skills.
 *
 * @since 0.1.0
 * @category constructors
 */
export const forSkill = (name: string | undefined): SkillMetrics => {
  if (name === undefined) return unknown
  let metrics = skills.get(name)
  if (metrics === undefined) {
    // Programs name few skills, but servers may offer any number.
    if (skills.size >= maxNames) return other
    metrics = make(name)
    skills.set(name, metrics)
  }
  return metrics
}

const waitingGauge = Observed.gauge(METRIC_SKILL_EXECUTIONS_WAITING)
let waiting = 0

/**
 * Counts waiting attempts of all executors in this process.
 *
 * @since 0.1.0
 * @category metrics
 */
export const waited = (by: 1 | -1): void => {
  waiting += by
  waitingGauge(waiting)
}

/**
 * @since 0.1.0
 * @category metrics
 */
export const cacheFailed: () => void = Observed.counter(METRIC_SKILL_CACHE_FAILURES)
