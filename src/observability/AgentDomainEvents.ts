/**
 * Domain events published by runs.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"
import * as DomainEvent from "./DomainEvent.js"

/**
 * A run began.
 *
 * @since 0.1.0
 * @category events
 */
export const AgentExecutionStartedEvent = DomainEvent.define("AgentExecutionStartedEvent", {
  aggregateType: "run",
  fields: {
    agentName: Schema.String,
    sessionId: Schema.optional(Schema.String),
    userId: Schema.optional(Schema.String)
  }
})

/**
 * A run answered. `totalCost` in US dollars is absent when a price is unknown.
 *
 * @since 0.1.0
 * @category events
 */
export const AgentExecutionCompletedEvent = DomainEvent.define("AgentExecutionCompletedEvent", {
  aggregateType: "run",
  fields: {
    agentName: Schema.String,
    sessionId: Schema.optional(Schema.String),
    steps: Schema.Number,
    toolCalls: Schema.Number,
    totalTokens: Schema.Number,
    promptTokens: Schema.Number,
    completionTokens: Schema.Number,
    totalCost: Schema.optional(Schema.Number),
    durationMs: Schema.Number
  }
})

/**
 * A run failed or was interrupted (`errorType` is then `InterruptedError`).
 *
 * @since 0.1.0
 * @category events
 */
export const AgentExecutionFailedEvent = DomainEvent.define("AgentExecutionFailedEvent", {
  aggregateType: "run",
  fields: { agentName: Schema.String, error: Schema.String, errorType: Schema.String }
})

/**
 * A run ended, successfully or not.
 *
 * @since 0.1.0
 * @category events
 */
export const AgentRunCompletedEvent = DomainEvent.define("AgentRunCompletedEvent", {
  aggregateType: "run",
  fields: {
    agentId: Schema.String,
    runId: Schema.String,
    toolCallsCount: Schema.Number,
    success: Schema.Boolean
  }
})

/**
 * A tool call ended.
 *
 * @since 0.1.0
 * @category events
 */
export const ToolExecutionCompletedEvent = DomainEvent.define("ToolExecutionCompletedEvent", {
  aggregateType: "run",
  fields: { toolName: Schema.String, agentId: Schema.String, success: Schema.Boolean }
})
