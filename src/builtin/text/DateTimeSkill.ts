/**
 * The `current_datetime` skill: the current time in a time zone.
 *
 * @since 0.1.0
 */
import * as DateTime from "effect/DateTime"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as ErrorCode from "../../domain/ErrorCode.js"
import * as Nearest from "../../internal/text/Nearest.js"
import * as Skill from "../../skill/definition/Skill.js"

/**
 * The time zone or language is unknown.
 *
 * @since 0.1.0
 * @category errors
 */
export class DateTimeError extends ErrorCode.TaggedError<DateTimeError>(
  "effect-lexigram/builtin/DateTimeSkill/DateTimeError"
)("DateTimeError", { ...ErrorCode.fields("LEX_ERR_SKILL_116"), parameter: Schema.Literal("timezone", "locale") }) {}

const styles = ["full", "long", "medium", "short"] as const

const Parameters = Schema.Struct({
  timezone: Schema.optionalWith(
    Schema.String.annotations({
      description: "An IANA time zone such as Europe/Paris, or an offset such as +02:00. Default UTC"
    }),
    { default: () => "UTC" }
  ),
  style: Schema.optional(
    Schema.Literal(...styles).annotations({ description: "Adds the date and time in words, this long" })
  ),
  locale: Schema.optionalWith(
    Schema.String.annotations({ description: "Language of the words, such as en or pt-BR. Default en" }),
    { default: () => "en" }
  )
})

const Now = Schema.Struct({
  datetime: Schema.String.annotations({ description: "ISO 8601 with offset" }),
  date: Schema.String.annotations({ description: "YYYY-MM-DD" }),
  time: Schema.String.annotations({ description: "HH:MM:SS" }),
  weekday: Schema.String.annotations({ description: "In English" }),
  timestamp: Schema.Number.annotations({ description: "Seconds since 1970 in UTC" }),
  timezone: Schema.String,
  formatted: Schema.optional(Schema.String)
})
/**
 * @since 0.1.0
 * @category models
 */
export interface Now extends Schema.Schema.Type<typeof Now> {}

const unknownZone = (timezone: string): DateTimeError => {
  const near = Nearest.nearest(timezone, Intl.supportedValuesOf("timeZone"))
  return new DateTimeError({
    parameter: "timezone",
    message: `There is no time zone ${JSON.stringify(timezone.slice(0, 64))}`,
    hint:
      near === undefined
        ? "Give an IANA name such as Europe/Paris, or an offset such as +02:00"
        : `Did you mean ${near}?`
  })
}

const weekdays = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"] as const

const two = (value: number): string => String(value).padStart(2, "0")

const languageOf = (locale: string): Effect.Effect<string, DateTimeError> =>
  Effect.try({
    try: () => Intl.getCanonicalLocales(locale)[0] ?? "en",
    catch: () =>
      new DateTimeError({
        parameter: "locale",
        message: `There is no language ${JSON.stringify(locale.slice(0, 64))}`,
        hint: "Give a language tag such as en or pt-BR"
      })
  })

/**
 * `current_datetime`: the time of `Clock` in a zone. An unknown zone is a failure instead of falling back to UTC.
 *
 * @since 0.1.0
 * @category skills
 */
export const skill: Skill.Skill<typeof Parameters.Type, Now, DateTimeError> = Skill.make("current_datetime", {
  description: "Tells the current date and time in a time zone",
  category: "utility",
  parameters: Parameters,
  returns: Now,
  idempotent: true,
  maxRetries: 0,
  handler: ({ locale, style, timezone }) =>
    Effect.gen(function* () {
      const zone = timezone.length > 64 ? Option.none() : DateTime.zoneFromString(timezone)
      if (Option.isNone(zone)) return yield* unknownZone(timezone)
      const language = yield* languageOf(locale)
      const now = DateTime.setZone(yield* DateTime.now, zone.value)
      const { day, hours, minutes, month, seconds, weekDay, year } = DateTime.toParts(now)
      return {
        datetime: DateTime.formatIsoOffset(now),
        date: `${String(year).padStart(4, "0")}-${two(month)}-${two(day)}`,
        time: `${two(hours)}:${two(minutes)}:${two(seconds)}`,
        weekday: weekdays[weekDay] as string,
        timestamp: Math.floor(now.epochMillis / 1000),
        timezone: DateTime.zoneToString(zone.value),
        ...(style === undefined
          ? {}
          : { formatted: DateTime.format(now, { dateStyle: style, timeStyle: style, locale: language }) })
      }
    })
})
