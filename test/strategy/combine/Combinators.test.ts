import { assert, describe, it } from "@effect/vitest"
import * as Cause from "effect/Cause"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import { pipe } from "effect/Function"
import * as Option from "effect/Option"
import * as TestClock from "effect/TestClock"
import * as LlmClient from "../../../src/llm/model/LlmClient.js"
import { LlmAuthenticationError, LlmQuotaError, LlmUnavailableError } from "../../../src/llm/model/LlmError.js"
import * as Run from "../../../src/observability/Run.js"
import * as Step from "../../../src/observability/Step.js"
import * as CustomPrompts from "../../../src/prompt/CustomPrompts.js"
import * as PromptLibrary from "../../../src/prompt/PromptLibrary.js"
import * as PromptStep from "../../../src/prompt/template/PromptStep.js"
import * as SelfConsistency from "../../../src/strategy/combine/SelfConsistency.js"
import * as StrategyBudget from "../../../src/strategy/combine/StrategyBudget.js"
import * as StrategyFallback from "../../../src/strategy/combine/StrategyFallback.js"
import * as StrategyHooks from "../../../src/strategy/combine/StrategyHooks.js"
import * as StrategyInput from "../../../src/strategy/combine/StrategyInput.js"
import * as StrategyObserver from "../../../src/strategy/combine/StrategyObserver.js"
import * as Strategy from "../../../src/strategy/definition/Strategy.js"
import { MaxIterationsExceededError, OutputValidationError } from "../../../src/strategy/definition/StrategyError.js"
import * as FunctionCalling from "../../../src/strategy/loop/FunctionCalling.js"
import * as ReAct from "../../../src/strategy/loop/ReAct.js"
import * as ReasoningService from "../../../src/strategy/reasoning/ReasoningService.js"
import * as TestModel from "../../../src/testing/TestModel.js"
import * as Tool from "../../../src/tool/definition/Tool.js"
import * as ToolSet from "../../../src/tool/definition/ToolSet.js"
import { Fatality } from "../../../src/tool/ToolRunner.js"
import * as Growth from "../../support/Growth.js"
import * as Strategies from "../Strategies.js"

const unavailable = new LlmUnavailableError({ provider: "test", message: "down" })

const lines = (...rows: ReadonlyArray<string>): string => rows.join("\n")

const act = (n: number) => lines("THOUGHT: so", "ACTION: add", `ACTION_INPUT: {"a": ${n}, "b": 1}`)

const answerOf = (text: string): Strategy.Answer => ({ text, reason: "completed", messages: [] })

const said = (text: string) => Strategy.make("said", () => Effect.succeed(answerOf(text)))

const failing = <E>(error: E) => Strategy.make("failing", () => Effect.fail(error))

class Own {
  readonly _tag = "Own"
  constructor(readonly message: string = "own") {}
}

describe("withFallback", () => {
  const react = (maxIterations: number) => ReAct.make({ format: "text", maxIterations, noProgressAfter: false })

  it.effect("runs the second strategy on the same task, with continued steps and separate call ids", () =>
    Effect.gen(function* () {
      const strategy = StrategyFallback.withFallback(react(2), react(3))
      const ran = yield* Strategies.run(strategy, [act(1), act(2), act(3), "FINAL_ANSWER: four"], {
        tools: Strategies.tools
      })
      assert.strictEqual((yield* ran.exit).text, "four")
      assert.deepStrictEqual(
        ran.of("StepStarted").map((event) => event.step),
        [1, 2, 3, 4]
      )
      assert.deepStrictEqual(
        ran.of("ToolResult").map(({ id, observation, step }) => [step, id, observation]),
        [
          [1, "text_1", "2"],
          [2, "text_2", "3"],
          [3, "attempt_2_text_1", "4"]
        ]
      )
      assert.deepStrictEqual(
        ran.of("Degraded").map(({ error, stage }) => [stage, error.tag]),
        [["strategy react", "MaxIterationsExceededError"]]
      )
      // What the second one asks knows nothing of the first one's steps.
      assert.deepStrictEqual(ran.requests[2]!.messages, ran.requests[0]!.messages)
    })
  )

  it.effect("keeps the ids of chained strategies apart", () =>
    Effect.gen(function* () {
      const one = react(1)
      const strategy = StrategyFallback.withFallback(StrategyFallback.withFallback(one, one), one)
      const nested = StrategyFallback.withFallback(one, StrategyFallback.withFallback(one, one))
      assert.strictEqual(strategy.name, "react|react|react")
      assert.strictEqual(nested.name, "react|react|react")
      for (const chain of [strategy, nested]) {
        const ran = yield* Strategies.run(chain, [act(1), act(2), act(3)], { tools: Strategies.tools })
        assert.instanceOf(yield* Effect.flip(ran.exit), MaxIterationsExceededError)
        const ids = ran.of("ToolCall").map((event) => event.id)
        assert.lengthOf(ids, 3)
        assert.strictEqual(new Set(ids).size, 3)
        assert.lengthOf(ran.of("Degraded"), 2)
      }
    })
  )

  it.effect("does not retry keys, quotas and failures meant to end the run", () =>
    Effect.gen(function* () {
      const second = said("second")
      const key = new LlmAuthenticationError({ provider: "test", message: "no" })
      const quota = new LlmQuotaError({ provider: "test", message: "no" })
      for (const error of [
        key,
        quota,
        new Fatality({ error: new Strategies.Broken({ message: "x" }), toolName: "t" })
      ]) {
        const ran = yield* Strategies.run(StrategyFallback.withFallback(failing(error), second), [])
        assert.strictEqual(yield* Effect.flip(ran.exit), error)
        assert.lengthOf(ran.of("Degraded"), 0)
      }
      for (const error of [
        unavailable,
        new Own(),
        new Fatality({
          toolName: "",
          error: new OutputValidationError({ strategyName: "", text: "", issues: "", attempts: 1, message: "no" })
        })
      ]) {
        const ran = yield* Strategies.run(StrategyFallback.withFallback(failing(error), second), [])
        assert.strictEqual((yield* ran.exit).text, "second")
      }
    })
  )

  it.effect("retries the failures that `when` selects", () =>
    Effect.gen(function* () {
      const strategy = (tag: string) =>
        StrategyFallback.withFallback(failing(new Own()), said("second"), { when: (error) => error._tag === tag })
      assert.strictEqual((yield* (yield* Strategies.run(strategy("Own"), [])).exit).text, "second")
      const error = yield* Effect.flip((yield* Strategies.run(strategy("Other"), [])).exit)
      assert.instanceOf(error, Own)
    })
  )

  it.effect("does not recover from defects and interruption", () =>
    Effect.gen(function* () {
      const defect = StrategyFallback.withFallback(
        Strategy.make("buggy", () => Effect.zipRight(Effect.die("bug"), Effect.fail(new Own()))),
        said("second")
      )
      const both = StrategyFallback.withFallback(
        Strategy.make("both", () => Effect.failCause(Cause.parallel(Cause.fail(new Own()), Cause.die("bug")))),
        said("second")
      )
      for (const strategy of [defect, both]) {
        const exit = yield* Effect.exit((yield* Strategies.run(strategy, [])).exit)
        assert.isTrue(Exit.isFailure(exit) && Option.isSome(Cause.dieOption(exit.cause)))
      }
      const interrupted = StrategyFallback.withFallback(
        Strategy.make("gone", () => Effect.interrupt),
        said("second")
      )
      const exit = yield* Effect.exit((yield* Strategies.run(interrupted, [])).exit)
      assert.isTrue(Exit.isInterrupted(exit))

      let second = false
      const started = yield* Deferred.make<void>()
      const slow = StrategyFallback.withFallback(
        Strategy.make("slow", () => Effect.zipRight(Deferred.succeed(started, undefined), Effect.never)),
        Strategy.make("second", () =>
          Effect.sync(() => {
            second = true
            return answerOf("")
          })
        )
      )
      const fiber = yield* Effect.fork(Strategies.run(slow, []))
      yield* Deferred.await(started)
      yield* Fiber.interrupt(fiber)
      assert.isFalse(second)
    })
  )
})

describe("selfConsistency", () => {
  const sampled = (texts: ReadonlyArray<string>): Strategies.Script => texts.map((text) => ({ text: [text] }))
  const plain = FunctionCalling.make()

  it.effect("returns the answer most samples agree on, whatever its spelling", () =>
    Effect.gen(function* () {
      const strategy = SelfConsistency.selfConsistency(plain, { n: 5, concurrency: 1 })
      const ran = yield* Strategies.run(strategy, sampled(["41", " Forty  two.", "17", "**forty two**", "41 "]))
      // Two and two: the one that came first.
      assert.strictEqual((yield* ran.exit).text, "41")
      const three = yield* Strategies.run(strategy, sampled(["41", " Forty  two.", "17", "**forty two**", "FORTY TWO"]))
      const answer = yield* three.exit
      assert.strictEqual(answer.text, " Forty  two.")
      assert.deepStrictEqual(Strategies.shape(answer.messages).at(-1), ["assistant", [" Forty  two."]])
      assert.deepStrictEqual(
        three.of("Thought").map((event) => event.text),
        ["3 of 5 answers agree"]
      )
    })
  )

  it.effect("does not depend on the order of the samples", () =>
    Effect.gen(function* () {
      const texts = ["9", "18", "18", "26", "18", "9", ""]
      for (let turn = 0; turn < texts.length; turn++) {
        const rotated = [...texts.slice(turn), ...texts.slice(0, turn)]
        const strategy = SelfConsistency.selfConsistency(plain, { n: 7, concurrency: 1 })
        const ran = yield* Strategies.run(
          strategy,
          rotated.map((text) => (text === "" ? { fail: unavailable } : text))
        )
        assert.strictEqual((yield* ran.exit).text, "18")
      }
    })
  )

  it.effect("shows the winner's text only, and the steps of all samples", () =>
    Effect.gen(function* () {
      const strategy = SelfConsistency.selfConsistency(plain, { n: 3, concurrency: 1 })
      const ran = yield* Strategies.run(strategy, sampled(["a", "b", "b"]))
      yield* ran.exit
      assert.deepStrictEqual(
        ran.of("TextDelta").map((event) => event.text),
        ["b"]
      )
      assert.deepStrictEqual(
        ran.of("StepStarted").map((event) => event.step),
        [1, 2, 3]
      )
      assert.lengthOf(ran.of("UsageReported"), 3)
      const silent = yield* Strategies.run(strategy, sampled(["a", "b", "b"]), { live: false })
      yield* silent.exit
      assert.lengthOf(silent.of("TextDelta"), 0)
    })
  )

  it.effect("gives failed samples no vote, and fails with the first failure when all fail", () =>
    Effect.gen(function* () {
      const strategy = SelfConsistency.selfConsistency(plain, { n: 3, concurrency: 1 })
      const ran = yield* Strategies.run(strategy, [{ fail: unavailable }, "a", { fail: unavailable }])
      assert.strictEqual((yield* ran.exit).text, "a")
      assert.deepStrictEqual(
        ran.of("Degraded").map((event) => event.stage),
        ["sample 1", "sample 3"]
      )
      assert.deepStrictEqual(
        ran.of("Thought").map((event) => event.text),
        ["1 of 3 answers agree; 2 failed"]
      )
      const all = yield* Strategies.run(strategy, [
        { fail: unavailable },
        { fail: new LlmUnavailableError({ provider: "test", message: "other" }) },
        { fail: unavailable }
      ])
      assert.strictEqual(yield* Effect.flip(all.exit), unavailable)
      const key = new LlmAuthenticationError({ provider: "test", message: "no" })
      const hopeless = yield* Strategies.run(strategy, [{ fail: key }])
      assert.strictEqual(yield* Effect.flip(hopeless.exit), key)
    })
  )

  it.effect("gives an empty answer no vote, unless all are empty", () =>
    Effect.gen(function* () {
      const strategy = SelfConsistency.selfConsistency(plain, { n: 3, concurrency: 1 })
      const nothing: TestModel.Turn = { text: "", finishReason: "length" }
      const ran = yield* Strategies.run(strategy, [nothing, nothing, "a"])
      assert.strictEqual((yield* ran.exit).text, "a")
      const none = yield* Strategies.run(strategy, [nothing, nothing, nothing])
      assert.strictEqual((yield* none.exit).text, "")
    })
  )

  it.effect("takes five samples by default", () =>
    Effect.gen(function* () {
      for (const [n, asked] of [
        [undefined, 5],
        [Number.NaN, 5],
        [0.5, 1],
        [2.9, 2]
      ] as const) {
        const ran = yield* Strategies.run(
          SelfConsistency.selfConsistency(plain, { n, concurrency: Number.NaN }),
          () => "a"
        )
        yield* ran.exit
        assert.lengthOf(ran.requests, asked)
      }
    })
  )

  it.effect("sets a temperature and increments the seed", () =>
    Effect.gen(function* () {
      const settings = (options: SelfConsistency.SelfConsistencyOptions, given: Strategy.Task["settings"]) =>
        Effect.map(
          Strategies.run(
            SelfConsistency.selfConsistency(plain, { n: 2, concurrency: 1, ...options }),
            sampled(["a", "a"]),
            { task: { settings: given } }
          ),
          (ran) => ran.requests.map((request) => request.settings)
        )
      assert.deepStrictEqual(yield* settings({}, {}), [{ temperature: 0.7 }, { temperature: 0.7 }])
      assert.deepStrictEqual(yield* settings({}, { temperature: 0.2, seed: 7 }), [
        { temperature: 0.2, seed: 7 },
        { temperature: 0.2, seed: 8 }
      ])
      assert.deepStrictEqual(yield* settings({ temperature: 1 }, { temperature: 0.2 }), [
        { temperature: 1 },
        { temperature: 1 }
      ])
    })
  )

  it.effect("compares outputs as values, or by a custom key", () =>
    Effect.gen(function* () {
      const shaped = yield* Strategies.run(
        SelfConsistency.selfConsistency(plain, { n: 3, concurrency: 1 }),
        sampled([`{"n": 1}`, `{ "n" : 2 }`, `{"n":2}`]),
        { task: { output: Strategies.outputSpec(0) } }
      )
      assert.deepStrictEqual((yield* shaped.exit).output, { n: 2 })
      const keyed = yield* Strategies.run(
        SelfConsistency.selfConsistency(plain, {
          n: 3,
          concurrency: 1,
          key: ({ text }) => /\d+/.exec(text)?.[0] ?? ""
        }),
        sampled(["It is 5", "I think it is 7", "so: 7"])
      )
      assert.strictEqual((yield* keyed.exit).text, "I think it is 7")
    })
  )

  it("ignores what does not matter to an answer", () => {
    for (const [a, b] of [
      ["Paris", " **paris**. "],
      ["“42”", "42!"],
      ["\uff14\uff12", "42"],
      ["a\n b", "A B"],
      ["__x__", "`X`"]
    ] as const) {
      assert.strictEqual(SelfConsistency.answerKey(a), SelfConsistency.answerKey(b))
    }
    for (const [a, b] of [
      ["2*3", "23"],
      ["-5", "5"],
      ["1.5", "15"],
      ["snake_case", "snakecase"],
      ["is it?", "is it"]
    ] as const) {
      assert.notStrictEqual(SelfConsistency.answerKey(a), SelfConsistency.answerKey(b))
    }
    Growth.assertLinearTexts(
      [(size) => `${".".repeat(size / 2)}x${" ".repeat(size / 2)}x`],
      SelfConsistency.answerKey,
      400_000
    )
  })

  it.effect("runs at most `concurrency` samples concurrently", () =>
    Effect.gen(function* () {
      for (const [concurrency, seconds] of [
        [1, 6],
        [2, 3],
        [undefined, 1]
      ] as const) {
        const strategy = SelfConsistency.selfConsistency(plain, { n: 6, concurrency })
        const fiber = yield* Effect.fork(
          Strategies.run(
            strategy,
            Array.from({ length: 6 }, () => ({ text: "a", delay: "1 second" }))
          )
        )
        yield* TestClock.adjust(seconds * 1000 - 1)
        assert.isNull(fiber.unsafePoll())
        yield* TestClock.adjust(1)
        assert.strictEqual((yield* (yield* Fiber.join(fiber)).exit).text, "a")
      }
    })
  )

  it.effect("keeps the calls of samples apart, in events and for tools", () =>
    Effect.gen(function* () {
      const seen: Array<string> = []
      const note = Tool.make("note", {
        description: "Notes its id",
        handler: (_, { id }) => Effect.sync(() => void seen.push(id))
      })
      const call: TestModel.Turn = { calls: [{ id: "c", name: "note" }] }
      const strategy = SelfConsistency.selfConsistency(plain, { n: 2, concurrency: 1 })
      const ran = yield* Strategies.run(strategy, [call, "a", call, "a"], { tools: ToolSet.make(note) })
      yield* ran.exit
      assert.deepStrictEqual(seen, ["sample_1_c", "sample_2_c"])
      assert.deepStrictEqual(
        ran.of("ToolResult").map(({ id, step }) => [step, id]),
        [
          [1, "sample_1_c"],
          [3, "sample_2_c"]
        ]
      )
      // The model's own conversation keeps the ids it gave.
      assert.deepStrictEqual(Strategies.shape(ran.requests[3]!.messages).at(-1), ["tool", [["c", "ok"]]])
    })
  )

  it.effect("interrupts every sample", () =>
    Effect.gen(function* () {
      const model = TestModel.make(() => ({ text: "a", delay: "1 minute" }))
      const given = yield* Strategies.task()
      const program = SelfConsistency.selfConsistency(plain, { n: 4 }).program(given)
      const fiber = yield* Effect.fork(
        Effect.provide(Effect.provideService(program, LlmClient.LlmClient, model), Strategies.layer([]))
      )
      yield* TestClock.adjust("1 second")
      assert.strictEqual(yield* model.observer.active, 4)
      assert.isTrue(Exit.isInterrupted(yield* Fiber.interrupt(fiber)))
      assert.strictEqual(yield* model.observer.active, 0)
    })
  )
})

describe("withHooks", () => {
  const recorded = () => {
    const log: Array<string> = []
    const note = (text: string) => Effect.sync(() => void log.push(text))
    return {
      log,
      hooks: {
        onStart: (task: Strategy.Task) => note(`start ${task.input}`),
        onFinish: (answer: Strategy.Answer) => note(`finish ${answer.text}`),
        onError: (error: { readonly _tag: string }) => note(`error ${error._tag}`),
        onInterrupt: () => note("interrupt")
      }
    }
  }

  it.effect("run before, after, and on a failure", () =>
    Effect.gen(function* () {
      const { hooks, log } = recorded()
      yield* (yield* Strategies.run(StrategyHooks.withHooks(said("x"), hooks), [])).exit
      const ran = yield* Strategies.run(StrategyHooks.withHooks(failing(new Own()), hooks), [])
      assert.instanceOf(yield* Effect.flip(ran.exit), Own)
      const defect = Strategy.make("buggy", () => Effect.die("bug"))
      yield* Effect.exit((yield* Strategies.run(StrategyHooks.withHooks(defect, hooks), [])).exit)
      assert.deepStrictEqual(log, [
        "start What is it?",
        "finish x",
        "start What is it?",
        "error Own",
        "start What is it?"
      ])
    })
  )

  it.effect("do not treat an interruption or a suspension as an error", () =>
    Effect.gen(function* () {
      for (const suspended of [false, true]) {
        const { hooks, log } = recorded()
        const started = yield* Deferred.make<void>()
        const slow = Strategy.make("slow", () => Effect.zipRight(Deferred.succeed(started, undefined), Effect.never))
        const step: Step.Service = { run: (_options, effect) => effect, isSuspended: () => suspended }
        const fiber = yield* Effect.fork(
          Effect.provideService(Strategies.run(StrategyHooks.withHooks(slow, hooks), []), Step.Step, step)
        )
        yield* Deferred.await(started)
        yield* Fiber.interrupt(fiber)
        assert.deepStrictEqual(log, suspended ? ["start What is it?"] : ["start What is it?", "interrupt"])
      }
    })
  )

  it.effect("report a failing hook without affecting the run", () =>
    Effect.gen(function* () {
      const fail = () => Effect.fail(new Own("hook"))
      const strategy = StrategyHooks.withHooks(said("x"), { onStart: fail, onFinish: fail })
      const ran = yield* Strategies.run(strategy, [])
      assert.strictEqual((yield* ran.exit).text, "x")
      assert.deepStrictEqual(
        ran.of("Degraded").map((event) => event.stage),
        ["hook onStart", "hook onFinish"]
      )
      const wrong = yield* Strategies.run(StrategyHooks.withHooks(failing(new Own("first")), { onError: fail }), [])
      assert.strictEqual((yield* Effect.flip(wrong.exit) as Effect.Effect<Own>).message, "first")
      assert.lengthOf(wrong.of("Degraded"), 1)
    })
  )

  it.effect("end the run with the failure when `failures` is `fail`", () =>
    Effect.gen(function* () {
      let called = false
      const inner = Strategy.make("inner", () =>
        Effect.sync(() => {
          called = true
          return answerOf("x")
        })
      )
      const fail = () => Effect.fail(new Own("hook"))
      const before = yield* Strategies.run(StrategyHooks.withHooks(inner, { onStart: fail, failures: "fail" }), [])
      assert.instanceOf(yield* Effect.flip(before.exit), Own)
      assert.isFalse(called)
      const after = yield* Strategies.run(StrategyHooks.withHooks(inner, { onFinish: fail, failures: "fail" }), [])
      assert.instanceOf(yield* Effect.flip(after.exit), Own)
      assert.isTrue(called)
    })
  )
})

describe("withObserver", () => {
  const slow = Tool.make("slow", {
    description: "Takes its time",
    handler: () => Effect.delay(Effect.succeed("slow"), "2 seconds")
  })
  const quick = Tool.make("quick", { description: "Is quick", handler: () => Effect.succeed("quick") })

  it.effect("sees results one at a time in order, then the answer and the end", () =>
    Effect.gen(function* () {
      const seen: Array<string> = []
      let inside = 0
      const show = (text: string) =>
        Effect.gen(function* () {
          assert.strictEqual(++inside, 1)
          yield* Effect.yieldNow()
          seen.push(text)
          inside--
        })
      const strategy = StrategyObserver.withObserver(FunctionCalling.make(), {
        onStep: (step, action, result) => show(`${step} ${action} ${result}`),
        onComplete: (total, result) => show(`end ${total} ${result}`)
      })
      const fiber = yield* Effect.fork(
        Strategies.run(strategy, [{ calls: [{ name: "slow" }, { name: "quick" }, { name: "quick" }] }, "done"], {
          tools: ToolSet.make(slow, quick)
        })
      )
      yield* TestClock.adjust("1 second")
      assert.deepStrictEqual(seen, ["1 quick quick", "1 quick quick"])
      yield* TestClock.adjust("1 second")
      yield* (yield* Fiber.join(fiber)).exit
      assert.deepStrictEqual(seen, [
        "1 quick quick",
        "1 quick quick",
        "1 slow slow",
        "2 final_answer done",
        "end 2 done"
      ])
    })
  )

  it.effect("sees thoughts and verdicts in place", () =>
    Effect.gen(function* () {
      const seen: Array<string> = []
      const reasoning = Strategy.make("reasoning", () =>
        Effect.gen(function* () {
          const { emit } = yield* Run.Run
          yield* emit({ _tag: "StepStarted", step: 1 })
          yield* emit({ _tag: "Thought", step: 1, text: "perhaps" })
          yield* emit({ _tag: "Critique", step: 1, text: "too short", accepted: false })
          return { text: "yes", messages: [], reason: "completed" as const }
        })
      )
      const strategy = StrategyObserver.withObserver(reasoning, {
        onStep: (step, action, result) => Effect.sync(() => void seen.push(`${step} ${action}: ${result}`))
      })
      yield* (yield* Strategies.run(strategy, [])).exit
      assert.deepStrictEqual(seen, ["1 thought: perhaps", "1 critique: too short", "1 final_answer: yes"])
    })
  )

  it.effect("holds the run back when slow, and does not break it when failing", () =>
    Effect.gen(function* () {
      const strategy = StrategyObserver.withObserver(FunctionCalling.make(), {
        onStep: () => Effect.zipRight(Effect.sleep("1 second"), Effect.fail("no")),
        onComplete: () => Effect.fail("no")
      })
      const fiber = yield* Effect.fork(
        Strategies.run(strategy, [{ calls: [{ name: "quick" }] }, "done"], { tools: ToolSet.make(quick) })
      )
      yield* TestClock.adjust(1999)
      assert.isNull(fiber.unsafePoll())
      yield* TestClock.adjust(1)
      const ran = yield* Fiber.join(fiber)
      assert.strictEqual((yield* ran.exit).text, "done")
    })
  )

  it.effect("sees no end of a failed run", () =>
    Effect.gen(function* () {
      const seen: Array<string> = []
      const strategy = StrategyObserver.withObserver(failing(new Own()), {
        onComplete: () => Effect.sync(() => void seen.push("end"))
      })
      yield* Effect.flip((yield* Strategies.run(strategy, [])).exit)
      assert.deepStrictEqual(seen, [])
    })
  )
})

describe("withPrompts", () => {
  const Ask = PromptStep.make({
    pattern: "AskingAgent",
    name: "Ask",
    variables: ["input"],
    system: { role: "You answer." },
    user: "{input}"
  })
  const asking = Strategy.make("asking", (task) =>
    Effect.flatMap(ReasoningService.make("asking", task), (reasoning) => reasoning.finish(Ask, { input: task.input }))
  )
  const options: PromptLibrary.Options = {
    steps: [Ask],
    overrides: { AskingAgent: { Ask: { user: "Now: {input}" } } },
    instructions: "Be kind."
  }

  it.effect("apply to the strategy only, on top of the run's", () =>
    Effect.gen(function* () {
      const library = yield* CustomPrompts.make({ instructions: "Be short." })
      const ask = (strategy: Strategy.Strategy) =>
        Effect.map(
          Effect.provideService(Strategies.run(strategy, ["x"]), PromptLibrary.PromptLibrary, library),
          (ran) => ran.requests[0]!.messages.map((message) => String(message.content))
        )
      const [system, user] = yield* ask(StrategyInput.withPrompts(asking, options))
      assert.strictEqual(user, "Now: What is it?")
      assert.isTrue(system!.endsWith("Be short.\n\nBe kind."))
      const [plain, question] = yield* ask(asking)
      assert.strictEqual(question, "What is it?")
      assert.isTrue(plain!.endsWith("Be short."))
    })
  )

  it("throw on invalid options", () => {
    assert.throws(() => StrategyInput.withPrompts(asking, { overrides: { Nobody: { Ask: { user: "x" } } } }), /no step/)
    assert.throws(
      () => StrategyInput.withPrompts({ ...options, overrides: { AskingAgent: { Ask: { user: "{other}" } } } })(asking),
      /other/
    )
  })
})

describe("mapTask, mapTaskEffect and withSettings", () => {
  it.effect("change the input of the strategy", () =>
    Effect.gen(function* () {
      const strategy = pipe(
        FunctionCalling.make(),
        StrategyInput.mapTask((task) => ({ ...task, input: `${task.input}!` })),
        StrategyInput.mapTaskEffect((task) => Effect.succeed({ ...task, input: `${task.input}?` })),
        StrategyInput.withSettings({ temperature: 0.1, maxTokens: 5 })
      )
      const ran = yield* Strategies.run(strategy, ["x"], {
        task: { input: "Why", settings: { temperature: 1, seed: 1 } }
      })
      yield* ran.exit
      assert.strictEqual(ran.requests[0]!.messages.at(-1)!.content, "Why?!")
      assert.deepStrictEqual(ran.requests[0]!.settings, { temperature: 0.1, maxTokens: 5, seed: 1 })
    })
  )

  it.effect("fail the strategy when the change fails", () =>
    Effect.gen(function* () {
      const strategy = StrategyInput.mapTaskEffect(said("x"), () => Effect.fail(new Own()))
      assert.instanceOf(yield* Effect.flip((yield* Strategies.run(strategy, [])).exit), Own)
    })
  )
})

describe("names and graphs", () => {
  it("are those of the strategy that runs", () => {
    const graph = { graph: true } as never
    const strategy: Strategy.Strategy = { ...said("x"), graph }
    const wrapped = [
      StrategyBudget.withBudget(strategy, {}),
      SelfConsistency.selfConsistency(strategy, {}),
      StrategyHooks.withHooks(strategy, {}),
      StrategyObserver.withObserver(strategy, {}),
      StrategyInput.withPrompts(strategy, {}),
      StrategyInput.mapTask(strategy, (task) => task),
      StrategyInput.mapTaskEffect(strategy, Effect.succeed),
      StrategyInput.withSettings(strategy, {})
    ]
    for (const one of wrapped) {
      assert.strictEqual(one.name, "said")
      assert.strictEqual(one.graph, graph)
    }
    assert.isUndefined(StrategyFallback.withFallback(strategy, strategy).graph)
  })

  it.live("execute runs the combination as one run", () =>
    Effect.gen(function* () {
      const { events, exit } = yield* Strategies.record(
        StrategyFallback.withFallback(failing(unavailable), FunctionCalling.make()),
        ["yes"]
      )
      yield* exit
      assert.deepStrictEqual(
        events.map((event) => event._tag),
        ["Started", "Degraded", "StepStarted", "TextDelta", "UsageReported", "Message", "Finished"]
      )
    })
  )
})
