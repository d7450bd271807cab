/**
 * Finds personal data and secrets in texts: many recognisers asked at once, what they find weighed and made into places that do not
 * overlap.
 *
 * A text is read as people see it: digits of other scripts and full-width characters count as plain ones, up to four invisible characters
 * in a row (zero-width, soft hyphens, direction marks) count as none. Letters that look alike in two scripts are not the same.
 *
 * @since 0.1.0
 */
import { ContextWords } from "./ContextWords.js"
import * as FoldedText from "./FoldedText.js"
import * as PiiEntity from "./PiiEntity.js"

/**
 * `low`: only what a checksum, an issuer's prefix or a word beside it confirms (confidence 0.85 and more). `medium`: also shapes that are
 * rarely anything else (0.6). `high`: every shape that can be one (0.3).
 *
 * @since 0.1.0
 * @category models
 */
export type Sensitivity = "low" | "medium" | "high"

/**
 * The confidence from which a finding is reported.
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
  /** How many characters around a place decide whether a finding begins there, or goes on there if it began no further away. */
  readonly reach: number
  /** No finding is longer. What is longer than `reach` is found as soon as so much of it is there, and grows. */
  readonly longest: number
  /** Everything found, by start, not overlapping. Depends on nothing but the text; time linear in its length. */
  readonly find: (text: string) => ReadonlyArray<Detection>
}

interface Found extends Detection {
  readonly validated: boolean
  readonly order: number
}

const escape = (word: string): string =>
  word
    .toLowerCase()
    .replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&")
    .replace(/ /g, "[\\s_-]{0,2}")

/** Words by how they begin and end: `tele*`, `*nummer`; scripts without spaces have no boundaries to look for. */
const wordsOf = (words: ReadonlyArray<string> | undefined): RegExp | undefined => {
  if (words === undefined || words.length === 0) return undefined
  const groups = new Map<string, Array<string>>()
  for (const word of words) {
    const bare = word.replace(/^\*|\*$/g, "")
    const spaced = /^[\p{Script=Latin}\p{Script=Cyrillic}\p{Script=Greek}\p{N}]/u.test(bare)
    const begins = !spaced || word.startsWith("*") ? "" : "(?<![\\p{L}\\p{N}])"
    const shape = `${begins}|${!spaced || word.endsWith("*") ? "" : "(?![\\p{L}\\p{N}])"}`
    groups.set(shape, [...(groups.get(shape) ?? []), escape(bare)])
  }
  const alternatives = Array.from(groups, ([shape, escaped]) => {
    const [begins = "", ends = ""] = shape.split("|")
    return `${begins}(?:${escaped.join("|")})${ends}`
  })
  return new RegExp(alternatives.join("|"), "gu")
}

interface Compiled {
  readonly entity: PiiEntity.PiiEntity
  readonly order: number
  readonly context: RegExp | undefined
  readonly against: RegExp | undefined
  readonly before: number
  readonly after: number
  readonly opposing: number
}

const compile = (entity: PiiEntity.PiiEntity, order: number): Compiled => ({
  entity,
  order,
  context: wordsOf(entity.context),
  against: wordsOf(entity.against),
  before: entity.contextBefore ?? PiiEntity.defaults.contextBefore,
  after: entity.contextAfter ?? PiiEntity.defaults.contextAfter,
  opposing: entity.againstBefore ?? entity.contextBefore ?? PiiEntity.defaults.contextBefore
})

const outOfContext = 0.3
const markStart = "[REDACTED:"
const mark = /\[REDACTED:[A-Z0-9_]{1,40}\]/g
// So much further back is looked, since a mark may be longer than what stood there.
const marksBefore = 192

/** The character before or behind a word decides whether it is one. */
const beside = 2

const reachOf = ({ after, against, before, context, entity }: Compiled): number =>
  (entity.decidedBy ?? entity.maxLength) +
  Math.max(
    context === undefined && against === undefined ? 0 : Math.max(before + marksBefore, after) + beside,
    entity.around * (FoldedText.maxInvisible + 1)
  )

/** The words of an entity in one text. */
interface Surroundings {
  readonly context: ContextWords | undefined
  readonly against: ContextWords | undefined
  /** Absent where nothing was redacted. */
  readonly marks: ContextWords | undefined
}

/** In lower case, each character in its place: of all capitals this one alone becomes two. */
const lowerCase = (text: string): string => text.replaceAll("\u0130", "i").toLowerCase()

/** The last word of `against` before a candidate, what was redacted between them left out, and how far from it. */
const opposedBy = (
  against: ContextWords,
  marks: ContextWords | undefined,
  from: number,
  start: number,
  before: number
): { readonly end: number; readonly distance: number } | undefined => {
  let at = start
  let distance = 0
  for (;;) {
    const marked = marks?.last(from, at)
    const least = Math.max(from, marked?.[1] ?? 0, at - (before - distance))
    const found = against.last(least, at)
    if (found !== undefined) return { end: found[1], distance: distance + at - found[1] }
    if (marked === undefined || least > marked[1]) return undefined
    distance += at - marked[1]
    at = marked[0]
  }
}

/**
 * A candidate and the words around it, weighed. In a text that was redacted before, nothing new speaks for a candidate, and what spoke
 * against it still does: so a second look finds nothing that the first did not.
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
  if (context === undefined && against === undefined) return confidence
  const from = folded.locate(Math.max(0, start - before - marksBefore))
  const marked = marks?.last(from, candidate.start)
  const supported = context?.last(Math.max(from, marked?.[1] ?? 0, candidate.start - before), candidate.start)
  const opposed = against === undefined ? undefined : opposedBy(against, marks, from, candidate.start, before)
  if (
    opposed !== undefined &&
    opposed.distance <= opposing &&
    (supported === undefined || opposed.end > supported[1])
  ) {
    return candidate.outOfContext ?? Math.min(confidence, outOfContext)
  }
  if (context === undefined) return confidence
  const near =
    supported !== undefined || isFollowed(context, marks, folded.text, candidate.end, folded.locate(end + after))
  return near ? Math.max(confidence, candidate.inContext ?? confidence + (1 - confidence) / 2) : confidence
}

const isFollowed = (
  context: ContextWords,
  marks: ContextWords | undefined,
  text: string,
  from: number,
  to: number
): boolean => {
  const marked = marks === undefined ? -1 : text.slice(from, to).indexOf(markStart)
  return context.last(from, marked < 0 ? to : from + marked) !== undefined
}

/** The most digits that follow each other with nothing but separators between them. */
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
 * Every character belongs to the best finding that covers it, so nothing that was found is left uncovered, and what is found at a place
 * depends on its own surroundings alone.
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
 * @since 0.1.0
 * @category constructors
 */
export const make = (options: {
  readonly entities: ReadonlyArray<PiiEntity.PiiEntity>
  /** Default: `medium`. */
  readonly sensitivity?: Sensitivity | undefined
  /** Instead of what the sensitivity says. */
  readonly threshold?: number | undefined
  /** Values that are never reported: exactly these, or those that a pattern matches somewhere. */
  readonly allow?: ReadonlyArray<string | RegExp> | undefined
}): PiiDetector => {
  const threshold = options.threshold ?? thresholds[options.sensitivity ?? "medium"]
  const compiled = options.entities.map(compile)
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
    find: (text) => {
      const folded = FoldedText.make(text)
      const digits = digitsOf(folded.text)
      const found: Array<Found> = []
      let lower: string | undefined
      const wordsIn = (words: RegExp | undefined): ContextWords | undefined => {
        if (words === undefined) return undefined
        lower ??= lowerCase(folded.text)
        return new ContextWords(words, lower)
      }
      const marks = folded.text.includes(markStart) ? new ContextWords(mark, folded.text) : undefined
      for (const one of compiled) {
        const { entity, order } = one
        let surroundings: Surroundings | undefined
        if (!isAsked(entity.needs, folded.text, digits)) continue
        for (const candidate of entity.find(folded.text)) {
          const start = folded.origin(candidate.start)
          let end = folded.origin(candidate.end - 1) + 1
          if (end - start > entity.maxLength) {
            if (entity.decidedBy === undefined) continue
            end = start + entity.maxLength
          }
          if (Math.max(candidate.confidence, candidate.inContext ?? 1) < threshold) continue
          surroundings ??= { context: wordsIn(one.context), against: wordsIn(one.against), marks }
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
      return found.length === 0 ? [] : resolve(found)
    }
  }
}
