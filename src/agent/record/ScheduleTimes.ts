/**
 * The firings of a schedule.
 *
 * Effect's `Cron` gives the next firing of an expression with certain hours: one in a gap of the clock fires after the
 * gap, and one in an hour that comes twice fires once. Of an expression without certain hours, Effect leaves out the
 * hour that comes again; here every instant fires whose local time matches.
 *
 * @private
 * @since 0.1.0
 */
import * as Cron from "effect/Cron"
import * as DateTime from "effect/DateTime"
import * as Either from "effect/Either"
import * as Option from "effect/Option"
import type * as RunSchedule from "./RunSchedule.js"

/**
 * The first firing after a time; `undefined` if there is none.
 *
 * @category models
 */
export type Next = (after: number) => number | undefined

/** The most days of each month. */
const lengths = [31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]

/** Whether some month has one of the days. Saves the long search for a day that no month has. */
const isPossible = ({ days, months, weekdays }: RunSchedule.Cron): boolean =>
  days.length === 0 ||
  weekdays.length > 0 ||
  (months.length === 0 ? [1] : months).some((month) => Math.min(...days) <= (lengths[month - 1] ?? 0))

const offsetIn =
  (timeZone: DateTime.TimeZone) =>
  (at: number): number =>
    DateTime.zonedOffset(DateTime.unsafeMakeZoned(at, { timeZone }))

/** The first time after `low` at which the offset is no longer `offset`; at `high` it is another one. */
const changeBetween = (offsetAt: (at: number) => number, offset: number, low: number, high: number): number => {
  let [before, after] = [low, high]
  while (after - before > 1) {
    const middle = Math.floor((before + after) / 2)
    if (offsetAt(middle) === offset) before = middle
    else after = middle
  }
  return after
}

/** Changes of the offset that one search passes. */
const maxChanges = 16

const ofCron = (timing: RunSchedule.Cron): Next => {
  const zone = Option.getOrElse(DateTime.zoneFromString(timing.zone), () => DateTime.zoneMakeOffset(0))
  const { and, days, hours, minutes, months, second, weekdays } = timing
  const fields = { seconds: [second], minutes, hours, days, months, weekdays, and }
  const nextIn = (tz: DateTime.TimeZone): Next => {
    const cron = Cron.make({ ...fields, tz })
    return (after) => Either.getOrUndefined(Either.try(() => Cron.next(cron, after).getTime()))
  }
  if (!isPossible(timing)) return () => undefined
  if (hours.length > 0) return nextIn(zone)
  const offsetAt = offsetIn(zone)
  const byOffset = new Map<number, Next>()
  const nextWith = (offset: number): Next => {
    const known = byOffset.get(offset)
    if (known !== undefined) return known
    const next = nextIn(DateTime.zoneMakeOffset(offset))
    byOffset.set(offset, next)
    return next
  }
  return (after) => {
    let low = after
    let from = after
    for (let i = 0; i < maxChanges; i++) {
      const offset = offsetAt(low)
      const found = nextWith(offset)(from)
      if (found === undefined || offsetAt(found) === offset) return found
      low = changeBetween(offsetAt, offset, low, found)
      // The change itself may be a firing.
      from = low - 1
    }
    return undefined
  }
}

const ofEvery =
  ({ from, millis }: RunSchedule.Every): Next =>
  (after) =>
    after < from ? from : from + (Math.floor((after - from) / millis) + 1) * millis

/**
 * The firings of a schedule, within its bounds.
 *
 * @category constructors
 */
export const make = ({
  endsAt,
  startsAt,
  timing
}: Pick<RunSchedule.RunSchedule, "timing" | "startsAt" | "endsAt">): Next => {
  const next = timing._tag === "Cron" ? ofCron(timing) : ofEvery(timing)
  return (after) => {
    const found = next(startsAt === undefined ? after : Math.max(after, startsAt - 1))
    return found === undefined || (endsAt !== undefined && found > endsAt) ? undefined : found
  }
}

/** Where the search for the newest firings begins, in milliseconds before the end. */
const firstWindow = 60_000

/**
 * The newest firings from a time on and before another one, at most `most`, the oldest first. `first` is a firing. What
 * it costs does not depend on how many older ones there are.
 *
 * @category getters
 */
export const newest = (next: Next, first: number, before: number, most: number): ReadonlyArray<number> => {
  for (let window = firstWindow; ; window *= 2) {
    const begin = Math.max(first, before - window)
    const found: Array<number> = []
    for (let at = begin === first ? first : next(begin - 1); at !== undefined && at < before; at = next(at)) {
      found.push(at)
    }
    if (found.length >= most || begin === first) return found.slice(Math.max(0, found.length - most))
  }
}
