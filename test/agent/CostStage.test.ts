import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as TestClock from "effect/TestClock"
import * as Agent from "../../src/agent/Agent.js"
import * as AgentExecutor from "../../src/agent/AgentExecutor.js"
import * as Governance from "../../src/governance/Governance.js"
import { GovernancePersistenceError } from "../../src/governance/GovernanceError.js"
import * as Run from "../../src/observability/Run.js"
import * as Strategy from "../../src/strategy/Strategy.js"
import { NoProgressError } from "../../src/strategy/StrategyError.js"
import * as Collaborators from "../support/Collaborators.js"
import * as Runs from "../support/Runs.js"

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
    booked: governance.booked,
    layer: Runs.layer([], { governance: Layer.succeed(Governance.Governance, governance.service) })
  }
}

const stuck = new NoProgressError({ strategyName: "spending", toolName: "t", repeats: 3, message: "stuck" })

describe("CostStage", () => {
  it.effect("books what a run cost, with its user and model", () => {
    const { booked, layer } = given()
    return Effect.gen(function* () {
      const agent = Agent.make("a", { strategy: spending([0.25, 0.5], Effect.void) })
      const response = yield* AgentExecutor.run(agent, { input: "hi", userId: "ada" })
      assert.strictEqual(response.costUsd, 0.75)
      assert.strictEqual(booked.length, 1)
      const { cost, model, usage, userId } = booked[0]!
      assert.deepEqual({ cost, model, total: usage.totalTokens, userId }, {
        cost: 0.75,
        model: "test-model",
        total: 6,
        userId: "ada"
      } as never)
    }).pipe(Effect.provide(layer))
  })

  it.effect("a cost that is not wholly known is not booked, nor is one of no calls", () => {
    const { booked, layer } = given()
    return Effect.gen(function* () {
      yield* AgentExecutor.run(Agent.make("a", { strategy: spending([0.25, undefined], Effect.void) }), "hi")
      yield* AgentExecutor.run(Agent.make("a", { strategy: spending([], Effect.void) }), "hi")
      assert.deepStrictEqual(booked, [])
    }).pipe(Effect.provide(layer))
  })

  it.effect("runs that fail or are interrupted cost what they used", () => {
    const { booked, layer } = given()
    return Effect.gen(function* () {
      yield* Effect.flip(AgentExecutor.run(Agent.make("a", { strategy: spending([1], stuck) }), "hi"))
      const fiber = yield* Effect.fork(
        AgentExecutor.run(Agent.make("a", { strategy: spending([2], Effect.never) }), "hi")
      )
      yield* TestClock.adjust("1 second")
      yield* Fiber.interrupt(fiber)
      assert.deepStrictEqual(
        booked.map(({ cost }) => cost),
        [1, 2]
      )
    }).pipe(Effect.provide(layer))
  })

  it.effect(
    "what a run inside a run cost is booked once, by the outer one, unless its agent has a ledger of its own",
    () => {
      const { booked, layer } = given()
      const own = Collaborators.governance()
      return Effect.gen(function* () {
        const inner = Agent.make("inner", { strategy: spending([1], Effect.void) })
        const audited = inner.pipe(Agent.withGovernance(own.service))
        const outer = Agent.make("outer", {
          strategy: spending([4], Effect.all([AgentExecutor.run(inner, "a"), AgentExecutor.run(audited, "b")]))
        })
        const response = yield* AgentExecutor.run(outer, "hi")
        assert.strictEqual(response.costUsd, 6)
        assert.deepStrictEqual(
          booked.map(({ cost }) => cost),
          [6]
        )
        assert.deepStrictEqual(
          own.booked.map(({ cost }) => cost),
          [1]
        )
      }).pipe(Effect.provide(layer))
    }
  )

  it.effect("a ledger that fails or hangs takes no answer away", () =>
    Effect.gen(function* () {
      const agent = Agent.make("a", { strategy: spending([1], Effect.void) })
      const failing = given({ trackCost: () => new GovernancePersistenceError({ message: "no ledger" }) })
      const response = yield* AgentExecutor.run(agent, "hi").pipe(Effect.provide(failing.layer))
      assert.deepStrictEqual(
        response.degraded.map(({ error, stage }) => [stage, error.tag]),
        [["cost", "GovernancePersistenceError"]]
      )
      const hanging = given({ trackCost: () => Effect.never })
      const fiber = yield* Effect.fork(AgentExecutor.run(agent, "hi").pipe(Effect.provide(hanging.layer)))
      yield* TestClock.adjust("5 seconds")
      const exit = yield* Fiber.await(fiber)
      assert.isTrue(Exit.isSuccess(exit))
    })
  )
})
