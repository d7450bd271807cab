/** Defects of the library this one follows, each as the fact that holds here. Those of crews stand in `Crew.test.ts`. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Metric from "effect/Metric"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import * as TestClock from "effect/TestClock"
import * as Tracer from "effect/Tracer"
import * as AgentExecutor from "../../src/agent/AgentExecutor.js"
import * as Agent from "../../src/agent/definition/Agent.js"
import type { AgentEvent } from "../../src/domain/AgentEvent.js"
import { SessionId, UserId } from "../../src/domain/Ids.js"
import * as Governance from "../../src/governance/Governance.js"
import { BudgetExceededError } from "../../src/governance/store/GovernanceError.js"
import * as DefaultGuardPipeline from "../../src/guard/pipeline/DefaultGuardPipeline.js"
import * as Guard from "../../src/guard/pipeline/Guard.js"
import * as CostEstimator from "../../src/llm/model/CostEstimator.js"
import * as AgentDomainEvents from "../../src/observability/AgentDomainEvents.js"
import * as AgentHooks from "../../src/observability/AgentHooks.js"
import * as AgentMetrics from "../../src/observability/AgentMetrics.js"
import type * as DomainEvent from "../../src/observability/DomainEvent.js"
import * as EventBus from "../../src/observability/EventBus.js"
import * as Hooks from "../../src/observability/Hooks.js"
import * as SessionManager from "../../src/session/manager/SessionManager.js"
import * as Sessions from "../../src/session/Sessions.js"
import * as Strategy from "../../src/strategy/definition/Strategy.js"
import * as TestModel from "../../src/testing/TestModel.js"
import * as ApprovalGate from "../../src/tool/approval/ApprovalGate.js"
import * as DefaultToolRegistry from "../../src/tool/DefaultToolRegistry.js"
import * as DefaultToolRunner from "../../src/tool/DefaultToolRunner.js"
import * as Tool from "../../src/tool/definition/Tool.js"
import * as ModuleGraph from "../../src/tool/ModuleGraph.js"
import * as ToolRegistry from "../../src/tool/ToolRegistry.js"
import * as Collaborators from "../support/Collaborators.js"
import * as Runs from "../support/Runs.js"

const plain = Agent.make("clerk")
const request = { input: "hi", userId: "ada", sessionId: "s" }
const usage = { inputTokens: 10, outputTokens: 5, totalTokens: 15 }
const echo = Tool.make("echo", {
  description: "Says it again",
  parameters: { text: Schema.String },
  handler: ({ text }) => Effect.succeed(text)
})

const runner = DefaultToolRunner.layer().pipe(
  Layer.provide(ApprovalGate.layerDeny),
  Layer.provide(ModuleGraph.layerNoop)
)

const broke = new BudgetExceededError({ budgetType: "monthly", limit: 1, used: 1, message: "The budget is used up" })

const marking = Strategy.make("marking", (task) =>
  Effect.succeed({ text: JSON.stringify(task.limits), reason: "completed" as const, messages: [] })
)

/** An event bus that writes down what it is told. */
const listening = () => {
  const told: Array<DomainEvent.Body> = []
  return {
    told,
    layer: Layer.succeed(EventBus.EventBus, {
      ...EventBus.noop,
      enabled: true,
      offer: (event) => told.push(event) > 0
    })
  }
}

describe("executor", () => {
  it.effect("applies a denial of governance, not the truthiness of its decision", () => {
    const decision = Governance.deny(broke)
    const governance = Collaborators.governance({ checkRequest: () => Effect.succeed(decision) })
    return Effect.gen(function* () {
      assert.isTrue(Boolean(decision))
      assert.strictEqual((yield* Effect.flip(AgentExecutor.run(plain, "hi"))).message, broke.message)
      assert.deepStrictEqual(yield* TestModel.requests, [])
    }).pipe(Effect.provide(Runs.layer([], { governance: Layer.succeed(Governance.Governance, governance.service) })))
  })

  it.effect("reports the reason of the guard that blocked", () => {
    const strict = Guard.make({
      name: "strict",
      stages: ["input"],
      check: () => Effect.succeed(Guard.block("strict", { reason: "no greetings" }))
    })
    return Effect.gen(function* () {
      const { events, exit } = yield* Runs.record(AgentExecutor.stream(plain, "hi"))
      const error = yield* Effect.flip(exit)
      assert.strictEqual(error._tag, "InputGuardError")
      assert.include(error.message, "no greetings")
      assert.strictEqual(Runs.of(events, "GuardTriggered")[0]?.reason, "no greetings")
    }).pipe(Effect.provide(Runs.layer([], { guards: DefaultGuardPipeline.layerGuards([strict]) })))
  })

  it.effect("combines a tool registry with all other parts of an agent", () =>
    Effect.gen(function* () {
      const registry = yield* ToolRegistry.ToolRegistry
      const tools = yield* registry.toolSet
      const agent = Agent.make("a", { tools, strategy: "function_calling", system: "Help.", temperature: 0.1 })
      const response = yield* AgentExecutor.run(agent, request)
      assert.strictEqual(response.message, "done")
      assert.strictEqual(response.toolCalls[0]?.result, "x")
    }).pipe(
      Effect.provide(
        Layer.merge(
          Runs.layer([{ calls: [{ name: "echo", params: { text: "x" } }] }, "done"]),
          Layer.provide(DefaultToolRegistry.layerTools(echo), runner)
        )
      )
    )
  )

  it.effect("sends an agent's temperature under every named strategy", () =>
    Effect.gen(function* () {
      for (const strategy of ["react", "function_calling", "plan-execute"]) {
        const asked = yield* AgentExecutor.run(Agent.make("a", { temperature: 0.3, strategy }), "hi").pipe(
          Effect.zipRight(TestModel.requests),
          Effect.provide(Runs.layer(() => ({ text: "FINAL_ANSWER: done" })))
        )
        assert.isAbove(asked.length, 0)
        assert.deepStrictEqual(new Set(asked.map(({ settings }) => settings?.temperature)), new Set([0.3]))
      }
    })
  )

  it.effect("passes configuration values to strategies and requests", () => {
    const config = { maxIterations: 3, toolMaxRetries: 2, defaultTemperature: 0.2, defaultMaxTokens: 99 }
    return Effect.gen(function* () {
      const { message } = yield* AgentExecutor.run(Agent.make("a", { strategy: marking }), "hi")
      assert.deepInclude(JSON.parse(message), { maxIterations: 3, toolMaxAttempts: 2 })
      const circling = Agent.make("a", { tools: [echo], strategy: "function_calling" })
      yield* Effect.exit(AgentExecutor.run(circling, "hi"))
      const asked = yield* TestModel.requests
      assert.strictEqual(asked.filter(({ tools }) => tools !== undefined).length, 3)
      assert.deepInclude(asked[0]?.settings, { temperature: 0.2, maxTokens: 99 })
    }).pipe(
      Effect.provide(
        Runs.layer((_, index) => ({ calls: [{ name: "echo", params: { text: String(index) } }] }), { config })
      )
    )
  })

  it.effect("enforces guards and governance of an agent without any of the executor", () => {
    const own = Collaborators.governance()
    return Effect.gen(function* () {
      const guarded = Agent.make("a", {
        guards: [Collaborators.guard("strict", ["input"], (text) => (text === "hi" ? false : undefined))],
        governance: own.service
      })
      assert.strictEqual((yield* Effect.flip(AgentExecutor.run(guarded, "hi")))._tag, "InputGuardError")
      yield* AgentExecutor.run(guarded, "hello")
      const reserved = own.told.filter(({ op }) => op === "reserve").length
      assert.strictEqual(reserved, 1)
      const denying = Collaborators.governance({ checkRequest: () => Effect.succeed(Governance.deny(broke)) })
      const denied = plain.pipe(Agent.withGovernance(denying.service))
      assert.strictEqual((yield* Effect.flip(AgentExecutor.run(denied, "hello")))._tag, "BudgetExceededError")
    }).pipe(Effect.provide(Runs.layer(["hello"])))
  })

  it.effect("publishes events of runs", () => {
    const bus = listening()
    return Effect.gen(function* () {
      yield* AgentExecutor.run(Agent.make("a", { tools: [echo] }), "hi")
      const kinds = [
        AgentDomainEvents.AgentExecutionStartedEvent,
        AgentDomainEvents.ToolExecutionCompletedEvent,
        AgentDomainEvents.AgentExecutionCompletedEvent,
        AgentDomainEvents.AgentRunCompletedEvent
      ]
      assert.deepStrictEqual(
        bus.told.map((event) => kinds.findIndex((kind) => kind.is(event as never))),
        [0, 1, 2, 3]
      )
    }).pipe(
      Effect.provide(Runs.layer([{ calls: [{ name: "echo", params: { text: "x" } }] }, "done"], { events: bus.layer }))
    )
  })

  it.effect("calls hooks of runs and of their tool calls", () => {
    const fired: Array<string> = []
    const note = (what: string) => Effect.sync(() => void fired.push(what))
    return Effect.gen(function* () {
      yield* Hooks.on(AgentHooks.AgentStartedHook, ({ agentName }) => note(`started ${agentName}`))
      yield* Hooks.on(AgentHooks.AgentToolCalledHook, ({ toolName }) => note(`called ${toolName}`))
      yield* Hooks.on(AgentHooks.AgentCompletedHook, ({ agentName }) => note(`completed ${agentName}`))
      yield* AgentExecutor.run(Agent.make("a", { tools: [echo] }), "hi")
      assert.deepStrictEqual(fired, ["started a", "called echo", "completed a"])
    }).pipe(
      Effect.scoped,
      Effect.provide(
        Layer.merge(
          Runs.layer([{ calls: [{ name: "echo", params: { text: "x" } }] }, "done"], { hooks: Hooks.layer }),
          Hooks.layer
        )
      )
    )
  })

  it.effect("offers skills as tools to react, besides those of the agent", () => {
    const skills = Collaborators.skills(
      [{ name: "double", description: "Twice a number", parameters: { type: "object", properties: { n: {} } } }],
      () =>
        Effect.succeed({
          skillName: "double",
          success: true,
          output: 42,
          durationMs: 1,
          cached: false,
          attempt: 1,
          metadata: {}
        })
    )
    return Effect.gen(function* () {
      const agent = Agent.make("a", { tools: [echo], strategy: "react" })
      const response = yield* AgentExecutor.run(agent, "hi")
      assert.strictEqual(response.message, "42 it is")
      assert.deepStrictEqual(
        response.toolCalls.map(({ name, result }) => [name, result]),
        [
          ["echo", "x"],
          ["double", 42]
        ]
      )
    }).pipe(
      Effect.provide(
        Runs.layer(
          [
            { text: "echo", calls: [{ id: "c1", name: "echo", params: { text: "x" } }] },
            { text: "double", calls: [{ id: "c2", name: "double", params: { n: 21 } }] },
            "42 it is"
          ],
          { skills: skills.layer }
        )
      )
    )
  })

  it.effect("continues an active session without a failing transition", () => {
    const sessions = Sessions.layer({ cleanup: false })
    const access = { userId: UserId.make(request.userId) }
    const id = SessionId.make(request.sessionId)
    return Effect.gen(function* () {
      const manager = yield* SessionManager.SessionManager
      yield* AgentExecutor.run(plain, request)
      assert.strictEqual(Option.getOrThrow(yield* manager.get(id, access)).status, "active")
      const second = yield* AgentExecutor.run(plain, request)
      assert.strictEqual(second.sessionId, "s")
      assert.deepStrictEqual(
        (yield* manager.turns(id, { ...access, last: 10 })).map(({ content }) => content),
        ["hi", "1", "hi", "2"]
      )
      assert.strictEqual((yield* manager.list(access.userId)).sessions.length, 1)
    }).pipe(Effect.provide(Layer.merge(Runs.layer(["1", "2"], { sessions }), sessions)))
  })
})

describe("saved runs", () => {
  it.effect("overwrite nothing when a second run has the same number of steps", () => {
    const memory = Collaborators.memory()
    const sessions = Collaborators.sessions()
    return Effect.gen(function* () {
      for (let i = 0; i < 2; i++) yield* AgentExecutor.run(plain, request)
      assert.deepStrictEqual(
        memory.entries().map(({ content }) => content),
        ["hi", "1", "hi", "2"]
      )
      assert.strictEqual(new Set(sessions.turns("s").map(({ id }) => id)).size, 4)
    }).pipe(Effect.provide(Runs.layer(["1", "2"], { memory: memory.layer, sessions: sessions.layer })))
  })

  it.effect("record type and session of entries, so that a recall by these finds them", () => {
    const kept = Collaborators.memory()
    const memory = Collaborators.memory({
      ...kept.service,
      assemble: ({ ownerId, sessionId }) =>
        Effect.sync(() => ({
          entries: kept
            .entries()
            .filter(
              (entry) => entry.ownerId === ownerId && entry.sessionId === sessionId && entry.metadata["type"] === "turn"
            ),
          facts: [],
          tools: [],
          tokens: 0,
          report: []
        }))
    })
    return Effect.gen(function* () {
      yield* AgentExecutor.run(plain, { ...request, input: "my name is Ada" })
      yield* AgentExecutor.run(plain, { ...request, input: "who am I?" })
      yield* AgentExecutor.run(plain, { ...request, input: "who am I?", sessionId: "another" })
      const [, second, third] = (yield* TestModel.requests).map(({ messages }) => JSON.stringify(messages))
      assert.include(second, "my name is Ada")
      assert.notInclude(third, "my name is Ada")
    }).pipe(Effect.provide(Runs.layer(["hello", "Ada", "?"], { memory: memory.layer })))
  })

  it.effect("book costs at published prices", () => {
    const governance = Collaborators.governance()
    return Effect.gen(function* () {
      const response = yield* AgentExecutor.run(plain, "hi")
      assert.closeTo(response.costUsd ?? 0, (10 * 2 + 5 * 8) / 1e6, 1e-12)
      const settled = governance.told.flatMap((one) => (one.op === "settle" ? [one.cost] : []))
      assert.deepStrictEqual(settled, [response.costUsd])
    }).pipe(
      Effect.provide(
        Runs.layer([{ text: "hello", usage }], {
          governance: Layer.succeed(Governance.Governance, governance.service),
          prices: CostEstimator.layerPrices({ "test-model": { input: 2, output: 8 } })
        })
      )
    )
  })
})

describe("visibility of tools", () => {
  const owned = (owner: string) =>
    Tool.make(`of_${owner}`, { description: "d", owner, handler: () => Effect.as(Effect.yieldNow(), owner) })
  const registry = Layer.provide(DefaultToolRegistry.layerTools(owned("shop"), owned("bank")), runner)
  const modules = ModuleGraph.layer({ modules: { shop: {}, bank: {} } })
  const calls = ["of_shop", "of_bank"].map((name) => ({ name }))

  it.effect("of a registry's tools applies during a run, for each run's own agent", () =>
    Effect.gen(function* () {
      const tools = yield* Effect.flatMap(ToolRegistry.ToolRegistry, (one) => one.toolSet)
      const ran = (module: string) =>
        Effect.map(
          AgentExecutor.run(Agent.make(module, { tools, module, strategy: "function_calling" }), "hi"),
          (response) => response.toolCalls.map(({ error, name }) => `${name} ${error?.tag ?? "ran"}`).sort()
        )
      // Side by side, so that one module for all of them would show.
      const [shop, bank] = yield* Effect.all([ran("shop"), ran("bank")], { concurrency: 2 })
      assert.deepStrictEqual(shop, ["of_bank ToolAccessDeniedError", "of_shop ran"])
      assert.deepStrictEqual(bank, ["of_bank ran", "of_shop ToolAccessDeniedError"])
      for (const { tools } of yield* TestModel.requests) assert.strictEqual(tools?.length, 1)
    }).pipe(
      Effect.provide(
        Layer.merge(
          Runs.layer(
            ({ messages }) =>
              Effect.as(Effect.yieldNow(), messages.some(({ role }) => role === "tool") ? "done" : { calls }),
            { modules }
          ),
          registry
        )
      )
    )
  )
})

describe("streaming", () => {
  const tools = [
    Tool.make("slow", { description: "Takes a second", handler: () => Effect.as(Effect.sleep("1 second"), "seen") })
  ] as const
  const agent = Agent.make("streaming", { tools })
  const script: Parameters<typeof TestModel.layer>[0] = [
    { text: "I look", calls: [{ name: "slow" }], delay: "1 second", usage },
    { text: ["all ", "done"], delay: "1 second", usage }
  ]
  const passing = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
    Effect.gen(function* () {
      const fiber = yield* Effect.fork(effect)
      for (let second = 0; second < 4; second++) yield* TestClock.adjust("1 second")
      return yield* Fiber.join(fiber)
    })

  it.effect("shows thoughts and tool calls while the run goes on", () =>
    Effect.gen(function* () {
      const seen: Array<string> = []
      const fiber = yield* Effect.fork(
        Stream.runForEach(AgentExecutor.stream(agent, "hi"), ({ _tag }) => Effect.sync(() => void seen.push(_tag)))
      )
      yield* TestClock.adjust("1 millis")
      assert.deepStrictEqual(seen.splice(0), ["Started", "StepStarted"])
      yield* TestClock.adjust("1 second")
      const second = seen.splice(0)
      assert.includeMembers(second, ["TextDelta", "Thought", "ToolCall"])
      assert.notInclude(second, "ToolResult")
      yield* TestClock.adjust("1 second")
      const third = seen.splice(0)
      assert.include(third, "ToolResult")
      assert.notInclude(third, "Message")
      yield* TestClock.adjust("1 second")
      assert.isTrue(Exit.isSuccess(yield* Fiber.await(fiber)))
    }).pipe(Effect.provide(Runs.layer(script)))
  )

  it.effect("has the session, memory, metrics, tracing and cost of run", () =>
    Effect.gen(function* () {
      const counter = Metric.tagged(
        Metric.counter(AgentMetrics.METRIC_AGENT_EXECUTIONS_TOTAL, { incremental: true }),
        "agent",
        "streaming"
      )
      const kept = (use: typeof AgentExecutor.run<string, never, never>) =>
        Effect.gen(function* () {
          const memory = Collaborators.memory()
          const sessions = Collaborators.sessions()
          const governance = Collaborators.governance()
          const spans: Array<string> = []
          const tracer = Tracer.make({
            context: (f) => f(),
            span: (name, parent, context, links, startTime, kind) => {
              const attributes = new Map<string, unknown>()
              return {
                _tag: "Span",
                name,
                spanId: "span",
                traceId: "trace",
                parent,
                context,
                links,
                kind,
                sampled: true,
                status: { _tag: "Started", startTime },
                attributes,
                attribute: (key, value) => void attributes.set(key, value),
                event: () => {},
                addLinks: () => {},
                end: () => void spans.push(`${name} ${String(attributes.get("agent.tokens") ?? "")}`)
              }
            }
          })
          const before = (yield* Metric.value(counter)).count
          yield* passing(use(agent, { ...request, runId: "r" })).pipe(
            Effect.withTracer(tracer),
            Effect.provide(
              Runs.layer(script, {
                memory: memory.layer,
                sessions: sessions.layer,
                governance: Layer.succeed(Governance.Governance, governance.service),
                prices: CostEstimator.layerPrices({ "test-model": { input: 2, output: 8 } })
              })
            )
          )
          return {
            turns: sessions.turns("s").map(({ timestamp: _, ...turn }) => turn),
            entries: memory.entries().map(({ timestamp: _, ...entry }) => entry),
            told: governance.told.map((one) =>
              one.op === "audit" ? { ...one, entry: { ...one.entry, latencyMs: 0 } } : one
            ),
            spans,
            executions: (yield* Metric.value(counter)).count - before
          }
        })
      const ran = yield* kept(AgentExecutor.run as never)
      const streamed = yield* kept(((one: typeof agent, asked: typeof request) =>
        Stream.runDrain(AgentExecutor.stream(one, asked))) as never)
      assert.deepStrictEqual(streamed, ran)
      assert.strictEqual(ran.turns.length, 2)
      assert.isAbove(ran.turns[1]?.cost ?? 0, 0)
      assert.strictEqual(ran.entries.length, 2)
      assert.strictEqual(ran.executions, 1)
      assert.include(ran.spans, "agent.execute.streaming 30")
      assert.strictEqual(ran.told.filter(({ op }) => op === "settle").length, 2)
    })
  )

  it.effect("shows, sends and saves the redacted text of message and answer", () => {
    const memory = Collaborators.memory()
    const sessions = Collaborators.sessions()
    const hides = Collaborators.guard("hides", ["input", "output"], (text) => text.replaceAll("secret", "[…]"))
    return Effect.gen(function* () {
      const { events } = yield* Runs.record(AgentExecutor.stream(plain, { ...request, input: "my secret" }))
      assert.strictEqual(Runs.of(events, "InputChecked")[0]?.input, "my […]")
      assert.strictEqual(Runs.of(events, "Message")[0]?.text, "your […]")
      const everything = [events, yield* TestModel.requests, memory.entries(), sessions.turns("s")]
      assert.notInclude(JSON.stringify(everything), "secret")
      assert.deepStrictEqual(
        sessions.turns("s").map(({ content }) => content),
        ["my […]", "your […]"]
      )
    }).pipe(
      Effect.provide(
        Runs.layer([{ text: ["your ", "sec", "ret"] }], {
          memory: memory.layer,
          sessions: sessions.layer,
          guards: DefaultGuardPipeline.layerGuards([hides])
        })
      )
    )
  })

  it.effect("records memory for the user, whatever the session", () => {
    const memory = Collaborators.memory()
    return Effect.gen(function* () {
      yield* Stream.runDrain(AgentExecutor.stream(plain, request))
      assert.deepStrictEqual(
        memory.entries().map(({ ownerId }) => ownerId as string),
        ["ada", "ada"]
      )
      assert.deepStrictEqual(
        memory.asked.map(({ ownerId }) => ownerId),
        ["ada"]
      )
    }).pipe(Effect.provide(Runs.layer(["hello"], { memory: memory.layer })))
  })

  it.effect("reports a failure with tag and code once and last, before the stream fails with it", () =>
    Effect.gen(function* () {
      const { events, exit } = yield* Runs.record(AgentExecutor.stream(plain, "hi"))
      const last = events.at(-1) as AgentEvent & { readonly _tag: "Error" }
      const error = yield* Effect.flip(exit)
      assert.deepInclude(last.error, { tag: error._tag, code: error.code })
      assert.strictEqual(Runs.of(events, "Error").length, 1)
      assert.deepStrictEqual(Runs.of(events, "Finished"), [])
    }).pipe(Effect.provide(Runs.layer([{ fail: Collaborators.overloaded }])))
  )
})
