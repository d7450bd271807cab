/**
 * What a text mentions that can be an argument: numbers with their units, dates, names, quotations, codes, phrases.
 *
 * @internal
 * @since 0.1.0
 */
import type { Reading, Token } from "./OfflineLanguage.js"
import * as Language from "./OfflineLanguage.js"
import * as Lexicon from "./OfflineLexicon.js"

/**
 * @since 0.1.0
 * @category models
 */
export type MentionKind = "number" | "date" | "time" | "email" | "url" | "quoted" | "code" | "name" | "phrase"

/**
 * `from` and `to` are token indexes, `to` exclusive; `prepositions` are those right before it, nearest first.
 *
 * @since 0.1.0
 * @category models
 */
export interface Mention {
  readonly kind: MentionKind
  readonly text: string
  readonly from: number
  readonly to: number
  readonly segment: number
  readonly sentence: number
  readonly prepositions: ReadonlyArray<string>
  readonly number?: number | undefined
  readonly unit?: string | undefined
  readonly money?: string | undefined
  readonly percent?: boolean | undefined
  readonly ordinal?: boolean | undefined
  readonly spelled?: boolean | undefined
  /** "under 150" and "at least 20": which end of a range a number is. */
  readonly bound?: "most" | "least" | undefined
  /** `Paris, France`: what the comma adds to a name. */
  readonly region?: string | undefined
}

/**
 * @since 0.1.0
 * @category models
 */
export interface Scene extends Reading {
  readonly mentions: ReadonlyArray<Mention>
}

const maxMentions = 200

const before = (tokens: ReadonlyArray<Token>, from: number): ReadonlyArray<string> => {
  const found: Array<string> = []
  const sentence = tokens[from]!.sentence
  for (let i = from - 1; i >= 0 && i >= from - 5; i--) {
    const token = tokens[i]!
    if (token.sentence !== sentence || token.kind === "symbol" || token.lower === "and" || token.lower === "or") break
    if (Language.isPreposition(token.lower)) found.push(token.lower)
    else if (found.length > 0 && !Language.isStopWord(token.lower)) break
    else if (token.kind !== "word") break
  }
  return found
}

const numberWithSuffix = /^(\d+(?:\.\d+)?)(\p{L}[\p{L}²³/^]*\d?)$/u

interface Draft {
  readonly to: number
  readonly value: number
  readonly unit?: string | undefined
  readonly money?: string | undefined
  readonly percent?: boolean | undefined
  readonly ordinal?: boolean | undefined
  readonly spelled?: boolean | undefined
}

/** `two numbers, 36 and 48`: the count announces the values and is none. */
const announces =
  /^(?:numbers|tasks|things|questions|calculations|values|points|items|parts|steps|requests|integers|different|separate|cities|places)$/

const wordNumber = (tokens: ReadonlyArray<Token>, index: number): Draft | undefined => {
  const token = tokens[index]!
  const next = tokens[index + 1]
  const previous = tokens[index - 1]?.lower
  const ordinal = Lexicon.ordinal(token.lower)
  if (ordinal !== undefined && ordinal > 0) {
    const enumerates = next === undefined || next.kind === "symbol" || token.kind === "word"
    return enumerates ? undefined : { to: index + 1, value: ordinal, ordinal: true }
  }
  const first = Lexicon.numeral(token.lower)
  if (first === undefined) return undefined
  if (token.lower === "one") {
    if (next === undefined || next.kind !== "word" || Language.isStopWord(next.lower)) return undefined
    if (previous !== undefined && /^(?:the|this|that|which|no|any|each|every)$/.test(previous)) return undefined
  }
  let value = first
  let to = index + 1
  while (to < tokens.length && to < index + 8 && tokens[to]!.kind === "word") {
    const word = tokens[to]!.lower
    const more = Lexicon.numeral(word)
    const times = Lexicon.multipliers.get(word)
    if (times !== undefined) value *= times
    else if (more !== undefined && ((value >= 20 && value % 10 === 0 && more < 10) || (value >= 100 && more < 100)))
      value += more
    else break
    to++
  }
  const counted = tokens[to]
  if (counted !== undefined && announces.test(counted.lower)) return undefined
  return {
    to,
    value,
    spelled: true,
    unit: counted?.kind === "word" && !Language.isStopWord(counted.lower) ? counted.lower : undefined
  }
}

const digitNumber = (tokens: ReadonlyArray<Token>, index: number): Draft | undefined => {
  const token = tokens[index]!
  let text = token.text
  let unit: string | undefined
  if (token.kind === "code") {
    const parts = numberWithSuffix.exec(token.text)
    if (parts === null) return undefined
    const suffix = parts[2]!
    const lower = suffix.toLowerCase()
    if (Lexicon.ordinal(token.lower) !== undefined) return { to: index + 1, value: Number(parts[1]), ordinal: true }
    if (lower === "k" && suffix === "k") return { to: index + 1, value: Number(parts[1]) * 1_000 }
    if (!Lexicon.units.has(lower) && !/^[a-z](?:²|³|\^?\d)?$/.test(lower)) return undefined
    text = parts[1]!
    unit = lower
  }
  let value = Number(text.replace(/,/g, ""))
  let to = index + 1
  const times = tokens[to] === undefined ? undefined : Lexicon.multipliers.get(tokens[to]!.lower)
  if (times !== undefined) {
    value *= times
    to++
  }
  const sign = tokens[index - 1]
  const signed = tokens[index - 2]
  if (sign?.text === "-" || sign?.text === "−") {
    const tight = sign.end === token.start && (signed === undefined || signed.end < sign.start)
    const term = signed !== undefined && signed.kind === "code" && /[a-z²³]$/.test(signed.lower)
    if ((tight && signed?.kind !== "number") || term) value = -value
  }
  const next = tokens[to]
  if (next !== undefined && unit === undefined) {
    if (next.text === "%" || next.lower === "percent") return { to: to + 1, value, percent: true }
    if (next.text === "°") return { to: to + 1, value, unit: "°" }
    if (Lexicon.units.has(next.lower) && next.lower !== "in" && next.lower !== "a") unit = next.lower
    else if (next.kind === "word" && !Language.isStopWord(next.lower)) unit = next.lower
  }
  const symbol = tokens[index - 1]?.text
  const money = symbol === undefined ? undefined : Lexicon.currencySigns.get(symbol)
  return { to, value, unit, money: money ?? (unit === undefined ? undefined : Lexicon.currencies.get(unit)) }
}

const most =
  /(?:^|\s)(?:under|below|beneath|up to|(?:less|cheaper|fewer|lower|shorter|no more|not more) than|at most|max|maximum|maximum of|max of|not over|not above|within|no higher than|<|between [^\s]+ [^\s]* ?and)$/
const least =
  /(?:^|\s)(?:over|above|(?:more|higher|longer|no less|not less) than|at least|min|minimum|minimum of|min of|exceeding|>|between)$/

/** The words around a number that make it a limit. */
const boundOf = (tokens: ReadonlyArray<Token>, from: number, to: number): "most" | "least" | undefined => {
  let end = from
  while (end > 0 && /^(?:[$€£¥₹]|about|around|a|an|the|of)$/.test(tokens[end - 1]!.lower)) end--
  const before = (at: number) =>
    tokens
      .slice(Math.max(0, at - 5), at)
      .filter((token) => token.sentence === tokens[from]!.sentence)
      .map((token) => token.lower)
      .join(" ")
  const after = tokens
    .slice(to, to + 3)
    .map((token) => token.lower)
    .join(" ")
  for (const text of end === from ? [before(from)] : [before(from), before(end)]) {
    if (most.test(text)) return "most"
    if (least.test(text)) return "least"
  }
  if (/^(?:\p{L}+ )?(?:or (?:less|cheaper|under|fewer|below)|max|maximum|tops|at most)(?:\s|$)/u.test(after))
    return "most"
  return /^(?:\p{L}+ )?(?:or (?:more|over|above)|minimum)(?:\s|$)/u.test(after) ? "least" : undefined
}

const trimPossessive = (text: string): string => text.replace(/['’]s?$/, "")

const isNameWord = (token: Token): boolean =>
  (token.kind === "word" && token.capital) ||
  (token.kind === "code" && /^\p{Lu}/u.test(token.text) && !/\d{3}/.test(token.text))

const nameEnd = (tokens: ReadonlyArray<Token>, from: number): number => {
  let to = from
  while (to < tokens.length && to < from + 10) {
    const token = tokens[to]!
    if (token.sentence !== tokens[from]!.sentence) break
    if (isNameWord(token)) {
      to++
      if (/['’]s?$/.test(token.text)) break
      continue
    }
    const joins = to > from && /^(?:of|the|de|la|van|von|der|del|da|for)$/.test(token.lower)
    const ahead = tokens[to + 1]
    const second = tokens[to + 2]
    if (!joins) break
    if (ahead !== undefined && isNameWord(ahead) && token.lower !== "for") to += 2
    else if (token.lower === "of" && ahead?.lower === "the" && second !== undefined && isNameWord(second)) to += 3
    else break
  }
  return to
}

const isRegion = (text: string): boolean =>
  /^\p{Lu}{2}$/u.test(text) ||
  Lexicon.countries.has(text.toLowerCase()) ||
  Lexicon.states.has(text.toLowerCase()) ||
  regions.has(text)

const regions: ReadonlySet<string> = new Set([...Lexicon.states.values(), ...Lexicon.countries.values()])

const opensSentence = (tokens: ReadonlyArray<Token>, index: number): boolean => {
  const previous = tokens[index - 1]
  return (
    previous === undefined ||
    previous.sentence !== tokens[index]!.sentence ||
    (previous.kind === "symbol" && /^[:"“(*-]$/.test(previous.text))
  )
}

/**
 * Finds what a reading mentions, in the order of the text. Phrases overlap names: `African elephant` is a phrase that
 * holds a name.
 *
 * @since 0.1.0
 * @category constructors
 */
export const find = (reading: Reading): Scene => {
  const { tokens } = reading
  const mentions: Array<Mention> = []
  const push = (kind: MentionKind, from: number, to: number, text: string, more?: Partial<Mention>) => {
    const token = tokens[from]!
    if (text === "" || mentions.length >= maxMentions) return
    mentions.push({
      kind,
      text,
      from,
      to,
      segment: token.segment,
      sentence: token.sentence,
      prepositions: before(tokens, from),
      ...more
    })
  }
  const span = (from: number, to: number): string => reading.text.slice(tokens[from]!.start, tokens[to - 1]!.end)
  let phrase = -1
  const endPhrase = (to: number) => {
    if (phrase >= 0) push("phrase", phrase, to, trimPossessive(span(phrase, to)))
    phrase = -1
  }
  let index = 0
  while (index < tokens.length && mentions.length < maxMentions) {
    const token = tokens[index]!
    const draft =
      token.kind === "word"
        ? wordNumber(tokens, index)
        : token.kind === "number" || token.kind === "code"
          ? digitNumber(tokens, index)
          : undefined
    if (draft !== undefined) {
      endPhrase(index)
      const { to, value, ...rest } = draft
      push("number", index, to, span(index, to), { number: value, bound: boundOf(tokens, index, to), ...rest })
      index = to
      continue
    }
    if (token.kind !== "word" && token.kind !== "code") {
      endPhrase(index)
      if (token.kind !== "symbol" && token.kind !== "number") push(token.kind, index, index + 1, token.text)
      index++
      continue
    }
    const content = token.kind === "word" && !Language.isStopWord(token.lower)
    const opener = opensSentence(tokens, index) && token.kind === "word" && Language.isOpener(token.lower)
    if (phrase >= 0 && tokens[phrase]!.segment !== token.segment) endPhrase(index)
    if (isNameWord(token) && !opener && (content || token.capital) && !/^(?:I|I'[a-z]+|A|The)$/.test(token.text)) {
      const to = nameEnd(tokens, index)
      if (to > index) {
        const comma = tokens[to]
        const ahead = tokens[to + 1]
        const regionEnd = comma?.text === "," && ahead !== undefined && isNameWord(ahead) ? nameEnd(tokens, to + 1) : 0
        const after = tokens[regionEnd]
        const listed =
          !isRegion(regionEnd > 0 ? span(to + 1, regionEnd) : "") ||
          after?.text === "," ||
          after?.lower === "and" ||
          after?.lower === "or"
        push(
          "name",
          index,
          to,
          trimPossessive(span(index, to)),
          regionEnd > 0 && !listed ? { region: span(to + 1, regionEnd) } : undefined
        )
        if (phrase < 0) phrase = index
        if (regionEnd > 0 && !listed) endPhrase(to)
        if (/['’]s?$/.test(tokens[to - 1]!.text)) endPhrase(to)
        index = regionEnd > 0 && !listed ? regionEnd : to
        continue
      }
    }
    if (token.kind === "code") {
      push("code", index, index + 1, token.text)
      if (phrase < 0) phrase = index
    } else if (content && !opener) {
      if (phrase < 0) phrase = index
    } else endPhrase(index)
    index++
  }
  endPhrase(tokens.length)
  mentions.sort((a, b) => a.from - b.from || b.to - a.to)
  return { ...reading, mentions }
}

/**
 * Reads a text and finds what it mentions.
 *
 * @since 0.1.0
 * @category constructors
 */
export const scene = (text: string): Scene => find(Language.read(text))
