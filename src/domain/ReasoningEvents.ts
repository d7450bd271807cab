/**
 * Events of reasoning: text, thoughts, plans, tool calls, approvals and delegations. `AgentEvent` exports them.
 *
 * @internal
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"
import { ErrorInfo } from "./ErrorInfo.js"
import { event, NAME } from "./EventSchema.js"
import { RunId } from "./Ids.js"

/**
 * One step of a plan as it stands.
 *
 * @since 0.1.0
 * @category schemas
 */
export const PlanStep = Schema.Struct({
  id: Schema.String,
  description: Schema.String,
  tool: Schema.optional(Schema.String),
  dependsOn: Schema.optional(Schema.Array(Schema.String)),
  status: Schema.Literal("pending", "completed", "failed", "skipped")
}).annotations({ identifier: `${NAME}/PlanStep` })
/**
 * @since 0.1.0
 * @category models
 */
export interface PlanStep extends Schema.Schema.Type<typeof PlanStep> {}

/**
 * A piece of the model's text, as it arrives. The pieces of a run since its last `TextRetracted` add up to its answer.
 *
 * @since 0.1.0
 * @category schemas
 */
export const TextDelta = event("TextDelta", { text: Schema.String })
/**
 * @since 0.1.0
 * @category models
 */
export interface TextDelta extends Schema.Schema.Type<typeof TextDelta> {}

/**
 * The text of the `TextDelta`s since the last of these, or since the run began, is not part of the answer: the model
 * went on to call tools, has not come to its end, or another text became the answer. Before `Message` a run emits what
 * is missing, so that the text streamed after the last of these is the answer. A run that streamed no text, such as one
 * whose guards need the whole answer, streams none then either.
 *
 * @since 0.1.0
 * @category schemas
 */
export const TextRetracted = event("TextRetracted", { step: Schema.Number })
/**
 * @since 0.1.0
 * @category models
 */
export interface TextRetracted extends Schema.Schema.Type<typeof TextRetracted> {}

/**
 * A piece of the reasoning the model shows, as it arrives.
 *
 * @since 0.1.0
 * @category schemas
 */
export const ReasoningDelta = event("ReasoningDelta", { text: Schema.String })
/**
 * @since 0.1.0
 * @category models
 */
export interface ReasoningDelta extends Schema.Schema.Type<typeof ReasoningDelta> {}

/**
 * What the model thought before it acted or answered.
 *
 * @since 0.1.0
 * @category schemas
 */
export const Thought = event("Thought", { step: Schema.Number, text: Schema.String })
/**
 * @since 0.1.0
 * @category models
 */
export interface Thought extends Schema.Schema.Type<typeof Thought> {}

/**
 * The plan as it stands: emitted when made and whenever a step changes.
 *
 * @since 0.1.0
 * @category schemas
 */
export const Plan = event("Plan", { steps: Schema.Array(PlanStep) })
/**
 * @since 0.1.0
 * @category models
 */
export interface Plan extends Schema.Schema.Type<typeof Plan> {}

/**
 * A tool is about to run. `params` are what the model sent, before they are checked; `secret` names those that nobody
 * else may see.
 *
 * @since 0.1.0
 * @category schemas
 */
export const ToolCall = event("ToolCall", {
  step: Schema.Number,
  id: Schema.String,
  name: Schema.String,
  params: Schema.Unknown,
  secret: Schema.optional(Schema.Array(Schema.String))
})
/**
 * @since 0.1.0
 * @category models
 */
export interface ToolCall extends Schema.Schema.Type<typeof ToolCall> {}

/**
 * A tool ended. `observation` is the text the model reads, `result` the encoded value; `error` is there when the call
 * failed.
 *
 * @since 0.1.0
 * @category schemas
 */
export const ToolResult = event("ToolResult", {
  step: Schema.Number,
  id: Schema.String,
  name: Schema.String,
  isFailure: Schema.Boolean,
  result: Schema.Unknown,
  observation: Schema.String,
  truncated: Schema.Boolean,
  durationMs: Schema.Number,
  attempts: Schema.Number,
  error: Schema.optional(ErrorInfo)
})
/**
 * @since 0.1.0
 * @category models
 */
export interface ToolResult extends Schema.Schema.Type<typeof ToolResult> {}

/**
 * A tool call waits for somebody's decision.
 *
 * @since 0.1.0
 * @category schemas
 */
export const ApprovalRequested = event("ApprovalRequested", {
  id: Schema.String,
  toolCallId: Schema.String,
  name: Schema.String,
  params: Schema.Unknown,
  secret: Schema.optional(Schema.Array(Schema.String)),
  reason: Schema.optional(Schema.String)
})
/**
 * @since 0.1.0
 * @category models
 */
export interface ApprovalRequested extends Schema.Schema.Type<typeof ApprovalRequested> {}

/**
 * The decision about a tool call.
 *
 * @since 0.1.0
 * @category schemas
 */
export const ApprovalResolved = event("ApprovalResolved", {
  id: Schema.String,
  toolCallId: Schema.String,
  approved: Schema.Boolean,
  reason: Schema.optional(Schema.String)
})
/**
 * @since 0.1.0
 * @category models
 */
export interface ApprovalResolved extends Schema.Schema.Type<typeof ApprovalResolved> {}

/**
 * Work was handed to another agent, whose run is `childRunId`. `handoff`: the other agent answers in place of this one.
 *
 * @since 0.1.0
 * @category schemas
 */
export const Delegated = event("Delegated", {
  toAgent: Schema.String,
  childRunId: RunId,
  message: Schema.String,
  handoff: Schema.optional(Schema.Literal(true))
})
/**
 * @since 0.1.0
 * @category models
 */
export interface Delegated extends Schema.Schema.Type<typeof Delegated> {}

/**
 * A judgement of an answer or a trial.
 *
 * @since 0.1.0
 * @category schemas
 */
export const Critique = event("Critique", {
  step: Schema.Number,
  text: Schema.String,
  accepted: Schema.optional(Schema.Boolean),
  score: Schema.optional(Schema.Number)
})
/**
 * @since 0.1.0
 * @category models
 */
export interface Critique extends Schema.Schema.Type<typeof Critique> {}

/**
 * A node of a graph ended with this update of the state; empty while output guards have still to judge the answer.
 *
 * @since 0.1.0
 * @category schemas
 */
export const NodeFinished = event("NodeFinished", {
  graph: Schema.String,
  node: Schema.String,
  step: Schema.Number,
  update: Schema.Unknown
})
/**
 * @since 0.1.0
 * @category models
 */
export interface NodeFinished extends Schema.Schema.Type<typeof NodeFinished> {}
