import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Schema from "effect/Schema"
import * as TestClock from "effect/TestClock"
import * as AgentExecutor from "../../../src/agent/AgentExecutor.js"
import * as Agent from "../../../src/agent/definition/Agent.js"
import * as Tool from "../../../src/tool/definition/Tool.js"
import * as Collaborators from "../../support/Collaborators.js"
import * as Runs from "../../support/Runs.js"

const request = { input: "hi", userId: "ada", sessionId: "s" }

const given = (
  script: Parameters<typeof Runs.layer>[0],
  over: Parameters<typeof Collaborators.memory>[0] = {},
  sessionsOver: Parameters<typeof Collaborators.sessions>[0] = {}
) => {
  const memory = Collaborators.memory(over)
  const sessions = Collaborators.sessions(sessionsOver)
  return { memory, sessions, layer: Runs.layer(script, { memory: memory.layer, sessions: sessions.layer }) }
}

describe("MemorySaveStage", () => {
  it.effect("derives turn ids from the run, so that runs of equal length overwrite nothing", () => {
    const { layer, memory, sessions } = given(["1", "2"])
    return Effect.gen(function* () {
      const runs = [
        yield* AgentExecutor.run(Agent.make("a"), request),
        yield* AgentExecutor.run(Agent.make("a"), request)
      ]
      assert.strictEqual(runs[0]?.steps.length, runs[1]?.steps.length)
      assert.deepStrictEqual(
        sessions.turns("s").map((turn) => [turn.role, turn.content, turn.runId]),
        [
          ["user", "hi", runs[0]?.runId],
          ["assistant", "1", runs[0]?.runId],
          ["user", "hi", runs[1]?.runId],
          ["assistant", "2", runs[1]?.runId]
        ]
      )
      assert.strictEqual(new Set(sessions.turns("s").map((turn) => turn.id)).size, 4)
      for (const [index, entry] of memory.entries().entries()) {
        assert.strictEqual(entry.metadata["type"], "turn")
        assert.strictEqual(entry.sessionId, "s")
        assert.strictEqual(entry.ownerId, "ada")
        assert.strictEqual(entry.turnId, sessions.turns("s")[index]?.id)
        assert.strictEqual(entry.runId, sessions.turns("s")[index]?.runId)
      }
      assert.strictEqual(memory.entries().length, 4)
    }).pipe(Effect.provide(layer))
  })

  it.effect("orders turns of a run by time, in the session and in memory", () => {
    const { layer, memory, sessions } = given(["1"])
    return Effect.gen(function* () {
      yield* TestClock.setTime(5000)
      yield* AgentExecutor.run(Agent.make("a"), request)
      assert.deepStrictEqual(
        memory.entries().map(({ role, timestamp }) => [role, timestamp]),
        [
          ["user", 5000],
          ["assistant", 5001]
        ]
      )
      assert.deepStrictEqual(
        sessions.turns("s").map(({ timestamp }) => timestamp),
        [5000, 5001]
      )
    }).pipe(Effect.provide(layer))
  })

  it.effect("records usage in the answer's turn", () => {
    const echo = Tool.make("echo", {
      description: "Says it again",
      parameters: { text: Schema.String },
      handler: ({ text }) => Effect.succeed(text)
    })
    const { layer, sessions } = given([{ calls: [{ name: "echo", params: { text: "x" } }] }, "done"])
    return Effect.gen(function* () {
      yield* AgentExecutor.run(Agent.make("a", { tools: [echo], settings: { model: "large" } }), request)
      const turn = sessions.turns("s")[1]!
      assert.strictEqual(turn.tokensUsed, 30)
      assert.strictEqual(turn.model, "large")
      assert.strictEqual(turn.provider, "test")
      assert.deepStrictEqual(
        turn.toolCalls.map((call) => [call.name, call.params, call.result, call.isFailure]),
        [["echo", { text: "x" }, "x", false]]
      )
    }).pipe(Effect.provide(layer))
  })

  it.effect("saves the message of a failed run, marked as failed", () => {
    const { layer, memory, sessions } = given([{ fail: Collaborators.overloaded }])
    return Effect.gen(function* () {
      yield* Effect.flip(AgentExecutor.run(Agent.make("a"), request))
      assert.deepStrictEqual(
        sessions.turns("s").map((turn) => [turn.role, turn.content, turn.unanswered]),
        [["user", "hi", "failed"]]
      )
      assert.deepStrictEqual(
        memory.entries().map((entry) => entry.metadata["unanswered"]),
        ["failed"]
      )
    }).pipe(Effect.provide(layer))
  })

  it.effect("saves the message of an interrupted run, marked as interrupted, before the interruption ends", () => {
    const { layer, memory, sessions } = given([{ text: "late", delay: "1 hour" }])
    return Effect.gen(function* () {
      const fiber = yield* Effect.fork(AgentExecutor.run(Agent.make("a"), request))
      yield* TestClock.adjust("1 second")
      yield* Fiber.interrupt(fiber)
      assert.deepStrictEqual(
        sessions.turns("s").map((turn) => turn.unanswered),
        ["interrupted"]
      )
      assert.deepStrictEqual(
        memory.entries().map((entry) => entry.metadata["unanswered"]),
        ["interrupted"]
      )
    }).pipe(Effect.provide(layer))
  })

  it.effect("marks a run that timed out as failed, not interrupted", () => {
    const { layer, sessions } = given([{ text: "late", delay: "1 hour" }])
    return Effect.gen(function* () {
      const fiber = yield* Effect.fork(AgentExecutor.run(Agent.make("a", { limits: { timeout: "1 minute" } }), request))
      yield* TestClock.adjust("1 minute")
      assert.isTrue(Exit.isFailure(yield* Fiber.await(fiber)))
      assert.deepStrictEqual(
        sessions.turns("s").map((turn) => turn.unanswered),
        ["failed"]
      )
    }).pipe(Effect.provide(layer))
  })

  it.effect("loses the turn but not the answer when a store fails, and the other store still gets it", () => {
    const { layer, memory } = given(["1"], {}, { addTurn: () => Collaborators.sessionDown })
    return Effect.gen(function* () {
      const response = yield* AgentExecutor.run(Agent.make("a"), request)
      assert.strictEqual(response.message, "1")
      assert.deepStrictEqual(
        response.degraded.map(({ error, stage }) => [stage, error.tag]),
        [["session save", "SessionStorageError"]]
      )
      assert.strictEqual(memory.entries().length, 2)
    }).pipe(Effect.provide(layer))
  })

  it.effect("waits 5 seconds for a store that hangs, and no longer on interruption", () => {
    const { layer } = given(["1", { text: "late", delay: "1 hour" }], { addAll: () => Effect.never })
    return Effect.gen(function* () {
      const answering = yield* Effect.fork(AgentExecutor.run(Agent.make("a"), request))
      yield* TestClock.adjust("5 seconds")
      const response = yield* Fiber.join(answering)
      assert.strictEqual(response.message, "1")
      assert.deepStrictEqual(
        response.degraded.map(({ stage }) => stage),
        ["memory save"]
      )
      const running = yield* Effect.fork(AgentExecutor.run(Agent.make("a"), request))
      yield* TestClock.adjust("1 second")
      const interruption = yield* Effect.fork(Fiber.interrupt(running))
      yield* TestClock.adjust("5 seconds")
      assert.isTrue(Exit.isInterrupted(yield* Fiber.join(interruption)))
    }).pipe(Effect.provide(layer))
  })

  const look = Tool.make("look", {
    description: "Looks",
    parameters: { at: Schema.String },
    handler: ({ at }) => (at === "sun" ? Effect.fail("blind") : Effect.succeed("seen"))
  })
  const looking = (at: string) => ({ calls: [{ name: "look", params: { at } }] })
  const looker = Agent.make("a", { tools: [look], strategy: "function_calling", limits: { maxModelCalls: 2 } })

  it.effect("learns the steps to an answer, without their arguments", () => {
    const { layer, memory } = given([looking("moon"), "a moon", "no tool"])
    return Effect.gen(function* () {
      const { runId } = yield* AgentExecutor.run(looker, { ...request, input: "look at the sky" })
      yield* AgentExecutor.run(looker, request)
      assert.deepStrictEqual(memory.learned, [
        {
          ownerId: "ada",
          task: "look at the sky",
          steps: [{ tool: "look", parameters: ["at"] }],
          success: true,
          runId
        }
      ])
    }).pipe(Effect.provide(layer))
  })

  it.effect("learns that the steps of a failed run led nowhere, and nothing from an interrupted one", () => {
    const { layer, memory } = given([
      looking("sun"),
      looking("sun"),
      looking("moon"),
      { text: "late", delay: "1 hour" }
    ])
    return Effect.gen(function* () {
      yield* Effect.flip(AgentExecutor.run(looker, request))
      assert.deepStrictEqual(
        memory.learned.map(({ steps, success }) => [success, steps.map(({ tool }) => tool)]),
        [[false, ["look"]]]
      )
      const fiber = yield* Effect.fork(AgentExecutor.run(looker, request))
      yield* TestClock.adjust("1 second")
      yield* Fiber.interrupt(fiber)
      assert.lengthOf(memory.learned, 1)
    }).pipe(Effect.provide(layer))
  })

  it.effect("loses the lesson but not the answer when learning fails", () => {
    const { layer, memory } = given([looking("moon"), "a moon"], { learn: () => Collaborators.storageError })
    return Effect.gen(function* () {
      const response = yield* AgentExecutor.run(looker, request)
      assert.strictEqual(response.message, "a moon")
      assert.deepStrictEqual(
        response.degraded.map(({ stage }) => stage),
        ["memory learn"]
      )
      assert.strictEqual(memory.entries().length, 2)
    }).pipe(Effect.provide(layer))
  })
})
