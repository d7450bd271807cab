/**
 * The record of a run: who started which agent, and how far the run got. Its events are in the `RunLog`.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"
import { ErrorInfo } from "../../domain/ErrorInfo.js"
import { RunId, SessionId, UserId } from "../../domain/Ids.js"
import * as ModelSettings from "../../llm/model/ModelSettings.js"
import type * as Compensations from "../../tool/definition/Compensations.js"
import * as RequestedAnswer from "./RequestedAnswer.js"
import { RunPolicy } from "./RunPolicy.js"

const NAME = "effect-lexigram/agent/RunRecord"

/**
 * - `queued`: accepted, waits for its turn
 * - `running`: goes on
 * - `waiting`: a person must decide or answer something before it goes on
 * - `completed`, `failed`, `interrupted`: ended, for good
 *
 * @since 0.1.0
 * @category schemas
 */
export const RunState = Schema.Literal(
  "queued",
  "running",
  "waiting",
  "completed",
  "failed",
  "interrupted"
).annotations({ identifier: `${NAME}/RunState` })
/**
 * @since 0.1.0
 * @category models
 */
export type RunState = typeof RunState.Type

/**
 * The states of a run that goes on.
 *
 * @since 0.1.0
 * @category constants
 */
export const OPEN: ReadonlyArray<RunState> = ["queued", "running", "waiting"]

/**
 * Whether a run in this state has ended.
 *
 * @since 0.1.0
 * @category guards
 */
export const isEnded = (state: RunState): boolean =>
  state === "completed" || state === "failed" || state === "interrupted"

const isLabel = ([name, value]: readonly [string, unknown]): boolean =>
  name.length >= 1 && name.length <= 64 && name !== "__proto__" && typeof value === "string" && value.length <= 256

/**
 * Whether labels are valid: at most 16, names of 1 to 64 characters, values of at most 256. `__proto__` is no name.
 *
 * @since 0.1.0
 * @category guards
 */
export const areLabels = (labels: Readonly<Record<string, unknown>>): labels is Labels => {
  const entries = Object.entries(labels)
  return entries.length <= 16 && entries.every(isLabel)
}

/**
 * Short texts by which runs are found.
 *
 * @since 0.1.0
 * @category schemas
 */
export const Labels = Schema.Record({ key: Schema.String, value: Schema.String })
  .pipe(Schema.filter(areLabels))
  .annotations({ identifier: `${NAME}/Labels` })
/**
 * @since 0.1.0
 * @category models
 */
export type Labels = Readonly<Record<string, string>>

/**
 * The run and its step from which another run goes on.
 *
 * @since 0.1.0
 * @category schemas
 */
export const ForkedFrom = Schema.Struct({ runId: RunId, step: Schema.NonNegativeInt }).annotations({
  identifier: `${NAME}/ForkedFrom`
})
/**
 * @since 0.1.0
 * @category models
 */
export interface ForkedFrom extends Schema.Schema.Type<typeof ForkedFrom> {}

/**
 * A tool call that should be undone because the run failed or was interrupted, and is not, or nobody knows whether it
 * is. `runId` is the run of the call: the run itself, or one inside of it.
 *
 * @since 0.1.0
 * @category schemas
 */
export const NotUndone = Schema.Struct({
  runId: RunId,
  toolCallId: Schema.String,
  tool: Schema.String,
  error: ErrorInfo
}).annotations({ identifier: `${NAME}/NotUndone` })
/**
 * @since 0.1.0
 * @category models
 */
export interface NotUndone extends Schema.Schema.Type<typeof NotUndone> {}

/** The most calls that a record names. */
const MOST_NOT_UNDONE = 100

/**
 * The calls as the record of their run has them.
 *
 * @internal
 */
export const notUndoneOf = (calls: ReadonlyArray<Compensations.NotUndone>): ReadonlyArray<NotUndone> =>
  calls.slice(0, MOST_NOT_UNDONE).map(({ call, error }) => ({
    runId: call.runId,
    toolCallId: call.id.slice(0, 256),
    tool: call.name,
    error
  }))

/**
 * What the request of a run has in place of what its agent has. Options and tools of a provider are left out: they may
 * be large, or secret.
 *
 * @since 0.1.0
 * @category schemas
 */
export const Asked = Schema.Struct({
  settings: Schema.optional(ModelSettings.ModelSettings.pipe(Schema.omit("providerOptions", "providerTools"))),
  policy: Schema.optional(RunPolicy),
  toolChoice: Schema.optional(RequestedAnswer.ToolChoice)
}).annotations({ identifier: `${NAME}/Asked` })
/**
 * @since 0.1.0
 * @category models
 */
export interface Asked extends Schema.Schema.Type<typeof Asked> {}

const isAsked = Schema.is(Asked)

/** The most characters of the JSON of `Asked` that a record keeps. */
const MOST_ASKED = 16_384

/**
 * What a request asks for, as the record of its run has it; none if it asks for nothing, or for too much.
 *
 * @internal
 */
export const askedOf = (request: {
  readonly settings?: ModelSettings.ModelSettings | undefined
  readonly policy?: RunPolicy | undefined
  readonly toolChoice?: RequestedAnswer.ToolChoice | undefined
}): Asked | undefined => {
  const { policy, toolChoice } = request
  const { providerOptions: _, providerTools: __, ...settings } = request.settings ?? {}
  const asked = {
    ...(Object.keys(settings).length === 0 ? {} : { settings }),
    ...(policy === undefined ? {} : { policy }),
    ...(toolChoice === undefined ? {} : { toolChoice })
  }
  return Object.keys(asked).length > 0 && isAsked(asked) && JSON.stringify(asked).length <= MOST_ASKED
    ? asked
    : undefined
}

/**
 * Times are milliseconds since the epoch.
 *
 * @since 0.1.0
 * @category schemas
 */
export const RunRecord = Schema.Struct({
  runId: RunId,
  /** The name of the agent. */
  agent: Schema.String,
  /** The version of the agent's definition, as the application names it. */
  version: Schema.optional(Schema.String),
  userId: Schema.optional(UserId),
  /** The system started the run for no user: only the system finds it. */
  system: Schema.optional(Schema.Literal(true)),
  sessionId: Schema.optional(SessionId),
  tenantId: Schema.optional(UserId),
  state: RunState,
  labels: Labels,
  /** Absent if the request asked for nothing, or for too much to keep. */
  asked: Schema.optional(Asked),
  createdAt: Schema.Number,
  /** The time of the last change of the record. */
  updatedAt: Schema.Number,
  /** Present once the run has ended. */
  endedAt: Schema.optional(Schema.Number),
  forkedFrom: Schema.optional(ForkedFrom),
  /** Why the run failed. */
  error: Schema.optional(ErrorInfo),
  /** The calls that are not undone, at most 100. Absent if all are, or no call had to be. */
  notUndone: Schema.optional(Schema.Array(NotUndone))
}).annotations({ identifier: NAME })
/**
 * @since 0.1.0
 * @category models
 */
export interface RunRecord extends Schema.Schema.Type<typeof RunRecord> {}
