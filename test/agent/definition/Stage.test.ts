import { assert, describe, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import * as AgentExecutor from "../../../src/agent/AgentExecutor.js"
import * as Agents from "../../../src/agent/Agents.js"
import * as Agent from "../../../src/agent/definition/Agent.js"
import * as Stage from "../../../src/agent/definition/Stage.js"
import * as RunStages from "../../../src/agent/RunStages.js"
import * as Governance from "../../../src/governance/Governance.js"
import * as DefaultGuardPipeline from "../../../src/guard/pipeline/DefaultGuardPipeline.js"
import * as Run from "../../../src/observability/Run.js"
import * as Strategy from "../../../src/strategy/definition/Strategy.js"
import * as TestModel from "../../../src/testing/TestModel.js"
import * as Collaborators from "../../support/Collaborators.js"

describe("Stage", () => {
  it("the stages stand in the order of the design, outermost first, and each can be named as a place", () => {
    const order = {
      events: 0,
      steering: 1,
      cost: 2,
      memorySave: 3,
      metrics: 4,
      outputGuard: 5,
      governance: 6,
      inputGuard: 7,
      session: 8,
      memory: 9,
      tools: 10,
      skills: 11
    } satisfies Record<Stage.StageName, number>
    assert.deepStrictEqual(
      RunStages.stages.map((stage) => stage.name),
      Object.keys(order)
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
          release: noting("cost", governance.service.release)
        }),
        guards: DefaultGuardPipeline.layerGuards([
          Collaborators.guard("in", ["input"], () => void trace.push("input guard")),
          Collaborators.guard("out", ["output"], () => void trace.push("output guard"))
        ]),
        sessions: Collaborators.sessions({
          ...sessions.service,
          get: noting("session get", sessions.service.get),
          create: noting("session create", sessions.service.create),
          turns: noting("session turns", sessions.service.turns),
          beginExchange: noting("session begin", sessions.service.beginExchange),
          endExchange: noting("session save", sessions.service.endExchange)
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
      // The log is written behind the run, here at its end.
      assert.deepStrictEqual(trace, [
        "governance",
        "input guard",
        "session get",
        "session create",
        "session begin",
        "session turns",
        "memory assembly",
        "skill merge",
        "strategy",
        "output guard",
        "session save",
        "memory save",
        "cost",
        "Started",
        "InputChecked",
        "UsageReported",
        "Message",
        "Finished"
      ])
    })
  )

  describe("stages of an application", () => {
    class Closed extends Schema.TaggedError<Closed>()("Closed", {}) {}
    class Gate extends Context.Tag("Gate")<Gate, { readonly open: boolean }>() {}

    const noted = (name: string, trace: Array<string>) =>
      Stage.make(name, (state, next) =>
        Effect.ensuring(
          Effect.suspend(() => {
            trace.push(`${name} in`)
            return next({ ...state, system: `${state.system}${name};` })
          }),
          Effect.sync(() => void trace.push(`${name} out`))
        )
      )

    it.effect("stand where they are put, on every run or on those of one agent", () =>
      Effect.gen(function* () {
        const trace: Array<string> = []
        const layer = Agents.layerWith({
          stages: [
            Stage.inside("skills")(noted("inmost", trace)),
            Stage.outside("governance")(noted("first", trace)),
            Stage.outside("governance")(noted("second", trace))
          ],
          guards: DefaultGuardPipeline.layerGuards([
            Collaborators.guard("in", ["input"], () => void trace.push("input guard"))
          ])
        })
        const systems: Array<string> = []
        const strategy = Strategy.make("told", (task) =>
          Effect.sync(() => {
            systems.push(task.system)
            return { text: "ok", reason: "completed" as const, messages: [] }
          })
        )
        yield* Effect.gen(function* () {
          const plain = Agent.make("a", { strategy })
          yield* AgentExecutor.run(plain, "hi")
          assert.deepStrictEqual(trace.splice(0), [
            "first in",
            "second in",
            "input guard",
            "inmost in",
            "inmost out",
            "second out",
            "first out"
          ])
          yield* AgentExecutor.run(plain.pipe(Agent.withStages(Stage.outside("inputGuard")(noted("own", trace)))), "hi")
          assert.deepStrictEqual(trace.slice(0, 4), ["first in", "second in", "own in", "input guard"])
          assert.deepStrictEqual(systems, ["first;second;inmost;", "first;second;own;inmost;"])
        }).pipe(Effect.provide(Layer.provideMerge(layer, TestModel.layer([]))))
      })
    )

    it.effect("what a stage of an agent fails with and requires is the agent's", () =>
      Effect.gen(function* () {
        const gate = Stage.make("gate", (state, next) =>
          Effect.flatMap(Gate, ({ open }) => (open ? next(state) : new Closed()))
        )
        const agent = Agent.make("a", { stages: [Stage.inside("events")(gate)] })
        const asked = (open: boolean) =>
          AgentExecutor.run(agent, "hi").pipe(
            Effect.provideService(Gate, { open }),
            Effect.map(({ message }) => message),
            Effect.catchTag("Closed", () => Effect.succeed("closed")),
            Effect.provide(Layer.provideMerge(Agents.layer(), TestModel.layer(open ? ["hello"] : [])))
          )
        assert.strictEqual(yield* asked(false), "closed")
        assert.strictEqual(yield* asked(true), "hello")
      })
    )
  })
})
