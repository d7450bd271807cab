/**
 * Metrics of connection pools by OpenTelemetry's semantic conventions for databases. They are updated when a connection
 * is taken, returned, opened or closed; there is no timer.
 *
 * @since 0.1.0
 */
import * as Metric from "effect/Metric"
import * as MetricBoundaries from "effect/MetricBoundaries"
import * as MetricKey from "effect/MetricKey"
import * as MetricLabel from "effect/MetricLabel"

/**
 * Gauge of the connections of a pool, by `db.client.connection.state`: `idle` and `used`.
 *
 * @since 0.1.0
 * @category constants
 */
export const METRIC_CONNECTION_COUNT = "db.client.connection.count"
/**
 * Gauge of the most connections of a pool.
 *
 * @since 0.1.0
 * @category constants
 */
export const METRIC_CONNECTION_MAX = "db.client.connection.max"
/**
 * Gauge of the requests that wait for a connection.
 *
 * @since 0.1.0
 * @category constants
 */
export const METRIC_CONNECTION_PENDING = "db.client.connection.pending_requests"
/**
 * Histogram of the seconds until a connection was obtained.
 *
 * @since 0.1.0
 * @category constants
 */
export const METRIC_CONNECTION_WAIT_TIME = "db.client.connection.wait_time"
/**
 * Counter of requests that timed out waiting for a connection.
 *
 * @since 0.1.0
 * @category constants
 */
export const METRIC_CONNECTION_TIMEOUTS = "db.client.connection.timeouts"
/**
 * Label with the name of the pool.
 *
 * @since 0.1.0
 * @category constants
 */
export const LABEL_POOL_NAME = "db.client.connection.pool.name"
/**
 * Label with the state of connections.
 *
 * @since 0.1.0
 * @category constants
 */
export const LABEL_STATE = "db.client.connection.state"

/**
 * The state of a pool.
 *
 * @since 0.1.0
 * @category models
 */
export interface PoolFigures {
  /** All connections: idle, used, and being opened. */
  readonly size: number
  readonly idle: number
  readonly used: number
  /** Requests that wait for a connection. */
  readonly waiting: number
  readonly max: number
}

/**
 * The metrics of one pool.
 *
 * @since 0.1.0
 * @category models
 */
export interface PoolMetrics {
  readonly sampled: (figures: PoolFigures) => void
  readonly waited: (seconds: number) => void
  readonly timedOut: () => void
}

const seconds = MetricBoundaries.fromIterable(Array.from({ length: 14 }, (_, i) => 2 ** i / 1000))

/**
 * @since 0.1.0
 * @category constructors
 */
export const make = (name: string): PoolMetrics => {
  const pool = MetricLabel.make(LABEL_POOL_NAME, name)
  const gauge = (
    metric: string,
    unit: string,
    description: string,
    ...labels: ReadonlyArray<MetricLabel.MetricLabel>
  ) =>
    Metric.fromMetricKey(
      MetricKey.taggedWithLabels(MetricKey.gauge(metric, { description }), [
        pool,
        ...labels,
        MetricLabel.make("unit", unit)
      ])
    )
  const connections = "{connection}"
  const counted = "Connections of the pool."
  const idle = gauge(METRIC_CONNECTION_COUNT, connections, counted, MetricLabel.make(LABEL_STATE, "idle"))
  const used = gauge(METRIC_CONNECTION_COUNT, connections, counted, MetricLabel.make(LABEL_STATE, "used"))
  const max = gauge(METRIC_CONNECTION_MAX, connections, "Connections that the pool may have.")
  const pending = gauge(METRIC_CONNECTION_PENDING, "{request}", "Those who wait for a connection.")
  const wait = Metric.fromMetricKey(
    MetricKey.taggedWithLabels(
      MetricKey.histogram(METRIC_CONNECTION_WAIT_TIME, seconds, "Time until a connection was had."),
      [pool, MetricLabel.make("unit", "s")]
    )
  )
  const timeouts = Metric.fromMetricKey(
    MetricKey.taggedWithLabels(
      MetricKey.counter(METRIC_CONNECTION_TIMEOUTS, {
        description: "Those who waited for a connection in vain.",
        incremental: true
      }),
      [pool, MetricLabel.make("unit", "{timeout}")]
    )
  )
  return {
    sampled: (figures) => {
      idle.unsafeUpdate(figures.idle, [])
      used.unsafeUpdate(figures.used, [])
      max.unsafeUpdate(figures.max, [])
      pending.unsafeUpdate(figures.waiting, [])
    },
    waited: (time) => wait.unsafeUpdate(time, []),
    timedOut: () => timeouts.unsafeUpdate(1, [])
  }
}
