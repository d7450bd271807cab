import { assert, describe, it } from "@effect/vitest"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Stream from "effect/Stream"
import * as TestClock from "effect/TestClock"
import * as ReaderTimeout from "../../src/domain/ReaderTimeout.js"
import * as LlmTimeout from "../../src/llm/LlmTimeout.js"
import * as LlmClient from "../../src/llm/model/LlmClient.js"
import * as LlmGateway from "../../src/llm/model/LlmGateway.js"
import * as TestModel from "../../src/testing/TestModel.js"
import * as Scripted from "../support/ScriptedClient.js"

const never = Scripted.make(() => Effect.never, { provider: "slow", model: "small" })

describe("LlmTimeout", () => {
  it.effect("fails a call without an answer after 120 seconds by default", () =>
    Effect.gen(function* () {
      const fiber = yield* Effect.fork(Effect.flip(LlmTimeout.wrap()(never).complete(Scripted.user("hi"))))
      yield* TestClock.adjust("119999 millis")
      assert.strictEqual((yield* Fiber.poll(fiber))._tag, "None")
      yield* TestClock.adjust("1 millis")
      const error = yield* Fiber.join(fiber)
      if (error._tag !== "LlmTimeoutError") return assert.fail(error._tag)
      assert.deepStrictEqual(
        [error.phase, error.timeoutMs, error.provider, error.model, error.isRetryable],
        ["whole", 120_000, "slow", "small", true]
      )
    })
  )

  it.effect("names the requested model in the error", () =>
    Effect.gen(function* () {
      const client = LlmTimeout.wrap({ whole: "1 second" })(never)
      const fiber = yield* Effect.fork(Effect.flip(client.complete(Scripted.user("hi", { model: "large" }))))
      yield* TestClock.adjust("1 second")
      assert.strictEqual((yield* Fiber.join(fiber)).model, "large")
    })
  )

  it.effect("limits the time to the first part", () =>
    Effect.gen(function* () {
      const client = LlmTimeout.wrap({ first: "5 seconds" })(never)
      const fiber = yield* Effect.fork(
        Effect.flip(client.complete(Scripted.user("hi"), { onParts: () => Effect.void }))
      )
      yield* TestClock.adjust("5 seconds")
      const error = yield* Fiber.join(fiber)
      assert.strictEqual(error._tag === "LlmTimeoutError" ? error.phase : "", "first-part")
    })
  )

  it.effect("limits the gap between parts", () =>
    Effect.gen(function* () {
      const stalling = Scripted.make((_, __, options) =>
        Effect.andThen(options!.onParts!([{ type: "text-start", id: "0" }]), Effect.never)
      )
      const client = LlmTimeout.wrap({ first: "1 second", gap: "3 seconds" })(stalling)
      const fiber = yield* Effect.fork(
        Effect.flip(client.complete(Scripted.user("hi"), { onParts: () => Effect.void }))
      )
      yield* TestClock.adjust("3 seconds")
      const error = yield* Fiber.join(fiber)
      assert.strictEqual(error._tag === "LlmTimeoutError" ? error.phase : "", "gap")
    })
  )

  it.effect("does not count a slow consumer as a gap of the model", () =>
    Effect.gen(function* () {
      const client = LlmTimeout.wrap({ gap: "1 second" })(
        Scripted.make((_, __, options) => Scripted.answer(["a", "b"], options))
      )
      const fiber = yield* Effect.fork(
        client.complete(Scripted.user("hi"), { onParts: () => Effect.sleep("10 seconds") })
      )
      yield* TestClock.adjust("40 seconds")
      assert.strictEqual(LlmClient.text(yield* Fiber.join(fiber)), "ab")
    })
  )

  it.effect("ignores limits of parts without parts, and removes the limit with infinity", () =>
    Effect.gen(function* () {
      const slow = Scripted.make((_, __, options) => Scripted.answer("late", options, { gap: 600_000 }))
      const client = LlmTimeout.wrap({ whole: Duration.infinity, first: "1 second", gap: "1 second" })(slow)
      const fiber = yield* Effect.fork(client.complete(Scripted.user("hi")))
      yield* TestClock.adjust("10 minutes")
      assert.strictEqual(LlmClient.text(yield* Fiber.join(fiber)), "late")
    })
  )

  it.effect("wraps the client below", () =>
    Effect.gen(function* () {
      const fiber = yield* Effect.fork(Effect.flip(LlmGateway.complete(Scripted.user("hi"))))
      yield* TestClock.adjust("2 seconds")
      assert.strictEqual((yield* Fiber.join(fiber))._tag, "LlmTimeoutError")
    }).pipe(Effect.provide(LlmTimeout.layer({ whole: "2 seconds" }).pipe(Layer.provide(LlmGateway.layer(never)))))
  )

  it.effect("does not count a slow reader against the model, and stops the call of an absent one", () =>
    Effect.gen(function* () {
      const script = [{ text: Array.from("x".repeat(200)), partDelay: "100 millis" as const }]
      const read = (pause: Duration.DurationInput, bound: Duration.DurationInput) =>
        Effect.gen(function* () {
          const fiber = yield* Effect.fork(
            Effect.either(Stream.runForEach(LlmGateway.stream(Scripted.user("hi")), () => Effect.sleep(pause)))
          )
          yield* TestClock.adjust("10 days")
          const { active } = yield* TestModel.TestModel
          const result = yield* Fiber.join(fiber)
          return [Either.isLeft(result) ? result.left._tag : "ended", yield* active]
        }).pipe(
          Effect.provide(
            LlmTimeout.layer({ whole: "30 seconds", first: "30 seconds", gap: "30 seconds" }).pipe(
              Layer.provideMerge(TestModel.layer(script))
            )
          ),
          Effect.provideService(ReaderTimeout.ReaderTimeout, bound)
        )
      assert.deepStrictEqual(yield* read("10 minutes", Duration.infinity), ["ended", 0])
      assert.deepStrictEqual(yield* read("10 minutes", "5 minutes"), ["ReaderTimeoutError", 0])
    })
  )
})
