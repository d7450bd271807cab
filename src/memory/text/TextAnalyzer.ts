/**
 * Turns texts into the terms of an index, and queries into the terms to search for.
 *
 * @since 0.1.0
 */
import { stemmer } from "stemmer"
import * as StopWords from "../../internal/text/StopWords.js"
import {
  classAt,
  classOfUnit,
  DIGIT,
  HANGUL,
  isSurrogate,
  isWord,
  LOWER,
  MARK,
  PICTURE,
  SPACE,
  SPACELESS,
  UPPER,
  widthAt
} from "./CharacterClass.js"
import * as IrregularWords from "./IrregularWords.js"
import { fold } from "./TextFolding.js"

/**
 * @since 0.1.0
 * @category models
 */
export interface TextAnalyzer {
  /** Identifies the analyzer. An index never mixes the terms of different analyzers. */
  readonly name: string
  /** The terms in the order of the text, with repetitions. Linear time for any text. */
  readonly analyze: (text: string) => ReadonlyArray<string>
  /** The terms of a query. `analyze` returns each of them for a text with the same words. Default `analyze`. */
  readonly analyzeQuery?: ((query: string) => ReadonlyArray<string>) | undefined
}

/**
 * The terms to search for.
 *
 * @since 0.1.0
 * @category accessors
 */
export const queryTerms = (analyzer: TextAnalyzer, query: string): ReadonlyArray<string> =>
  (analyzer.analyzeQuery ?? analyzer.analyze)(query)

/**
 * Maximum characters of a text that are read. The rest is ignored.
 *
 * @since 0.1.0
 * @category constants
 */
export const maxCharacters = 1_000_000

/**
 * Maximum characters of a term. Longer words are cut.
 *
 * @since 0.1.0
 * @category constants
 */
export const maxTerm = 64

/** Number of cached words, in each of two generations. */
const MAX_REMEMBERED = 16_384

/** Copies a piece of a text, so that an index that stores a word does not retain the whole text. */
const detached = (piece: string): string => (piece.length < 13 ? piece : piece.split("").join(""))

// biome-ignore lint/suspicious/noControlCharactersInRegex: all of ASCII
const ascii = /^[\x00-\x7f]*$/

const apostrophe = (unit: number): boolean => unit === 0x27 || unit === 0x2019 || unit === 0x02bc

/** Connects words: hyphens, `_`, `&`. */
const hyphen = (unit: number): boolean =>
  unit === 0x2d || unit === 0x5f || unit === 0x26 || unit === 0x2010 || unit === 0x2011

/** Also connects digits: `.`, `,`, `:`, `/`. */
const separator = (unit: number): boolean => unit === 0x2e || unit === 0x2c || unit === 0x3a || unit === 0x2f

const connects = (unit: number): boolean =>
  hyphen(unit) || separator(unit) || apostrophe(unit) || unit === 0x23 || unit === 0x2b

/** Maximum parts of a hyphenated word. The rest is read as the next word. */
const MAX_PARTS = 16

interface Term {
  readonly of: (word: string) => string
}

const add = (out: Array<string>, term: string): void => {
  if (term !== "") out.push(term)
}

/** The pairs of adjacent characters. A single character stands for itself. */
const pairs = (text: string, from: number, to: number, out: Array<string>): void => {
  let before = from
  let at = from + widthAt(text, from)
  if (at >= to) {
    out.push(text.slice(from, to))
    return
  }
  while (at < to) {
    const next = at + widthAt(text, at)
    out.push(text.slice(before, next))
    before = at
    at = next
  }
}

/** Chinese characters, which are often words by themselves. */
const isHan = (point: number): boolean =>
  (point >= 0x4e00 && point <= 0x9fff) ||
  (point >= 0x3400 && point <= 0x4dbf) ||
  (point >= 0xf900 && point <= 0xfaff) ||
  (point >= 0x20000 && point <= 0x3ffff) ||
  point === 0x3005 ||
  point === 0x3007

/** Each Chinese character of a longer run by itself. */
const singles = (text: string, from: number, to: number, out: Array<string>): void => {
  if (from + widthAt(text, from) >= to) return
  for (let at = from; at < to; ) {
    const width = widthAt(text, at)
    if (isHan(text.codePointAt(at) as number)) out.push(text.slice(at, at + width))
    at += width
  }
}

const endOf = (text: string, from: number, kind: number): number => {
  let at = from
  while (at < text.length) {
    const found = classAt(text, at)
    if (found !== kind && found !== MARK) break
    at += widthAt(text, at)
  }
  return at
}

/** The terms of a number: `1,000` without its comma; a date, time or version as a whole and in parts. */
const figure = (raw: string, parts: ReadonlyArray<string>, out: Array<string>): void => {
  if (/^\d{1,3}(?:,\d{3}){1,6}(?:\.\d{1,20})?$/.test(raw)) {
    out.push(detached(raw.replaceAll(",", "")))
    return
  }
  out.push(detached(raw.replaceAll("/", "-").slice(0, maxTerm)))
  if (parts.length > 2 || !/^\d+[.,]\d+$/.test(raw))
    for (const part of parts) out.push(detached(part.slice(0, maxTerm)))
}

/** The words of a part: `getUserName` has three. */
const humps = (part: string): ReadonlyArray<string> => {
  let from = 0
  let words: Array<string> | undefined
  for (let at = 1; at < part.length; at++) {
    const here = classAt(part, at)
    if (here !== UPPER) continue
    const before = classAt(part, at - 1)
    const next = at + 1 < part.length ? classAt(part, at + 1) : SPACE
    const opens = before === LOWER || (before !== LOWER && next === LOWER)
    if (!opens) continue
    words ??= []
    words.push(part.slice(from, at))
    from = at
  }
  if (words === undefined) return [part]
  words.push(part.slice(from))
  return words
}

/** The terms of a word with hyphens, apostrophes or capitals: its parts, and the whole. */
const compound = (raw: string, parts: ReadonlyArray<string>, term: Term, out: Array<string>): void => {
  const words = parts.length === 1 && raw.length > maxTerm ? [raw.slice(0, maxTerm)] : parts.flatMap(humps)
  if (words.length === 1) {
    add(out, term.of(words[0] as string))
    return
  }
  for (const word of words) add(out, term.of(word))
  const joined = parts.join("")
  if (joined.length <= maxTerm) add(out, term.of(joined))
}

/**
 * The terms of a word with an apostrophe: without a possessive `s`. Contractions give no term. `l'avion` also gives
 * `avion`.
 */
const elided = (
  raw: string,
  parts: ReadonlyArray<string>,
  stop: (lower: string) => boolean,
  term: Term,
  out: Array<string>
) => {
  const lower = raw.toLowerCase().replaceAll(/[\u2019\u02bc]/g, "'")
  const last = (parts[parts.length - 1] as string).toLowerCase()
  const head = (parts[0] as string).toLowerCase()
  if (stop(lower) || stop(head)) return
  if (last === "t" && head.endsWith("n") && stop(head.slice(0, -1))) return
  if (last === "s" || last === "ll" || last === "re" || last === "ve" || last === "d") {
    compound(raw, parts.slice(0, -1), term, out)
    return
  }
  for (const part of parts) if (part.length > 2) add(out, term.of(part))
  const joined = parts.join("")
  if (joined.length <= maxTerm) add(out, term.of(joined))
}

const scan = (
  text: string,
  stop: (lower: string) => boolean,
  term: Term,
  withSingles: boolean
): ReadonlyArray<string> => {
  const out: Array<string> = []
  let at = 0
  while (at < text.length) {
    const kind = classAt(text, at)
    if (isWord(kind) && kind !== MARK) {
      const end = simple(text, at)
      if (end > 0) {
        add(out, term.of(text.slice(at, Math.min(end, at + maxTerm))))
        at = end
      } else at = word(text, at, stop, term, out)
    } else if (kind === SPACELESS) {
      const end = endOf(text, at, SPACELESS)
      pairs(text, at, end, out)
      if (withSingles) singles(text, at, end, out)
      at = end
    } else if (kind === HANGUL) {
      const end = endOf(text, at, HANGUL)
      add(out, term.of(text.slice(at, Math.min(end, at + maxTerm))))
      if (end - at > 2) pairs(text, at, end, out)
      at = end
    } else {
      const width = widthAt(text, at)
      if (kind === PICTURE) out.push(text.slice(at, at + width))
      at += width
    }
  }
  return out
}

/** The end of a word without connecting characters, or 0 if it needs a closer look. */
const simple = (text: string, start: number): number => {
  let at = start
  for (; at < text.length; at++) {
    const unit = text.charCodeAt(at)
    if (isSurrogate(unit)) return 0
    const kind = classOfUnit(unit)
    if (!isWord(kind)) return connects(unit) ? 0 : at
    if (kind === UPPER && at > start) return 0
  }
  return at
}

/** Reads the word that begins here and returns where it ends. */
const word = (
  text: string,
  start: number,
  stop: (lower: string) => boolean,
  term: Term,
  out: Array<string>
): number => {
  const parts: Array<string> = []
  let figures = true
  let elision = false
  let from = start
  let at = start
  for (;;) {
    let digits = true
    while (at < text.length) {
      const kind = classAt(text, at)
      if (!isWord(kind)) break
      if (kind !== DIGIT) digits = false
      at += widthAt(text, at)
    }
    parts.push(text.slice(from, at))
    figures = figures && digits
    if (at + 1 >= text.length || parts.length === MAX_PARTS) break
    const unit = text.charCodeAt(at)
    const next = classAt(text, at + 1)
    if (!isWord(next)) break
    if (apostrophe(unit) && !digits) elision = true
    else if (!hyphen(unit) && !(separator(unit) && digits && figures && next === DIGIT)) break
    else if (unit === 0x2c && !/^\d{3}(?!\d)/.test(text.slice(at + 1, at + 5))) break
    at++
    from = at
  }
  // `C++` and `F#` are not C and F.
  if (at - start === 1 && text.charCodeAt(at) === 0x23) at++
  else if (at - start === 1 && text.startsWith("++", at)) at += 2
  const raw = text.slice(start, at)
  if (parts.length === 1) compound(raw, [raw], term, out)
  else if (figures) figure(raw, parts, out)
  else if (elision) elided(raw, parts, stop, term, out)
  else compound(raw, parts, term, out)
  return at
}

/**
 * Makes an analyzer. It folds Unicode forms, case and diacritics, and splits words at spaces, hyphens, apostrophes and
 * capitals (`user` and `getusername` both find `getUserName`). Numbers, dates, times and versions are kept as a whole
 * and in parts. Scripts without spaces give pairs of adjacent characters; texts, but not queries, also give each
 * Chinese character, so that a word of one character finds them. Korean gives words and pairs. Each pictogram is a
 * term.
 *
 * @since 0.1.0
 * @category constructors
 * @example
 * ```ts
 * import { InMemoryMemoryStore, TextAnalyzer } from "effect-lexigram/memory"
 *
 * const dutch = TextAnalyzer.make({ name: "dutch-1", stopWords: ["de", "het", "een"] })
 *
 * dutch.analyze("De fiets van Anna") // ["fiets", "van", "anna"]
 *
 * const store = InMemoryMemoryStore.layer({ analyzer: dutch })
 * ```
 */
export const make = (options: {
  readonly name: string
  /** Words to leave out, ignoring case and diacritics. Default none. */
  readonly stopWords?: Iterable<string> | undefined
  /**
   * Maps a word of Latin letters, in lower case and without diacritics, to its stem. Default: no stemming.
   */
  readonly stem?: ((word: string) => string) | undefined
}): TextAnalyzer => {
  const stopWords = new Set(Array.from(options.stopWords ?? [], (word) => fold(word, maxCharacters).toLowerCase()))
  const stem = options.stem
  const reduce = (word: string): string => {
    const lower = word.toLowerCase().slice(0, maxTerm)
    if (stopWords.has(lower)) return ""
    return stem !== undefined && /^[a-z]{2,40}$/.test(lower) ? stem(lower) : lower
  }
  // Two generations: words in use stay cached, whatever else is read.
  let young = new Map<string, string>()
  let old = new Map<string, string>()
  const remember = (word: string, found: string): string => {
    if (young.size >= MAX_REMEMBERED) {
      old = young
      young = new Map()
    }
    young.set(word, found)
    return found
  }
  const term: Term = {
    of: (word) => {
      const known = young.get(word)
      if (known !== undefined) return known
      const before = old.get(word)
      const piece = detached(word)
      return remember(piece, before ?? reduce(piece))
    }
  }
  const stop = (lower: string) => stopWords.has(lower)
  const analyzed = (text: string, withSingles: boolean) => {
    const read = text.length > maxCharacters ? text.slice(0, maxCharacters) : text
    return scan(ascii.test(read) ? read : fold(read, maxCharacters), stop, term, withSingles)
  }
  return {
    name: options.name,
    analyze: (text) => analyzed(text, true),
    analyzeQuery: (query) => analyzed(query, false)
  }
}

/**
 * Leaves out English stop words, takes irregular forms for their base (`bought` finds `buy`) and stems words (Porter,
 * "An algorithm for suffix stripping", 1980). Works for other languages, too, since entries and queries get the same
 * stems. Databases that have terms of an earlier version are indexed again, owner by owner, by the first search.
 *
 * @since 0.1.0
 * @category constructors
 */
export const english: TextAnalyzer = make({
  name: "english-2",
  stopWords: StopWords.english,
  stem: (word) => stemmer(IrregularWords.bases.get(word) ?? word)
})

/**
 * Every word as it is, in lower case.
 *
 * @since 0.1.0
 * @category constructors
 */
export const plain: TextAnalyzer = make({ name: "plain" })
