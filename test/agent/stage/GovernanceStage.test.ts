import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Metric from "effect/Metric"
import * as AgentExecutor from "../../../src/agent/AgentExecutor.js"
import * as Agent from "../../../src/agent/definition/Agent.js"
import * as Governance from "../../../src/governance/Governance.js"
import { BudgetExceededError, GovernancePersistenceError } from "../../../src/governance/store/GovernanceError.js"
import * as AgentMetrics from "../../../src/observability/AgentMetrics.js"
import * as EventRecorder from "../../../src/testing/EventRecorder.js"
import * as TestModel from "../../../src/testing/TestModel.js"
import * as Collaborators from "../../support/Collaborators.js"
import * as Runs from "../../support/Runs.js"

const broke = new BudgetExceededError({ budgetType: "monthly", limit: 1, used: 1, message: "The budget is used up" })
const denying = Collaborators.governance({ checkRequest: () => Effect.succeed(Governance.deny(broke)) })

const denied = (agent: string) =>
  Effect.map(
    Metric.value(
      Metric.tagged(Metric.counter(AgentMetrics.METRIC_AGENT_GOVERNANCE_DENIED, { incremental: true }), "agent", agent)
    ),
    (state) => state.count
  )

describe("GovernanceStage", () => {
  it.effect("fails the run on a denial, counts it, calls no model and saves nothing", () =>
    Effect.gen(function* () {
      const sessions = Collaborators.sessions()
      const memory = Collaborators.memory()
      yield* Effect.gen(function* () {
        const before = yield* denied("denied")
        const { events, exit } = yield* Runs.record(
          AgentExecutor.stream(Agent.make("denied"), { input: "hi", userId: "ada", sessionId: "s" })
        )
        const error = yield* Effect.flip(exit)
        assert.strictEqual(error._tag, "BudgetExceededError")
        assert.deepStrictEqual(EventRecorder.tags(events), ["Started", "Error"])
        assert.strictEqual(Runs.of(events, "Error")[0]?.error.code, "LEX_ERR_AGT_010")
        assert.strictEqual(yield* denied("denied"), before + 1)
        assert.strictEqual((yield* TestModel.requests).length, 0)
        assert.strictEqual(sessions.kept.size, 0)
        assert.deepStrictEqual(memory.entries(), [])
      }).pipe(
        Effect.provide(
          Runs.layer([], {
            governance: Layer.succeed(Governance.Governance, denying.service),
            sessions: sessions.layer,
            memory: memory.layer
          })
        )
      )
    })
  )

  it.effect("passes requester and model, and fails the run when a store fails", () =>
    Effect.gen(function* () {
      const asked: Array<Governance.CheckRequest> = []
      const governance = Collaborators.governance({
        checkRequest: (request) =>
          Effect.zipRight(
            Effect.sync(() => asked.push(request)),
            new GovernancePersistenceError({ message: "no ledger" })
          )
      })
      const agent = Agent.make("a", { settings: { model: "large" } })
      const error = yield* Effect.flip(AgentExecutor.run(agent, { input: "hi", userId: "ada" })).pipe(
        Effect.provide(Runs.layer([], { governance: Layer.succeed(Governance.Governance, governance.service) }))
      )
      assert.strictEqual(error._tag, "GovernancePersistenceError")
      const { agent: name, model, provider, userId } = asked[0]!
      assert.deepEqual(
        { name, provider, model, userId },
        { name: "a", provider: "test", model: "large", userId: "ada" }
      )
    })
  )

  it.effect("uses an agent's own governance in place of the executor's", () =>
    Effect.gen(function* () {
      const agent = Agent.make("a")
      const refused = [
        Agent.make("a", { governance: denying.service }),
        agent.pipe(Agent.withGovernance(denying.service))
      ]
      for (const one of refused) {
        assert.strictEqual((yield* Effect.flip(AgentExecutor.run(one, "hi")))._tag, "BudgetExceededError")
      }
      assert.strictEqual((yield* AgentExecutor.run(agent, "hi")).message, "hello")
    }).pipe(Effect.provide(Runs.layer(["hello"])))
  )

  it.effect("turns an exception of a collaborator into a defect between first and last event", () =>
    Effect.gen(function* () {
      const governance = Collaborators.governance({
        checkRequest: () => {
          throw new Error("bug")
        }
      })
      const { events, exit } = yield* Runs.record(AgentExecutor.stream(Agent.make("a"), "hi")).pipe(
        Effect.provide(
          Runs.layer([], {
            governance: Layer.succeed(Governance.Governance, governance.service),
            config: { enableMetrics: false }
          })
        )
      )
      assert.deepStrictEqual(EventRecorder.tags(events), ["Started", "Error"])
      assert.strictEqual(Runs.of(events, "Error")[0]?.error.tag, "Defect")
      assert.isTrue(exit._tag === "Failure" && exit.cause._tag === "Die")
    })
  )
})
