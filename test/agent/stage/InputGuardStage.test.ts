import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as AgentExecutor from "../../../src/agent/AgentExecutor.js"
import * as Agent from "../../../src/agent/definition/Agent.js"
import * as DefaultGuardPipeline from "../../../src/guard/pipeline/DefaultGuardPipeline.js"
import * as Guard from "../../../src/guard/pipeline/Guard.js"
import * as EventRecorder from "../../../src/testing/EventRecorder.js"
import * as TestModel from "../../../src/testing/TestModel.js"
import * as Collaborators from "../../support/Collaborators.js"
import * as Runs from "../../support/Runs.js"

const request = { input: "my number is 42", userId: "ada", sessionId: "s" }
const blocks = Collaborators.guard("no-numbers", ["input"], (text) => (/\d/.test(text) ? false : undefined))
const redacts = Collaborators.guard("hide-numbers", ["input"], (text) => text.replace(/\d+/, "[NUMBER]"))
const breaks = Guard.make({ name: "broken", stages: ["input"], check: () => Effect.fail("down") })

const given = (guards: ReadonlyArray<Guard.Any>, script: TestModel.Script = []) => {
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

describe("InputGuardStage", () => {
  it.effect("fails the run on a blocked message, calls no model and saves nothing", () => {
    const { layer, memory, sessions } = given([blocks])
    return Effect.gen(function* () {
      const { events, exit } = yield* Runs.record(AgentExecutor.stream(Agent.make("a"), request))
      const error = yield* Effect.flip(exit)
      assert.deepInclude(error, { _tag: "InputGuardError", guard: "no-numbers", stage: "input" })
      assert.include(error.message, "forbidden")
      assert.deepStrictEqual(EventRecorder.tags(events), ["Started", "GuardTriggered", "Error"])
      assert.deepInclude(Runs.of(events, "GuardTriggered")[0], { action: "block", stage: "input", reason: "forbidden" })
      assert.strictEqual((yield* TestModel.requests).length, 0)
      assert.strictEqual(sessions.kept.size, 0)
      assert.deepStrictEqual(memory.entries(), [])
    }).pipe(Effect.provide(layer))
  })

  it.effect("passes the redacted message to model, memory and session", () => {
    const { layer, memory, sessions } = given([redacts], ["hello"])
    return Effect.gen(function* () {
      const response = yield* AgentExecutor.run(Agent.make("a"), request)
      assert.strictEqual(response.message, "hello")
      const asked = (yield* TestModel.requests)[0]!
      assert.deepStrictEqual(Collaborators.said(asked.messages), ["user: my number is [NUMBER]"])
      assert.strictEqual(sessions.turns("s")[0]?.content, "my number is [NUMBER]")
      assert.strictEqual(memory.entries()[0]?.content, "my number is [NUMBER]")
      assert.strictEqual(memory.asked[0]?.query, "my number is [NUMBER]")
    }).pipe(Effect.provide(layer))
  })

  it.effect("holds the message back when a guard cannot judge", () => {
    const { layer, sessions } = given([breaks])
    return Effect.gen(function* () {
      const error = yield* Effect.flip(AgentExecutor.run(Agent.make("a"), request))
      assert.deepInclude(error, { _tag: "GuardPipelineError", guard: "broken", stage: "input" })
      assert.strictEqual((yield* TestModel.requests).length, 0)
      assert.strictEqual(sessions.kept.size, 0)
    }).pipe(Effect.provide(layer))
  })
})
