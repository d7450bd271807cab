import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Stream from "effect/Stream"
import * as TestClock from "effect/TestClock"
import * as AgentExecutor from "../../src/agent/AgentExecutor.js"
import * as Agents from "../../src/agent/Agents.js"
import * as AgentTool from "../../src/agent/AgentTool.js"
import * as Agent from "../../src/agent/definition/Agent.js"
import * as SystemAccess from "../../src/domain/SystemAccess.js"
import * as DefaultGovernance from "../../src/governance/DefaultGovernance.js"
import * as Governance from "../../src/governance/Governance.js"
import type * as GovernanceConfig from "../../src/governance/GovernanceConfig.js"
import * as AuditLog from "../../src/governance/store/AuditLog.js"
import * as CostLedger from "../../src/governance/store/CostLedger.js"
import * as DefaultAuditLog from "../../src/governance/store/DefaultAuditLog.js"
import * as InMemoryCostLedger from "../../src/governance/store/InMemoryCostLedger.js"
import * as LlmLimits from "../../src/llm/LlmLimits.js"
import * as LlmResilience from "../../src/llm/LlmResilience.js"
import * as CostEstimator from "../../src/llm/model/CostEstimator.js"
import type * as LlmClient from "../../src/llm/model/LlmClient.js"
import { LlmRateLimitError, LlmTimeoutError } from "../../src/llm/model/LlmError.js"
import * as LlmGateway from "../../src/llm/model/LlmGateway.js"
import * as TokenCounter from "../../src/llm/model/TokenCounter.js"
import * as StrategyFallback from "../../src/strategy/combine/StrategyFallback.js"
import * as FunctionCalling from "../../src/strategy/loop/FunctionCalling.js"
import * as TestModel from "../../src/testing/TestModel.js"
import * as Tool from "../../src/tool/definition/Tool.js"

/** A hundred tokens for any request, and one for each character of what a model writes. */
const tokens = Layer.succeed(TokenCounter.TokenCounter, {
  ...TokenCounter.make({ model: "test", exact: true, count: (text) => text.length }),
  countMessages: (messages) => (messages.length === 0 ? 0 : 100),
  countTools: () => 0
})

/** A dollar a token. */
const prices = CostEstimator.layerPrices({ "test-model": { input: 1_000_000, output: 1_000_000 } })

const ledger = () => Effect.runSync(InMemoryCostLedger.make())

const make = (
  script: Parameters<typeof TestModel.layer>[0],
  options: {
    readonly config?: GovernanceConfig.Options | undefined
    readonly ledger?: CostLedger.Service | undefined
    readonly client?: Layer.Layer<LlmClient.LlmClient, never, LlmClient.LlmClient> | undefined
    readonly llmTimeout?: "5 seconds" | undefined
    readonly audit?: Layer.Layer<AuditLog.AuditLog> | undefined
  } = {}
): Layer.Layer<
  AgentExecutor.AgentExecutor | Governance.Governance | LlmClient.LlmClient | CostEstimator.CostEstimator
> => {
  const governance = DefaultGovernance.layerWith({
    config: { monthlyBudget: 1_000_000, ...options.config },
    ledger: Layer.succeed(CostLedger.CostLedger, options.ledger ?? ledger()),
    ...(options.audit === undefined ? {} : { audit: options.audit })
  }).pipe(Layer.provide(prices))
  return Agents.layerWith({
    config: options.llmTimeout === undefined ? {} : { llmTimeout: options.llmTimeout },
    governance: Layer.effect(Governance.Governance, Governance.Governance),
    prices,
    tokens
  }).pipe(
    Layer.provideMerge(governance),
    Layer.provide(options.client ?? Layer.empty),
    Layer.provideMerge(TestModel.layer(script))
  ) as Layer.Layer<
    AgentExecutor.AgentExecutor | Governance.Governance | LlmClient.LlmClient | CostEstimator.CostEstimator
  >
}

const agent = Agent.make("clerk", { settings: { maxTokens: 50 } })
const usage = { inputTokens: 10, outputTokens: 5, totalTokens: 15 }
const slow: TestModel.Turn = { text: ["Hello", " there", " you"], partDelay: "30 seconds" }
const late: TestModel.Turn = { text: "late", delay: "1 hour" }

const budget = Effect.flatMap(Governance.Governance, (governance) => governance.getBudget())

/** Reads the answer up to its first words, and goes away. */
const readAndLeave = (input: string) =>
  AgentExecutor.stream(agent, input).pipe(
    Stream.takeUntil((event) => event._tag === "TextDelta"),
    Stream.runDrain
  )

/** A call that is interrupted once its model has been asked. */
const cutOff = <A, E, R>(run: Effect.Effect<A, E, R>) =>
  Effect.gen(function* () {
    const fiber = yield* Effect.fork(run)
    yield* TestClock.adjust("1 second")
    return yield* Fiber.interrupt(fiber)
  })

describe("model calls that are cut off", () => {
  it.effect("charges input and streamed output when a reader leaves in the middle of an answer", () =>
    Effect.gen(function* () {
      const reading = yield* Effect.fork(readAndLeave("hi"))
      yield* TestClock.adjust("45 seconds")
      yield* Fiber.join(reading)
      assert.deepInclude(yield* budget, { spent: 100 + "Hello".length, reserved: 0 })
    }).pipe(Effect.provide(make([slow])))
  )

  it.effect("charges the input when a run is interrupted during a model call", () =>
    Effect.gen(function* () {
      yield* cutOff(AgentExecutor.run(agent, "hi"))
      assert.deepInclude(yield* budget, { spent: 100, reserved: 0 })
    }).pipe(Effect.provide(make([late])))
  )

  it.effect("charges a tool's own call that is cut off once, in the budget and in the usage", () =>
    Effect.gen(function* () {
      const ask = Tool.make("ask", {
        description: "Asks a model for a while",
        handler: () =>
          Effect.as(
            Effect.timeoutOption(LlmGateway.complete({ messages: [{ role: "user", content: "aside" }] }), "1 second"),
            "nothing"
          )
      })
      const asking = Agent.make("clerk", {
        tools: [ask],
        strategy: FunctionCalling.make(),
        settings: { maxTokens: 50 }
      })
      const fiber = yield* Effect.fork(AgentExecutor.run(asking, "hi"))
      yield* TestClock.adjust("2 seconds")
      const { usage: used } = yield* Fiber.join(fiber)
      assert.deepInclude(yield* budget, { spent: 15 + 100 + 15, reserved: 0 })
      assert.deepInclude(used, { totalTokens: 130, estimatedTokens: 100 })
    }).pipe(Effect.provide(make([{ calls: [{ name: "ask" }], usage }, late, { text: "done", usage }])))
  )

  it.effect("charges the input of a call that times out", () =>
    Effect.gen(function* () {
      const fiber = yield* Effect.fork(Effect.flip(AgentExecutor.run(agent, "hi")))
      yield* TestClock.adjust("10 seconds")
      assert.instanceOf(yield* Fiber.join(fiber), LlmTimeoutError)
      assert.deepInclude(yield* budget, { spent: 100, reserved: 0 })
    }).pipe(Effect.provide(make([late], { llmTimeout: "5 seconds" })))
  )

  it.effect("charges streamed output when an answer fails midway, and nothing before it began", () =>
    Effect.gen(function* () {
      yield* Effect.flip(AgentExecutor.run(agent, "hi"))
      assert.deepInclude(yield* budget, { spent: 0, reserved: 0 })
      const exit = yield* Effect.exit(Stream.runDrain(AgentExecutor.stream(agent, "hi")))
      assert.isTrue(Exit.isFailure(exit))
      assert.deepInclude(yield* budget, { spent: 105, reserved: 0 })
    }).pipe(
      Effect.provide(
        make([
          { fail: new LlmRateLimitError({ provider: "test", message: "slow down" }) },
          { text: "Hello", fail: new LlmRateLimitError({ provider: "test", message: "slow down" }) }
        ])
      )
    )
  )

  it.effect("prefers usage of the provider over the estimate", () =>
    Effect.gen(function* () {
      const reading = yield* Effect.fork(Stream.runDrain(AgentExecutor.stream(agent, "hi")))
      yield* TestClock.adjust("45 seconds")
      yield* Fiber.interrupt(reading)
      assert.deepInclude(yield* budget, { spent: 15, reserved: 0 })
    }).pipe(
      Effect.provide(
        make([
          {
            parts: [
              { type: "text-delta", id: "0", delta: "Hello" },
              { type: "finish", reason: "stop", usage },
              { type: "text-end", id: "0" }
            ],
            partDelay: "30 seconds"
          }
        ])
      )
    )
  )

  it.effect("charges nothing for a call that waits for its turn", () =>
    Effect.gen(function* () {
      const first = yield* Effect.fork(AgentExecutor.run(agent, "hi"))
      yield* TestClock.adjust("1 second")
      yield* cutOff(AgentExecutor.run(agent, "hi"))
      assert.deepInclude(yield* budget, { spent: 0, reserved: 150 })
      yield* Fiber.interrupt(first)
      assert.deepInclude(yield* budget, { spent: 100, reserved: 0 })
    }).pipe(Effect.provide(make([late], { client: LlmLimits.layer({ concurrency: 1 }) })))
  )

  it.effect("exhausts the budget of a client that disconnects again and again", () =>
    Effect.gen(function* () {
      let asked = 0
      for (;;) {
        const reading = yield* Effect.fork(Effect.exit(readAndLeave("hi")))
        yield* TestClock.adjust("45 seconds")
        const exit = yield* Fiber.join(reading)
        if (Exit.isFailure(exit)) {
          assert.include(String(exit.cause), "BudgetExceededError")
          break
        }
        asked++
        assert.isBelow(asked, 20)
      }
      // Each costs 105, and sets 150 aside before: 8 of them leave 160, the ninth 55.
      assert.strictEqual(asked, 9)
    }).pipe(Effect.provide(make(() => slow, { config: { monthlyBudget: 1000 } })))
  )

  it.effect("counts cut-off tokens in rates and quotas", () =>
    Effect.gen(function* () {
      yield* cutOff(AgentExecutor.run(agent, "hi"))
      yield* cutOff(AgentExecutor.run(agent, "hi"))
      const error = yield* Effect.flip(AgentExecutor.run(agent, "hi"))
      assert.strictEqual(error._tag, "RateLimitExceededError")
    }).pipe(Effect.provide(make(() => late, { config: { tpmLimit: 300 } })))
  )

  it.effect("counts them in token quotas", () =>
    Effect.gen(function* () {
      yield* cutOff(AgentExecutor.run(agent, "hi"))
      yield* cutOff(AgentExecutor.run(agent, "hi"))
      const error = yield* Effect.flip(AgentExecutor.run(agent, "hi"))
      assert.strictEqual(error._tag, "ResourceExhaustedError")
    }).pipe(
      Effect.provide(
        make(() => late, {
          config: {
            resourceUnits: [{ name: "tokens", kind: "tokens", window: "1 hour", quotas: { "*": { limit: 300 } } }]
          }
        })
      )
    )
  )

  it.effect("includes an attempt that timed out in usage and cost of the run, as an estimate", () =>
    Effect.gen(function* () {
      const fiber = yield* Effect.fork(AgentExecutor.run(agent, "hi"))
      yield* TestClock.adjust("10 seconds")
      const response = yield* Fiber.join(fiber)
      assert.strictEqual(response.message, "Hello")
      assert.deepStrictEqual(response.usage, {
        inputTokens: 110,
        outputTokens: 5,
        totalTokens: 115,
        estimatedTokens: 100
      })
      assert.strictEqual(response.costUsd, 115)
      assert.strictEqual(response.modelCalls, 1)
      assert.deepInclude(yield* budget, { spent: 115, reserved: 0 })
    }).pipe(
      Effect.provide(
        make([late, { text: "Hello", usage }], {
          client: LlmResilience.layer({ retry: { jitter: false }, timeout: { whole: "1 second" } })
        })
      )
    )
  )

  it.effect("audits what is an estimate, and the whole usage of a run", () => {
    const audit = DefaultAuditLog.layerMemory()
    return Effect.gen(function* () {
      yield* cutOff(AgentExecutor.run(agent, "hi"))
      const log = yield* AuditLog.AuditLog
      const events = yield* SystemAccess.grant(log.read({ eventTypes: ["llm_call", "agent_execution"] }))
      const [call, run] = Array.from(events).sort((a, b) => (a.eventType < b.eventType ? 1 : -1))
      assert.deepInclude(call, { tokens: 100, cost: 100, metadata: { estimatedTokens: 100 } })
      assert.deepInclude(run, { tokens: 100, cost: 100, status: "interrupted" })
    }).pipe(
      Effect.provide(
        Layer.provideMerge(
          make([late], { audit: Layer.effect(AuditLog.AuditLog, AuditLog.AuditLog) as Layer.Layer<AuditLog.AuditLog> }),
          audit
        )
      )
    )
  })

  it.effect("charges a stopped sub-agent to the budget of the topmost run", () =>
    Effect.gen(function* () {
      const outer = Agent.make("outer", { tools: [AgentTool.make(agent)], settings: { maxTokens: 50 } })
      yield* cutOff(AgentExecutor.run(outer, "hi"))
      assert.deepInclude(yield* budget, { spent: 115, reserved: 0 })
    }).pipe(
      Effect.provide(make([{ calls: [{ name: "delegate_to_clerk", params: { message: "do it" } }], usage }, late]))
    )
  )

  const forks = {
    fork: <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.fork(effect),
    forkDaemon: <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.forkDaemon(effect)
  }
  for (const [name, fork] of Object.entries(forks)) {
    it.effect(`charges a forked run however the other one ends (${name})`, () =>
      Effect.gen(function* () {
        const runs: Array<Fiber.RuntimeFiber<unknown, unknown>> = []
        const begin = Tool.make("begin", {
          description: "Begins something",
          handler: () =>
            Effect.gen(function* () {
              runs.push(yield* fork(AgentExecutor.run(agent, "hi")))
              yield* Effect.sleep("500 millis")
              return "begun"
            })
        })
        const outer = Agent.make("outer", { tools: [begin], settings: { maxTokens: 50 } })
        const executor = yield* AgentExecutor.AgentExecutor
        const run = AgentExecutor.run(outer, "go").pipe(Effect.provideService(AgentExecutor.AgentExecutor, executor))
        yield* cutOff(run)
        for (const fiber of runs) yield* Fiber.interrupt(fiber)
        assert.lengthOf(runs, 1)
        // The first call of the outer run (15), its second and that of the inner run, both cut off.
        assert.deepInclude(yield* budget, { spent: 215, reserved: 0 })
      }).pipe(
        Effect.provide(
          make((request) =>
            request.messages.some(({ content }) => content === "go") &&
            !request.messages.some(({ role }) => role === "tool")
              ? { calls: [{ name: "begin" }], usage }
              : late
          )
        )
      )
    )
  }

  it.effect("books a call that settles after its run has ended once, in its month", () =>
    Effect.gen(function* () {
      const governance = yield* Governance.Governance
      const request = {
        runId: "r" as never,
        provider: "test",
        model: "test-model",
        inputTokens: 100,
        maxOutputTokens: 50
      }
      const settled = yield* governance.reserve(request)
      const refunded = yield* governance.reserve(request)
      yield* governance.release(request.runId)
      assert.deepInclude(yield* budget, { spent: 0, reserved: 0 })
      yield* governance.settle(settled, usage)
      yield* governance.settle(settled, usage)
      yield* governance.refund(refunded)
      yield* governance.settle(refunded, usage)
      assert.deepInclude(yield* budget, { spent: 15, reserved: 0 })
    }).pipe(Effect.provide(make([])))
  )

  it.effect("counts them in the limits of a run", () =>
    Effect.gen(function* () {
      const strategy = StrategyFallback.withFallback(FunctionCalling.make(), FunctionCalling.make())
      const limited = Agent.make("limited", { strategy, limits: { maxCostUsd: 200 }, settings: { maxTokens: 50 } })
      const fiber = yield* Effect.fork(Effect.flip(AgentExecutor.run(limited, "hi")))
      yield* TestClock.adjust("20 seconds")
      const error = yield* Fiber.join(fiber)
      assert.strictEqual(error._tag, "RunLimitExceededError")
      if (error._tag !== "RunLimitExceededError") return
      assert.deepInclude(error, { limitType: "cost", used: 100 })
      assert.deepInclude(error.partial, { modelCalls: 0, costUsd: 100 })
    }).pipe(Effect.provide(make(() => late, { llmTimeout: "5 seconds" })))
  )
})
