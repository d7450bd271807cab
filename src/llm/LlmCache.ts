/**
 * Caches answers by request, on a `CacheBackend`. Concurrent calls with equal requests share one call.
 *
 * The wrappers of this folder, from the outside in: cache, fallback, retry, limits, timeout, client. A hit then costs
 * no permit; a fallback follows the retries of each client; each attempt has its own limits and timeout. Redaction of
 * requests goes outside the cache, so that no secret is stored.
 *
 * ```ts
 * import { LlmCache, LlmLimits, LlmRetry, LlmTimeout } from "effect-lexigram"
 * import { OfflineModel } from "effect-lexigram/offline"
 * import * as Layer from "effect/Layer"
 *
 * const model = LlmCache.layer({ ttl: "1 hour" }).pipe(
 *   Layer.provide(LlmRetry.layer()),
 *   Layer.provide(LlmLimits.layer({ concurrency: 8 })),
 *   Layer.provide(LlmTimeout.layer({ whole: "60 seconds" })),
 *   Layer.provide(OfflineModel.layer())
 * )
 * ```
 *
 * @since 0.1.0
 */
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import type * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import type * as Layer from "effect/Layer"
import * as Metric from "effect/Metric"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import type * as Usage from "../domain/Usage.js"
import * as Deadline from "../internal/fiber/Deadline.js"
import * as CanonicalJson from "../internal/text/CanonicalJson.js"
import * as CacheBackend from "./CacheBackend.js"
import * as CallMeter from "./model/CallMeter.js"
import * as LlmClient from "./model/LlmClient.js"
import type { LlmError } from "./model/LlmError.js"
import * as LlmGateway from "./model/LlmGateway.js"
import * as LlmResponseSchema from "./model/LlmResponseSchema.js"

/**
 * @since 0.1.0
 * @category models
 */
export interface Options {
  /** How long an answer is kept; default: until the backend evicts it. */
  readonly ttl?: Duration.DurationInput | undefined
  /** The prefix of every key; default `llm`. */
  readonly namespace?: string | undefined
  /** The key of a request; default: the SHA-256 of provider, model and the whole request. */
  readonly keyOf?: ((request: LlmClient.LlmRequest, client: LlmClient.Service) => string) | undefined
  /** Which requests are cached; default: those with repeatable answers, that is temperature 0 or a seed. */
  readonly onlyWhen?: ((request: LlmClient.LlmRequest) => boolean) | undefined
  /** Caches every request; `onlyWhen` overrides it. */
  readonly always?: boolean | undefined
  /** A backend call that takes longer counts as failed; default 2 seconds. */
  readonly backendTimeout?: Duration.DurationInput | undefined
}

/**
 * @since 0.1.0
 * @category constants
 */
export const METRIC_LLM_CACHE_HITS = "llm.cache.hits"
/**
 * @since 0.1.0
 * @category constants
 */
export const METRIC_LLM_CACHE_MISSES = "llm.cache.misses"
/**
 * Failures of the backend and unreadable entries.
 *
 * @since 0.1.0
 * @category constants
 */
export const METRIC_LLM_CACHE_FAILURES = "llm.cache.failures"

const hits = Metric.counter(METRIC_LLM_CACHE_HITS, { incremental: true })
const misses = Metric.counter(METRIC_LLM_CACHE_MISSES, { incremental: true })
const failures = Metric.counter(METRIC_LLM_CACHE_FAILURES, { incremental: true })

/**
 * True for an answer without cost, from the cache or from another caller's equal request. Its `usage` is zero, so that
 * nothing is counted twice; `metadata.cachedUsage` has the original usage of the model.
 *
 * @since 0.1.0
 * @category guards
 */
export const isCached = (response: LlmClient.LlmResponse): boolean => response.metadata?.["cached"] === true

const noUsage: Usage.Usage = { inputTokens: 0, outputTokens: 0, totalTokens: 0 }

const asCached = (response: LlmClient.LlmResponse): LlmClient.LlmResponse => ({
  ...response,
  usage: noUsage,
  metadata: { ...response.metadata, cached: true, cachedUsage: response.usage }
})

const isDeterministic = (request: LlmClient.LlmRequest): boolean =>
  request.settings?.temperature === 0 || request.settings?.seed !== undefined

/** Only complete answers: a model that stopped for another reason may answer better next time. */
const isWhole = (response: LlmClient.LlmResponse): boolean =>
  response.finishReason === "stop" || response.finishReason === "tool-calls" || response.finishReason === "length"

const decode = Schema.decodeUnknownEither(LlmResponseSchema.LlmResponseJson)
const encode = Schema.encodeEither(LlmResponseSchema.LlmResponseJson)

const warn = (message: string, error?: CacheBackend.CacheBackendError | undefined): Effect.Effect<void> =>
  Effect.suspend(() => {
    failures.unsafeUpdate(1, [])
    return Effect.logWarning(message, ...(error === undefined ? [] : [error])).pipe(
      Effect.annotateLogs({ module: "LlmCache" })
    )
  })

/** One call and its waiters. It keeps its parts, so that each waiter reads them at its own pace. */
class Flight {
  readonly parts: Array<LlmClient.LlmPart> = []
  exit: Exit.Exit<{ readonly response: LlmClient.LlmResponse; readonly hit: boolean }, LlmError> | undefined
  fiber: Fiber.RuntimeFiber<unknown, unknown> | undefined
  waiters = 0
  /** The requests sent for it. */
  readonly requests: Array<LlmClient.SentRequest> = []
  private paid = false
  private listeners: Array<() => void> = []

  notify(): void {
    const listeners = this.listeners
    this.listeners = []
    for (const listener of listeners) listener()
  }

  /** Ends when there are more than `seen` parts, or when the call has ended. */
  readonly changed = (seen: number): Effect.Effect<void> =>
    Effect.async<void>((resume) => {
      if (this.exit !== undefined || this.parts.length > seen) return resume(Effect.void)
      const wake = () => resume(Effect.void)
      this.listeners.push(wake)
      return Effect.sync(() => {
        this.listeners = this.listeners.filter((listener) => listener !== wake)
      })
    })

  /** True for exactly one waiter, which receives the usage of the call. */
  pay(meter: LlmClient.Meter | undefined): boolean {
    if (this.paid) return false
    this.paid = true
    for (const request of this.requests) meter?.sent(request)
    return true
  }

  readonly follow = ({ meter, onParts }: LlmClient.CompleteOptions): Effect.Effect<LlmClient.LlmResponse, LlmError> =>
    Effect.suspend(() => {
      let seen = 0
      let payer: boolean | undefined
      const price = (part: LlmClient.LlmPart): LlmClient.LlmPart => {
        if (part.type !== "finish") return part
        payer ??= this.pay(meter)
        return payer ? part : { ...part, usage: noUsage }
      }
      const end = (): Effect.Effect<LlmClient.LlmResponse, LlmError> =>
        Effect.flatMap(this.exit!, ({ hit, response }) => {
          payer ??= !hit && this.pay(meter)
          const mine = payer ? response : asCached(response)
          return onParts !== undefined && seen === 0
            ? Effect.as(onParts(LlmClient.partsOf(mine)), mine)
            : Effect.succeed(mine)
        })
      const next: Effect.Effect<LlmClient.LlmResponse, LlmError> = Effect.suspend(() => {
        if (onParts !== undefined && this.parts.length > seen) {
          const chunk = this.parts.slice(seen)
          seen = this.parts.length
          return Effect.zipRight(onParts(chunk.map(price)), next)
        }
        if (this.exit !== undefined) return end()
        return Effect.zipRight(this.changed(onParts === undefined ? Number.POSITIVE_INFINITY : seen), next)
      })
      return next
    })
}

/** One cached client: its backend, and the running calls by key. */
interface Cache {
  readonly inner: LlmClient.Service
  readonly backend: CacheBackend.Service
  readonly ttl: Options["ttl"]
  readonly timeoutMs: number
  readonly flights: Map<string, Flight>
}

const limited = <A>(
  { timeoutMs }: Cache,
  operation: CacheBackend.CacheBackendError["operation"],
  effect: Effect.Effect<A, CacheBackend.CacheBackendError>
): Effect.Effect<A, CacheBackend.CacheBackendError> =>
  Deadline.run(() => effect, {
    whole: timeoutMs,
    onTimeout: (_, limit) =>
      new CacheBackend.CacheBackendError({ message: `The cache did not answer within ${limit} ms`, operation })
  })

const load = (cache: Cache, key: string): Effect.Effect<LlmClient.LlmResponse | undefined> =>
  limited(cache, "get", cache.backend.get(key)).pipe(
    Effect.flatMap(
      Option.match({
        onNone: () => Effect.succeed(undefined),
        onSome: (text) => {
          const response = decode(text)
          return Either.isRight(response)
            ? Effect.succeed(response.right)
            : Effect.as(warn("A cached answer is unreadable and is ignored"), undefined)
        }
      })
    ),
    Effect.catchAll((error) => Effect.as(warn("The cache could not be read", error), undefined))
  )

const store = (cache: Cache, key: string, response: LlmClient.LlmResponse): Effect.Effect<void> => {
  const text = encode(response)
  if (Either.isLeft(text)) return warn("An answer cannot be encoded for the cache")
  return limited(cache, "set", cache.backend.set(key, text.right, { ttl: cache.ttl })).pipe(
    Effect.catchAll((error) => warn("The cache could not be written", error))
  )
}

/** Starts a call that callers with the same key can join. */
const start = (
  cache: Cache,
  key: string,
  request: LlmClient.LlmRequest,
  options: LlmClient.CompleteOptions | undefined
): Effect.Effect<Flight> => {
  const flight = new Flight()
  cache.flights.set(key, flight)
  const onParts: LlmClient.OnParts = (parts) =>
    Effect.sync(() => {
      for (const part of parts) flight.parts.push(part)
      flight.notify()
    })
  const own: LlmClient.CompleteOptions = {
    ...options,
    meter: { sent: (request) => void flight.requests.push(request) },
    ...(options?.onParts === undefined ? {} : { onParts })
  }
  const call = Effect.gen(function* () {
    const cached = yield* load(cache, key)
    if (cached !== undefined) {
      hits.unsafeUpdate(1, [])
      return { response: cached, hit: true }
    }
    misses.unsafeUpdate(1, [])
    const response = yield* cache.inner.complete(request, own)
    if (isWhole(response)) yield* store(cache, key, response)
    return { response, hit: false }
  })
  const ended = Effect.onExit(call, (exit) =>
    Effect.sync(() => {
      flight.exit = exit
      if (cache.flights.get(key) === flight) cache.flights.delete(key)
      flight.notify()
    })
  )
  // The caller's region is uninterruptible here, and a fork would inherit that.
  return Effect.map(Effect.forkDaemon(Effect.interruptible(ended)), (fiber) => {
    flight.fiber = fiber
    return flight
  })
}

/** The last caller to leave pays for a call that was cut off or failed, and interrupts one that is still running. */
const leave = (
  { flights }: Cache,
  key: string,
  flight: Flight,
  meter: LlmClient.Meter | undefined
): Effect.Effect<void> =>
  Effect.suspend(() => {
    flight.waiters--
    if (flight.waiters > 0) return Effect.void
    const settle = Effect.sync(() => void flight.pay(meter))
    if (flight.exit !== undefined || flight.fiber === undefined) return settle
    if (flights.get(key) === flight) flights.delete(key)
    return Effect.zipRight(Fiber.interrupt(flight.fiber), settle)
  })

/** Joins the call of a key, or starts it, and waits for its answer. */
const join = (
  cache: Cache,
  key: string,
  request: LlmClient.LlmRequest,
  options: LlmClient.CompleteOptions | undefined,
  restore: <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>
): Effect.Effect<LlmClient.LlmResponse, LlmError> => {
  const joined = cache.flights.get(key)
  return Effect.flatMap(
    joined === undefined ? start(cache, key, request, options) : Effect.succeed(joined),
    (flight) => {
      flight.waiters++
      return Effect.ensuring(restore(flight.follow(options ?? {})), leave(cache, key, flight, options?.meter))
    }
  )
}

/**
 * Answers equal requests from the backend. A hit is streamed as `partsOf(response)`. Failures are never cached;
 * failures of the backend and unreadable entries are logged, counted, and treated as absent.
 *
 * Concurrent callers with equal requests share one call: it runs while at least one of them waits, is interrupted with
 * the last one, and its usage is reported to one of them. If the first caller streams, the others receive parts as they
 * arrive too, each at its own pace; otherwise they receive them at the end.
 *
 * @since 0.1.0
 * @category combinators
 */
export const wrap =
  (options?: Options | undefined) =>
  (given: LlmClient.Service): Effect.Effect<LlmClient.Service, never, CacheBackend.CacheBackend> =>
    Effect.map(CacheBackend.CacheBackend, (backend) => {
      const inner = CallMeter.metered(given)
      const namespace = options?.namespace ?? "llm"
      const accepts = options?.onlyWhen ?? (options?.always === true ? () => true : isDeterministic)
      const timeoutMs = Duration.toMillis(options?.backendTimeout ?? "2 seconds")
      const cache: Cache = { inner, backend, ttl: options?.ttl, timeoutMs, flights: new Map() }
      const keyOf =
        options?.keyOf ??
        ((request: LlmClient.LlmRequest) =>
          CanonicalJson.hash({ provider: inner.provider, model: request.settings?.model ?? inner.model, request }))
      return {
        provider: inner.provider,
        model: inner.model,
        metered: true,
        complete: (request, completeOptions) => {
          if (!accepts(request)) return inner.complete(request, completeOptions)
          return Effect.uninterruptibleMask((restore) =>
            Effect.flatMap(Effect.either(Effect.try(() => `${namespace}:${keyOf(request, inner)}`)), (key) =>
              Either.isLeft(key)
                ? Effect.zipRight(
                    warn("A request has no key and is not cached"),
                    restore(inner.complete(request, completeOptions))
                  )
                : join(cache, key.right, request, completeOptions, restore)
            )
          )
        }
      }
    })

/**
 * @since 0.1.0
 * @category layers
 * @example
 * ```ts
 * import * as NodeKeyValueStore from "@effect/platform-node/NodeKeyValueStore"
 * import { CacheBackend, LlmCache } from "effect-lexigram"
 * import { OfflineModel } from "effect-lexigram/offline"
 * import * as Layer from "effect/Layer"
 *
 * // Answers stay in a folder for a day, also those at a temperature above 0.
 * const model = LlmCache.layer({ ttl: "1 day", always: true }).pipe(
 *   Layer.provide([CacheBackend.layerKeyValueStore(), OfflineModel.layer()]),
 *   Layer.provide(NodeKeyValueStore.layerFileSystem("cache"))
 * )
 * ```
 */
export const layer = (
  options?: Options | undefined
): Layer.Layer<LlmClient.LlmClient, never, LlmClient.LlmClient | CacheBackend.CacheBackend> =>
  LlmGateway.layerWrapped(wrap(options))
