/**
 * Failures of an agent besides those of its model, its tools and its reasoning.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"
import { Reached } from "../../domain/AgentResponse.js"
import * as ErrorCode from "../../domain/ErrorCode.js"
import { BudgetExceededError } from "../../governance/store/GovernanceError.js"
import { StrategyError } from "../../strategy/definition/StrategyError.js"
import { ToolError } from "../../tool/definition/ToolError.js"

const fields = <const Code extends ErrorCode.ErrorCode>(code: Code) => ({
  ...ErrorCode.fields(code),
  agentName: Schema.String
})

/**
 * The agent, its request or its configuration is invalid. Found before the first model call; what a step names wrongly
 * is found before the call of that step.
 *
 * @since 0.1.0
 * @category errors
 */
export class AgentConfigurationError extends ErrorCode.TaggedError<AgentConfigurationError>(
  "effect-lexigram/agent/AgentError/AgentConfigurationError"
)("AgentConfigurationError", fields("LEX_ERR_AGT_004")) {}

/**
 * A delegated agent failed. `error` has its failure.
 *
 * @since 0.1.0
 * @category errors
 */
export class AgentExecutionError extends ErrorCode.TaggedError<AgentExecutionError>(
  "effect-lexigram/agent/AgentError/AgentExecutionError"
)("AgentExecutionError", { ...fields("LEX_ERR_AGT_005"), stepNumber: Schema.optional(Schema.Number) }) {}

/**
 * The run reached one of its limits: wall-clock time in milliseconds, tokens, US dollars, model calls or tool calls, or
 * the tokens or US dollars of one step.
 * `partial` is the response so far.
 *
 * @since 0.1.0
 * @category errors
 */
export class RunLimitExceededError extends ErrorCode.TaggedError<RunLimitExceededError>(
  "effect-lexigram/agent/AgentError/RunLimitExceededError"
)("RunLimitExceededError", {
  ...fields("LEX_ERR_AGT_104"),
  limitType: Schema.Literal("time", "tokens", "cost", "model-calls", "tool-calls", "step-tokens", "step-cost"),
  limit: Schema.Number,
  used: Schema.Number,
  partial: Schema.optional(Reached)
}) {}

/**
 * A conversation was not handed over: it was handed over too often, another agent has taken it, or no run here can hand
 * it over. The model reads it as an observation; `Tool.failOn("HandoffError")` makes it the failure of the run.
 *
 * @since 0.1.0
 * @category errors
 */
export class HandoffError extends ErrorCode.TaggedError<HandoffError>("effect-lexigram/agent/AgentError/HandoffError")(
  "HandoffError",
  { ...fields("LEX_ERR_AGT_114"), toAgent: Schema.String, reason: Schema.Literal("limit", "taken", "outside") }
) {}

/**
 * A crew is invalid (found before the first model call), its manager did not assign every task, or the output of a task
 * was rejected in all attempts.
 *
 * @since 0.1.0
 * @category errors
 */
export class CrewError extends ErrorCode.TaggedError<CrewError>("effect-lexigram/agent/AgentError/CrewError")(
  "CrewError",
  {
    ...ErrorCode.fields("LEX_ERR_AGT_111"),
    crewName: Schema.String,
    reason: Schema.Literal(
      "no-agents",
      "no-tasks",
      "duplicate-agent",
      "duplicate-task",
      "unknown-agent",
      "unknown-context",
      "cycle",
      "order",
      "assignment",
      "rejected"
    ),
    task: Schema.optional(Schema.String)
  }
) {}

/**
 * Any failure of an agent, including those of its tools and its reasoning.
 *
 * @since 0.1.0
 * @category schemas
 */
export const AgentError = ErrorCode.Union(
  AgentConfigurationError,
  AgentExecutionError,
  RunLimitExceededError,
  HandoffError,
  CrewError,
  BudgetExceededError,
  ...ToolError.members,
  ...StrategyError.members
)
/**
 * @since 0.1.0
 * @category models
 */
export type AgentError = typeof AgentError.Type
