import { assert, describe, it } from "@effect/vitest"
import * as Cause from "effect/Cause"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Schema from "effect/Schema"
import * as TestClock from "effect/TestClock"
import type * as LlmClient from "../../../src/llm/model/LlmClient.js"
import type * as Strategy from "../../../src/strategy/definition/Strategy.js"
import {
  MaxIterationsExceededError,
  NoProgressError,
  OutputValidationError
} from "../../../src/strategy/definition/StrategyError.js"
import * as FunctionCalling from "../../../src/strategy/loop/FunctionCalling.js"
import * as StopCondition from "../../../src/strategy/reasoning/StopCondition.js"
import * as EventRecorder from "../../../src/testing/EventRecorder.js"
import type * as TestModel from "../../../src/testing/TestModel.js"
import * as Tool from "../../../src/tool/definition/Tool.js"
import * as ToolSet from "../../../src/tool/definition/ToolSet.js"
import { Fatality } from "../../../src/tool/ToolRunner.js"
import * as Strategies from "../Strategies.js"

const run = (
  script: Strategies.Script,
  options: FunctionCalling.Options & Strategies.Setup = {}
): Effect.Effect<Strategies.Ran<Strategy.StrategyBaseError>> =>
  Strategies.run(FunctionCalling.make(options), script, { tools: Strategies.tools, ...options })

const sum = (a: number, b: number, id?: string): TestModel.Call => ({ name: "add", params: { a, b }, id })

describe("FunctionCalling", () => {
  describe("calls", () => {
    it.effect("a call runs, its result is in the next request, and an answer without a call ends the loop", () =>
      Effect.gen(function* () {
        const ran = yield* run([{ text: "let me see", calls: [sum(1, 2, "c1")] }, "It is 3."])
        const answer = yield* ran.exit
        assert.strictEqual(answer.text, "It is 3.")
        assert.strictEqual(answer.reason, "completed")
        assert.deepStrictEqual(Strategies.shape(ran.requests[0]!.messages), [
          ["system", "Be brief."],
          ["user", "What is it?"]
        ])
        const transcript = [
          ["user", "What is it?"],
          ["assistant", ["let me see", "add#c1"]],
          ["tool", [["c1", 3]]]
        ]
        assert.deepStrictEqual(Strategies.shape(ran.requests[1]!.messages), [
          ["system", "Be brief."],
          ...transcript
        ] as any)
        assert.deepStrictEqual(Strategies.shape(answer.messages), [...transcript, ["assistant", ["It is 3."]]] as any)
        assert.strictEqual(ran.requests[1]!.tools, ran.requests[0]!.tools)
      })
    )

    it.effect("events tell of steps, calls, results and usage; thoughts are not its business", () =>
      Effect.gen(function* () {
        const ran = yield* run([{ text: "hm", calls: [sum(1, 2, "c1")] }, "3"])
        assert.deepStrictEqual(EventRecorder.tags(ran.events), [
          "StepStarted",
          "TextDelta",
          "TextRetracted",
          "UsageReported",
          "ToolCall",
          "ToolResult",
          "StepStarted",
          "TextDelta",
          "UsageReported"
        ])
        assert.deepStrictEqual(
          ran.of("ToolResult").map(({ id, name, result, step }) => ({ id, name, result, step })),
          [{ id: "c1", name: "add", result: 3, step: 1 }]
        )
      })
    )

    it.effect("history stands between the system prompt and the question, and outside of the answer's messages", () =>
      Effect.gen(function* () {
        const history = [
          { role: "user", content: "Hi" },
          { role: "assistant", content: "Hello" }
        ] as const
        const ran = yield* run(["ok"], { task: { history } })
        assert.deepStrictEqual(
          ran.requests[0]!.messages.map((message) => message.role),
          ["system", "user", "assistant", "user"]
        )
        assert.lengthOf((yield* ran.exit).messages, 2)
      })
    )

    it.effect("an empty system prompt is no message", () =>
      Effect.gen(function* () {
        const ran = yield* run(["ok"], { task: { system: "" } })
        assert.deepStrictEqual(Strategies.shape(ran.requests[0]!.messages), [["user", "What is it?"]])
      })
    )

    it.effect("calls of one turn run side by side, at most as many as allowed, and keep their order", () =>
      Effect.gen(function* () {
        let now = 0
        let most = 0
        const finished: Array<number> = []
        const wait = Tool.make("wait", {
          description: "Waits",
          parameters: { n: Schema.Number },
          handler: ({ n }) =>
            Effect.gen(function* () {
              most = Math.max(most, ++now)
              yield* Effect.sleep(`${10 - n} seconds`)
              now--
              finished.push(n)
              return n
            })
        })
        const calls = [1, 2, 3, 4, 5].map((n) => ({ name: "wait", params: { n }, id: `c${n}` }))
        const fiber = yield* Effect.fork(run([{ calls }, "done"], { tools: ToolSet.make(wait), toolConcurrency: 3 }))
        yield* TestClock.adjust("1 minute")
        const ran = yield* Fiber.join(fiber)
        assert.strictEqual(most, 3)
        assert.deepStrictEqual(finished, [3, 2, 1, 5, 4])
        const expected = [1, 2, 3, 4, 5].map((n) => [`c${n}`, n])
        assert.deepStrictEqual(Strategies.shape(ran.requests[1]!.messages)[3], ["tool", expected])
        assert.deepStrictEqual(
          EventRecorder.violations(ran.events).filter((text) => !/begins|ends|terminal/.test(text)),
          []
        )
      })
    )

    it.effect("one call runs in the fiber of the loop, two do not", () =>
      Effect.gen(function* () {
        const ids: Array<string> = []
        const who = Tool.make("who", {
          description: "Who runs",
          handler: () =>
            Effect.map(Effect.fiberId, (id) => {
              ids.push(JSON.stringify(id))
              return "ok"
            })
        })
        // Without a time limit the handler has no fiber of its own either.
        const tools = ToolSet.make(Tool.annotate(who, { timeout: Duration.infinity }))
        const own = JSON.stringify(yield* Effect.fiberId)
        yield* run([{ calls: [{ name: "who" }] }, "x"], { tools })
        assert.deepStrictEqual(ids, [own])
        yield* run([{ calls: [{ name: "who" }, { name: "who" }] }, "x"], { tools })
        assert.notStrictEqual(ids[1], own)
        assert.notStrictEqual(ids[1], ids[2])
      })
    )

    it.effect("names that providers refuse are mapped in requests and transcript, and mapped back in events", () =>
      Effect.gen(function* () {
        const dotted = Tool.make("math.add two", {
          description: "Adds",
          parameters: { a: Schema.Number },
          handler: ({ a }) => Effect.succeed(a + 2)
        })
        const ran = yield* run(
          [(request) => ({ calls: [{ name: request.tools![0]!.name, params: { a: 1 }, id: "c1" }] }), "3"],
          { tools: ToolSet.make(dotted) }
        )
        const name = ran.requests[0]!.tools![0]!.name
        assert.match(name, /^[A-Za-z0-9_-]{1,64}$/)
        assert.deepStrictEqual(
          [...ran.of("ToolCall"), ...ran.of("ToolResult")].map((event) => event.name),
          ["math.add two", "math.add two"]
        )
        const [, , call, result] = ran.requests[1]!.messages as ReadonlyArray<any>
        assert.deepStrictEqual([call.content[0].name, result.content[0].name], [name, name])
      })
    )

    it.effect("missing and repeated ids are made unique, so that each result finds its call", () =>
      Effect.gen(function* () {
        const calls = [sum(1, 1, ""), sum(2, 2, "x"), sum(3, 3, "x"), sum(4, 4, ""), sum(5, 5, "x_1_2")]
        const ran = yield* run([{ calls }, "done"])
        const [, , assistant, tool] = ran.requests[1]!.messages as ReadonlyArray<any>
        const called = assistant.content.map((part: any) => [part.id, part.params.a * 2])
        assert.deepStrictEqual(
          tool.content.map((part: any) => [part.id, part.result]),
          called
        )
        assert.strictEqual(new Set(called.map(([id]: any) => id)).size, 5)
        assert.isTrue(called.every(([id]: any) => id !== ""))
        assert.strictEqual(called[1][0], "x")
      })
    )

    it.effect("calls that the provider ran itself are left alone, and go back with their results", () =>
      Effect.gen(function* () {
        const parts: ReadonlyArray<LlmClient.LlmPart> = [
          { type: "tool-call", id: "s1", name: "web_search", params: { q: "x" }, providerExecuted: true },
          {
            type: "tool-result",
            id: "s1",
            name: "web_search",
            isFailure: false,
            result: ["hit"],
            providerExecuted: true
          },
          { type: "tool-call", id: "c1", name: "add", params: { a: 1, b: 1 } },
          { type: "finish", reason: "tool-calls", usage: {} }
        ]
        const ran = yield* run([{ parts }, "2"])
        assert.deepStrictEqual(
          ran.of("ToolCall").map((event) => event.id),
          ["c1"]
        )
        const [, , assistant, tool] = Strategies.shape(ran.requests[1]!.messages)
        assert.deepStrictEqual(assistant, ["assistant", ["web_search#s1", ["s1", ["hit"]], "add#c1"]])
        assert.deepStrictEqual(tool, ["tool", [["c1", 2]]])
      })
    )

    it.effect("what a provider wants to see again of its reasoning and calls is in the next request", () =>
      Effect.gen(function* () {
        const parts: ReadonlyArray<any> = [
          { type: "reasoning-start", id: "r" },
          { type: "reasoning-delta", id: "r", delta: "hm" },
          { type: "reasoning-end", id: "r", metadata: { anthropic: { signature: "sig" } } },
          {
            type: "tool-call",
            id: "c1",
            name: "add",
            params: { a: 1, b: 1 },
            metadata: { openai: { itemId: "fc_1" } }
          },
          { type: "finish", reason: "tool-calls", usage: {} }
        ]
        const ran = yield* run([{ parts }, "2"])
        const assistant = ran.requests[1]!.messages[2] as any
        assert.deepStrictEqual(
          assistant.content.map((part: any) => [part.type, part.options]),
          [
            ["reasoning", { anthropic: { signature: "sig" } }],
            ["tool-call", { openai: { itemId: "fc_1" } }]
          ]
        )
        assert.deepStrictEqual(
          ran.of("ReasoningDelta").map((event) => event.text),
          ["hm"]
        )
      })
    )
  })

  describe("what goes wrong with a call", () => {
    const observed = (call: TestModel.Call) =>
      Effect.gen(function* () {
        const ran = yield* run([{ calls: [call] }, "I see"])
        assert.strictEqual((yield* ran.exit).text, "I see")
        const part = (ran.requests[1]!.messages[3] as any).content[0]
        assert.isTrue(part.isFailure)
        assert.strictEqual(ran.of("ToolResult")[0]!.isFailure, true)
        return { text: String(part.result), tag: ran.of("ToolResult")[0]!.error?.tag }
      })

    it.effect("an unknown tool is an observation that names what there is", () =>
      Effect.gen(function* () {
        const { tag, text } = yield* observed({ name: "adds", params: {} })
        assert.strictEqual(tag, "ToolNotFoundError")
        assert.include(text, 'Did you mean "add"?')
        assert.include(text, "echo")
      })
    )

    it.effect("arguments that do not fit are an observation that says what is wrong", () =>
      Effect.gen(function* () {
        const { tag, text } = yield* observed({ name: "add", params: { a: "one", b: 2 } })
        assert.strictEqual(tag, "ToolValidationError")
        assert.match(text, /a: .*number/i)
      })
    )

    it.effect("arguments that were cut off are one too", () =>
      Effect.gen(function* () {
        const { tag } = yield* observed({ name: "add", params: '{"a": 1, ' })
        assert.strictEqual(tag, "ToolValidationError")
      })
    )

    it.effect("a tool that fails is an observation", () =>
      Effect.gen(function* () {
        const { tag, text } = yield* observed({ name: "broken" })
        assert.strictEqual(tag, "ToolExecutionError")
        assert.include(text, "out of order")
      })
    )

    it.effect("a fatal failure ends the run with the error itself and stops the other calls", () =>
      Effect.gen(function* () {
        let stopped = false
        const slow = Tool.make("slow", {
          description: "Slow",
          handler: () =>
            Effect.onInterrupt(Effect.never, () =>
              Effect.sync(() => {
                stopped = true
              })
            )
        })
        const ran = yield* run([{ calls: [{ name: "slow" }, { name: "fatal" }] }], {
          tools: ToolSet.make(slow, Strategies.fatal)
        })
        const error = yield* Effect.flip(ran.exit)
        assert.instanceOf(error, Fatality)
        assert.instanceOf((error as Fatality).error, Strategies.Broken)
        assert.isTrue(stopped)
        assert.lengthOf(ran.of("ToolResult"), 2)
      })
    )

    it.effect("a bug in a tool is a defect of the run", () =>
      Effect.gen(function* () {
        const bug = Tool.make("bug", { description: "Bug", handler: () => Effect.die("boom") })
        const ran = yield* run([{ calls: [{ name: "bug" }] }], { tools: ToolSet.make(bug) })
        const cause = yield* Effect.flip(Effect.sandbox(ran.exit))
        assert.isTrue(Cause.isDie(cause))
      })
    )
  })

  describe("answers", () => {
    it.effect("an empty one is asked for again", () =>
      Effect.gen(function* () {
        const ran = yield* run(["", "there"])
        assert.strictEqual((yield* ran.exit).text, "there")
        const last = ran.requests[1]!.messages
        assert.strictEqual(last.length, 3)
        assert.match(String((last[2] as any).content), /empty/)
      })
    )

    it.effect("reasoning alone is no answer, and does not go back alone", () =>
      Effect.gen(function* () {
        const ran = yield* run([{ reasoning: "hm" }, "there"])
        assert.deepStrictEqual(
          ran.requests[1]!.messages.map((message) => message.role),
          ["system", "user", "user"]
        )
      })
    )

    it.effect("a model that pauses goes on with what it had", () =>
      Effect.gen(function* () {
        const ran = yield* run([{ text: "searching", finishReason: "pause" }, "found"])
        assert.strictEqual((yield* ran.exit).text, "found")
        assert.deepStrictEqual(Strategies.shape(ran.requests[1]!.messages)[2], ["assistant", ["searching"]])
        assert.lengthOf(ran.requests[1]!.messages, 3)
      })
    )

    it.effect("the reason says whether the token limit or a filter cut it", () =>
      Effect.gen(function* () {
        for (const finishReason of ["length", "content-filter"] as const) {
          for (const text of ["half an", ""]) {
            const answer = yield* (yield* run([{ text, finishReason }])).exit
            assert.deepStrictEqual([answer.text, answer.reason], [text, finishReason])
          }
        }
        assert.strictEqual((yield* (yield* run([{ text: "x", finishReason: "other" }])).exit).reason, "completed")
      })
    )

    it.effect(
      "a call that a model declared so writes runs, its result comes back as text, and so does the answer",
      () =>
        Effect.gen(function* () {
          const ran = yield* run(
            ['Thought: add them\nAction: add\nAction Input: {"a": 1, "b": 2}', "Thought: good\nFinal Answer: 3"],
            { textCalls: "always" }
          )
          const answer = yield* ran.exit
          assert.strictEqual(answer.text, "3")
          assert.deepStrictEqual(Strategies.shape(ran.requests[1]!.messages).slice(2), [
            ["assistant", 'Thought: add them\nAction: add\nAction Input: {"a": 1, "b": 2}'],
            ["user", "OBSERVATION: 3"]
          ])
        })
    )

    it.effect("a call written under the name the model was told runs too", () =>
      Effect.gen(function* () {
        const dotted = Tool.make("math.double", {
          description: "Doubles",
          parameters: { text: Schema.String },
          handler: ({ text }) => Effect.succeed(text + text)
        })
        const ran = yield* run(["Action: math_double\nAction Input: 1e5", "ok"], {
          tools: ToolSet.make(dotted),
          textCalls: "always"
        })
        assert.strictEqual(ran.of("ToolResult")[0]?.observation, "1e51e5")
        assert.strictEqual(ran.of("ToolResult")[0]?.name, "math.double")
      })
    )

    it.effect("text that only mentions an action, or one that is not on offer, is an answer", () =>
      Effect.gen(function* () {
        for (const text of ["The best action: none.", "Action: leave\nAction Input: {}"]) {
          assert.strictEqual((yield* (yield* run([text], { textCalls: "always" })).exit).text, text)
        }
      })
    )
  })

  describe("limits", () => {
    const again = (n: number): TestModel.Turn => ({ text: `try ${n}`, calls: [sum(n, 1)] })
    const turns = (count: number) => Array.from({ length: count }, (_, n) => again(n))

    it.effect("without an answer it fails with what was reached", () =>
      Effect.gen(function* () {
        const ran = yield* run(turns(3), { maxIterations: 3 })
        const error = yield* Effect.flip(ran.exit)
        assert.instanceOf(error, MaxIterationsExceededError)
        assert.strictEqual((error as MaxIterationsExceededError).maxIterations, 3)
        assert.strictEqual(ran.remaining, 0)
      })
    )

    it.effect("or answers with the last text, marked", () =>
      Effect.gen(function* () {
        const answer = yield* (yield* run(turns(2), { maxIterations: 2, onLimit: "answer" })).exit
        assert.deepStrictEqual([answer.text, answer.reason, answer.messages.length], ["try 1", "limit", 5])
      })
    )

    it.effect("options win over the task's limits, those over the defaults", () =>
      Effect.gen(function* () {
        const requests = (options: FunctionCalling.Options & Strategies.Setup) =>
          Effect.map(run(turns(20), options), (ran) => ran.requests.length)
        assert.strictEqual(yield* requests({}), 10)
        assert.strictEqual(yield* requests({ task: { limits: { maxIterations: 4 } } }), 4)
        assert.strictEqual(yield* requests({ maxIterations: 2, task: { limits: { maxIterations: 4 } } }), 2)
        assert.strictEqual(yield* requests({ maxIterations: 0 }), 1)
      })
    )

    it.effect("time and attempts of tools and characters of observations are bounded", () =>
      Effect.gen(function* () {
        let attempts = 0
        const flaky = Tool.make("flaky", {
          description: "Loses its connection",
          handler: () => Effect.suspend(() => Effect.fail({ code: "ECONNRESET", message: `lost ${++attempts}` }))
        })
        const hang = Tool.make("hang", { description: "Hangs", handler: () => Effect.never })
        const long = Tool.make("long", { description: "Long", handler: () => Effect.succeed("y".repeat(100)) })
        const tools = ToolSet.make(flaky, hang, long)
        const script = [{ calls: [{ name: "flaky" }, { name: "hang" }, { name: "long" }] }, "ok"]
        for (const setup of [
          { toolTimeout: "2 seconds", toolMaxRetries: 2, observationMaxChars: 10 },
          { task: { limits: { toolTimeout: "2 seconds", toolMaxAttempts: 2, observationMaxChars: 10 } } }
        ] as const) {
          attempts = 0
          const fiber = yield* Effect.fork(run(script, { tools, ...setup }))
          yield* TestClock.adjust("2 seconds")
          const ran = yield* Fiber.join(fiber)
          assert.strictEqual(attempts, 2)
          const by = new Map(ran.of("ToolResult").map((event) => [event.name, event]))
          assert.strictEqual(by.get("hang")?.error?.tag, "ToolTimeoutError")
          assert.isTrue(by.get("long")?.truncated)
          assert.isTrue(by.get("long")?.observation.startsWith(`${"y".repeat(10)}\n[TRUNCATED`))
        }
      })
    )

    it.effect("tools side by side are bounded by the task where the options say nothing", () =>
      Effect.gen(function* () {
        let most = 0
        let now = 0
        const slow = Tool.make("slow", {
          description: "Slow",
          handler: () =>
            Effect.acquireUseRelease(
              Effect.sync(() => {
                most = Math.max(most, ++now)
              }),
              () => Effect.sleep("1 second"),
              () => Effect.sync(() => void now--)
            )
        })
        const script = [{ calls: Array.from({ length: 12 }, () => ({ name: "slow" })) }, "ok"]
        for (const [limits, expected] of [
          [{}, 8],
          [{ toolConcurrency: 2 }, 2]
        ] as const) {
          most = 0
          const fiber = yield* Effect.fork(run(script, { tools: ToolSet.make(slow), task: { limits } }))
          yield* TestClock.adjust("20 seconds")
          yield* Fiber.join(fiber)
          assert.strictEqual(most, expected)
        }
      })
    )

    it.effect("a model that does not answer in time is a typed failure", () =>
      Effect.gen(function* () {
        for (const options of [
          { llmTimeout: "3 seconds" },
          { task: { limits: { llmTimeout: "3 seconds" } } }
        ] as const) {
          const fiber = yield* Effect.fork(run([{ text: "late", delay: "1 minute" }], options))
          yield* TestClock.adjust("3 seconds")
          const error = yield* Effect.flip((yield* Fiber.join(fiber)).exit)
          assert.strictEqual(error._tag, "LlmTimeoutError")
        }
      })
    )
  })

  describe("going in circles", () => {
    const same = { text: "again", calls: [sum(1, 1)] }

    it.effect("the same call with the same result fails the run the third time", () =>
      Effect.gen(function* () {
        const ran = yield* run([same, same, same, "never"])
        const error = yield* Effect.flip(ran.exit)
        assert.instanceOf(error, NoProgressError)
        assert.deepStrictEqual([(error as NoProgressError).toolName, (error as NoProgressError).repeats], ["add", 3])
        assert.strictEqual(ran.remaining, 1)
      })
    )

    it.effect("another step in between begins the count again, and so do other results of the call", () =>
      Effect.gen(function* () {
        const other = { calls: [sum(2, 2)] }
        const between = yield* run([same, other, same, other, same, same, "done"])
        assert.strictEqual((yield* between.exit).text, "done")
        const both = yield* run([same, ...[2, 3, 4].map((n) => ({ calls: [sum(1, 1), sum(n, n)] })), "done"])
        assert.strictEqual((yield* both.exit).text, "done")
        let n = 0
        const results = ["a", "a", "b", "a", "a", "b"]
        const poll = Tool.make("poll", { description: "Polls", handler: () => Effect.sync(() => results[n++]!) })
        const ran = yield* run([...results.map(() => ({ calls: [{ name: "poll" }] })), "done"], {
          tools: ToolSet.make(poll)
        })
        assert.strictEqual((yield* ran.exit).text, "done")
      })
    )

    it.effect("a tool that polls may say the same for as long as it takes", () =>
      Effect.gen(function* () {
        const poll = Tool.make("poll", { description: "Polls", polling: true, handler: () => Effect.succeed("busy") })
        const script = [...Array.from({ length: 8 }, () => ({ calls: [{ name: "poll" }] })), "done"]
        const ran = yield* run(script, { tools: ToolSet.make(poll) })
        assert.strictEqual((yield* ran.exit).text, "done")
        const plain = Tool.annotate(poll, { polling: false })
        assert.instanceOf(
          yield* Effect.flip((yield* run(script, { tools: ToolSet.make(plain) })).exit),
          NoProgressError
        )
      })
    )

    it.effect("the model is told once, before the run fails, and goes on where it listens", () =>
      Effect.gen(function* () {
        const ran = yield* run([same, same, "2, then"])
        assert.strictEqual((yield* ran.exit).text, "2, then")
        const notes = ran.requests.map(
          ({ messages }) => JSON.stringify(messages).split("the same once more").length - 1
        )
        assert.deepStrictEqual(notes, [0, 0, 1])
        const last = ran.requests[2]!.messages.at(-1)!
        assert.isTrue(last.role === "tool" && /^2\n\nNote: /.test(String(last.content[0]!.result)))
        assert.strictEqual(ran.of("ToolResult")[1]!.result, 2)
      })
    )

    it.effect("how often is an option, and so is never", () =>
      Effect.gen(function* () {
        assert.strictEqual((yield* run([same, same, "x"], { noProgressAfter: 1 })).requests.length, 1)
        assert.strictEqual(
          (yield* (yield* run([same, same, same, same, "x"], { noProgressAfter: false })).exit).text,
          "x"
        )
        const answer = yield* (yield* run([same, same, same], { onLimit: "answer" })).exit
        assert.deepStrictEqual([answer.text, answer.reason], ["again", "limit"])
      })
    )

    it.effect("arguments nested beyond the stack do not crash it", () =>
      Effect.gen(function* () {
        const params = JSON.parse(`{"x":${"[".repeat(20_000)}${"]".repeat(20_000)}}`)
        const any = Tool.fromJsonSchema("any", {
          description: "Takes anything",
          parameters: { type: "object" },
          handler: () => Effect.succeed("ok")
        })
        assert.isTrue(any._tag === "Right")
        if (any._tag === "Left") return
        const ran = yield* run([{ calls: [{ name: "any", params }] }, "done"], { tools: ToolSet.make(any.right) })
        assert.strictEqual((yield* ran.exit).text, "done")
      })
    )
  })

  describe("stop conditions", () => {
    it.effect("end the loop after the tools of a step", () =>
      Effect.gen(function* () {
        const ran = yield* run([{ text: "one", calls: [sum(1, 1)] }, { calls: [sum(2, 2)] }, "never"], {
          stopWhen: StopCondition.steps(2)
        })
        const answer = yield* ran.exit
        assert.deepStrictEqual([answer.text, answer.reason, ran.remaining], ["one", "stop-condition", 1])
        assert.strictEqual(answer.messages.at(-1)?.role, "tool")
      })
    )

    it.effect("see the tokens, calls and tools so far", () =>
      Effect.gen(function* () {
        const seen: Array<StopCondition.Progress> = []
        yield* run([{ text: "t", calls: [sum(1, 1), { name: "broken" }] }, { calls: [sum(2, 2)] }, "x"], {
          stopWhen: (progress) => {
            seen.push(progress)
            return false
          }
        })
        assert.deepStrictEqual(
          seen.map(({ last, step, text, toolCalls, usage }) => [
            step,
            usage.totalTokens,
            toolCalls,
            text,
            last.map(({ isFailure, name }) => [name, isFailure])
          ]),
          [
            [
              1,
              15,
              2,
              "t",
              [
                ["add", false],
                ["broken", true]
              ]
            ],
            [2, 30, 3, "t", [["add", false]]]
          ]
        )
      })
    )
  })

  describe("structured output", () => {
    const output = Strategies.outputSpec(2)

    it.effect("without tools the schema is asked for, with tools only once the answer does not fit", () =>
      Effect.gen(function* () {
        const bare = yield* run(['{"n": 1}'], { tools: ToolSet.empty, task: { output } })
        assert.deepStrictEqual((yield* bare.exit).output, { n: 1 })
        const format = { type: "json", name: "answer", schema: output.jsonSchema }
        assert.deepStrictEqual(bare.requests[0]!.responseFormat, format as any)
        assert.notProperty(bare.requests[0]!, "tools")
        const tooled = yield* run([{ calls: [sum(1, 1)] }, "two", '{"n": 2}'], { task: { output } })
        assert.deepStrictEqual((yield* tooled.exit).output, { n: 2 })
        assert.deepStrictEqual(
          tooled.requests.map((request) => [request.responseFormat !== undefined, request.tools !== undefined]),
          [
            [false, true],
            [false, true],
            [true, false]
          ]
        )
      })
    )

    it.effect("every end of the loop is brought into shape", () =>
      Effect.gen(function* () {
        const turn = { text: "thinking", calls: [sum(1, 1)] }
        for (const [options, reason] of [
          [{ stopWhen: StopCondition.steps(1) }, "stop-condition"],
          [{ maxIterations: 1, onLimit: "answer" }, "limit"],
          [{ noProgressAfter: 1, onLimit: "answer" }, "limit"]
        ] as const) {
          const ran = yield* run([turn, '{"n": 5}'], { ...options, task: { output } })
          const answer = yield* ran.exit
          assert.deepStrictEqual([answer.output, answer.text, answer.reason], [{ n: 5 }, '{"n": 5}', reason])
          assert.deepStrictEqual(answer.messages.at(-1), { role: "assistant", content: '{"n": 5}' })
        }
      })
    )

    it.effect("what never fits ends in a typed failure that holds the last answer", () =>
      Effect.gen(function* () {
        const ran = yield* run(["a", "b", '{"n": "c"}', "never"], { tools: ToolSet.empty, task: { output } })
        const error = yield* Effect.flip(ran.exit)
        assert.instanceOf(error, Fatality)
        const inner = (error as Fatality).error
        assert.instanceOf(inner, OutputValidationError)
        const { attempts, issues, text } = inner as OutputValidationError
        assert.deepStrictEqual([attempts, issues, text], [3, "n: expected a number", '{"n": "c"}'])
        assert.strictEqual(ran.remaining, 1)
      })
    )
  })

  it.effect("interrupting the run stops the model call", () =>
    Effect.gen(function* () {
      const given = yield* Strategies.task()
      const fiber = yield* Effect.fork(FunctionCalling.make().program(given))
      yield* TestClock.adjust("1 second")
      const exit = yield* Fiber.interrupt(fiber)
      assert.isTrue(Exit.isInterrupted(exit))
    }).pipe(Effect.provide(Strategies.layer([{ text: "x", delay: "1 hour" }])))
  )
})
