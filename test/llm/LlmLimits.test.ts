import { assert, describe, it } from "@effect/vitest"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as TestClock from "effect/TestClock"
import * as LlmLimits from "../../src/llm/LlmLimits.js"
import * as LlmClient from "../../src/llm/model/LlmClient.js"
import * as LlmGateway from "../../src/llm/model/LlmGateway.js"
import * as Scripted from "../support/ScriptedClient.js"

/** Takes a second a call; notes the text and the time of each start, and how many ran at most. */
const recording = (options?: { readonly usage?: number; readonly fail?: boolean; readonly millis?: number }) => {
  const starts: Array<readonly [string, number]> = []
  let running = 0
  let most = 0
  const client = Scripted.make((_, request) =>
    Effect.gen(function* () {
      starts.push([String(request.messages[0]!.content), yield* Clock.currentTimeMillis])
      most = Math.max(most, ++running)
      yield* Effect.sleep(options?.millis ?? 1000)
      if (options?.fail === true) return yield* Scripted.unavailable()
      return Scripted.response("ok", { usage: { totalTokens: options?.usage ?? 10 } })
    }).pipe(Effect.ensuring(Effect.sync(() => running--)))
  )
  return { client, starts, most: () => most }
}

const names = (count: number) => Array.from({ length: count }, (_, index) => String(index))

const all = (client: LlmClient.Service, texts: ReadonlyArray<string>) =>
  Effect.forEach(texts, (text) => Effect.exit(client.complete(Scripted.user(text))), { concurrency: "unbounded" })

const settle = <A, E>(effect: Effect.Effect<A, E>, millis = 3_600_000) =>
  Effect.gen(function* () {
    const fiber = yield* Effect.fork(effect)
    yield* TestClock.adjust(millis)
    return yield* Fiber.join(fiber)
  })

describe("LlmLimits, concurrency", () => {
  it.effect("runs at most the allowed calls at once, in order of arrival", () =>
    Effect.gen(function* () {
      const { client, most, starts } = recording()
      yield* settle(all(yield* LlmLimits.wrap({ concurrency: 2 })(client), names(6)))
      assert.strictEqual(most(), 2)
      assert.deepStrictEqual(starts, [
        ["0", 0],
        ["1", 0],
        ["2", 1000],
        ["3", 1000],
        ["4", 2000],
        ["5", 2000]
      ])
    })
  )

  it.effect("lets no newcomer pass the queue", () =>
    Effect.gen(function* () {
      const { client, starts } = recording()
      const limited = yield* LlmLimits.wrap({ concurrency: 1 })(client)
      const again = Effect.andThen(limited.complete(Scripted.user("a")), limited.complete(Scripted.user("a again")))
      yield* settle(Effect.all([again, limited.complete(Scripted.user("b"))], { concurrency: "unbounded" }))
      assert.deepStrictEqual(
        starts.map(([text]) => text),
        ["a", "b", "a again"]
      )
    })
  )

  it.effect("returns the permit after failures and interruptions", () =>
    Effect.gen(function* () {
      const { client, starts } = recording({ fail: true })
      const limited = yield* LlmLimits.wrap({ concurrency: 1 })(client)
      yield* settle(Effect.exit(limited.complete(Scripted.user("failing"))), 1000)
      const running = yield* Effect.fork(limited.complete(Scripted.user("running")))
      yield* TestClock.adjust(1)
      const waiting = yield* Effect.fork(limited.complete(Scripted.user("waiting")))
      const next = yield* Effect.fork(Effect.exit(limited.complete(Scripted.user("next"))))
      yield* TestClock.adjust(1)
      yield* Fiber.interrupt(waiting)
      yield* Fiber.interrupt(running)
      yield* TestClock.adjust(1000)
      yield* Fiber.join(next)
      assert.deepStrictEqual(
        starts.map(([text]) => text),
        ["failing", "running", "next"]
      )
    })
  )

  it.effect("loses no permit when interrupted while it changes hands", () =>
    Effect.gen(function* () {
      const { client } = recording({ millis: 10 })
      const limited = yield* LlmLimits.wrap({ concurrency: 1 })(client)
      for (let round = 0; round < 50; round++) {
        const running = yield* Effect.fork(limited.complete(Scripted.user("running")))
        yield* Effect.yieldNow()
        const waiting = yield* Effect.fork(limited.complete(Scripted.user("waiting")))
        yield* Effect.yieldNow()
        yield* Effect.all([Fiber.interruptFork(running), Fiber.interruptFork(waiting)])
        yield* Fiber.awaitAll([running, waiting])
      }
      const last = yield* Effect.fork(limited.complete(Scripted.user("last")))
      yield* TestClock.adjust(10)
      assert.strictEqual(LlmClient.text(yield* Fiber.join(last)), "ok")
    })
  )
})

describe("LlmLimits, requests per minute", () => {
  it.effect("sends at most the allowed requests in any minute", () =>
    Effect.gen(function* () {
      const { client, starts } = recording()
      const limited = yield* LlmLimits.wrap({ requestsPerMinute: 3 })(client)
      const fiber = yield* Effect.fork(all(limited, names(4)))
      yield* TestClock.adjust("30 seconds")
      const later = yield* Effect.fork(all(limited, ["5", "6", "7", "8"]))
      yield* TestClock.adjust("1 hour")
      yield* Fiber.join(Fiber.zip(fiber, later))
      assert.deepStrictEqual(
        starts.map(([, at]) => at),
        [0, 0, 0, 60_000, 60_000, 60_000, 120_000, 120_000]
      )
    })
  )

  it.effect("counts failed calls, but not interrupted waiters", () =>
    Effect.gen(function* () {
      const { client, starts } = recording({ fail: true })
      const limited = yield* LlmLimits.wrap({ requestsPerMinute: 1 })(client)
      yield* settle(all(limited, ["first"]), 1000)
      const waiting = yield* Effect.fork(limited.complete(Scripted.user("waiting")))
      const next = yield* Effect.fork(Effect.exit(limited.complete(Scripted.user("next"))))
      yield* TestClock.adjust(1000)
      yield* Fiber.interrupt(waiting)
      yield* TestClock.adjust("2 minutes")
      yield* Fiber.join(next)
      assert.deepStrictEqual(starts, [
        ["first", 0],
        ["next", 60_000]
      ])
    })
  )
})

describe("LlmLimits, tokens per minute", () => {
  it.effect("limits reserved tokens", () =>
    Effect.gen(function* () {
      const { client, starts } = recording({ usage: 40 })
      yield* settle(all(yield* LlmLimits.wrap({ tokensPerMinute: 100, estimate: () => 40 })(client), names(5)))
      assert.deepStrictEqual(
        starts.map(([, at]) => at),
        [0, 0, 60_000, 60_000, 120_000]
      )
    })
  )

  it.effect("makes room at once when an answer used fewer", () =>
    Effect.gen(function* () {
      const { client, starts } = recording({ usage: 10 })
      yield* settle(all(yield* LlmLimits.wrap({ tokensPerMinute: 100, estimate: () => 60 })(client), names(3)))
      assert.deepStrictEqual(
        starts.map(([, at]) => at),
        [0, 1000, 2000]
      )
    })
  )

  it.effect("makes later calls wait when an answer used more", () =>
    Effect.gen(function* () {
      const { client, starts } = recording({ usage: 150 })
      const limited = yield* LlmLimits.wrap({ tokensPerMinute: 100, estimate: () => 10 })(client)
      yield* settle(all(limited, ["a"]), 1000)
      yield* settle(all(limited, ["b"]))
      assert.deepStrictEqual(starts, [
        ["a", 0],
        ["b", 60_000]
      ])
    })
  )

  it.effect("keeps the reservation of a failed call", () =>
    Effect.gen(function* () {
      const { client, starts } = recording({ fail: true })
      yield* settle(all(yield* LlmLimits.wrap({ tokensPerMinute: 100, estimate: () => 60 })(client), names(2)))
      assert.deepStrictEqual(
        starts.map(([, at]) => at),
        [0, 60_000]
      )
    })
  )

  it.effect("sends a request larger than the limit when nothing else runs", () =>
    Effect.gen(function* () {
      const { client, starts } = recording({ usage: 500 })
      yield* settle(all(yield* LlmLimits.wrap({ tokensPerMinute: 100, estimate: () => 500 })(client), names(2)))
      assert.deepStrictEqual(
        starts.map(([, at]) => at),
        [0, 60_000]
      )
    })
  )

  it.effect("reserves messages, tools and maxTokens by default", () =>
    Effect.gen(function* () {
      const starts = (request: LlmClient.LlmRequest) =>
        Effect.gen(function* () {
          const { client, starts } = recording({ usage: 0 })
          const limited = yield* LlmLimits.wrap({ tokensPerMinute: 1000 })(client)
          yield* settle(Effect.all([limited.complete(request), limited.complete(request)], { concurrency: 2 }))
          return starts[1]![1] - starts[0]![1]
        })
      const tool = { name: "x", description: "word ".repeat(1000), parameters: {} }
      assert.strictEqual(yield* starts(Scripted.user("hi")), 0)
      assert.strictEqual(yield* starts(Scripted.user("hi", { maxTokens: 600 })), 60_000)
      assert.strictEqual(yield* starts(Scripted.user("word ".repeat(600))), 60_000)
      assert.strictEqual(yield* starts({ ...Scripted.user("hi"), tools: [tool] }), 60_000)
    })
  )
})

describe("LlmLimits", () => {
  it.effect("applies all limits together", () =>
    Effect.gen(function* () {
      const { client, most, starts } = recording({ usage: 30 })
      const options = { concurrency: 1, requestsPerMinute: 3, tokensPerMinute: 60, estimate: () => 30 }
      yield* settle(all(yield* LlmLimits.wrap(options)(client), names(4)))
      assert.strictEqual(most(), 1)
      assert.deepStrictEqual(
        starts.map(([, at]) => at),
        [0, 1000, 60_000, 61_000]
      )
    })
  )

  it.effect("waits for nothing without limits, and treats limits below one as one", () =>
    Effect.gen(function* () {
      const free = recording()
      yield* settle(all(yield* LlmLimits.wrap({})(free.client), names(20)))
      assert.strictEqual(free.most(), 20)
      const least = recording()
      yield* settle(all(yield* LlmLimits.wrap({ concurrency: 0, requestsPerMinute: -1 })(least.client), names(2)))
      assert.deepStrictEqual(
        least.starts.map(([, at]) => at - least.starts[0]![1]),
        [0, 60_000]
      )
    })
  )

  it.effect("shares one queue between all users of the layer", () =>
    Effect.gen(function* () {
      const { client, most } = recording()
      const layer = LlmLimits.layer({ concurrency: 1 }).pipe(Layer.provide(LlmGateway.layer(client)))
      const calls = Effect.all([LlmGateway.complete(Scripted.user("a")), LlmGateway.complete(Scripted.user("b"))], {
        concurrency: "unbounded"
      })
      yield* settle(Effect.provide(calls, layer))
      assert.strictEqual(most(), 1)
    })
  )
})
