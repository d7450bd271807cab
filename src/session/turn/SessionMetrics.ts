/**
 * Metrics and span names of sessions. Labels come from fixed lists; none names a session or a user.
 *
 * @since 0.1.0
 */
import * as Metric from "effect/Metric"
import * as MetricBoundaries from "effect/MetricBoundaries"
import * as MetricKey from "effect/MetricKey"
import * as MetricLabel from "effect/MetricLabel"
import type { SessionCheckpoint } from "./Session.js"

/**
 * Spans are called `session.<operation>`, as `session.add_turn`. They carry the id of the session
 * (`gen_ai.conversation.id`), never a user or a content.
 *
 * @since 0.1.0
 * @category constants
 */
export const SPAN_SESSION = "session."

/**
 * Operations, by `operation` and `outcome`.
 *
 * @since 0.1.0
 * @category constants
 */
export const METRIC_SESSION_OPERATIONS_TOTAL = "session.operations.total"
/**
 * Milliseconds of operations, by `operation`.
 *
 * @since 0.1.0
 * @category constants
 */
export const METRIC_SESSION_OPERATION_DURATION_MS = "session.operation.duration_ms"
/**
 * Turns that were added; those that a session had already are not counted.
 *
 * @since 0.1.0
 * @category constants
 */
export const METRIC_SESSION_TURNS_TOTAL = "session.turns.total"
/**
 * Checkpoints that were made, by `kind`.
 *
 * @since 0.1.0
 * @category constants
 */
export const METRIC_SESSION_CHECKPOINTS_TOTAL = "session.checkpoints.total"
/**
 * Sessions that came to their end, by `status`: `closed` or `expired`.
 *
 * @since 0.1.0
 * @category constants
 */
export const METRIC_SESSION_ENDED_TOTAL = "session.ended.total"
/**
 * What memory could not do for a session and was passed over, by `operation`: `add`, `flush` or `consolidate`.
 *
 * @since 0.1.0
 * @category constants
 */
export const METRIC_SESSION_MEMORY_FAILURES_TOTAL = "session.memory.failures.total"

/**
 * @since 0.1.0
 * @category models
 */
export type Operation =
  | "create"
  | "claim"
  | "get"
  | "list"
  | "resume"
  | "suspend"
  | "close"
  | "delete"
  | "update"
  | "add_turn"
  | "begin_exchange"
  | "end_exchange"
  | "turns"
  | "checkpoint"
  | "checkpoints"
  | "restore"
  | "expire_idle"
  | "fork"
  | "merge"

/**
 * @since 0.1.0
 * @category models
 */
export type Outcome = "success" | "failed" | "interrupted"

/**
 * @since 0.1.0
 * @category models
 */
export type MemoryOperation = "add" | "flush" | "consolidate"

const milliseconds = MetricBoundaries.exponential({ start: 0.25, factor: 2, count: 18 })

/** Labels are baked in once: a metric tagged on each update costs 1.6 µs, an update of a ready one 0.002. */
const memoized = <A>(make: (...labels: Array<string>) => A) => {
  const made = new Map<string, A>()
  return (...labels: Array<string>): A => {
    const key = labels.join("\n")
    let one = made.get(key)
    if (one === undefined) {
      one = make(...labels)
      made.set(key, one)
    }
    return one
  }
}

const counter = (name: string, ...names: ReadonlyArray<string>) =>
  memoized((...values) => {
    const metric = Metric.fromMetricKey(
      MetricKey.taggedWithLabels(
        MetricKey.counter(name, { incremental: true }),
        names.map((label, index) => MetricLabel.make(label, values[index] ?? ""))
      )
    )
    return () => metric.unsafeUpdate(1, [])
  })

const operations = counter(METRIC_SESSION_OPERATIONS_TOTAL, "operation", "outcome")
const turns = counter(METRIC_SESSION_TURNS_TOTAL)
const checkpoints = counter(METRIC_SESSION_CHECKPOINTS_TOTAL, "kind")
const endings = counter(METRIC_SESSION_ENDED_TOTAL, "status")
const memoryFailures = counter(METRIC_SESSION_MEMORY_FAILURES_TOTAL, "operation")

const durations = memoized((operation) => {
  const metric = Metric.fromMetricKey(
    MetricKey.taggedWithLabels(MetricKey.histogram(METRIC_SESSION_OPERATION_DURATION_MS, milliseconds), [
      MetricLabel.make("operation", operation ?? "")
    ])
  )
  return (milliseconds: number) => metric.unsafeUpdate(milliseconds, [])
})

/**
 * @since 0.1.0
 * @category metrics
 */
export const operated = (operation: Operation, outcome: Outcome, durationMs: number): void => {
  operations(operation, outcome)()
  durations(operation)(durationMs)
}

/**
 * @since 0.1.0
 * @category metrics
 */
export const turnAdded = (): void => turns()()

/**
 * @since 0.1.0
 * @category metrics
 */
export const checkpointed = (kind: SessionCheckpoint["kind"]): void => checkpoints(kind)()

/**
 * @since 0.1.0
 * @category metrics
 */
export const ended = (status: "closed" | "expired"): void => endings(status)()

/**
 * @since 0.1.0
 * @category metrics
 */
export const memoryFailed = (operation: MemoryOperation): void => memoryFailures(operation)()
