/**
 * Observes operations: metrics whose labels are bound once, and the outcome and duration of an effect.
 *
 * @private
 * @since 0.1.0
 */
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Metric from "effect/Metric"
import type * as MetricBoundaries from "effect/MetricBoundaries"
import * as MetricKey from "effect/MetricKey"
import type * as MetricKeyType from "effect/MetricKeyType"
import * as MetricLabel from "effect/MetricLabel"

export type Labels = Readonly<Record<string, string>>

/** Labels are bound once: an update that tags the metric costs 1.6 µs, an update of a bound metric 0.002 µs. */
const bind = (
  key: MetricKey.MetricKey<MetricKeyType.MetricKeyType<number, any>>,
  labels: Labels
): ((value: number) => void) => {
  const metric = Metric.fromMetricKey(
    MetricKey.taggedWithLabels(
      key,
      Object.entries(labels).map(([name, value]) => MetricLabel.make(name, value))
    )
  )
  return (value) => metric.unsafeUpdate(value, [])
}

/** A counter that only grows; by 1 unless it is called with an amount. */
export const counter = (name: string, labels: Labels = {}): ((amount?: number) => void) => {
  const update = bind(MetricKey.counter(name, { incremental: true }), labels)
  return (amount = 1) => update(amount)
}

export const histogram = (
  name: string,
  boundaries: MetricBoundaries.MetricBoundaries,
  labels: Labels = {}
): ((value: number) => void) => bind(MetricKey.histogram(name, boundaries), labels)

export const gauge = (name: string, labels: Labels = {}): ((value: number) => void) =>
  bind(MetricKey.gauge(name), labels)

/** Makes the metrics for some values of labels when they are first used. The values must come from a bounded set. */
export const each = <A, Values extends ReadonlyArray<string>>(
  make: (...values: Values) => A
): ((...values: Values) => A) => {
  const made = new Map<string, A>()
  return (...values) => {
    const key = values.length === 1 ? (values[0] as string) : values.join("\n")
    let one = made.get(key)
    if (one === undefined) {
      one = make(...values)
      made.set(key, one)
    }
    return one
  }
}

export type Outcome = "success" | "failed" | "interrupted"

const outcomeOf = (exit: Exit.Exit<unknown, unknown>): Outcome =>
  Exit.isSuccess(exit) ? "success" : Cause.isInterruptedOnly(exit.cause) ? "interrupted" : "failed"

/** Reports the outcome and the milliseconds of an operation, which calls `ended` once with its exit. */
export const timed = <A, E, R>(
  operation: (ended: (exit: Exit.Exit<unknown, unknown>) => void) => Effect.Effect<A, E, R>,
  report: (outcome: Outcome, durationMs: number) => void
): Effect.Effect<A, E, R> =>
  Effect.flatMap(Effect.clock, (clock) => {
    const startedAt = clock.unsafeCurrentTimeNanos()
    return operation((exit) => report(outcomeOf(exit), Number(clock.unsafeCurrentTimeNanos() - startedAt) / 1e6))
  })
