/**
 * What happens during a run, as plain tagged objects: the stream of them is the truth, everything else is derived from
 * it.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"
import { ErrorInfo } from "./ErrorInfo.js"
import { RunId } from "./Ids.js"
import { Usage } from "./Usage.js"

const NAME = "effect-lexigram/domain/AgentEvent"

/**
 * What every event carries: its run, the run that started that one, the agent, its number in the run (from 0, without
 * gaps) and the time in milliseconds since the epoch.
 *
 * @since 0.1.0
 * @category models
 */
export interface Meta {
  readonly runId: RunId
  readonly parentRunId?: RunId | undefined
  readonly agent: string
  readonly seq: number
  readonly at: number
}

const meta = {
  runId: RunId,
  parentRunId: Schema.optional(RunId),
  agent: Schema.String,
  seq: Schema.Number,
  at: Schema.Number
}

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
 * Why a run that succeeded ended: the model was done, its answer was cut by the token limit or a content filter, a stop
 * condition held, or a limit was reached and the best answer so far was asked for.
 *
 * @since 0.1.0
 * @category schemas
 */
export const FinishReason = Schema.Literal("completed", "length", "content-filter", "stop-condition", "limit")
/**
 * @since 0.1.0
 * @category models
 */
export type FinishReason = typeof FinishReason.Type

const event = <const Tag extends string, Fields extends Schema.Struct.Fields>(tag: Tag, fields: Fields) =>
  Schema.Struct({ _tag: Schema.Literal(tag), ...fields, ...meta }).annotations({ identifier: `${NAME}/${tag}` })

/**
 * The run began. `input` is empty while input guards have still to judge it: `InputChecked` follows. `strategy` is how
 * it will reason; `provider` and `model` are those of the default client. With `system` it was begun by the system
 * (`SystemAccess`) for no user.
 *
 * @since 0.1.0
 * @category schemas
 */
export const Started = event("Started", {
  input: Schema.String,
  strategy: Schema.String,
  provider: Schema.optional(Schema.String),
  model: Schema.optional(Schema.String),
  sessionId: Schema.optional(Schema.String),
  userId: Schema.optional(Schema.String),
  system: Schema.optional(Schema.Literal(true))
})
/**
 * The message of the user as the run goes on with it: `Started` has none while input guards have still to judge it.
 *
 * @since 0.1.0
 * @category schemas
 */
export const InputChecked = event("InputChecked", { input: Schema.String })
/**
 * A message was put into the running conversation, as the guards left it: the model sees it with its next call.
 *
 * @since 0.1.0
 * @category schemas
 */
export const Steered = event("Steered", { text: Schema.String })
/**
 * A step of the strategy began: one model call and what follows from it. Steps count from 1.
 *
 * @since 0.1.0
 * @category schemas
 */
export const StepStarted = event("StepStarted", { step: Schema.Number, name: Schema.optional(Schema.String) })
/**
 * A piece of the model's text, as it arrives. The pieces of a run since its last `TextRetracted` add up to its answer.
 *
 * @since 0.1.0
 * @category schemas
 */
export const TextDelta = event("TextDelta", { text: Schema.String })
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
 * A piece of the reasoning the model shows, as it arrives.
 *
 * @since 0.1.0
 * @category schemas
 */
export const ReasoningDelta = event("ReasoningDelta", { text: Schema.String })
/**
 * What the model thought before it acted or answered.
 *
 * @since 0.1.0
 * @category schemas
 */
export const Thought = event("Thought", { step: Schema.Number, text: Schema.String })
/**
 * The plan as it stands: emitted when made and whenever a step changes.
 *
 * @since 0.1.0
 * @category schemas
 */
export const Plan = event("Plan", { steps: Schema.Array(PlanStep) })
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
 * What one model call used. `costUsd` is absent when the price is not known. `cutOff`: the request gave no answer,
 * because it was interrupted, timed out or failed midway; `usage.estimatedTokens` says how much of its usage is an
 * estimate.
 *
 * @since 0.1.0
 * @category schemas
 */
export const UsageReported = event("UsageReported", {
  usage: Usage,
  model: Schema.optional(Schema.String),
  provider: Schema.optional(Schema.String),
  role: Schema.optional(Schema.String),
  costUsd: Schema.optional(Schema.Number),
  finishReason: Schema.optional(Schema.String),
  cutOff: Schema.optional(Schema.Boolean)
})
/**
 * A guard did more than let something pass.
 *
 * @since 0.1.0
 * @category schemas
 */
export const GuardTriggered = event("GuardTriggered", {
  stage: Schema.Literal("input", "output", "toolInput", "toolOutput"),
  guard: Schema.String,
  action: Schema.Literal("warn", "redact", "block"),
  reason: Schema.optional(Schema.String)
})
/**
 * Earlier turns or memories were put into the context: `count` of them, for `tokens` tokens where they were counted.
 *
 * @since 0.1.0
 * @category schemas
 */
export const MemoryRecalled = event("MemoryRecalled", {
  source: Schema.Literal("working-memory", "session"),
  count: Schema.Number,
  tokens: Schema.optional(Schema.Number)
})
/**
 * Something that must not break a run failed and was passed over: a memory that could not be saved, a cost that could
 * not be booked.
 *
 * @since 0.1.0
 * @category schemas
 */
export const Degraded = event("Degraded", { stage: Schema.String, error: ErrorInfo })
/**
 * The answer, whole. `output` is its decoded and re-encoded value when the agent has an output schema.
 *
 * @since 0.1.0
 * @category schemas
 */
export const Message = event("Message", { text: Schema.String, output: Schema.optional(Schema.Unknown) })
/**
 * The run failed, or was interrupted. The last event of its run.
 *
 * @since 0.1.0
 * @category schemas
 */
export const Error = event("Error", { error: ErrorInfo, interrupted: Schema.Boolean })
/**
 * The run succeeded. The last event of its run.
 *
 * @since 0.1.0
 * @category schemas
 */
export const Finished = event("Finished", {
  reason: FinishReason,
  sessionId: Schema.optional(Schema.String),
  durationMs: Schema.Number
})

/**
 * Any event, for encoding and decoding. Events in memory are plain objects and are never built by it.
 *
 * @since 0.1.0
 * @category schemas
 */
export const AgentEvent = Schema.Union(
  Started,
  InputChecked,
  Steered,
  StepStarted,
  TextDelta,
  TextRetracted,
  ReasoningDelta,
  Thought,
  Plan,
  ToolCall,
  ToolResult,
  ApprovalRequested,
  ApprovalResolved,
  Delegated,
  Critique,
  NodeFinished,
  UsageReported,
  GuardTriggered,
  MemoryRecalled,
  Degraded,
  Message,
  Error,
  Finished
)
/**
 * @since 0.1.0
 * @category models
 */
export type AgentEvent = typeof AgentEvent.Type

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
 * An event before its run stamps it: what strategies, tools and stages emit.
 *
 * @since 0.1.0
 * @category models
 */
export type Body = AgentEvent extends infer E ? (E extends AgentEvent ? Omit<E, keyof Meta> : never) : never

/**
 * True for the event that ends its run.
 *
 * @since 0.1.0
 * @category guards
 */
export const isTerminal = (event: AgentEvent): event is Of<"Error"> | Of<"Finished"> =>
  event._tag === "Finished" || event._tag === "Error"
