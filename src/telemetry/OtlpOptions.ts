/**
 * Options of the OTLP export.
 *
 * @private
 * @since 0.1.0
 */
import type * as Duration from "effect/Duration"
import type * as Redacted from "effect/Redacted"

/**
 * @since 0.1.0
 * @category models
 */
export type Signal = "traces" | "metrics" | "logs"

/**
 * @since 0.1.0
 * @category models
 */
export interface Options {
  /** Base URL of the collector, without `/v1/traces` and the like: `http://localhost:4318`. */
  readonly baseUrl: string
  readonly serviceName: string
  readonly serviceVersion?: string | undefined
  /** Further resource attributes of the service, such as `deployment.environment.name`. */
  readonly attributes?: { readonly [name: string]: string | number | boolean } | undefined
  /** Sent with every request; API keys belong here. */
  readonly headers?: { readonly [name: string]: string | Redacted.Redacted<string> } | undefined
  /** Default `protobuf`. */
  readonly protocol?: "json" | "protobuf" | undefined
  /** Exported signals; default all three. */
  readonly signals?: ReadonlyArray<Signal> | undefined
  /** Interval between exports of spans and logs; default 5 s. */
  readonly exportInterval?: Duration.DurationInput | undefined
  /** Interval between exports of metrics; default 10 s. */
  readonly metricsInterval?: Duration.DurationInput | undefined
  /** Number of spans or logs that are sent without waiting for the interval; default 1,000. */
  readonly maxBatchSize?: number | undefined
  /** Timeout of one request; default 10 s. */
  readonly timeout?: Duration.DurationInput | undefined
  /** Time the program waits at its end for unsent data; default 3 s. */
  readonly shutdownTimeout?: Duration.DurationInput | undefined
}
