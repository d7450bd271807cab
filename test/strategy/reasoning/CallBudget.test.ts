import { assert, describe, it } from "@effect/vitest"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Option from "effect/Option"
import * as TestClock from "effect/TestClock"
import { CostEstimator, fromPrices } from "../../../src/llm/model/CostEstimator.js"
import * as LlmClient from "../../../src/llm/model/LlmClient.js"
import { LlmUnavailableError } from "../../../src/llm/model/LlmError.js"
import * as TokenCounter from "../../../src/llm/model/TokenCounter.js"
import * as Step from "../../../src/observability/Step.js"
import type * as StrategyBudget from "../../../src/strategy/combine/StrategyBudget.js"
import { withBudget } from "../../../src/strategy/combine/StrategyBudget.js"
import * as StrategyFallback from "../../../src/strategy/combine/StrategyFallback.js"
import * as Strategy from "../../../src/strategy/definition/Strategy.js"
import { StrategyBudgetError } from "../../../src/strategy/definition/StrategyError.js"
import * as FunctionCalling from "../../../src/strategy/loop/FunctionCalling.js"
import * as ModelBinding from "../../../src/strategy/reasoning/ModelBinding.js"
import * as TestModel from "../../../src/testing/TestModel.js"
import { Fatality } from "../../../src/tool/ToolRunner.js"
import * as Strategies from "../Strategies.js"

const unavailable = new LlmUnavailableError({ provider: "test", message: "down" })

const usage = (inputTokens: number, outputTokens: number) => ({
  inputTokens,
  outputTokens,
  totalTokens: inputTokens + outputTokens
})

/** Counts 100 for every request. */
const hundred: TokenCounter.Service = {
  ...TokenCounter.make({ model: "test", exact: true, count: () => 0 }),
  countMessages: () => 100,
  countTools: () => 0
}

const prices = fromPrices({ "test-model": { input: 1_000_000, output: 1_000_000 } })

/** A strategy that makes its calls side by side and says how each ended. */
const fanOut = (calls: number, concurrency?: number) =>
  Strategy.make("fan-out", (task) =>
    Effect.gen(function* () {
      const model = yield* ModelBinding.bind(task)
      const ended = yield* Step.forEach(
        Array.from({ length: calls }, (_, index) => index),
        (index) =>
          Effect.exit(model.call({ messages: [{ role: "user", content: String(index) }] }, { step: index + 1 })),
        { concurrency: concurrency ?? "unbounded" }
      )
      const answered = ended.filter(Exit.isSuccess).length
      const refused = ended.filter(
        (exit) =>
          Exit.isFailure(exit) && Option.exists(Cause.failureOption(exit.cause), (error) => error._tag === "Fatality")
      ).length
      return { text: JSON.stringify({ answered, refused }), reason: "completed" as const, messages: [] }
    })
  )

const counts = (exit: Effect.Effect<Strategy.Answer, unknown>) =>
  Effect.map(exit, ({ text }) => JSON.parse(text) as { readonly answered: number; readonly refused: number })

const loop: Strategies.Script = () => ({ calls: [{ name: "add", params: { a: 1, b: 2 } }], usage: usage(100, 10) })

const looping = FunctionCalling.make({ maxIterations: 100, noProgressAfter: false })

describe("withBudget", () => {
  it.effect("limits model calls exactly, and fails with what was used", () =>
    Effect.gen(function* () {
      const ran = yield* Strategies.run(withBudget(looping, { maxModelCalls: 3 }), loop, { tools: Strategies.tools })
      const error = yield* Effect.flip(ran.exit)
      assert.instanceOf(error, StrategyBudgetError)
      assert.deepStrictEqual(
        [error.strategyName, error.limitType, error.limit, error.used, error.code],
        ["function_calling", "model-calls", 3, 3, "LEX_ERR_AGT_110"]
      )
      assert.lengthOf(ran.requests, 3)
    })
  )

  it.effect("changes nothing when it suffices, and is separate for each run", () =>
    Effect.gen(function* () {
      const strategy = withBudget(FunctionCalling.make(), { maxModelCalls: 1 })
      for (let run = 0; run < 3; run++) {
        const ran = yield* Strategies.run(strategy, ["x"])
        assert.strictEqual((yield* ran.exit).text, "x")
        assert.isUndefined(ran.requests[0]!.settings?.maxTokens)
      }
    })
  )

  it.effect("reserves input and the longest answer in tokens, and books what was used", () =>
    Effect.gen(function* () {
      // Each call uses 110 of the 150 that are reserved for it.
      const ran = yield* Strategies.run(withBudget(looping, { maxTokens: 480, outputTokens: 50 }), loop, {
        tools: Strategies.tools
      }).pipe(Effect.provideService(TokenCounter.TokenCounter, hundred))
      const error = yield* Effect.flip(ran.exit)
      assert.instanceOf(error, StrategyBudgetError)
      assert.deepStrictEqual([error.limitType, error.limit, error.used], ["tokens", 480, 440])
      // 110, 220, 330 and 440: the fourth still had 150 left, a fifth would have had 40.
      assert.deepStrictEqual(
        ran.requests.map((request) => request.settings?.maxTokens),
        [50, 50, 50, 50]
      )
    })
  )

  it.effect("shortens the answer where the longest one does not fit", () =>
    Effect.gen(function* () {
      const ran = yield* Strategies.run(withBudget(looping, { maxTokens: 250, outputTokens: 60 }), loop, {
        tools: Strategies.tools
      }).pipe(Effect.provideService(TokenCounter.TokenCounter, hundred))
      assert.instanceOf(yield* Effect.flip(ran.exit), StrategyBudgetError)
      assert.deepStrictEqual(
        ran.requests.map((request) => request.settings?.maxTokens),
        [60, 40]
      )
      const asked = yield* Strategies.run(withBudget(looping, { maxTokens: 300 }), loop, {
        tools: Strategies.tools,
        task: { settings: { maxTokens: 20 } }
      }).pipe(Effect.provideService(TokenCounter.TokenCounter, hundred))
      yield* Effect.flip(asked.exit)
      assert.deepStrictEqual(
        asked.requests.map((request) => request.settings?.maxTokens),
        [20, 20]
      )
    })
  )

  it.effect("limits dollars by known prices, and calls no model without a price", () =>
    Effect.gen(function* () {
      const strategy = withBudget(looping, { maxCostUsd: 400, outputTokens: 20 })
      const ran = yield* Strategies.run(strategy, loop, { tools: Strategies.tools }).pipe(
        Effect.provideService(TokenCounter.TokenCounter, hundred),
        Effect.provideService(CostEstimator, prices)
      )
      const error = yield* Effect.flip(ran.exit)
      assert.instanceOf(error, StrategyBudgetError)
      assert.deepStrictEqual([error.limitType, error.limit, error.used], ["cost", 400, 330])
      const unknown = yield* Strategies.run(strategy, loop, { tools: Strategies.tools })
      const refusal = yield* Effect.flip(unknown.exit)
      assert.isTrue(refusal instanceof StrategyBudgetError && refusal.message.includes("price of test-model"))
      assert.lengthOf(unknown.requests, 0)
    })
  )

  it.effect("counts dollars to the last fraction of a cent, and tolerates rounding", () =>
    Effect.gen(function* () {
      const run = Effect.fnUntraced(function* (maxCostUsd: number, price: number) {
        const ran = yield* Strategies.run(withBudget(looping, { maxCostUsd, outputTokens: 20 }), loop, {
          tools: Strategies.tools
        }).pipe(
          Effect.provideService(TokenCounter.TokenCounter, hundred),
          Effect.provideService(CostEstimator, fromPrices({ "test-model": { input: price, output: 0 } }))
        )
        const error = yield* Effect.flip(ran.exit)
        assert.strictEqual(error._tag, "StrategyBudgetError")
        return ran.requests.length
      })
      // A call costs 100, then a tenth of a cent.
      assert.strictEqual(yield* run(300, 1_000_000), 3)
      assert.strictEqual(yield* run(299.999, 1_000_000), 2)
      assert.strictEqual(yield* run(99.999, 1_000_000), 0)
      assert.strictEqual(yield* run(0.003, 10), 3)
      assert.strictEqual(yield* run(0.00299, 10), 2)
    })
  )

  it.effect("uses the price of the model that a request names", () =>
    Effect.gen(function* () {
      const cheap = fromPrices({ cheap: { input: 0, output: 0 } })
      const strategy = withBudget(FunctionCalling.make(), { maxCostUsd: 1 })
      const run = (model: string) =>
        Effect.provideService(
          Strategies.run(strategy, model === "dear" ? [] : ["x"], { task: { settings: { model } } }),
          CostEstimator,
          cheap
        )
      assert.strictEqual((yield* (yield* run("cheap")).exit).text, "x")
      assert.instanceOf(yield* Effect.flip((yield* run("dear")).exit), StrategyBudgetError)
    })
  )

  it.effect("limits time", () =>
    Effect.gen(function* () {
      const strategy = withBudget(FunctionCalling.make(), { timeout: "5 seconds" })
      const fiber = yield* Effect.fork(Strategies.run(strategy, [{ text: "x", delay: "1 minute" }]))
      yield* TestClock.adjust(4999)
      assert.isNull(fiber.unsafePoll())
      yield* TestClock.adjust(1)
      const error = yield* Effect.flip((yield* Fiber.join(fiber)).exit)
      assert.instanceOf(error, StrategyBudgetError)
      assert.deepStrictEqual([error.limitType, error.limit], ["time", 5000])
    })
  )

  it.effect("lets a call wait for others beside which it does not fit", () =>
    Effect.gen(function* () {
      // 150 reserved and 110 used each: two at once, and what they give back is enough for a third.
      const ran = yield* Effect.fork(
        Strategies.run(withBudget(fanOut(4), { maxTokens: 370, outputTokens: 50 }), () => ({
          text: "x",
          delay: "1 second",
          usage: usage(100, 10)
        })).pipe(Effect.provideService(TokenCounter.TokenCounter, hundred))
      )
      yield* TestClock.adjust("1 second")
      assert.isNull(ran.unsafePoll())
      yield* TestClock.adjust("2 seconds")
      const { exit, requests } = yield* Fiber.join(ran)
      assert.deepStrictEqual(yield* counts(exit), { answered: 3, refused: 1 })
      assert.lengthOf(requests, 3)
    })
  )

  it.effect("removes an interrupted waiting call from the queue", () =>
    Effect.gen(function* () {
      const strategy = Strategy.make("racing", (task) =>
        Effect.gen(function* () {
          const model = yield* ModelBinding.bind(task)
          const ask = (step: number) => model.call({ messages: [{ role: "user", content: "x" }] }, { step })
          const first = yield* Effect.fork(ask(1))
          yield* Effect.yieldNow()
          const second = yield* Effect.fork(ask(2))
          yield* Effect.yieldNow()
          const third = yield* Effect.fork(ask(3))
          yield* Effect.yieldNow()
          yield* Fiber.interrupt(second)
          // The first gives back what it held: the third, which came behind the second, takes it.
          yield* Fiber.interrupt(first)
          const { finishReason } = yield* Fiber.join(third)
          return { text: finishReason, reason: "completed" as const, messages: [] }
        })
      )
      const fiber = yield* Effect.fork(
        Strategies.run(withBudget(strategy, { maxModelCalls: 1 }), () => ({ text: "x", delay: "1 second" }))
      )
      yield* TestClock.adjust("10 seconds")
      const { exit, requests } = yield* Fiber.join(fiber)
      assert.strictEqual((yield* exit).text, "stop")
      assert.lengthOf(requests, 2)
    })
  )

  it.effect("is exact over 1,000 concurrent calls that answer, fail or are interrupted", () =>
    Effect.gen(function* () {
      for (const seed of [1, 2, 3]) {
        let state = seed
        const random = () => {
          state = (state * 1103515245 + 12345) % 2147483648
          return state / 2147483648
        }
        let open = 0
        let most = 0
        let answered = 0
        let cut = 0
        const service = TestModel.make(() => ({ text: "x" }))
        const client: LlmClient.Service = {
          ...service,
          complete: (request) => {
            const fate = random()
            const delay = Math.ceil(random() * 20)
            return Effect.acquireUseRelease(
              Effect.sync(() => {
                open++
                most = Math.max(most, answered * 110 + cut * 100 + open * 150)
              }),
              () =>
                Effect.zipRight(
                  Effect.repeatN(Effect.yieldNow(), delay),
                  fate < 0.2
                    ? Effect.fail(unavailable)
                    : fate < 0.4
                      ? Effect.zipRight(
                          Effect.sync(() => void cut++),
                          Effect.interrupt
                        )
                      : Effect.map(service.complete(request), (response) => {
                          answered++
                          return { ...response, usage: usage(100, 10) }
                        })
                ),
              () => Effect.sync(() => void open--)
            )
          }
        }
        const given = yield* Strategies.task()
        const run = (options: StrategyBudget.BudgetOptions) =>
          Effect.gen(function* () {
            answered = 0
            cut = 0
            most = 0
            const program = withBudget(fanOut(1000), options)
              .program(given)
              .pipe(
                Effect.provideService(LlmClient.LlmClient, client),
                Effect.provideService(CostEstimator, prices),
                Effect.provideService(TokenCounter.TokenCounter, hundred),
                Effect.provide(Strategies.layer([]))
              )
            const result = yield* counts(program)
            assert.strictEqual(result.answered, answered)
            assert.strictEqual(open, 0)
            return result
          })
        // Enough would have answered without the limit: it is used up to the last call, and not passed by one.
        assert.strictEqual((yield* run({ maxModelCalls: 300 })).answered, 300)
        const tokens = yield* run({ maxTokens: 33_040, outputTokens: 50 })
        assert.isAtMost(most, 33_040)
        // One that was cut off used its input. For another one, with the shortest answer, there is no room, whatever the others gave back.
        const used = tokens.answered * 110 + cut * 100
        assert.isAbove(cut, 0)
        assert.isAtMost(used, 33_040)
        assert.isAbove(used + 116, 33_040)
        assert.isAbove(tokens.refused, 0)
      }
    })
  )

  it.effect("charges nothing for refused calls", () =>
    Effect.gen(function* () {
      const ran = yield* Strategies.run(withBudget(fanOut(5, 1), { maxModelCalls: 2 }), [
        { fail: unavailable },
        { text: "x" },
        { fail: unavailable },
        { text: "x" }
      ])
      assert.deepStrictEqual(yield* counts(ran.exit), { answered: 2, refused: 1 })
    })
  )

  it.effect("charges the input of a call that was cut off, and does not count it as answered", () =>
    Effect.gen(function* () {
      const late: TestModel.Turn = { text: "x", delay: "1 hour" }
      const given = withBudget(fanOut(5, 1), { maxTokens: 350, maxModelCalls: 1, outputTokens: 50 })
      const fiber = yield* Effect.fork(
        Strategies.run(given, [late, late, { text: "x", usage: usage(100, 10) }], {
          task: { limits: { llmTimeout: "1 second" } }
        }).pipe(Effect.provideService(TokenCounter.TokenCounter, hundred))
      )
      yield* TestClock.adjust("10 seconds")
      const ran = yield* Fiber.join(fiber)
      // Twice 100 for nothing, then an answer of 110: a fourth call does not fit, in tokens or in calls.
      assert.deepStrictEqual(yield* counts(ran.exit), { answered: 1, refused: 2 })
      assert.lengthOf(ran.requests, 3)
      const reports = ran.events.flatMap((event) => (event._tag === "UsageReported" ? [event] : []))
      assert.deepStrictEqual(
        reports.map(({ cutOff, usage }) => [cutOff, usage.totalTokens, usage.estimatedTokens]),
        [
          [true, 100, 100],
          [true, 100, 100],
          [undefined, 110, undefined]
        ]
      )
    })
  )

  it.effect("charges the whole reservation for unknown usage", () =>
    Effect.gen(function* () {
      const ran = yield* Strategies.run(withBudget(fanOut(5, 1), { maxTokens: 300, outputTokens: 50 }), () => ({
        text: "x",
        usage: {}
      })).pipe(Effect.provideService(TokenCounter.TokenCounter, hundred))
      assert.deepStrictEqual(yield* counts(ran.exit), { answered: 2, refused: 3 })
    })
  )

  it.effect("applies the smaller of two budgets, and names its strategy", () =>
    Effect.gen(function* () {
      const inner: Strategy.Strategy<StrategyBudgetError> = {
        ...withBudget(looping, { maxModelCalls: 2 }),
        name: "inner"
      }
      const run = (outer: number) =>
        Effect.map(
          Strategies.run(withBudget(inner, { maxModelCalls: outer }), loop, { tools: Strategies.tools }),
          (ran) => ran.exit
        )
      const byInner = yield* Effect.flip(yield* run(5))
      assert.deepStrictEqual(byInner instanceof StrategyBudgetError && [byInner.strategyName, byInner.limit], [
        "function_calling",
        2
      ])
      const byOuter = yield* Effect.flip(yield* run(1))
      assert.deepStrictEqual(byOuter instanceof StrategyBudgetError && [byOuter.strategyName, byOuter.limit], [
        "inner",
        1
      ])
    })
  )

  it.effect("is not recovered by a fallback inside it, but by one around it", () =>
    Effect.gen(function* () {
      const second = Strategy.make("second", () =>
        Effect.succeed({ text: "second", reason: "completed" as const, messages: [] })
      )
      const around = withBudget(StrategyFallback.withFallback(looping, second), { maxModelCalls: 1 })
      assert.instanceOf(
        yield* Effect.flip((yield* Strategies.run(around, loop, { tools: Strategies.tools })).exit),
        StrategyBudgetError
      )
      const within = StrategyFallback.withFallback(withBudget(looping, { maxModelCalls: 1 }), second)
      const ran = yield* Strategies.run(within, loop, { tools: Strategies.tools })
      assert.strictEqual((yield* ran.exit).text, "second")
    })
  )

  it.effect("passes other failures through", () =>
    Effect.gen(function* () {
      const fatal = Strategy.make("fatal", () => Effect.fail(new Fatality({ error: "x", toolName: "t" })))
      const ran = yield* Strategies.run(withBudget(fatal, { maxModelCalls: 1 }), [])
      assert.instanceOf(yield* Effect.flip(ran.exit), Fatality)
    })
  )

  it.effect("books recorded calls from their event, and others once", () =>
    Effect.gen(function* () {
      const recorded = yield* TestModel.make([{ text: "", calls: [{ name: "add", params: { a: 1, b: 2 } }] }]).complete(
        {
          messages: []
        }
      )
      let replayed = 0
      const effectOf = (response: LlmClient.LlmResponse) => Effect.sync(() => structuredClone(response))
      const step: Step.Service = {
        isSuspended: () => false,
        run: (options, effect) =>
          options.kind === "llm" && replayed < 2
            ? Effect.map(effectOf(recorded), (response) => {
                replayed++
                return { response } as never
              })
            : effect
      }
      const ran = yield* Effect.provideService(
        Strategies.run(withBudget(looping, { maxModelCalls: 5 }), loop, { tools: Strategies.tools }),
        Step.Step,
        step
      )
      const error = yield* Effect.flip(ran.exit)
      assert.isTrue(error instanceof StrategyBudgetError && error.used === 5)
      assert.lengthOf(ran.requests, 3)
    })
  )
})
