import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import * as TestClock from "effect/TestClock"
import * as AgentExecutor from "../../src/agent/AgentExecutor.js"
import * as Agents from "../../src/agent/Agents.js"
import * as AgentTool from "../../src/agent/AgentTool.js"
import * as Agent from "../../src/agent/definition/Agent.js"
import * as RunPolicy from "../../src/agent/record/RunPolicy.js"
import * as Guard from "../../src/guard/pipeline/Guard.js"
import * as DefaultModelRouter from "../../src/llm/DefaultModelRouter.js"
import { type ModelRouter, resolve } from "../../src/llm/ModelRouter.js"
import * as LlmClient from "../../src/llm/model/LlmClient.js"
import { type LlmError, LlmUnavailableError } from "../../src/llm/model/LlmError.js"
import * as Reflection from "../../src/strategy/Reflection.js"
import * as Tool from "../../src/tool/definition/Tool.js"

const usage = { inputTokens: 1, outputTokens: 1, totalTokens: 2 }

/** A model that fails its first calls, and the times at which it was asked. */
const model = (name: string, failures: number, text = `by ${name}`) => {
  const asked: Array<number> = []
  const client: LlmClient.Service = {
    provider: "test",
    model: name,
    complete: () =>
      Effect.clockWith((clock) =>
        Effect.suspend(() => {
          asked.push(clock.unsafeCurrentTimeMillis())
          return asked.length <= failures
            ? new LlmUnavailableError({ provider: "test", message: "away" })
            : Effect.succeed<LlmClient.LlmResponse>({
                content: [{ type: "text", text }],
                finishReason: "stop",
                usage
              })
        })
      )
  }
  return { asked, client }
}

const never = Number.POSITIVE_INFINITY

const layerOf = (first: LlmClient.Service, solver?: LlmClient.Service) =>
  Layer.provide(
    solver === undefined
      ? Agents.layer()
      : Agents.layerWith({ router: DefaultModelRouter.layer({ roles: { solver: { client: solver } } }) }),
    Layer.succeed(LlmClient.LlmClient, first)
  )

const plain = Agent.make("a", { system: "a" })

describe("the policy of a run", () => {
  it.effect("retries model calls after its delays", () =>
    Effect.gen(function* () {
      const { asked, client } = model("first", never)
      const policy = RunPolicy.make({
        retry: { maxRetries: 3, base: "1 second", factor: 3, cap: 5000, jitter: false }
      })
      const run = yield* Effect.fork(
        Effect.flip(AgentExecutor.run(plain, { input: "go", policy })).pipe(Effect.provide(layerOf(client)))
      )
      yield* TestClock.adjust("1 minute")
      assert.strictEqual((yield* Fiber.join(run))._tag, "LlmUnavailableError")
      assert.deepStrictEqual(asked, [0, 1000, 4000, 9000])
    })
  )

  it.effect("draws delays with jitter by default", () =>
    Effect.gen(function* () {
      const { asked, client } = model("first", 1)
      const policy = RunPolicy.make({ retry: { maxRetries: 1, base: 1000 } })
      const run = yield* Effect.fork(
        AgentExecutor.run(plain, { input: "go", policy }).pipe(Effect.provide(layerOf(client)))
      )
      yield* TestClock.adjust("1 minute")
      assert.strictEqual((yield* Fiber.join(run)).message, "by first")
      assert.isAtLeast(asked[1] as number, 500)
      assert.isBelow(asked[1] as number, 1000)
    })
  )

  it.effect("asks the models of its roles when one fails for good", () =>
    Effect.gen(function* () {
      const [first, solver] = [model("first", never), model("solver", 0)]
      const policy = RunPolicy.make({ fallback: ["solver"] })
      const response = yield* AgentExecutor.run(plain, { input: "go", policy }).pipe(
        Effect.provide(layerOf(first.client, solver.client))
      )
      assert.strictEqual(response.message, "by solver")
      assert.deepStrictEqual([first.asked.length, solver.asked.length], [1, 1])
    })
  )

  it.effect("fails at a role that the router does not have", () =>
    Effect.gen(function* () {
      const { asked, client } = model("first", 0)
      const error = yield* Effect.flip(
        AgentExecutor.run(plain, { input: "go", policy: { fallback: ["solver"] } })
      ).pipe(Effect.provide(layerOf(client)))
      assert.strictEqual(error._tag, "AgentConfigurationError")
      assert.include(error.message, '"solver"')
      assert.lengthOf(asked, 0)
    })
  )

  it.effect("fails where it is not valid, before any call", () =>
    Effect.gen(function* () {
      const { asked, client } = model("first", 0)
      const error = yield* Effect.flip(
        AgentExecutor.run(plain, { input: "go", policy: { limits: { maxTokens: Number.NaN } } })
      ).pipe(Effect.provide(layerOf(client)))
      assert.strictEqual(error._tag, "AgentConfigurationError")
      assert.include(error.message, "limits.maxTokens")
      assert.lengthOf(asked, 0)
    })
  )

  it.effect("holds for the runs of sub-agents", () =>
    Effect.gen(function* () {
      let asked = 0
      const client: LlmClient.Service = {
        provider: "test",
        model: "m",
        complete: (request) =>
          Effect.suspend(() => {
            const results = request.messages.filter(({ role }) => role === "tool").length
            const isTop = request.tools !== undefined
            if (isTop && results === 0) {
              return Effect.succeed<LlmClient.LlmResponse>({
                content: [{ type: "tool-call", id: "c", name: "delegate_to_inner", params: { message: "go" } }],
                finishReason: "tool-calls",
                usage
              })
            }
            if (!isTop && ++asked === 1) {
              return new LlmUnavailableError({ provider: "test", message: "away" })
            }
            return Effect.succeed<LlmClient.LlmResponse>({
              content: [{ type: "text", text: "done" }],
              finishReason: "stop",
              usage
            })
          })
      }
      const inner = Agent.make("inner", { system: "inner" })
      const top = Agent.make("top", { system: "top", tools: [AgentTool.make(inner)] })
      const policy = RunPolicy.make({ retry: { maxRetries: 1, base: 10 } })
      const run = yield* Effect.fork(
        AgentExecutor.run(top, { input: "go", policy }).pipe(Effect.provide(layerOf(client)))
      )
      yield* TestClock.adjust("1 minute")
      const response = yield* Fiber.join(run)
      assert.deepStrictEqual([response.toolCalls[0]?.isFailure, asked], [false, 2])
    })
  )

  it.effect("overrides the limits of its agent, for steps and times of calls too", () =>
    Effect.gen(function* () {
      const { client } = model("first", 0)
      const slow: LlmClient.Service = {
        ...client,
        complete: (request, options) => Effect.delay(client.complete(request, options), "20 seconds")
      }
      const limited = plain.pipe(Agent.withLimits({ llmTimeout: "1 minute" }))
      const run = (limits: RunPolicy.Limits) =>
        Effect.gen(function* () {
          const fiber = yield* Effect.fork(
            Effect.flip(AgentExecutor.run(limited, { input: "go", policy: { limits } })).pipe(
              Effect.provide(layerOf(slow))
            )
          )
          yield* TestClock.adjust("5 minutes")
          return (yield* Fiber.join(fiber))._tag
        })
      assert.strictEqual(yield* run({ llmTimeout: "10 seconds" }), "LlmTimeoutError")
      assert.strictEqual(yield* run({ timeout: 10_000 }), "RunLimitExceededError")
      assert.strictEqual(yield* run({ maxModelCalls: 0 }), "RunLimitExceededError")
    })
  )

  it.effect("stops a tool at its time, and the strategy at its steps", () =>
    Effect.gen(function* () {
      const client: LlmClient.Service = {
        provider: "test",
        model: "m",
        complete: () =>
          Effect.succeed({
            content: [{ type: "tool-call", id: "c", name: "wait", params: {} }],
            finishReason: "tool-calls",
            usage
          })
      }
      const wait = Tool.make("wait", { description: "Waits", retries: 0, handler: () => Effect.never })
      const agent = Agent.make("a", { system: "a", tools: [wait] })
      const policy = RunPolicy.make({ limits: { toolTimeout: "1 second", maxIterations: 1 } })
      const run = yield* Effect.fork(
        Effect.exit(AgentExecutor.run(agent, { input: "go", policy })).pipe(Effect.provide(layerOf(client)))
      )
      yield* TestClock.adjust("5 seconds")
      const exit = yield* Fiber.join(run)
      const failure = exit._tag === "Failure" ? JSON.stringify(exit.cause) : JSON.stringify(exit.value.toolCalls)
      assert.include(failure, exit._tag === "Failure" ? "MaxIterations" : "ToolTimeoutError")
    })
  )

  it.effect("asks the model that it names for the agent and for every role but guards", () =>
    Effect.gen(function* () {
      const [first, solver] = [model("first", 0), model("solver", 0, "solved\nSCORE: 9\nNEEDS_REFINEMENT: no")]
      const critic = Guard.make<LlmError, ModelRouter>({
        name: "critic",
        stages: ["output"],
        check: () =>
          Effect.as(
            Effect.flatMap(resolve("guard"), ({ client }) => client.complete({ messages: [] })),
            Guard.pass("critic")
          )
      })
      const agent = Agent.make("a", { system: "a", strategy: Reflection.make() }).pipe(Agent.withGuards(critic))
      const response = yield* AgentExecutor.run(agent, { input: "go", policy: { model: "solver" } }).pipe(
        Effect.provide(
          Layer.merge(
            layerOf(first.client, solver.client),
            Layer.provide(DefaultModelRouter.layerDefault, Layer.succeed(LlmClient.LlmClient, solver.client))
          )
        )
      )
      assert.include(response.message, "solved")
      assert.isAbove(solver.asked.length, 1)
      // The guard.
      assert.lengthOf(first.asked, 1)
    })
  )

  it.effect("has the settings of the role that it names", () =>
    Effect.gen(function* () {
      const settings: Array<unknown> = []
      const client: LlmClient.Service = {
        provider: "test",
        model: "m",
        complete: (request) =>
          Effect.sync(() => {
            settings.push([request.settings?.temperature, request.settings?.maxTokens])
            return { content: [{ type: "text", text: "ok" }], finishReason: "stop", usage }
          })
      }
      const router = DefaultModelRouter.layer({ roles: { cold: { settings: { temperature: 0.125 } } } })
      yield* AgentExecutor.run(plain, { input: "go", settings: { maxTokens: 7 }, policy: { model: "cold" } }).pipe(
        Effect.provide(Layer.provide(Agents.layerWith({ router }), Layer.succeed(LlmClient.LlmClient, client)))
      )
      assert.deepStrictEqual(settings, [[0.125, 7]])
    })
  )

  it.effect("retries the model that it names, and falls back from it", () =>
    Effect.gen(function* () {
      const [first, solver] = [model("first", 0), model("solver", never)]
      const router = DefaultModelRouter.layer({
        roles: { solver: { client: solver.client }, spare: { client: first.client } }
      })
      const policy = RunPolicy.make({ model: "solver", fallback: ["spare"], retry: { maxRetries: 1, base: 10 } })
      const run = yield* Effect.fork(
        AgentExecutor.run(plain, { input: "go", policy }).pipe(
          Effect.provide(Layer.provide(Agents.layerWith({ router }), Layer.succeed(LlmClient.LlmClient, first.client)))
        )
      )
      yield* TestClock.adjust("1 minute")
      assert.strictEqual((yield* Fiber.join(run)).message, "by first")
      assert.deepStrictEqual([solver.asked.length, first.asked.length], [2, 1])
    })
  )

  it.effect("runs the strategy that it names in place of that of the agent", () =>
    Effect.gen(function* () {
      const { client } = model("first", 0)
      const own = Agent.make("a", { system: "a", strategy: Reflection.make() })
      const strategyOf = (agent: typeof own, strategy: string) =>
        AgentExecutor.stream(agent, { input: "go", policy: { strategy } }).pipe(
          Stream.filterMap((event) => (event._tag === "Started" ? Option.some(event.strategy) : Option.none())),
          Stream.runHead,
          Effect.map(Option.getOrThrow),
          Effect.provide(layerOf(client))
        )
      assert.strictEqual(yield* strategyOf(own, "react"), "react")
      assert.strictEqual(yield* strategyOf(own, "reflection"), "reflection")
      assert.strictEqual(yield* strategyOf(plain, "reflection"), "reflection")
    })
  )

  for (const [policy, word] of [
    [{ model: "nowhere" }, "nowhere"],
    [{ model: "__proto__" }, "__proto__"],
    [{ strategy: "reflexon" }, "reflexion"],
    [{ strategy: "toString" }, "toString"],
    [{ strategy: "" }, "strategy"],
    [{ strategy: 7 as never }, "7"]
  ] as const) {
    it.effect(`fails before any call at ${JSON.stringify(policy)}`, () =>
      Effect.gen(function* () {
        const { asked, client } = model("first", 0)
        const error = yield* Effect.flip(AgentExecutor.run(plain, { input: "go", policy })).pipe(
          Effect.provide(layerOf(client))
        )
        assert.strictEqual(error._tag, "AgentConfigurationError")
        assert.include(error.message, word)
        assert.lengthOf(asked, 0)
      })
    )
  }

  it.effect("leaves the model and the strategy of runs inside alone", () =>
    Effect.gen(function* () {
      const [first, solver] = [model("inner", 0), model("solver", 0)]
      const asking: LlmClient.Service = {
        ...solver.client,
        complete: (request, options) =>
          request.messages.some(({ role }) => role === "tool")
            ? solver.client.complete(request, options)
            : Effect.succeed({
                content: [{ type: "tool-call", id: "c", name: "delegate_to_inner", params: { message: "go" } }],
                finishReason: "tool-calls",
                usage
              })
      }
      const top = Agent.make("top", { system: "top", tools: [AgentTool.make(plain, { name: "delegate_to_inner" })] })
      yield* AgentExecutor.run(top, { input: "go", policy: { model: "solver", strategy: "react" } }).pipe(
        Effect.provide(layerOf(first.client, asking))
      )
      assert.deepStrictEqual([first.asked.length, solver.asked.length], [1, 1])
    })
  )
})
