import * as NodeAssert from "node:assert"
import { assert, describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import * as AgentExecutor from "../../../src/agent/AgentExecutor.js"
import * as Agents from "../../../src/agent/Agents.js"
import * as Agent from "../../../src/agent/definition/Agent.js"
import { LlmInvalidRequestError } from "../../../src/llm/model/LlmError.js"
import * as EventRecorder from "../../../src/testing/EventRecorder.js"
import * as TestModel from "../../../src/testing/TestModel.js"
import * as Trajectory from "../../../src/testing/trajectory/Trajectory.js"
import * as Tool from "../../../src/tool/definition/Tool.js"

const find = Tool.make("find", {
  description: "Finds free tables",
  parameters: Schema.Struct({ seats: Schema.Number, near: Schema.optional(Schema.Array(Schema.String)) }),
  success: Schema.Array(Schema.String),
  handler: () => Effect.succeed(["window", "door"])
})

const book = Tool.make("book", {
  description: "Books a table",
  parameters: Schema.Struct({ table: Schema.String, at: Schema.String }),
  success: Schema.String,
  failure: Schema.Struct({ message: Schema.String }),
  handler: ({ table }) => (table === "door" ? Effect.fail({ message: "taken" }) : Effect.succeed(`booked ${table}`))
})

const agent = Agent.make("clerk", { system: "You book tables.", tools: [find, book] })

const rejected = new LlmInvalidRequestError({ provider: "test", model: "test-model", message: "no such model" })

const script: ReadonlyArray<TestModel.ScriptItem> = [
  { text: "I look first.", calls: [{ name: "find", params: { seats: 2, near: ["river", "park"] } }] },
  { calls: [{ name: "book", params: { table: "door", at: "20:00" } }] },
  { calls: [{ name: "book", params: { table: "window", at: "20:00" } }] },
  "The table at the window is booked."
]

const eventsOf = (script: ReadonlyArray<TestModel.ScriptItem>) =>
  Effect.map(
    EventRecorder.record(AgentExecutor.stream(agent, "A table for two at eight")),
    ({ events }) => events
  ).pipe(Effect.provide(Agents.layer().pipe(Layer.provide(TestModel.layer(script)))))

/** What holds of that run, and what does not, with the words for it. */
const cases: ReadonlyArray<readonly [holds: Trajectory.Check, fails: Trajectory.Check, words: string]> = [
  [Trajectory.called("find"), Trajectory.called("pay"), "pay was not called"],
  [
    Trajectory.called("find", { seats: 2 }),
    Trajectory.called("find", { seats: 3 }),
    'find({"seats":3}) was not called'
  ],
  [
    Trajectory.called("find", { near: ["river", "park"] }),
    Trajectory.called("find", { near: ["river"] }),
    'find({"near":["river"]}) was not called'
  ],
  [
    Trajectory.called("find", Trajectory.exactly({ near: ["river", "park"], seats: 2 })),
    Trajectory.called("find", Trajectory.exactly({ seats: 2 })),
    'find(exactly {"seats":2}) was not called'
  ],
  [
    Trajectory.called("find", Schema.Struct({ seats: Schema.Number.pipe(Schema.lessThan(3)) })),
    Trajectory.called("find", Schema.Struct({ seats: Schema.String })),
    "find({ readonly seats: string }) was not called"
  ],
  [
    Trajectory.called("book", ({ at }: { readonly at: string }) => at.startsWith("20")),
    Trajectory.called("book", () => false),
    "book(…) was not called"
  ],
  [
    Trajectory.called("book", undefined, { times: 2 }),
    Trajectory.called("book", { table: "door" }, { times: 2 }),
    'book({"table":"door"}) was called once, not 2 times'
  ],
  [
    Trajectory.neverCalled("pay", ["book", { table: "bar" }]),
    Trajectory.neverCalled("book"),
    "book was called 2 times"
  ],
  [
    Trajectory.calledInOrder("find", ["book", { table: "window" }]),
    Trajectory.calledInOrder(["book", { table: "window" }], "find"),
    'find was not called after book({"table":"window"})'
  ],
  [
    Trajectory.calledInOrder("book", "book"),
    Trajectory.calledInOrder("find", "find"),
    "find was not called after find"
  ],
  [
    Trajectory.calledOnly("find", ["book", { table: "door" }], "book"),
    Trajectory.calledOnly("find", "book"),
    'call 3 is book({"table":"window","at":"20:00"}), not the end'
  ],
  [
    Trajectory.calledOnly("find", "book", "book"),
    Trajectory.calledOnly("find", "book", "book", "pay"),
    "call 4 is missing, not pay"
  ],
  [
    Trajectory.nothingCalledAfter(["book", { table: "window" }]),
    Trajectory.nothingCalledAfter(["book", { table: "door" }]),
    'book({"table":"window","at":"20:00"}) was called after book({"table":"door"})'
  ],
  [
    Trajectory.nothingCalledAfter(["book", { table: "window" }]),
    Trajectory.nothingCalledAfter("pay"),
    "pay was not called"
  ],
  [
    Trajectory.calledAtMost(2, "book"),
    Trajectory.calledAtMost(1, "book"),
    "book was called 2 times, at most once was allowed"
  ],
  [
    Trajectory.within({ modelCalls: 4 }),
    Trajectory.within({ modelCalls: 3 }),
    "modelCalls is 4, at most 3 was allowed"
  ],
  [Trajectory.within({ toolCalls: 3 }), Trajectory.within({ toolCalls: 2 }), "toolCalls is 3, at most 2 was allowed"],
  [Trajectory.within({ steps: 4 }), Trajectory.within({ steps: 3 }), "steps is 4, at most 3 was allowed"],
  [Trajectory.within({ inputTokens: 40 }), Trajectory.within({ inputTokens: 39 }), "inputTokens is 40"],
  [Trajectory.within({ outputTokens: 20 }), Trajectory.within({ outputTokens: 19 }), "outputTokens is 20"],
  [Trajectory.within({ totalTokens: 60 }), Trajectory.within({ totalTokens: 59 }), "totalTokens is 60"],
  [Trajectory.within({}), Trajectory.within({ costUsd: 1 }), "costUsd is not known, at most 1 was allowed"],
  [
    Trajectory.answered(/window/),
    Trajectory.answered(/door/),
    'the answer is "The table at the window is booked.", not /door/'
  ],
  [Trajectory.answered("The table at the window is booked."), Trajectory.answered("booked"), "not booked"],
  [
    Trajectory.answered((message) => message.length > 10),
    Trajectory.answered((_, output) => output === 3),
    "not what was expected"
  ],
  [Trajectory.succeeded, Trajectory.failedWith("LlmError"), "the run did not fail with LlmError"]
]

describe("Trajectory", () => {
  it.effect("says what holds of a run and what does not", () =>
    Effect.gen(function* () {
      const events = yield* eventsOf(script)
      for (const [holds, fails, words] of cases) {
        assert.deepStrictEqual(Trajectory.problems(events, holds), [])
        const problems = Trajectory.problems(events, fails)
        assert.lengthOf(problems, 1)
        assert.include(problems[0], words)
      }
      assert.deepStrictEqual(Trajectory.problems(events, Trajectory.allCallsSucceeded), [
        'book({"table":"door","at":"20:00"}) failed: "book" failed: taken'
      ])
    })
  )

  it.effect("says of an agent without tools that nothing was called, and of a failed run why", () =>
    Effect.gen(function* () {
      const quiet = yield* eventsOf(["Good evening."])
      assert.deepStrictEqual(Trajectory.problems(quiet, Trajectory.calledOnly(), Trajectory.allCallsSucceeded), [])
      const broken = yield* eventsOf([{ calls: [{ name: "find", params: { seats: 2 } }] }, { fail: rejected }])
      const problems = Trajectory.problems(
        broken,
        Trajectory.succeeded,
        Trajectory.answered(/x/),
        Trajectory.failedWith("Other")
      )
      assert.deepStrictEqual(problems, [
        "the run failed: LlmInvalidRequestError: no such model",
        "the run failed: LlmInvalidRequestError: no such model",
        "the run failed with LlmInvalidRequestError, not with Other"
      ])
      const tags = [
        "LlmInvalidRequestError",
        broken.flatMap((event) => (event._tag === "Error" ? [event.error.code ?? ""] : []))[0]!
      ]
      for (const tag of tags) assert.deepStrictEqual(Trajectory.problems(broken, Trajectory.failedWith(tag)), [])
      const begun = quiet.slice(0, 2)
      assert.deepStrictEqual(Trajectory.problems(begun, Trajectory.succeeded), ["the run has not ended"])
    })
  )

  it.effect("shows the run when something does not hold: as an effect, an exception and a matcher", () =>
    Effect.gen(function* () {
      const events = yield* eventsOf(script)
      const wrong = [Trajectory.called("pay"), Trajectory.succeeded, Trajectory.calledAtMost(1, "book")]
      const error = yield* Effect.flip(Trajectory.check(events, ...wrong))
      assert.deepStrictEqual(error.problems, [
        "pay was not called",
        "book was called 2 times, at most once was allowed"
      ])
      const lines = error.message.split("\n")
      assert.deepStrictEqual(
        lines.slice(0, 2),
        error.problems.map((problem) => `- ${problem}`)
      )
      for (const part of [
        "of clerk",
        "4 model calls, 3 tool calls, 60 tokens",
        "input: A table for two at eight",
        "I look first.",
        'find({"seats":2,"near":["river","park"]})\n       → ["window","door"]',
        'book({"table":"door","at":"20:00"})\n       → failed',
        "answer: The table at the window is booked."
      ]) {
        assert.include(error.message, part)
      }
      NodeAssert.throws(() => Trajectory.assert(events, ...wrong), /pay was not called/)
      Trajectory.assert(events, Trajectory.called("find"))
      yield* Trajectory.check(events, Trajectory.called("find"))

      expect.extend(Trajectory.matchers)
      const expecting = (received: Trajectory.Run) =>
        expect(received) as unknown as {
          readonly toHold: (...checks: ReadonlyArray<Trajectory.Check>) => void
          readonly not: { readonly toHold: (...checks: ReadonlyArray<Trajectory.Check>) => void }
        }
      expecting(events).toHold(Trajectory.called("find"))
      expecting(events).not.toHold(Trajectory.called("pay"))
      assert.throws(() => expecting(events).toHold(...wrong), /pay was not called/)
      assert.throws(() => expecting(events).not.toHold(Trajectory.called("find")), /should not/)
    })
  )

  it.effect("takes the response of a run as its events", () =>
    Effect.gen(function* () {
      const response = yield* Effect.provide(
        AgentExecutor.run(agent, "A table for two at eight"),
        Agents.layer().pipe(Layer.provide(TestModel.layer(script)))
      )
      for (const [holds, fails] of cases) {
        assert.deepStrictEqual(Trajectory.problems(response, holds), [])
        assert.lengthOf(Trajectory.problems(response, fails), 1)
      }
    })
  )

  it.effect("keeps long texts short, and a run with hostile ones readable", () =>
    Effect.gen(function* () {
      const long = "x".repeat(100_000)
      const events = yield* eventsOf([{ calls: [{ name: "find", params: { seats: long, "a\nb": "\u0000" } }] }, long])
      const text = Trajectory.print(events)
      assert.isBelow(text.length, 3_000)
      assert.isBelow(text.split("\n").length, 8)
    })
  )

  it.effect("makes scripts of runs and of conversations that run again alike", () =>
    Effect.gen(function* () {
      const events = yield* eventsOf(script)
      const again = yield* eventsOf(Trajectory.toScript(events))
      const calls = (events: ReadonlyArray<{ readonly _tag: string }>) =>
        events.flatMap((event) => {
          if (event._tag !== "ToolCall") return []
          const { id, name, params } = event as never as {
            readonly id: string
            readonly name: string
            readonly params: unknown
          }
          return [{ id, name, params }]
        })
      assert.deepStrictEqual(calls(again), calls(events))
      Trajectory.assert(again, Trajectory.answered("The table at the window is booked."))

      const messages: ReadonlyArray<Trajectory.RecordedMessage> = [
        { role: "system", content: "You book tables." },
        { role: "user", content: "A table for two" },
        {
          role: "assistant",
          content: null,
          tool_calls: [{ id: "a1", function: { name: "find", arguments: '{"seats": 2}' } }]
        },
        { role: "tool", content: '["door"]' },
        { role: "assistant", content: "One moment.", tool_calls: [{ id: "a2", name: "book", arguments: "not JSON" }] },
        {
          role: "assistant",
          content: [
            { type: "text", text: "Do" },
            { type: "text", text: "ne." }
          ]
        }
      ]
      assert.deepStrictEqual(Trajectory.toScript(messages), [
        { calls: [{ id: "a1", name: "find", params: { seats: 2 } }] },
        { text: "One moment.", calls: [{ id: "a2", name: "book", params: "not JSON" }] },
        { text: "Done." }
      ])
      assert.deepStrictEqual(Trajectory.toScript([]), [])
    })
  )
})
