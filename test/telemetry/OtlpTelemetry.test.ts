import { inspect } from "node:util"
import * as FetchHttpClient from "@effect/platform/FetchHttpClient"
import { assert, describe, it } from "@effect/vitest"
import * as Cause from "effect/Cause"
import * as ConfigProvider from "effect/ConfigProvider"
import * as Deferred from "effect/Deferred"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as LogLevel from "effect/LogLevel"
import * as Metric from "effect/Metric"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import * as OtlpTelemetry from "../../src/telemetry/OtlpTelemetry.js"
import * as OtlpCollector from "../support/OtlpCollector.js"

class Refused extends Schema.TaggedError<Refused>()("Refused", { message: Schema.String }) {}

const work = Effect.gen(function* () {
  yield* Effect.log("working")
  yield* Metric.increment(Metric.counter("otlp_test_work", { incremental: true }))
  yield* Effect.withSpan(Effect.void, "inner")
}).pipe(Effect.withSpan("outer"), Effect.provide(Logger.remove(Logger.defaultLogger)))

/** What the loggers were told, as whoever prints everything would print it. */
const logged = () => {
  const lines: Array<string> = []
  const logger = Logger.make(({ annotations, cause, message }) => {
    lines.push(`${inspect([message, Array.from(annotations), cause], { depth: 20 })} ${Cause.pretty(cause)}`)
  })
  return {
    lines,
    layer: Logger.replace(Logger.defaultLogger, logger).pipe(Layer.merge(Logger.minimumLogLevel(LogLevel.All)))
  }
}

describe("OtlpTelemetry", () => {
  it.scopedLive("sends spans, metrics and logs when the program ends", () =>
    Effect.gen(function* () {
      const collector = yield* OtlpCollector.make()
      yield* Effect.provide(
        work,
        OtlpTelemetry.layerFetch({
          baseUrl: `${collector.baseUrl}/`,
          serviceName: "agents",
          serviceVersion: "1.2.3",
          attributes: { "deployment.environment.name": "test", shard: 3 },
          headers: { "x-api-key": Redacted.make("key-one"), "x-plain": "two" },
          protocol: "json"
        })
      )
      assert.sameMembers(
        collector.requests.map(({ path }) => path),
        ["/v1/traces", "/v1/metrics", "/v1/logs"]
      )
      const [tree, ...others] = OtlpCollector.trees(collector.spans())
      assert.lengthOf(others, 0)
      assert.deepStrictEqual([tree?.span.name, tree?.children.map(({ span }) => span.name)], ["outer", ["inner"]])
      assert.isAtLeast(collector.metrics().get("otlp_test_work").sum.dataPoints[0].asDouble, 1)
      assert.include(JSON.stringify(collector.logs()), "working")
      assert.strictEqual(collector.logs()[0].traceId, tree?.span.traceId)
      assert.deepStrictEqual(collector.resource(), {
        "service.name": "agents",
        "service.version": "1.2.3",
        "deployment.environment.name": "test",
        shard: 3
      })
      for (const { headers } of collector.requests) {
        assert.deepInclude(headers, { "x-api-key": "key-one", "x-plain": "two", "content-type": "application/json" })
      }
    })
  )

  it.scopedLive("uses protobuf by default, through the client in context", () =>
    Effect.gen(function* () {
      const collector = yield* OtlpCollector.make()
      yield* work.pipe(
        Effect.provide(
          OtlpTelemetry.layer({ baseUrl: collector.baseUrl, serviceName: "agents" }).pipe(
            Layer.provide(FetchHttpClient.layer)
          )
        )
      )
      assert.lengthOf(collector.requests, 3)
      for (const { body, headers } of collector.requests) {
        assert.strictEqual(headers["content-type"], "application/x-protobuf")
        assert.include(body.toString("latin1"), "agents")
      }
    })
  )

  it.scopedLive("sends at intervals and when a batch is full, and only the configured signals", () =>
    Effect.gen(function* () {
      const got = yield* Deferred.make<void>()
      const collector = yield* OtlpCollector.make((_request, response) => {
        response.end("{}")
        Deferred.unsafeDone(got, Effect.void)
      })
      const options = { baseUrl: collector.baseUrl, serviceName: "a", protocol: "json" } as const
      yield* Effect.provide(
        Effect.zipRight(work, Deferred.await(got)),
        OtlpTelemetry.layerFetch({ ...options, signals: ["traces"], maxBatchSize: 2, exportInterval: "1 hour" })
      )
      assert.deepStrictEqual(
        collector.requests.map(({ path }) => path),
        ["/v1/traces"]
      )
      assert.lengthOf(collector.spans(), 2)
      const again = yield* Deferred.make<void>()
      const second = yield* OtlpCollector.make((_request, response) => {
        response.end("{}")
        Deferred.unsafeDone(again, Effect.void)
      })
      yield* Effect.provide(
        Effect.zipRight(work, Deferred.await(again)),
        OtlpTelemetry.layerFetch({
          ...options,
          baseUrl: second.baseUrl,
          signals: ["metrics"],
          metricsInterval: "5 millis",
          exportInterval: "1 hour"
        })
      )
      assert.isTrue(second.requests.length >= 1 && second.requests.every(({ path }) => path === "/v1/metrics"))
    })
  )

  it.scopedLive("exports the exception of a failed span, and the interruption of an interrupted one", () =>
    Effect.gen(function* () {
      const collector = yield* OtlpCollector.make()
      yield* Effect.gen(function* () {
        yield* Effect.exit(Effect.withSpan(Effect.fail(new Refused({ message: "no" })), "failed"))
        const fiber = yield* Effect.fork(Effect.withSpan(Effect.never, "interrupted"))
        yield* Effect.yieldNow()
        yield* Fiber.interrupt(fiber)
        yield* Effect.withSpan(Effect.void, "fine")
      }).pipe(
        Effect.provide(
          OtlpTelemetry.layerFetch({
            baseUrl: collector.baseUrl,
            serviceName: "a",
            protocol: "json",
            signals: ["traces"]
          })
        )
      )
      const spans = new Map(collector.spans().map((span) => [span.name, span]))
      assert.deepInclude(spans.get("failed"), { status: { code: 2, message: "no" } })
      assert.strictEqual(spans.get("failed")?.events[0]?.name, "exception")
      assert.notProperty(spans.get("failed")?.attributes, "status.interrupted")
      assert.deepInclude(spans.get("interrupted"), { status: { code: 2, message: "interrupted" }, events: [] })
      assert.strictEqual(spans.get("interrupted")?.attributes["status.interrupted"], true)
      assert.deepInclude(spans.get("fine"), { status: { code: 1 } })
      assert.notProperty(spans.get("fine")?.attributes, "status.interrupted")
    })
  )

  it.scopedLive("exports units as units of the metric, not as attributes", () =>
    Effect.gen(function* () {
      const collector = yield* OtlpCollector.make()
      const inKitchen = Metric.gauge("otlp_test_kitchen").pipe(Metric.tagged("unit", "kitchen"))
      yield* Effect.zipRight(
        Metric.update(Metric.timer("otlp_test_timer"), Duration.millis(5)),
        Metric.set(inKitchen, 3)
      ).pipe(
        Effect.provide(
          OtlpTelemetry.layerFetch({
            baseUrl: collector.baseUrl,
            serviceName: "a",
            protocol: "json",
            signals: ["metrics"]
          })
        )
      )
      const timer = collector.metrics().get("otlp_test_timer")
      assert.strictEqual(timer.unit, "milliseconds")
      assert.deepStrictEqual(timer.histogram.dataPoints[0].attributes, [])
      const [point] = collector.metrics().get("otlp_test_kitchen").gauge.dataPoints
      assert.deepStrictEqual(point.attributes, [{ key: "unit", value: { stringValue: "kitchen" } }])
    })
  )

  const secret = "otlp-key-7731-aa90"
  const closed = Effect.map(Effect.scoped(OtlpCollector.make()), ({ baseUrl }) => baseUrl)

  it.scopedLive("logs an unreachable collector once, without headers", () =>
    Effect.gen(function* () {
      const { layer, lines } = logged()
      yield* Effect.forEach(Array.from({ length: 100 }), () => Effect.zipRight(Effect.yieldNow(), work)).pipe(
        Effect.zipRight(Effect.sleep("100 millis")),
        Effect.provide(
          OtlpTelemetry.layerFetch({
            baseUrl: yield* closed,
            serviceName: "a",
            signals: ["traces"],
            headers: { "x-api-key": Redacted.make(secret) },
            exportInterval: "5 millis",
            maxBatchSize: 10,
            shutdownTimeout: "300 millis"
          }).pipe(Layer.provideMerge(layer))
        )
      )
      assert.lengthOf(
        lines.filter((line) => line.includes("telemetry cannot be exported")),
        1
      )
      for (const line of lines) assert.notInclude(line, secret)
    })
  )

  it.scopedLive("delays neither the work nor, for long, the end for a hanging collector", () =>
    Effect.gen(function* () {
      const { layer, lines } = logged()
      const collector = yield* OtlpCollector.make(() => {})
      yield* Effect.forEach(Array.from({ length: 500 }), () => Effect.zipRight(Effect.yieldNow(), work)).pipe(
        Effect.zipRight(Effect.sleep("50 millis")),
        Effect.provide(
          OtlpTelemetry.layerFetch({
            baseUrl: collector.baseUrl,
            serviceName: "a",
            headers: { "x-api-key": Redacted.make(secret) },
            exportInterval: "5 millis",
            maxBatchSize: 1,
            shutdownTimeout: "300 millis"
          }).pipe(Layer.provideMerge(layer))
        )
      )
      // No more than so many wait at a time: the others were dropped, which the log says.
      assert.isAtMost(collector.requests.length, 8)
      assert.isTrue(lines.some((line) => line.includes("too many batches")))
      for (const line of lines) assert.notInclude(line, secret)
    })
  )

  it.scopedLive("logs a refusing collector once, without headers", () =>
    Effect.gen(function* () {
      const { layer, lines } = logged()
      const collector = yield* OtlpCollector.make(({ headers }, response) => {
        response.writeHead(401, { "x-echo": headers["x-api-key"] })
        response.end(`bad key ${headers["x-api-key"]}`)
      })
      yield* work.pipe(
        Effect.zipRight(Effect.sleep("100 millis")),
        Effect.provide(
          OtlpTelemetry.layerFetch({
            baseUrl: collector.baseUrl,
            serviceName: "a",
            signals: ["traces"],
            headers: { "x-api-key": Redacted.make(secret) },
            exportInterval: "5 millis"
          }).pipe(Layer.provideMerge(layer))
        )
      )
      assert.lengthOf(
        lines.filter((line) => line.includes("status 401")),
        1
      )
      for (const line of lines) assert.notInclude(line, secret)
    })
  )

  it.scopedLive("delivers a batch in flight when the program ends", () =>
    Effect.gen(function* () {
      const began = yield* Deferred.make<void>()
      const collector = yield* OtlpCollector.make((_request, response) => {
        Deferred.unsafeDone(began, Effect.void)
        setTimeout(() => response.end("{}"), 50)
      })
      const { layer, lines } = logged()
      yield* work.pipe(
        Effect.zipRight(Deferred.await(began)),
        Effect.provide(
          OtlpTelemetry.layerFetch({
            baseUrl: collector.baseUrl,
            serviceName: "a",
            protocol: "json",
            signals: ["traces"],
            maxBatchSize: 1,
            exportInterval: "1 hour"
          }).pipe(Layer.provideMerge(layer))
        )
      )
      assert.sameMembers(
        collector.spans().map(({ name }) => name),
        ["inner", "outer"]
      )
      assert.isFalse(lines.some((line) => line.includes("telemetry")))
    })
  )

  describe("config", () => {
    const read = (variables: Record<string, string>) =>
      Effect.withConfigProvider(OtlpTelemetry.config, ConfigProvider.fromMap(new Map(Object.entries(variables))))

    it.effect("has the standard defaults", () =>
      Effect.gen(function* () {
        assert.deepInclude(Option.getOrThrow(yield* read({})), {
          baseUrl: "http://localhost:4318",
          serviceName: "unknown_service",
          protocol: "protobuf",
          headers: {},
          attributes: {},
          signals: ["traces", "metrics", "logs"]
        })
      })
    )

    it.effect("reads every variable", () =>
      Effect.gen(function* () {
        const options = Option.getOrThrow(
          yield* read({
            OTEL_EXPORTER_OTLP_ENDPOINT: "https://otlp.example.com/tenant",
            OTEL_EXPORTER_OTLP_HEADERS: "authorization=Bearer%20abc%3D, x-b = 2 ,",
            OTEL_EXPORTER_OTLP_PROTOCOL: "http/json",
            OTEL_EXPORTER_OTLP_TIMEOUT: "250",
            OTEL_METRIC_EXPORT_INTERVAL: "60000",
            OTEL_RESOURCE_ATTRIBUTES: "service.name=from-attributes,service.version=2,team=a%2Cb",
            OTEL_LOGS_EXPORTER: "none"
          })
        )
        const { headers, ...rest } = options
        assert.deepStrictEqual(
          Object.entries(headers ?? {}).map(([name, value]) => [
            name,
            Redacted.isRedacted(value) && Redacted.value(value)
          ]),
          [
            ["authorization", "Bearer abc="],
            ["x-b", "2"]
          ]
        )
        assert.deepStrictEqual(rest, {
          baseUrl: "https://otlp.example.com/tenant",
          protocol: "json",
          timeout: 250,
          metricsInterval: 60_000,
          serviceName: "from-attributes",
          serviceVersion: "2",
          attributes: { team: "a,b" },
          signals: ["traces", "metrics"]
        })
        const named = yield* read({ OTEL_SERVICE_NAME: "own", OTEL_RESOURCE_ATTRIBUTES: "service.name=other" })
        assert.strictEqual(Option.getOrThrow(named).serviceName, "own")
        assert.isTrue(Option.isNone(yield* read({ OTEL_SDK_DISABLED: "true" })))
      })
    )

    it.effect("rejects an invalid configuration without quoting it", () =>
      Effect.gen(function* () {
        for (const variables of [
          { OTEL_EXPORTER_OTLP_HEADERS: secret },
          { OTEL_EXPORTER_OTLP_HEADERS: `x=%zz${secret}` },
          { OTEL_EXPORTER_OTLP_HEADERS: `=${secret}` },
          { OTEL_EXPORTER_OTLP_PROTOCOL: "grpc" },
          { OTEL_EXPORTER_OTLP_ENDPOINT: "not a url" },
          { OTEL_EXPORTER_OTLP_TIMEOUT: "soon" },
          { OTEL_SDK_DISABLED: "perhaps" }
        ]) {
          const error = yield* Effect.flip(read(variables))
          assert.include(String(error), Object.keys(variables)[0]!)
          assert.notInclude(String(error), secret)
        }
      })
    )

    it.scopedLive("makes a layer", () =>
      Effect.gen(function* () {
        const collector = yield* OtlpCollector.make()
        const variables = new Map([
          ["OTEL_EXPORTER_OTLP_ENDPOINT", collector.baseUrl],
          ["OTEL_EXPORTER_OTLP_PROTOCOL", "http/json"],
          ["OTEL_SERVICE_NAME", "by-config"],
          ["OTEL_RESOURCE_ATTRIBUTES", "service.name=other,team=a"],
          ["OTEL_METRICS_EXPORTER", "none"]
        ])
        const provider = Layer.setConfigProvider(ConfigProvider.fromMap(variables))
        yield* Effect.provide(work, OtlpTelemetry.layerConfigFetch.pipe(Layer.provide(provider)))
        assert.sameMembers(
          collector.requests.map(({ path }) => path),
          ["/v1/traces", "/v1/logs"]
        )
        const resource = JSON.parse(collector.requests[0]!.body.toString("utf8"))
        const attributes = (resource.resourceSpans ?? resource.resourceLogs)[0].resource.attributes
        assert.deepStrictEqual(attributes.map(({ key }: { key: string }) => key).sort(), ["service.name", "team"])
        assert.deepStrictEqual(collector.resource(), { "service.name": "by-config", team: "a" })
      })
    )

    it.scopedLive("makes no layer when everything is disabled", () =>
      Effect.gen(function* () {
        const collector = yield* OtlpCollector.make()
        const variables = new Map([
          ["OTEL_EXPORTER_OTLP_ENDPOINT", collector.baseUrl],
          ["OTEL_SDK_DISABLED", "true"]
        ])
        const provider = Layer.setConfigProvider(ConfigProvider.fromMap(variables))
        yield* Effect.provide(work, OtlpTelemetry.layerConfigFetch.pipe(Layer.provide(provider)))
        assert.lengthOf(collector.requests, 0)
      })
    )
  })
})
