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
    it.effect("runs a call, sends its result in the next request, and ends with an answer without a call", () =>
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

    it.effect("emits steps, calls, results and usage, but no thoughts", () =>
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

    it.effect("puts history between the system prompt and the question, and not into the answer's messages", () =>
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

    it.effect("sends no message for an empty system prompt", () =>
      Effect.gen(function* () {
        const ran = yield* run(["ok"], { task: { system: "" } })
        assert.deepStrictEqual(Strategies.shape(ran.requests[0]!.messages), [["user", "What is it?"]])
      })
    )

    it.effect("runs calls of one turn concurrently within the limit, and keeps their order", () =>
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

    it.effect("runs a single call in the fiber of the loop, and two calls in fibers of their own", () =>
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

    it.effect("maps names that providers reject in requests and transcript, and back in events", () =>
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

    it.effect("makes missing and repeated ids unique, so that each result finds its call", () =>
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

    it.effect("leaves provider-executed calls alone, and returns them with their results", () =>
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

    it.effect("returns the reasoning and calls that a provider requires", () =>
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

  describe("failures of a call", () => {
    const observed = (call: TestModel.Call) =>
      Effect.gen(function* () {
        const ran = yield* run([{ calls: [call] }, "I see"])
        assert.strictEqual((yield* ran.exit).text, "I see")
        const part = (ran.requests[1]!.messages[3] as any).content[0]
        assert.isTrue(part.isFailure)
        assert.strictEqual(ran.of("ToolResult")[0]!.isFailure, true)
        return { text: String(part.result), tag: ran.of("ToolResult")[0]!.error?.tag }
      })

    it.effect("observes an unknown tool, with the available ones", () =>
      Effect.gen(function* () {
        const { tag, text } = yield* observed({ name: "adds", params: {} })
        assert.strictEqual(tag, "ToolNotFoundError")
        assert.include(text, 'Did you mean "add"?')
        assert.include(text, "echo")
      })
    )

    it.effect("observes invalid arguments, with the issues", () =>
      Effect.gen(function* () {
        const { tag, text } = yield* observed({ name: "add", params: { a: "one", b: 2 } })
        assert.strictEqual(tag, "ToolValidationError")
        assert.match(text, /a: .*number/i)
      })
    )

    it.effect("observes truncated arguments", () =>
      Effect.gen(function* () {
        const { tag } = yield* observed({ name: "add", params: '{"a": 1, ' })
        assert.strictEqual(tag, "ToolValidationError")
      })
    )

    it.effect("observes a failed tool", () =>
      Effect.gen(function* () {
        const { tag, text } = yield* observed({ name: "broken" })
        assert.strictEqual(tag, "ToolExecutionError")
        assert.include(text, "out of order")
      })
    )

    it.effect("ends the run with a fatal failure and stops the other calls", () =>
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

    it.effect("dies with a defect of a tool", () =>
      Effect.gen(function* () {
        const bug = Tool.make("bug", { description: "Bug", handler: () => Effect.die("boom") })
        const ran = yield* run([{ calls: [{ name: "bug" }] }], { tools: ToolSet.make(bug) })
        const cause = yield* Effect.flip(Effect.sandbox(ran.exit))
        assert.isTrue(Cause.isDie(cause))
      })
    )
  })

  describe("answers", () => {
    it.effect("asks again for an empty answer", () =>
      Effect.gen(function* () {
        const ran = yield* run(["", "there"])
        assert.strictEqual((yield* ran.exit).text, "there")
        const last = ran.requests[1]!.messages
        assert.strictEqual(last.length, 3)
        assert.match(String((last[2] as any).content), /empty/)
      })
    )

    it.effect("does not accept reasoning alone as an answer, nor return it alone", () =>
      Effect.gen(function* () {
        const ran = yield* run([{ reasoning: "hm" }, "there"])
        assert.deepStrictEqual(
          ran.requests[1]!.messages.map((message) => message.role),
          ["system", "user", "user"]
        )
      })
    )

    it.effect("continues a paused model with its content", () =>
      Effect.gen(function* () {
        const ran = yield* run([{ text: "searching", finishReason: "pause" }, "found"])
        assert.strictEqual((yield* ran.exit).text, "found")
        assert.deepStrictEqual(Strategies.shape(ran.requests[1]!.messages)[2], ["assistant", ["searching"]])
        assert.lengthOf(ran.requests[1]!.messages, 3)
      })
    )

    it.effect("reports that the token limit or a filter cut the answer", () =>
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

    it.effect("runs a written call of a model declared to write calls, and returns the result as text", () =>
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

    it.effect("runs a call written under the name the model was given", () =>
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

    it.effect("answers with text that only mentions an action or an unknown tool", () =>
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

    it.effect("fail without an answer with what was reached", () =>
      Effect.gen(function* () {
        const ran = yield* run(turns(3), { maxIterations: 3 })
        const error = yield* Effect.flip(ran.exit)
        assert.instanceOf(error, MaxIterationsExceededError)
        assert.strictEqual((error as MaxIterationsExceededError).maxIterations, 3)
        assert.strictEqual(ran.remaining, 0)
      })
    )

    it.effect("answer with the last text, marked, if asked to", () =>
      Effect.gen(function* () {
        const answer = yield* (yield* run(turns(2), { maxIterations: 2, onLimit: "answer" })).exit
        assert.deepStrictEqual([answer.text, answer.reason, answer.messages.length], ["try 1", "limit", 5])
      })
    )

    it.effect("come from the options, then the task, then the defaults", () =>
      Effect.gen(function* () {
        const ends = (count: number, options: FunctionCalling.Options & Strategies.Setup) =>
          Effect.gen(function* () {
            const ran = yield* run(turns(count), options)
            const error = yield* Effect.flip(ran.exit)
            assert.instanceOf(error, MaxIterationsExceededError)
            assert.strictEqual((error as MaxIterationsExceededError).maxIterations, count)
          })
        yield* ends(10, {})
        yield* ends(4, { task: { limits: { maxIterations: 4 } } })
        yield* ends(2, { maxIterations: 2, task: { limits: { maxIterations: 4 } } })
        yield* ends(1, { maxIterations: 0 })
      })
    )

    it.effect("bound time and attempts of tools and characters of observations", () =>
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

    it.effect("bound concurrent tools by the task by default", () =>
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

    it.effect("fail typed when a model does not answer in time", () =>
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

    it.effect("fails the third time the same call has the same result", () =>
      Effect.gen(function* () {
        const ran = yield* run([same, same, same])
        const error = yield* Effect.flip(ran.exit)
        assert.instanceOf(error, NoProgressError)
        assert.deepStrictEqual([(error as NoProgressError).toolName, (error as NoProgressError).repeats], ["add", 3])
        assert.lengthOf(ran.requests, 3)
      })
    )

    it.effect("resets the count after another step or another result", () =>
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

    it.effect("allows a polling tool to repeat itself", () =>
      Effect.gen(function* () {
        const poll = Tool.make("poll", { description: "Polls", polling: true, handler: () => Effect.succeed("busy") })
        const script = [...Array.from({ length: 8 }, () => ({ calls: [{ name: "poll" }] })), "done"]
        const ran = yield* run(script, { tools: ToolSet.make(poll) })
        assert.strictEqual((yield* ran.exit).text, "done")
        const plain = Tool.annotate(poll, { polling: false })
        assert.instanceOf(
          yield* Effect.flip((yield* run(script.slice(0, 3), { tools: ToolSet.make(plain) })).exit),
          NoProgressError
        )
      })
    )

    it.effect("warns the model once before the run fails, and continues if it listens", () =>
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

    it.effect("takes the number of repeats from an option, which can disable it", () =>
      Effect.gen(function* () {
        assert.strictEqual(
          (yield* Effect.flip((yield* run([same], { noProgressAfter: 1 })).exit))._tag,
          "NoProgressError"
        )
        assert.strictEqual(
          (yield* (yield* run([same, same, same, same, "x"], { noProgressAfter: false })).exit).text,
          "x"
        )
        const answer = yield* (yield* run([same, same, same], { onLimit: "answer" })).exit
        assert.deepStrictEqual([answer.text, answer.reason], ["again", "limit"])
      })
    )

    it.effect("does not crash on arguments nested beyond the stack", () =>
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
        const ran = yield* run([{ text: "one", calls: [sum(1, 1)] }, { calls: [sum(2, 2)] }], {
          stopWhen: StopCondition.steps(2)
        })
        const answer = yield* ran.exit
        assert.deepStrictEqual([answer.text, answer.reason], ["one", "stop-condition"])
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

    it.effect("requests the schema at once without tools, and with tools only when the answer does not fit", () =>
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

    it.effect("shapes the answer at every end of the loop", () =>
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

    it.effect("fails typed with the last answer when it never fits", () =>
      Effect.gen(function* () {
        const ran = yield* run(["a", "b", '{"n": "c"}'], { tools: ToolSet.empty, task: { output } })
        const error = yield* Effect.flip(ran.exit)
        assert.instanceOf(error, Fatality)
        const inner = (error as Fatality).error
        assert.instanceOf(inner, OutputValidationError)
        const { attempts, issues, text } = inner as OutputValidationError
        assert.deepStrictEqual([attempts, issues, text], [3, "n: expected a number", '{"n": "c"}'])
      })
    )
  })

  it.effect("interrupts the model call when the run is interrupted", () =>
    Effect.gen(function* () {
      const given = yield* Strategies.task()
      const fiber = yield* Effect.fork(FunctionCalling.make().program(given))
      yield* TestClock.adjust("1 second")
      const exit = yield* Fiber.interrupt(fiber)
      assert.isTrue(Exit.isInterrupted(exit))
    }).pipe(Effect.provide(Strategies.layer([{ text: "x", delay: "1 hour" }])))
  )
})
