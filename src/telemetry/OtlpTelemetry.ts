/**
 * Exports traces, metrics and logs over OTLP, the OpenTelemetry protocol, without its SDK. Every collector and most
 * backends accept it.
 *
 * Spans and logs are Effect's, so everything the application traces is exported, not only its agents. An unreachable,
 * hanging or refusing collector never delays a run: what it does not accept is dropped, and logged once. Needs the
 * package `@effect/opentelemetry`.
 *
 * @since 0.1.0
 */
import * as FetchHttpClient from "@effect/platform/FetchHttpClient"
import type * as HttpClient from "@effect/platform/HttpClient"
import * as Config from "effect/Config"
import * as ConfigError from "effect/ConfigError"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import type { Options, Signal } from "./OtlpOptions.js"

export type { Options, Signal } from "./OtlpOptions.js"

const allSignals: ReadonlyArray<Signal> = ["traces", "metrics", "logs"]

/**
 * Exports through the client in context. At its end it sends the remaining data, all signals at once, and waits at most
 * `shutdownTimeout`.
 *
 * @example
 * ```ts
 * import * as FetchHttpClient from "@effect/platform/FetchHttpClient"
 * import * as Layer from "effect/Layer"
 * import * as Redacted from "effect/Redacted"
 * import { OtlpTelemetry } from "effect-lexigram/telemetry"
 *
 * const telemetry = OtlpTelemetry.layer({
 *   baseUrl: "https://otlp.example.com",
 *   serviceName: "support-agents",
 *   headers: { "x-api-key": Redacted.make("…") }
 * }).pipe(Layer.provide(FetchHttpClient.layer))
 * ```
 *
 * @since 0.1.0
 * @category layers
 */
export const layer = (options: Options): Layer.Layer<never, never, HttpClient.HttpClient> =>
  Layer.unwrapEffect(
    // Loaded on demand: the package is optional, and the Prometheus page does not need it.
    Effect.map(
      Effect.orDieWith(
        Effect.tryPromise(() => import("./OtlpExporters.js")),
        // A missing package is a broken installation, not a failure to handle.
        ({ cause }) => new Error("OtlpTelemetry needs the package @effect/opentelemetry: install it", { cause })
      ),
      (exporters) => exporters.layer(options, options.signals ?? allSignals)
    )
  )

/**
 * Like `layer`, over the platform's `fetch`.
 *
 * @since 0.1.0
 * @category layers
 */
export const layerFetch = (options: Options): Layer.Layer<never> => Layer.provide(layer(options), FetchHttpClient.layer)

const malformed = (name: string): ConfigError.ConfigError =>
  // Omits the value: it may contain keys.
  ConfigError.InvalidData([name], "Expected name=value, separated by commas, values percent-encoded")

const decoded = (text: string): string | undefined => {
  try {
    return decodeURIComponent(text.trim())
  } catch {
    return undefined
  }
}

const pairs = (name: string, text: string): Either.Either<Record<string, string>, ConfigError.ConfigError> => {
  const result = new Map<string, string>()
  for (const part of text.split(",")) {
    if (part.trim() === "") continue
    const at = part.indexOf("=")
    const key = at === -1 ? undefined : decoded(part.slice(0, at))
    const value = decoded(part.slice(at + 1))
    if (key === undefined || key === "" || value === undefined) return Either.left(malformed(name))
    result.set(key, value)
  }
  return Either.right(Object.fromEntries(result))
}

const protocols = (text: string): "json" | "protobuf" | undefined =>
  text === "http/json" ? "json" : text === "http/protobuf" ? "protobuf" : undefined

/**
 * Reads OpenTelemetry's standard variables; `None` if `OTEL_SDK_DISABLED` is true.
 *
 * `OTEL_EXPORTER_OTLP_ENDPOINT` (default `http://localhost:4318`), `OTEL_EXPORTER_OTLP_HEADERS`,
 * `OTEL_EXPORTER_OTLP_PROTOCOL` (`http/protobuf` or `http/json`), `OTEL_EXPORTER_OTLP_TIMEOUT` (milliseconds),
 * `OTEL_SERVICE_NAME` and `OTEL_SERVICE_VERSION` (override those among the attributes; default `unknown_service`),
 * `OTEL_RESOURCE_ATTRIBUTES`, `OTEL_METRIC_EXPORT_INTERVAL` (milliseconds), and `none` for `OTEL_TRACES_EXPORTER`,
 * `OTEL_METRICS_EXPORTER` or `OTEL_LOGS_EXPORTER`.
 *
 * @since 0.1.0
 * @category config
 */
export const config: Config.Config<Option.Option<Options>> = Config.all({
  disabled: Config.boolean("OTEL_SDK_DISABLED").pipe(Config.withDefault(false)),
  baseUrl: Config.url("OTEL_EXPORTER_OTLP_ENDPOINT").pipe(
    Config.map((url) => url.href),
    Config.withDefault("http://localhost:4318")
  ),
  headers: Config.redacted("OTEL_EXPORTER_OTLP_HEADERS").pipe(
    Config.mapOrFail((text) => pairs("OTEL_EXPORTER_OTLP_HEADERS", Redacted.value(text))),
    Config.map((headers) =>
      Object.fromEntries(Object.entries(headers).map(([key, value]) => [key, Redacted.make(value)]))
    ),
    Config.withDefault({})
  ),
  protocol: Config.string("OTEL_EXPORTER_OTLP_PROTOCOL").pipe(
    Config.mapOrFail((text) =>
      Either.fromNullable(protocols(text.trim()), () =>
        ConfigError.InvalidData(["OTEL_EXPORTER_OTLP_PROTOCOL"], "Expected http/protobuf or http/json")
      )
    ),
    Config.withDefault("protobuf" as const)
  ),
  timeout: Config.option(Config.integer("OTEL_EXPORTER_OTLP_TIMEOUT")),
  metricsInterval: Config.option(Config.integer("OTEL_METRIC_EXPORT_INTERVAL")),
  serviceName: Config.option(Config.nonEmptyString("OTEL_SERVICE_NAME")),
  serviceVersion: Config.option(Config.nonEmptyString("OTEL_SERVICE_VERSION")),
  attributes: Config.string("OTEL_RESOURCE_ATTRIBUTES").pipe(
    Config.mapOrFail((text) => pairs("OTEL_RESOURCE_ATTRIBUTES", text)),
    Config.withDefault({} as Record<string, string>)
  ),
  exporters: Config.all({
    traces: Config.string("OTEL_TRACES_EXPORTER").pipe(Config.withDefault("otlp")),
    metrics: Config.string("OTEL_METRICS_EXPORTER").pipe(Config.withDefault("otlp")),
    logs: Config.string("OTEL_LOGS_EXPORTER").pipe(Config.withDefault("otlp"))
  })
}).pipe(
  Config.map(
    ({ attributes, baseUrl, disabled, exporters, headers, metricsInterval, protocol, timeout, ...service }) => {
      if (disabled) return Option.none()
      const { "service.name": name, "service.version": version, ...rest } = attributes
      return Option.some<Options>({
        baseUrl,
        headers,
        protocol,
        serviceName: Option.getOrUndefined(service.serviceName) ?? name ?? "unknown_service",
        serviceVersion: Option.getOrUndefined(service.serviceVersion) ?? version,
        attributes: rest,
        signals: allSignals.filter((signal) => exporters[signal] !== "none"),
        timeout: Option.getOrUndefined(timeout),
        metricsInterval: Option.getOrUndefined(metricsInterval)
      })
    }
  )
)

/**
 * Exports as the environment configures, see `config`.
 *
 * @since 0.1.0
 * @category layers
 */
export const layerConfig: Layer.Layer<never, ConfigError.ConfigError, HttpClient.HttpClient> = Layer.unwrapEffect(
  Effect.map(config, Option.match({ onNone: () => Layer.empty, onSome: layer }))
)

/**
 * Like `layerConfig`, over the platform's `fetch`.
 *
 * @since 0.1.0
 * @category layers
 */
export const layerConfigFetch: Layer.Layer<never, ConfigError.ConfigError> = Layer.provide(
  layerConfig,
  FetchHttpClient.layer
)
