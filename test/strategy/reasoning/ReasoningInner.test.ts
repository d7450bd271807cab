import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as TestClock from "effect/TestClock"
import type { Body } from "../../../src/domain/AgentEvent.js"
import * as Step from "../../../src/observability/Step.js"
import type * as Reasoning from "../../../src/strategy/definition/Reasoning.js"
import * as Strategy from "../../../src/strategy/definition/Strategy.js"
import * as FunctionCalling from "../../../src/strategy/loop/FunctionCalling.js"
import * as ReAct from "../../../src/strategy/loop/ReAct.js"
import * as ReasoningService from "../../../src/strategy/reasoning/ReasoningService.js"
import * as Tool from "../../../src/tool/definition/Tool.js"
import * as ToolSet from "../../../src/tool/definition/ToolSet.js"
import * as Strategies from "../Strategies.js"

const strategy = <E, R>(program: (reasoning: Reasoning.Service) => Effect.Effect<Strategy.Answer, E, R>) =>
  Strategy.make("outer", (task) => Effect.flatMap(ReasoningService.make("outer", task), program))

const call = { text: "so", calls: [{ id: "c", name: "add", params: { a: 1, b: 2 } }] }

const turns = (ran: Strategies.Ran<unknown>) => [
  ran.of("StepStarted").map((event) => event.step),
  ran.of("Thought").map((event) => event.step),
  ran.of("ToolCall").map((event) => [event.step, event.id]),
  ran.of("ToolResult").map((event) => [event.step, event.id])
]

describe("an inner strategy", () => {
  it.effect("continues step numbers, and renames repeated call ids", () =>
    Effect.gen(function* () {
      const handed: Array<string> = []
      const add = Tool.make("add", {
        description: "The sum of two numbers",
        parameters: { a: Schema.Number, b: Schema.Number },
        success: Schema.Number,
        handler: ({ a, b }, { id }) =>
          Effect.sync(() => {
            handed.push(id)
            return a + b
          })
      })
      const ran = yield* Strategies.run(
        strategy((reasoning) =>
          Effect.gen(function* () {
            const step = yield* reasoning.begin("before")
            yield* reasoning.call({ id: "c", name: "add", params: { a: 1, b: 1 } }, step)
            yield* reasoning.inner(ReAct.make(), reasoning.task)
            yield* reasoning.begin("between")
            return yield* reasoning.inner(ReAct.make(), reasoning.task)
          })
        ),
        [call, "3", call, "three"],
        { tools: ToolSet.make(add) }
      )
      assert.strictEqual((yield* ran.exit).text, "three")
      assert.deepStrictEqual(handed, ["c", "c_2", "c_3"])
      assert.deepStrictEqual(turns(ran), [
        [1, 2, 3, 4, 5, 6],
        [2, 5],
        [
          [1, "c"],
          [2, "c_2"],
          [5, "c_3"]
        ],
        [
          [1, "c"],
          [2, "c_2"],
          [5, "c_3"]
        ]
      ])
    })
  )

  it.effect("numbers concurrent strategies separately", () =>
    Effect.gen(function* () {
      const ran = yield* Strategies.run(
        strategy((reasoning) =>
          Effect.map(
            Step.forEach(["a", "b"], (input) =>
              reasoning.inner(FunctionCalling.make(), { ...reasoning.task, input, history: [] })
            ),
            (answers) => answers[0] as Strategy.Answer
          )
        ),
        (request) =>
          request.messages.length > 2
            ? "3"
            : { delay: request.messages[1]!.content === "a" ? 2 : 1, calls: [{ id: "c", name: "add", params: {} }] },
        { tools: Strategies.tools, live: false }
      ).pipe(Effect.fork)
      yield* Effect.yieldNow()
      yield* TestClock.adjust(5)
      const done = yield* ran
      assert.deepStrictEqual(turns(done)[0], [1, 2, 3, 4])
      assert.deepStrictEqual(new Set(done.of("ToolCall").map((event) => `${event.step} ${event.id}`)).size, 2)
      assert.deepStrictEqual(
        done.of("ToolCall").map((event) => event.step),
        [2, 1]
      )
    })
  )

  it.effect("shows its text as reasoning by default, and its events to a listener", () =>
    Effect.gen(function* () {
      const seen: Array<Body["_tag"]> = []
      const with_ = (show: Reasoning.AskOptions["show"]) =>
        Strategies.run(
          strategy((reasoning) =>
            reasoning.inner(FunctionCalling.make(), reasoning.task, {
              show,
              onEvent: (event) => void seen.push(event._tag)
            })
          ),
          ["text"]
        )
      const told = (ran: Strategies.Ran<unknown>) => ran.events.map((event) => event._tag)
      assert.deepStrictEqual(told(yield* with_(undefined)), ["StepStarted", "ReasoningDelta", "UsageReported"])
      assert.deepStrictEqual(told(yield* with_("answer")), ["StepStarted", "TextDelta", "UsageReported"])
      assert.deepStrictEqual(told(yield* with_("nothing")), ["StepStarted", "UsageReported"])
      assert.deepStrictEqual(seen.slice(0, 3), ["StepStarted", "ReasoningDelta", "UsageReported"])
    })
  )
})
