/**
 * The dates that a query names in English or as ISO 8601: `May 2023`, `in May`, `13 May`, `May 13th, 2023`,
 * `2023-05-13`, `in 2023`. Dates are those of UTC.
 *
 * @private
 * @since 0.1.0
 */
import * as DateTime from "effect/DateTime"
import * as Option from "effect/Option"
import * as CalendarWords from "./CalendarWords.js"

/**
 * Parts that are absent match any: `in May` is the May of every year. Months and days begin with 1.
 *
 * @category models
 */
export interface NamedDate {
  readonly year?: number | undefined
  readonly month?: number | undefined
  readonly day?: number | undefined
}

/** Characters of a query that are read. */
const maxCharacters = 2_000
/** Dates of a query that are read. */
const maxDates = 8

const month = `(?<month>${CalendarWords.months.flat().join("|")})\\.?`
const day = "(?<day>\\d{1,2})(?:st|nd|rd|th)?"
const year = "(?<year>(?:19|20)\\d{2})"

// A month alone needs a preposition: "may" and "march" are verbs too.
const forms = [
  `${day} (?:of )?${month}(?:,? ${year})?`,
  `${month} ${day}(?:,? ${year})?`,
  `${month},? ${year}`,
  `(?:in|of|during|since|until|by|from|last|this|early|late|mid) ${month}`,
  `${year}-(?<month>\\d{2})(?:-${day})?`,
  `(?:in|of|during|since|until|by|from) ${year}`
].map((form) => new RegExp(`(?<![\\p{L}\\p{N}])${form}(?![\\p{L}\\p{N}])`, "giu"))

const numberOf = (text: string | undefined): number | undefined => (text === undefined ? undefined : Number(text))

const monthOf = (text: string | undefined): number | undefined =>
  text === undefined ? undefined : (CalendarWords.monthOf(text.toLowerCase()) ?? Number(text))

const isDate = ({ day, month }: NamedDate): boolean =>
  (month === undefined || (month >= 1 && month <= 12)) && (day === undefined || (day >= 1 && day <= 31))

/**
 * In the order of the forms. A text that two forms match counts for the first.
 *
 * @category getters
 */
export const datesOf = (query: string): ReadonlyArray<NamedDate> => {
  let text = query.slice(0, maxCharacters)
  if (!/\d|\b(?:in|of|during|since|until|by|from|last|this|early|late|mid) [a-z]{3}/i.test(text)) return []
  const dates: Array<NamedDate> = []
  for (const form of forms) {
    text = text.replace(form, (found, ...parts) => {
      const groups: Readonly<Record<string, string | undefined>> = parts[parts.length - 1]
      const date = { year: numberOf(groups["year"]), month: monthOf(groups["month"]), day: numberOf(groups["day"]) }
      if (!isDate(date) || dates.length >= maxDates) return found
      dates.push(date)
      return " "
    })
  }
  return dates
}

const dayMillis = 86_400_000

const isOn = ({ day, month, year }: NamedDate, timestamp: number): boolean => {
  // What happens in an evening is told the next day, or in another zone.
  const near = day === undefined ? [0] : [0, -dayMillis, dayMillis]
  return near.some((shift) => {
    const moment = DateTime.make(timestamp + shift)
    if (Option.isNone(moment)) return false
    const parts = DateTime.toPartsUtc(moment.value)
    return (
      (year === undefined || parts.year === year) &&
      (month === undefined || parts.month === month) &&
      (day === undefined || parts.day === day)
    )
  })
}

/**
 * Tests whether a time is within one of the dates, give or take a day where a day is named.
 *
 * @category guards
 */
export const includes = (dates: ReadonlyArray<NamedDate>, timestamp: number): boolean =>
  dates.some((date) => isOn(date, timestamp))
