import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Fiber from "effect/Fiber"
import * as TestClock from "effect/TestClock"
import * as StateGraph from "../../../src/graph/StateGraph.js"
import type * as LlmClient from "../../../src/llm/model/LlmClient.js"
import { LlmUnavailableError } from "../../../src/llm/model/LlmError.js"
import * as CustomPrompts from "../../../src/prompt/CustomPrompts.js"
import * as PromptLibrary from "../../../src/prompt/PromptLibrary.js"
import * as Reflexion from "../../../src/strategy/reflexion/Reflexion.js"
import * as ReflexionCritique from "../../../src/strategy/reflexion/ReflexionCritique.js"
import * as ToolSet from "../../../src/tool/definition/ToolSet.js"
import * as Strategies from "../Strategies.js"

const run = (script: Strategies.Script, options: Reflexion.Options & Strategies.Setup = {}) =>
  Strategies.run(Reflexion.make({ form: "critique", ...options }), script, options)

const accept = '{"accepted": true, "problems": []}'
const reject = (...problems: ReadonlyArray<string>) => JSON.stringify({ accepted: false, problems, score: 0.5 })

const text = (request: LlmClient.LlmRequest | undefined): string =>
  request!.messages.map((message) => String(message.content)).join("\n----\n")

const fail = new LlmUnavailableError({ message: "down with key sk-1234567890abcdef1234", provider: "test" })

describe("Reflexion as critique", () => {
  it.effect("generates, criticizes and refines until the critic accepts, in 2 calls per round", () =>
    Effect.gen(function* () {
      const ran = yield* run(["draft", reject("too short", "too dull"), "better", accept])
      const answer = yield* ran.exit
      assert.deepStrictEqual([answer.text, answer.reason], ["better", "completed"])
      assert.deepStrictEqual(
        ran.of("StepStarted").map((event) => event.name),
        ["Generate", "Critique", "Refine", "Critique"]
      )
      assert.deepStrictEqual(
        ran.of("NodeFinished").map((event) => event.node),
        ["generate", "critique", "refine", "critique", "final_output"]
      )
      assert.deepStrictEqual(
        ran.of("Critique").map(({ accepted, score, text }) => [text, accepted, score]),
        [
          ["1. too short\n2. too dull", false, 0.5],
          ["NO_CHANGES_NEEDED", true, undefined]
        ]
      )
      assert.deepStrictEqual(
        ran.of("TextDelta").map((event) => event.text),
        ["better"]
      )
      for (const request of ran.requests) assert.include(text(request), "What is it?")
      assert.include(text(ran.requests[1]), "draft")
      for (const part of ["draft", "1. too short\n2. too dull"]) assert.include(text(ran.requests[2]), part)
      assert.include(text(ran.requests[3]), "better")
      assert.notInclude(text(ran.requests[3]), "too short")
    })
  )

  it.effect("sends temperatures 0.3 for the critic and 0.5 for refinements, and none for the first text", () =>
    Effect.gen(function* () {
      const told = (ran: Strategies.Ran<unknown>) => ran.requests.map((request) => request.settings?.temperature)
      const script = ["draft", reject("short"), "better", accept]
      const setup = { task: { settings: { temperature: 0.9 } } }
      assert.deepStrictEqual(told(yield* run(script, setup)), [0.9, 0.3, 0.5, 0.3])
      const own = yield* run(script, { ...setup, temperatureCritique: 0, temperatureRefine: 1 })
      assert.deepStrictEqual(told(own), [0.9, 0, 1, 0])
    })
  )

  it.effect("answers with the last text, marked, or fails after the last round", () =>
    Effect.gen(function* () {
      const script = ["0", reject("a"), "1", reject("b"), "2", reject("c"), "3"]
      for (const maxIterations of [undefined, 3, Number.NaN]) {
        const ran = yield* run(script, { maxIterations })
        const answer = yield* ran.exit
        assert.deepStrictEqual([answer.text, answer.reason, ran.requests.length], ["3", "limit", 7])
      }
      const one = yield* run(script.slice(0, 3), { maxIterations: 1, onLimit: "fail" })
      const error = yield* Effect.flip(one.exit)
      assert.deepStrictEqual([error._tag, one.requests.length], ["MaxIterationsExceededError", 3])
    })
  )

  it.effect("ends on the token alone on its line in any case, and nowhere else", () =>
    Effect.gen(function* () {
      const accepted = (reply: string) => Effect.map(ReflexionCritique.reply.read(reply), (review) => review.accepted)
      for (const reply of [
        "NO_CHANGES_NEEDED",
        "  no_changes_needed  ",
        "I looked at everything.\n\n**No_Changes_Needed.**\n",
        '{"accepted": true, "problems": []}'
      ]) {
        assert.isTrue(yield* accepted(reply), reply)
      }
      for (const reply of [
        "not NO_CHANGES_NEEDED yet",
        "1. NO_CHANGES_NEEDED is claimed too early",
        "NO_CHANGES_NEEDED except for the title",
        "NO CHANGES NEEDED",
        "XNO_CHANGES_NEEDED"
      ]) {
        assert.isFalse(yield* accepted(reply), reply)
      }
      for (const reply of [
        "",
        '{"accepted": false, "problems": []}',
        '{"accepted": false, "problems": ["  "]}',
        '{"accepted": "NO_CHANGES_NEEDED"}'
      ]) {
        assert.strictEqual((yield* Effect.either(ReflexionCritique.reply.read(reply)))._tag, "Left", reply)
      }
      const ran = yield* run(["draft", "Not NO_CHANGES_NEEDED yet: too short", "better", "NO_CHANGES_NEEDED"], {
        format: "text"
      })
      assert.strictEqual((yield* ran.exit).text, "better")
      assert.include(text(ran.requests[1]), "the single line")
    })
  )

  it.effect("keeps the text when a critique or refinement fails, and reports it without a key", () =>
    Effect.gen(function* () {
      const critic = yield* run(["draft", { fail }])
      assert.deepStrictEqual([(yield* critic.exit).text, (yield* critic.exit).reason], ["draft", "completed"])
      assert.include(critic.of("Critique")[0]!.text, "The critique failed, and the text stays as it is")
      assert.notInclude(JSON.stringify(critic.events), "sk-1234567890")
      const refiner = yield* run(["draft", reject("a"), "better", reject("b"), { fail }])
      assert.strictEqual((yield* refiner.exit).text, "better")
      assert.include(refiner.of("Critique")[2]!.text, "The refinement failed")
      const useless = yield* run(["draft", "{", "{"], { replyRetries: 1 })
      assert.strictEqual((yield* useless.exit).text, "draft")
    })
  )

  it.effect("fails when the first text fails, and on a fatal tool", () =>
    Effect.gen(function* () {
      assert.strictEqual((yield* Effect.flip((yield* run([{ fail }])).exit))._tag, "LlmUnavailableError")
      assert.strictEqual((yield* Effect.flip((yield* run([""], { replyRetries: 0 })).exit))._tag, "StrategyReplyError")
      const fatal = yield* run([{ calls: [{ name: "fatal" }] }], { tools: ToolSet.make(Strategies.fatal) })
      assert.strictEqual((yield* Effect.flip(fatal.exit))._tag, "Fatality")
    })
  )

  it.effect("limits the time of each call, and treats a slow critic as failed", () =>
    Effect.gen(function* () {
      const fiber = yield* Effect.fork(run(["draft", { text: accept, delay: 5000 }], { llmTimeout: 1000 }))
      yield* TestClock.adjust(1000)
      const ran = yield* Fiber.join(fiber)
      assert.strictEqual((yield* ran.exit).text, "draft")
      assert.include(ran.of("Critique")[0]!.text, "1000 ms")
    })
  )

  it.effect("writes the first text with tools, whose calls are not limited by the rounds", () =>
    Effect.gen(function* () {
      const act = (a: number) => ({ calls: [{ name: "add", params: { a, b: 2 } }] })
      const ran = yield* run([act(1), act(2), "sum 4", reject("put it in words"), "four"], {
        tools: Strategies.tools,
        maxIterations: 1
      })
      const answer = yield* ran.exit
      assert.deepStrictEqual([answer.text, answer.reason], ["four", "limit"])
      assert.lengthOf(ran.of("ToolResult"), 2)
      assert.deepStrictEqual(
        ran.of("StepStarted").map((event) => event.step),
        [1, 2, 3, 4, 5]
      )
    })
  )

  it.effect("shapes structured output at the end", () =>
    Effect.gen(function* () {
      const ran = yield* run(["draft", accept, '{"n": 4}'], { task: { output: Strategies.outputSpec(1) } })
      assert.deepStrictEqual((yield* ran.exit).output, { n: 4 })
    })
  )

  it.effect("uses overrides and instructions in every request", () =>
    Effect.gen(function* () {
      const overrides = {
        ReflexionAgent: {
          Generate: { user: "G {task}" },
          Critique: { user: "C {task} {output}" },
          Refine: { user: "R {task} {output} {critique}" }
        }
      }
      const library = Either.getOrThrow(CustomPrompts.make({ overrides, instructions: "be kind" }))
      const ran = yield* Effect.provideService(
        run(["draft", reject("short"), "better", accept]),
        PromptLibrary.PromptLibrary,
        library
      )
      assert.deepStrictEqual(
        ran.requests.map((request) => request.messages.at(-1)!.content),
        ["G What is it?", "C What is it? draft", "R What is it? draft short", "C What is it? better"]
      )
      for (const request of ran.requests) assert.include(text(request), "## Custom Instructions\n\nbe kind")
    })
  )

  it("draws its own graph", () => {
    const drawn = StateGraph.toMermaid(Reflexion.make({ form: "critique" }).graph!)
    for (const node of ["generate", "critique", "refine", "final_output"]) assert.include(drawn, node)
    assert.notInclude(drawn, "reflect_on_trial")
  })
})
