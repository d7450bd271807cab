/** What `plan-execute`, `plan-and-solve` and `reflection` have in common: models by role, limits of calls, plain state. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as TestClock from "effect/TestClock"
import * as DefaultModelRouter from "../../src/llm/DefaultModelRouter.js"
import type * as Strategy from "../../src/strategy/definition/Strategy.js"
import * as PlanAndSolve from "../../src/strategy/PlanAndSolve.js"
import * as PlanExecute from "../../src/strategy/PlanExecute.js"
import * as Reflection from "../../src/strategy/Reflection.js"
import * as Tool from "../../src/tool/definition/Tool.js"
import * as ToolSet from "../../src/tool/definition/ToolSet.js"
import * as Plans from "./Plans.js"
import * as Strategies from "./Strategies.js"

const add = { description: "Add", tool: "add" }
const broken = { description: "Break", tool: "broken" }
const sum = Plans.json({ a: 1, b: 2 })
const reasoned = Plans.json({ status: "done", result: "6" })
const failing = Plans.json({ points: ["x"], score: 1, needs_refinement: true })

const samples = [
  {
    strategy: PlanExecute.make(),
    script: [
      Plans.json({ steps: [broken, add] }),
      Plans.json({ steps: [add, { description: "x" }] }),
      sum,
      reasoned,
      "6."
    ],
    roles: ["planning", "planning", "execution", "thinking", "documentation"],
    state: PlanExecute.State
  },
  {
    strategy: PlanAndSolve.make(),
    script: [Plans.json({ steps: ["one"] }), { calls: [{ name: "add", params: { a: 1, b: 2 } }] }, "3", "It is 3."],
    roles: ["planning", "execution", "execution", "documentation"],
    state: PlanAndSolve.State
  },
  {
    strategy: Reflection.make(),
    script: ["Draft.", failing, "Better."],
    roles: ["documentation", "reflection", "documentation"],
    state: Reflection.State
  }
] as const

const roles = ["planning", "execution", "thinking", "documentation", "reflection"]

const router = DefaultModelRouter.layer({
  roles: Object.fromEntries(roles.map((role, i) => [role, { settings: { maxTokens: 100 + i } }]))
})

const routed = (strategy: Strategy.Strategy): Strategy.Strategy => ({
  ...strategy,
  program: (task) => Effect.provide(strategy.program(task), router)
})

describe("strategies with plans, and reflection", () => {
  for (const { roles: expected, script, state, strategy } of samples) {
    it.effect(`${strategy.name} asks the model of each role, also for tools inside steps`, () =>
      Effect.gen(function* () {
        const ran = yield* Strategies.run(routed(strategy), script, { tools: Strategies.tools })
        yield* Effect.orDie(ran.exit)
        assert.deepStrictEqual(
          ran.requests.map((request) => roles[(request.settings?.maxTokens ?? 0) - 100]),
          [...expected]
        )
        const own = yield* Strategies.run(strategy, script, {
          tools: Strategies.tools,
          task: { role: "mine", settings: { maxTokens: 7 } }
        })
        assert.isTrue(own.requests.every((request) => request.settings?.maxTokens === 7))
        assert.isTrue(own.of("UsageReported").every((event) => event.role === "mine"))
      })
    )

    it.effect(`the state of ${strategy.name} is plain data that fits its schema`, () =>
      Effect.gen(function* () {
        const ran = yield* Strategies.run(strategy, script, { tools: Strategies.tools })
        const decode = Schema.decodeUnknownSync(Schema.partial(state as Schema.Schema<any>))
        for (const { update } of ran.of("NodeFinished")) {
          assert.deepStrictEqual(JSON.parse(JSON.stringify(update)), update)
          assert.deepStrictEqual(decode(update), update)
        }
      })
    )

    it.effect(`${strategy.name} applies its timeout to a model call`, () =>
      Effect.gen(function* () {
        const make = { "plan-execute": PlanExecute, "plan-and-solve": PlanAndSolve, reflection: Reflection }
        const limited = make[strategy.name as keyof typeof make].make({ llmTimeout: "5 seconds" })
        const fiber = yield* Effect.fork(Strategies.run(limited, [{ text: "late", delay: "1 minute" }]))
        yield* Effect.yieldNow()
        yield* TestClock.adjust("5 seconds")
        const error = yield* Effect.flip((yield* fiber).exit)
        assert.strictEqual(error._tag, "LlmTimeoutError")
      })
    )
  }

  it.effect("cuts observations and stops tools as the options say", () =>
    Effect.gen(function* () {
      const long = Tool.make("long", { description: "Talks", handler: () => Effect.succeed("x".repeat(20_000)) })
      const slow = Tool.make("slow", {
        description: "Sleeps",
        handler: () => Effect.as(Effect.sleep("1 minute"), "done")
      })
      const tools = ToolSet.make(long, slow) as ToolSet.ToolSet<unknown, never>
      const talk = Plans.json({ steps: [{ description: "Talk", tool: "long" }] })
      const sleep = Plans.json({ steps: [{ description: "Sleep", tool: "slow" }] })
      const use = (name: string) => ({ calls: [{ name }] })
      const lengths = (ran: Strategies.Ran<unknown>) => ran.of("ToolResult")[0]!.observation.length
      for (const [script, make] of [
        [[talk, "ok"], PlanExecute.make],
        [[Plans.json({ steps: ["one"] }), use("long"), "x", "ok"], PlanAndSolve.make]
      ] as const) {
        const short = yield* Strategies.run(make({ observationMaxChars: 100 }), script, { tools })
        assert.isAtMost(lengths(short), 200)
        const standard = yield* Strategies.run(make(), script, { tools })
        assert.isAtLeast(lengths(standard), 10_000)
        assert.isAtMost(lengths(standard), 10_100)
      }
      for (const [script, make] of [
        [[sleep, Plans.json({ steps: [] }), "ok"], PlanExecute.make],
        [[Plans.json({ steps: ["one"] }), use("slow"), "x", "ok"], PlanAndSolve.make]
      ] as const) {
        const fiber = yield* Effect.fork(Strategies.run(make({ toolTimeout: "2 seconds" }), script, { tools }))
        yield* Effect.yieldNow()
        yield* TestClock.adjust("2 seconds")
        assert.strictEqual((yield* fiber).of("ToolResult")[0]!.error?.tag, "ToolTimeoutError")
      }
    })
  )
})
