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
  /** Where the collector is, without `/v1/traces` and the like: `http://localhost:4318`. */
  readonly baseUrl: string
  readonly serviceName: string
  readonly serviceVersion?: string | undefined
  /** What else is said of the service: `deployment.environment.name` and such. */
  readonly attributes?: { readonly [name: string]: string | number | boolean } | undefined
  /** Sent with every request; keys belong here. */
  readonly headers?: { readonly [name: string]: string | Redacted.Redacted<string> } | undefined
  /** Default `protobuf`. */
  readonly protocol?: "json" | "protobuf" | undefined
  /** What is exported; default all three. */
  readonly signals?: ReadonlyArray<Signal> | undefined
  /** How often spans and logs are sent; default 5 s. */
  readonly exportInterval?: Duration.DurationInput | undefined
  /** How often metrics are sent; default 10 s. */
  readonly metricsInterval?: Duration.DurationInput | undefined
  /** Spans or logs that are sent at once without waiting for their interval; default 1,000. */
  readonly maxBatchSize?: number | undefined
  /** Time for one request; default 10 s. */
  readonly timeout?: Duration.DurationInput | undefined
  /** How long the end of the program waits for what is not sent yet; default 3 s. */
  readonly shutdownTimeout?: Duration.DurationInput | undefined
}
