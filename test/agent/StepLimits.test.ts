/** Limits of single steps, as values of an agent. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Option from "effect/Option"
import * as TestClock from "effect/TestClock"
import * as AgentExecutor from "../../src/agent/AgentExecutor.js"
import * as Agent from "../../src/agent/definition/Agent.js"
import * as FunctionCalling from "../../src/strategy/loop/FunctionCalling.js"
import * as TestModel from "../../src/testing/TestModel.js"
import * as Tool from "../../src/tool/definition/Tool.js"
import * as Runs from "../support/Runs.js"

const look = Tool.make("look", { description: "Looks", retries: 0, handler: () => Effect.succeed("seen") })
const stuck = Tool.make("stuck", { description: "Never ends", retries: 0, handler: () => Effect.never })

const limited = (limits: Agent.RunLimits) =>
  Agent.limitedBy(Agent.make("clerk", { tools: [look, stuck], strategy: "function_calling" }), limits)

const calls = (...names: ReadonlyArray<string>) => ({ calls: names.map((name) => ({ name })) })

/** The result of a run after so many seconds. */
const ended = <A, E, R>(seconds: number, effect: Effect.Effect<A, E, R>) =>
  Effect.gen(function* () {
    const fiber = yield* Effect.fork(Effect.either(effect))
    yield* TestClock.adjust(`${seconds} seconds`)
    const exit = yield* Fiber.poll(fiber)
    assert.isTrue(Option.isSome(exit), "the run has ended")
    return yield* Fiber.join(fiber)
  })

describe("a limit of each step", () => {
  it.effect("bounds the model calls of the strategy", () =>
    Effect.gen(function* () {
      const error = yield* Effect.flip(AgentExecutor.run(limited({ maxIterations: 2 }), "go"))
      assert.strictEqual(error._tag, "MaxIterationsExceededError")
      assert.lengthOf(yield* TestModel.requests, 2)
    }).pipe(Effect.provide(Runs.layer([calls("look"), calls("look"), "done"])))
  )

  it.effect("gives way to the option of a strategy", () =>
    Effect.gen(function* () {
      const agent = Agent.make("clerk", {
        tools: [look],
        strategy: FunctionCalling.make({ maxIterations: 3 }),
        limits: { maxIterations: 2 }
      })
      assert.strictEqual((yield* AgentExecutor.run(agent, "go")).message, "done")
    }).pipe(Effect.provide(Runs.layer([calls("look"), calls("look"), "done"])))
  )

  it.effect("ends a model call in its time", () =>
    Effect.gen(function* () {
      const outcome = yield* ended(3, AgentExecutor.run(limited({ llmTimeout: "3 seconds" }), "go"))
      assert.strictEqual(outcome._tag === "Left" && outcome.left._tag, "LlmTimeoutError")
    }).pipe(Effect.provide(Runs.layer([{ text: "late", delay: "1 hour" }])))
  )

  it.effect("ends a tool in its time, and tells the model", () =>
    Effect.gen(function* () {
      const outcome = yield* ended(4, AgentExecutor.run(limited({ toolTimeout: "4 seconds" }), "go"))
      assert.strictEqual(outcome._tag === "Right" && outcome.right.message, "done")
      const [, second] = yield* TestModel.requests
      assert.match(JSON.stringify(second?.messages.at(-1)), /stuck.*4000 ms/)
    }).pipe(Effect.provide(Runs.layer([calls("stuck"), "done"])))
  )

  it.effect("runs so many calls of an answer, and tells the model of the others", () =>
    Effect.gen(function* () {
      const response = yield* AgentExecutor.run(limited({ maxCallsPerTurn: 2 }), "go")
      assert.deepStrictEqual(
        response.toolCalls.map(({ isFailure }) => isFailure),
        [false, false, true]
      )
    }).pipe(Effect.provide(Runs.layer([calls("look", "look", "look"), "done"])))
  )
})
