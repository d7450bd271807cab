import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as TestClock from "effect/TestClock"
import * as StateGraph from "../../src/graph/StateGraph.js"
import * as DefaultModelRouter from "../../src/llm/DefaultModelRouter.js"
import * as LlmClient from "../../src/llm/model/LlmClient.js"
import { LlmUnavailableError } from "../../src/llm/model/LlmError.js"
import * as CustomPrompts from "../../src/prompt/CustomPrompts.js"
import * as PromptLibrary from "../../src/prompt/PromptLibrary.js"
import * as Adaptive from "../../src/strategy/Adaptive.js"
import * as Strategy from "../../src/strategy/definition/Strategy.js"
import { StrategyBudgetError } from "../../src/strategy/definition/StrategyError.js"
import * as FunctionCalling from "../../src/strategy/loop/FunctionCalling.js"
import * as ReAct from "../../src/strategy/loop/ReAct.js"
import * as TestModel from "../../src/testing/TestModel.js"
import * as ToolSet from "../../src/tool/definition/ToolSet.js"
import { Fatality } from "../../src/tool/ToolRunner.js"
import * as Growth from "../support/Growth.js"
import * as Strategies from "./Strategies.js"

const named = (name: string, description = `for ${name} things`) => ({
  strategy: Strategy.make(name, (task) =>
    Effect.succeed({ text: `${name} did ${task.input}`, reason: "completed" as const, messages: [] })
  ),
  description
})

const abc = { alpha: named("alpha"), beta: named("beta"), gamma: named("gamma") }

const pick = (strategy: string, reason = "it fits") => JSON.stringify({ strategy, reason })

const run = (script: Strategies.Script, options: Adaptive.Options<typeof abc> = {}, setup: Strategies.Setup = {}) =>
  Strategies.run(Adaptive.make({ strategies: abc, rules: [], ...options, budget: undefined }), script, setup)

const content = (request: LlmClient.LlmRequest, index: number): string => String(request.messages.at(index)!.content)

const unavailable = new LlmUnavailableError({ provider: "test", message: "down" })

describe("Adaptive", () => {
  it.effect("runs each strategy when it is picked, and says which one and why", () =>
    Effect.gen(function* () {
      for (const name of ["alpha", "beta", "gamma"]) {
        const ran = yield* run([pick(name)])
        assert.strictEqual((yield* ran.exit).text, `${name} did What is it?`)
        assert.deepStrictEqual(
          ran.of("Thought").map(({ step, text }) => [step, text]),
          [[1, `Strategy ${name}: it fits`]]
        )
        assert.lengthOf(ran.requests, 1)
        assert.deepStrictEqual(
          ran.of("NodeFinished").map((event) => event.node),
          ["choose", `strategy ${name}`]
        )
      }
    })
  )

  it.effect("tells the model the strategies, the tools and the task, and accepts a bare name", () =>
    Effect.gen(function* () {
      const ran = yield* run([pick("beta")], {}, { tools: Strategies.tools })
      yield* ran.exit
      const request = ran.requests[0]!
      assert.deepStrictEqual(
        request.messages.map((message) => message.role),
        ["system", "user"]
      )
      const user = content(request, 1)
      assert.include(user, "- alpha: for alpha things\n- beta: for beta things\n- gamma: for gamma things")
      assert.include(user, "- add: The sum of two numbers")
      assert.include(user, "What is it?")
      assert.notInclude(content(request, 0), "Be brief.")
      const format = request.responseFormat
      assert.deepStrictEqual(format?.type === "json" && (format.schema as any).properties.strategy.enum, [
        "alpha",
        "beta",
        "gamma"
      ])
      const none = yield* run([pick("beta")])
      assert.include(content(none.requests[0]!, 1), "## Tools\n\nNone.")
    })
  )

  it.effect("classifies a follow-up with the earlier turns", () =>
    Effect.gen(function* () {
      const ran = yield* run([pick("beta")], {}, { task: { history: [{ role: "user", content: "Plan a trip" }] } })
      assert.strictEqual(content(ran.requests[0]!, 1), "Plan a trip")
      assert.include(content(ran.requests[0]!, 0), "Be brief.")
    })
  )

  it.effect("reads the name from the first line of a text", () =>
    Effect.gen(function* () {
      const ran = yield* run(["**gamma**\nmany parts\nindeed"], { format: "text" })
      assert.strictEqual((yield* ran.exit).text, "gamma did What is it?")
      assert.strictEqual(ran.of("Thought")[0]!.text, "Strategy gamma: many parts indeed")
      assert.isUndefined(ran.requests[0]!.responseFormat)
      assert.include(content(ran.requests[0]!, 0), "the name of one strategy, exactly as it stands in the list")
    })
  )

  it("reads picks as models write them", () => {
    const name = (text: string) => Either.map(Adaptive.parsePick(text), (one) => one.strategy)
    for (const text of ["react", "\n`react`\nwhy", "Strategy: react", "- react", "## react\n", '"react"\r\nwhy']) {
      assert.deepStrictEqual(name(text), Either.right("react"), text)
    }
    for (const text of ["", " \n ", "***", 'Sure: {"strategy": "react"}', 'I pick\n{"strategy":"react","reason":""}']) {
      assert.isTrue(Either.isLeft(name(text)), text)
    }
    Growth.assertLinearTexts(
      [(size) => `${"{".repeat(size / 2)}\n${"-".repeat(size / 2)}`],
      Adaptive.parsePick,
      300_000
    )
  })

  it.effect("reads JSON inside a sentence as JSON", () =>
    Effect.gen(function* () {
      const ran = yield* run([`Here you are:\n${pick("gamma")}`])
      assert.strictEqual((yield* ran.exit).text, "gamma did What is it?")
      assert.lengthOf(ran.requests, 1)
    })
  )

  describe("an unknown pick", () => {
    it.effect("resolves to the most similar candidate", () =>
      Effect.gen(function* () {
        for (const wrong of ["Gamma", "gama", "gamma strategy", "GAMMA!"]) {
          const ran = yield* run([pick(wrong)])
          assert.strictEqual((yield* ran.exit).text, "gamma did What is it?")
        }
        const ran = yield* run([pick("gama", "because")])
        assert.strictEqual(ran.of("Thought")[0]!.text, 'Strategy gamma: "gama" is taken for it. because')
      })
    )

    it.effect("runs the fallback for any other name", () =>
      Effect.gen(function* () {
        for (const wrong of [
          "",
          "tree-of-thought",
          "__proto__",
          "constructor",
          "toString",
          "x".repeat(100_000),
          "END"
        ]) {
          const first = yield* run([pick(wrong)])
          assert.strictEqual((yield* first.exit).text, "alpha did What is it?", wrong.slice(0, 20))
          assert.isBelow(first.of("Thought")[0]!.text.length, 200)
          const given = yield* run([pick(wrong)], { fallback: "beta" })
          assert.strictEqual((yield* given.exit).text, "beta did What is it?")
        }
      })
    )

    it.effect("reports a failed classification and runs the fallback", () =>
      Effect.gen(function* () {
        const down = yield* run([{ fail: unavailable }], { fallback: "beta" })
        assert.strictEqual((yield* down.exit).text, "beta did What is it?")
        assert.deepStrictEqual(
          down.of("Degraded").map(({ error, stage }) => [stage, error.tag]),
          [["adaptive classification", "LlmUnavailableError"]]
        )
        const silent = yield* run(["", "", ""])
        assert.strictEqual((yield* silent.exit).text, "alpha did What is it?")
        assert.strictEqual(silent.of("Degraded")[0]!.error.tag, "StrategyReplyError")
        const impatient = yield* run([""], { replyRetries: 0 })
        assert.lengthOf(impatient.requests, 1)
        const filtered = yield* run([{ text: "", finishReason: "content-filter" }])
        assert.strictEqual((yield* filtered.exit).text, "alpha did What is it?")
      })
    )
  })

  describe("rules", () => {
    it.effect("are evaluated in order, before any model", () =>
      Effect.gen(function* () {
        const rules: ReadonlyArray<Adaptive.Rule<"alpha" | "beta" | "gamma">> = [
          (task) => (task.input.includes("sum") ? "gamma" : undefined),
          (task) => (task.input.includes("What") ? "beta" : undefined)
        ]
        const ran = yield* run([], { rules })
        assert.strictEqual((yield* ran.exit).text, "beta did What is it?")
        assert.lengthOf(ran.requests, 0)
        assert.strictEqual(ran.of("Thought")[0]!.text, "Strategy beta: by a rule")
        const sum = yield* run([], { rules }, { task: { input: "What is the sum?" } })
        assert.strictEqual((yield* sum.exit).text, "gamma did What is the sum?")
        const open = yield* run([pick("alpha")], { rules }, { task: { input: "Hm" } })
        assert.lengthOf(open.requests, 1)
      })
    )

    it.effect("skips a rule that picks no known candidate", () =>
      Effect.gen(function* () {
        const ran = yield* run([pick("gamma")], { rules: [(() => "nobody") as never] })
        assert.strictEqual((yield* ran.exit).text, "gamma did What is it?")
      })
    )

    it.effect("answers a short question without tools directly by default", () =>
      Effect.gen(function* () {
        const strategy = Adaptive.make()
        const short = yield* Strategies.run(strategy, ["4"], { task: { input: "2 + 2?" } })
        assert.strictEqual((yield* short.exit).text, "4")
        assert.lengthOf(short.requests, 1)
        for (const setup of [
          { task: { input: "2 + 2?" }, tools: Strategies.tools },
          { task: { input: "x".repeat(201) } },
          { task: { input: "a\nb" } }
        ] as ReadonlyArray<Strategies.Setup>) {
          const ran = yield* Strategies.run(strategy, [pick("function_calling"), "4"], setup)
          assert.strictEqual((yield* ran.exit).text, "4")
          assert.lengthOf(ran.requests, 2)
        }
        // Whoever has no such candidate asks the model.
        const other = yield* Strategies.run(Adaptive.make({ strategies: abc }), [pick("beta")])
        assert.lengthOf(other.requests, 1)
      })
    )

    it.effect("asks no model for a single candidate", () =>
      Effect.gen(function* () {
        const ran = yield* Strategies.run(Adaptive.make({ strategies: { alpha: abc.alpha }, rules: [] }), [])
        assert.strictEqual((yield* ran.exit).text, "alpha did What is it?")
      })
    )
  })

  it.effect("runs the strategy inside the run: steps are numbered on, text is streamed, usage adds up", () =>
    Effect.gen(function* () {
      const ran = yield* Strategies.run(
        Adaptive.make({ rules: [] }),
        [
          pick("react"),
          { text: "I add.", calls: [{ name: "add", params: { a: 1, b: 2 } }] },
          { text: ["it is ", "3"] }
        ],
        { tools: Strategies.tools }
      )
      assert.strictEqual((yield* ran.exit).text, "it is 3")
      assert.deepStrictEqual(
        ran.of("StepStarted").map(({ name, step }) => [step, name]),
        [
          [1, "Classify"],
          [2, undefined],
          [3, undefined]
        ]
      )
      assert.deepStrictEqual(
        ran.of("ToolResult").map((event) => event.step),
        [2]
      )
      assert.strictEqual(
        ran
          .of("TextDelta")
          .map((event) => event.text)
          .at(-1),
        "3"
      )
      assert.lengthOf(ran.of("UsageReported"), 3)
    })
  )

  it.effect("fails with the failure of the strategy, and shapes its output", () =>
    Effect.gen(function* () {
      class Own {
        readonly _tag = "Own"
      }
      const failing = { strategy: Strategy.make("failing", () => Effect.fail(new Own())), description: "fails" }
      const ran = yield* Strategies.run(Adaptive.make({ strategies: { failing } }), [])
      assert.instanceOf(yield* Effect.flip(ran.exit), Own)
      const fatal = yield* Strategies.run(
        Adaptive.make({ rules: [() => "function_calling"] }),
        [{ calls: [{ name: "fatal" }] }],
        { tools: ToolSet.make(Strategies.fatal) }
      )
      assert.instanceOf(yield* Effect.flip(fatal.exit), Fatality)
      const shaped = yield* Strategies.run(Adaptive.make(), [`{"n": 1}`], {
        task: { output: Strategies.outputSpec(0) }
      })
      assert.deepStrictEqual((yield* shaped.exit).output, { n: 1 })
    })
  )

  it.effect("applies a budget to classification and strategy together", () =>
    Effect.gen(function* () {
      const strategy = Adaptive.make({ rules: [], budget: { maxModelCalls: 2 } })
      const enough = yield* Strategies.run(strategy, [pick("function_calling"), "4"])
      assert.strictEqual((yield* enough.exit).text, "4")
      const loop: Strategies.Script = (request) =>
        request.responseFormat === undefined
          ? { calls: [{ name: "add", params: { a: 1, b: request.messages.length } }] }
          : pick("function_calling")
      const spent = yield* Strategies.run(strategy, loop, { tools: Strategies.tools })
      assert.instanceOf(yield* Effect.flip(spent.exit), StrategyBudgetError)
      assert.lengthOf(spent.requests, 2)
    })
  )

  it.effect("asks the model of the role `evaluation`", () =>
    Effect.gen(function* () {
      const judge = TestModel.make([pick("beta")])
      const given = yield* Strategies.task()
      const answer = yield* Adaptive.make({ strategies: abc, rules: [] })
        .program(given)
        .pipe(
          Effect.provide(
            Layer.provideMerge(
              DefaultModelRouter.layer({
                roles: { evaluation: { client: Layer.succeed(LlmClient.LlmClient, judge) } }
              }),
              Strategies.layer([])
            )
          )
        )
      assert.strictEqual(answer.text, "beta did What is it?")
    })
  )

  it.effect("interrupts the classification and the strategy", () =>
    Effect.gen(function* () {
      for (const slow of [0, 1]) {
        const script: Strategies.Script = (_, index) => ({
          text: index === 0 ? pick("function_calling") : "4",
          ...(index === slow ? { delay: "1 hour" } : {})
        })
        yield* Effect.gen(function* () {
          const { active } = yield* TestModel.TestModel
          const given = yield* Strategies.task()
          const fiber = yield* Effect.fork(Adaptive.make({ rules: [] }).program(given))
          yield* TestClock.adjust("1 second")
          assert.strictEqual(yield* active, 1)
          assert.isTrue(Exit.isInterrupted(yield* Fiber.interrupt(fiber)))
          assert.strictEqual(yield* active, 0)
        }).pipe(Effect.provide(Strategies.layer(script)))
      }
    })
  )

  it.effect("uses overridden prompts and custom instructions", () =>
    Effect.gen(function* () {
      const library = yield* CustomPrompts.make({
        overrides: { [Adaptive.PATTERN]: { Classify: { user: "{task} | {strategies} | {tools}" } } },
        instructions: "Be kind."
      })
      const ran = yield* Effect.provideService(run([pick("beta")]), PromptLibrary.PromptLibrary, library)
      assert.strictEqual(
        content(ran.requests[0]!, 1),
        "What is it? | - alpha: for alpha things\n- beta: for beta things\n- gamma: for gamma things | None."
      )
      assert.include(content(ran.requests[0]!, 0), "Be kind.")
      assert.notMatch(content(ran.requests[0]!, 0), /\{output_format\}/)
    })
  )

  it("throws on invalid options", () => {
    assert.throws(() => Adaptive.make({ strategies: {} }), /empty/)
    assert.throws(() => Adaptive.make({ strategies: abc, fallback: "delta" as never }), /delta/)
  })

  it("draws its graph", () => {
    const drawn = StateGraph.toMermaid(Adaptive.make({ strategies: abc }).graph!)
    for (const node of ["choose", "strategy alpha", "strategy beta", "strategy gamma"]) assert.include(drawn, node)
    assert.doesNotThrow(() => Adaptive.make({ strategies: { choose: abc.alpha, END: abc.beta } }))
  })

  it.effect("picks the right strategy for every kind of task, whatever the names and their order", () =>
    Effect.gen(function* () {
      const kinds = ["sum", "poem", "trip", "proof"]
      for (let seed = 0; seed < 8; seed++) {
        const order = kinds.map((_, i) => (i * 3 + seed) % kinds.length)
        const table = Object.fromEntries(
          order.map((i) => [`s${(i * 5 + seed) % 7}_${i}`, named(kinds[i]!, `tasks that ask for a ${kinds[i]}`)])
        )
        // Reads the request alone: the line of the list whose description shares a word with the task.
        const script: Strategies.Script = (request) => {
          const [list, task] = content(request, 1).split("## Task")
          const kind = kinds.find((word) => task!.includes(word))!
          const name = new RegExp(`- (\\S+): tasks that ask for a ${kind}`).exec(list!)![1]!
          return seed % 2 === 0 ? pick(name) : `${name}\nit is about a ${kind}`
        }
        for (const kind of kinds) {
          const ran = yield* Strategies.run(
            Adaptive.make({ strategies: table, rules: [], format: seed % 2 === 0 ? "json" : "text" }),
            script,
            { task: { input: `Please make a ${kind}` } }
          )
          assert.strictEqual((yield* ran.exit).text, `${kind} did Please make a ${kind}`)
        }
      }
    })
  )

  it.effect("runs built-in strategies as they run alone", () =>
    Effect.gen(function* () {
      const script = (): Strategies.Script => [{ calls: [{ name: "add", params: { a: 1, b: 2 } }] }, "3"]
      for (const strategy of [ReAct.make(), FunctionCalling.make()]) {
        const alone = yield* Strategies.run(strategy, script(), { tools: Strategies.tools })
        const within = yield* Strategies.run(
          Adaptive.make({ strategies: { it: { strategy, description: "all" } } }),
          script(),
          { tools: Strategies.tools }
        )
        assert.deepStrictEqual(yield* within.exit, yield* alone.exit)
        assert.deepStrictEqual(within.requests, alone.requests)
      }
    })
  )
})
