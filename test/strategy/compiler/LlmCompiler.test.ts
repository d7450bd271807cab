import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Fiber from "effect/Fiber"
import * as TestClock from "effect/TestClock"
import * as AgentResponse from "../../../src/domain/AgentResponse.js"
import * as LlmCompiler from "../../../src/strategy/compiler/LlmCompiler.js"
import { MaxIterationsExceededError, StrategyReplyError } from "../../../src/strategy/definition/StrategyError.js"
import * as Growth from "../../support/Growth.js"
import * as Strategies from "../Strategies.js"
import { compile, content, difference, finish, lines, statuses } from "../Workshop.js"

const differenceJson = JSON.stringify({
  tasks: [
    { id: 1, thought: "both heights first", tool: "height", args: { mountain: "blanc" } },
    { id: 2, tool: "height", args: { mountain: "fuji" } },
    { id: 3, tool: "subtract", args: { a: "$1", b: "$2" } }
  ]
})

describe("LlmCompiler", () => {
  for (const [format, plan, verdict] of [
    ["text", difference, finish("1030 m")],
    ["json", differenceJson, '{"thought": "enough", "action": "finish", "answer": "1030 m"}']
  ] as const) {
    it.effect(`plans, calls and joins as ${format}, in two model calls`, () =>
      Effect.gen(function* () {
        const ran = yield* compile([plan, verdict], { format, maxParallel: 1 })
        const answer = yield* ran.exit
        assert.deepStrictEqual([answer.text, answer.reason, ran.remaining], ["1030 m", "completed", 0])
        assert.deepStrictEqual(
          ran.calls.map(([name, params]) => [name, params]),
          [
            ["height", { mountain: "blanc" }],
            ["height", { mountain: "fuji" }],
            ["subtract", { a: 4806, b: 3776 }]
          ]
        )
        assert.strictEqual(ran.requests[0]?.responseFormat?.type, format === "json" ? "json" : undefined)
        assert.include(content(ran, 1), "3. subtract(")
        assert.include(content(ran, 1), "[completed]\n  1030")
      })
    )
  }

  it.effect("emits events in order and reports usage", () =>
    Effect.gen(function* () {
      const ran = yield* compile([difference, finish("1030 m")], { format: "text", maxParallel: 1 })
      yield* ran.exit
      const shown = Strategies.sketch(ran.events)
      assert.deepStrictEqual(shown, [
        "StepStarted PlanGraph",
        "Thought both heights first",
        "Plan ppp",
        "UsageReported",
        "ToolCall plan_1_1",
        "ToolResult plan_1_1",
        "Plan cpp",
        "ToolCall plan_1_2",
        "ToolResult plan_1_2",
        "Plan ccp",
        "ToolCall plan_1_3",
        "ToolResult plan_1_3",
        "Plan ccc",
        "NodeFinished planner_generate_graph",
        "StepStarted Join",
        "UsageReported",
        "Critique enough",
        "NodeFinished check_completion",
        "NodeFinished synthesize_result"
      ])
      const [first] = ran.of("Plan")
      assert.deepStrictEqual(first?.steps[2], {
        id: "3",
        description: 'subtract("$1", "$2")',
        tool: "subtract",
        dependsOn: ["1", "2"],
        status: "pending"
      })
      assert.strictEqual(AgentResponse.fromEvents(ran.events).usage.totalTokens, 30)
    })
  )

  it.effect("begins calls while the plan is still being written", () =>
    Effect.gen(function* () {
      const fiber = yield* Effect.fork(
        compile(
          [
            {
              // The pieces stream at 100, 200, … 500 ms, the end of the reply at 700.
              text: ["1. wait(50)\n2. wai", "t(300)\n", "3. wait(10, $1)\n", "Thought: done\n", "4. join()"],
              partDelay: 100
            },
            finish("ok")
          ],
          { format: "text" }
        )
      )
      yield* TestClock.adjust(10_000)
      const ran = yield* Fiber.join(fiber)
      assert.strictEqual((yield* ran.exit).text, "ok")
      assert.deepStrictEqual(
        ran.calls.map(([, params, from, to]) => [(params as { readonly ms: number }).ms, from, to]),
        [
          [50, 100, 150],
          [10, 300, 310],
          [300, 200, 500]
        ]
      )
      assert.deepStrictEqual(
        ran.of("UsageReported").map(({ at }) => at),
        [700, 700]
      )
    })
  )

  it.effect("begins calls of a JSON plan while it is still being written", () =>
    Effect.gen(function* () {
      const fiber = yield* Effect.fork(
        compile(
          [
            {
              text: [
                '{"tasks":[{"id":1,"tool":"wait","args":{"ms":10}}',
                ',{"id":2,"tool":"wait","args":',
                '{"ms":20,"after":"$1"}}',
                "]}"
              ],
              partDelay: 100
            },
            '{"action":"finish","answer":"ok"}'
          ],
          {}
        )
      )
      yield* TestClock.adjust(10_000)
      const ran = yield* Fiber.join(fiber)
      assert.deepStrictEqual(
        ran.calls.map(([, params, from, to]) => [params, from, to]),
        [
          [{ ms: 10 }, 100, 110],
          [{ ms: 20, after: 10 }, 300, 320]
        ]
      )
    })
  )

  it.effect("overlaps independent calls: the whole takes its longest chain", () =>
    Effect.gen(function* () {
      const plan = lines(
        "1. wait(100)",
        "2. wait(200)",
        "3. wait(100, $1)",
        "4. wait(100, $3)",
        "5. wait(50, [$2, $4])"
      )
      const elapsed = (maxParallel: number | undefined) =>
        Effect.gen(function* () {
          const fiber = yield* Effect.fork(compile([plan, finish("ok")], { format: "text", maxParallel }))
          yield* TestClock.adjust(10_000)
          const { calls } = yield* Fiber.join(fiber)
          return Math.max(...calls.map(([, , , to]) => to)) - Math.min(...calls.map(([, , from]) => from))
        })
      assert.strictEqual(yield* elapsed(undefined), 350)
      assert.strictEqual(yield* elapsed(1), 550)
      assert.strictEqual(yield* elapsed(2), 350)
    })
  )

  it.effect("runs at most maxParallel calls, by default the tool concurrency of the task", () =>
    Effect.gen(function* () {
      const plan = Array.from({ length: 20 }, (_, i) => `${i + 1}. wait(10)`).join("\n")
      const most = (setup: LlmCompiler.Options & Strategies.Setup) =>
        Effect.gen(function* () {
          const fiber = yield* Effect.fork(compile([plan, finish("ok")], { format: "text", ...setup }))
          yield* TestClock.adjust(10_000)
          const { calls } = yield* Fiber.join(fiber)
          assert.lengthOf(calls, 20)
          return Math.max(
            ...calls.map(([, , from]) => calls.filter(([, , start, to]) => start <= from && from < to).length)
          )
        })
      assert.strictEqual(yield* most({}), 8)
      assert.strictEqual(yield* most({ maxParallel: 3 }), 3)
      assert.strictEqual(yield* most({ task: { limits: { toolConcurrency: 5 } } }), 5)
      assert.strictEqual(yield* most({ toolConcurrency: 2 }), 2)
    })
  )

  it.effect("sends a plan without calls to the joiner at once", () =>
    Effect.gen(function* () {
      for (const plan of ["1. join()", '{"tasks": []}']) {
        const ran = yield* compile([plan, finish("Hello")])
        assert.strictEqual((yield* ran.exit).text, "Hello")
        assert.include(content(ran, 1), "No calls were made.")
      }
    })
  )

  it.effect("tells the joiner about a failed call, skips what depends on it, and runs the rest", () =>
    Effect.gen(function* () {
      const plan = lines("1. broken()", '2. note("x $1")', '3. note("y $2")', '4. height("fuji")')
      const ran = yield* compile([plan, finish("partly")], { format: "text", maxParallel: 1, toolMaxRetries: 1 })
      assert.strictEqual((yield* ran.exit).text, "partly")
      assert.deepStrictEqual(
        ran.calls.map(([name]) => name),
        ["height"]
      )
      assert.strictEqual(statuses(ran).at(-1), "1 failed, 2 skipped, 3 skipped, 4 completed")
      const shown = content(ran, 1)
      for (const text of ["out of order", '2. note("x $1") [skipped]\n  Not called: it needs $1', "it needs $2"]) {
        assert.include(shown, text)
      }
    })
  )

  it.effect("assigns arguments to parameters in the order of the tool, and keeps whole values", () =>
    Effect.gen(function* () {
      const plan = lines(
        '1. note("a \'quoted\' $ text", ["x", "y"])',
        '2. note(text="again: $1", tags=["$1"])',
        '3. note({"text": "named"})',
        "4. height(fuji)",
        '5. note("$4")',
        '6. subtract("$5", $4)'
      )
      const ran = yield* compile([plan, finish("ok")], { format: "text", maxParallel: 1 })
      yield* ran.exit
      assert.deepStrictEqual(
        ran.calls.map(([, params]) => params),
        [
          { text: "a 'quoted' $ text", tags: ["x", "y"] },
          { text: "named" },
          { mountain: "fuji" },
          { text: "again: a 'quoted' $ text", tags: ["a 'quoted' $ text"] },
          { text: "3776" },
          { a: 3776, b: 3776 }
        ]
      )
    })
  )
})

describe("the joiner of LlmCompiler", () => {
  const replan = (feedback: string) => `Thought: not yet\nAction: Replan(${feedback})`

  it.effect("replans with the earlier plan, its results and what was missing, which later plans may use", () =>
    Effect.gen(function* () {
      const ran = yield* compile(
        [
          '1. height("blanc")\n2. join()',
          replan("Fuji is missing"),
          '2. height("fuji")\n3. subtract($1, $2)',
          finish("1030")
        ],
        { format: "text" }
      )
      assert.strictEqual((yield* ran.exit).text, "1030")
      assert.lengthOf(ran.requests, 4)
      const second = content(ran, 2)
      for (const text of [
        '1. height("blanc") [completed]\n  4806',
        "Why it was not enough:\n  Fuji is missing",
        "begins with number 2"
      ]) {
        assert.include(second, text)
      }
      assert.notInclude(content(ran, 0), "Earlier plan")
      assert.deepStrictEqual(ran.calls.at(-1)?.[1], { a: 4806, b: 3776 })
      assert.include(content(ran, 1), "Further plans that may be asked for: 2")
      assert.include(content(ran, 3), "Plan 2")
      assert.include(content(ran, 3), "Further plans that may be asked for: 1")
      assert.deepStrictEqual(
        ran.of("Critique").map(({ accepted }) => accepted),
        [false, true]
      )
    })
  )

  it.effect("reads a plan that numbers from 1 again by its own calls", () =>
    Effect.gen(function* () {
      const ran = yield* compile(
        ['1. height("blanc")', replan("other"), '1. height("fuji")\n2. note("$1")', finish("ok")],
        { format: "text" }
      )
      yield* ran.exit
      assert.deepStrictEqual(ran.calls.at(-1)?.[1], { text: "3776" })
    })
  )

  it.effect("asks for at most maxReplans more plans, then fails", () =>
    Effect.gen(function* () {
      for (const maxReplans of [0, 1, undefined]) {
        const rounds = (maxReplans ?? 2) + 1
        const script = Array.from({ length: rounds }, () => ['1. height("fuji")', replan("more")]).flat()
        const ran = yield* compile(script, { format: "text", maxReplans })
        const error = yield* Effect.flip(ran.exit)
        assert.instanceOf(error, MaxIterationsExceededError)
        assert.deepStrictEqual(
          [(error as MaxIterationsExceededError).maxIterations, ran.remaining, ran.requests.length],
          [rounds, 0, rounds * 2]
        )
      }
    })
  )

  it.effect("answers at the limit from the available results, marked", () =>
    Effect.gen(function* () {
      const ran = yield* compile(['1. height("fuji")', replan("more"), "At least Fuji: 3776"], {
        format: "text",
        maxReplans: 0,
        onLimit: "answer"
      })
      const answer = yield* ran.exit
      assert.deepStrictEqual([answer.text, answer.reason], ["At least Fuji: 3776", "limit"])
      assert.include(content(ran, 2), "3776")
    })
  )

  it.effect("writes the synthesized answer in one more, streamed call", () =>
    Effect.gen(function* () {
      const ran = yield* compile([difference, '{"action": "finish"}', { text: ["10", "30"] }], { synthesize: true })
      assert.strictEqual((yield* ran.exit).text, "1030")
      assert.deepStrictEqual(
        ran.of("TextDelta").map(({ text }) => text),
        ["10", "30"]
      )
      assert.include(content(ran, 2), "[completed]\n  1030")
    })
  )

  it.effect("shapes the answer, and asks again where it does not fit", () =>
    Effect.gen(function* () {
      const ran = yield* compile([difference, finish("1030"), "about a thousand", '{"n": 1030}'], {
        task: { output: Strategies.outputSpec(1) }
      })
      assert.deepStrictEqual((yield* ran.exit).output, { n: 1030 })
    })
  )

  it.effect("asks again for a missing verdict, then fails", () =>
    Effect.gen(function* () {
      const bad = ["The task was unsuccessful, I would not finish.", '{"action": "finish"}', "Action: Finish()"]
      const good = yield* compile([difference, ...bad.slice(0, 2), finish("ok")])
      assert.strictEqual((yield* good.exit).text, "ok")
      assert.include(content(good, 2), "no line `Action: Finish")
      assert.include(content(good, 3), "it finishes without an answer")
      const ran = yield* compile([difference, ...bad])
      assert.instanceOf(yield* Effect.flip(ran.exit), StrategyReplyError)
    })
  )

  it("reads verdicts in text only in exact forms at the start of a line", () => {
    const verdict = (text: string) => Either.getOrUndefined(LlmCompiler.parseVerdict(text))
    assert.deepStrictEqual(verdict("Thought: a (b)\nAction: Finish(f(x) = 2)\n###"), {
      thought: "a (b)",
      action: "finish",
      answer: "f(x) = 2"
    })
    assert.deepStrictEqual(verdict("**Action:** Replan"), { action: "replan", feedback: "" })
    assert.deepStrictEqual(verdict("action: finish(smile :) now)<END_OF_RESPONSE>"), {
      action: "finish",
      answer: "smile :) now"
    })
    assert.deepStrictEqual(verdict("Action: Finish(one\ntwo)\nThought: more"), { action: "finish", answer: "one\ntwo" })
    for (const text of ["I would Action: Finish(1)", "Action: Finished(1)", "Finish(1)", "Action: do not finish(1)"]) {
      assert.isUndefined(verdict(text), text)
    }
    Growth.assertLinearTexts(["\n", "*", (size) => `Action: Finish(${"(".repeat(size)}`], verdict, 200_000)
  })
})
