import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Metric from "effect/Metric"
import * as AgentExecutor from "../../src/agent/AgentExecutor.js"
import * as AgentTool from "../../src/agent/AgentTool.js"
import * as Agent from "../../src/agent/definition/Agent.js"
import * as Steering from "../../src/agent/record/Steering.js"
import * as Governance from "../../src/governance/Governance.js"
import * as DefaultGuardPipeline from "../../src/guard/pipeline/DefaultGuardPipeline.js"
import * as AgentHooks from "../../src/observability/AgentHooks.js"
import * as AgentMetrics from "../../src/observability/AgentMetrics.js"
import type * as DomainEvent from "../../src/observability/DomainEvent.js"
import * as EventBus from "../../src/observability/EventBus.js"
import * as Hooks from "../../src/observability/Hooks.js"
import * as Step from "../../src/observability/Step.js"
import * as Tool from "../../src/tool/definition/Tool.js"
import * as Collaborators from "../support/Collaborators.js"
import * as Runs from "../support/Runs.js"

/** Puts the run to sleep in place of a call of a model or a tool, the last one it comes to. */
const sleeping = (at: number) => {
  const kinds: Array<string> = []
  let isSuspended = false
  const step: Step.Service = {
    isSuspended: () => isSuspended,
    run: (options, effect) =>
      Effect.suspend(() => {
        if (options.kind !== "llm" && options.kind !== "tool") return effect
        kinds.push(options.kind)
        isSuspended = kinds.length >= at
        return isSuspended ? Effect.interrupt : effect
      })
  }
  return { kinds, step }
}

const usage = { inputTokens: 2, outputTokens: 1, totalTokens: 3 }
const note = Tool.make("note", {
  description: "Somebody writes to the run meanwhile",
  handler: () => Effect.as(Effect.orDie(Steering.steer({ runId: "top", userId: "ada" }, "and now?")), "noted")
})
const sub = Agent.make("sub", { tools: [note] })
const agent = Agent.make("sleeper", { tools: [AgentTool.make(sub)] })
const request = { input: "hi", userId: "ada", sessionId: "s", runId: "top" }

const script = [
  { calls: [{ name: "delegate_to_sub", params: { message: "note it" } }], usage },
  { calls: [{ name: "note" }], usage },
  { text: "noted", usage },
  { text: "all done", usage }
]

const given = () => {
  const governance = Collaborators.governance()
  const sessions = Collaborators.sessions()
  const memory = Collaborators.memory()
  const log = Collaborators.log()
  const notices: Array<DomainEvent.Body> = []
  const completed: Array<string> = []
  const steering = Steering.layer()
  const hooks = Layer.provideMerge(
    Layer.scopedDiscard(
      Hooks.on(AgentHooks.AgentCompletedHook, ({ agentName }) => Effect.sync(() => void completed.push(agentName)))
    ),
    Hooks.layer
  )
  return {
    governance,
    sessions,
    memory,
    log,
    notices,
    completed,
    layer: Layer.merge(
      Runs.layer(
        script,
        {
          governance: Layer.succeed(Governance.Governance, governance.service),
          guards: DefaultGuardPipeline.layerGuards([
            Collaborators.guard("passing", ["input", "output"], () => undefined)
          ]),
          sessions: sessions.layer,
          memory: memory.layer,
          log: log.layer,
          steering,
          hooks,
          events: Layer.succeed(EventBus.EventBus, {
            ...EventBus.noop,
            enabled: true,
            offer: (event) => notices.push(event) > 0
          })
        },
        { exhausted: false }
      ),
      steering
    )
  }
}

const counted = (name: string) =>
  Effect.map(
    Metric.value(Metric.tagged(Metric.counter(name, { incremental: true }), "agent", "sleeper")),
    ({ count }) => count
  )

const asleepAt = (at: number) =>
  Effect.gen(function* () {
    const all = given()
    const { kinds, step } = sleeping(at)
    const executions = yield* counted(AgentMetrics.METRIC_AGENT_EXECUTIONS_TOTAL)
    const degradations = yield* counted(AgentMetrics.METRIC_AGENT_DEGRADED_TOTAL)
    const exit = yield* AgentExecutor.run(agent, request).pipe(
      Effect.provideService(Step.Step, step),
      Effect.exit,
      Effect.provide(all.layer)
    )
    return {
      ...all,
      exit,
      kinds,
      ops: all.governance.told.map((one) => (one.op === "audit" ? `audit ${one.entry.type}` : one.op)),
      types: all.notices.map((event) => event.eventType),
      tags: all.log.events.map((event) => event._tag),
      executions: (yield* counted(AgentMetrics.METRIC_AGENT_EXECUTIONS_TOTAL)) - executions,
      degradations: (yield* counted(AgentMetrics.METRIC_AGENT_DEGRADED_TOTAL)) - degradations
    }
  })

describe("a durable run that is suspended", () => {
  it.effect("does not end: nothing is written, booked, published or counted", () =>
    Effect.gen(function* () {
      const kinds: Array<string> = []
      for (let at = 1; at <= 5; at++) {
        const seen = yield* asleepAt(at)
        kinds.push(seen.kinds.at(-1) ?? "")
        const where = `asleep at step ${at}: ${seen.kinds.join()}`
        assert.isTrue(Exit.isInterrupted(seen.exit), where)
        assert.strictEqual(seen.kinds.length, at, where)
        // Once the inner run has its answer, it has ended: what is told then is its own.
        const inner = at > 4 ? 1 : 0
        assert.strictEqual(seen.tags.filter((tag) => tag === "Finished").length, inner, where)
        assert.notInclude(seen.tags, "Error", where)
        assert.strictEqual(seen.tags.filter((tag) => tag === "Message").length, inner, where)
        assert.notInclude(seen.tags, "Degraded", where)
        assert.strictEqual(seen.degradations, 0, where)
        assert.deepStrictEqual(seen.completed, inner === 0 ? [] : ["sub"], where)
        assert.notInclude(seen.ops, "release", where)
        assert.strictEqual(seen.ops.filter((op) => op === "audit agent_execution").length, inner, where)
        const reserved = seen.ops.filter((op) => op === "reserve").length
        // The run that goes on settles what is reserved for the call at which it sleeps.
        const held = seen.kinds.at(-1) === "llm" ? 1 : 0
        assert.strictEqual(seen.ops.filter((op) => op === "settle" || op === "refund").length, reserved - held, where)
        assert.strictEqual(seen.types.filter((type) => type === "AgentRunCompletedEvent").length, inner, where)
        assert.notInclude(seen.types, "AgentExecutionFailedEvent", where)
        assert.deepStrictEqual(seen.sessions.turns("s"), [], where)
        assert.deepStrictEqual(
          seen.memory.entries().filter(({ runId }) => runId === request.runId),
          [],
          where
        )
        assert.strictEqual(seen.executions, 0, where)
      }
      assert.deepStrictEqual(kinds, ["llm", "llm", "tool", "llm", "llm"])
    })
  )

  it.effect("ends like any other run without a suspension", () =>
    Effect.gen(function* () {
      const seen = yield* asleepAt(Number.POSITIVE_INFINITY)
      assert.isTrue(Exit.isSuccess(seen.exit))
      assert.deepStrictEqual(seen.completed, ["sub", "sleeper"])
      assert.deepStrictEqual(seen.ops.slice(-2), ["audit agent_execution", "release"])
      assert.strictEqual(seen.types.at(-1), "AgentRunCompletedEvent")
      assert.strictEqual(seen.tags.at(-1), "Finished")
      assert.deepStrictEqual(
        seen.sessions.turns("s").map(({ content }) => content),
        ["hi", "and now?", "all done"]
      )
      assert.strictEqual(seen.executions, 1)
    })
  )
})
