import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Metric from "effect/Metric"
import * as Schema from "effect/Schema"
import * as AgentExecutor from "../../src/agent/AgentExecutor.js"
import * as Agent from "../../src/agent/definition/Agent.js"
import * as AgentEvent from "../../src/domain/AgentEvent.js"
import * as AgentResponse from "../../src/domain/AgentResponse.js"
import * as DefaultGovernance from "../../src/governance/DefaultGovernance.js"
import * as Governance from "../../src/governance/Governance.js"
import * as DefaultModelRouter from "../../src/llm/DefaultModelRouter.js"
import * as AgentMetrics from "../../src/observability/AgentMetrics.js"
import * as Run from "../../src/observability/Run.js"
import * as RunLog from "../../src/observability/RunLog.js"
import * as Strategy from "../../src/strategy/definition/Strategy.js"
import * as StrategyError from "../../src/strategy/definition/StrategyError.js"
import * as EventRecorder from "../../src/testing/EventRecorder.js"
import type * as TestModel from "../../src/testing/TestModel.js"
import * as Tool from "../../src/tool/definition/Tool.js"
import * as Collaborators from "../support/Collaborators.js"
import * as Runs from "../support/Runs.js"

class Broken extends Schema.TaggedError<Broken>()("Broken", { part: Schema.String }) {}

const echo = Tool.make("echo", {
  description: "Says it again",
  parameters: { text: Schema.String },
  handler: ({ text }) => Effect.succeed(text)
})
const broken = Tool.make("broken", {
  description: "Breaks",
  handler: () => Effect.fail(new Broken({ part: "gear" })),
  fatal: true
})
const script: ReadonlyArray<TestModel.Turn> = [
  { reasoning: "hm", text: "let me see", calls: [{ name: "echo", params: { text: "a" } }, { name: "nothing" }] },
  { text: ["it ", "is ", "a"] }
]
const agent = Agent.make("a", { system: "You help.", tools: [echo, broken] })

const untimed = ({ durationMs: _d, runId: _r, ...rest }: AgentResponse.AgentResponse<unknown>) =>
  JSON.parse(JSON.stringify(rest))

/** The same run both ways, each over a fresh model. */
const both = <O, E>(agent: Agent.Agent<O, E>, script: Parameters<typeof Runs.layer>[0]) =>
  Effect.gen(function* () {
    const log = Collaborators.log()
    const request = { input: "hi", userId: "ada" }
    const run = yield* Effect.exit(AgentExecutor.run(agent, request)).pipe(
      Effect.provide(Runs.layer(script, { log: log.layer }))
    )
    const recording = yield* Runs.record(AgentExecutor.stream(agent, request)).pipe(Effect.provide(Runs.layer(script)))
    return { run, logged: log.events, ...recording }
  })

const told = (events: ReadonlyArray<AgentEvent.AgentEvent>) =>
  EventRecorder.tags(events).filter((tag) => !["TextDelta", "TextRetracted", "ReasoningDelta"].includes(tag))

describe("AgentExecutor", () => {
  it.effect("emits the same events from run and stream, except for deltas, and folds them to the same response", () =>
    Effect.gen(function* () {
      const { events, exit, logged, run } = yield* both(agent, script)
      assert.isTrue(Exit.isSuccess(exit))
      if (!Exit.isSuccess(run)) return assert.fail("the run failed")
      assert.deepStrictEqual(EventRecorder.violations(events), [])
      assert.deepStrictEqual(EventRecorder.violations(logged, { log: true }), [])
      assert.deepStrictEqual(told(events), EventRecorder.tags(logged))
      assert.deepStrictEqual(
        Runs.of(events, "TextDelta").map((event) => event.text),
        ["let me see", "it ", "is ", "a"]
      )
      assert.deepStrictEqual(untimed(AgentResponse.fromEvents(events)), untimed(run.value))
      assert.deepStrictEqual(untimed(AgentResponse.fromEvents(logged)), untimed(run.value))
      assert.strictEqual(run.value.message, "it is a")
      assert.strictEqual(run.value.output, "it is a")
    })
  )

  it.effect("encodes a typed answer in the events and decodes it in the response", () =>
    Effect.gen(function* () {
      const { events, run } = yield* both(Agent.make("a", { output: Schema.Struct({ at: Schema.Date }) }), [
        '{"at": "2020-01-01T00:00:00.000Z"}'
      ])
      if (!Exit.isSuccess(run)) return assert.fail("the run failed")
      assert.instanceOf(run.value.output.at, Date)
      assert.deepStrictEqual(Runs.of(events, "Message")[0]?.output, { at: "2020-01-01T00:00:00.000Z" })
    })
  )

  it.effect("ends a failed run with an Error event and then the error itself, run or streamed", () =>
    Effect.gen(function* () {
      for (const [turns, tag] of [
        [[{ fail: Collaborators.overloaded }], "LlmUnavailableError"],
        [[{ calls: [{ name: "broken" }] }], "Broken"]
      ] as const) {
        const { events, exit, logged, run } = yield* both(agent, turns)
        assert.deepStrictEqual(EventRecorder.violations(events), [])
        assert.deepInclude(events.at(-1), { _tag: "Error", interrupted: false })
        assert.strictEqual(Runs.of(events, "Error")[0]?.error.tag, tag)
        assert.strictEqual((yield* Effect.flip(exit))._tag, tag)
        assert.strictEqual((yield* Effect.flip(run))._tag, tag)
        assert.deepStrictEqual(told(events), EventRecorder.tags(logged))
      }
    })
  )

  it.effect("reports an invalid agent or configuration as a run of two events", () =>
    Effect.gen(function* () {
      const bad = Agent.make("a", { strategy: "none such" })
      const { events, exit, run } = yield* both(bad, [])
      assert.deepStrictEqual(EventRecorder.tags(events), ["Started", "Error"])
      assert.strictEqual((yield* Effect.flip(exit))._tag, "AgentConfigurationError")
      assert.strictEqual((yield* Effect.flip(run))._tag, "AgentConfigurationError")
      const disabled = yield* Runs.record(AgentExecutor.stream(Agent.make("a"), "hi")).pipe(
        Effect.provide(Runs.layer([], { config: { enabled: false } }))
      )
      assert.deepStrictEqual(EventRecorder.tags(disabled.events), ["Started", "Error"])
    })
  )

  it.effect("encodes every event of a run and reads it back", () =>
    Effect.gen(function* () {
      const { events } = yield* both(agent, script)
      for (const event of events) {
        const encoded = JSON.parse(JSON.stringify(Schema.encodeSync(AgentEvent.AgentEvent)(event)))
        const read = Schema.decodeUnknownSync(AgentEvent.AgentEvent)(encoded)
        assert.deepStrictEqual(JSON.parse(JSON.stringify(read)), JSON.parse(JSON.stringify(event)))
      }
    })
  )

  it.effect("gives each execution of one effect a run id of its own", () =>
    Effect.gen(function* () {
      const once = AgentExecutor.run(Agent.make("a"), "hi")
      const [one, two] = [yield* once, yield* once]
      assert.notStrictEqual(one.runId, two.runId)
      assert.strictEqual(one.message, "1")
      assert.strictEqual(two.message, "2")
      assert.strictEqual(two.modelCalls, 1)
    }).pipe(Effect.provide(Runs.layer(["1", "2"])))
  )

  it.effect("counts failures by their kind", () =>
    Effect.gen(function* () {
      const counter = Metric.counter(AgentMetrics.METRIC_AGENT_EXECUTIONS_ERRORS, { incremental: true }).pipe(
        Metric.tagged("agent", "failing"),
        Metric.tagged("error_type", "Broken")
      )
      const before = (yield* Metric.value(counter)).count
      yield* Effect.flip(AgentExecutor.run(Agent.make("failing", { tools: [broken] }), "hi"))
      assert.strictEqual((yield* Metric.value(counter)).count, before + 1)
    }).pipe(Effect.provide(Runs.layer([{ calls: [{ name: "broken" }] }])))
  )

  describe("health", () => {
    const health = Effect.flatMap(AgentExecutor.AgentExecutor, (executor) => executor.health)
    const down = Effect.fail({ _tag: "Down", message: "no route" })

    it.effect("checks everything that runs wait for", () =>
      Effect.gen(function* () {
        const report = yield* health
        assert.strictEqual(report.status, "healthy")
        assert.deepStrictEqual(
          report.parts.map((part) => [part.name, part.status]),
          [
            ["llm", "unknown"],
            ["llm: planning", "healthy"],
            ["memory", "healthy"],
            ["sessions", "healthy"],
            ["governance", "healthy"],
            ["runLog", "healthy"]
          ]
        )
      }).pipe(
        Effect.provide(
          Runs.layer([], {
            router: DefaultModelRouter.layer({
              roles: {
                planning: {
                  client: { provider: "own", health: Effect.void, complete: () => Effect.dieMessage("not asked") }
                }
              }
            }),
            governance: DefaultGovernance.layer(),
            log: RunLog.layerMemory()
          })
        )
      )
    )

    it.effect("is degraded without its memory or its log, and unhealthy without its sessions or governance", () =>
      Effect.gen(function* () {
        const statusOf = (given: Parameters<typeof Runs.layer>[1]) =>
          Effect.map(Effect.provide(health, Runs.layer([], given)), ({ status }) => status)
        const governance = Effect.map(Governance.Governance, (service) => ({
          ...service,
          checkBudget: () => down as never
        }))
        const broken = { enabled: true, append: () => Effect.void, read: () => down as never }
        assert.strictEqual(
          yield* statusOf({ memory: Collaborators.memory({ health: Collaborators.storageError }).layer }),
          "degraded"
        )
        assert.strictEqual(yield* statusOf({ log: Layer.succeed(RunLog.RunLog, broken) }), "degraded")
        assert.strictEqual(
          yield* statusOf({
            governance: Layer.effect(Governance.Governance, governance).pipe(Layer.provide(DefaultGovernance.layer()))
          }),
          "unhealthy"
        )
      })
    )
  })
})

describe("a failure of the reasoning", () => {
  const common = { strategyName: "failing", message: "no", hint: "do this", cause: "why" }
  const errors = [
    new StrategyError.MaxIterationsExceededError({ ...common, maxIterations: 1, currentIteration: 1 }),
    new StrategyError.NoProgressError({ ...common, toolName: "add", repeats: 3 }),
    new StrategyError.OutputValidationError({ ...common, text: "x", issues: "y", attempts: 1 }),
    new StrategyError.StrategyReplyError({ ...common, prompt: "A/B", text: "x", issues: "y", attempts: 1 }),
    new StrategyError.PlanError({ ...common, issues: [{ reason: "cycle", message: "1 needs 1" }] }),
    new StrategyError.StrategyConfigurationError({ ...common, option: "tools" }),
    new StrategyError.StrategyBudgetError({ ...common, limitType: "tokens", limit: 1, used: 2 })
  ]

  it("catches any error of the family", () => {
    assert.deepStrictEqual(
      errors.map((error) => error._tag).sort(),
      StrategyError.StrategyError.members.map((member) => member._tag).sort()
    )
  })

  it.effect("carries the partial response and the fields it had before", () =>
    Effect.gen(function* () {
      for (const error of errors) {
        const strategy = Strategy.make("failing", () =>
          Effect.zipRight(Run.emit({ _tag: "Thought", step: 1, text: "so far" }), Effect.fail(error))
        )
        const failed = yield* Effect.flip(AgentExecutor.run(Agent.make("a", { strategy }), "hi"))
        assert.strictEqual(failed._tag, error._tag)
        const { partial, ...rest } = failed as typeof error
        assert.strictEqual(partial?.steps[0]?.thought, "so far")
        assert.deepStrictEqual({ ...rest }, { ...error })
        assert.deepStrictEqual([failed.message, failed.hint, failed.cause], ["no", "do this", "why"])
        assert.isTrue(Schema.is(StrategyError.StrategyError)(failed))
      }
    }).pipe(Effect.provide(Runs.layer([])))
  )
})
