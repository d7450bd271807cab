/**
 * Exports traces, metrics and logs over OTLP, the OpenTelemetry protocol, without its SDK. Every collector and most
 * backends accept it.
 *
 * @since 0.1.0
 */
export * as OtlpTelemetry from "./OtlpTelemetry.js"

/**
 * Page with all metrics of the process for Prometheus: those of agents, of the application, and Effect's own.
 *
 * @since 0.1.0
 */
export * as PrometheusPage from "./PrometheusPage.js"
