import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as TestClock from "effect/TestClock"
import * as CacheBackend from "../../../src/llm/CacheBackend.js"
import * as LlmCache from "../../../src/llm/LlmCache.js"
import * as LlmLimits from "../../../src/llm/LlmLimits.js"
import * as LlmRedaction from "../../../src/llm/LlmRedaction.js"
import * as LlmRetry from "../../../src/llm/LlmRetry.js"
import * as LlmTimeout from "../../../src/llm/LlmTimeout.js"
import * as ModelFallback from "../../../src/llm/ModelFallback.js"
import * as CallMeter from "../../../src/llm/model/CallMeter.js"
import type * as LlmClient from "../../../src/llm/model/LlmClient.js"
import * as LlmError from "../../../src/llm/model/LlmError.js"
import * as TokenCounter from "../../../src/llm/model/TokenCounter.js"
import * as Scripted from "../../support/ScriptedClient.js"

/** One token a character of what is written, a hundred for any request. */
const counter: TokenCounter.Service = {
  ...TokenCounter.make({ model: "small", exact: true, count: (text) => text.length }),
  countMessages: (messages) => (messages.length === 0 ? 0 : 100)
}

const hello = Scripted.user("hello")
const cached = Scripted.user("hello", { temperature: 0 })

const lost = (inputTokens: number, outputTokens: number) => ({
  provider: "scripted",
  model: "small",
  usage: {
    inputTokens,
    outputTokens,
    totalTokens: inputTokens + outputTokens,
    estimatedTokens: inputTokens + outputTokens
  }
})

const seen = { onParts: () => Effect.void }

/** A call under a meter: how it ended, and what it used besides its answer. */
const start = (
  client: LlmClient.Service,
  options: { readonly request?: LlmClient.LlmRequest; readonly streamed?: boolean } = {}
) =>
  Effect.gen(function* () {
    const meter = CallMeter.make(CallMeter.counts(counter))
    const call = CallMeter.metered(client).complete(options.request ?? hello, {
      meter,
      ...(options.streamed === false ? {} : seen)
    })
    const fiber = yield* Effect.fork(call)
    yield* Effect.yieldNow()
    return {
      fiber,
      ended: Effect.map(Fiber.await(fiber), (exit) => ({ exit, spent: meter.spent(exit) })),
      cut: Effect.map(Fiber.interrupt(fiber), (exit) => meter.spent(exit))
    }
  })

/** Streams the pieces, then hangs. */
const hanging = (...pieces: ReadonlyArray<string>): LlmClient.Service =>
  Scripted.make((_call, _request, options) =>
    Effect.zipRight(
      Effect.forEach(pieces, (delta) => options?.onParts?.([{ type: "text-delta", id: "0", delta }]) ?? Effect.void),
      Effect.never
    )
  )

const failing = (error: LlmError.LlmError, ...pieces: ReadonlyArray<string>): LlmClient.Service =>
  Scripted.make((_call, _request, options) =>
    Effect.zipRight(
      Effect.forEach(pieces, (delta) => options?.onParts?.([{ type: "text-delta", id: "0", delta }]) ?? Effect.void),
      Effect.fail(error)
    )
  )

const fields = { provider: "scripted", message: "no" }

describe("CallMeter", () => {
  it.effect("counts input and streamed output of a call interrupted midway", () =>
    Effect.gen(function* () {
      const streamed = yield* start(hanging("abc", "de"))
      assert.deepStrictEqual(yield* streamed.cut, [lost(100, 5)])
      const whole = yield* start(hanging("abc", "de"), { streamed: false })
      assert.deepStrictEqual(yield* whole.cut, [lost(100, 0)])
    })
  )

  it.effect("counts nothing besides a complete answer", () =>
    Effect.gen(function* () {
      const call = yield* start(Scripted.make((_call, _request, options) => Scripted.answer("hi", options)))
      assert.deepStrictEqual((yield* call.ended).spent, [])
    })
  )

  it.effect("counts text, reasoning and tool calls once each", () =>
    Effect.gen(function* () {
      const parts: ReadonlyArray<LlmClient.LlmPart> = [
        { type: "reasoning-delta", id: "r", delta: "12" },
        { type: "text-delta", id: "t", delta: "345" },
        { type: "tool-params-start", id: "c", name: "look" },
        { type: "tool-params-delta", id: "c", delta: "{}" },
        { type: "tool-call", id: "c", name: "look", params: {} },
        { type: "tool-call", id: "d", name: "see", params: { a: 1 } }
      ]
      const client = Scripted.make((_call, _request, options) =>
        Effect.zipRight(options?.onParts?.(parts) ?? Effect.void, Effect.never)
      )
      const [spent] = yield* (yield* start(client)).cut
      assert.strictEqual(spent?.usage.outputTokens, '12345\nlook\n{}\nsee\n{"a":1}'.length)
    })
  )

  it.effect("prefers the provider's report to the count where it exists", () =>
    Effect.gen(function* () {
      const finish = { type: "finish", reason: "stop", usage: { inputTokens: 7, outputTokens: 3 } } as const
      const finished = Scripted.make((_call, _request, options) =>
        Effect.zipRight(
          options?.onParts?.([{ type: "text-delta", id: "0", delta: "abc" }, finish]) ?? Effect.void,
          Effect.never
        )
      )
      const [all] = yield* (yield* start(finished)).cut
      assert.deepStrictEqual(all?.usage, { inputTokens: 7, outputTokens: 3 })
      const begun = Scripted.make((_call, _request, options) =>
        Effect.gen(function* () {
          options?.onUsage?.({ inputTokens: 7, cachedInputTokens: 2, outputTokens: 1 })
          yield* options?.onParts?.([{ type: "text-delta", id: "0", delta: "abc" }]) ?? Effect.void
          return yield* Effect.never
        })
      )
      const [some] = yield* (yield* start(begun)).cut
      assert.deepStrictEqual(some?.usage, {
        inputTokens: 7,
        cachedInputTokens: 2,
        outputTokens: 4,
        totalTokens: 11,
        estimatedTokens: 3
      })
      const unsaid = Scripted.make((_call, _request, options) =>
        Effect.zipRight(
          options?.onParts?.([
            { type: "text-delta", id: "0", delta: "abc" },
            { type: "finish", reason: "stop", usage: {} }
          ]) ?? Effect.void,
          Effect.never
        )
      )
      assert.deepStrictEqual(yield* (yield* start(unsaid)).cut, [lost(100, 3)])
    })
  )

  it.effect("counts an answer that its caller never received", () =>
    Effect.gen(function* () {
      const inner = Scripted.make(() => Effect.succeed(Scripted.response("hi", { model: "large" })))
      const metered = CallMeter.metered(inner)
      const slow: LlmClient.Service = {
        ...metered,
        complete: (request, options) => Effect.zipLeft(metered.complete(request, options), Effect.never)
      }
      assert.deepStrictEqual(yield* (yield* start(slow)).cut, [
        { provider: "scripted", model: "large", usage: { inputTokens: 10, outputTokens: 5, totalTokens: 15 } }
      ])
    })
  )

  it.effect("charges failures as providers bill them: nothing rejected, everything read", () =>
    Effect.gen(function* () {
      const free: ReadonlyArray<LlmError.LlmError> = [
        new LlmError.LlmAuthenticationError(fields),
        new LlmError.LlmRateLimitError(fields),
        new LlmError.LlmQuotaError(fields),
        new LlmError.LlmContextOverflowError(fields),
        new LlmError.LlmInvalidRequestError(fields),
        new LlmError.LlmUnavailableError(fields),
        new LlmError.LlmConnectionError(fields)
      ]
      const billed: ReadonlyArray<LlmError.LlmError> = [
        new LlmError.LlmConnectionError({ ...fields, sent: true }),
        new LlmError.LlmTimeoutError({ ...fields, phase: "server" }),
        new LlmError.LlmContentPolicyError(fields),
        new LlmError.LlmMalformedResponseError(fields)
      ]
      for (const error of free) {
        assert.deepStrictEqual((yield* (yield* start(failing(error))).ended).spent, [], error._tag)
        // Whatever it is called, a failure in the middle of an answer came after the model began.
        assert.deepStrictEqual((yield* (yield* start(failing(error, "abc"))).ended).spent, [lost(100, 3)], error._tag)
      }
      for (const error of billed) {
        assert.deepStrictEqual((yield* (yield* start(failing(error))).ended).spent, [lost(100, 0)], error._tag)
      }
    })
  )

  it.effect("counts an attempt that timed out next to the answer of the next one", () =>
    Effect.gen(function* () {
      const client = Scripted.make((call, _request, options) =>
        call === 1
          ? Effect.zipRight(options?.onParts === undefined ? Effect.void : Effect.void, Effect.never)
          : Scripted.answer("hi", options)
      )
      const call = yield* start(LlmRetry.wrap({ jitter: false })(LlmTimeout.wrap({ whole: "1 second" })(client)))
      yield* TestClock.adjust("10 seconds")
      const { exit, spent } = yield* call.ended
      assert.isTrue(Exit.isSuccess(exit))
      assert.deepStrictEqual(spent, [lost(100, 0)])
    })
  )

  it.effect("counts only the attempts, not the delay between them", () =>
    Effect.gen(function* () {
      const call = yield* start(LlmRetry.wrap({ jitter: false })(failing(Scripted.unavailable())))
      yield* TestClock.adjust("100 millis")
      assert.deepStrictEqual(yield* call.cut, [])
    })
  )

  it.effect("counts a queued call as not sent", () =>
    Effect.gen(function* () {
      const client = hanging("abc")
      const limited = yield* LlmLimits.wrap({ concurrency: 1 })(client)
      const first = yield* start(limited)
      const second = yield* start(limited)
      assert.deepStrictEqual(yield* second.cut, [])
      assert.deepStrictEqual(yield* first.cut, [lost(100, 3)])
      const rated = yield* LlmLimits.wrap({ requestsPerMinute: 1 })(client)
      const third = yield* start(rated)
      const fourth = yield* start(rated)
      assert.deepStrictEqual(yield* fourth.cut, [])
      assert.deepStrictEqual(yield* third.cut, [lost(100, 3)])
    })
  )

  it.effect("counts each client of a chain separately", () =>
    Effect.gen(function* () {
      const chain = ModelFallback.make(
        [
          LlmTimeout.wrap({ whole: "1 second" })(hanging()),
          Scripted.make((_call, _request, options) => Scripted.answer("hi", options), { provider: "second" })
        ],
        { onFallback: () => Effect.void }
      )
      const call = yield* start(chain)
      yield* TestClock.adjust("2 seconds")
      const { exit, spent } = yield* call.ended
      assert.isTrue(Exit.isSuccess(exit))
      assert.deepStrictEqual(spent, [lost(100, 0)])
    })
  )

  it.effect("counts once through any wrappers, without losing streamed parts", () =>
    Effect.gen(function* () {
      const inner = LlmRedaction.wrap({ window: 64 })(hanging("a secret"))
      const own: LlmClient.Service = {
        provider: inner.provider,
        model: inner.model,
        complete: (request, options) => inner.complete(request, options)
      }
      assert.strictEqual(CallMeter.metered(inner), inner)
      assert.strictEqual(CallMeter.metered(own), CallMeter.metered(own))
      assert.deepStrictEqual(yield* (yield* start(own)).cut, [lost(100, 8)])
    })
  )

  it.effect("charges one of the callers of a shared call: the last to leave or the one with its answer", () =>
    Effect.gen(function* () {
      const client = yield* LlmCache.wrap()(hanging("abc"))
      const first = yield* start(client, { request: cached })
      const second = yield* start(client, { request: cached })
      assert.deepStrictEqual(yield* first.cut, [])
      assert.deepStrictEqual(yield* second.cut, [lost(100, 3)])

      const gate = yield* Deferred.make<void>()
      const answering = yield* LlmCache.wrap()(
        Scripted.make((_call, _request, options) =>
          Effect.zipRight(Deferred.await(gate), Scripted.answer("hi", options))
        )
      )
      const leaving = yield* start(answering, { request: cached })
      const staying = yield* start(answering, { request: cached })
      assert.deepStrictEqual(yield* leaving.cut, [])
      yield* Deferred.succeed(gate, undefined)
      const { exit, spent } = yield* staying.ended
      assert.deepStrictEqual(spent, [])
      assert.isTrue(Exit.isSuccess(exit) && exit.value.usage.totalTokens === 15)
      const hit = yield* start(answering, { request: cached })
      assert.deepStrictEqual((yield* hit.ended).spent, [])

      const failed = yield* LlmCache.wrap()(failing(new LlmError.LlmMalformedResponseError(fields)))
      const one = yield* start(failed, { request: Scripted.user("again", { temperature: 0 }) })
      assert.deepStrictEqual((yield* one.ended).spent, [lost(100, 0)])
    }).pipe(Effect.provide(CacheBackend.layerMemory()))
  )

  it.effect("records nothing outside of a meter", () =>
    Effect.gen(function* () {
      const client = CallMeter.metered(Scripted.make((_call, _request, options) => Scripted.answer("hi", options)))
      assert.strictEqual((yield* client.complete(hello)).finishReason, "stop")
    })
  )
})
