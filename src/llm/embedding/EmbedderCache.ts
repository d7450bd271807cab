/**
 * Caches the vectors of texts: in this process, or in a shared `CacheBackend`.
 *
 * @since 0.1.0
 */
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import * as Metric from "effect/Metric"
import * as Option from "effect/Option"
import * as Deadline from "../../internal/fiber/Deadline.js"
import * as Parallel from "../../internal/fiber/Parallel.js"
import * as CanonicalJson from "../../internal/text/CanonicalJson.js"
import * as CacheBackend from "../CacheBackend.js"
import * as Embedder from "./Embedder.js"
import * as EmbeddingFlights from "./EmbeddingFlights.js"
import * as VectorCodec from "./VectorCodec.js"

/**
 * @since 0.1.0
 * @category models
 */
export interface Options {
  /** The maximum number of vectors; default 10,000. The least recently used is evicted first. */
  readonly capacity?: number | undefined
  /** The maximum bytes of all vectors; default 64 MiB. */
  readonly maxBytes?: number | undefined
  /** How long a vector is kept; default: until there is no room. */
  readonly ttl?: Duration.DurationInput | undefined
}

/**
 * @since 0.1.0
 * @category models
 */
export interface BackendOptions {
  /** How long a vector is kept; default: until the backend evicts it. */
  readonly ttl?: Duration.DurationInput | undefined
  /** The prefix of every key; default `embedding`. */
  readonly namespace?: string | undefined
  /** A backend call that takes longer counts as failed; default 2 seconds. */
  readonly backendTimeout?: Duration.DurationInput | undefined
}

/**
 * @since 0.1.0
 * @category constants
 */
export const defaults = { capacity: 10_000, maxBytes: 64 * 1024 * 1024 } as const

/**
 * Texts whose vector was cached.
 *
 * @since 0.1.0
 * @category constants
 */
export const METRIC_EMBEDDING_CACHE_HITS = "llm.embedding.cache.hits"
/**
 * Texts whose vector was not cached.
 *
 * @since 0.1.0
 * @category constants
 */
export const METRIC_EMBEDDING_CACHE_MISSES = "llm.embedding.cache.misses"
/**
 * Failures of the backend and unreadable entries.
 *
 * @since 0.1.0
 * @category constants
 */
export const METRIC_EMBEDDING_CACHE_FAILURES = "llm.embedding.cache.failures"

const hits = Metric.counter(METRIC_EMBEDDING_CACHE_HITS, { incremental: true })
const misses = Metric.counter(METRIC_EMBEDDING_CACHE_MISSES, { incremental: true })
const failures = Metric.counter(METRIC_EMBEDDING_CACHE_FAILURES, { incremental: true })

/** The overhead of an entry besides its vector: key, object, place in the map. */
const overhead = 256

const wrapped = (inner: Embedder.Service, embedMany: Embedder.Service["embedMany"]): Embedder.Service => ({
  model: inner.model,
  dimensions: inner.dimensions,
  embed: (text) => Effect.map(embedMany([text]), (vectors) => vectors[0] as Embedder.Vector),
  embedMany
})

class Vectors {
  // A Map keeps the order of insertion: reading an entry inserts it again, so the first one is the oldest.
  private readonly entries = new Map<string, { readonly vector: Embedder.Vector; readonly expiresAt: number }>()
  private bytes = 0

  constructor(
    private readonly capacity: number,
    private readonly maxBytes: number
  ) {}

  get(key: string, now: number): Embedder.Vector | undefined {
    const entry = this.entries.get(key)
    if (entry === undefined) return undefined
    if (entry.expiresAt <= now) {
      this.remove(key)
      return undefined
    }
    this.entries.delete(key)
    this.entries.set(key, entry)
    return entry.vector
  }

  set(key: string, vector: Embedder.Vector, expiresAt: number): void {
    this.remove(key)
    this.entries.set(key, { vector, expiresAt })
    this.bytes += vector.byteLength + overhead
    for (const oldest of this.entries.keys()) {
      if (this.entries.size <= this.capacity && this.bytes <= this.maxBytes) break
      this.remove(oldest)
    }
  }

  private remove(key: string): void {
    const entry = this.entries.get(key)
    if (entry === undefined) return
    this.entries.delete(key)
    this.bytes -= entry.vector.byteLength + overhead
  }
}

/**
 * Caches in this process, by the SHA-256 of the text. A missing text that several fibers want is embedded once.
 * Failures are not cached.
 *
 * @since 0.1.0
 * @category combinators
 */
export const wrap =
  (options?: Options | undefined) =>
  (inner: Embedder.Service): Effect.Effect<Embedder.Service> =>
    Effect.sync(() => {
      const ttl = options?.ttl === undefined ? Number.POSITIVE_INFINITY : Duration.toMillis(options.ttl)
      const kept = new Vectors(options?.capacity ?? defaults.capacity, options?.maxBytes ?? defaults.maxBytes)

      const fly = EmbeddingFlights.make({
        send: (texts) =>
          Effect.zipWith(inner.embedMany(texts), Clock.currentTimeMillis, (vectors, now) => {
            for (const [i, vector] of vectors.entries()) {
              kept.set(CanonicalJson.hash(texts[i]), vector, now + ttl)
            }
            return vectors
          })
      })

      return wrapped(inner, (texts) =>
        Effect.flatMap(Clock.currentTimeMillis, (now) => {
          const found = new Map<string, Embedder.Vector>()
          const missing = new Set<string>()
          for (const text of texts) {
            if (found.has(text) || missing.has(text)) continue
            const vector = kept.get(CanonicalJson.hash(text), now)
            if (vector === undefined) missing.add(text)
            else found.set(text, vector)
          }
          hits.unsafeUpdate(found.size, [])
          misses.unsafeUpdate(missing.size, [])
          const asked = Array.from(missing)
          return Effect.map(fly(asked), (vectors) => {
            for (const [i, text] of asked.entries()) found.set(text, vectors[i] as Embedder.Vector)
            return texts.map((text) => found.get(text) as Embedder.Vector)
          })
        })
      )
    })

/**
 * @example
 * ```ts
 * import { EmbedderCache, HashingEmbedder } from "effect-lexigram/llm"
 * import * as Layer from "effect/Layer"
 *
 * const embedder = EmbedderCache.layer({ capacity: 50_000, ttl: "1 day" }).pipe(
 *   Layer.provide(HashingEmbedder.layer())
 * )
 * ```
 *
 * @since 0.1.0
 * @category layers
 */
export const layer = (options?: Options | undefined): Layer.Layer<Embedder.Embedder, never, Embedder.Embedder> =>
  Embedder.layerWrapped(wrap(options))

const warn = (message: string, error?: CacheBackend.CacheBackendError | undefined): Effect.Effect<void> =>
  Effect.suspend(() => {
    failures.unsafeUpdate(1, [])
    return Effect.logWarning(message, ...(error === undefined ? [] : [error])).pipe(
      Effect.annotateLogs({ module: "EmbedderCache" })
    )
  })

/** Concurrent operations on a backend. */
const concurrency = 16
/** The tolerated deviation from norm 1 of a vector that is not zero. */
const tolerance = 1e-3

const isVector = (vector: Float32Array | undefined, dimensions: number): vector is Embedder.Vector => {
  if (vector?.length !== dimensions) return false
  let sum = 0
  for (const value of vector) sum += value * value
  return sum === 0 || Math.abs(sum - 1) < tolerance
}

/**
 * Caches in a `CacheBackend`, by model, dimensions and text. Vectors of another model are never read. Unreadable values
 * and backends that fail or do not answer are logged, counted and treated as absent; for the rest of such a call the
 * backend is skipped. A text that several fibers want at once is looked up and embedded once.
 *
 * @since 0.1.0
 * @category combinators
 */
export const wrapBackend =
  (options?: BackendOptions | undefined) =>
  (inner: Embedder.Service): Effect.Effect<Embedder.Service, never, CacheBackend.CacheBackend> =>
    Effect.map(CacheBackend.CacheBackend, (backend) => {
      const { dimensions, model } = inner
      const namespace = options?.namespace ?? "embedding"
      const whole = Duration.toMillis(options?.backendTimeout ?? "2 seconds")
      const keyOf = (text: string) => `${namespace}:${CanonicalJson.hash({ model, dimensions, text })}`

      /**
       * One operation per text, until one fails: `otherwise` is the result of that one and of those not yet started.
       */
      const each = <A, B>(
        items: ReadonlyArray<A>,
        operation: CacheBackend.CacheBackendError["operation"],
        message: string,
        otherwise: B,
        f: (item: A) => Effect.Effect<B, CacheBackend.CacheBackendError>
      ): Effect.Effect<ReadonlyArray<B>> =>
        Effect.suspend(() => {
          let hasFailed = false
          const limited = (item: A) =>
            Deadline.run(() => f(item), {
              whole,
              onTimeout: (_, limit) =>
                new CacheBackend.CacheBackendError({
                  message: `The cache did not answer within ${limit} ms`,
                  operation
                })
            })
          return Parallel.forEach(
            items,
            (item) =>
              hasFailed
                ? Effect.succeed(otherwise)
                : Effect.catchAll(limited(item), (error) => {
                    if (hasFailed) return Effect.succeed(otherwise)
                    hasFailed = true
                    return Effect.as(warn(message, error), otherwise)
                  }),
            concurrency
          )
        })

      const load = (text: string): Effect.Effect<Embedder.Vector | undefined, CacheBackend.CacheBackendError> =>
        Effect.flatMap(backend.get(keyOf(text)), (value) => {
          if (Option.isNone(value)) return Effect.succeed(undefined)
          const vector = VectorCodec.fromBase64(value.value)
          if (isVector(vector, dimensions)) return Effect.succeed(vector)
          return Effect.as(warn("A cached vector is unreadable and is ignored"), undefined)
        })

      const send = Effect.fnUntraced(function* (texts: ReadonlyArray<string>) {
        const loaded = yield* each(texts, "get", "The cache could not be read", undefined, load)
        const missing = texts.filter((_, i) => loaded[i] === undefined)
        hits.unsafeUpdate(texts.length - missing.length, [])
        misses.unsafeUpdate(missing.length, [])
        if (missing.length === 0) return loaded as ReadonlyArray<Embedder.Vector>
        const made = yield* inner.embedMany(missing)
        yield* each(Array.from(missing.entries()), "set", "The cache could not be written", undefined, ([i, text]) =>
          backend.set(keyOf(text), VectorCodec.toBase64(made[i] as Embedder.Vector), { ttl: options?.ttl })
        )
        let next = 0
        return loaded.map((vector) => vector ?? (made[next++] as Embedder.Vector))
      })

      return wrapped(inner, EmbeddingFlights.make({ send }))
    })

/**
 * @since 0.1.0
 * @category layers
 */
export const layerBackend = (
  options?: BackendOptions | undefined
): Layer.Layer<Embedder.Embedder, never, Embedder.Embedder | CacheBackend.CacheBackend> =>
  Embedder.layerWrapped(wrapBackend(options))
