import { assert, describe, it } from "@effect/vitest"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as TestClock from "effect/TestClock"
import * as Embedder from "../../../src/llm/embedding/Embedder.js"
import * as EmbedderRetry from "../../../src/llm/embedding/EmbedderRetry.js"
import * as Run from "../../../src/observability/Run.js"
import * as CountingEmbedder from "../../support/CountingEmbedder.js"

const { vectorOf } = CountingEmbedder

/** Fails so many times. */
const failing = (times: number, error = CountingEmbedder.error(true)) =>
  CountingEmbedder.make((_, call) => (call <= times ? Effect.fail(error) : Effect.void))

const plain = { jitter: false, base: 100, factor: 2 } as const

describe("wrap", () => {
  it.effect("retries transient failures with growing delays", () =>
    Effect.gen(function* () {
      const inner = failing(2)
      const embedder = EmbedderRetry.wrap(plain)(inner.embedder)
      assert.deepInclude(embedder, { model: "counting", dimensions: 16 })
      const fiber = yield* Effect.fork(embedder.embedMany(["a", "b"]))
      const calls: Array<number> = []
      for (const millis of [0, 99, 1, 199, 1]) {
        yield* TestClock.adjust(millis)
        calls.push(inner.calls.length)
      }
      assert.deepStrictEqual(calls, [1, 1, 2, 2, 3])
      assert.deepStrictEqual(yield* Fiber.join(fiber), ["a", "b"].map(vectorOf))
    })
  )

  it.effect("gives up after the given retries, 2 by default", () =>
    Effect.gen(function* () {
      for (const [options, calls] of [
        [plain, 3],
        [{ ...plain, maxRetries: 0 }, 1],
        [{ ...plain, maxRetries: 4 }, 5]
      ] as const) {
        const inner = failing(100)
        const fiber = yield* Effect.fork(Effect.flip(EmbedderRetry.wrap(options)(inner.embedder).embed("a")))
        yield* TestClock.adjust("1 minute")
        assert.strictEqual((yield* Fiber.join(fiber)).message, "no vectors today")
        assert.lengthOf(inner.calls, calls)
      }
    })
  )

  it.effect("does not retry a permanent failure", () =>
    Effect.gen(function* () {
      const inner = failing(1, CountingEmbedder.error(false))
      yield* Effect.flip(EmbedderRetry.wrap()(inner.embedder).embed("a"))
      assert.lengthOf(inner.calls, 1)
    })
  )

  it.effect("waits as long as the provider requests, unless that is too long", () =>
    Effect.gen(function* () {
      const busy = (retryAfterMs: number) =>
        new Embedder.EmbeddingError({ message: "busy", isRetryable: true, retryAfterMs })
      const inner = failing(1, busy(5000))
      const fiber = yield* Effect.fork(EmbedderRetry.wrap(plain)(inner.embedder).embed("a"))
      yield* TestClock.adjust(4999)
      assert.lengthOf(inner.calls, 1)
      yield* TestClock.adjust(1)
      assert.deepStrictEqual(yield* Fiber.join(fiber), vectorOf("a"))
      const longer = failing(1, busy(60_001))
      assert.strictEqual((yield* Effect.flip(EmbedderRetry.wrap()(longer.embedder).embed("a"))).message, "busy")
      const patient = failing(1, busy(60_001))
      const waiting = yield* Effect.fork(
        EmbedderRetry.wrap({ maxRetryAfter: "2 minutes" })(patient.embedder).embed("a")
      )
      yield* TestClock.adjust("2 minutes")
      yield* Fiber.join(waiting)
    })
  )

  it.effect("draws delays between half and the whole, up to the cap", () =>
    Effect.gen(function* () {
      const inner = failing(1)
      const fiber = yield* Effect.fork(EmbedderRetry.wrap({ base: 1000, cap: 400 })(inner.embedder).embed("a"))
      yield* TestClock.adjust(199)
      assert.lengthOf(inner.calls, 1)
      yield* TestClock.adjust(201)
      yield* Fiber.join(fiber)
      assert.lengthOf(inner.calls, 2)
    })
  )

  it.effect("interrupts an attempt that takes too long, and counts it as failed", () =>
    Effect.gen(function* () {
      for (const [options, millis] of [
        [{ ...plain, timeout: 50 }, 50],
        [plain, 30_000]
      ] as const) {
        const inner = CountingEmbedder.make((_, call) => (call === 1 ? Effect.never : Effect.void))
        const fiber = yield* Effect.fork(EmbedderRetry.wrap(options)(inner.embedder).embed("a"))
        yield* TestClock.adjust(millis - 1)
        assert.strictEqual(inner.interrupted(), 0)
        yield* TestClock.adjust(1)
        assert.strictEqual(inner.interrupted(), 1)
        yield* TestClock.adjust(100)
        assert.deepStrictEqual(yield* Fiber.join(fiber), vectorOf("a"))
      }
      const never = CountingEmbedder.make(() => Effect.never)
      const error = yield* Effect.fork(
        Effect.flip(EmbedderRetry.wrap({ timeout: 50, maxRetries: 0 })(never.embedder).embed("a"))
      )
      yield* TestClock.adjust(50)
      assert.include((yield* Fiber.join(error)).message, "did not answer within 50 ms")
    })
  )

  it.effect("treats an infinite limit as none", () =>
    Effect.gen(function* () {
      const inner = CountingEmbedder.make(() => Effect.sleep("1 day"))
      const fiber = yield* Effect.fork(EmbedderRetry.wrap({ timeout: Duration.infinity })(inner.embedder).embed("a"))
      yield* TestClock.adjust("1 day")
      assert.deepStrictEqual(yield* Fiber.join(fiber), vectorOf("a"))
    })
  )

  it.effect("emits an event for each retry inside a run", () =>
    Effect.gen(function* () {
      const told: Array<unknown> = []
      const silent = yield* Run.Run
      const run: Run.Service = { ...silent, emit: (body) => Effect.sync(() => void told.push(body)) }
      const fiber = yield* Effect.fork(
        EmbedderRetry.wrap(plain)(failing(2).embedder).embed("a").pipe(Effect.provideService(Run.Run, run))
      )
      yield* TestClock.adjust("1 second")
      yield* Fiber.join(fiber)
      assert.deepStrictEqual(
        told.map((body) => (body as { readonly stage: string }).stage),
        ["embedding, attempt 2 in 100 ms", "embedding, attempt 3 in 200 ms"]
      )
    })
  )

  it.effect("wraps the embedder below", () => {
    const inner = failing(1)
    return Effect.gen(function* () {
      const fiber = yield* Effect.fork(Embedder.embed("a"))
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(yield* Fiber.join(fiber), vectorOf("a"))
    }).pipe(Effect.provide(Layer.provide(EmbedderRetry.layer(), Embedder.layer(inner.embedder))))
  })
})
