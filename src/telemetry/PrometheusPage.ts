/**
 * A page with all metrics of the process for Prometheus to scrape: those of the agents, of the application, and
 * Effect's own.
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
 * The page in Prometheus's text format, version 0.0.4. Counters end in `_total`, histograms have their buckets, sums
 * and counts, units that a label `unit` or `time_unit` names end the name. Families and series stand in a stable order.
 *
 * @since 0.1.0
 * @category rendering
 */
export const render: Effect.Effect<string> = page("text")

/**
 * The page in OpenMetrics 1.0.0.
 *
 * @since 0.1.0
 * @category rendering
 */
export const renderOpenMetrics: Effect.Effect<string> = page("openmetrics")

/** How much a header wants a media type, from 0 to 1. */
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
 * Answers with the page, whatever was asked for: a handler for a route of one's own. OpenMetrics for whom asks for it
 * first.
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
 * Serves the page, and nothing else, on a server of its own; the server says on which port. Scrapes leave no spans.
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
