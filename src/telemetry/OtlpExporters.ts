/**
 * Assembles Effect's OTLP exporters: bounded, corrected, and closed in parallel.
 *
 * @private
 * @since 0.1.0
 */
import * as OtlpLogger from "@effect/opentelemetry/OtlpLogger"
import * as OtlpMetrics from "@effect/opentelemetry/OtlpMetrics"
import * as OtlpSerialization from "@effect/opentelemetry/OtlpSerialization"
import * as OtlpTracer from "@effect/opentelemetry/OtlpTracer"
import * as HttpClient from "@effect/platform/HttpClient"
import * as ConfigProvider from "effect/ConfigProvider"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as ExecutionStrategy from "effect/ExecutionStrategy"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as Option from "effect/Option"
import * as Scope from "effect/Scope"
import * as SameOriginHttp from "../internal/SameOriginHttp.js"
import * as OtlpClient from "./OtlpClient.js"
import type { Options, Signal } from "./OtlpOptions.js"
import * as OtlpShape from "./OtlpShape.js"

/** `OtlpResource` also reads the environment, and would add every attribute twice. */
const noEnvironment = ConfigProvider.fromMap(new Map())

/**
 * The layer used by `OtlpTelemetry.layer`.
 */
export const layer = (
  options: Options,
  signals: ReadonlyArray<Signal>
): Layer.Layer<never, never, HttpClient.HttpClient> => {
  const protocol = options.protocol ?? "protobuf"
  const shutdownTimeout = Duration.decode(options.shutdownTimeout ?? Duration.seconds(3))
  const base = options.baseUrl.replace(/\/{1,8}$/, "")
  const optionsOf = (signal: Signal) => ({
    url: `${base}/v1/${signal}`,
    resource: {
      serviceName: options.serviceName,
      serviceVersion: options.serviceVersion,
      attributes: { ...options.attributes }
    },
    exportInterval:
      signal === "metrics"
        ? (options.metricsInterval ?? Duration.seconds(10))
        : (options.exportInterval ?? Duration.seconds(5)),
    maxBatchSize: options.maxBatchSize,
    shutdownTimeout
  })
  const exporting = Effect.gen(function* () {
    const own = yield* Effect.scope
    const { client, settle } = yield* OtlpClient.make(yield* SameOriginHttp.make, {
      headers: options.headers ?? {},
      timeout: Duration.decode(options.timeout ?? Duration.seconds(10))
    })
    // Closes the exporters in parallel, so the end takes as long as the slowest one.
    const all = yield* Scope.fork(own, ExecutionStrategy.parallel)
    const within = <A, R>(effect: Effect.Effect<A, never, R>) =>
      Effect.flatMap(Scope.fork(all, ExecutionStrategy.sequential), (scope) => Scope.extend(effect, scope))
    yield* within(Effect.addFinalizer(() => settle.pipe(Effect.interruptible, Effect.timeoutOption(shutdownTimeout))))
    const exporter = <A>(
      signal: Signal,
      make: Effect.Effect<A, never, HttpClient.HttpClient | OtlpSerialization.OtlpSerialization | Scope.Scope>
    ) =>
      signals.includes(signal)
        ? Effect.asSome(within(Effect.provideService(make, HttpClient.HttpClient, client)))
        : Effect.succeedNone
    const tracer = yield* exporter("traces", OtlpTracer.make(optionsOf("traces")))
    const logger = yield* exporter("logs", OtlpLogger.make(optionsOf("logs")))
    yield* exporter("metrics", OtlpMetrics.make(optionsOf("metrics")))
    return Layer.mergeAll(
      Option.match(tracer, { onNone: () => Layer.empty, onSome: Layer.setTracer }),
      Option.match(logger, { onNone: () => Layer.empty, onSome: Logger.add })
    )
  })
  const serialization = protocol === "json" ? OtlpSerialization.layerJson : OtlpSerialization.layerProtobuf
  return Layer.unwrapScoped(Effect.withConfigProvider(exporting, noEnvironment)).pipe(
    Layer.provide(OtlpShape.layer.pipe(Layer.provide(serialization)))
  )
}
