import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Metric from "effect/Metric"
import * as Option from "effect/Option"
import * as TestClock from "effect/TestClock"
import * as CacheBackend from "../../src/llm/CacheBackend.js"
import * as LlmCache from "../../src/llm/LlmCache.js"
import * as LlmClient from "../../src/llm/model/LlmClient.js"
import * as LlmGateway from "../../src/llm/model/LlmGateway.js"
import * as Scripted from "../support/ScriptedClient.js"

const request = Scripted.user("hi", { temperature: 0 })

const counting = (options?: { readonly gap?: number }) =>
  Scripted.make((call, _, complete) => Scripted.answer([`answer `, `${call}`], complete, options))

const withMemory = Effect.provide(CacheBackend.layerMemory())

const counter = (name: string) =>
  Effect.map(Metric.value(Metric.counter(name, { incremental: true })), (state) => state.count)

const refusing = (operations: ReadonlyArray<"get" | "set">): CacheBackend.Service => {
  const refuse = (operation: "get" | "set") =>
    operations.includes(operation)
      ? Effect.fail(new CacheBackend.CacheBackendError({ message: "down", operation }))
      : Effect.void
  return {
    get: () => Effect.as(refuse("get"), Option.none()),
    set: () => refuse("set"),
    delete: () => Effect.void
  }
}

describe("LlmCache", () => {
  it.effect("answers an equal request from the cache until it expires", () =>
    Effect.gen(function* () {
      const inner = counting()
      const client = yield* LlmCache.wrap({ ttl: "1 minute" })(inner)
      const first = yield* client.complete(request)
      const again = yield* client.complete({
        settings: { temperature: 0 },
        messages: [{ content: "hi", role: "user" }]
      })
      assert.deepStrictEqual([LlmClient.text(first), LlmClient.text(again)], ["answer 1", "answer 1"])
      yield* TestClock.adjust("1 minute")
      assert.strictEqual(LlmClient.text(yield* client.complete(request)), "answer 2")
    }).pipe(withMemory)
  )

  it.effect("marks a hit and reports zero usage with the original next to it", () =>
    Effect.gen(function* () {
      const client = yield* LlmCache.wrap()(counting())
      const first = yield* client.complete(request)
      const hit = yield* client.complete(request)
      assert.deepStrictEqual([LlmCache.isCached(first), LlmCache.isCached(hit)], [false, true])
      assert.strictEqual(first.usage.totalTokens, 15)
      assert.deepStrictEqual(hit.usage, { inputTokens: 0, outputTokens: 0, totalTokens: 0 })
      assert.deepStrictEqual(hit.metadata?.["cachedUsage"], first.usage)
      const third = yield* client.complete(request)
      assert.deepStrictEqual(third.metadata?.["cachedUsage"], first.usage)
    }).pipe(withMemory)
  )

  it.effect("streams a hit as the parts of the response", () =>
    Effect.gen(function* () {
      const client = yield* LlmCache.wrap()(counting())
      const live = Scripted.collector()
      yield* client.complete(request, live)
      assert.strictEqual(live.text(), "answer 1")
      const replayed = Scripted.collector()
      const hit = yield* client.complete(request, replayed)
      assert.deepStrictEqual(replayed.parts, LlmClient.partsOf(hit))
      assert.strictEqual(replayed.text(), "answer 1")
    }).pipe(withMemory)
  )

  it.effect("changes the key with any difference of the request", () =>
    Effect.gen(function* () {
      const inner = counting()
      const client = yield* LlmCache.wrap()(inner)
      const requests: ReadonlyArray<LlmClient.LlmRequest> = [
        request,
        Scripted.user("hi ", { temperature: 0 }),
        Scripted.user("hi", { temperature: 0, maxTokens: 5 }),
        Scripted.user("hi", { temperature: 0, model: "large" }),
        { ...request, tools: [{ name: "add", description: "", parameters: {} }] },
        { ...request, toolChoice: "none" },
        { ...request, responseFormat: { type: "json", name: "x", schema: {} } }
      ]
      yield* Effect.forEach(requests, (each) => client.complete(each))
      assert.strictEqual(inner.requests.length, requests.length)
    }).pipe(withMemory)
  )

  it.effect("separates providers and namespaces", () =>
    Effect.gen(function* () {
      const backend = yield* CacheBackend.makeMemory()
      const answered = (provider: string, namespace?: string) =>
        Effect.gen(function* () {
          const inner = Scripted.make((_, __, options) => Scripted.answer(provider, options), { provider })
          const client = yield* LlmCache.wrap({ namespace })(inner)
          yield* client.complete(request)
          return inner.requests.length
        }).pipe(Effect.provideService(CacheBackend.CacheBackend, backend))
      assert.deepStrictEqual(
        yield* Effect.all([answered("a"), answered("b"), answered("a"), answered("a", "other")]),
        [1, 1, 0, 1]
      )
    })
  )

  it.effect("caches only requests with repeatable answers by default", () =>
    Effect.gen(function* () {
      const calls = (options: LlmCache.Options, settings?: LlmClient.LlmRequest["settings"]) =>
        Effect.gen(function* () {
          const inner = counting()
          const client = yield* LlmCache.wrap(options)(inner)
          yield* client.complete(Scripted.user("hi", settings))
          yield* client.complete(Scripted.user("hi", settings))
          return inner.requests.length
        }).pipe(withMemory)
      assert.strictEqual(yield* calls({}), 2)
      assert.strictEqual(yield* calls({}, { temperature: 0.1 }), 2)
      assert.strictEqual(yield* calls({}, { temperature: 0.9, seed: 0 }), 1)
      assert.strictEqual(yield* calls({ always: true }), 1)
      assert.strictEqual(yield* calls({ onlyWhen: () => false, always: true }, { temperature: 0 }), 2)
      assert.strictEqual(yield* calls({ onlyWhen: () => true }), 1)
    })
  )

  it.effect("compares requests by keyOf, and does not cache when it throws", () =>
    Effect.gen(function* () {
      const inner = counting()
      const client = yield* LlmCache.wrap({ keyOf: () => "same" })(inner)
      yield* client.complete(request)
      yield* client.complete(Scripted.user("other", { temperature: 0 }))
      assert.strictEqual(inner.requests.length, 1)
      const cyclic: Record<string, unknown> = {}
      cyclic["self"] = cyclic
      const plain = yield* LlmCache.wrap()(inner)
      const response = yield* plain.complete(Scripted.user("hi", { temperature: 0, providerOptions: cyclic }))
      assert.strictEqual(LlmClient.text(response), "answer 2")
    }).pipe(withMemory)
  )

  it.effect("caches neither failures nor answers that stopped for another reason", () =>
    Effect.gen(function* () {
      const inner = Scripted.make((call, _, options) =>
        call === 1
          ? Effect.fail(Scripted.unavailable())
          : Scripted.answer(`answer ${call}`, options, { finishReason: call === 2 ? "content-filter" : "stop" })
      )
      const client = yield* LlmCache.wrap()(inner)
      assert.strictEqual((yield* Effect.flip(client.complete(request)))._tag, "LlmUnavailableError")
      const texts = yield* Effect.all([client.complete(request), client.complete(request), client.complete(request)])
      assert.deepStrictEqual(texts.map(LlmClient.text), ["answer 2", "answer 3", "answer 3"])
    }).pipe(withMemory)
  )

  it.effect("survives a failing backend and counts the failure", () =>
    Effect.gen(function* () {
      const before = yield* counter(LlmCache.METRIC_LLM_CACHE_FAILURES)
      const inner = counting()
      const client = yield* LlmCache.wrap()(inner).pipe(
        Effect.provideService(CacheBackend.CacheBackend, refusing(["get", "set"]))
      )
      assert.strictEqual(LlmClient.text(yield* client.complete(request)), "answer 1")
      assert.strictEqual((yield* counter(LlmCache.METRIC_LLM_CACHE_FAILURES)) - before, 2)
    })
  )

  it.effect("waits two seconds for a backend that does not answer", () =>
    Effect.gen(function* () {
      const inner = counting()
      const client = yield* LlmCache.wrap()(inner).pipe(
        Effect.provideService(CacheBackend.CacheBackend, { ...refusing([]), get: () => Effect.never })
      )
      const fiber = yield* Effect.fork(client.complete(request))
      yield* TestClock.adjust("2 seconds")
      assert.strictEqual(LlmClient.text(yield* Fiber.join(fiber)), "answer 1")
    })
  )

  it.effect("ignores and overwrites an unreadable entry", () =>
    Effect.gen(function* () {
      const backend = yield* CacheBackend.makeMemory()
      const inner = counting()
      const client = yield* LlmCache.wrap({ keyOf: () => "key" })(inner).pipe(
        Effect.provideService(CacheBackend.CacheBackend, backend)
      )
      for (const broken of ["", "{", "null", '{"content":1}', '{"content":[{"type":"text"}],"finishReason":"stop"}']) {
        yield* backend.set("llm:key", broken)
        const before = inner.requests.length
        yield* client.complete(request)
        assert.strictEqual(LlmCache.isCached(yield* client.complete(request)), true)
        assert.strictEqual(inner.requests.length, before + 1)
      }
    })
  )

  it.effect("counts hits and misses", () =>
    Effect.gen(function* () {
      const counts = Effect.all([counter(LlmCache.METRIC_LLM_CACHE_HITS), counter(LlmCache.METRIC_LLM_CACHE_MISSES)])
      const [hits, misses] = yield* counts
      const client = yield* LlmCache.wrap()(counting())
      yield* Effect.all([client.complete(request), client.complete(request), client.complete(request)])
      assert.deepStrictEqual(yield* counts, [hits + 2, misses + 1])
    }).pipe(withMemory)
  )
})

describe("LlmCache with concurrent equal requests", () => {
  it.effect("shares one call, and one of them pays", () =>
    Effect.gen(function* () {
      const inner = counting({ gap: 1000 })
      const client = yield* LlmCache.wrap()(inner)
      const fiber = yield* Effect.fork(
        Effect.all(
          Array.from({ length: 5 }, () => client.complete(request)),
          { concurrency: "unbounded" }
        )
      )
      yield* TestClock.adjust("1 minute")
      const responses = yield* Fiber.join(fiber)
      assert.strictEqual(inner.requests.length, 1)
      assert.deepStrictEqual(responses.map(LlmClient.text), Array(5).fill("answer 1"))
      assert.strictEqual(responses.filter((response) => !LlmCache.isCached(response)).length, 1)
      assert.strictEqual(
        responses.reduce((sum, response) => sum + (response.usage.totalTokens ?? 0), 0),
        15
      )
    }).pipe(withMemory)
  )

  it.effect("streams to each at its own pace, with the usage in one finish part", () =>
    Effect.gen(function* () {
      const inner = counting({ gap: 1000 })
      const client = yield* LlmCache.wrap()(inner)
      const fast = Scripted.collector()
      const late = Scripted.collector()
      const slow = Scripted.collector()
      const first = yield* Effect.fork(client.complete(request, fast))
      yield* TestClock.adjust("2 seconds")
      assert.strictEqual(fast.text(), "answer ")
      const rest = yield* Effect.fork(
        Effect.all(
          [
            client.complete(request, late),
            client.complete(request, {
              onParts: (parts) => Effect.andThen(Effect.sleep("1 minute"), slow.onParts(parts))
            })
          ],
          { concurrency: "unbounded" }
        )
      )
      yield* TestClock.adjust("2 seconds")
      assert.deepStrictEqual([fast.text(), late.text(), slow.text()], ["answer 1", "answer 1", ""])
      yield* Fiber.join(first)
      yield* TestClock.adjust("1 hour")
      yield* Fiber.join(rest)
      assert.strictEqual(slow.text(), "answer 1")
      const paid = [fast, late, slow].flatMap(({ parts }) =>
        parts.flatMap((part) => (part.type === "finish" ? [part.usage.totalTokens] : []))
      )
      assert.deepStrictEqual(paid, [15, 0, 0])
      assert.strictEqual(inner.requests.length, 1)
    }).pipe(withMemory)
  )

  it.effect("delivers parts at the end when the first caller does not stream", () =>
    Effect.gen(function* () {
      const client = yield* LlmCache.wrap()(counting({ gap: 1000 }))
      const seen = Scripted.collector()
      const fiber = yield* Effect.fork(
        Effect.all([client.complete(request), client.complete(request, seen)], { concurrency: "unbounded" })
      )
      yield* TestClock.adjust("1 second")
      const [, response] = yield* Fiber.join(fiber)
      assert.deepStrictEqual(seen.parts, LlmClient.partsOf(response))
    }).pipe(withMemory)
  )

  it.effect("keeps the call running when the first caller is interrupted", () =>
    Effect.gen(function* () {
      const inner = counting({ gap: 1000 })
      const client = yield* LlmCache.wrap()(inner)
      const first = yield* Effect.fork(client.complete(request))
      yield* TestClock.adjust("500 millis")
      const second = yield* Effect.fork(client.complete(request))
      yield* TestClock.adjust("1 millis")
      yield* Fiber.interrupt(first)
      yield* TestClock.adjust("1 second")
      const response = yield* Fiber.join(second)
      assert.deepStrictEqual([LlmClient.text(response), response.usage.totalTokens], ["answer 1", 15])
      assert.strictEqual(inner.requests.length, 1)
    }).pipe(withMemory)
  )

  it.effect("cancels the call when the last caller is interrupted, and waits for it", () =>
    Effect.gen(function* () {
      const started = yield* Deferred.make<void>()
      let cancelled = false
      const inner = Scripted.make(() =>
        Deferred.succeed(started, undefined).pipe(
          Effect.andThen(Effect.never),
          Effect.onInterrupt(() =>
            Effect.andThen(
              Effect.yieldNow(),
              Effect.sync(() => (cancelled = true))
            )
          )
        )
      )
      const client = yield* LlmCache.wrap()(inner)
      const fibers = yield* Effect.all([Effect.fork(client.complete(request)), Effect.fork(client.complete(request))])
      yield* Deferred.await(started)
      yield* Fiber.interrupt(fibers[0])
      assert.isFalse(cancelled)
      yield* Fiber.interrupt(fibers[1])
      assert.isTrue(cancelled)
      const next = yield* Effect.fork(client.complete(request))
      yield* TestClock.adjust("1 second")
      assert.strictEqual(inner.requests.length, 2)
      yield* Fiber.interrupt(next)
    }).pipe(withMemory)
  )

  it.effect("fails all callers and forgets the failure", () =>
    Effect.gen(function* () {
      const inner = Scripted.make((call, _, options) =>
        call === 1
          ? Effect.andThen(Effect.sleep("1 second"), Effect.fail(Scripted.unavailable()))
          : Scripted.answer("ok", options)
      )
      const client = yield* LlmCache.wrap()(inner)
      const fiber = yield* Effect.fork(
        Effect.all([Effect.flip(client.complete(request)), Effect.flip(client.complete(request))], {
          concurrency: "unbounded"
        })
      )
      yield* TestClock.adjust("1 second")
      const errors = yield* Fiber.join(fiber)
      assert.deepStrictEqual(
        errors.map((error) => error._tag),
        ["LlmUnavailableError", "LlmUnavailableError"]
      )
      assert.strictEqual(LlmClient.text(yield* client.complete(request)), "ok")
    }).pipe(withMemory)
  )

  it.effect("wraps the client below on the backend in context", () =>
    Effect.gen(function* () {
      const inner = counting()
      const layer = LlmCache.layer().pipe(Layer.provide([LlmGateway.layer(inner), CacheBackend.layerMemory()]))
      yield* Effect.all([LlmGateway.complete(request), LlmGateway.complete(request)]).pipe(Effect.provide(layer))
      assert.strictEqual(inner.requests.length, 1)
    })
  )
})
