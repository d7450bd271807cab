/**
 * Events of reasoning: text, thoughts, plans, tool calls, approvals and delegations. `AgentEvent` exports them.
 *
 * @private
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"
import { ErrorInfo } from "./ErrorInfo.js"
import { event, NAME } from "./EventSchema.js"
import { RunId } from "./Ids.js"
import { StoredFile } from "./StoredFile.js"

/**
 * One step of a plan with its status.
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
 * A piece of the model's text, emitted as it arrives. The pieces of a run since its last `TextRetracted` add up to its
 * answer.
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
 * The text of the `TextDelta`s since the previous retraction, or since the run began, is not part of the answer: the
 * model went on to call tools, did not finish its text, or another text became the answer. Before `Message` a run emits
 * what is missing, so that the text streamed after the last retraction equals the answer. A run that streamed no text,
 * such as one whose guards need the whole answer, emits none then either.
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
 * A piece of the model's visible reasoning, emitted as it arrives.
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
 * The plan with the status of each step. Emitted when the plan is made and whenever a step changes.
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
 * A tool is about to run. `params` are what the model sent, before validation; `secret` names the parameters that must
 * not be shown to others.
 *
 * @since 0.1.0
 * @category schemas
 */
export const ToolCall = event("ToolCall", {
  step: Schema.Number,
  id: Schema.String,
  name: Schema.String,
  params: Schema.Unknown,
  secret: Schema.optional(Schema.Array(Schema.String)),
  /** The caller of the run is to run it, once `QuestionAsked` asks for its result. */
  clientTool: Schema.optional(Schema.Literal(true))
})
/**
 * @since 0.1.0
 * @category models
 */
export interface ToolCall extends Schema.Schema.Type<typeof ToolCall> {}

/**
 * How far a running tool is, as it says (`ToolProgress.report`): for people, never for the model. Logs do not keep it.
 *
 * @since 0.1.0
 * @category schemas
 */
export const ToolProgress = event("ToolProgress", {
  step: Schema.Number,
  id: Schema.String,
  name: Schema.String,
  message: Schema.optional(Schema.String),
  done: Schema.optional(Schema.Number),
  total: Schema.optional(Schema.Number),
  partial: Schema.optional(Schema.Unknown)
})
/**
 * @since 0.1.0
 * @category models
 */
export interface ToolProgress extends Schema.Schema.Type<typeof ToolProgress> {}

/**
 * The provider ran a tool of its own within a model call: `name` as `ProviderTool` names it, `params` and `result` as
 * the provider tells them, the result in at most 16,384 characters of JSON. Nothing ran here.
 *
 * @since 0.1.0
 * @category schemas
 */
export const ProviderToolUsed = event("ProviderToolUsed", {
  step: Schema.Number,
  id: Schema.String,
  name: Schema.String,
  params: Schema.Unknown,
  result: Schema.Unknown,
  isFailure: Schema.Boolean
})
/**
 * @since 0.1.0
 * @category models
 */
export interface ProviderToolUsed extends Schema.Schema.Type<typeof ProviderToolUsed> {}

/**
 * A running tool asks a person (`Elicitation.ask`). `toolCallId` is the call; `form` is the JSON Schema of the answer,
 * a flat object.
 *
 * @since 0.1.0
 * @category schemas
 */
export const QuestionAsked = event("QuestionAsked", {
  id: Schema.String,
  toolCallId: Schema.String,
  name: Schema.String,
  message: Schema.String,
  form: Schema.Record({ key: Schema.String, value: Schema.Unknown }),
  /** The caller of the run is to run its tool, and to answer with the result. */
  clientTool: Schema.optional(Schema.Literal(true)),
  /** That tool is one of the agent (`PageTool`), and not of the request. */
  declared: Schema.optional(Schema.Literal(true)),
  /** The arguments of that tool, as it takes them. */
  params: Schema.optional(Schema.Unknown)
})
/**
 * @since 0.1.0
 * @category models
 */
export interface QuestionAsked extends Schema.Schema.Type<typeof QuestionAsked> {}

/**
 * What came of a question: its answer, somebody's refusal, or nobody's answer.
 *
 * @since 0.1.0
 * @category schemas
 */
export const QuestionAnswered = event("QuestionAnswered", {
  id: Schema.String,
  toolCallId: Schema.String,
  name: Schema.String,
  action: Schema.Literal("accept", "decline", "cancel"),
  content: Schema.optional(Schema.Unknown),
  reason: Schema.optional(Schema.String)
})
/**
 * @since 0.1.0
 * @category models
 */
export interface QuestionAnswered extends Schema.Schema.Type<typeof QuestionAnswered> {}

/**
 * A tool ended. `observation` is the text that the model reads, `result` the encoded value; a failed call has an
 * `error`. `files` are those that the model is shown beside the result.
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
  error: Schema.optional(ErrorInfo),
  files: Schema.optional(Schema.Array(StoredFile))
})
/**
 * @since 0.1.0
 * @category models
 */
export interface ToolResult extends Schema.Schema.Type<typeof ToolResult> {}

/**
 * The compensation of a tool call ended: of the call `id` of this run, or of `callRunId`, a run inside of it. With
 * `isFailure`, the call is not undone, or nobody knows whether it is, and `error` says why.
 *
 * @since 0.1.0
 * @category schemas
 */
export const ToolCompensated = event("ToolCompensated", {
  step: Schema.Number,
  id: Schema.String,
  name: Schema.String,
  callRunId: Schema.optional(RunId),
  isFailure: Schema.Boolean,
  attempts: Schema.Number,
  durationMs: Schema.Number,
  error: Schema.optional(ErrorInfo)
})
/**
 * @since 0.1.0
 * @category models
 */
export interface ToolCompensated extends Schema.Schema.Type<typeof ToolCompensated> {}

/**
 * A tool call waits for approval.
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
 * The decision on a tool call.
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
 * Work was delegated to another agent, whose run is `childRunId`. With `handoff` the other agent answers in place of
 * this one.
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
 * A judgment of an answer or a trial.
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
 * A node of a graph ended with this update of the state. The update is empty while output guards have not judged the
 * answer.
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

/**
 * A node of a graph emitted a value while it ran (`StateGraph.emit`): without messages, in at most 4 kB of JSON. Not
 * emitted while output guards have not judged the answer.
 *
 * @since 0.1.0
 * @category schemas
 */
export const NodeEmitted = event("NodeEmitted", {
  graph: Schema.String,
  node: Schema.String,
  step: Schema.Number,
  value: Schema.Unknown
})
/**
 * @since 0.1.0
 * @category models
 */
export interface NodeEmitted extends Schema.Schema.Type<typeof NodeEmitted> {}
