/**
 * Detects personal data and secrets: runs many recognizers at once, weighs their candidates and merges them into places
 * that do not overlap.
 *
 * A text is read as people see it: digits of other scripts and full-width characters count as plain ones, and up to
 * four invisible characters in a row (zero-width, soft hyphens, direction marks) are ignored. Letters of two scripts
 * that look alike differ.
 *
 * @since 0.1.0
 */

import * as FoldedText from "../entity/FoldedText.js"
import * as PiiEntity from "../entity/PiiEntity.js"
import * as ContextWords from "./ContextWords.js"

/**
 * `low`: only findings confirmed by a checksum, an issuer's prefix or a word beside them (confidence 0.85 or more).
 * `medium`: also shapes that are rarely anything else (0.6). `high`: every possible shape (0.3).
 *
 * @since 0.1.0
 * @category models
 */
export type Sensitivity = "low" | "medium" | "high"

/**
 * Lowest confidence of a reported finding.
 *
 * @since 0.1.0
 * @category constants
 */
export const thresholds: { readonly [S in Sensitivity]: number } = { low: 0.85, medium: 0.6, high: 0.3 }

/**
 * @since 0.1.0
 * @category models
 */
export interface Detection {
  readonly type: string
  readonly start: number
  readonly end: number
  readonly confidence: number
}

/**
 * @since 0.1.0
 * @category models
 */
export interface PiiDetector {
  /**
   * Characters around a place that decide whether a finding begins there, or continues there if it began within them.
   */
  readonly reach: number
  /** Longest finding. One longer than `reach` is found as soon as `reach` characters of it are there, and grows. */
  readonly longest: number
  /**
   * Returns all findings, ordered by start, without overlaps. Depends only on the text; takes time linear in its
   * length. `from` is the number of characters before this text, if it is a part of a longer one; default 0.
   */
  readonly find: (text: string, from?: number) => ReadonlyArray<Detection>
}

interface Found extends Detection {
  readonly validated: boolean
  readonly order: number
}

interface Compiled {
  readonly entity: PiiEntity.PiiEntity
  readonly order: number
  /** Certain enough without a context word, and those that need one. */
  readonly alone: ReadonlyArray<PiiEntity.Find>
  readonly beside: ReadonlyArray<PiiEntity.Find>
  readonly before: number
  readonly after: number
  readonly opposing: number
}

const compile =
  (threshold: number) =>
  (entity: PiiEntity.PiiEntity, order: number): Compiled => {
    const finders = entity.finders ?? [{ confidence: 1, find: entity.find }]
    const isAlone = ({ confidence }: PiiEntity.Finder): boolean => confidence >= threshold
    const isBeside = (finder: PiiEntity.Finder): boolean =>
      !isAlone(finder) && entity.context !== undefined && (finder.inContext ?? 1) >= threshold
    return {
      entity,
      order,
      alone: finders.filter(isAlone).map(({ find }) => find),
      beside: finders.filter(isBeside).map(({ find }) => find),
      before: entity.contextBefore ?? PiiEntity.defaults.contextBefore,
      after: entity.contextAfter ?? PiiEntity.defaults.contextAfter,
      opposing: entity.againstBefore ?? entity.contextBefore ?? PiiEntity.defaults.contextBefore
    }
  }

const outOfContext = 0.3
const markStart = "[REDACTED:"
const mark = /\[REDACTED:[A-Z0-9_]{1,40}\]/g
const marksIn = (text: string): Places =>
  Array.from(text.matchAll(mark), ({ 0: { length }, index }) => [index, index + length] as const)

// Extra distance to search back, since a mark may be longer than the text it replaced.
const marksBefore = 192

/** The character before or after a word decides whether it is a word. */
const beside = 2

const reachOf = ({ after, before, entity }: Compiled): number =>
  (entity.decidedBy ?? entity.maxLength) +
  Math.max(
    entity.context === undefined && entity.against === undefined ? 0 : Math.max(before + marksBefore, after) + beside,
    entity.around * (FoldedText.maxInvisible + 1)
  )

type Places = ReadonlyArray<ContextWords.Place>

/** The context words of an entity in one text. */
interface Surroundings {
  readonly context: Places
  readonly against: Places
  /** Redacted places. */
  readonly marks: Places
}

/** Converts to lower case and keeps every offset: only this one capital letter becomes two characters. */
const lowerCase = (text: string): string => text.replaceAll("\u0130", "i").toLowerCase()

/** Last word of `against` before a candidate and its distance, not counting redacted text between them. */
const opposedBy = (
  against: Places,
  marks: Places,
  from: number,
  start: number,
  before: number
): { readonly end: number; readonly distance: number } | undefined => {
  let at = start
  let distance = 0
  for (;;) {
    const marked = ContextWords.last(marks, from, at)
    const least = Math.max(from, marked?.[1] ?? 0, at - (before - distance))
    const found = ContextWords.last(against, least, at)
    if (found !== undefined) return { end: found[1], distance: distance + at - found[1] }
    if (marked === undefined || least > marked[1]) return undefined
    distance += at - marked[1]
    at = marked[0]
  }
}

/** The title of a column or a field stands on a line of its own and says nothing about the next line. */
const isOnOneLine = (text: string, from: number, to: number): boolean => !text.slice(from, to).includes("\n")

/**
 * Weighs a candidate with the words around it. In a text that was redacted before, nothing new supports a candidate,
 * and opposing words still count: so a second pass finds nothing that the first did not.
 */
const weigh = (
  { after, before, opposing }: Compiled,
  { against, context, marks }: Surroundings,
  candidate: PiiEntity.Candidate,
  folded: FoldedText.FoldedText,
  start: number,
  end: number
): number => {
  const { confidence } = candidate
  if (context.length === 0 && against.length === 0) return confidence
  const from = folded.locate(Math.max(0, start - before - marksBefore))
  const marked = ContextWords.last(marks, from, candidate.start)
  const least = Math.max(from, marked?.[1] ?? 0, candidate.start - before)
  const supported = ContextWords.last(context, least, candidate.start)
  const opposed = against.length === 0 ? undefined : opposedBy(against, marks, from, candidate.start, before)
  if (
    opposed !== undefined &&
    opposed.distance <= opposing &&
    isOnOneLine(folded.text, opposed.end, candidate.start) &&
    (supported === undefined || opposed.end > supported[1])
  ) {
    return candidate.outOfContext ?? Math.min(confidence, outOfContext)
  }
  if (context.length === 0) return confidence
  const near =
    supported !== undefined || isFollowed(context, marks, folded.text, candidate.end, folded.locate(end + after))
  return near ? Math.max(confidence, candidate.inContext ?? confidence + (1 - confidence) / 2) : confidence
}

const isFollowed = (context: Places, marks: Places, text: string, from: number, to: number): boolean => {
  const marked = marks.length === 0 ? -1 : text.slice(from, to).indexOf(markStart)
  return ContextWords.last(context, from, marked < 0 ? to : from + marked) !== undefined
}

/** Finds candidates beside context words: reads the parts of the text around the words once each. */
const findBeside = (
  { after, before, beside, entity }: Compiled,
  context: Places,
  text: string
): ReadonlyArray<PiiEntity.Candidate> => {
  const found: Array<PiiEntity.Candidate> = []
  const readPart = (from: number, to: number): void => {
    const offset = Math.max(0, from - entity.around)
    const part = text.slice(offset, to + entity.around)
    for (const find of beside) {
      for (const candidate of find(part)) {
        const start = offset + candidate.start
        const end = offset + candidate.end
        if (start >= from && end <= to) found.push({ ...candidate, start, end })
      }
    }
  }
  let from = -1
  let to = -1
  for (const [start, end] of beside.length === 0 ? [] : context) {
    const begin = Math.max(0, end - after - entity.maxLength)
    if (from >= 0 && begin > to) {
      readPart(from, to)
      from = begin
    } else if (from < 0) from = begin
    to = Math.max(to, Math.min(text.length, start + before + entity.maxLength))
  }
  if (from >= 0) readPart(from, to)
  return found
}

/** Longest text that may be nothing but a value; less than the reach of every entity with context. */
const longestAlone = 64

/** What a text consists of but for quotation marks, spaces and a full stop: nothing if it is long. */
const aloneIn = (text: string): ContextWords.Place | undefined => {
  if (text.length > longestAlone) return undefined
  const start = text.search(/[^\s"'“”‘’<([]/)
  if (start < 0) return undefined
  return [start, text.length - (/[\s"'“”‘’>)\].]{1,64}$/.exec(text)?.[0].length ?? 0)]
}

/** Candidates that are the whole of the text and no mere shape, with their confidence beside a word of context. */
const findAlone = (
  { beside, entity }: Compiled,
  [start, end]: ContextWords.Place,
  text: string
): ReadonlyArray<PiiEntity.Candidate> =>
  entity.standsAlone !== true
    ? []
    : beside.flatMap((find) =>
        find(text)
          .filter(
            (candidate) => candidate.start === start && candidate.end === end && candidate.confidence >= thresholds.high
          )
          .map((candidate) => ({
            ...candidate,
            confidence: candidate.inContext ?? candidate.confidence + (1 - candidate.confidence) / 2
          }))
      )

/** Largest number of digits in sequence with only separators between them. */
const digitsOf = (text: string): number => {
  let most = 0
  let digits = 0
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index)
    if (code >= 48 && code <= 57) {
      digits++
      if (digits > most) most = digits
    } else if (code > 47 || (code < 32 && code !== 9)) digits = 0
  }
  return most
}

const isAsked = (needs: PiiEntity.Needs | undefined, text: string, digits: number): boolean => {
  if (needs === undefined) return true
  if (needs.digits !== undefined && digits < needs.digits) return false
  return needs.anyOf === undefined || needs.anyOf.some((literal) => text.includes(literal))
}

const isBetter = (one: Found, other: Found): boolean => {
  if (one.validated !== other.validated) return one.validated
  const length = one.end - one.start - (other.end - other.start)
  if (length !== 0) return length > 0
  if (one.confidence !== other.confidence) return one.confidence > other.confidence
  return one.order !== other.order ? one.order < other.order : one.start < other.start
}

/**
 * Assigns each character to the best finding that covers it: nothing found is left uncovered, and the result at a place
 * depends only on its surroundings.
 */
const resolve = (found: Array<Found>): ReadonlyArray<Detection> => {
  found.sort((a, b) => a.start - b.start || b.end - a.end)
  const result: Array<Detection> = []
  let active: Array<Found> = []
  let next = 0
  let place = 0
  let last: Found | undefined
  while (next < found.length || active.length > 0) {
    if (active.length === 0) place = found[next]!.start
    while (next < found.length && found[next]!.start <= place) active.push(found[next++]!)
    let best = active[0]!
    let end = next < found.length ? found[next]!.start : Number.POSITIVE_INFINITY
    for (const one of active) {
      if (isBetter(one, best)) best = one
      if (one.end < end) end = one.end
    }
    const { confidence, type } = best
    if (last === best && result[result.length - 1]!.end === place) {
      result[result.length - 1] = { type, start: result[result.length - 1]!.start, end, confidence }
    } else result.push({ type, start: place, end, confidence })
    last = best
    place = end
    active = active.filter((one) => one.end > place)
  }
  return result
}

/**
 * @example
 * ```ts
 * import { PiiDetector, PiiEntities } from "effect-lexigram/guard"
 *
 * const secrets = PiiDetector.make({ entities: PiiEntities.secrets, allow: ["sk-test-key"] })
 * const hasSecret = (text: string) => secrets.find(text).length > 0
 * ```
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = (options: {
  readonly entities: ReadonlyArray<PiiEntity.PiiEntity>
  /** Default: `medium`. */
  readonly sensitivity?: Sensitivity | undefined
  /** Overrides that of the sensitivity. */
  readonly threshold?: number | undefined
  /** Values that are never reported: exact strings, or patterns that match within the value. */
  readonly allow?: ReadonlyArray<string | RegExp> | undefined
}): PiiDetector => {
  const threshold = options.threshold ?? thresholds[options.sensitivity ?? "medium"]
  const compiled = options.entities.map(compile(threshold))
  const words = new ContextWords.ContextWords()
  // Recognizers that share a list share its places.
  const owners = new Map<ReadonlyArray<string>, number>()
  for (const { entity } of compiled) {
    for (const list of [entity.context, entity.against]) {
      if (list === undefined || owners.has(list)) continue
      words.add(owners.size, list)
      owners.set(list, owners.size)
    }
  }
  const allowed = new Set(options.allow?.filter((value) => typeof value === "string"))
  const allowedPatterns = (options.allow ?? [])
    .filter((value) => typeof value !== "string")
    .map((pattern) => new RegExp(pattern.source, pattern.flags.replace(/[gy]/g, "")))
  const isAllowed = (value: string): boolean =>
    allowed.has(value) || allowedPatterns.some((pattern) => pattern.test(value))
  const allowsSome = allowed.size > 0 || allowedPatterns.length > 0
  return {
    reach: compiled.reduce((most, one) => Math.max(most, reachOf(one)), 0),
    longest: compiled.reduce((most, { entity }) => Math.max(most, entity.maxLength), 0),
    find: (text, from = 0) => {
      const folded = FoldedText.make(text)
      const alone = from === 0 ? aloneIn(folded.text) : undefined
      const digits = digitsOf(folded.text)
      const found: Array<Found> = []
      const marks = folded.text.includes(markStart) ? marksIn(folded.text) : []
      let places: ContextWords.Found | undefined
      const placesOf = (list: ReadonlyArray<string> | undefined): Places => {
        if (list === undefined) return []
        places ??= words.find(lowerCase(folded.text))
        return places(owners.get(list)!)
      }
      const add = (one: Compiled, candidates: ReadonlyArray<PiiEntity.Candidate>): void => {
        const { entity, order } = one
        if (candidates.length === 0) return
        const surroundings = { context: placesOf(entity.context), against: placesOf(entity.against), marks }
        for (const candidate of candidates) {
          if (Math.max(candidate.confidence, candidate.inContext ?? 1) < threshold) continue
          const start = folded.origin(candidate.start)
          let end = folded.origin(candidate.end - 1) + 1
          if (end - start > entity.maxLength) {
            if (entity.decidedBy === undefined) continue
            end = start + entity.maxLength
          }
          const confidence = weigh(one, surroundings, candidate, folded, start, end)
          if (confidence < threshold) continue
          if (
            allowsSome &&
            (isAllowed(text.slice(start, end)) || isAllowed(folded.text.slice(candidate.start, candidate.end)))
          ) {
            continue
          }
          found.push({ type: entity.type, start, end, confidence, validated: candidate.validated ?? false, order })
        }
      }
      for (const one of compiled) {
        const { beside, entity } = one
        if (!isAsked(entity.needs, folded.text, digits)) continue
        for (const find of one.alone) add(one, find(folded.text))
        if (alone !== undefined) add(one, findAlone(one, alone, folded.text))
        if (beside.length > 0) add(one, findBeside(one, placesOf(entity.context), folded.text))
      }
      return found.length === 0 ? [] : resolve(found)
    }
  }
}
