/**
 * The port that reports the figures of sessions: turns, tokens, cost, time, participants and models.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import type * as DateTime from "effect/DateTime"
import type * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { SessionId, UserId } from "../../domain/Ids.js"
import type * as SessionManager from "../manager/SessionManager.js"
import type { SessionNotFoundError, SessionStorageError } from "../turn/SessionError.js"

const NAME = "effect-lexigram/session/SessionAnalytics"

const names = Schema.Array(Schema.String)

/**
 * The figures of any turns. Lists of names are sorted by code unit, without duplicates, with at most 1,000 names of at
 * most 256 characters.
 *
 * @since 0.1.0
 * @category schemas
 */
export const Figures = Schema.Struct({
  totalTurns: Schema.NonNegativeInt,
  totalTokens: Schema.NonNegativeInt,
  /** US dollars, to a billionth. */
  totalCost: Schema.NonNegative,
  /** From the first turn to the last one; the sum for several conversations. */
  durationSeconds: Schema.NonNegative,
  /** From `agent` in the metadata of turns and of skill results. */
  agentsUsed: names,
  toolsInvoked: names,
  /** The models of the same list, in the same order. */
  toolCalls: Schema.Array(
    Schema.Struct({ name: Schema.String, calls: Schema.NonNegativeInt, failures: Schema.NonNegativeInt })
  ),
  skillsInvoked: names,
  /** The mean time between a user's turn and the first answer to it; 0 without answers. */
  averageResponseTimeMs: Schema.NonNegative,
  /** The number of answers in that mean. */
  answeredTurns: Schema.NonNegativeInt,
  /** User turns marked as unanswered: blocked, failed, interrupted. */
  unansweredTurns: Schema.NonNegativeInt,
  modelsUsed: names,
  providersUsed: names,
  /** There were more names than the lists hold. */
  moreNames: Schema.Boolean
}).annotations({ identifier: `${NAME}/Figures` })
/**
 * @since 0.1.0
 * @category models
 */
export interface Figures extends Schema.Schema.Type<typeof Figures> {}

/**
 * Figures of one session: of all turns on the path to its head, including those that a branch begins with. Turns that a
 * restore removed from the path are not counted.
 *
 * @since 0.1.0
 * @category schemas
 */
export const SessionReport = Schema.Struct({
  sessionId: SessionId,
  ...Figures.fields
}).annotations({ identifier: `${NAME}/SessionReport` })
/**
 * @since 0.1.0
 * @category models
 */
export interface SessionReport extends Schema.Schema.Type<typeof SessionReport> {}

const sessions = Schema.NonNegativeInt

/**
 * A day, week or month of a user.
 *
 * @since 0.1.0
 * @category schemas
 */
export const Bucket = Schema.Struct({
  /** Milliseconds since the epoch. */
  start: Schema.Finite,
  /** Sessions with turns in the bucket. */
  sessions,
  ...Figures.fields
}).annotations({ identifier: `${NAME}/Bucket` })
/**
 * @since 0.1.0
 * @category models
 */
export interface Bucket extends Schema.Schema.Type<typeof Bucket> {}

/**
 * Figures of all sessions of a user. A turn counts for the session that wrote it, so that branches do not count it
 * again. A turn copied by a merge counts in the session of its first version while that session exists, then where it
 * was copied. Turns that were deleted or removed from the path by a restore do not count: a report covers the
 * conversation, not the spending.
 *
 * @since 0.1.0
 * @category schemas
 */
export const UserReport = Schema.Struct({
  userId: Schema.NullOr(UserId),
  /** Sessions with turns in the period. */
  sessions,
  ...Figures.fields,
  /** Oldest first; only buckets with turns. Empty unless requested. */
  buckets: Schema.Array(Bucket),
  /** There were older buckets than are listed. Their turns are in the overall figures. */
  moreBuckets: Schema.Boolean
}).annotations({ identifier: `${NAME}/UserReport` })
/**
 * @since 0.1.0
 * @category models
 */
export interface UserReport extends Schema.Schema.Type<typeof UserReport> {}

/**
 * @since 0.1.0
 * @category models
 */
export interface UserOptions {
  /** Counts only turns at or after this time, in milliseconds since the epoch. */
  readonly from?: number | undefined
  /** Counts only turns before this time. */
  readonly to?: number | undefined
  /**
   * The caller. Sessions of other users are not found; without a caller, only the system (`SystemAccess`) finds any.
   */
  readonly access?: SessionManager.Access | undefined
  /** Adds figures of each day, week (from Monday) or month. */
  readonly by?: "day" | "week" | "month" | undefined
  /** The time zone of the days; default UTC. */
  readonly timeZone?: DateTime.TimeZone | undefined
}

/**
 * @since 0.1.0
 * @category models
 */
export interface Service {
  /** The figures of one session; zeros without turns. */
  readonly ofSession: (
    id: SessionId,
    access?: SessionManager.Access | undefined
  ) => Effect.Effect<SessionReport, SessionNotFoundError | SessionStorageError>
  /**
   * The figures of all sessions of a user in any status, `null` for those without an owner; zeros if there are none. An
   * answer belongs to the time of its question. A session that is deleted during the read may be counted in part.
   */
  readonly ofUser: (userId: UserId | null, options?: UserOptions) => Effect.Effect<UserReport, SessionStorageError>
}

/**
 * @since 0.1.0
 * @category tags
 */
export class SessionAnalytics extends Context.Tag(NAME)<SessionAnalytics, Service>() {}
