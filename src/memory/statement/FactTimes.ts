/**
 * Reads when a fact held from phrases: `since May 2021`, `from 2020 to 2022`, `until 2021-05-03`.
 *
 * @private
 * @since 0.1.0
 */
import * as DateTime from "effect/DateTime"
import type { NewFact } from "../facts/Fact.js"
import * as CalendarWords from "../text/CalendarWords.js"

/**
 * A year, month or day, from its first moment (inclusive) to its end (exclusive), in UTC. Milliseconds since the epoch.
 *
 * @category models
 */
export interface Span {
  readonly start: number
  readonly end: number
}

/**
 * @category models
 */
export interface Times {
  readonly from?: number | undefined
  /** Exclusive. */
  readonly to?: number | undefined
}

const momentOf = (year: number, month: number, day: number): number =>
  DateTime.toEpochMillis(DateTime.unsafeMake({ year, month, day }))

const spanOf = (year: number, month?: number | undefined, day?: number | undefined): Span | undefined => {
  if (month === undefined) return { start: momentOf(year, 1, 1), end: momentOf(year + 1, 1, 1) }
  if (month < 1 || month > 12) return undefined
  const next = month === 12 ? momentOf(year + 1, 1, 1) : momentOf(year, month + 1, 1)
  if (day === undefined) return { start: momentOf(year, month, 1), end: next }
  const start = momentOf(year, month, day)
  return day < 1 || start >= next ? undefined : { start, end: start + 86_400_000 }
}

const yearOf = (text: string | undefined): number | undefined =>
  text !== undefined && /^[12]\d{3}$/.test(text) ? Number(text) : undefined

const dayOf = (text: string | undefined): number | undefined => {
  const day = /^(\d{1,2})(?:st|nd|rd|th)?$/.exec(text ?? "")?.[1]
  return day === undefined ? undefined : Number(day)
}

const iso = /^([12]\d{3})(?:-(\d{2})(?:-(\d{2})(?:[t ][\d:.,]{2,20}(?:z|[+-]\d{2}:?\d{2})?)?)?)?$/i

/**
 * Parses `2021`, `2021-05`, `2021-05-03`, also when followed by a time of day.
 *
 * @category conversions
 */
export const fromIso = (text: string): Span | undefined => {
  const found = iso.exec(text.trim())
  if (found === null) return undefined
  const [, year, month, day] = found
  return spanOf(
    Number(year),
    month === undefined ? undefined : Number(month),
    day === undefined ? undefined : Number(day)
  )
}

/** Without a time of the statement, relative dates are not read. */
type Now = number | undefined

const partsOf = (now: number) => DateTime.toPartsUtc(DateTime.unsafeMake(now))

/** The last month of this name that had begun. */
const lastMonth = (month: number, now: number): Span | undefined => {
  const parts = partsOf(now)
  return spanOf(month <= parts.month ? parts.year : parts.year - 1, month)
}

const relative: ReadonlyMap<string, (now: number) => Span | undefined> = new Map([
  ["last year", (now) => spanOf(partsOf(now).year - 1)],
  ["this year", (now) => spanOf(partsOf(now).year)],
  [
    "last month",
    (now) => {
      const { month, year } = partsOf(now)
      return month === 1 ? spanOf(year - 1, 12) : spanOf(year, month - 1)
    }
  ],
  [
    "this month",
    (now) => {
      const { month, year } = partsOf(now)
      return spanOf(year, month)
    }
  ]
])

type Found = readonly [Span, number] | undefined

const found = (span: Span | undefined, length: number): Found => (span === undefined ? undefined : [span, length])

/** A date in lower-case words, and its number of words. */
const dateAt = (words: ReadonlyArray<string>, at: number, now: Now): Found => {
  const [first = "", second, third] = words.slice(at, at + 3)
  const said = relative.get(`${first} ${second}`)
  if (said !== undefined) return now === undefined ? undefined : found(said(now), 2)
  const month = CalendarWords.monthOf(first)
  if (month !== undefined) {
    const day = dayOf(second)
    const year = yearOf(second)
    if (year !== undefined) return found(spanOf(year, month), 2)
    const behind = yearOf(third)
    if (day !== undefined) return behind === undefined ? undefined : found(spanOf(behind, month, day), 3)
    return now === undefined ? undefined : found(lastMonth(month, now), 1)
  }
  const next = CalendarWords.monthOf(second ?? "")
  const year = yearOf(third)
  const day = dayOf(first)
  if (next !== undefined && year !== undefined && day !== undefined) return found(spanOf(year, next, day), 3)
  return found(fromIso(first), 1)
}

const numbers: ReadonlyMap<string, number> = new Map(
  ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"].map(
    (word, at) => [word, at + 1]
  )
)

const units: ReadonlyMap<string, "years" | "months" | "weeks"> = new Map([
  ["year", "years"],
  ["years", "years"],
  ["month", "months"],
  ["months", "months"],
  ["week", "weeks"],
  ["weeks", "weeks"]
])

/** `for ten years` until now. */
const lasting = (words: ReadonlyArray<string>, place: number, now: Now): readonly [Times, number] | undefined => {
  const [count = "", word = ""] = words.slice(place + 1, place + 3)
  const unit = units.get(word)
  const amount = count === "a" ? 1 : (numbers.get(count) ?? (/^\d{1,2}$/.test(count) ? Number(count) : undefined))
  if (now === undefined || unit === undefined || amount === undefined) return undefined
  return [{ from: DateTime.toEpochMillis(DateTime.subtract(DateTime.unsafeMake(now), { [unit]: amount })) }, 3]
}

/**
 * When a change happened, in lower-case words at a place, and its number of words: `in 2022`, `in May 2022`, `last
 * month`.
 *
 * @category conversions
 */
export const changeAt = (
  words: ReadonlyArray<string>,
  place: number,
  now: Now
): readonly [Times, number] | undefined => {
  const skipped = words[place] === "in" ? 1 : 0
  const date =
    skipped === 1 || relative.has(`${words[place]} ${words[place + 1]}`)
      ? dateAt(words, place + skipped, now)
      : undefined
  return date === undefined ? undefined : [{ from: date[0].start }, date[1] + skipped]
}

const between: ReadonlyMap<string, ReadonlySet<string>> = new Map([
  ["from", new Set(["to", "until", "till"])],
  ["between", new Set(["and"])]
])

/**
 * The time phrase of lower-case words at a place, and its number of words. A year, month or day that ends a period
 * counts as a whole. Relative ones (`since last year`, `since March`, `for ten years`) count from the time of the
 * statement, `now`.
 *
 * @category conversions
 */
export const at = (words: ReadonlyArray<string>, place: number, now?: Now): readonly [Times, number] | undefined => {
  const word = words[place] ?? ""
  if (word === "for") return lasting(words, place, now)
  const first = dateAt(words, place + 1, now)
  if (first === undefined) return undefined
  const [span, length] = first
  if (word === "since") return [{ from: span.start }, length + 1]
  if (word === "until" || word === "till") return [{ to: span.end }, length + 1]
  const joint = place + 1 + length
  if (between.get(word)?.has(words[joint] ?? "") !== true) return undefined
  const second = dateAt(words, joint + 1, now)
  if (second === undefined || second[0].end <= span.start) return undefined
  return [{ from: span.start, to: second[0].end }, joint + 1 + second[1] - place]
}

/** Words that name a time. */
const timeNames: ReadonlySet<string> = new Set([
  ...CalendarWords.weekdays.flatMap((day) => [day, `${day}s`]),
  ...CalendarWords.months.flat(),
  ..."today tomorrow tonight yesterday noon midnight morning afternoon evening night weekend week month year quarter".split(
    " "
  )
])

/** Words that tell which time is meant. */
const timeWords: ReadonlySet<string> = new Set(
  "a an the of on at in by after before next last this coming following early late mid end beginning start middle first second am pm".split(
    " "
  )
)

const timeNumber = /^(?:[12]\d{3}|\d{1,2}(?:st|nd|rd|th)|\d{1,2}(?::\d{2})?(?:am|pm)|\d{1,2}:\d{2}|q[1-4])$/

/**
 * Whether lower-case words name only a time: `monday`, `the 5th of may`, `next week`, `2025`, `3 pm`.
 *
 * @category guards
 */
export const isTime = (words: ReadonlyArray<string>): boolean => {
  let isNamed = false
  for (const [at, word] of words.entries()) {
    const isHour = /^\d{1,2}$/.test(word)
    if (timeNames.has(word) || timeNumber.test(word) || fromIso(word) !== undefined) isNamed = true
    else if (!isHour && !timeWords.has(word)) return false
    if (isHour && /^[ap]m$/.test(words[at + 1] ?? "")) isNamed = true
  }
  return isNamed
}

/**
 * What to assert for a statement or retraction made at a time: when it holds. A fact that has held for long also held
 * when it was stated, whatever is asserted of the time between.
 *
 * @category conversions
 */
export const placed = (
  { from, to }: Times,
  said: { readonly at: number; readonly retracted?: boolean | undefined }
): ReadonlyArray<Pick<NewFact, "validFrom" | "validTo" | "retracted">> => {
  if (said.retracted === true) return [{ validFrom: Math.min(to ?? from ?? said.at, said.at), retracted: true }]
  if (to === undefined) {
    if (from === undefined || from === said.at) return [{ validFrom: said.at }]
    return from > said.at ? [{ validFrom: from }] : [{ validFrom: said.at }, { validFrom: from }]
  }
  if (from !== undefined) return to > from ? [{ validFrom: from, validTo: to }] : [{ validFrom: said.at }]
  return to > said.at ? [{ validFrom: said.at, validTo: to }] : [{ validFrom: to, retracted: true }]
}
