/**
 * Checks requests for schedules, and makes schedules of them.
 *
 * @private
 * @since 0.1.0
 */
import * as Cron from "effect/Cron"
import * as DateTime from "effect/DateTime"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { RunId } from "../../domain/Ids.js"
import * as CanonicalJson from "../../internal/text/CanonicalJson.js"
import * as RunPolicy from "../record/RunPolicy.js"
import { areLabels, type Labels } from "../record/RunRecord.js"
import * as RunSchedule from "../record/RunSchedule.js"
import { invalid, type ScheduleError } from "../record/ScheduleError.js"
import * as ScheduleTimes from "../record/ScheduleTimes.js"
import type { TimingRequest } from "./RunSchedules.js"

const isId = Schema.is(RunId)

/** The longest cron expression or name of a zone, in characters. */
const maxText = 256

/** The shortest distance of firings, in milliseconds. */
const least = 1000

/** @category conversions */
export const idOf = (id: string): Effect.Effect<string, ScheduleError> =>
  isId(id) && id.length <= RunSchedule.MAX_ID
    ? Effect.succeed(id)
    : invalid(
        "The id of the schedule is not valid",
        `Ids of schedules have 1 to ${RunSchedule.MAX_ID} characters and no control characters`
      )

const zoneOf = (name: string): Either.Either<DateTime.TimeZone, ScheduleError> =>
  Either.fromOption(name.length > maxText ? Option.none() : DateTime.zoneFromString(name), () =>
    invalid(
      `The time zone "${name.slice(0, 64)}" is not known`,
      'Give a name of the IANA database, such as "Europe/Berlin", or an offset, such as "+02:00"'
    )
  )

const cronOf = (given: Cron.Cron | string, zone: DateTime.TimeZone): Either.Either<Cron.Cron, ScheduleError> => {
  if (Cron.isCron(given)) return Either.right(given)
  if (typeof given !== "string" || given.length > maxText) {
    return Either.left(invalid("The cron expression is too long", `Give at most ${maxText} characters`))
  }
  return Either.mapLeft(Cron.parse(given, zone), ({ message }) =>
    invalid(
      `The cron expression "${given.slice(0, 64)}" is not valid: ${message}`,
      'Give five fields (minute, hour, day, month, weekday), such as "0 9 * * mon-fri", or six that begin with the second'
    )
  )
}

const ofCron = (request: {
  readonly cron: Cron.Cron | string
  readonly timeZone?: string | undefined
}): Either.Either<RunSchedule.Cron, ScheduleError> =>
  Either.gen(function* () {
    const { cron: given, timeZone } = request
    const zone = timeZone === undefined ? undefined : yield* zoneOf(timeZone)
    const cron = yield* cronOf(given, zone ?? DateTime.zoneUnsafeMakeNamed("UTC"))
    const [second, ...others] = cron.seconds
    if (second === undefined || others.length > 0) {
      return yield* Either.left(
        invalid("The cron expression fires more than once a minute", "Give one second, or use `every`")
      )
    }
    const fields = {
      minutes: [...cron.minutes],
      hours: [...cron.hours],
      days: [...cron.days],
      months: [...cron.months],
      weekdays: [...cron.weekdays]
    }
    const own = Option.getOrElse(cron.tz, () => DateTime.zoneUnsafeMakeNamed("UTC"))
    return {
      _tag: "Cron",
      ...(typeof given === "string" ? { text: given } : {}),
      zone: DateTime.zoneToString(zone ?? own),
      second,
      ...fields,
      and: Cron.equals(cron, Cron.make({ ...fields, seconds: [second], and: true }))
    }
  })

const ofEvery = (
  every: Duration.DurationInput,
  now: number,
  startsAt: number | undefined
): Either.Either<RunSchedule.Every, ScheduleError> => {
  const millis = Either.getOrElse(
    Either.try(() => Duration.toMillis(Duration.decode(every))),
    () => Number.NaN
  )
  return millis >= least && Number.isFinite(now + millis)
    ? Either.right({ _tag: "Every", millis, from: startsAt ?? now + millis })
    : Either.left(invalid("The distance of the firings is not valid", "Give a finite duration of at least one second"))
}

/** The timing of a request; `undefined` if it has none. */
export const timingOf = (
  request: Partial<TimingRequest>,
  now: number,
  startsAt: number | undefined
): Either.Either<RunSchedule.Timing | undefined, ScheduleError> => {
  const { cron, every, timeZone } = request
  if (cron !== undefined && every !== undefined) {
    return Either.left(invalid("The schedule has both `cron` and `every`", "Give one of them"))
  }
  if (cron !== undefined) return ofCron({ cron, timeZone })
  if (every === undefined) {
    return timeZone === undefined
      ? Either.right(undefined)
      : Either.left(invalid("The time zone belongs to no cron expression", "Give it together with `cron`"))
  }
  return timeZone === undefined
    ? ofEvery(every, now, startsAt)
    : Either.left(invalid("A schedule with `every` has no time zone", "Leave out `timeZone`, or use `cron`"))
}

/** Checks labels: `schedule` is one of the 16 that a run can have. */
export const labelsOf = (
  labels: Readonly<Record<string, string>> | undefined
): Either.Either<Labels, ScheduleError> => {
  const given = { ...labels }
  return areLabels({ ...given, [RunSchedule.LABEL]: "" }) && !Object.hasOwn(given, RunSchedule.LABEL)
    ? Either.right(given)
    : Either.left(
        invalid(
          "The labels of the schedule are not valid",
          `Give at most 15 labels other than "${RunSchedule.LABEL}", with names of 1 to 64 characters and texts of at most 256`
        )
      )
}

const isTime = (time: number | undefined): boolean => time === undefined || Math.abs(time) <= 8.64e15

const validate = Schema.validateEither(RunSchedule.RunSchedule)

/** Checks all fields of a schedule. */
export const checked = (schedule: RunSchedule.RunSchedule): Either.Either<RunSchedule.RunSchedule, ScheduleError> => {
  const { endsAt, policy, startsAt } = schedule
  if (!isTime(startsAt) || !isTime(endsAt)) {
    return Either.left(invalid("`startsAt` or `endsAt` is not a time", "Give milliseconds since the epoch"))
  }
  const checkedPolicy = policy === undefined ? undefined : RunPolicy.fromUnknown(policy)
  if (checkedPolicy !== undefined && Either.isLeft(checkedPolicy)) {
    return Either.left(
      invalid(
        `The policy of the schedule is not valid: ${checkedPolicy.left}`,
        "Make it with `RunPolicy.make`: plain data, amounts from 0, times above 0"
      )
    )
  }
  return Either.mapLeft(validate(schedule), () =>
    invalid(
      "The schedule has a field that is not valid",
      "Ids have 1 to 256 characters and no control characters; `input` is a text or content, `settings` are those of a model"
    )
  )
}

/** The schedule with its first firing after a time, or at its begin. */
export const withNext = (
  schedule: RunSchedule.RunSchedule,
  now: number
): Either.Either<RunSchedule.RunSchedule, ScheduleError> => {
  const nextAt = ScheduleTimes.make(schedule)(schedule.startsAt === now ? now - 1 : now)
  return nextAt === undefined
    ? Either.left(
        invalid("The schedule has no firing", "Check that its days exist, and that `endsAt` is after the first firing")
      )
    : Either.right({ ...schedule, nextAt })
}

/** A digest of what makes two requests the same: everything but the id. */
export const fingerprintOf = (schedule: RunSchedule.RunSchedule): Either.Either<string, ScheduleError> => {
  const { createdAt: _, id: __, key: ___, nextAt: ____, timing, updatedAt: _____, ...request } = schedule
  // Without `startsAt`, the first firing of a distance depends on the time of the request.
  const same = timing._tag === "Every" && schedule.startsAt === undefined ? { ...timing, from: 0 } : timing
  return Either.try({
    try: () => CanonicalJson.hash({ ...request, timing: same }),
    catch: () => invalid("The schedule is no plain data", "Pass texts, numbers, lists and records, without cycles")
  })
}

/** The times of a schedule after a change of `startsAt`. */
export const moved = (timing: RunSchedule.Timing, startsAt: number | undefined): RunSchedule.Timing =>
  timing._tag === "Every" && startsAt !== undefined ? { ...timing, from: startsAt } : timing

type Compact<A> = { readonly [K in keyof A]: Exclude<A[K], undefined> }

/** Leaves out fields that are `undefined`. */
export const compact = <A extends object>(fields: A): Compact<A> =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as Compact<A>
