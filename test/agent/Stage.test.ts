import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Agent from "../../src/agent/Agent.js"
import * as AgentExecutor from "../../src/agent/AgentExecutor.js"
import * as Agents from "../../src/agent/Agents.js"
import * as Governance from "../../src/governance/Governance.js"
import * as GuardPipeline from "../../src/guard/GuardPipeline.js"
import * as Run from "../../src/observability/Run.js"
import * as Strategy from "../../src/strategy/Strategy.js"
import * as TestModel from "../../src/testing/TestModel.js"
import * as Collaborators from "../support/Collaborators.js"

describe("Stage", () => {
  it("the stages stand in the order of the design, outermost first", () => {
    assert.deepStrictEqual(
      AgentExecutor.stages.map((stage) => stage.name),
      [
        "events",
        "cost",
        "memorySave",
        "metrics",
        "outputGuard",
        "governance",
        "inputGuard",
        "session",
        "memory",
        "skills"
      ]
    )
  })

  it.effect("collaborators are met in the prescribed order, going in and coming out", () =>
    Effect.gen(function* () {
      const trace: Array<string> = []
      const note = (name: string) => Effect.sync(() => void trace.push(name))
      const noting =
        <Args extends ReadonlyArray<unknown>, A, E>(name: string, f: (...args: Args) => Effect.Effect<A, E>) =>
        (...args: Args): Effect.Effect<A, E> =>
          Effect.zipRight(note(name), f(...args))

      const governance = Collaborators.governance()
      const sessions = Collaborators.sessions()
      const memory = Collaborators.memory()
      const skills = Collaborators.skills([], () => Effect.dieMessage("no skill is called"), {
        schemas: () => Effect.as(note("skill merge"), [])
      })
      const layer = Agents.layerWith({
        governance: Layer.succeed(Governance.Governance, {
          ...governance.service,
          checkRequest: noting("governance", governance.service.checkRequest),
          trackCost: noting("cost", governance.service.trackCost)
        }),
        guards: GuardPipeline.layerGuards([
          Collaborators.guard("in", ["input"], () => void trace.push("input guard")),
          Collaborators.guard("out", ["output"], () => void trace.push("output guard"))
        ]),
        sessions: Collaborators.sessions({
          ...sessions.service,
          get: noting("session get", sessions.service.get),
          create: noting("session create", sessions.service.create),
          turns: noting("session turns", sessions.service.turns),
          addTurn: noting("session save", sessions.service.addTurn)
        }).layer,
        memory: Collaborators.memory({
          ...memory.service,
          assemble: noting("memory assembly", memory.service.assemble),
          addAll: noting("memory save", memory.service.addAll)
        }).layer,
        skills: skills.layer,
        log: Collaborators.log({
          append: (events) => Effect.sync(() => trace.push(...events.map((event) => event._tag)))
        }).layer
      }).pipe(Layer.provide(TestModel.layer([])))
      const strategy = Strategy.make("noted", (task) =>
        Effect.gen(function* () {
          yield* note("strategy")
          yield* Effect.flatMap(Run.Run, (run) =>
            run.emit({ _tag: "UsageReported", usage: { inputTokens: 1 }, costUsd: 0.5 })
          )
          return { text: task.input, reason: "completed" as const, messages: [] }
        })
      )
      yield* Effect.provide(
        AgentExecutor.run(Agent.make("clerk", { strategy }), { input: "hi", userId: "ada", sessionId: "s" }),
        layer
      )
      assert.deepStrictEqual(trace, [
        "Started",
        "governance",
        "input guard",
        "session get",
        "session create",
        "session turns",
        "memory assembly",
        "skill merge",
        "strategy",
        "UsageReported",
        "output guard",
        "session save",
        "session save",
        "memory save",
        "cost",
        "Message",
        "Finished"
      ])
    })
  )
})
