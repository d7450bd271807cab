import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as FastCheck from "effect/FastCheck"
import * as LlmError from "../../../src/llm/model/LlmError.js"
import * as ReAct from "../../../src/strategy/loop/ReAct.js"
import * as GraphStrategy from "../../../src/strategy/reasoning/GraphStrategy.js"
import * as StopCondition from "../../../src/strategy/reasoning/StopCondition.js"
import type * as TestModel from "../../../src/testing/TestModel.js"
import * as ToolSet from "../../../src/tool/definition/ToolSet.js"
import * as Strategies from "../Strategies.js"

type Setup = ReAct.Options & Strategies.Setup

/** The events, the requests and the exit of the default strategy, beside those of its graph. */
const both = (script: ReadonlyArray<TestModel.ScriptItem>, setup: Setup = {}) => {
  const given = {
    tools: ToolSet.make(...[Strategies.add, Strategies.echo, Strategies.broken, Strategies.fatal]),
    ...setup
  }
  const seen = (strategy: ReturnType<typeof ReAct.make>) =>
    Effect.gen(function* () {
      const ran = yield* Strategies.run(strategy, script, given as Strategies.Setup)
      return { events: ran.events, requests: ran.requests, exit: yield* Effect.exit(ran.exit) }
    })
  return Effect.all([seen(ReAct.make(setup)), seen(GraphStrategy.make(ReAct.definition(setup)))])
}

const add = (a: number): TestModel.Turn => ({ text: `I add ${a}.`, calls: [{ name: "add", params: { a, b: 1 } }] })

const written = (a: number): string => `THOUGHT: so\nACTION: add\nACTION_INPUT: {"a": ${a}, "b": 1}`

const refused = () =>
  new LlmError.LlmInvalidRequestError({ provider: "test", message: "The request is not valid", hint: "Change it" })

const output = Strategies.outputSpec(1)

const cases: ReadonlyArray<readonly [name: string, script: ReadonlyArray<TestModel.ScriptItem>, setup?: Setup]> = [
  ["an answer", ["3"]],
  ["calls and an answer", [add(1), { calls: [{ name: "echo", params: { text: "x" } }] }, "3"]],
  ["several calls of one turn", [{ calls: [add(1).calls![0]!, add(2).calls![0]!, { name: "broken" }] }, "3"]],
  ["calls above the limit of a turn", [{ calls: [add(1).calls![0]!, add(2).calls![0]!] }, "3"], { maxCallsPerTurn: 1 }],
  ["an unknown tool and bad arguments", [{ calls: [{ name: "no" }, { name: "add", params: "x" }] }, "3"]],
  ["an empty reply", ["", add(1), "3"]],
  ["a paused reply", [{ text: "wait", finishReason: "pause" }, "3"]],
  ["a reply cut short", [{ text: "thr", finishReason: "length" }]],
  ["the limit", [add(1), add(2)], { maxIterations: 2 }],
  ["the limit with the last text", [add(1), add(2)], { maxIterations: 2, onLimit: "answer" }],
  ["circles", [add(1), add(1), add(1)]],
  ["circles with the last text", [add(1), add(1), add(1)], { onLimit: "answer" }],
  ["circles without a limit", [add(1), add(1), add(1), add(1), "3"], { noProgressAfter: false }],
  ["a stop condition", [add(1)], { stopWhen: StopCondition.toolSucceeded("add") }],
  ["a fatal tool", [{ calls: [{ name: "fatal" }] }]],
  ["a failure of the model", [add(1), () => Effect.fail(refused())]],
  ["an output", [add(1), "three", '{"n": 3}'], { task: { output } }],
  ["an output at the limit", [add(1), '{"n": 3}'], { task: { output }, maxIterations: 1, onLimit: "answer" }],
  ["no tools", ["3"], { tools: ToolSet.empty }],
  ["a history", [add(1), "3"], { task: { history: [{ role: "user", content: "hi" }] } }],
  ["calls in the text", [written(1), "Final Answer: 3"], { textCalls: "always" }],
  ["the text format", [written(1), "no form", "", "FINAL_ANSWER: 3"], { format: "text" }],
  ["the text format at the limit", [written(1), "no form"], { format: "text", maxIterations: 2, onLimit: "answer" }]
]

describe("ReAct.make", () => {
  for (const [name, script, setup] of cases) {
    for (const debugNodeUpdates of [true, false]) {
      it.effect(`emits the events of its graph for ${name}, ${debugNodeUpdates ? "whole" : "bounded"}`, () =>
        Effect.gen(function* () {
          const [loop, graph] = yield* both(script, { ...setup, task: { ...setup?.task, debugNodeUpdates } })
          assert.deepStrictEqual(loop, graph)
          assert.isAbove(loop.requests.length, 0)
        })
      )
    }
  }

  it.effect("emits the events of its graph for any replies", () =>
    Effect.gen(function* () {
      const replies = FastCheck.array(FastCheck.constantFrom("", "3", written(1), "FINAL_ANSWER: 3", add(1), add(2)), {
        minLength: 1,
        maxLength: 6
      })
      const setups = FastCheck.record({
        format: FastCheck.constantFrom("native" as const, "text" as const),
        textCalls: FastCheck.constantFrom("never" as const, "always" as const),
        onLimit: FastCheck.constantFrom("fail" as const, "answer" as const),
        maxIterations: FastCheck.integer({ min: 1, max: 6 }),
        live: FastCheck.boolean()
      })
      for (const [script, setup] of FastCheck.sample(FastCheck.tuple(replies, setups), { numRuns: 60, seed: 11 })) {
        const [loop, graph] = yield* both([...script, "3", "3", "3", "3", "3"], { ...setup, exhausted: false })
        assert.deepStrictEqual(loop, graph, JSON.stringify([script, setup]))
      }
    })
  )
})
