/**
 * Finds names in a text by how they are written, for an index of entities.
 *
 * A name is a run of capitalized words, joined by particles (`Ludwig van Beethoven`, `Bank of America`), a quoted name,
 * an e-mail address or a handle (`@anna`). A single capitalized word at the beginning of a sentence is a name only if
 * it is possessive, or if the text capitalizes it again and never writes it in lower case. Months, weekdays and
 * function words are not names. In scripts without capitals only quoted names are found.
 *
 * @since 0.1.0
 */
import * as CalendarWords from "./CalendarWords.js"

/**
 * @since 0.1.0
 * @category models
 */
export interface Options {
  /** Maximum number of names. Default 64. */
  readonly limit?: number | undefined
}

/**
 * Maximum characters of a text that are examined.
 *
 * @since 0.1.0
 * @category constants
 */
export const maxChars = 50_000

const wordSet = (words: string): ReadonlySet<string> => new Set(words.split(" "))

const grammar = wordSet(
  "a an the this that these those i me my mine myself we us our ours you your yours he him his she her hers it its they them their theirs " +
    "who whom whose what which when where why how and or but nor so yet if then else because although though while until unless since " +
    "as at by for from in into of off on onto out over per to under up upon with without within about above across after against along " +
    "among around before behind below beside besides between beyond despite down during except inside like near outside past through " +
    "toward towards via not no yes ok okay please thanks thank hello hi hey dear sorry well now today tomorrow yesterday tonight here " +
    "there also just only even still again once maybe perhaps is are was were be been being am do does did done have has had having " +
    "can could may might must shall should will would let lets tell give show find get make take go come see say said ask know think " +
    "remember remind any all both each every either neither some such same other another many much more most few less least own than " +
    "too very one two three however therefore meanwhile moreover finally first second next last new old good great i'm i've i'll i'd " +
    "it's that's he's she's we're they're you're what's who's where's there's here's don't doesn't didn't isn't aren't wasn't can't " +
    "won't let's"
)
const calendar: ReadonlySet<string> = new Set([
  ...CalendarWords.weekdays,
  ...CalendarWords.months.map(([name]) => name)
])
const titles = wordSet("mr mrs ms mx dr prof st sir")
const particles = wordSet(
  "of the de del della der den di da do dos du la le van von und y e bin ibn al el ter ten zu zum"
)

/** Maximum words of one name. A longer run of capitalized words is shouting or a heading. */
const maxWords = 6
const maxQuoted = 60

const word = /[\p{L}\p{M}\p{N}]+(?:['’&-][\p{L}\p{M}\p{N}]+)*/gu
const capital = /^\p{Lu}/u
const letter = /\p{L}/u
const small = /^\p{Ll}/u
const sentenceEnd = /[.!?:;\n\r。！？…•]/
const plainGap = /^[ \t\u00a0]{1,3}$/
const titleGap = /^\.?[ \t\u00a0]{1,3}$/

interface Token {
  readonly text: string
  /** In lower case, without a possessive. */
  readonly key: string
  readonly start: number
  readonly end: number
  readonly possessive: boolean
  readonly capital: boolean
  readonly opens: boolean
}

interface Found {
  readonly start: number
  readonly name: string
}

interface Span {
  readonly start: number
  readonly end: number
}

const possessive = /['’]s$/

const isLocal = (char: string | undefined): boolean => char !== undefined && /[A-Za-z0-9._%+-]/.test(char)
const isHost = (char: string | undefined): boolean => char !== undefined && /[A-Za-z0-9.-]/.test(char)
const isHandle = (char: string | undefined): boolean => char !== undefined && /[A-Za-z0-9_]/.test(char)

const mailOrHandle = (text: string, at: number): Span | undefined => {
  let start = at
  while (start > 0 && at - start < 64 && isLocal(text[start - 1])) start--
  let end = at + 1
  while (end - at <= 255 && isHost(text[end])) end++
  while (end > at + 1 && (text[end - 1] === "." || text[end - 1] === "-")) end--
  if (start < at && text.slice(at + 1, end).includes(".")) return { start, end }
  if (start < at) return undefined
  end = at + 1
  while (end - at <= 31 && isHandle(text[end])) end++
  return end - at >= 3 && end - at <= 31 ? { start: at, end } : undefined
}

/** Marks the text of addresses as consumed, so that it is not read again as words. */
const addresses = (text: string, found: Array<Found>, consumed: Array<Span>): void => {
  let past = 0
  for (let at = text.indexOf("@"); at >= 0; at = text.indexOf("@", at + 1)) {
    if (at < past) continue
    const span = mailOrHandle(text, at)
    if (span === undefined || span.start < past) continue
    past = span.end
    found.push({ start: span.start, name: text.slice(span.start, span.end) })
    consumed.push(span)
  }
}

const closing: ReadonlyMap<string, string> = new Map([
  ['"', '"'],
  ["“", "”"],
  ["„", "“"],
  ["«", "»"],
  ["「", "」"],
  ["『", "』"]
])

const isName = (text: string): boolean => {
  const inner = text.trim()
  if (inner === "" || inner.includes("\n") || !letter.test(inner) || small.test(inner)) return false
  return inner.split(/\s+/, maxWords + 1).length <= maxWords && !sentenceEnd.test(inner)
}

const quotations = (text: string, found: Array<Found>, consumed: Array<Span>): void => {
  for (let start = 0; start < text.length; start++) {
    const close = closing.get(text[start]!)
    if (close === undefined) continue
    const within = text.slice(start + 1, start + 2 + maxQuoted)
    const length = within.indexOf(close)
    if (length <= 0) continue
    const inner = within.slice(0, length)
    if (isName(inner)) {
      found.push({ start, name: inner.trim() })
      consumed.push({ start, end: start + length + 2 })
    }
    start += length + 1
  }
}

const tokensOf = (text: string, consumed: ReadonlyArray<Span>): ReadonlyArray<Token> => {
  const tokens: Array<Token> = []
  let next = 0
  let end = 0
  let before = ""
  for (const match of text.matchAll(word)) {
    const start = match.index
    while (next < consumed.length && consumed[next]!.end <= start) next++
    const gap = text.slice(end, Math.min(start, end + 8))
    const opens = tokens.length === 0 || (sentenceEnd.test(gap) && !(titles.has(before) && titleGap.test(gap)))
    end = start + match[0].length
    if (next < consumed.length && start >= consumed[next]!.start) {
      before = ""
      continue
    }
    const owned = possessive.test(match[0])
    const bare = owned ? match[0].slice(0, -2) : match[0]
    before = match[0].toLowerCase()
    tokens.push({
      text: bare,
      key: grammar.has(before) ? before : bare.toLowerCase(),
      start,
      end: start + bare.length,
      possessive: owned && !grammar.has(before),
      capital: capital.test(bare),
      opens
    })
  }
  return tokens
}

const joined = (text: string, left: Token, right: Token): boolean => {
  if (left.possessive || right.opens) return false
  const gap = text.slice(left.end, right.start)
  return plainGap.test(gap) || (titles.has(left.key) && titleGap.test(gap))
}

/** The index after the last token of the run that begins here. */
const runEnd = (text: string, tokens: ReadonlyArray<Token>, from: number): number => {
  let end = from + 1
  while (end < tokens.length) {
    let next = end
    while (next < tokens.length && next - end <= 2 && joined(text, tokens[next - 1]!, tokens[next]!)) {
      const token = tokens[next]!
      if (token.capital || /^\p{N}/u.test(token.text)) break
      if (!particles.has(token.key)) return end
      next++
    }
    const token = tokens[next]
    if (token === undefined || next - end > 2 || !joined(text, tokens[next - 1]!, token)) return end
    if (!token.capital && !/^\p{N}/u.test(token.text)) return end
    end = next + 1
  }
  return end
}

const isIgnored = (token: Token): boolean => grammar.has(token.key) || calendar.has(token.key)

const capitals = (text: string, tokens: ReadonlyArray<Token>, found: Array<Found>): void => {
  const large = new Map<string, number>()
  const little = new Set<string>()
  for (const token of tokens) {
    if (token.capital) large.set(token.key, (large.get(token.key) ?? 0) + 1)
    else little.add(token.key)
  }
  for (let index = 0; index < tokens.length; ) {
    if (!tokens[index]!.capital) {
      index++
      continue
    }
    const end = runEnd(text, tokens, index)
    let first = index
    let last = end
    while (first < last && (isIgnored(tokens[first]!) || !tokens[first]!.capital)) first++
    while (last > first && isIgnored(tokens[last - 1]!)) last--
    const isShouted = end - index > maxWords
    index = end
    if (first === last || isShouted) continue
    const head = tokens[first]!
    const alone = last - first === 1
    if (alone && [...head.text].length < 2) continue
    if (alone && head.opens && !head.possessive && ((large.get(head.key) ?? 0) < 2 || little.has(head.key))) continue
    found.push({ start: head.start, name: text.slice(head.start, tokens[last - 1]!.end).replace(/\s+/g, " ") })
  }
}

/**
 * The distinct names of a text, ignoring case, in the order of their first occurrence. Linear time.
 *
 * @since 0.1.0
 * @category conversions
 * @example
 * ```ts
 * import { EntityNames } from "effect-lexigram/memory"
 *
 * EntityNames.entitiesOf("Where does Anna Smith live? Ask @bob or the Bank of America.")
 * // ["Anna Smith", "@bob", "Bank of America"]
 * ```
 */
export const entitiesOf = (text: string, options?: Options | undefined): ReadonlyArray<string> => {
  const limit = options?.limit ?? 64
  const seen = text.length > maxChars ? text.slice(0, maxChars) : text
  const found: Array<Found> = []
  const consumed: Array<Span> = []
  addresses(seen, found, consumed)
  quotations(seen, found, consumed)
  consumed.sort((a, b) => a.start - b.start)
  capitals(seen, tokensOf(seen, consumed), found)
  found.sort((a, b) => a.start - b.start)
  const names = new Map<string, string>()
  for (const { name } of found) {
    if (names.size >= limit) break
    const key = name.toLowerCase()
    if (!names.has(key)) names.set(key, name)
  }
  return [...names.values()]
}
