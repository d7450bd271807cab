/**
 * Metrics and span names of sessions. Labels come from fixed lists; none names a session or a user.
 *
 * @since 0.1.0
 */

import * as MetricBoundaries from "effect/MetricBoundaries"
import * as Observed from "../../observability/Observed.js"
import type { SessionCheckpoint } from "./Session.js"

/**
 * Spans are named `session.<operation>`, such as `session.add_turn`. They carry the id of the session
 * (`gen_ai.conversation.id`), never a user or content.
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
 * Added turns, without those that the session already had.
 *
 * @since 0.1.0
 * @category constants
 */
export const METRIC_SESSION_TURNS_TOTAL = "session.turns.total"
/**
 * Created checkpoints, by `kind`.
 *
 * @since 0.1.0
 * @category constants
 */
export const METRIC_SESSION_CHECKPOINTS_TOTAL = "session.checkpoints.total"
/**
 * Ended sessions, by `status`: `closed` or `expired`.
 *
 * @since 0.1.0
 * @category constants
 */
export const METRIC_SESSION_ENDED_TOTAL = "session.ended.total"
/**
 * Failed work for memory, by `operation`: `add`, `flush` or `consolidate`.
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
  | "attach"
  | "file"
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
export type Outcome = Observed.Outcome

/**
 * @since 0.1.0
 * @category models
 */
export type MemoryOperation = "add" | "flush" | "consolidate"

const milliseconds = MetricBoundaries.exponential({ start: 0.25, factor: 2, count: 18 })

const operations = Observed.each((operation: Operation, outcome: Outcome) =>
  Observed.counter(METRIC_SESSION_OPERATIONS_TOTAL, { operation, outcome })
)
const durations = Observed.each((operation: Operation) =>
  Observed.histogram(METRIC_SESSION_OPERATION_DURATION_MS, milliseconds, { operation })
)
const turns = Observed.counter(METRIC_SESSION_TURNS_TOTAL)
const checkpoints = Observed.each((kind: SessionCheckpoint["kind"]) =>
  Observed.counter(METRIC_SESSION_CHECKPOINTS_TOTAL, { kind })
)
const endings = Observed.each((status: "closed" | "expired") =>
  Observed.counter(METRIC_SESSION_ENDED_TOTAL, { status })
)
const memoryFailures = Observed.each((operation: MemoryOperation) =>
  Observed.counter(METRIC_SESSION_MEMORY_FAILURES_TOTAL, { operation })
)

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
export const turnAdded = (): void => turns()

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
