/**
 * Events of a run and of the parts around its reasoning. `AgentEvent` exports them.
 *
 * @internal
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"
import { ErrorInfo } from "./ErrorInfo.js"
import { event } from "./EventSchema.js"
import { Usage } from "./Usage.js"

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
 * @since 0.1.0
 * @category models
 */
export interface Started extends Schema.Schema.Type<typeof Started> {}

/**
 * The message of the user as the run goes on with it: `Started` has none while input guards have still to judge it.
 *
 * @since 0.1.0
 * @category schemas
 */
export const InputChecked = event("InputChecked", { input: Schema.String })
/**
 * @since 0.1.0
 * @category models
 */
export interface InputChecked extends Schema.Schema.Type<typeof InputChecked> {}

/**
 * A message was put into the running conversation, as the guards left it: the model sees it with its next call.
 *
 * @since 0.1.0
 * @category schemas
 */
export const Steered = event("Steered", { text: Schema.String })
/**
 * @since 0.1.0
 * @category models
 */
export interface Steered extends Schema.Schema.Type<typeof Steered> {}

/**
 * A step of the strategy began: one model call and what follows from it. Steps count from 1.
 *
 * @since 0.1.0
 * @category schemas
 */
export const StepStarted = event("StepStarted", { step: Schema.Number, name: Schema.optional(Schema.String) })
/**
 * @since 0.1.0
 * @category models
 */
export interface StepStarted extends Schema.Schema.Type<typeof StepStarted> {}

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
 * @since 0.1.0
 * @category models
 */
export interface UsageReported extends Schema.Schema.Type<typeof UsageReported> {}

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
 * @since 0.1.0
 * @category models
 */
export interface GuardTriggered extends Schema.Schema.Type<typeof GuardTriggered> {}

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
 * @since 0.1.0
 * @category models
 */
export interface MemoryRecalled extends Schema.Schema.Type<typeof MemoryRecalled> {}

/**
 * Something that must not break a run failed and was passed over: a memory that could not be saved, a cost that could
 * not be booked.
 *
 * @since 0.1.0
 * @category schemas
 */
export const Degraded = event("Degraded", { stage: Schema.String, error: ErrorInfo })
/**
 * @since 0.1.0
 * @category models
 */
export interface Degraded extends Schema.Schema.Type<typeof Degraded> {}

/**
 * The answer, whole. `output` is its decoded and re-encoded value when the agent has an output schema.
 *
 * @since 0.1.0
 * @category schemas
 */
export const Message = event("Message", { text: Schema.String, output: Schema.optional(Schema.Unknown) })
/**
 * @since 0.1.0
 * @category models
 */
export interface Message extends Schema.Schema.Type<typeof Message> {}

/**
 * The run failed, or was interrupted. The last event of its run.
 *
 * @since 0.1.0
 * @category schemas
 */
export const Error = event("Error", { error: ErrorInfo, interrupted: Schema.Boolean })
/**
 * @since 0.1.0
 * @category models
 */
export interface Error extends Schema.Schema.Type<typeof Error> {}

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
 * @since 0.1.0
 * @category models
 */
export interface Finished extends Schema.Schema.Type<typeof Finished> {}
