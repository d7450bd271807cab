import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as FastCheck from "effect/FastCheck"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as Metric from "effect/Metric"
import * as Option from "effect/Option"
import * as TestClock from "effect/TestClock"
import * as CacheBackend from "../../../src/llm/CacheBackend.js"
import * as Embedder from "../../../src/llm/embedding/Embedder.js"
import * as EmbedderCache from "../../../src/llm/embedding/EmbedderCache.js"
import * as VectorCodec from "../../../src/llm/embedding/VectorCodec.js"
import * as CountingEmbedder from "../../support/CountingEmbedder.js"

const { vectorOf } = CountingEmbedder

const settle = Effect.forEach([1, 2, 3, 4, 5], () => Effect.yieldNow(), { discard: true })

const counter = (name: string) =>
  Effect.map(Metric.value(Metric.counter(name, { incremental: true })), (state) => state.count)

const counters = Effect.all([
  counter(EmbedderCache.METRIC_EMBEDDING_CACHE_HITS),
  counter(EmbedderCache.METRIC_EMBEDDING_CACHE_MISSES),
  counter(EmbedderCache.METRIC_EMBEDDING_CACHE_FAILURES)
])

/** What the counters rose by. */
const counted = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.gen(function* () {
    const before = yield* counters
    yield* effect
    const after = yield* counters
    return after.map((count, i) => count - before[i]!)
  })

type Build = (
  inner: CountingEmbedder.CountingEmbedder,
  options?: { readonly ttl?: number }
) => Effect.Effect<Embedder.Service>

/** What both caches do. */
const suite = (name: string, build: Build) =>
  describe(name, () => {
    it.effect("embeds a text once and returns vectors in the order of the texts", () =>
      Effect.gen(function* () {
        const inner = CountingEmbedder.make()
        const embedder = yield* build(inner)
        const texts = ["a", "__proto__", "a", ""]
        assert.deepStrictEqual(yield* embedder.embedMany(texts), texts.map(vectorOf))
        assert.deepStrictEqual(yield* embedder.embed("a"), vectorOf("a"))
        const more = ["b", "__proto__", "c", "a"]
        assert.deepStrictEqual(yield* embedder.embedMany(more), more.map(vectorOf))
        assert.deepStrictEqual(inner.calls, [
          ["a", "__proto__", ""],
          ["b", "c"]
        ])
        assert.deepInclude(embedder, { model: "counting", dimensions: 16 })
        assert.deepStrictEqual(yield* embedder.embedMany([]), [])
      })
    )

    it.effect("counts hits and misses", () =>
      Effect.gen(function* () {
        const embedder = yield* build(CountingEmbedder.make())
        assert.deepStrictEqual(yield* counted(embedder.embedMany(["a", "b", "a"])), [0, 2, 0])
        assert.deepStrictEqual(yield* counted(embedder.embedMany(["a", "b", "c"])), [2, 1, 0])
      })
    )

    it.effect("keeps a vector for its time to live", () =>
      Effect.gen(function* () {
        const inner = CountingEmbedder.make()
        const embedder = yield* build(inner, { ttl: 1000 })
        yield* embedder.embed("a")
        yield* TestClock.adjust(999)
        yield* embedder.embed("a")
        assert.lengthOf(inner.calls, 1)
        yield* TestClock.adjust(1)
        yield* embedder.embed("a")
        assert.lengthOf(inner.calls, 2)
      })
    )

    it.effect("shares one call between fibers for a missing text", () =>
      Effect.gen(function* () {
        const gate = yield* Deferred.make<void>()
        const inner = CountingEmbedder.make(() => Deferred.await(gate))
        const embedder = yield* build(inner)
        const fibers = yield* Effect.forEach([1, 2, 3], () => Effect.fork(embedder.embed("a")))
        yield* settle
        yield* Fiber.interrupt(fibers[0]!)
        yield* Deferred.succeed(gate, undefined)
        assert.deepStrictEqual(yield* Fiber.join(fibers[1]!), vectorOf("a"))
        assert.deepStrictEqual(yield* Fiber.join(fibers[2]!), vectorOf("a"))
        assert.deepStrictEqual([inner.calls, inner.interrupted()], [[["a"]], 0])
      })
    )

    it.effect("interrupts the call with the last waiter, and stores nothing", () =>
      Effect.gen(function* () {
        const inner = CountingEmbedder.make((_, call) => (call === 1 ? Effect.never : Effect.void))
        const embedder = yield* build(inner)
        const fibers = yield* Effect.forEach([1, 2], () => Effect.fork(embedder.embed("a")))
        yield* settle
        yield* Fiber.interruptAll(fibers)
        assert.deepStrictEqual([inner.running(), inner.interrupted()], [0, 1])
        assert.deepStrictEqual(yield* embedder.embed("a"), vectorOf("a"))
      })
    )

    it.effect("does not store failures", () =>
      Effect.gen(function* () {
        const inner = CountingEmbedder.make((_, call) =>
          call === 1 ? Effect.fail(CountingEmbedder.error(false)) : Effect.void
        )
        const embedder = yield* build(inner)
        assert.strictEqual((yield* Effect.flip(embedder.embed("a"))).message, "no vectors today")
        assert.deepStrictEqual(yield* embedder.embed("a"), vectorOf("a"))
      })
    )

    it.effect("embeds each text once for any calls", () =>
      Effect.promise(() => {
        const call = FastCheck.array(FastCheck.constantFrom("a", "b", "c", "d", "e"), { maxLength: 6 })
        return FastCheck.assert(
          FastCheck.asyncProperty(
            FastCheck.array(FastCheck.array(call, { maxLength: 4 }), { maxLength: 5 }),
            (rounds) =>
              Effect.runPromise(
                Effect.gen(function* () {
                  const inner = CountingEmbedder.make((texts) => Effect.repeatN(Effect.yieldNow(), texts.length))
                  const embedder = yield* build(inner)
                  for (const round of rounds) {
                    const fibers = yield* Effect.forEach(round, (texts) => Effect.fork(embedder.embedMany(texts)))
                    for (const [i, fiber] of fibers.entries()) {
                      assert.deepStrictEqual(yield* Fiber.join(fiber), round[i]!.map(vectorOf))
                    }
                  }
                  const all = inner.calls.flat()
                  assert.strictEqual(new Set(all).size, all.length)
                  assert.deepStrictEqual(new Set(all), new Set(rounds.flat(2)))
                })
              )
          ),
          { numRuns: 60 }
        )
      })
    )
  })

suite("wrap", (inner, options) => EmbedderCache.wrap(options)(inner.embedder))

const memory = CacheBackend.makeMemory()

suite("wrapBackend", (inner, options) =>
  Effect.flatMap(memory, (backend) =>
    EmbedderCache.wrapBackend(options)(inner.embedder).pipe(Effect.provideService(CacheBackend.CacheBackend, backend))
  ))

describe("wrap", () => {
  it.effect("evicts the least recently used first, by number and by bytes", () =>
    Effect.gen(function* () {
      const bytes = 3 * (16 * 4 + 256)
      for (const options of [{ capacity: 3 }, { maxBytes: bytes }]) {
        const inner = CountingEmbedder.make()
        const embedder = yield* EmbedderCache.wrap(options)(inner.embedder)
        yield* embedder.embedMany(["a", "b", "c"])
        yield* embedder.embed("a")
        yield* embedder.embed("d")
        yield* embedder.embedMany(["a", "c", "d"])
        assert.deepStrictEqual(inner.calls, [["a", "b", "c"], ["d"]])
        yield* embedder.embed("b")
        assert.deepStrictEqual(inner.calls, [["a", "b", "c"], ["d"], ["b"]])
      }
    })
  )

  it.effect("wraps the embedder below", () => {
    const inner = CountingEmbedder.make()
    return Effect.gen(function* () {
      yield* Embedder.embed("a")
      yield* Embedder.embed("a")
      assert.lengthOf(inner.calls, 1)
    }).pipe(Effect.provide(Layer.provide(EmbedderCache.layer(), Embedder.layer(inner.embedder))))
  })
})

describe("wrapBackend", () => {
  /** A backend whose values can be seen and changed, and how often it was asked. */
  const makeOpen = (first: (operation: "get" | "set") => Effect.Effect<void, CacheBackend.CacheBackendError>) => {
    const values = new Map<string, string>()
    const asked = { get: 0, set: 0 }
    const backend: CacheBackend.Service = {
      get: (key) =>
        Effect.suspend(() => {
          asked.get++
          return Effect.map(first("get"), () => Option.fromNullable(values.get(key)))
        }),
      set: (key, value) =>
        Effect.suspend(() => {
          asked.set++
          return Effect.map(first("set"), () => void values.set(key, value))
        }),
      delete: (key) => Effect.sync(() => void values.delete(key))
    }
    return { values, asked, backend }
  }
  const open = () => makeOpen(() => Effect.void)

  const over = (backend: CacheBackend.Service, embedder: Embedder.Service, options?: EmbedderCache.BackendOptions) =>
    EmbedderCache.wrapBackend(options)(embedder).pipe(Effect.provideService(CacheBackend.CacheBackend, backend))

  const quiet = Effect.provide(Logger.remove(Logger.defaultLogger))

  it.effect("stores vectors for later callers, under keys that reveal nothing of the text", () =>
    Effect.gen(function* () {
      const { backend, values } = open()
      const first = CountingEmbedder.make()
      yield* (yield* over(backend, first.embedder)).embedMany(["secret text", "b"])
      const second = CountingEmbedder.make()
      const later = yield* over(backend, second.embedder)
      assert.deepStrictEqual(yield* later.embed("secret text"), vectorOf("secret text"))
      assert.lengthOf(second.calls, 0)
      for (const [key, value] of values) {
        assert.match(key, /^embedding:[0-9a-f]{64}$/)
        // 16 floats of 4 bytes, three of which are four characters.
        assert.lengthOf(value, Math.ceil((16 * 4) / 3) * 4)
      }
    })
  )

  it.effect("separates models, dimensions and namespaces", () =>
    Effect.gen(function* () {
      const { backend, values } = open()
      const { embedder } = CountingEmbedder.make()
      yield* (yield* over(backend, embedder)).embed("a")
      yield* (yield* over(backend, { ...embedder, model: "other" })).embed("a")
      yield* (yield* over(backend, { ...embedder, dimensions: 8 })).embed("a")
      yield* (yield* over(backend, embedder, { namespace: "mine" })).embed("a")
      assert.strictEqual(values.size, 4)
      assert.isTrue(Array.from(values.keys()).some((key) => key.startsWith("mine:")))
    })
  )

  it.effect("replaces a value that is not a vector of the embedder", () =>
    Effect.gen(function* () {
      const { backend, values } = open()
      const inner = CountingEmbedder.make()
      const embedder = yield* over(backend, inner.embedder)
      yield* embedder.embed("a")
      const [key] = Array.from(values.keys())
      const good = values.get(key!)!
      const broken = [
        "",
        "not base64 at all",
        good.slice(0, -8),
        ` ${good}`,
        `${good}AAAA`,
        VectorCodec.toBase64(vectorOf("a").slice(1)),
        VectorCodec.toBase64(Float32Array.from(vectorOf("a"), (x) => 2 * x)),
        VectorCodec.toBase64(new Float32Array(16).fill(Number.NaN)),
        VectorCodec.toBase64(new Float32Array(16).fill(Number.POSITIVE_INFINITY))
      ]
      for (const [i, value] of broken.entries()) {
        values.set(key!, value)
        assert.deepStrictEqual(yield* counted(embedder.embed("a")), [0, 1, 1], value)
        assert.lengthOf(inner.calls, i + 2)
        assert.strictEqual(values.get(key!), good)
      }
    }).pipe(quiet)
  )

  it.effect("calls a failing backend once per call, which only log and metric show", () =>
    Effect.gen(function* () {
      const texts = Array.from({ length: 100 }, (_, i) => `t${i}`)
      const broken = makeOpen((operation) =>
        Effect.zipRight(
          Effect.yieldNow(),
          Effect.fail(new CacheBackend.CacheBackendError({ message: "down", operation }))
        )
      )
      const inner = CountingEmbedder.make()
      const embedder = yield* over(broken.backend, inner.embedder)
      const rises = yield* counted(
        Effect.map(embedder.embedMany(texts), (vectors) => assert.deepStrictEqual(vectors, texts.map(vectorOf)))
      )
      assert.deepStrictEqual(rises, [0, 100, 2])
      assert.isAtMost(broken.asked.get, 16)
      assert.isAtMost(broken.asked.set, 16)
      assert.deepStrictEqual(inner.calls, [texts])
    }).pipe(quiet)
  )

  it.effect("waits two seconds for a backend, or the configured time", () =>
    Effect.gen(function* () {
      for (const [options, millis] of [
        [undefined, 2000],
        [{ backendTimeout: 50 }, 50]
      ] as const) {
        const mute = makeOpen((operation) => (operation === "get" ? Effect.never : Effect.void))
        const embedder = yield* over(mute.backend, CountingEmbedder.make().embedder, options)
        const fiber = yield* Effect.fork(embedder.embedMany(["a", "b"]))
        yield* TestClock.adjust(millis - 1)
        assert.isNull(fiber.unsafePoll())
        yield* TestClock.adjust(1)
        assert.deepStrictEqual(yield* Fiber.join(fiber), ["a", "b"].map(vectorOf))
      }
    }).pipe(quiet)
  )

  it.effect("wraps the embedder below, on the backend in context", () => {
    const inner = CountingEmbedder.make()
    return Effect.gen(function* () {
      yield* Embedder.embed("a")
      yield* Embedder.embed("a")
      assert.lengthOf(inner.calls, 1)
    }).pipe(
      Effect.provide(
        Layer.provide(
          EmbedderCache.layerBackend(),
          Layer.merge(Embedder.layer(inner.embedder), CacheBackend.layerMemory())
        )
      )
    )
  })
})

describe("VectorCodec", () => {
  it("returns vectors bit by bit, in the byte order written", () => {
    assert.deepStrictEqual(Array.from(VectorCodec.toBytes(Float32Array.of(1, -2))), [0, 0, 128, 63, 0, 0, 0, 192])
    FastCheck.assert(
      FastCheck.property(FastCheck.float32Array(), (vector) => {
        assert.deepStrictEqual(VectorCodec.fromBase64(VectorCodec.toBase64(vector)), vector)
        const bytes = VectorCodec.toBytes(vector)
        const shifted = new Uint8Array(bytes.length + 1)
        shifted.set(bytes, 1)
        assert.deepStrictEqual(VectorCodec.fromBytes(shifted.subarray(1)), vector)
      })
    )
    assert.isUndefined(VectorCodec.fromBytes(new Uint8Array(3)))
    assert.isUndefined(VectorCodec.fromBase64("AAA"))
  })
})
