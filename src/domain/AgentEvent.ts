/**
 * Events of a run, as plain tagged objects. The stream of events is the truth; everything else is derived from it.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"
import type { Meta } from "./EventSchema.js"
import * as ReasoningEvents from "./ReasoningEvents.js"
import * as RunEvents from "./RunEvents.js"

export type { Meta } from "./EventSchema.js"
export * from "./ReasoningEvents.js"
export * from "./RunEvents.js"

/**
 * @since 0.1.0
 * @category models
 */
export type AgentEvent =
  | RunEvents.Started
  | RunEvents.InputChecked
  | RunEvents.Steered
  | RunEvents.StepStarted
  | ReasoningEvents.TextDelta
  | ReasoningEvents.TextRetracted
  | ReasoningEvents.ReasoningDelta
  | ReasoningEvents.Thought
  | ReasoningEvents.Plan
  | ReasoningEvents.ToolCall
  | ReasoningEvents.ToolProgress
  | ReasoningEvents.ToolResult
  | ReasoningEvents.ToolCompensated
  | ReasoningEvents.ProviderToolUsed
  | ReasoningEvents.ApprovalRequested
  | ReasoningEvents.ApprovalResolved
  | ReasoningEvents.QuestionAsked
  | ReasoningEvents.QuestionAnswered
  | ReasoningEvents.Delegated
  | ReasoningEvents.Critique
  | ReasoningEvents.NodeFinished
  | ReasoningEvents.NodeEmitted
  | RunEvents.UsageReported
  | RunEvents.GuardTriggered
  | RunEvents.FilesKept
  | RunEvents.MemoryRecalled
  | RunEvents.AnswerRejected
  | RunEvents.Degraded
  | RunEvents.Message
  | RunEvents.Error
  | RunEvents.Finished

/**
 * Any event, for encoding and decoding. Events in memory are plain objects that never pass through this schema.
 *
 * @since 0.1.0
 * @category schemas
 */
export const AgentEvent = Schema.Union(
  RunEvents.Started,
  RunEvents.InputChecked,
  RunEvents.Steered,
  RunEvents.StepStarted,
  ReasoningEvents.TextDelta,
  ReasoningEvents.TextRetracted,
  ReasoningEvents.ReasoningDelta,
  ReasoningEvents.Thought,
  ReasoningEvents.Plan,
  ReasoningEvents.ToolCall,
  ReasoningEvents.ToolProgress,
  ReasoningEvents.ToolResult,
  ReasoningEvents.ToolCompensated,
  ReasoningEvents.ProviderToolUsed,
  ReasoningEvents.ApprovalRequested,
  ReasoningEvents.ApprovalResolved,
  ReasoningEvents.QuestionAsked,
  ReasoningEvents.QuestionAnswered,
  ReasoningEvents.Delegated,
  ReasoningEvents.Critique,
  ReasoningEvents.NodeFinished,
  ReasoningEvents.NodeEmitted,
  RunEvents.UsageReported,
  RunEvents.GuardTriggered,
  RunEvents.FilesKept,
  RunEvents.MemoryRecalled,
  RunEvents.AnswerRejected,
  RunEvents.Degraded,
  RunEvents.Message,
  RunEvents.Error,
  RunEvents.Finished
)

/**
 * @since 0.1.0
 * @category models
 */
export type Tag = AgentEvent["_tag"]

/**
 * One kind of event.
 *
 * @since 0.1.0
 * @category models
 */
export type Of<T extends Tag> = Extract<AgentEvent, { readonly _tag: T }>

/**
 * An event before its run adds the `Meta` fields. Strategies, tools and stages emit these.
 *
 * @since 0.1.0
 * @category models
 */
export type Body = AgentEvent extends infer E ? (E extends AgentEvent ? Omit<E, keyof Meta> : never) : never

/**
 * Checks whether an event is the last one of its run.
 *
 * @since 0.1.0
 * @category guards
 */
export const isTerminal = (event: AgentEvent): event is Of<"Error"> | Of<"Finished"> =>
  event._tag === "Finished" || event._tag === "Error"
