/**
 * Reports the figures of sessions: turns, tokens, cost, time, participants and models. Turns are read page by page.
 *
 * @since 0.1.0
 */
import * as Context from "effect/Context"
import * as DateTime from "effect/DateTime"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { SessionId, UserId } from "../../domain/Ids.js"
import * as SystemAccess from "../../domain/SystemAccess.js"
import * as Count from "../../internal/Count.js"
import * as SessionManager from "../manager/SessionManager.js"
import type { Session, SessionTurn, TurnRef } from "../turn/Session.js"
import type { SessionNotFoundError, SessionStorageError } from "../turn/SessionError.js"
import * as AnalyticsFold from "./AnalyticsFold.js"

const NAME = "effect-lexigram/session/SessionAnalytics"

/**
 * Of one session: of all turns on the way to its head, those that a branch begins with included. What a restore left
 * behind is not on the way, and not counted.
 *
 * @since 0.1.0
 * @category schemas
 */
export const SessionReport = Schema.Struct({
  sessionId: SessionId,
  ...AnalyticsFold.Figures.fields
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
  /** In which something was said. */
  sessions,
  ...AnalyticsFold.Figures.fields
}).annotations({ identifier: `${NAME}/Bucket` })
/**
 * @since 0.1.0
 * @category models
 */
export interface Bucket extends Schema.Schema.Type<typeof Bucket> {}

/**
 * Of all sessions of a user. A turn counts for the session that wrote it, so that branches of a conversation do not
 * count it again; what a merge took over counts where it was said first as long as that session is kept, then where it
 * was taken over. What a restore left behind, and what was deleted, does not count: a report says what was talked
 * about, not what was spent.
 *
 * @since 0.1.0
 * @category schemas
 */
export const UserReport = Schema.Struct({
  userId: Schema.NullOr(UserId),
  /** In which something was said in the period. */
  sessions,
  ...AnalyticsFold.Figures.fields,
  /** Oldest first; only those in which something was said. Empty unless asked for. */
  buckets: Schema.Array(Bucket),
  /** There were older buckets than are listed. What was said then is in the figures of the whole. */
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
  /** Only what was said then or later, in milliseconds since the epoch. */
  readonly from?: number | undefined
  /** Only what was said before. */
  readonly to?: number | undefined
  /**
   * Who asks. Of anybody else, and of a user for whom nobody asks, nothing is found, unless the system does
   * (`SystemAccess`).
   */
  readonly access?: SessionManager.Access | undefined
  /** Figures of each day, week (from Monday on) or month as well. */
  readonly by?: "day" | "week" | "month" | undefined
  /** Whose days those are; UTC unless set. */
  readonly timeZone?: DateTime.TimeZone | undefined
}

/**
 * @since 0.1.0
 * @category models
 */
export interface Service {
  /** A session without turns: zeros. */
  readonly ofSession: (
    id: SessionId,
    access?: SessionManager.Access | undefined
  ) => Effect.Effect<SessionReport, SessionNotFoundError | SessionStorageError>
  /**
   * All sessions of a user, `null` for those of nobody, in whatever status; none: zeros. An answer belongs to the time
   * of its question. A session that is deleted while it is read may be counted in part.
   */
  readonly ofUser: (userId: UserId | null, options?: UserOptions) => Effect.Effect<UserReport, SessionStorageError>
}

/**
 * @since 0.1.0
 * @category tags
 */
export class SessionAnalytics extends Context.Tag(NAME)<SessionAnalytics, Service>() {}

/**
 * @since 0.1.0
 * @category models
 */
export interface Options {
  /** How many turns are read at once; 256 unless set. */
  readonly pageSize?: number | undefined
  /** How many buckets a report has at most, the newest; 1000 unless set. */
  readonly maxBuckets?: number | undefined
}

const refOf = (turn: SessionTurn): TurnRef => ({ sessionId: turn.sessionId, turnId: turn.id })

const accessOf = ({ userId }: Session): SessionManager.Access => (userId === undefined ? {} : { userId })

/** A day: whoever adds a turn says when it was said. */
const clocksDiffer = 86_400_000

/** From 0001 to 9999: beyond that no calendar is sure. */
const earliest = -62_135_596_800_000
const latest = 253_402_300_799_999

/**
 * When the day, week or month began. Turns come in the order of time, so that the last one asked for is most often the
 * next.
 */
const calendar = (by: "day" | "week" | "month", timeZone: DateTime.TimeZone | undefined): ((at: number) => number) => {
  const startOf = DateTime.startOf(by, { weekStartsOn: 1 })
  const unit = { day: { days: 1 }, week: { weeks: 1 }, month: { months: 1 } }[by]
  let start = 0
  let end = 0
  return (at) => {
    if (at < start || at >= end) {
      const time = DateTime.unsafeMake(Math.min(latest, Math.max(earliest, at)))
      const first = startOf(timeZone === undefined ? time : DateTime.setZone(time, timeZone))
      start = first.epochMillis
      end = startOf(DateTime.add(first, unit)).epochMillis
    }
    return start
  }
}

/** The folds of a user's time, for all of it and for each bucket. */
interface Periods {
  whole: AnalyticsFold.Fold
  readonly buckets: Map<number, AnalyticsFold.Fold>
}

const into = (periods: Map<number, AnalyticsFold.Fold>, start: number, fold: AnalyticsFold.Fold): void => {
  const before = periods.get(start)
  periods.set(start, before === undefined ? fold : AnalyticsFold.combine(fold, before))
}

const newest = (periods: Map<number, AnalyticsFold.Fold>, limit: number): boolean => {
  if (periods.size <= limit) return false
  while (periods.size > limit) {
    let oldest = Infinity
    for (const start of periods.keys()) oldest = Math.min(oldest, start)
    periods.delete(oldest)
  }
  return true
}

/**
 * @since 0.1.0
 * @category constructors
 */
export const make = (options?: Options | undefined): Effect.Effect<Service, never, SessionManager.SessionManager> =>
  Effect.map(SessionManager.SessionManager, (manager) => {
    const pageSize = Count.count(options?.pageSize, 256, 1)
    const maxBuckets = Count.count(options?.maxBuckets, 1000, 1)

    /**
     * Hands over the turns of a session by pages, the newest page first, until there are no more or nobody asks for
     * more.
     */
    const pages = <E, R>(
      id: SessionId,
      access: SessionManager.Access,
      each: (turns: ReadonlyArray<SessionTurn>) => Effect.Effect<boolean, E, R>
    ): Effect.Effect<void, E | SessionNotFoundError | SessionStorageError, R> => {
      const from = (
        before: TurnRef | undefined
      ): Effect.Effect<void, E | SessionNotFoundError | SessionStorageError, R> =>
        Effect.flatMap(
          manager.turns(id, { ...access, last: pageSize, ...(before === undefined ? {} : { before }) }),
          (turns) => {
            const first = turns[0]
            if (first === undefined) return Effect.void
            return Effect.flatMap(each(turns), (more) =>
              more && first.parent !== undefined ? from(refOf(first)) : Effect.void
            )
          }
        )
      return from(undefined)
    }

    /** Adds what a session wrote itself. */
    const collect = (
      session: Session,
      all: Periods,
      userOptions: UserOptions,
      startOf: ((at: number) => number) | undefined
    ) =>
      Effect.gen(function* () {
        const { from = -Infinity, to = Infinity } = userOptions
        const own: Periods = { whole: AnalyticsFold.empty, buckets: new Map() }
        const kept = new Map<SessionId, boolean>()
        let more = false
        let answeredAt: number | undefined
        const isKept = Effect.fnUntraced(function* (id: SessionId) {
          const known = kept.get(id) ?? Option.isSome(yield* manager.get(id, accessOf(session)))
          kept.set(id, known)
          return known
        })
        const read = Effect.fnUntraced(function* (turns: ReadonlyArray<SessionTurn>) {
          for (let i = turns.length - 1; i >= 0; i--) {
            const turn = turns[i] as SessionTurn
            if (turn.sessionId !== session.id) return false
            if (turn.origin !== undefined && (yield* isKept(turn.origin.sessionId))) continue
            const said = AnalyticsFold.of(turn)
            const fold = AnalyticsFold.settle(said, answeredAt)
            answeredAt = said.opening ?? (said.asked ? undefined : answeredAt)
            const at = AnalyticsFold.saidAt(turn)
            if (at < from || at >= to) continue
            own.whole = AnalyticsFold.combine(fold, own.whole)
            if (startOf !== undefined) {
              into(own.buckets, startOf(at), fold)
              more = newest(own.buckets, maxBuckets) || more
            }
          }
          return true
        })
        yield* Effect.catchTag(pages(session.id, accessOf(session), read), "SessionNotFoundError", () => Effect.void)
        all.whole = AnalyticsFold.combine(all.whole, AnalyticsFold.close(own.whole))
        for (const [start, fold] of own.buckets) into(all.buckets, start, AnalyticsFold.close(fold))
        return newest(all.buckets, maxBuckets) || more
      })

    const report = (fold: AnalyticsFold.Fold) => ({
      sessions: AnalyticsFold.conversations(fold),
      ...AnalyticsFold.figures(fold)
    })

    return {
      ofSession: Effect.fnUntraced(function* (id, access) {
        let fold = AnalyticsFold.empty
        yield* pages(id, access ?? {}, (turns) => {
          fold = AnalyticsFold.combine(AnalyticsFold.fromTurns(turns), fold)
          return Effect.succeed(true)
        })
        return { sessionId: id, ...AnalyticsFold.figures(fold) }
      }),
      ofUser: Effect.fnUntraced(function* (userId, userOptions = {}) {
        const all: Periods = { whole: AnalyticsFold.empty, buckets: new Map() }
        const startOf = userOptions.by === undefined ? undefined : calendar(userOptions.by, userOptions.timeZone)
        let moreBuckets = false
        let after: SessionManager.ListOptions["after"]
        let isLast = !(yield* SystemAccess.permits(userOptions.access?.userId, userId))
        while (!isLast) {
          // A list by the time of creation misses none that is written to meanwhile.
          const page: SessionManager.Page = yield* manager.list(userId, {
            order: "created",
            ...(after === undefined ? {} : { after })
          })
          for (const session of page.sessions) {
            // Nothing was said in it after it was last written to, however much the clocks of those who said it differ.
            if (userOptions.from !== undefined && session.updatedAt < userOptions.from - clocksDiffer) continue
            moreBuckets = (yield* collect(session, all, userOptions, startOf)) || moreBuckets
          }
          after = page.next
          isLast = after === undefined
        }
        const buckets = [...all.buckets].sort(([a], [b]) => a - b)
        return {
          userId,
          ...report(all.whole),
          buckets: buckets.map(([start, fold]) => ({ start, ...report(fold) })),
          moreBuckets
        }
      })
    }
  })

/**
 * @since 0.1.0
 * @category layers
 */
export const layer = (
  options?: Options | undefined
): Layer.Layer<SessionAnalytics, never, SessionManager.SessionManager> => Layer.effect(SessionAnalytics, make(options))
