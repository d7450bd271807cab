import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as FastCheck from "effect/FastCheck"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as TestClock from "effect/TestClock"
import * as TestContext from "effect/TestContext"
import * as Embedder from "../../../src/llm/embedding/Embedder.js"
import * as EmbedderBatch from "../../../src/llm/embedding/EmbedderBatch.js"
import * as CountingEmbedder from "../../support/CountingEmbedder.js"

const { vectorOf } = CountingEmbedder

const start = (inner: CountingEmbedder.CountingEmbedder, options?: EmbedderBatch.Options) =>
  EmbedderBatch.wrap(options)(inner.embedder)

const settle = Effect.forEach([1, 2, 3, 4, 5], () => Effect.yieldNow(), { discard: true })

describe("wrap", () => {
  it.effect("combines texts of many fibers after the window, and returns each its own", () =>
    Effect.gen(function* () {
      const inner = CountingEmbedder.make()
      const embedder = yield* start(inner, { window: "10 millis" })
      const fibers = yield* Effect.forEach(["a", "b", "c"], (text) => Effect.fork(embedder.embed(text)))
      const many = yield* Effect.fork(embedder.embedMany(["d", "a", "d"]))
      yield* TestClock.adjust("9 millis")
      assert.deepStrictEqual(inner.calls, [])
      yield* TestClock.adjust("1 millis")
      assert.deepStrictEqual(yield* Effect.forEach(fibers, Fiber.join), ["a", "b", "c"].map(vectorOf))
      assert.deepStrictEqual(yield* Fiber.join(many), ["d", "a", "d"].map(vectorOf))
      assert.deepStrictEqual(inner.calls, [["a", "b", "c", "d"]])
    })
  )

  it.effect("defaults to 5 milliseconds and 128 texts", () =>
    Effect.gen(function* () {
      const inner = CountingEmbedder.make()
      const embedder = yield* start(inner)
      const waiting = yield* Effect.fork(embedder.embed("a"))
      yield* TestClock.adjust("4 millis")
      assert.lengthOf(inner.calls, 0)
      yield* TestClock.adjust("1 millis")
      yield* Fiber.join(waiting)
      const texts = Array.from({ length: 128 }, (_, i) => `t${i}`)
      yield* embedder.embedMany(texts)
      assert.deepStrictEqual(inner.calls, [["a"], texts])
    })
  )

  it.effect("sends a full batch at once, while later texts wait for their own window", () =>
    Effect.gen(function* () {
      const inner = CountingEmbedder.make()
      const embedder = yield* start(inner, { window: "1 minute", maxBatchSize: 2 })
      const first = yield* Effect.fork(embedder.embed("a"))
      yield* settle
      yield* embedder.embed("b")
      yield* Fiber.join(first)
      assert.deepStrictEqual(inner.calls, [["a", "b"]])
      yield* TestClock.adjust("30 seconds")
      const second = yield* Effect.fork(embedder.embed("c"))
      yield* TestClock.adjust("30 seconds")
      assert.lengthOf(inner.calls, 1)
      yield* TestClock.adjust("30 seconds")
      yield* Fiber.join(second)
      assert.deepStrictEqual(inner.calls, [["a", "b"], ["c"]])
    })
  )

  it.effect("joins a text that is being embedded, and sends a finished one again", () =>
    Effect.gen(function* () {
      const gate = yield* Deferred.make<void>()
      const inner = CountingEmbedder.make((_, call) => (call === 1 ? Deferred.await(gate) : Effect.void))
      const embedder = yield* start(inner, { maxBatchSize: 1 })
      const first = yield* Effect.fork(embedder.embed("a"))
      yield* settle
      const second = yield* Effect.fork(embedder.embedMany(["b", "a"]))
      yield* settle
      assert.deepStrictEqual(inner.calls, [["a"], ["b"]])
      yield* Deferred.succeed(gate, undefined)
      assert.deepStrictEqual(yield* Fiber.join(first), vectorOf("a"))
      assert.deepStrictEqual(yield* Fiber.join(second), [vectorOf("b"), vectorOf("a")])
      yield* embedder.embed("a")
      assert.deepStrictEqual(inner.calls, [["a"], ["b"], ["a"]])
    })
  )

  it.effect("drops the texts that only an interrupted caller wanted before departure", () =>
    Effect.gen(function* () {
      const inner = CountingEmbedder.make()
      const embedder = yield* start(inner, { window: "10 millis" })
      const leaving = yield* Effect.fork(embedder.embedMany(["a", "b"]))
      const staying = yield* Effect.fork(embedder.embedMany(["b", "c"]))
      yield* settle
      yield* Fiber.interrupt(leaving)
      yield* TestClock.adjust("10 millis")
      assert.deepStrictEqual(yield* Fiber.join(staying), [vectorOf("b"), vectorOf("c")])
      assert.deepStrictEqual(inner.calls, [["b", "c"]])
    })
  )

  it.effect("sends nothing when everybody left before departure", () =>
    Effect.gen(function* () {
      const inner = CountingEmbedder.make()
      const embedder = yield* start(inner, { window: "10 millis" })
      const fibers = yield* Effect.forEach(["a", "b"], (text) => Effect.fork(embedder.embed(text)))
      yield* settle
      yield* Fiber.interruptAll(fibers)
      yield* TestClock.adjust("1 minute")
      assert.deepStrictEqual(inner.calls, [])
      const again = yield* Effect.fork(embedder.embed("a"))
      yield* TestClock.adjust("10 millis")
      assert.deepStrictEqual(yield* Fiber.join(again), vectorOf("a"))
    })
  )

  it.effect("keeps a request running for one waiter, and interrupts it with the last one", () =>
    Effect.gen(function* () {
      const inner = CountingEmbedder.make(() => Effect.never)
      const embedder = yield* start(inner, { maxBatchSize: 2 })
      const one = yield* Effect.fork(embedder.embed("a"))
      yield* settle
      const two = yield* Effect.fork(embedder.embed("b"))
      yield* settle
      assert.strictEqual(inner.running(), 1)
      yield* Fiber.interrupt(one)
      yield* settle
      assert.deepStrictEqual([inner.running(), inner.interrupted()], [1, 0])
      yield* Fiber.interrupt(two)
      assert.deepStrictEqual([inner.running(), inner.interrupted()], [0, 1])
    })
  )

  it.effect("gives a newcomer the running request for a text whose only waiter left", () =>
    Effect.gen(function* () {
      const gate = yield* Deferred.make<void>()
      const inner = CountingEmbedder.make(() => Deferred.await(gate))
      const embedder = yield* start(inner, { maxBatchSize: 2 })
      const one = yield* Effect.fork(embedder.embed("a"))
      yield* settle
      const two = yield* Effect.fork(embedder.embed("b"))
      yield* settle
      yield* Fiber.interrupt(one)
      const three = yield* Effect.fork(embedder.embed("a"))
      yield* settle
      yield* Fiber.interrupt(two)
      yield* Deferred.succeed(gate, undefined)
      assert.deepStrictEqual(yield* Fiber.join(three), vectorOf("a"))
      assert.lengthOf(inner.calls, 1)
    })
  )

  it.effect("fails all callers with a transient failure, and sends again for the next", () =>
    Effect.gen(function* () {
      const inner = CountingEmbedder.make((_, call) =>
        call === 1 ? Effect.fail(CountingEmbedder.error(true)) : Effect.void
      )
      const embedder = yield* start(inner, { window: "10 millis" })
      const fibers = yield* Effect.forEach(["a", "b"], (text) => Effect.fork(Effect.flip(embedder.embed(text))))
      yield* TestClock.adjust("10 millis")
      for (const error of yield* Effect.forEach(fibers, Fiber.join)) assert.isTrue(error.isRetryable)
      const again = yield* Effect.fork(embedder.embed("a"))
      yield* TestClock.adjust("10 millis")
      assert.deepStrictEqual(yield* Fiber.join(again), vectorOf("a"))
      assert.deepStrictEqual(inner.calls, [["a", "b"], ["a"]])
    })
  )

  it.effect("fails no call for another call's text", () =>
    Effect.gen(function* () {
      const inner = CountingEmbedder.make((texts) =>
        texts.includes("bad") ? Effect.fail(CountingEmbedder.error(false)) : Effect.void
      )
      const embedder = yield* start(inner, { window: "10 millis" })
      const good = yield* Effect.fork(embedder.embedMany(["a", "b"]))
      const bad = yield* Effect.fork(Effect.flip(embedder.embed("bad")))
      yield* TestClock.adjust("10 millis")
      assert.deepStrictEqual(yield* Fiber.join(good), ["a", "b"].map(vectorOf))
      assert.strictEqual((yield* Fiber.join(bad))._tag, "EmbeddingError")
      assert.deepStrictEqual(inner.calls, [["a", "b", "bad"], ["a", "b"], ["bad"]])
    })
  )

  it.effect("does not repeat the call of a single caller", () =>
    Effect.gen(function* () {
      const inner = CountingEmbedder.make(() => Effect.fail(CountingEmbedder.error(false)))
      const embedder = yield* start(inner, { window: 0 })
      const fiber = yield* Effect.fork(Effect.flip(embedder.embedMany(["a", "b"])))
      yield* TestClock.adjust(1)
      yield* Fiber.join(fiber)
      assert.lengthOf(inner.calls, 1)
    })
  )

  it.effect("passes on a defect", () =>
    Effect.gen(function* () {
      const inner = CountingEmbedder.make(() => Effect.die("a bug"))
      const embedder = yield* start(inner, { maxBatchSize: 1 })
      const exit = yield* Effect.exit(embedder.embed("a"))
      assert.isTrue(Exit.isFailure(exit) && exit.cause._tag === "Die")
    })
  )

  it.effect("fails when an embedder returns too few vectors", () =>
    Effect.gen(function* () {
      const inner: Embedder.Service = {
        ...CountingEmbedder.make().embedder,
        embedMany: () => Effect.succeed([vectorOf("a")])
      }
      const embedder = yield* EmbedderBatch.wrap({ maxBatchSize: 2 })(inner)
      const error = yield* Effect.flip(embedder.embedMany(["a", "b"]))
      assert.include(error.message, "1 vectors for 2 texts")
    })
  )

  it.effect("sends nothing without texts, and keeps the name and dimensions below", () =>
    Effect.gen(function* () {
      const inner = CountingEmbedder.make()
      const embedder = yield* Effect.provide(
        Embedder.Embedder,
        Layer.provide(EmbedderBatch.layer(), Embedder.layer(inner.embedder))
      )
      assert.deepStrictEqual(yield* embedder.embedMany([]), [])
      assert.deepInclude(embedder, { model: "counting", dimensions: 16 })
      assert.lengthOf(inner.calls, 0)
    })
  )

  it.effect("gives vectors to all who stay for any arrivals, departures and failures, and leaves nothing running", () =>
    Effect.promise(() => {
      const action = FastCheck.oneof(
        {
          weight: 3,
          arbitrary: FastCheck.record({
            _tag: FastCheck.constant("ask" as const),
            texts: FastCheck.array(FastCheck.constantFrom("a", "b", "c", "d", "__proto__", "bad"), {
              minLength: 1,
              maxLength: 4
            })
          })
        },
        FastCheck.record({ _tag: FastCheck.constant("leave" as const), which: FastCheck.nat(20) }),
        FastCheck.record({ _tag: FastCheck.constant("pass" as const), millis: FastCheck.integer({ min: 1, max: 8 }) })
      )
      return FastCheck.assert(
        FastCheck.asyncProperty(FastCheck.array(action, { maxLength: 25 }), (actions) =>
          Effect.runPromise(
            Effect.gen(function* () {
              const inner = CountingEmbedder.make((texts) =>
                Effect.zipRight(
                  Effect.sleep("3 millis"),
                  texts.includes("bad") ? Effect.fail(CountingEmbedder.error(false)) : Effect.void
                )
              )
              const embedder = yield* start(inner, { window: "5 millis", maxBatchSize: 3 })
              const asked: Array<{
                readonly texts: ReadonlyArray<string>
                readonly fiber: Fiber.RuntimeFiber<ReadonlyArray<Embedder.Vector>, Embedder.EmbeddingError>
              }> = []
              const left = new Set<number>()
              for (const step of actions) {
                if (step._tag === "ask") {
                  asked.push({ texts: step.texts, fiber: yield* Effect.fork(embedder.embedMany(step.texts)) })
                  yield* settle
                } else if (step._tag === "leave") {
                  const caller = asked[step.which]
                  if (caller === undefined || left.has(step.which)) continue
                  left.add(step.which)
                  yield* Fiber.interrupt(caller.fiber)
                } else {
                  yield* TestClock.adjust(step.millis)
                }
              }
              yield* TestClock.adjust("1 second")
              for (const [i, { fiber, texts }] of asked.entries()) {
                const exit = yield* Fiber.await(fiber)
                if (left.has(i)) continue
                if (texts.includes("bad")) assert.isTrue(Exit.isFailure(exit) && exit.cause._tag === "Fail")
                else assert.deepStrictEqual(exit, Exit.succeed(texts.map(vectorOf)))
              }
              assert.strictEqual(inner.running(), 0)
              for (const call of inner.calls) assert.strictEqual(new Set(call).size, call.length)
            }).pipe(Effect.provide(TestContext.TestContext))
          )
        ),
        { numRuns: 40 }
      )
    })
  )
})
