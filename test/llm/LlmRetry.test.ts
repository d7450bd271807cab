import { assert, describe, it } from "@effect/vitest"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as TestClock from "effect/TestClock"
import * as LlmRetry from "../../src/llm/LlmRetry.js"
import type { LlmError } from "../../src/llm/model/LlmError.js"
import * as LlmGateway from "../../src/llm/model/LlmGateway.js"
import * as Scripted from "../support/ScriptedClient.js"

/** Fails the first calls with the given errors, and notes when each call came. */
const failing = (...errors: ReadonlyArray<LlmError>) => {
  const times: Array<number> = []
  const client = Scripted.make((call, _, options) =>
    Effect.flatMap(Clock.currentTimeMillis, (now) => {
      times.push(now)
      const error = errors[call - 1]
      return error === undefined ? Scripted.answer("ok", options) : Effect.fail(error)
    })
  )
  return { client, times }
}

const settle = <A, E>(effect: Effect.Effect<A, E>) =>
  Effect.gen(function* () {
    const fiber = yield* Effect.fork(Effect.either(effect))
    yield* TestClock.adjust("1 hour")
    return yield* Fiber.join(fiber)
  })

describe("LlmRetry", () => {
  it.effect("retries transient failures with doubling delays", () =>
    Effect.gen(function* () {
      const { client, times } = failing(Scripted.unavailable(), Scripted.unavailable(), Scripted.unavailable())
      const result = yield* settle(
        LlmRetry.wrap({ maxRetries: 3, jitter: false })(client).complete(Scripted.user("hi"))
      )
      assert.strictEqual(result._tag, "Right")
      assert.deepStrictEqual(times, [0, 500, 1500, 3500])
    })
  )

  it.effect("retries twice by default and then fails with the last error", () =>
    Effect.gen(function* () {
      const last = Scripted.rateLimited()
      const { client, times } = failing(Scripted.unavailable(), Scripted.unavailable(), last, last)
      const result = yield* settle(LlmRetry.wrap()(client).complete(Scripted.user("hi")))
      assert.strictEqual(result._tag === "Left" ? result.left : undefined, last)
      assert.strictEqual(times.length, 3)
    })
  )

  it.effect("shapes the delays by base, factor and cap", () =>
    Effect.gen(function* () {
      const { client, times } = failing(...Array.from({ length: 4 }, () => Scripted.unavailable()))
      yield* settle(
        LlmRetry.wrap({ maxRetries: 4, base: 100, factor: 10, cap: "2 seconds", jitter: false })(client).complete(
          Scripted.user("hi")
        )
      )
      assert.deepStrictEqual(times, [0, 100, 1100, 3100, 5100])
    })
  )

  it.effect("keeps a jittered delay between its half and its whole, and varies it", () =>
    Effect.gen(function* () {
      const waits = new Set<number>()
      for (let run = 0; run < 20; run++) {
        const delays: Array<number> = []
        const { client } = failing(Scripted.unavailable())
        const onRetry = (retry: LlmRetry.Retry) => Effect.sync(() => void delays.push(retry.delayMs))
        yield* settle(LlmRetry.wrap({ onRetry })(client).complete(Scripted.user("hi")))
        assert.isTrue(delays[0]! >= 250 && delays[0]! <= 500)
        waits.add(delays[0]!)
      }
      assert.isAbove(waits.size, 10)
    })
  )

  it.effect("waits at least retry-after, unless disabled", () =>
    Effect.gen(function* () {
      const honoured = failing(Scripted.rateLimited(7000), Scripted.unavailable(1))
      yield* settle(LlmRetry.wrap({ jitter: false })(honoured.client).complete(Scripted.user("hi")))
      assert.deepStrictEqual(honoured.times, [0, 7000, 8000])
      const ignored = failing(Scripted.rateLimited(7000))
      yield* settle(
        LlmRetry.wrap({ jitter: false, honourRetryAfter: false })(ignored.client).complete(Scripted.user("hi"))
      )
      assert.strictEqual(ignored.times[1]! - ignored.times[0]!, 500)
    })
  )

  it.effect("fails at once for a retry-after beyond the maximum, and ignores an invalid one", () =>
    Effect.gen(function* () {
      const long = failing(Scripted.rateLimited(60_001))
      assert.strictEqual((yield* settle(LlmRetry.wrap()(long.client).complete(Scripted.user("hi"))))._tag, "Left")
      assert.strictEqual(long.times.length, 1)
      const allowed = failing(Scripted.rateLimited(60_001))
      yield* settle(LlmRetry.wrap({ maxRetryAfter: "2 minutes" })(allowed.client).complete(Scripted.user("hi")))
      assert.strictEqual(allowed.times.length, 2)
      for (const senseless of [Number.NaN, -5]) {
        const { client, times } = failing(Scripted.rateLimited(senseless))
        yield* settle(LlmRetry.wrap({ jitter: false })(client).complete(Scripted.user("hi")))
        assert.strictEqual(times[1]! - times[0]!, 500)
      }
    })
  )

  it.effect("fails at once for errors that are not retryable or not accepted by while", () =>
    Effect.gen(function* () {
      const key = failing(Scripted.unauthorized())
      assert.strictEqual((yield* settle(LlmRetry.wrap()(key.client).complete(Scripted.user("hi"))))._tag, "Left")
      assert.strictEqual(key.times.length, 1)
      const narrowed = failing(Scripted.unavailable())
      const options = { while: (error: LlmError) => error._tag === "LlmRateLimitError" }
      yield* settle(LlmRetry.wrap(options)(narrowed.client).complete(Scripted.user("hi")))
      assert.strictEqual(narrowed.times.length, 1)
    })
  )

  it.effect("retries a stream before its first part, never after", () =>
    Effect.gen(function* () {
      const before = failing(Scripted.unavailable())
      const seen = Scripted.collector()
      yield* settle(LlmRetry.wrap()(before.client).complete(Scripted.user("hi"), seen))
      assert.strictEqual(seen.text(), "ok")
      const broken = Scripted.make((_, __, options) =>
        Effect.andThen(options!.onParts!([{ type: "text-delta", id: "0", delta: "half" }]), Scripted.unavailable())
      )
      const half = Scripted.collector()
      const result = yield* settle(LlmRetry.wrap()(broken).complete(Scripted.user("hi"), half))
      assert.strictEqual(result._tag, "Left")
      assert.deepStrictEqual([half.text(), broken.requests.length], ["half", 1])
    })
  )

  it.effect("does not count an empty chunk as a part", () =>
    Effect.gen(function* () {
      const client = Scripted.make((call, _, options) =>
        call === 1 ? Effect.andThen(options!.onParts!([]), Scripted.unavailable()) : Scripted.answer("ok", options)
      )
      const result = yield* settle(LlmRetry.wrap()(client).complete(Scripted.user("hi"), Scripted.collector()))
      assert.strictEqual(result._tag, "Right")
    })
  )

  it.effect("does not retry defects", () =>
    Effect.gen(function* () {
      const client = Scripted.make(() => Effect.die("bug"))
      yield* Effect.exit(LlmRetry.wrap()(client).complete(Scripted.user("hi")))
      assert.strictEqual(client.requests.length, 1)
    })
  )

  it.effect("wraps the client below", () =>
    Effect.gen(function* () {
      const { client } = failing(Scripted.unavailable())
      const layer = LlmRetry.layer().pipe(Layer.provide(LlmGateway.layer(client)))
      const result = yield* settle(LlmGateway.complete(Scripted.user("hi")).pipe(Effect.provide(layer)))
      assert.strictEqual(result._tag, "Right")
    })
  )
})
