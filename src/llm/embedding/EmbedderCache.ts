/**
 * Vectors kept for texts that were embedded before: in this process, or in a `CacheBackend` that others share.
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
  /** Vectors at most; 10,000 unless set. The one that was used least recently goes first. */
  readonly capacity?: number | undefined
  /** Bytes of all vectors at most; 64 MiB unless set. */
  readonly maxBytes?: number | undefined
  /** How long a vector is kept; without it, until there is no room. */
  readonly ttl?: Duration.DurationInput | undefined
}

/**
 * @since 0.1.0
 * @category models
 */
export interface BackendOptions {
  /** How long a vector is kept; without it, until the backend evicts it. */
  readonly ttl?: Duration.DurationInput | undefined
  /** Stands before every key; `embedding` unless set. */
  readonly namespace?: string | undefined
  /** A backend that takes longer (2 seconds) counts as failed. */
  readonly backendTimeout?: Duration.DurationInput | undefined
}

/**
 * @since 0.1.0
 * @category constants
 */
export const defaults = { capacity: 10_000, maxBytes: 64 * 1024 * 1024 } as const

/**
 * Texts whose vector was there.
 *
 * @since 0.1.0
 * @category constants
 */
export const METRIC_EMBEDDING_CACHE_HITS = "llm.embedding.cache.hits"
/**
 * Texts whose vector had to be made.
 *
 * @since 0.1.0
 * @category constants
 */
export const METRIC_EMBEDDING_CACHE_MISSES = "llm.embedding.cache.misses"
/**
 * Failures of the backend and entries that could not be read.
 *
 * @since 0.1.0
 * @category constants
 */
export const METRIC_EMBEDDING_CACHE_FAILURES = "llm.embedding.cache.failures"

const hits = Metric.counter(METRIC_EMBEDDING_CACHE_HITS, { incremental: true })
const misses = Metric.counter(METRIC_EMBEDDING_CACHE_MISSES, { incremental: true })
const failures = Metric.counter(METRIC_EMBEDDING_CACHE_FAILURES, { incremental: true })

/** Of an entry, beside its vector: key, object, place in the map. */
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
 * In this process, by the SHA-256 of the text. A text that several fibers want and nobody has is embedded once.
 * Failures are not kept.
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

/** Operations of a backend at a time. */
const concurrency = 16
/** How far the length of a vector that is no zero may be from 1. */
const tolerance = 1e-3

const isVector = (vector: Float32Array | undefined, dimensions: number): vector is Embedder.Vector => {
  if (vector?.length !== dimensions) return false
  let sum = 0
  for (const value of vector) sum += value * value
  return sum === 0 || Math.abs(sum - 1) < tolerance
}

/**
 * In a `CacheBackend`, by model, dimensions and text. What was kept by another model is never read. A value that cannot
 * be read, and a backend that fails or does not answer, are logged, counted and treated as absent; in the rest of such
 * a call the backend is not asked again. A text that several fibers want at a time is looked up and embedded once.
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

      /** One operation a text, until one fails: then `otherwise` stands for it and for those that were not begun. */
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
          return Effect.as(warn("A cached vector cannot be read and is ignored"), undefined)
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
