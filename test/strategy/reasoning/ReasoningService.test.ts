import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as PromptStep from "../../../src/prompt/template/PromptStep.js"
import type * as Reasoning from "../../../src/strategy/definition/Reasoning.js"
import * as Strategy from "../../../src/strategy/definition/Strategy.js"
import { OutputValidationError, StrategyReplyError } from "../../../src/strategy/definition/StrategyError.js"
import * as ReasoningService from "../../../src/strategy/reasoning/ReasoningService.js"
import { Fatality } from "../../../src/tool/ToolRunner.js"
import * as Strategies from "../Strategies.js"

const Shout = PromptStep.make({
  pattern: "TestAgent",
  name: "Shout",
  variables: ["text"],
  system: { role: "You shout.", output: "Capitals alone." },
  user: "{text}"
})

const loud = (text: string): string | undefined => (text === text.toUpperCase() ? undefined : "it is not loud enough")

const strategy = (asked: Reasoning.AskOptions, options: Reasoning.Options = {}) =>
  Strategy.make("shouting", (task) =>
    Effect.gen(function* () {
      const reasoning = yield* ReasoningService.make("shouting", task, options)
      const { text } = yield* reasoning.ask(Shout, { text: task.input }, asked)
      return { text, reason: "completed" as const, messages: [] }
    })
  )

describe("ask", () => {
  it.effect("asks again with the issue when the check rejects a text", () =>
    Effect.gen(function* () {
      const ran = yield* Strategies.run(strategy({ check: loud }), ["hello", "Hello", "HELLO"])
      assert.strictEqual((yield* ran.exit).text, "HELLO")
      assert.deepStrictEqual(
        ran.requests.map((request) => request.messages.length),
        [2, 4, 6]
      )
      assert.include(String(ran.requests[1]!.messages.at(-1)!.content), "it is not loud enough")
    })
  )

  it.effect("fails typed after the retries when the check always rejects", () =>
    Effect.gen(function* () {
      const ran = yield* Strategies.run(strategy({ check: loud }, { replyRetries: 1 }), ["a", "b"])
      const error = yield* Effect.flip(ran.exit)
      assert.instanceOf(error, StrategyReplyError)
      assert.deepInclude(error, { prompt: "TestAgent/Shout", text: "b", issues: "it is not loud enough", attempts: 2 })
      assert.lengthOf(ran.requests, 2)
    })
  )
})

describe("finish", () => {
  const finishing = Strategy.make("finishing", (task) =>
    Effect.gen(function* () {
      const reasoning = yield* ReasoningService.make("finishing", task)
      return yield* reasoning.finish(Shout, { text: "the number is 7" })
    })
  )

  it.effect("asks again with the step's own question when an output does not fit", () =>
    Effect.gen(function* () {
      const ran = yield* Strategies.run(finishing, ['{"x": 1}', '{"n": 7}'], {
        task: { output: Strategies.outputSpec(1) }
      })
      const answer = yield* ran.exit
      assert.deepStrictEqual([answer.output, answer.text], [{ n: 7 }, '{"n": 7}'])
      assert.deepStrictEqual(
        ran.requests[1]!.messages.map((message) => message.role),
        ["system", "user", "assistant", "user"]
      )
      assert.strictEqual(ran.requests[1]!.messages[1]!.content, "the number is 7")
      assert.deepStrictEqual(Strategies.shape(answer.messages), [
        ["user", "What is it?"],
        ["assistant", '{"n": 7}']
      ])
    })
  )

  it.effect("fails after the retries of the task when an output never fits", () =>
    Effect.gen(function* () {
      const ran = yield* Strategies.run(finishing, ["no", "no"], { task: { output: Strategies.outputSpec(1) } })
      const error = yield* Effect.flip(ran.exit)
      assert.instanceOf(error, Fatality)
      assert.instanceOf(error.error, OutputValidationError)
      assert.lengthOf(ran.requests, 2)
    })
  )
})
