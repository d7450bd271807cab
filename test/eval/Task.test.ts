import { assert, describe, it } from "@effect/vitest"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import * as Agents from "../../src/agent/Agents.js"
import * as Agent from "../../src/agent/definition/Agent.js"
import * as Task from "../../src/eval/Task.js"
import * as TestModel from "../../src/testing/TestModel.js"

const Sum = Schema.Struct({ sum: Schema.Number })
const helper = Agent.make("helper", { system: "Help.", output: Sum })

const scripted = (turns: ReadonlyArray<TestModel.Turn>) => Layer.provideMerge(Agents.layer(), TestModel.layer(turns))

describe("Task", () => {
  it.effect("of an effect answers, and fails by its failures, defects and what it throws", () =>
    Effect.gen(function* () {
      const task = Task.make("t", (input: number) => Effect.succeed(input + 1), { version: "2" })
      assert.deepStrictEqual([task.name, task.version], ["t", "2"])
      assert.deepStrictEqual(yield* task.run(1), { _tag: "Answered", output: 2 })
      const bad: ReadonlyArray<() => Effect.Effect<never, string>> = [
        () => Effect.fail("no"),
        () => Effect.die(new Error("no")),
        () => {
          throw new Error("no")
        }
      ]
      for (const run of bad) {
        const outcome = yield* Task.make("t", run).run(undefined)
        assert.strictEqual(outcome._tag, "Failed")
        if (outcome._tag === "Failed") assert.include(Cause.pretty(outcome.cause), "no")
      }
    })
  )

  it.effect("that is interrupted has no outcome", () =>
    Effect.gen(function* () {
      const fiber = yield* Effect.fork(Task.make("t", () => Effect.never).run(1))
      yield* Effect.yieldNow()
      assert.isTrue(Exit.isInterrupted(yield* Fiber.interrupt(fiber)))
    })
  )

  it.effect("of an agent has its output, its run and what it took", () =>
    Effect.gen(function* () {
      const task = Task.agent(helper, { request: (sum: string) => `How much is ${sum}?` })
      assert.deepStrictEqual([task.name, task.version], ["helper", ""])
      const outcome = yield* task.run("1 + 2")
      assert.strictEqual(outcome._tag, "Answered")
      if (outcome._tag !== "Answered") return
      assert.deepStrictEqual(outcome.output, { sum: 3 })
      assert.strictEqual(outcome.response?.input, "How much is 1 + 2?")
      assert.deepStrictEqual([outcome.modelCalls, outcome.usage?.outputTokens], [1, 7])
    }).pipe(Effect.provide(scripted([{ text: '{"sum":3}', usage: { inputTokens: 5, outputTokens: 7 } }])))
  )

  it.effect("of an agent that fails has what it took until then", () =>
    Effect.gen(function* () {
      const outcome = yield* Task.agent(
        Agent.make("one", { limits: { maxModelCalls: 1 }, outputRetries: 1, output: Sum }),
        {
          name: "mine"
        }
      ).run("1 + 2")
      assert.strictEqual(outcome._tag, "Failed")
      assert.deepStrictEqual([outcome.modelCalls, outcome.usage?.outputTokens], [1, 7])
    }).pipe(Effect.provide(scripted([{ text: "three", usage: { inputTokens: 5, outputTokens: 7 } }])))
  )

  it.effect("takes names, and those of all combinations", () =>
    Effect.gen(function* () {
      const made = Task.matrix(
        { model: { large: 1, small: 2 }, prompt: { short: "s", long: "l" } },
        ({ model, prompt }) =>
          Task.make("", (input: string) => Effect.succeed(`${model}${prompt}${input}`), { version: "v" })
      )
      assert.deepStrictEqual(
        made.map(({ name, version }) => [name, version]),
        [
          ["large short", "v"],
          ["large long", "v"],
          ["small short", "v"],
          ["small long", "v"]
        ]
      )
      const outputs = yield* Effect.forEach(made, (task) => task.run("!"))
      assert.deepStrictEqual(outputs, [
        { _tag: "Answered", output: "1s!" },
        { _tag: "Answered", output: "1l!" },
        { _tag: "Answered", output: "2s!" },
        { _tag: "Answered", output: "2l!" }
      ])
    })
  )
})
