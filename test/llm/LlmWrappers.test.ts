import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Stream from "effect/Stream"
import * as TestClock from "effect/TestClock"
import * as CacheBackend from "../../src/llm/CacheBackend.js"
import * as LlmCache from "../../src/llm/LlmCache.js"
import * as LlmLimits from "../../src/llm/LlmLimits.js"
import * as LlmRedaction from "../../src/llm/LlmRedaction.js"
import * as LlmRetry from "../../src/llm/LlmRetry.js"
import * as LlmTimeout from "../../src/llm/LlmTimeout.js"
import * as ModelFallback from "../../src/llm/ModelFallback.js"
import * as LlmClient from "../../src/llm/model/LlmClient.js"
import * as LlmGateway from "../../src/llm/model/LlmGateway.js"
import * as Scripted from "../support/ScriptedClient.js"

/** Everything, in the recommended order: redaction, cache, fallback, then retry, limits and timeout for each client. */
const stack = (first: LlmClient.Service, second: LlmClient.Service) => {
  const guarded = (client: LlmClient.Service) =>
    LlmRetry.layer({ maxRetries: 1, jitter: false }).pipe(
      Layer.provide(LlmLimits.layer({ concurrency: 1 })),
      Layer.provide(LlmTimeout.layer({ whole: "10 seconds" })),
      Layer.provide(LlmGateway.layer(client))
    )
  return LlmRedaction.layer({ patterns: [/card-\d+/] }).pipe(
    Layer.provide(LlmCache.layer({ ttl: "1 hour" })),
    Layer.provide(ModelFallback.layerOf([guarded(first), guarded(second)])),
    Layer.provide(CacheBackend.layerMemory())
  )
}

const request = Scripted.user("pay with card-1234", { temperature: 0, model: "large" })

describe("all wrappers together", () => {
  it.effect("time, retry, replace and cache a hanging and failing client, which sees no secret", () =>
    Effect.gen(function* () {
      const first = Scripted.make((call) => (call === 1 ? Effect.never : Effect.fail(Scripted.unavailable())), {
        provider: "first"
      })
      const second = Scripted.make((_, __, options) => Scripted.answer(["paid by car", "d-1234"], options), {
        provider: "second"
      })
      const seen = Scripted.collector()
      const again = Scripted.collector()
      const fiber = yield* Effect.gen(function* () {
        const answers = yield* Effect.all([LlmGateway.complete(request, seen), LlmGateway.complete(request, again)], {
          concurrency: "unbounded"
        })
        return [...answers, yield* LlmGateway.complete(request)]
      }).pipe(Effect.provide(stack(first, second)), Effect.fork)
      yield* TestClock.adjust("1 minute")
      const responses = yield* Fiber.join(fiber)

      assert.deepStrictEqual([first.requests.length, second.requests.length], [2, 1])
      assert.deepStrictEqual(responses.map(LlmClient.text), Array(3).fill("paid by [REDACTED]"))
      assert.deepStrictEqual([seen.text(), again.text()], ["paid by [REDACTED]", "paid by [REDACTED]"])
      assert.deepStrictEqual(responses.map(LlmCache.isCached), [false, true, true])
      assert.notMatch(JSON.stringify([first.requests, second.requests]), /card-\d/)
      assert.strictEqual(first.requests[0]?.settings?.model, "large")
      assert.strictEqual(second.requests[0]?.settings?.model, undefined)
    })
  )

  it.effect("pass an interruption to the client, and return the permit", () =>
    Effect.gen(function* () {
      let interrupted = 0
      const first = Scripted.make((call, _, options) =>
        call === 1
          ? Effect.onInterrupt(Effect.never, () => Effect.sync(() => interrupted++))
          : Scripted.answer("ok", options)
      )
      yield* Effect.gen(function* () {
        const running = yield* Effect.fork(LlmGateway.complete(request))
        yield* TestClock.adjust("1 second")
        yield* Fiber.interrupt(running)
        assert.strictEqual(interrupted, 1)
        assert.strictEqual(LlmClient.text(yield* LlmGateway.complete(request)), "ok")
      }).pipe(Effect.provide(stack(first, first)))
    })
  )

  it.effect("cancel the call when a stream is stopped", () =>
    Effect.gen(function* () {
      let interrupted = false
      const first = Scripted.make((_, __, options) =>
        options!.onParts!([{ type: "text-start", id: "0" }]).pipe(
          Effect.andThen(Effect.never),
          Effect.onInterrupt(() => Effect.sync(() => (interrupted = true)))
        )
      )
      yield* LlmGateway.stream(request).pipe(Stream.take(1), Stream.runDrain, Effect.provide(stack(first, first)))
      assert.isTrue(interrupted)
    })
  )
})
