/**
 * Computes the reports of sessions from their turns, which are read page by page.
 *
 * @since 0.1.0
 */
import * as DateTime from "effect/DateTime"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import type { SessionId } from "../../domain/Ids.js"
import * as SystemAccess from "../../domain/SystemAccess.js"
import * as Count from "../../internal/Count.js"
import * as SessionManager from "../manager/SessionManager.js"
import type { Session, SessionTurn, TurnRef } from "../turn/Session.js"
import type { SessionNotFoundError, SessionStorageError } from "../turn/SessionError.js"
import * as AnalyticsFold from "./AnalyticsFold.js"
import * as SessionAnalytics from "./SessionAnalytics.js"

/**
 * @since 0.1.0
 * @category models
 */
export interface Options {
  /** The page size of reads in turns; default 256. */
  readonly pageSize?: number | undefined
  /** The maximum number of buckets of a report, newest first; default 1000. */
  readonly maxBuckets?: number | undefined
}

const refOf = (turn: SessionTurn): TurnRef => ({ sessionId: turn.sessionId, turnId: turn.id })

const accessOf = ({ userId }: Session): SessionManager.Access => (userId === undefined ? {} : { userId })

/** A day: callers set the time of a turn themselves. */
const clocksDiffer = 86_400_000

/** From 0001 to 9999: calendars are unreliable beyond. */
const earliest = -62_135_596_800_000
const latest = 253_402_300_799_999

/** The beginning of the day, week or month. Turns come in order of time, so the last result is most often the next. */
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

/** The folds of a user's turns, overall and by bucket. */
interface Periods {
  whole: AnalyticsFold.Fold
  readonly buckets: Map<number, AnalyticsFold.Fold>
}

const addToPeriod = (periods: Map<number, AnalyticsFold.Fold>, start: number, fold: AnalyticsFold.Fold): void => {
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
export const make = (
  options?: Options | undefined
): Effect.Effect<SessionAnalytics.Service, never, SessionManager.SessionManager> =>
  Effect.map(SessionManager.SessionManager, (manager) => {
    const pageSize = Count.count(options?.pageSize, 256, 1)
    const maxBuckets = Count.count(options?.maxBuckets, 1000, 1)

    /** Reads the turns of a session page by page, newest first, until there are no more or the consumer stops. */
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

    /** Adds the turns that a session wrote itself. */
    const collect = (
      session: Session,
      all: Periods,
      userOptions: SessionAnalytics.UserOptions,
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
            const turnFold = AnalyticsFold.of(turn)
            const fold = AnalyticsFold.settle(turnFold, answeredAt)
            answeredAt = turnFold.opening ?? (turnFold.asked ? undefined : answeredAt)
            const at = AnalyticsFold.saidAt(turn)
            if (at < from || at >= to) continue
            own.whole = AnalyticsFold.combine(fold, own.whole)
            if (startOf !== undefined) {
              addToPeriod(own.buckets, startOf(at), fold)
              more = newest(own.buckets, maxBuckets) || more
            }
          }
          return true
        })
        yield* Effect.catchTag(pages(session.id, accessOf(session), read), "SessionNotFoundError", () => Effect.void)
        all.whole = AnalyticsFold.combine(all.whole, AnalyticsFold.close(own.whole))
        for (const [start, fold] of own.buckets) addToPeriod(all.buckets, start, AnalyticsFold.close(fold))
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
          // A list by time of creation misses no session that is written during the read.
          const page: SessionManager.Page = yield* manager.list(userId, {
            order: "created",
            ...(after === undefined ? {} : { after })
          })
          for (const session of page.sessions) {
            // It has no turn later than its last write, up to the clock difference between machines.
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
 * @example
 * ```ts
 * import { Ids } from "effect-lexigram"
 * import { DefaultSessionAnalytics, SessionAnalytics, SessionManager } from "effect-lexigram/session"
 * import * as Effect from "effect/Effect"
 * import * as Layer from "effect/Layer"
 *
 * const userId = Ids.UserId.make("ada")
 *
 * const reports = (sessions: Layer.Layer<SessionManager.SessionManager>) =>
 *   Effect.flatMap(SessionAnalytics.SessionAnalytics, (analytics) =>
 *     analytics.ofUser(userId, { access: { userId }, by: "week" })
 *   ).pipe(Effect.provide(DefaultSessionAnalytics.layer({ maxBuckets: 52 })), Effect.provide(sessions))
 * ```
 */
export const layer = (
  options?: Options | undefined
): Layer.Layer<SessionAnalytics.SessionAnalytics, never, SessionManager.SessionManager> =>
  Layer.effect(SessionAnalytics.SessionAnalytics, make(options))
