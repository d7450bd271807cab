import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Metric from "effect/Metric"
import * as MetricState from "effect/MetricState"
import * as AgentMetrics from "../../src/observability/AgentMetrics.js"

/** The metrics of one agent, by name and further labels. */
const read = (agent: string) =>
  Effect.map(Metric.snapshot, (pairs) => {
    const values = new Map<string, unknown>()
    for (const { metricKey, metricState } of pairs) {
      const tags = metricKey.tags.map((tag) => [tag.key, tag.value] as const)
      if (!tags.some(([key, value]) => key === "agent" && value === agent)) continue
      const rest = tags.filter(([key]) => key !== "agent").map(([key, value]) => `${key}=${value}`)
      values.set(
        [metricKey.name, ...rest.sort()].join(" "),
        MetricState.isCounterState(metricState)
          ? Number(metricState.count)
          : MetricState.isHistogramState(metricState)
            ? { count: metricState.count, sum: metricState.sum, min: metricState.min, max: metricState.max }
            : undefined
      )
    }
    return values
  })

const histogram = (...values: ReadonlyArray<number>) => ({
  count: values.length,
  sum: values.reduce((a, b) => a + b, 0),
  min: Math.min(...values),
  max: Math.max(...values)
})

describe("AgentMetrics", () => {
  it.effect("count runs, their size, failures and denials", () =>
    Effect.gen(function* () {
      const metrics = AgentMetrics.forAgent("metrics-runs")
      metrics.executed({ durationMs: 100, tokens: 30, steps: 2, toolCalls: 1, failedToolCalls: 0 })
      metrics.executed({ durationMs: 50, tokens: 10, steps: 1, toolCalls: 3, failedToolCalls: 2 })
      metrics.failed("LlmTimeoutError")
      metrics.failed("LlmTimeoutError")
      metrics.failed("NoProgressError")
      metrics.denied()
      metrics.degraded("memory")
      metrics.degraded("memory")
      metrics.degraded("cost")
      metrics.delegated("writer")
      const values = yield* read("metrics-runs")
      assert.deepStrictEqual(Object.fromEntries(values), {
        "agent.executions.total": 2,
        "agent.execution.duration_ms": histogram(100, 50),
        "agent.execution.tokens": histogram(30, 10),
        "agent.execution.steps": histogram(2, 1),
        "agent.execution.tool_calls": histogram(1, 3),
        "agent.executions.errors error_type=LlmTimeoutError": 2,
        "agent.executions.errors error_type=NoProgressError": 1,
        "agent.tool_calls.failed": 2,
        "agent.governance.denied": 1,
        "agent.degraded.total stage=memory": 2,
        "agent.degraded.total stage=cost": 1,
        "agent.delegations.total to=writer": 1
      })
    })
  )

  it.effect("count the calls of each tool", () =>
    Effect.gen(function* () {
      const metrics = AgentMetrics.forAgent("metrics-tools")
      metrics.tool("search").record({ durationMs: 5, isFailure: false })
      metrics.tool("search").record({ durationMs: 7, isFailure: true })
      metrics.tool("add").record({ durationMs: 1, isFailure: false })
      const values = yield* read("metrics-tools")
      assert.deepInclude(Object.fromEntries(values), {
        "agent.tool_calls.total tool=search": 2,
        "agent.tool_calls.success tool=search": 1,
        "agent.tool_calls.failure tool=search": 1,
        "agent.tool_call.duration_ms tool=search": histogram(5, 7),
        "agent.tool_calls.total tool=add": 1,
        "agent.tool_calls.success tool=add": 1
      })
    })
  )

  it("are made once an agent and tool", () => {
    const metrics = AgentMetrics.forAgent("metrics-once")
    assert.strictEqual(AgentMetrics.forAgent("metrics-once"), metrics)
    assert.strictEqual(metrics.tool("a"), metrics.tool("a"))
    assert.notStrictEqual(AgentMetrics.forAgent("metrics-other").tool("a"), metrics.tool("a"))
  })

  it("have the published names", () => {
    const names = Object.entries(AgentMetrics).filter(([key]) => key.startsWith("METRIC_"))
    assert.deepStrictEqual(
      names.map(([key]) => key).sort(),
      names.map(([, name]) => `METRIC_${String(name).replace(/\./g, "_").toUpperCase()}`).sort()
    )
    assert.sameMembers(
      names.map(([, name]) => name),
      [
        "agent.executions.total",
        "agent.execution.duration_ms",
        "agent.execution.tokens",
        "agent.execution.steps",
        "agent.execution.tool_calls",
        "agent.executions.errors",
        "agent.tool_calls.total",
        "agent.tool_calls.success",
        "agent.tool_calls.failure",
        "agent.tool_call.duration_ms",
        "agent.tool_calls.failed",
        "agent.governance.denied",
        "agent.degraded.total",
        "agent.delegations.total"
      ]
    )
  })
})
