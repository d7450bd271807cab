import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as TestClock from "effect/TestClock"
import * as AgentExecutor from "../../../src/agent/AgentExecutor.js"
import * as Agent from "../../../src/agent/definition/Agent.js"
import * as Governance from "../../../src/governance/Governance.js"
import * as Run from "../../../src/observability/Run.js"
import * as Strategy from "../../../src/strategy/definition/Strategy.js"
import { NoProgressError } from "../../../src/strategy/definition/StrategyError.js"
import * as Collaborators from "../../support/Collaborators.js"
import * as Runs from "../../support/Runs.js"

/** Reports model calls with these prices, then does what comes. */
const spending = <E, R>(
  costs: ReadonlyArray<number | undefined>,
  then: Effect.Effect<unknown, E, R>
): Strategy.Strategy<Exclude<E, Strategy.StrategyBaseError>, Exclude<R, Strategy.StrategyServices>> =>
  Strategy.make("spending", () =>
    Effect.gen(function* () {
      const run = yield* Run.Run
      for (const cost of costs) {
        yield* run.emit({
          _tag: "UsageReported",
          usage: { inputTokens: 2, outputTokens: 1, totalTokens: 3 },
          ...(cost === undefined ? {} : { costUsd: cost })
        })
      }
      yield* then
      return { text: "done", reason: "completed" as const, messages: [] }
    })
  )

const given = (over: Partial<Governance.Service> = {}) => {
  const governance = Collaborators.governance(over)
  return {
    told: governance.told,
    layer: Runs.layer([], { governance: Layer.succeed(Governance.Governance, governance.service) })
  }
}

const audits = (told: ReadonlyArray<Collaborators.Told>) =>
  told.flatMap((one) => (one.op === "audit" ? [one.entry] : []))

const stuck = new NoProgressError({ strategyName: "spending", toolName: "t", repeats: 3, message: "stuck" })

describe("CostStage", () => {
  it.effect("audits usage and cost of a run, with its user and model", () => {
    const { layer, told } = given()
    return Effect.gen(function* () {
      const agent = Agent.make("a", { strategy: spending([0.25, 0.5], TestClock.adjust("2 seconds")) })
      const response = yield* AgentExecutor.run(agent, { input: "hi", userId: "ada" })
      assert.strictEqual(response.costUsd, 0.75)
      assert.deepStrictEqual(audits(told), [
        {
          type: "agent_execution",
          runId: response.runId,
          agent: "a",
          provider: "test",
          model: "test-model",
          userId: "ada" as never,
          status: "success",
          tokens: 6,
          cost: 0.75,
          latencyMs: 2000
        }
      ])
    }).pipe(Effect.provide(layer))
  })

  it.effect("audits no cost if part of it is unknown", () => {
    const { layer, told } = given()
    return Effect.gen(function* () {
      yield* AgentExecutor.run(Agent.make("a", { strategy: spending([0.25, undefined], Effect.void) }), "hi")
      assert.isFalse("cost" in audits(told)[0]!)
    }).pipe(Effect.provide(layer))
  })

  it.effect("records failed and interrupted runs as such", () => {
    const { layer, told } = given()
    return Effect.gen(function* () {
      yield* Effect.flip(AgentExecutor.run(Agent.make("a", { strategy: spending([1], stuck) }), "hi"))
      const fiber = yield* Effect.fork(
        AgentExecutor.run(Agent.make("a", { strategy: spending([2], Effect.never) }), "hi")
      )
      yield* TestClock.adjust("1 second")
      yield* Fiber.interrupt(fiber)
      assert.deepStrictEqual(
        audits(told).map(({ cost, status }) => [status, cost]),
        [
          ["failure", 1],
          ["interrupted", 2]
        ]
      )
    }).pipe(Effect.provide(layer))
  })

  it.effect("releases the shared budget of the topmost run, once and last", () => {
    const { layer, told } = given()
    return Effect.gen(function* () {
      const inner = Agent.make("inner", { strategy: spending([1], Effect.void) })
      const outer = Agent.make("outer", {
        strategy: spending([4], Effect.all([AgentExecutor.run(inner, "a"), AgentExecutor.run(inner, "b")]))
      })
      const response = yield* AgentExecutor.run(outer, "hi")
      assert.deepStrictEqual(
        told.map((one) =>
          one.op === "audit" ? `${one.entry.agent} ${one.entry.cost}` : one.op === "release" ? one.rootRunId : one.op
        ),
        ["inner 1", "inner 1", "outer 6", response.runId]
      )
    }).pipe(Effect.provide(layer))
  })

  it.effect("treats a crashing ledger as a defect, and keeps the answer when it hangs", () =>
    Effect.gen(function* () {
      const agent = Agent.make("a", { strategy: spending([1], Effect.void) })
      const hanging = given({ release: () => Effect.never })
      const fiber = yield* Effect.fork(AgentExecutor.run(agent, "hi").pipe(Effect.provide(hanging.layer)))
      yield* TestClock.adjust("5 seconds")
      const exit = yield* Fiber.await(fiber)
      assert.isTrue(Exit.isSuccess(exit))
      if (Exit.isSuccess(exit)) {
        assert.deepStrictEqual(
          exit.value.degraded.map(({ stage }) => stage),
          ["cost"]
        )
      }
      const crashing = given({ release: () => Effect.die("no ledger") })
      const crashed = yield* Effect.exit(AgentExecutor.run(agent, "hi").pipe(Effect.provide(crashing.layer)))
      assert.isTrue(Exit.isFailure(crashed))
    })
  )
})
