/**
 * Traces, metrics and logs over OTLP, the protocol of OpenTelemetry, without its SDK: every collector and most back
 * ends take them.
 *
 * @since 0.1.0
 */
export * as OtlpTelemetry from "./OtlpTelemetry.js"

/**
 * A page with all metrics of the process for Prometheus to scrape: those of the agents, of the application, and
 * Effect's own.
 *
 * @since 0.1.0
 */
export * as PrometheusPage from "./PrometheusPage.js"
