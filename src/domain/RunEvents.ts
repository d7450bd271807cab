/**
 * Events of a run and of the parts around its reasoning. `AgentEvent` exports them.
 *
 * @private
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"
import { ErrorInfo } from "./ErrorInfo.js"
import { event } from "./EventSchema.js"
import { StoredFile } from "./StoredFile.js"
import { Usage } from "./Usage.js"

/**
 * Why a successful run ended: the model was done, the token limit or a content filter cut its answer, a stop condition
 * was met, or a limit was reached and the best answer so far was asked for.
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
 * The run began. `input` is empty when input guards are to check it first; `InputChecked` follows. `strategy` is the
 * name of its strategy; `provider` and `model` are those of the default client. `system` marks a run that the system
 * (`SystemAccess`) started for no user.
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
 * The user's message after the input guards. Emitted when `Started` has no input because guards had to check it first.
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
 * A message was added to the running conversation, as the guards left it. The model sees it with its next call.
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
 * A step of the strategy began: one model call and the tool calls it leads to. Steps count from 1.
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
 * The usage of one model call. `costUsd` is absent when the price is unknown. `cutOff`: the request gave no answer
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
 * A guard warned, redacted or blocked.
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
 * Earlier turns or memories were added to the context: `count` of them, with `tokens` tokens where they were counted.
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
 * The session keeps the files of the message: references to their bytes, and the URLs.
 *
 * @since 0.1.0
 * @category schemas
 */
export const FilesKept = event("FilesKept", { files: Schema.Array(StoredFile) })
/**
 * @since 0.1.0
 * @category models
 */
export interface FilesKept extends Schema.Schema.Type<typeof FilesKept> {}

/**
 * A validator of the agent rejected an answer, which goes back to the model or, after the last attempt, fails the run.
 * `message` is the problem as the model reads it. The text that was streamed so far is void: a `TextRetracted` comes
 * before, if there was any.
 *
 * @since 0.1.0
 * @category schemas
 */
export const AnswerRejected = event("AnswerRejected", { step: Schema.Number, message: Schema.String })
/**
 * @since 0.1.0
 * @category models
 */
export interface AnswerRejected extends Schema.Schema.Type<typeof AnswerRejected> {}

/**
 * Something that must not break a run failed and was skipped, such as saving a memory or recording a cost.
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
 * The whole answer. With an output schema, `output` is its decoded and re-encoded value.
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
 * The run failed or was interrupted. The last event of its run. `text` is what it had shown of an answer that it did
 * not finish: the text of its deltas since the last `TextRetracted`.
 *
 * @since 0.1.0
 * @category schemas
 */
export const Error = event("Error", {
  error: ErrorInfo,
  interrupted: Schema.Boolean,
  text: Schema.optional(Schema.String)
})
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
