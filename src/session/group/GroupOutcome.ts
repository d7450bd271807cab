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
 * - `failure`: the same, because everybody who was asked failed.
 * - `nobody`: the turn manager chose nobody.
 * - `condition`: a termination condition held.
 * - `max-rounds`: as many rounds as allowed.
 * - `timeout`: the time of the whole group was up.
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
 * How somebody failed, and in which round.
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
 * What became of one participant. Who is asked when it can see no turn at all is silent. `failed` counts all failures,
 * timeouts among them; `failures` are the last 20 of them. `costUsd` is absent unless every price is known and there
 * was one.
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
  /** It failed so often in a row that it was asked no more. */
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
 * Usage and cost are those of everybody and of the turn manager.
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
  /** Rounds that were begun. */
  rounds: Schema.Number,
  /** What this run wrote, the user's turn first. */
  turns: Schema.Array(SessionTurn),
  /** The last answer; absent when nobody said anything. */
  answer: Schema.optional(Schema.String),
  /** In the order of the group. */
  participants: Schema.Array(ParticipantOutcome),
  /** How often the turn manager named somebody who could not be asked. */
  unknown: Schema.Number,
  usage: Usage,
  costUsd: Schema.optional(Schema.Number),
  durationMs: Schema.Number,
  /** As it is at the end; absent when it could not be read again. */
  session: Schema.optional(Session)
}).annotations({ identifier: NAME })
/**
 * @since 0.1.0
 * @category models
 */
export interface GroupOutcome extends Schema.Schema.Type<typeof GroupOutcome> {}

/**
 * A group as it stands after somebody was asked: what termination conditions decide on.
 *
 * @since 0.1.0
 * @category models
 */
export interface Progress {
  /** The round it is in, from 1. */
  readonly round: number
  /** Whether everybody of the round has been asked. */
  readonly isRoundOver: boolean
  /** How many answers were written. */
  readonly answers: number
  /** The newest of them. */
  readonly last: SessionTurn | undefined
  readonly participants: ReadonlyArray<ParticipantOutcome>
  readonly usage: Usage
  /** US dollars of calls whose price is known. */
  readonly costUsd: number
  /** Whether there was a call whose price is not known. */
  readonly isUnpriced: boolean
  /** Milliseconds since it began, without the time in which it waited for a person or for its reader. */
  readonly elapsedMs: number
}

/**
 * How somebody failed, as events and outcomes carry it: the failure itself, or that it was interrupted or crashed.
 *
 * @since 0.1.0
 * @category conversions
 */
export const failureOf = (cause: Cause.Cause<unknown>): ErrorInfo => {
  const failure = Cause.failureOption(cause)
  if (Option.isSome(failure)) return errorInfo(failure.value)
  return Cause.isInterruptedOnly(cause)
    ? { tag: "InterruptedError", message: "It was interrupted" }
    : { tag: "Defect", message: "It crashed: a bug, not a failure" }
}
