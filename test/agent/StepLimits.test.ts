/** Limits of single steps, as values of an agent. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as TestClock from "effect/TestClock"
import * as AgentExecutor from "../../src/agent/AgentExecutor.js"
import * as AgentTool from "../../src/agent/AgentTool.js"
import * as Agent from "../../src/agent/definition/Agent.js"
import * as CostEstimator from "../../src/llm/model/CostEstimator.js"
import type * as LlmClient from "../../src/llm/model/LlmClient.js"
import * as LlmGateway from "../../src/llm/model/LlmGateway.js"
import * as TokenCounter from "../../src/llm/model/TokenCounter.js"
import * as FunctionCalling from "../../src/strategy/loop/FunctionCalling.js"
import * as TestModel from "../../src/testing/TestModel.js"
import * as Tool from "../../src/tool/definition/Tool.js"
import * as Tiers from "../support/MemoryTiers.js"
import * as Runs from "../support/Runs.js"

const look = Tool.make("look", { description: "Looks", retries: 0, handler: () => Effect.succeed("seen") })
const watch = Tool.make("watch", { description: "Waits", polling: true, handler: () => Effect.succeed("not yet") })
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
    }).pipe(Effect.provide(Runs.layer([calls("look"), calls("look")])))
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

const isAside = ({ messages }: LlmClient.LlmRequest): boolean => JSON.stringify(messages).includes("aside")

/** After a tool's result, or after the plan. */
const isLater = ({ messages }: LlmClient.LlmRequest): boolean =>
  messages.some(({ role }) => role === "tool") || JSON.stringify(messages).includes("Look around")

describe("a limit of tokens or dollars of each step", () => {
  const usage = { inputTokens: 20, outputTokens: 10, totalTokens: 30 }
  const counter = Layer.succeed(TokenCounter.TokenCounter, Tiers.characters)
  const prices = CostEstimator.layerPrices({ "test-model": { input: 1_000_000, output: 2_000_000 } })
  const given = { tokens: counter, prices }
  const turn = (next: TestModel.Turn): TestModel.Turn => ({ ...next, usage })
  const settings = { maxTokens: 50 }

  const plan = JSON.stringify({
    steps: [
      { id: 1, description: "Look around", tool: null, depends_on: [] },
      { id: 2, description: "Tell", tool: null, depends_on: [1] }
    ]
  })
  const scripts: ReadonlyArray<readonly [string, TestModel.Turn, string]> = [
    ["function_calling", { calls: [{ name: "look" }] }, "done"],
    ["react", { calls: [{ name: "look" }] }, "done"],
    ["plan-execute", { text: plan }, JSON.stringify({ status: "done", result: "done" })]
  ]

  for (const [strategy, first, later] of scripts) {
    it.effect(`ends a run whose step does not fit, with the partial response: ${strategy}`, () =>
      Effect.gen(function* () {
        const agent = (limits: Agent.RunLimits) =>
          Agent.limitedBy(Agent.make("clerk", { tools: [look], strategy, settings }), limits)
        const whole = yield* AgentExecutor.run(agent({ maxTokensPerStep: 100_000, maxCostUsdPerStep: 1e9 }), "go")
        assert.isAbove(whole.modelCalls, 1)
        const before = (yield* TestModel.requests).length
        for (const [limits, limitType] of [
          [{ maxTokensPerStep: 20 }, "step-tokens"],
          [{ maxCostUsdPerStep: 20 }, "step-cost"],
          [{ maxTokensPerStep: 0 }, "step-tokens"]
        ] as const) {
          const error = yield* Effect.flip(AgentExecutor.run(agent(limits), "go"))
          assert.deepInclude({ ...error }, { _tag: "RunLimitExceededError", limitType, used: 0 })
          assert.strictEqual((error as { readonly partial?: { readonly modelCalls: number } }).partial?.modelCalls, 0)
        }
        assert.lengthOf(yield* TestModel.requests, before)
      }).pipe(Effect.provide(Runs.layer((request) => turn(isLater(request) ? { text: later } : first), given)))
    )
  }

  it.effect("is not the limit of the run: each step has it anew", () =>
    Effect.gen(function* () {
      const agent = Agent.make("clerk", {
        tools: [watch],
        strategy: "function_calling",
        settings,
        limits: { maxTokensPerStep: 10_000 }
      })
      const response = yield* AgentExecutor.run(agent, "go")
      assert.strictEqual(response.modelCalls, 41)
      assert.isAbove(response.usage.totalTokens ?? 0, 10_000)
    }).pipe(
      Effect.provide(
        Runs.layer(
          Array.from({ length: 41 }, (_, n) => ({
            ...(n < 40 ? { calls: [{ name: "watch" }] } : { text: "done" }),
            usage: { inputTokens: 300, outputTokens: 10, totalTokens: 310 }
          })),
          { ...given, config: { maxIterations: 100 } }
        )
      )
    )
  )

  /** The model for tools, too. */
  const over = (script: Parameters<typeof TestModel.layer>[0]) =>
    Runs.layer(script, given) as Layer.Layer<AgentExecutor.AgentExecutor | TestModel.TestModel | LlmClient.LlmClient>

  /** Tokens that the model of each call was allowed to write. */
  const allowed = Effect.map(TestModel.requests, (requests) => requests.map(({ settings }) => settings?.maxTokens))

  it.effect("bounds the answer of a call that fits only with a shorter one", () =>
    Effect.gen(function* () {
      const agent = Agent.make("clerk", {
        strategy: "function_calling",
        settings: { maxTokens: 100_000 },
        limits: { maxTokensPerStep: 1_000 }
      })
      yield* AgentExecutor.run(agent, "go")
      const [most] = yield* allowed
      assert.isBelow(most ?? 0, 1_000)
      assert.isAbove(most ?? 0, 900)
    }).pipe(Effect.provide(Runs.layer([turn({ text: "done" })], given)))
  )

  const aside = LlmGateway.complete({ messages: [{ role: "user", content: "aside" }], settings: { maxTokens: 100 } })

  /** A tool that calls the model so many times at once. */
  const asking = (times: number) =>
    Tool.make("ask", {
      description: "Asks",
      handler: () =>
        Effect.all(
          Array.from({ length: times }, () => aside),
          { concurrency: "unbounded" }
        ).pipe(Effect.as("asked"))
    })

  it.effect("counts the calls of a step's tools and sub-agents, and begins anew with the next step", () =>
    Effect.gen(function* () {
      const inner = Agent.make("inner", {
        tools: [asking(2)],
        settings: { maxTokens: 100 },
        strategy: "function_calling"
      })
      const outer = (most: number) =>
        Agent.make("outer", {
          tools: [AgentTool.make(inner, { name: "delegate", description: "Delegates" })],
          strategy: "function_calling",
          settings: { maxTokens: 100 },
          limits: { maxTokensPerStep: most }
        })
      // A step: the call of the outer agent, two of the inner one and two of its tool, 30 tokens each.
      const enough = yield* AgentExecutor.run(outer(2_000), "go")
      assert.strictEqual(enough.modelCalls, 11)
      const error = yield* Effect.flip(AgentExecutor.run(outer(400), "go"))
      assert.deepInclude({ ...error }, { _tag: "RunLimitExceededError", limitType: "step-tokens", agentName: "outer" })
    }).pipe(
      Effect.provide(
        over((request) => {
          const texts = JSON.stringify(request.messages)
          const tools = request.messages.filter(({ role }) => role === "tool").length
          if (texts.includes("aside")) return turn({ text: "yes" })
          const isInner = request.tools?.some(({ name }) => name === "ask") === true
          if (isInner) return turn(tools === 0 ? { calls: [{ name: "ask" }] } : { text: "x".repeat(10) })
          return turn(tools < 2 ? { calls: [{ name: "delegate", params: { message: "more" } }] } : { text: "done" })
        })
      )
    )
  )

  it.effect("makes parallel calls of a tool wait for each other, and refuses what does not fit", () =>
    Effect.gen(function* () {
      const agent = Agent.make("clerk", {
        tools: [asking(10)],
        strategy: "function_calling",
        settings: { maxTokens: 100 },
        limits: { maxTokensPerStep: 1_000 }
      })
      const response = yield* AgentExecutor.run(agent, "go")
      // The tool fails, the model reads why, and the next step has its own limit.
      assert.strictEqual(response.message, "done")
      assert.include(response.toolCalls[0]?.observation, "1000 tokens a step")
      const asides = (yield* TestModel.requests).filter(isAside).length
      assert.isAbove(asides, 1)
      assert.isBelow(asides, 10)
    }).pipe(
      Effect.provide(
        over((request) =>
          isAside(request)
            ? { text: "yes", usage: { inputTokens: 100, outputTokens: 100, totalTokens: 200 } }
            : turn(isLater(request) ? { text: "done" } : { calls: [{ name: "ask" }] })
        )
      )
    )
  )

  it.effect("refuses models without a price where dollars are limited", () =>
    Effect.gen(function* () {
      const agent = Agent.limitedBy(Agent.make("clerk"), { maxCostUsdPerStep: 1 })
      const error = yield* Effect.flip(AgentExecutor.run(agent, "go"))
      assert.deepInclude({ ...error }, { _tag: "RunLimitExceededError", limitType: "step-cost" })
      assert.include(error.message, "the price of test-model is unknown")
    }).pipe(Effect.provide(Runs.layer([], { tokens: counter })))
  )

  it.effect("must be a number from 0, as any limit", () =>
    Effect.gen(function* () {
      for (const limits of [
        { maxTokensPerStep: Number.NaN },
        { maxTokensPerStep: -1 },
        { maxCostUsdPerStep: "1" as never },
        { maxModelCalls: Number.NaN },
        { maxToolCalls: -3 }
      ]) {
        const error = yield* Effect.flip(AgentExecutor.run(Agent.limitedBy(Agent.make("clerk"), limits), "go"))
        assert.strictEqual(error._tag, "AgentConfigurationError")
        assert.include(error.message, Object.keys(limits)[0] as string)
      }
      assert.isEmpty(yield* TestModel.requests)
    }).pipe(Effect.provide(Runs.layer([])))
  )
})
