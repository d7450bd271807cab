import { assert, describe, it } from "@effect/vitest"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as ManagedRuntime from "effect/ManagedRuntime"
import * as Option from "effect/Option"
import * as Scope from "effect/Scope"
import * as TestClock from "effect/TestClock"
import * as LlmClient from "../../src/llm/model/LlmClient.js"
import * as LlmError from "../../src/llm/model/LlmError.js"
import * as LlmGateway from "../../src/llm/model/LlmGateway.js"
import * as TestModel from "../../src/testing/TestModel.js"

const ask = (text = "hi"): LlmClient.LlmRequest => ({ messages: [{ role: "user", content: text }] })

const down = new LlmError.LlmUnavailableError({ message: "down", provider: "test" })

const defect = <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<string, never, R> =>
  Effect.map(Effect.flip(Effect.sandbox(effect)), (cause) => {
    const died = Cause.dieOption(cause)
    return Option.isSome(died) ? String((died.value as Error).message) : assert.fail("it is no defect")
  }) as Effect.Effect<string, never, R>

const collect = (model: LlmClient.Service, request = ask()) => {
  const parts: Array<LlmClient.LlmPart> = []
  return Effect.map(
    Effect.exit(model.complete(request, { onParts: (chunk) => Effect.sync(() => void parts.push(...chunk)) })),
    (exit) => ({ exit, parts })
  )
}

describe("TestModel", () => {
  it.effect("answers from its list in order: texts, turns and functions of the request", () =>
    Effect.gen(function* () {
      const model = TestModel.make([
        "one",
        { text: ["t", "wo"], reasoning: "hm", usage: { totalTokens: 2 }, finishReason: "length" },
        (request, index) => `${String(request.messages[0]!.content)} ${index}`,
        () => Effect.succeed({ text: "four" })
      ])
      const answers = yield* Effect.forEach([1, 2, 3, 4], () => model.complete(ask()))
      assert.deepStrictEqual(answers.map(LlmClient.text), ["one", "two", "hi 2", "four"])
      assert.deepStrictEqual(answers[1], {
        content: [
          { type: "reasoning", text: "hm" },
          { type: "text", text: "two" }
        ],
        finishReason: "length",
        usage: { totalTokens: 2 },
        model: "test-model",
        provider: "test"
      })
    })
  )

  it.effect("answers everything with one function", () =>
    Effect.gen(function* () {
      const model = TestModel.make((_request, index) => String(index), { model: "m", provider: "p" })
      const answers = yield* Effect.forEach([1, 2, 3], () => model.complete(ask()))
      assert.deepStrictEqual(answers.map(LlmClient.text), ["0", "1", "2"])
      assert.deepStrictEqual(
        [answers[0]!.model, answers[0]!.provider, model.model, model.provider],
        ["m", "p", "m", "p"]
      )
      assert.strictEqual(yield* model.observer.remaining, 0)
    })
  )

  it.effect("numbers calls without ids, and sets the finish reason", () =>
    Effect.gen(function* () {
      const model = TestModel.make([{ calls: [{ name: "a" }, { name: "b", id: "own" }] }, { calls: [{ name: "c" }] }])
      const one = yield* model.complete(ask())
      const two = yield* model.complete(ask())
      assert.deepStrictEqual(
        [...LlmClient.toolCalls(one), ...LlmClient.toolCalls(two)].map(({ id, name, params }) => [id, name, params]),
        [
          ["call_1", "a", {}],
          ["own", "b", {}],
          ["call_2", "c", {}]
        ]
      )
      assert.strictEqual(one.finishReason, "tool-calls")
    })
  )

  it.effect("dies for a request beyond the script and names it", () =>
    Effect.gen(function* () {
      const model = TestModel.make(["one"])
      yield* model.complete(ask())
      const message = yield* defect(model.complete(ask("and now?")))
      assert.match(message, /request 2 came, but the script has 1 turns.*and now\?/)
      assert.match(yield* defect(TestModel.make([]).complete({ messages: [] })), /request 1 came/)
    })
  )

  it.effect("dies for an unexpected request, by false or by a throw", () =>
    Effect.gen(function* () {
      const refuse = TestModel.make([{ text: "x", expect: (request) => request.tools !== undefined }])
      assert.match(yield* defect(refuse.complete(ask("which?"))), /request 1 is not as expected.*which\?/)
      const throwing = TestModel.make([
        {
          text: "x",
          expect: () => {
            throw new Error("no tools")
          }
        }
      ])
      assert.match(yield* defect(throwing.complete(ask())), /no tools/)
      const fine = TestModel.make([{ text: "x", expect: () => {} }])
      assert.strictEqual(LlmClient.text(yield* fine.complete(ask())), "x")
    })
  )

  it.effect("fails as scripted, after the parts before", () =>
    Effect.gen(function* () {
      const { exit, parts } = yield* collect(TestModel.make([{ text: ["a", "b"], fail: down }]))
      assert.strictEqual(yield* Effect.flip(exit), down)
      assert.deepStrictEqual(
        parts.map((part) => part.type),
        ["text-start", "text-delta", "text-delta", "text-end"]
      )
      const asEffect = TestModel.make([() => Effect.fail(down)])
      assert.strictEqual(yield* Effect.flip(asEffect.complete(ask())), down)
    })
  )

  it.effect("streams exactly the given parts, and assembles them", () =>
    Effect.gen(function* () {
      const given: ReadonlyArray<LlmClient.LlmPart> = [
        { type: "response-metadata", id: "r1", modelId: "other" },
        { type: "tool-call", id: "c", name: "t", params: { x: 1 } },
        { type: "finish", reason: "stop", usage: {} }
      ]
      const { exit, parts } = yield* collect(TestModel.make([{ parts: given }]))
      assert.deepStrictEqual(parts, given as Array<LlmClient.LlmPart>)
      const response = yield* exit
      assert.deepStrictEqual([response.id, response.model, response.finishReason], ["r1", "other", "stop"])
    })
  )

  it.effect("answers as the model of the request", () =>
    Effect.gen(function* () {
      const response = yield* TestModel.make(["x"]).complete({ ...ask(), settings: { model: "mine" } })
      assert.strictEqual(response.model, "mine")
    })
  )

  it.effect("waits in virtual time, before the answer and between its parts", () =>
    Effect.gen(function* () {
      const model = TestModel.make([{ text: ["a", "b"], delay: "10 seconds", partDelay: "1 second" }])
      const times: Array<number> = []
      const fiber = yield* Effect.fork(
        model.complete(ask(), {
          onParts: () =>
            Effect.map(
              Effect.clockWith((clock) => clock.currentTimeMillis),
              (now) => void times.push(now)
            )
        })
      )
      yield* TestClock.adjust("9 seconds")
      assert.lengthOf(times, 0)
      yield* TestClock.adjust("10 seconds")
      yield* Fiber.join(fiber)
      assert.deepStrictEqual(times, [10_000, 11_000, 12_000, 13_000, 14_000])
    })
  )

  it.effect("shows its requests, its remaining script and its running calls to an observer", () =>
    Effect.gen(function* () {
      const client = yield* LlmClient.LlmClient
      const { active, remaining, requests } = yield* TestModel.TestModel
      const fiber = yield* Effect.fork(client.complete(ask("slow")))
      yield* TestClock.adjust(1)
      assert.deepStrictEqual([yield* active, yield* remaining], [1, 1])
      yield* Fiber.interrupt(fiber)
      yield* client.complete(ask("quick"))
      assert.deepStrictEqual([yield* active, yield* remaining], [0, 0])
      assert.deepStrictEqual(
        (yield* requests).map((request) => request.messages[0]!.content),
        ["slow", "quick"]
      )
      assert.deepStrictEqual(yield* TestModel.requests, yield* requests)
    }).pipe(Effect.provide(TestModel.layer([{ text: "a", delay: "1 minute" }, "b"])))
  )

  it.effect("restarts the script with every build of the layer", () =>
    Effect.gen(function* () {
      const layer = TestModel.layer(["a"])
      for (let i = 0; i < 2; i++) {
        const response = yield* Effect.provide(LlmGateway.complete(ask()), layer)
        assert.strictEqual(LlmClient.text(response), "a")
      }
    })
  )

  describe("with turns that were never asked for", () => {
    const once = LlmGateway.complete(ask())

    it.effect("fails a test that provides the layer, and says how many and what the first is", () =>
      Effect.gen(function* () {
        const message = yield* defect(Effect.provide(once, TestModel.layer(["one", "two \u0000", "three"])))
        assert.match(message, /2 of 3 turns of the script were never asked for/)
        assert.include(message, 'The first of them: "two \\u0000".')
        assert.include(message, "exhausted: false")
      })
    )

    it.effect("accepts a script to its end, one beyond it, a function, and a request that was interrupted", () =>
      Effect.gen(function* () {
        const twice = Effect.zipRight(once, once)
        const slow = Effect.timeoutOption(once, "1 second")
        const late = yield* Effect.fork(Effect.provide(slow, TestModel.layer([{ text: "x", delay: "1 hour" }])))
        yield* TestClock.adjust("1 second")
        assert.isTrue(Option.isNone(yield* Fiber.join(late)))
        yield* Effect.provide(once, TestModel.layer(["one"]))
        yield* Effect.provide(Effect.void, TestModel.layer([]))
        yield* Effect.provide(
          Effect.void,
          TestModel.layer(() => "one")
        )
        const beyond = Effect.provide(twice, TestModel.layer(["one"]))
        assert.match(yield* defect(beyond), /request 2 came/)
      })
    )

    it.effect("does not hide how a scope failed", () =>
      Effect.gen(function* () {
        const ends = (effect: Effect.Effect<unknown, string, LlmClient.LlmClient>) =>
          Effect.exit(Effect.provide(effect, TestModel.layer(["one", "two"])))
        assert.deepStrictEqual(
          yield* ends(Effect.zipRight(once.pipe(Effect.orDie), Effect.fail("typed"))),
          Exit.fail("typed")
        )
        assert.deepStrictEqual(yield* ends(Effect.die("assertion")), Exit.die("assertion"))
        const interrupted = yield* ends(Effect.interrupt)
        assert.isTrue(Exit.isFailure(interrupted) && Cause.isInterruptedOnly(interrupted.cause))
        const built = Layer.effectDiscard(Effect.fail("layer")).pipe(Layer.provideMerge(TestModel.layer(["one"])))
        assert.deepStrictEqual(yield* Effect.exit(Effect.provide(Effect.void, built)), Exit.fail("layer"))
      })
    )

    it.effect("are allowed by an option, and are checked on demand", () =>
      Effect.gen(function* () {
        yield* once
        assert.match(yield* defect(TestModel.exhausted), /1 of 2 turns/)
        const { exhausted } = TestModel.make(["one"]).observer
        assert.match(yield* defect(exhausted), /1 of 1 turns/)
        yield* TestModel.make(() => "any").observer.exhausted
      }).pipe(Effect.provide(TestModel.layer(["one", "two"], { exhausted: false })))
    )

    it.effect("sees what is asked while the layers above it close", () =>
      Effect.gen(function* () {
        const atTheEnd = Layer.scopedDiscard(
          Effect.flatMap(LlmClient.LlmClient, (client) =>
            Effect.addFinalizer(() => Effect.orDie(client.complete(ask("at the end"))))
          )
        )
        const both = Layer.provideMerge(atTheEnd, TestModel.layer(["one", "two"]))
        yield* Effect.provide(once, both)
        assert.match(yield* defect(Effect.provide(Effect.void, both)), /1 of 2 turns/)
      })
    )

    it.effect("are checked once where tests share a layer: when its scope or its runtime closes", () =>
      Effect.gen(function* () {
        for (const asked of [1, 2]) {
          const scope = yield* Scope.make()
          const shared = yield* Effect.provideService(
            Layer.memoize(TestModel.layer(["one", "two"])),
            Scope.Scope,
            scope
          )
          for (let i = 0; i < asked; i++) yield* Effect.provide(once, shared)
          const closed = yield* Effect.exit(Scope.close(scope, Exit.void))
          assert.strictEqual(Exit.isSuccess(closed), asked === 2)

          const runtime = ManagedRuntime.make(TestModel.layer(["one", "two"]))
          for (let i = 0; i < asked; i++) yield* Effect.promise(() => runtime.runPromise(once))
          const disposed = yield* Effect.exit(Effect.tryPromise(() => runtime.dispose()))
          assert.strictEqual(Exit.isSuccess(disposed), asked === 2)
        }
      })
    )

    it.effect("describes turns of every kind in a line", () =>
      Effect.gen(function* () {
        const cyclic: { self?: unknown } = {}
        cyclic.self = cyclic
        const cases: ReadonlyArray<readonly [TestModel.ScriptItem, RegExp]> = [
          [
            { calls: [{ name: "add", params: { a: 1 } }] },
            /first of them: {"calls":\[{"name":"add","params":{"a":1}}\]}\. /
          ],
          [() => "x", /first of them: a function of the request\. /],
          [{ fail: down }, /LlmUnavailableError/],
          [{ calls: [{ name: "loop", params: cyclic }] }, /"name":"loop"/],
          [{ calls: [{ name: "big", params: 1n }] }, /first of them: \[object Object\]\. /],
          ["x".repeat(1_000_000), /"x+\[…999502…\]x+"\. /]
        ]
        for (const [item, expected] of cases) {
          const message = yield* defect(TestModel.make([item]).observer.exhausted)
          assert.match(message, expected)
          assert.isBelow(message.length, 800)
        }
      })
    )
  })
})
