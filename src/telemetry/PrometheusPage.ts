/**
 * Page with all metrics of the process for Prometheus: those of agents, of the application, and Effect's own.
 *
 * @since 0.1.0
 */
import type * as HttpApp from "@effect/platform/HttpApp"
import * as HttpMiddleware from "@effect/platform/HttpMiddleware"
import * as HttpRouter from "@effect/platform/HttpRouter"
import * as HttpServer from "@effect/platform/HttpServer"
import * as HttpServerRequest from "@effect/platform/HttpServerRequest"
import * as HttpServerResponse from "@effect/platform/HttpServerResponse"
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import * as Metric from "effect/Metric"
import * as PrometheusText from "./PrometheusText.js"

const page = (format: PrometheusText.Format): Effect.Effect<string> =>
  Effect.sync(() => PrometheusText.format(Metric.unsafeSnapshot(), format))

/**
 * Renders the page in Prometheus text format, version 0.0.4. Counters end in `_total`; histograms have buckets, sums
 * and counts; a unit in a label `unit` or `time_unit` becomes a suffix of the name. Families and series have a stable
 * order.
 *
 * @since 0.1.0
 * @category rendering
 */
export const render: Effect.Effect<string> = page("text")

/**
 * Renders the page in OpenMetrics 1.0.0.
 *
 * @since 0.1.0
 * @category rendering
 */
export const renderOpenMetrics: Effect.Effect<string> = page("openmetrics")

/** Quality of a media type in an `Accept` header, from 0 to 1. */
const weight = (accept: string, type: string): number => {
  for (const part of accept.slice(0, 4096).split(",")) {
    const [name, ...parameters] = part.split(";").map((text) => text.trim().toLowerCase())
    if (name !== type) continue
    const q = Number(parameters.find((parameter) => parameter.startsWith("q="))?.slice(2) ?? "1")
    return q >= 0 && q <= 1 ? q : 0
  }
  return 0
}

const openMetrics = "application/openmetrics-text"

/**
 * Answers every request with the page: a handler for a route of the application. Uses OpenMetrics if the client prefers
 * it.
 *
 * @since 0.1.0
 * @category apps
 */
export const app: HttpApp.Default = Effect.flatMap(HttpServerRequest.HttpServerRequest, ({ headers }) => {
  const accept = headers["accept"] ?? ""
  const wanted = weight(accept, openMetrics)
  const isOpen = wanted > 0 && wanted >= weight(accept, "text/plain")
  const contentType = isOpen
    ? `${openMetrics}; version=1.0.0; charset=utf-8`
    : "text/plain; version=0.0.4; charset=utf-8"
  return Effect.map(isOpen ? renderOpenMetrics : render, (text) => HttpServerResponse.text(text, { contentType }))
})

/**
 * Serves only the page on its own server, which determines the port. Scrapes create no spans.
 *
 * @example
 * ```ts
 * import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
 * import * as Layer from "effect/Layer"
 * import { createServer } from "node:http"
 * import { PrometheusPage } from "effect-lexigram/telemetry"
 *
 * const metrics = PrometheusPage.layer().pipe(Layer.provide(NodeHttpServer.layer(createServer, { port: 9464 })))
 * ```
 *
 * @since 0.1.0
 * @category layers
 */
export const layer = (options?: {
  /** Default `/metrics`. */
  readonly path?: HttpRouter.PathInput | undefined
}): Layer.Layer<never, never, HttpServer.HttpServer> =>
  HttpRouter.empty.pipe(
    HttpRouter.get(options?.path ?? "/metrics", app),
    HttpServer.serve(),
    HttpMiddleware.withTracerDisabledWhen(() => true)
  )
