import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as AgentExecutor from "../../../src/agent/AgentExecutor.js"
import * as Agent from "../../../src/agent/definition/Agent.js"
import * as DefaultGuardPipeline from "../../../src/guard/pipeline/DefaultGuardPipeline.js"
import * as Guard from "../../../src/guard/pipeline/Guard.js"
import * as WindowGuard from "../../../src/guard/pipeline/WindowGuard.js"
import * as Stepwise from "../../../src/internal/fiber/Stepwise.js"
import * as EventRecorder from "../../../src/testing/EventRecorder.js"
import * as TestModel from "../../../src/testing/TestModel.js"
import * as Tool from "../../../src/tool/definition/Tool.js"
import * as Collaborators from "../../support/Collaborators.js"
import * as Runs from "../../support/Runs.js"

const request = { input: "hi", userId: "ada", sessionId: "s" }
const blocks = Collaborators.guard("polite", ["output"], (text) => (text.includes("damn") ? false : undefined))
const redacts = Collaborators.guard("hide-numbers", ["output"], (text) => text.replace(/\d+/g, "7"))

const given = (guards: ReadonlyArray<Guard.Any>, script: Parameters<typeof TestModel.layer>[0]) => {
  const sessions = Collaborators.sessions()
  const memory = Collaborators.memory()
  return {
    sessions,
    memory,
    layer: Runs.layer(script, {
      guards: DefaultGuardPipeline.layerGuards(guards),
      sessions: sessions.layer,
      memory: memory.layer
    })
  }
}

describe("OutputGuardStage", () => {
  it.effect("emits nothing of a blocked answer, and saves the message with a mark", () => {
    const { layer, memory, sessions } = given([blocks], [{ text: ["damn", " you"], reasoning: "damn" }])
    return Effect.gen(function* () {
      const { events, exit } = yield* Runs.record(AgentExecutor.stream(Agent.make("a"), request))
      const error = yield* Effect.flip(exit)
      assert.deepInclude(error, { _tag: "OutputGuardError", guard: "polite", stage: "output" })
      assert.notInclude(JSON.stringify(events), "damn")
      assert.notInclude(JSON.stringify(error), "damn")
      assert.deepStrictEqual(EventRecorder.violations(events), [])
      assert.deepStrictEqual(
        sessions.turns("s").map((turn) => [turn.role, turn.content, turn.unanswered]),
        [["user", "hi", "blocked"]]
      )
      assert.deepStrictEqual(
        memory.entries().map((entry) => [entry.role, entry.metadata["unanswered"]]),
        [["user", "blocked"]]
      )
    }).pipe(Effect.provide(layer))
  })

  it.effect("uses the redacted answer everywhere", () => {
    const { layer, memory, sessions } = given([redacts], [{ text: ["it is ", "42424242424242"] }])
    return Effect.gen(function* () {
      const { events } = yield* Runs.record(AgentExecutor.stream(Agent.make("a"), request))
      assert.deepStrictEqual(Runs.of(events, "TextDelta"), [])
      assert.strictEqual(Runs.of(events, "Message")[0]?.text, "it is 7")
      assert.notInclude(JSON.stringify(events), "4242424242")
      assert.strictEqual(sessions.turns("s")[1]?.content, "it is 7")
      assert.strictEqual(memory.entries()[1]?.content, "it is 7")
    }).pipe(Effect.provide(layer))
  })

  it.effect("streams answers while no guard checks the output", () => {
    const { layer } = given([Collaborators.guard("in", ["input"], () => undefined)], [{ text: ["a", "b"] }])
    return Effect.gen(function* () {
      const { events } = yield* Runs.record(AgentExecutor.stream(Agent.make("a"), "hi"))
      assert.deepStrictEqual(
        Runs.of(events, "TextDelta").map((event) => event.text),
        ["a", "b"]
      )
    }).pipe(Effect.provide(layer))
  })

  it.effect("decodes a redacted typed answer again, and refuses it if it no longer matches", () => {
    const output = Schema.Struct({ n: Schema.Number })
    const run = (text: string, guard: Guard.Guard) =>
      AgentExecutor.run(Agent.make("a", { output }), "hi").pipe(Effect.provide(given([guard], [text]).layer))
    return Effect.gen(function* () {
      assert.deepStrictEqual((yield* run('{"n": 42}', redacts)).output, { n: 7 })
      assert.deepStrictEqual((yield* run('```json\n{"n": 42}\n```', redacts)).output, { n: 7 })
      const hides = Collaborators.guard("hides", ["output"], (text) => text.replace("42", '"none"'))
      const error = yield* Effect.flip(run('{"n": 42}', hides))
      assert.strictEqual(error._tag, "OutputGuardError")
    })
  })

  it.effect("holds back an answer that cannot be judged, and saves the message as failed", () => {
    const breaks = Guard.make({ name: "broken", stages: ["output"], check: () => Effect.fail("down") })
    const { layer, sessions } = given([breaks], [{ text: ["secret"] }])
    return Effect.gen(function* () {
      const { events, exit } = yield* Runs.record(AgentExecutor.stream(Agent.make("a"), request))
      assert.deepInclude(yield* Effect.flip(exit), { _tag: "GuardPipelineError", stage: "output" })
      assert.notInclude(JSON.stringify(events), "secret")
      assert.deepStrictEqual(
        sessions.turns("s").map((turn) => turn.unanswered),
        ["failed"]
      )
    }).pipe(Effect.provide(layer))
  })

  it.effect("gives guards the message as the input guards left it", () => {
    const seen: Array<string | undefined> = []
    const looks = Collaborators.guard("looks", ["output"], (_text, context) => void seen.push(context.originalInput))
    const hides = Collaborators.guard("hides", ["input"], () => "hello")
    return Effect.gen(function* () {
      yield* AgentExecutor.run(Agent.make("a"), "my number is 42")
      assert.deepStrictEqual(seen, ["hello"])
    }).pipe(Effect.provide(given([looks, hides], ["yes"]).layer))
  })
})

class Refused extends Schema.TaggedError<Refused>()("Refused", {}) {}

describe("GuardChecks", () => {
  const order = Tool.make("order", {
    description: "Orders",
    parameters: { item: Schema.String },
    handler: ({ item }) => Effect.succeed(`ordered ${item}`)
  })
  const ordering = { calls: [{ name: "order", params: { item: "knife" } }] }
  const script = [ordering, "done"]
  const agent = Agent.make("a", { tools: [order] })

  it.effect("runs an agent's guards first, then the executor's on the result", () => {
    const first = Collaborators.guard("first", ["input", "output"], (text) => `${text} 1`)
    const second = Collaborators.guard("second", ["input", "output"], (text) => `${text} 2`)
    return Effect.gen(function* () {
      const { events } = yield* Runs.record(AgentExecutor.stream(Agent.make("a", { guards: [first] }), "hi"))
      assert.deepStrictEqual(Collaborators.said((yield* TestModel.requests)[0]!.messages), ["user: hi 1 2"])
      assert.strictEqual(Runs.of(events, "Message")[0]?.text, "ok 1 2")
      assert.deepStrictEqual(
        Runs.of(events, "GuardTriggered").map((event) => [event.stage, event.guard]),
        [
          ["input", "first"],
          ["input", "second"],
          ["output", "first"],
          ["output", "second"]
        ]
      )
    }).pipe(Effect.provide(given([second], ["ok"]).layer))
  })

  it.effect("fails with the own error of an agent's guard", () =>
    Effect.forEach(["input", "output", "toolInput", "toolOutput"] as const, (stage) => {
      const guard = Guard.make({ name: "own", stages: [stage], check: () => Effect.fail(new Refused()) })
      return AgentExecutor.run(agent.pipe(Agent.withGuards(guard)), "hi").pipe(
        Effect.catchTag("Refused", () => Effect.succeed("mine")),
        Effect.map((caught) => assert.strictEqual(caught, "mine", stage)),
        Effect.provide(
          Runs.layer({ input: [], output: ["done"], toolInput: [ordering], toolOutput: [ordering] }[stage])
        )
      )
    })
  )

  it.effect("makes no blocked call, and tells the model", () => {
    let made = 0
    const counted = Tool.make("order", {
      description: "Orders",
      parameters: { item: Schema.String },
      handler: () => Effect.sync(() => ++made)
    })
    const guard = Collaborators.guard("no-knives", ["toolInput"], (text) =>
      text.includes("knife") ? false : undefined
    )
    return Effect.gen(function* () {
      const response = yield* AgentExecutor.run(Agent.make("a", { tools: [counted] }), "hi")
      assert.strictEqual(made, 0)
      assert.deepInclude(response.toolCalls[0], { isFailure: true, name: "order" })
      assert.include(response.toolCalls[0]?.observation, "no-knives")
      assert.strictEqual(response.message, "done")
    }).pipe(Effect.provide(given([guard], script).layer))
  })

  it.effect("makes a redacted call with what the guard left", () => {
    const guard = Collaborators.guard("forks", ["toolInput"], (text) => text.replace("knife", "fork"))
    return Effect.gen(function* () {
      const response = yield* AgentExecutor.run(agent, "hi")
      assert.strictEqual(response.toolCalls[0]?.observation, "ordered fork")
    }).pipe(Effect.provide(given([guard], script).layer))
  })

  it.effect("ends the run on a blocked observation if configured, and shows a redacted one everywhere", () =>
    Effect.gen(function* () {
      const blocked = Collaborators.guard("no-orders", ["toolOutput"], () => false)
      const error = yield* Effect.flip(AgentExecutor.run(agent, "hi")).pipe(
        Effect.provide(
          Runs.layer([ordering], {
            guards: DefaultGuardPipeline.layer({ guards: [blocked], blockedObservations: "fail" })
          })
        )
      )
      assert.deepInclude(error, { _tag: "ToolObservationBlockedError", toolName: "order" })
      const hides = Collaborators.guard("hides", ["toolOutput"], (text) => text.replace("knife", "***"))
      yield* Effect.gen(function* () {
        const { events } = yield* Runs.record(AgentExecutor.stream(agent, "hi"))
        assert.deepInclude(Runs.of(events, "ToolResult")[0], { observation: "ordered ***", result: "ordered ***" })
        const second = JSON.stringify((yield* TestModel.requests)[1]!.messages.at(-1))
        assert.include(second, "ordered ***")
        assert.notInclude(second, "knife")
      }).pipe(Effect.provide(given([hides], script).layer))
    })
  )

  it.effect("ends the run on an observation that cannot be judged, naming the tool", () => {
    const breaks = Guard.make({ name: "broken", stages: ["toolOutput"], check: () => Effect.fail("down") })
    return Effect.gen(function* () {
      const error = yield* Effect.flip(AgentExecutor.run(agent, "hi"))
      assert.deepInclude(error, { _tag: "ToolObservationGuardError", toolName: "order" })
      assert.strictEqual((yield* TestModel.requests).length, 1)
    }).pipe(Effect.provide(given([breaks], [ordering]).layer))
  })

  it.effect("judges a huge delta in slices while it is streamed", () => {
    const delta = "All is well here. ".repeat(10_000)
    const seen: Array<number> = []
    const counting = WindowGuard.make({
      name: "counting",
      stages: ["output"],
      window: {
        reach: 10,
        find: (text) => {
          seen.push(text.length)
          return []
        }
      }
    })
    const { layer } = given([counting], [{ text: [delta] }])
    return Effect.gen(function* () {
      const { events } = yield* Runs.record(AgentExecutor.stream(Agent.make("a"), request))
      const deltas = Runs.of(events, "TextDelta").map(({ text }) => text)
      assert.strictEqual(deltas.join(""), delta)
      assert.isAtMost(Math.max(...seen), 3 * Stepwise.perStep)
    }).pipe(Effect.provide(layer))
  })
})
