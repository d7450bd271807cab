import { assert, describe, it } from "@effect/vitest"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as TestClock from "effect/TestClock"
import { expectTypeOf } from "vitest"
import * as AgentExecutor from "../../src/agent/AgentExecutor.js"
import * as Agents from "../../src/agent/Agents.js"
import * as AgentTool from "../../src/agent/AgentTool.js"
import * as Agent from "../../src/agent/definition/Agent.js"
import type { AgentEvent } from "../../src/domain/AgentEvent.js"
import * as CostEstimator from "../../src/llm/model/CostEstimator.js"
import * as LlmClient from "../../src/llm/model/LlmClient.js"
import { LlmUnavailableError } from "../../src/llm/model/LlmError.js"
import * as StrategyBudget from "../../src/strategy/combine/StrategyBudget.js"
import { StrategyBudgetError } from "../../src/strategy/definition/StrategyError.js"
import * as Supervisor from "../../src/strategy/supervisor/Supervisor.js"
import * as EventRecorder from "../../src/testing/EventRecorder.js"
import * as TestModel from "../../src/testing/TestModel.js"
import * as Tool from "../../src/tool/definition/Tool.js"

const usage = { inputTokens: 100, outputTokens: 10, totalTokens: 110 }

const done = JSON.stringify({ verdict: "done", reason: "all there", instructions: "" })

const lookup = Tool.make("lookup", { description: "Looks something up", handler: () => Effect.succeed("found") })

const researcher = Agent.make("researcher", { system: "You find facts.", tools: [lookup] })
const writer = Agent.make("writer", { system: "You write." })

const boss = Agent.make("boss", {
  system: "You lead.",
  strategy: Supervisor.make(),
  tools: [AgentTool.make(researcher), AgentTool.make(writer)]
})

const isAbout = (request: LlmClient.LlmRequest, text: string): boolean =>
  String(request.messages[0]?.content).startsWith(text)

interface Fates {
  /** Time of each model call. */
  readonly delay?: Duration.DurationInput | undefined
  readonly researcher?: LlmUnavailableError | undefined
}

/** Boss and team over one model, which knows who asks by the system prompt. */
const model =
  (fates: Fates = {}) =>
  (request: LlmClient.LlmRequest): TestModel.Turn => {
    const { delay } = fates
    if (isAbout(request, "You find facts.")) {
      if (fates.researcher !== undefined) return { fail: fates.researcher, delay }
      return request.messages.some((message) => message.role === "tool")
        ? { text: "fact: 42", usage, delay }
        : { calls: [{ id: "call", name: "lookup" }], usage, delay }
    }
    if (isAbout(request, "You write.")) return { text: "a poem", usage, delay }
    if (request.responseFormat?.type === "json") return { text: done, usage, delay }
    if (request.tools === undefined) return { text: ["final ", "answer"], usage, delay }
    return {
      calls: [
        { id: "call", name: "delegate_to_researcher", params: { message: "find it" } },
        { id: "call2", name: "delegate_to_writer", params: { message: "write it" } }
      ],
      usage,
      delay
    }
  }

const prices = CostEstimator.layerPrices({ "test-model": { input: 10_000, output: 100_000 } })

const layer = (fates?: Fates) =>
  Agents.layer().pipe(Layer.provideMerge(TestModel.layer(model(fates))), Layer.provide(prices))

const record = (fates?: Fates) =>
  EventRecorder.record(AgentExecutor.stream(boss, "Find out and write")).pipe(Effect.provide(layer(fates)))

const byAgent = (events: ReadonlyArray<AgentEvent>, agent: string) => events.filter((event) => event.agent === agent)

describe("a supervisor of agents", () => {
  it("has the requirements of the executor alone", () => {
    expectTypeOf(boss).toEqualTypeOf<Agent.Agent<string, never, AgentExecutor.AgentExecutor>>()
    const limited = Agent.make("boss", {
      strategy: StrategyBudget.withBudget(Supervisor.make(), { maxTokens: 1000 }),
      tools: [AgentTool.make(researcher)]
    })
    expectTypeOf(limited).toEqualTypeOf<Agent.Agent<string, StrategyBudgetError, AgentExecutor.AgentExecutor>>()
    // @ts-expect-error an option that does not exist
    Supervisor.make({ max_delegations: 5 })
  })

  it.live("shows events of the agents in its stream, each in a run of its own", () =>
    Effect.gen(function* () {
      const { events, exit } = yield* record()
      yield* exit
      assert.deepStrictEqual(EventRecorder.violations(events), [])
      const own = byAgent(events, "boss")
      const delegated = own.filter((event) => event._tag === "Delegated")
      assert.deepStrictEqual(
        delegated.map(({ message, toAgent }) => [toAgent, message]),
        [
          ["researcher", "find it"],
          ["writer", "write it"]
        ]
      )
      for (const { childRunId, toAgent } of delegated) {
        const child = byAgent(events, toAgent)
        assert.strictEqual(child[0]!._tag, "Started")
        assert.strictEqual(child.at(-1)!._tag, "Finished")
        for (const event of child) {
          assert.strictEqual(event.runId, childRunId)
          assert.strictEqual(event.parentRunId, own[0]!.runId)
        }
      }
      assert.deepStrictEqual(
        own
          .filter((event) => event._tag === "ToolResult")
          .map(({ name, observation }) => [name, observation])
          .sort(),
        [
          ["delegate_to_researcher", "fact: 42"],
          ["delegate_to_writer", "a poem"]
        ]
      )
    })
  )

  it.effect("sums usage and cost of all agents", () =>
    Effect.gen(function* () {
      const response = yield* AgentExecutor.run(boss, "Find out and write")
      assert.strictEqual(response.message, "final answer")
      // Three calls of its own, two of the researcher, one of the writer.
      assert.strictEqual(response.modelCalls, 6)
      assert.deepStrictEqual(response.usage, { inputTokens: 600, outputTokens: 60, totalTokens: 660 })
      assert.closeTo(response.costUsd!, 6 * (100 * 0.01 + 10 * 0.1), 1e-9)
      assert.strictEqual(response.toolCalls.length, 2)
      assert.deepStrictEqual(
        response.plan!.map(({ status, tool }) => [tool, status]),
        [
          ["delegate_to_researcher", "completed"],
          ["delegate_to_writer", "completed"]
        ]
      )
    }).pipe(Effect.provide(layer()))
  )

  it.effect("reports a failed agent, and the run continues", () =>
    Effect.gen(function* () {
      const response = yield* AgentExecutor.run(boss, "Find out and write")
      assert.strictEqual(response.message, "final answer")
      assert.deepStrictEqual(
        response.plan!.map((step) => step.status),
        ["failed", "completed"]
      )
      const failed = response.toolCalls.find((call) => call.isFailure === true)!
      assert.include(failed.observation!, "down")
    }).pipe(Effect.provide(layer({ researcher: new LlmUnavailableError({ provider: "test", message: "down" }) })))
  )

  it.effect("runs agents in parallel", () =>
    Effect.gen(function* () {
      // One after another: assess, two calls of the researcher beside one of the writer, review, decide.
      const fiber = yield* Effect.fork(AgentExecutor.run(boss, "Find out and write"))
      yield* TestClock.adjust(4999)
      assert.isNull(fiber.unsafePoll())
      yield* TestClock.adjust(1)
      assert.strictEqual((yield* Fiber.join(fiber)).message, "final answer")
    }).pipe(Effect.provide(layer({ delay: "1 second" })))
  )

  it.effect("interrupts the agents wherever the interruption comes from", () =>
    Effect.gen(function* () {
      for (const [after, active] of [
        ["500 millis", 1],
        ["1500 millis", 2],
        ["2500 millis", 1],
        ["3500 millis", 1]
      ] as const) {
        const observer = yield* TestModel.TestModel
        const fiber = yield* Effect.fork(AgentExecutor.run(boss, "Find out and write"))
        yield* TestClock.adjust(after)
        assert.strictEqual(yield* observer.active, active)
        assert.isTrue(Exit.isInterrupted(yield* Fiber.interrupt(fiber)))
        assert.strictEqual(yield* observer.active, 0)
        yield* TestClock.adjust("1 minute")
        assert.strictEqual(yield* observer.active, 0)
      }
    }).pipe(Effect.provide(Agents.layer().pipe(Layer.provideMerge(TestModel.layer(model({ delay: "1 second" }))))))
  )

  it.effect("counts the usage of the agents in a budget", () =>
    Effect.gen(function* () {
      const limited = (maxModelCalls: number) =>
        Agent.make("boss", {
          system: "You lead.",
          strategy: StrategyBudget.withBudget(Supervisor.make(), { maxModelCalls }),
          tools: [AgentTool.make(researcher), AgentTool.make(writer)]
        })
      assert.strictEqual((yield* AgentExecutor.run(limited(6), "x")).modelCalls, 6)
      const { requests } = yield* TestModel.TestModel
      const before = (yield* requests).length
      const error = yield* Effect.flip(AgentExecutor.run(limited(3), "x"))
      assert.isTrue(error instanceof StrategyBudgetError && error.used === 3)
      assert.strictEqual((yield* requests).length - before, 3)
    }).pipe(Effect.provide(layer()))
  )

  it.effect("obeys the limits of the run like any agent", () =>
    Effect.gen(function* () {
      const error = yield* Effect.flip(AgentExecutor.run(boss.pipe(Agent.withLimits({ maxModelCalls: 2 })), "x"))
      assert.strictEqual(error._tag, "RunLimitExceededError")
    }).pipe(Effect.provide(layer()))
  )

  it.effect("nests supervisors", () =>
    Effect.gen(function* () {
      const chief = Agent.make("chief", {
        system: "You lead the leaders.",
        strategy: Supervisor.make({ maxReviews: 0 }),
        tools: [AgentTool.make(boss)]
      })
      const client = TestModel.make((request) => {
        if (!isAbout(request, "You lead the leaders.")) return model()(request)
        if (request.tools === undefined) return { text: "the chief's answer", usage }
        return request.messages.some((message) => message.role === "tool")
          ? { text: "enough", usage }
          : { calls: [{ name: "delegate_to_boss", params: { message: "do it" } }], usage }
      })
      const response = yield* AgentExecutor.run(chief, "x").pipe(
        Effect.provide(Agents.layer().pipe(Layer.provide(Layer.succeed(LlmClient.LlmClient, client))))
      )
      assert.strictEqual(response.message, "the chief's answer")
      assert.strictEqual(response.modelCalls, 9)
      assert.strictEqual(response.toolCalls[0]!.observation, "final answer")
    })
  )
})
