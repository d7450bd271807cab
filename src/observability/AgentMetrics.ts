/**
 * Metrics of runs and tool calls, on Effect's `Metric`.
 *
 * @since 0.1.0
 */

import * as MetricBoundaries from "effect/MetricBoundaries"
import * as Observed from "./Observed.js"

/**
 * @since 0.1.0
 * @category constants
 */
export const METRIC_AGENT_EXECUTIONS_TOTAL = "agent.executions.total"
/**
 * @since 0.1.0
 * @category constants
 */
export const METRIC_AGENT_EXECUTION_DURATION_MS = "agent.execution.duration_ms"
/**
 * @since 0.1.0
 * @category constants
 */
export const METRIC_AGENT_EXECUTION_TOKENS = "agent.execution.tokens"
/**
 * @since 0.1.0
 * @category constants
 */
export const METRIC_AGENT_EXECUTION_STEPS = "agent.execution.steps"
/**
 * @since 0.1.0
 * @category constants
 */
export const METRIC_AGENT_EXECUTION_TOOL_CALLS = "agent.execution.tool_calls"
/**
 * @since 0.1.0
 * @category constants
 */
export const METRIC_AGENT_EXECUTIONS_ERRORS = "agent.executions.errors"
/**
 * @since 0.1.0
 * @category constants
 */
export const METRIC_AGENT_TOOL_CALLS_TOTAL = "agent.tool_calls.total"
/**
 * @since 0.1.0
 * @category constants
 */
export const METRIC_AGENT_TOOL_CALLS_SUCCESS = "agent.tool_calls.success"
/**
 * @since 0.1.0
 * @category constants
 */
export const METRIC_AGENT_TOOL_CALLS_FAILURE = "agent.tool_calls.failure"
/**
 * Failed tool calls of a run, counted once when the run ends.
 *
 * @since 0.1.0
 * @category constants
 */
export const METRIC_AGENT_TOOL_CALLS_FAILED = "agent.tool_calls.failed"
/**
 * @since 0.1.0
 * @category constants
 */
export const METRIC_AGENT_TOOL_CALL_DURATION_MS = "agent.tool_call.duration_ms"
/**
 * @since 0.1.0
 * @category constants
 */
export const METRIC_AGENT_GOVERNANCE_DENIED = "agent.governance.denied"
/**
 * Stages that failed and were skipped without breaking the run, such as saving memory.
 *
 * @since 0.1.0
 * @category constants
 */
export const METRIC_AGENT_DEGRADED_TOTAL = "agent.degraded.total"
/**
 * Runs of other agents that an agent started.
 *
 * @since 0.1.0
 * @category constants
 */
export const METRIC_AGENT_DELEGATIONS_TOTAL = "agent.delegations.total"

const milliseconds = MetricBoundaries.exponential({ start: 1, factor: 2, count: 20 })
const tokens = MetricBoundaries.exponential({ start: 16, factor: 2, count: 18 })
const counts = MetricBoundaries.linear({ start: 0, width: 1, count: 32 })

/**
 * The metrics of one tool of one agent.
 *
 * @since 0.1.0
 * @category models
 */
export interface ToolMetrics {
  readonly record: (result: { readonly durationMs: number; readonly isFailure: boolean }) => void
}

/**
 * The metrics of one agent.
 *
 * @since 0.1.0
 * @category models
 */
export interface AgentMetrics {
  readonly executed: (run: {
    readonly durationMs: number
    readonly tokens: number
    readonly steps: number
    readonly toolCalls: number
    readonly failedToolCalls: number
  }) => void
  readonly failed: (errorType: string) => void
  readonly denied: () => void
  /** A stage failed, and the run continued without it. */
  readonly degraded: (stage: string) => void
  /** The agent delegated a task to another one. */
  readonly delegated: (to: string) => void
  readonly tool: (name: string) => ToolMetrics
}

const make = (agent: string): AgentMetrics => {
  const total = Observed.counter(METRIC_AGENT_EXECUTIONS_TOTAL, { agent })
  const duration = Observed.histogram(METRIC_AGENT_EXECUTION_DURATION_MS, milliseconds, { agent })
  const tokenCount = Observed.histogram(METRIC_AGENT_EXECUTION_TOKENS, tokens, { agent })
  const steps = Observed.histogram(METRIC_AGENT_EXECUTION_STEPS, counts, { agent })
  const toolCalls = Observed.histogram(METRIC_AGENT_EXECUTION_TOOL_CALLS, counts, { agent })
  const failedCalls = Observed.counter(METRIC_AGENT_TOOL_CALLS_FAILED, { agent })
  const each = (name: string, label: string) => {
    const count = Observed.each((value: string) => Observed.counter(name, { agent, [label]: value }))
    return (value: string) => count(value)()
  }
  return {
    executed: (run) => {
      total()
      duration(run.durationMs)
      tokenCount(run.tokens)
      steps(run.steps)
      toolCalls(run.toolCalls)
      if (run.failedToolCalls > 0) failedCalls(run.failedToolCalls)
    },
    failed: each(METRIC_AGENT_EXECUTIONS_ERRORS, "error_type"),
    denied: Observed.counter(METRIC_AGENT_GOVERNANCE_DENIED, { agent }),
    degraded: each(METRIC_AGENT_DEGRADED_TOTAL, "stage"),
    delegated: each(METRIC_AGENT_DELEGATIONS_TOTAL, "to"),
    tool: Observed.each((tool: string) => makeTool({ agent, tool }))
  }
}

const makeTool = (labels: Observed.Labels): ToolMetrics => {
  const all = Observed.counter(METRIC_AGENT_TOOL_CALLS_TOTAL, labels)
  const success = Observed.counter(METRIC_AGENT_TOOL_CALLS_SUCCESS, labels)
  const failure = Observed.counter(METRIC_AGENT_TOOL_CALLS_FAILURE, labels)
  const time = Observed.histogram(METRIC_AGENT_TOOL_CALL_DURATION_MS, milliseconds, labels)
  return {
    record: (result) => {
      all()
      if (result.isFailure) failure()
      else success()
      time(result.durationMs)
    }
  }
}

/**
 * The metrics of an agent, created once per name. Names come from programs, never from models, so the label sets are
 * bounded.
 *
 * @since 0.1.0
 * @category constructors
 */
export const forAgent: (agent: string) => AgentMetrics = Observed.each(make)
