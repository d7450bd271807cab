/**
 * From a text to the terms an index keeps of it, and from a query to those it is looked for by.
 *
 * @since 0.1.0
 */
import { stemmer } from "stemmer"
import * as StopWords from "../../internal/text/StopWords.js"

/**
 * @since 0.1.0
 * @category models
 */
export interface TextAnalyzer {
  /** Says which one it is: terms of different analyzers do not meet in an index. */
  readonly name: string
  /**
   * The terms in the order of the text, as often as it has them. Takes a time in proportion to the text, whatever it
   * is.
   */
  readonly analyze: (text: string) => ReadonlyArray<string>
  /** The terms of a query, each of which `analyze` gives of a text with the same words. `analyze` unless set. */
  readonly analyzeQuery?: ((query: string) => ReadonlyArray<string>) | undefined
}

/**
 * The terms a query is looked for by.
 *
 * @since 0.1.0
 * @category accessors
 */
export const queryTerms = (analyzer: TextAnalyzer, query: string): ReadonlyArray<string> =>
  (analyzer.analyzeQuery ?? analyzer.analyze)(query)

/**
 * Characters of a text that are read; the rest counts for nothing.
 *
 * @since 0.1.0
 * @category constants
 */
export const maxCharacters = 1_000_000

/**
 * Characters of a term at most; a longer word is cut.
 *
 * @since 0.1.0
 * @category constants
 */
export const maxTerm = 64

/** Words whose terms are remembered, in each of two generations. */
const MAX_REMEMBERED = 16_384

const SPACE = 1
const LOWER = 2
const UPPER = 3
const DIGIT = 4
const MARK = 5
const SPACELESS = 6
const HANGUL = 7
const PICTURE = 8

const spaceless =
  /[\p{scx=Han}\p{scx=Hiragana}\p{scx=Katakana}\p{scx=Thai}\p{scx=Lao}\p{scx=Khmer}\p{scx=Myanmar}\p{scx=Tibetan}]/u

const classify = (character: string): number => {
  if (/\p{Extended_Pictographic}/u.test(character)) return PICTURE
  if (/[\p{L}\p{M}\p{N}]/u.test(character)) {
    if (/\p{Script=Hangul}/u.test(character)) return HANGUL
    // Marks that many scripts share belong to whatever they stand on.
    if (spaceless.test(character) && !/[\p{Script=Inherited}\p{Nd}]/u.test(character)) return SPACELESS
    if (/\p{N}/u.test(character)) return DIGIT
    if (/\p{M}/u.test(character)) return MARK
    return /\p{Lu}/u.test(character) ? UPPER : LOWER
  }
  return SPACE
}

/** What the characters of the first plane are; 0 while nobody asked. */
const classes = new Uint8Array(0x10000)

const learn = (unit: number): number => {
  const kind = classify(String.fromCharCode(unit))
  classes[unit] = kind
  return kind
}

const isSurrogate = (unit: number): boolean => unit >= 0xd800 && unit <= 0xdfff

const classAt = (text: string, at: number): number => {
  const unit = text.charCodeAt(at)
  if (!isSurrogate(unit)) return classes[unit] || learn(unit)
  const point = text.codePointAt(at) as number
  return point > 0xffff ? classify(String.fromCodePoint(point)) : SPACE
}

const widthAt = (text: string, at: number): number =>
  isSurrogate(text.charCodeAt(at)) && (text.codePointAt(at) as number) > 0xffff ? 2 : 1

/** A piece of a text without the text: an index that keeps a word must not keep all that was said around it. */
const detached = (piece: string): string => (piece.length < 13 ? piece : piece.split("").join(""))

const letters: ReadonlyMap<string, string> = new Map(
  Object.entries({
    ß: "ss",
    ẞ: "SS",
    æ: "ae",
    Æ: "AE",
    œ: "oe",
    Œ: "OE",
    ø: "o",
    Ø: "O",
    đ: "d",
    Đ: "D",
    ð: "d",
    Ð: "D"
  }).concat(Object.entries({ ł: "l", Ł: "L", þ: "th", Þ: "TH", ı: "i", ħ: "h", Ħ: "H" }))
)

/**
 * One form for what reads alike: width and ligatures by NFKC, Latin, Greek and Cyrillic letters without their
 * diacritics, Arabic and Hebrew without vowel signs. Marks that make another letter (Indic and Thai vowels, Japanese
 * voicing) stay.
 */
const fold = (text: string): string =>
  text
    // Putting the marks of one letter into their order takes the square of their number.
    .replace(/(\p{M}{16})\p{M}+/gu, "$1")
    .normalize("NFKC")
    .slice(0, maxCharacters)
    .normalize("NFD")
    .replace(
      /[\u0300-\u036f\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0640\u064b-\u0652\u0670\u00ad\u200b\u200c\u2060]+/g,
      ""
    )
    .normalize("NFC")
    .replace(/[ßẞæÆœŒøØđĐðÐłŁþÞıħĦ]/g, (letter) => letters.get(letter) ?? letter)

// biome-ignore lint/suspicious/noControlCharactersInRegex: all of ASCII
const ascii = /^[\x00-\x7f]*$/

const apostrophe = (unit: number): boolean => unit === 0x27 || unit === 0x2019 || unit === 0x02bc

/** Connects words: hyphens, `_`, `&`. */
const hyphen = (unit: number): boolean =>
  unit === 0x2d || unit === 0x5f || unit === 0x26 || unit === 0x2010 || unit === 0x2011

/** Connects figures besides: `.`, `,`, `:`, `/`. */
const separator = (unit: number): boolean => unit === 0x2e || unit === 0x2c || unit === 0x3a || unit === 0x2f

const connects = (unit: number): boolean =>
  hyphen(unit) || separator(unit) || apostrophe(unit) || unit === 0x23 || unit === 0x2b

const isWord = (kind: number): boolean => kind >= LOWER && kind <= MARK

/** Parts a word with hyphens has at most; what follows is read as the next word. */
const MAX_PARTS = 16

interface Term {
  readonly of: (word: string) => string
}

const add = (out: Array<string>, term: string): void => {
  if (term !== "") out.push(term)
}

/** The pairs of neighbouring characters; a single one stands for itself. */
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

/** Chinese characters, of which one alone is often a word. */
const isHan = (point: number): boolean =>
  (point >= 0x4e00 && point <= 0x9fff) ||
  (point >= 0x3400 && point <= 0x4dbf) ||
  (point >= 0xf900 && point <= 0xfaff) ||
  (point >= 0x20000 && point <= 0x3ffff) ||
  point === 0x3005 ||
  point === 0x3007

/** Each Chinese character of a run of several characters by itself. */
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

/** From a figure: `1,000` without its comma, a date or a time or a version as it is and in its parts. */
const figure = (raw: string, parts: ReadonlyArray<string>, out: Array<string>): void => {
  if (/^\d{1,3}(?:,\d{3}){1,6}(?:\.\d{1,20})?$/.test(raw)) {
    out.push(detached(raw.replaceAll(",", "")))
    return
  }
  out.push(detached(raw.replaceAll("/", "-").slice(0, maxTerm)))
  if (parts.length > 2 || !/^\d+[.,]\d+$/.test(raw))
    for (const part of parts) out.push(detached(part.slice(0, maxTerm)))
}

/** The words a part is made of: `getUserName` is three. */
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

/** From a word and what hyphens, apostrophes and capitals make of it: its parts, and all of it as one. */
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
 * From a word with an apostrophe: without a possessive `s`; what is short for two words is no term; `l'avion` is
 * `avion` too.
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

/** Where a word ends that nothing parts or connects; 0 when it needs a closer look. */
const simple = (text: string, start: number): number => {
  let at = start
  for (; at < text.length; at++) {
    const unit = text.charCodeAt(at)
    if (isSurrogate(unit)) return 0
    const kind = classes[unit] || learn(unit)
    if (!isWord(kind)) return connects(unit) ? 0 : at
    if (kind === UPPER && at > start) return 0
  }
  return at
}

/** Reads the word that begins here and gives where it ends. */
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
  // `C++` and `F#` are other languages than C and F.
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
 * Unicode forms, case and diacritics are folded; words are parted at spaces, hyphens, apostrophes and capitals
 * (`getUserName` is found by `user` and by `getusername`); figures, dates, times and versions are kept whole and in
 * parts; scripts that write no spaces give the pairs of neighbouring characters, and of a text that is kept each
 * Chinese character as well, so that a word of one character finds it; Korean words and pairs; each pictogram is a
 * term.
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = (options: {
  readonly name: string
  /** Words that are left out, in any case, with or without diacritics. None unless set. */
  readonly stopWords?: Iterable<string> | undefined
  /**
   * From a word of Latin letters, in lower case and without diacritics, to its stem. Words stay as they are unless set.
   */
  readonly stem?: ((word: string) => string) | undefined
}): TextAnalyzer => {
  const stopWords = new Set(Array.from(options.stopWords ?? [], (word) => fold(word).toLowerCase()))
  const stem = options.stem
  const reduce = (word: string): string => {
    const lower = word.toLowerCase().slice(0, maxTerm)
    if (stopWords.has(lower)) return ""
    return stem !== undefined && /^[a-z]{2,40}$/.test(lower) ? stem(lower) : lower
  }
  // Two generations: what is used stays, whatever else comes in.
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
    return scan(ascii.test(read) ? read : fold(read), stop, term, withSingles)
  }
  return {
    name: options.name,
    analyze: (text) => analyzed(text, true),
    analyzeQuery: (query) => analyzed(query, false)
  }
}

/**
 * English stop words are left out and words are stemmed (Porter, "An algorithm for suffix stripping", 1980). Texts of
 * other languages are read as well: the stems of their words are the same in entries and queries.
 *
 * @since 0.1.0
 * @category constructors
 */
export const english: TextAnalyzer = make({ name: "english", stopWords: StopWords.english, stem: stemmer })

/**
 * Every word as it is, in lower case.
 *
 * @since 0.1.0
 * @category constructors
 */
export const plain: TextAnalyzer = make({ name: "plain" })
