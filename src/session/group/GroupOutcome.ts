/**
 * The outcome of a group run.
 *
 * @since 0.1.0
 */
import * as Cause from "effect/Cause"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { ErrorInfo, errorInfo } from "../../domain/ErrorInfo.js"
import { RunId, SessionId } from "../../domain/Ids.js"
import { Usage } from "../../domain/Usage.js"
import { Session, SessionTurn } from "../turn/Session.js"

const NAME = "effect-lexigram/session/GroupOutcome"

/**
 * Why a group ended:
 *
 * - `silence`: everybody was asked and had nothing to say.
 * - `failure`: everybody who was asked failed.
 * - `nobody`: the turn manager chose nobody.
 * - `condition`: a termination condition held.
 * - `max-rounds`: the maximum number of rounds was reached.
 * - `timeout`: the time of the group was up.
 * - `excluded`: every participant was excluded.
 *
 * @since 0.1.0
 * @category schemas
 */
export const Reason = Schema.Literal(
  "silence",
  "failure",
  "nobody",
  "condition",
  "max-rounds",
  "timeout",
  "excluded"
).annotations({ identifier: `${NAME}/Reason` })
/**
 * @since 0.1.0
 * @category models
 */
export type Reason = typeof Reason.Type

/**
 * How a participant failed, and in which round.
 *
 * @since 0.1.0
 * @category schemas
 */
export const Failure = Schema.Struct({ round: Schema.Number, error: ErrorInfo }).annotations({
  identifier: `${NAME}/Failure`
})
/**
 * @since 0.1.0
 * @category models
 */
export interface Failure extends Schema.Schema.Type<typeof Failure> {}

/**
 * Results of one participant. A participant that can see no turn counts as silent. `failed` counts all failures,
 * including timeouts; `failures` holds the last 20 of them. `costUsd` is absent unless every price is known and there
 * was a cost.
 *
 * @since 0.1.0
 * @category schemas
 */
export const ParticipantOutcome = Schema.Struct({
  name: Schema.String,
  role: Schema.String,
  answers: Schema.Number,
  silences: Schema.Number,
  failed: Schema.Number,
  failures: Schema.Array(Failure),
  /** It failed so often in a row that it was no longer asked. */
  excluded: Schema.Boolean,
  usage: Usage,
  costUsd: Schema.optional(Schema.Number)
}).annotations({ identifier: `${NAME}/ParticipantOutcome` })
/**
 * @since 0.1.0
 * @category models
 */
export interface ParticipantOutcome extends Schema.Schema.Type<typeof ParticipantOutcome> {}

/**
 * Usage and cost are those of all participants and of the turn manager.
 *
 * @since 0.1.0
 * @category schemas
 */
export const GroupOutcome = Schema.Struct({
  group: Schema.String,
  runId: RunId,
  sessionId: SessionId,
  reason: Reason,
  /** The name of the condition that held. */
  condition: Schema.optional(Schema.String),
  /** The number of rounds that began. */
  rounds: Schema.Number,
  /** The turns that this run wrote, the user's turn first. */
  turns: Schema.Array(SessionTurn),
  /** The last answer; absent when nobody spoke. */
  answer: Schema.optional(Schema.String),
  /** In the order of the group. */
  participants: Schema.Array(ParticipantOutcome),
  /** How often the turn manager chose a name that could not be asked. */
  unknown: Schema.Number,
  usage: Usage,
  costUsd: Schema.optional(Schema.Number),
  durationMs: Schema.Number,
  /** The session at the end; absent when it could not be read. */
  session: Schema.optional(Session)
}).annotations({ identifier: NAME })
/**
 * @since 0.1.0
 * @category models
 */
export interface GroupOutcome extends Schema.Schema.Type<typeof GroupOutcome> {}

/**
 * The state of a group after a participant was asked, as termination conditions see it.
 *
 * @since 0.1.0
 * @category models
 */
export interface Progress {
  /** The current round, from 1. */
  readonly round: number
  /** Whether everybody of the round was asked. */
  readonly isRoundOver: boolean
  /** The number of answers. */
  readonly answers: number
  /** The newest answer. */
  readonly last: SessionTurn | undefined
  readonly participants: ReadonlyArray<ParticipantOutcome>
  readonly usage: Usage
  /** US dollars of the calls with a known price. */
  readonly costUsd: number
  /** Whether a call has no known price. */
  readonly isUnpriced: boolean
  /** Milliseconds since the beginning, without the time spent waiting for a person or for the reader. */
  readonly elapsedMs: number
}

/**
 * A failure as events and outcomes carry it: the error itself, or that the participant was interrupted or crashed.
 *
 * @since 0.1.0
 * @category conversions
 */
export const failureOf = (cause: Cause.Cause<unknown>): ErrorInfo => {
  const failure = Cause.failureOption(cause)
  if (Option.isSome(failure)) return errorInfo(failure.value)
  return Cause.isInterruptedOnly(cause)
    ? { tag: "InterruptedError", message: "The run was interrupted" }
    : { tag: "Defect", message: "The run crashed with a defect" }
}
