import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as TestClock from "effect/TestClock"
import * as AgentExecutor from "../../../src/agent/AgentExecutor.js"
import * as AgentTool from "../../../src/agent/AgentTool.js"
import * as Agent from "../../../src/agent/definition/Agent.js"
import * as SystemAccess from "../../../src/domain/SystemAccess.js"
import * as DefaultGovernance from "../../../src/governance/DefaultGovernance.js"
import * as Governance from "../../../src/governance/Governance.js"
import * as AuditLog from "../../../src/governance/store/AuditLog.js"
import * as DefaultAuditLog from "../../../src/governance/store/DefaultAuditLog.js"
import {
  BudgetExceededError,
  GovernancePersistenceError,
  ResourceExhaustedError
} from "../../../src/governance/store/GovernanceError.js"
import * as CostEstimator from "../../../src/llm/model/CostEstimator.js"
import { LlmUnavailableError } from "../../../src/llm/model/LlmError.js"
import * as Step from "../../../src/observability/Step.js"
import * as Strategy from "../../../src/strategy/definition/Strategy.js"
import type * as TestModel from "../../../src/testing/TestModel.js"
import * as Tool from "../../../src/tool/definition/Tool.js"
import * as Collaborators from "../../support/Collaborators.js"
import * as Runs from "../../support/Runs.js"

const prices = CostEstimator.layerPrices({ "test-model": { input: 1_000_000, output: 2_000_000 } })

const given = (script: Parameters<typeof TestModel.layer>[0], over: Partial<Governance.Service> = {}) => {
  const governance = Collaborators.governance(over)
  return {
    told: governance.told,
    layer: Runs.layer(script, { governance: Layer.succeed(Governance.Governance, governance.service), prices })
  }
}

const time = Tool.make("time", { description: "The time now", handler: () => Effect.succeed("12:00") })
const usage = { inputTokens: 2, outputTokens: 1, totalTokens: 3 }
const ops = (told: ReadonlyArray<Collaborators.Told>) =>
  told.map((one) => ("id" in one ? `${one.op} ${one.id}` : one.op))
const reservations = (told: ReadonlyArray<Collaborators.Told>) =>
  told.flatMap((one) => (one.op === "reserve" ? [one.request] : []))

describe("GovernedCalls", () => {
  it.effect("reserves each model call before it and settles it by its usage", () => {
    const { layer, told } = given([
      { calls: [{ name: "time" }], usage },
      { text: "noon", usage }
    ])
    return Effect.gen(function* () {
      const agent = Agent.make("clerk", { tools: [time], settings: { maxTokens: 50 } })
      const response = yield* AgentExecutor.run(agent, { input: "What time is it?", userId: "ada", tenantId: "acme" })
      assert.deepStrictEqual(ops(told), ["reserve", "settle r1", "audit", "reserve", "settle r2", "audit", "release"])
      const [first, second] = reservations(told)
      assert.deepInclude(first, {
        runId: response.runId,
        rootRunId: response.runId,
        agent: "clerk",
        userId: "ada" as never,
        tenantId: "acme",
        provider: "test",
        model: "test-model",
        maxOutputTokens: 50
      })
      assert.isAbove(first!.inputTokens, 10)
      assert.isAbove(second!.inputTokens, first!.inputTokens)
      assert.deepInclude(told[1], { total: 3, cost: 4 })
    }).pipe(Effect.provide(layer))
  })

  it.effect("refunds a refused call and settles a cut-off one by its usage, each once", () =>
    Effect.gen(function* () {
      const failing = given([
        { fail: new LlmUnavailableError({ provider: "test", message: "down", isRetryable: false } as never) }
      ])
      yield* Effect.flip(AgentExecutor.run(Agent.make("a"), "hi").pipe(Effect.provide(failing.layer)))
      assert.deepStrictEqual(ops(failing.told).slice(0, 2), ["reserve", "refund r1"])
      const slow = given([{ text: "late", delay: "1 minute" }])
      const fiber = yield* Effect.fork(AgentExecutor.run(Agent.make("a"), "hi").pipe(Effect.provide(slow.layer)))
      yield* TestClock.adjust("1 second")
      yield* Fiber.interrupt(fiber)
      assert.deepStrictEqual(ops(slow.told), ["reserve", "settle r1", "audit", "release"])
      const [asked] = reservations(slow.told)
      assert.deepInclude(slow.told[1], { total: asked?.inputTokens, cost: asked?.inputTokens })
    })
  )

  it.effect("ends the run on a refusal with a typed error and the partial response, without a model call", () => {
    let calls = 0
    const { layer } = given(() => ({ calls: [{ name: "time" }], usage }), {
      reserve: (request) =>
        ++calls > 1
          ? new BudgetExceededError({ budgetType: "monthly", limit: 1, used: 1, message: "used up" })
          : Effect.succeed({ id: "r", ...request })
    })
    return Effect.gen(function* () {
      const error = yield* Effect.flip(AgentExecutor.run(Agent.make("a", { tools: [time] }), "hi"))
      assert.instanceOf(error, BudgetExceededError)
      if (error._tag !== "BudgetExceededError") return
      assert.strictEqual(error.partial?.toolCalls.length, 1)
      assert.strictEqual(error.partial?.modelCalls, 1)
    }).pipe(Effect.provide(layer))
  })

  it.effect("checks a tool call before it runs, for the run that makes it", () => {
    const asked: Array<Governance.CheckToolCall> = []
    const { layer } = given(
      [
        { calls: [{ name: "delegate_to_inner", params: { message: "do it" } }] },
        { calls: [{ name: "time" }] },
        { text: "done" },
        { text: "all done" }
      ],
      { checkToolCall: (request) => Effect.sync(() => asked.push(request)).pipe(Effect.as(Governance.allow())) }
    )
    return Effect.gen(function* () {
      const inner = Agent.make("inner", { tools: [time] })
      const outer = Agent.make("outer", { tools: [AgentTool.make(inner)] })
      const response = yield* AgentExecutor.run(outer, { input: "hi", userId: "ada", tenantId: "acme" })
      assert.strictEqual(response.message, "all done")
      assert.deepStrictEqual(
        asked.map(({ agent, toolName, userId }) => [agent, toolName, userId]),
        [
          ["outer", "delegate_to_inner", "ada"],
          ["inner", "time", "ada"]
        ]
      )
      assert.deepInclude(asked[0], { runId: response.runId, tenantId: "acme" })
      assert.notStrictEqual(asked[1]?.runId, response.runId)
    }).pipe(Effect.provide(layer))
  })

  it.effect("ends the run on a refused tool call with the partial response", () => {
    let made = 0
    const counted = Tool.make("time", { description: "The time now", handler: () => Effect.sync(() => `${++made}`) })
    const audit = DefaultAuditLog.layerMemory()
    const layer = Runs.layer(() => ({ calls: [{ name: "time" }], usage }), {
      governance: DefaultGovernance.layerWith({
        audit: Layer.effect(AuditLog.AuditLog, AuditLog.AuditLog),
        config: {
          resourceUnits: [{ name: "tools", kind: "tool_calls", window: "1 hour", quotas: { "*": { limit: 2 } } }]
        }
      }).pipe(Layer.provide(audit)),
      prices
    })
    return Effect.gen(function* () {
      const error = yield* Effect.flip(AgentExecutor.run(Agent.make("a", { tools: [counted] }), "hi"))
      assert.instanceOf(error, ResourceExhaustedError)
      if (error._tag !== "ResourceExhaustedError") return
      assert.deepInclude(error, { unitName: "tools", limit: 2, current: 2 })
      assert.strictEqual(made, 2)
      assert.strictEqual(error.partial?.modelCalls, 3)
      assert.deepStrictEqual(
        error.partial?.toolCalls.map(({ isFailure }) => isFailure),
        [false, false, true]
      )
      const events = yield* SystemAccess.grant(
        (yield* AuditLog.AuditLog).read({ eventTypes: ["tool_call", "quota_exhausted"] })
      )
      assert.deepStrictEqual(Array.from(events, ({ eventType }) => eventType).reverse(), [
        "tool_call",
        "tool_call",
        "quota_exhausted"
      ])
    }).pipe(Effect.provide(Layer.provideMerge(layer, audit)))
  })

  it.effect("makes no tool call that cannot be checked", () => {
    const { layer } = given([{ calls: [{ name: "time" }] }], {
      checkToolCall: () => new GovernancePersistenceError({ message: "no rates" })
    })
    return Effect.gen(function* () {
      const error = yield* Effect.flip(AgentExecutor.run(Agent.make("a", { tools: [time] }), "hi"))
      assert.instanceOf(error, GovernancePersistenceError)
    }).pipe(Effect.provide(layer))
  })

  it.effect("reports guard findings with user and tenant", () => {
    const asked: Array<Governance.CheckGuardrail> = []
    const { layer } = given(["hello"], {
      checkGuardrail: (request) => Effect.sync(() => asked.push(request)).pipe(Effect.as(Governance.allow()))
    })
    return Effect.gen(function* () {
      const agent = Agent.make("a", { guards: [Collaborators.guard("hush", ["output"], () => "...")] })
      yield* AgentExecutor.run(agent, { input: "hi", userId: "ada", tenantId: "acme" })
      assert.strictEqual(asked.length, 1)
      assert.deepInclude(asked[0], {
        agent: "a",
        userId: "ada" as never,
        tenantId: "acme",
        guard: "hush",
        stage: "output",
        action: "redact"
      })
    }).pipe(Effect.provide(layer))
  })

  it.effect("keeps the answer when booking fails, and reports it", () => {
    const { layer } = given(["hello"], { settle: () => new GovernancePersistenceError({ message: "no ledger" }) })
    return Effect.gen(function* () {
      const response = yield* AgentExecutor.run(Agent.make("a"), "hi")
      assert.strictEqual(response.message, "hello")
      assert.deepStrictEqual(
        response.degraded.map(({ error, stage }) => [stage, error.tag]),
        [["governance settle", "GovernancePersistenceError"]]
      )
    }).pipe(Effect.provide(layer))
  })

  it.effect("reserves calls of a sub-agent once, under its name and the budget of the topmost run", () => {
    const { layer, told } = given([
      { calls: [{ name: "delegate_to_inner", params: { message: "do it" } }], usage },
      { text: "done", usage },
      { text: "all done", usage }
    ])
    return Effect.gen(function* () {
      const inner = Agent.make("inner")
      const response = yield* AgentExecutor.run(Agent.make("outer", { tools: [AgentTool.make(inner)] }), "hi")
      assert.strictEqual(response.message, "all done")
      assert.deepStrictEqual(
        reservations(told).map(({ agent, rootRunId }) => [agent, rootRunId]),
        [
          ["outer", response.runId],
          ["inner", response.runId],
          ["outer", response.runId]
        ]
      )
    }).pipe(Effect.provide(layer))
  })

  it.effect("gives a sub-agent the tenant and the classifications of the calling run", () => {
    const checked: Array<unknown> = []
    const { layer, told } = given(
      [
        { calls: [{ name: "delegate_to_inner", params: { message: "do it" } }], usage },
        { text: "done", usage },
        { text: "all done", usage }
      ],
      {
        checkRequest: ({ agent, classifications, tenantId }) =>
          Effect.sync(() => {
            checked.push([agent, tenantId, classifications])
            return Governance.allow()
          })
      }
    )
    return Effect.gen(function* () {
      const outer = Agent.make("outer", { tools: [AgentTool.make(Agent.make("inner"))] })
      yield* AgentExecutor.run(outer, { input: "hi", tenantId: "acme", classifications: ["secret"] })
      assert.deepStrictEqual(checked, [
        ["outer", "acme", ["secret"]],
        ["inner", "acme", ["secret"]]
      ])
      assert.deepStrictEqual(
        reservations(told).map(({ tenantId }) => tenantId),
        ["acme", "acme", "acme"]
      )
    }).pipe(Effect.provide(layer))
  })

  it.effect("books a sub-agent with its own governance there only", () => {
    const own = Collaborators.governance()
    const { layer, told } = given([
      { calls: [{ name: "delegate_to_inner", params: { message: "do it" } }], usage },
      { text: "done", usage },
      { text: "all done", usage }
    ])
    return Effect.gen(function* () {
      const inner = Agent.make("inner", { governance: own.service })
      yield* AgentExecutor.run(Agent.make("outer", { tools: [AgentTool.make(inner)] }), "hi")
      assert.strictEqual(reservations(told).length, 2)
      assert.strictEqual(reservations(own.told).length, 1)
    }).pipe(Effect.provide(layer))
  })

  it.effect("releases the budget of the outermost run under a governance when it ends", () => {
    const own = Collaborators.governance()
    const delegate = (name: string) => ({
      calls: [{ name: `delegate_to_${name}`, params: { message: "do it" } }],
      usage
    })
    const { layer, told } = given([
      delegate("own"),
      delegate("common"),
      delegate("deepest"),
      ...Array.from({ length: 4 }, () => ({ text: "done", usage }))
    ])
    return Effect.gen(function* () {
      const deepest = Agent.make("deepest", { governance: own.service })
      const common = Agent.make("common", { tools: [AgentTool.make(deepest)] })
      const middle = Agent.make("own", { tools: [AgentTool.make(common)], governance: own.service })
      const response = yield* AgentExecutor.run(Agent.make("top", { tools: [AgentTool.make(middle)] }), "hi")
      assert.strictEqual(response.message, "done")
      const [first] = reservations(own.told)
      assert.deepStrictEqual(
        reservations(own.told).map(({ agent, rootRunId }) => [agent, rootRunId]),
        [
          ["own", first?.runId],
          ["deepest", first?.runId],
          ["own", first?.runId]
        ]
      )
      assert.isTrue(reservations(told).every(({ rootRunId }) => rootRunId === response.runId))
      const released = (all: typeof told) => all.flatMap((one) => (one.op === "release" ? [one.rootRunId] : []))
      assert.deepStrictEqual(released(own.told), [first!.runId])
      assert.deepStrictEqual(released(told), [response.runId])
    }).pipe(Effect.provide(layer))
  })

  it.effect("releases the budget of a run inside one without governance, and not that of a sibling", () => {
    const { layer, told } = given(({ messages }) => ({
      text: "done",
      usage,
      delay: messages.at(-1)?.content === "slow" ? "2 seconds" : "1 second"
    }))
    return Effect.gen(function* () {
      const agent = Agent.make("a")
      const fan = Strategy.make("fan", () =>
        Effect.as(
          Step.forEach(["slow", "quick"], (input) => AgentExecutor.run(agent, input)),
          { text: "done", reason: "completed" as const, messages: [] }
        )
      )
      const top = Agent.make("top", {
        strategy: fan,
        governance: { ...Collaborators.governance().service, enabled: false }
      })
      const fiber = yield* Effect.fork(AgentExecutor.run(top, "hi"))
      yield* TestClock.adjust("3 seconds")
      yield* Fiber.join(fiber)
      const [slow, quick] = reservations(told).map(({ rootRunId }) => rootRunId as string)
      assert.notStrictEqual(slow, quick)
      assert.deepStrictEqual(
        told.flatMap((one) => (one.op === "release" ? [one.rootRunId as string] : one.op === "settle" ? [one.op] : [])),
        ["settle", quick, "settle", slow]
      )
    }).pipe(Effect.provide(layer))
  })
})
