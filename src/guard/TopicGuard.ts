/**
 * Guard that keeps given words and phrases out of a text.
 *
 * @since 0.1.0
 */
import type * as Guard from "./pipeline/Guard.js"
import * as WindowGuard from "./pipeline/WindowGuard.js"

/**
 * @since 0.1.0
 * @category models
 */
export interface Options {
  /** Words or phrases of any language; blank ones are ignored. */
  readonly topics: ReadonlyArray<string>
  /** Default `block`. */
  readonly action?: "block" | "redact" | "warn" | undefined
  /** Default `input` and `output`. */
  readonly stages?: ReadonlyArray<Guard.GuardStage> | undefined
  /** Default `topic`. */
  readonly name?: string | undefined
}

/** Scripts written without spaces, or with endings attached to the word: each letter counts as a word. */
const JOINED =
  "\\p{scx=Han}\\p{scx=Hira}\\p{scx=Kana}\\p{scx=Bopo}\\p{scx=Hang}\\p{scx=Thai}\\p{scx=Laoo}\\p{scx=Khmr}\\p{scx=Mymr}"
const joinedLetter = new RegExp(`(?=[\\p{L}\\p{N}])[${JOINED}]\\p{M}*`, "uy")
const restOfWord = new RegExp(`(?:(?![${JOINED}])[\\p{L}\\p{N}]|\\p{M})*`, "uy")

/** Characters allowed between the words of a phrase, in place of those in the topic. */
const looseGap = /^[\s\p{Pd}\p{Pc}'’\u00ad\u200b-\u200d]*$/u
const MAX_GAP = 8

const isAsciiWord = (code: number): boolean =>
  (code >= 97 && code <= 122) || (code >= 65 && code <= 90) || (code >= 48 && code <= 57)

const endAt = (pattern: RegExp, text: string, at: number): number => {
  pattern.lastIndex = at
  return pattern.test(text) ? pattern.lastIndex : at
}

/** Returns the starts and ends of the words of a text, alternating. */
const wordsOf = (text: string): ReadonlyArray<number> => {
  const places: Array<number> = []
  let at = 0
  while (at < text.length) {
    const start = at
    while (at < text.length && isAsciiWord(text.charCodeAt(at))) at++
    if (at < text.length && text.charCodeAt(at) > 127) {
      if (at === start) at = endAt(joinedLetter, text, at)
      if (at === start || isAsciiWord(text.charCodeAt(start))) at = endAt(restOfWord, text, at)
    }
    if (at > start) places.push(start, at)
    // Advances by whole characters: a pattern matches the character that contains the index.
    else at += (text.codePointAt(at) as number) > 0xffff ? 2 : 1
  }
  return places
}

/** Returns the same string for texts that differ only in case, width or composition. */
const foldText = (text: string): string =>
  isAscii.test(text) ? text.toLowerCase() : text.normalize("NFKC").toUpperCase().toLowerCase()

const isAscii = /^[0-9A-Za-z]*$/

interface Topic {
  readonly reason: string
  readonly words: ReadonlyArray<string>
  /**
   * Significant text before, between and after the words, `undefined` where any gap is allowed: `undefined` in
   * "self-harm", `++` in "c++".
   */
  readonly around: ReadonlyArray<string | undefined>
}

const topicOf = (topic: string): Topic => {
  const text = topic.trim()
  const places = wordsOf(text)
  const words: Array<string> = []
  const around: Array<string | undefined> = []
  let last = 0
  const gap = (end: number) => {
    const between = text.slice(last, end)
    around.push(looseGap.test(between) ? undefined : between)
  }
  for (let index = 0; index < places.length; index += 2) {
    gap(places[index] as number)
    last = places[index + 1] as number
    words.push(foldText(text.slice(places[index], last)))
  }
  gap(text.length)
  return { reason: `the topic "${text}" is restricted`, words, around }
}

/** Largest difference in length between composed and decomposed forms of a letter in existing languages. */
const FORMS = 4

const reachOf = (topic: Topic): number =>
  2 +
  topic.words.reduce((length, word) => length + FORMS * word.length + MAX_GAP, 0) +
  topic.around.reduce((length, around) => length + (around?.length ?? 0), 0)

interface Match {
  readonly start: number
  readonly end: number
}

/** Returns the place of a topic that begins with this word of the text. */
const matchAt = (
  topic: Topic,
  text: string,
  places: ReadonlyArray<number>,
  first: number,
  word: (index: number) => string
): Match | undefined => {
  const { around, words } = topic
  for (let index = 1; index < words.length; index++) {
    const from = places[2 * (first + index) - 1] as number
    const to = places[2 * (first + index)]
    if (to === undefined || to - from > MAX_GAP + (around[index]?.length ?? 0)) return undefined
    if (word(first + index) !== words[index]) return undefined
    const between = text.slice(from, to)
    const wanted = around[index]
    if (wanted === undefined ? !looseGap.test(between) : between !== wanted) return undefined
  }
  const before = around[0] ?? ""
  const behind = around[words.length] ?? ""
  const start = (places[2 * first] as number) - before.length
  const end = places[2 * (first + words.length) - 1] as number
  return start >= 0 && text.startsWith(before, start) && text.startsWith(behind, end)
    ? { start, end: end + behind.length }
    : undefined
}

/**
 * Makes the guard. It finds a topic as whole words, regardless of case, width and composition, with spaces, hyphens or
 * apostrophes between the words of a phrase. A word ends where letters and digits end. Chinese, Japanese, Korean, Thai,
 * Lao, Khmer and Burmese set no spaces between words, or attach endings to them: there a topic matches anywhere.
 * Symbols in a topic (`C++`, an emoji) match literally.
 *
 * @example
 * ```ts
 * import { DefaultGuardPipeline, TopicGuard } from "effect-lexigram/guard"
 *
 * // Blocks "Sports-betting tips?", but not "my transport".
 * const guards = DefaultGuardPipeline.layerGuards([TopicGuard.make({ topics: ["casino", "sports betting"] })])
 * ```
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = (options: Options): Guard.Guard => {
  const action = options.action ?? "block"
  const topics = options.topics.filter((topic) => topic.trim() !== "").map(topicOf)
  // Indexed by the first word, then by the second: many topics may begin alike.
  const byWord = new Map<string, Map<string | undefined, Array<Topic>>>()
  const symbols: Array<Topic> = []
  let longestWord = 0
  for (const topic of [...topics].sort((a, b) => b.words.length - a.words.length)) {
    const [first] = topic.words
    if (first === undefined) symbols.push(topic)
    else {
      const bySecond = byWord.get(first) ?? new Map<string | undefined, Array<Topic>>()
      const alike = bySecond.get(topic.words[1]) ?? []
      alike.push(topic)
      byWord.set(first, bySecond.set(topic.words[1], alike))
    }
    for (const word of topic.words) longestWord = Math.max(longestWord, FORMS * word.length)
  }
  const found = (match: Match, topic: Topic): Guard.Finding => ({
    start: match.start,
    end: match.end,
    label: "TOPIC",
    action,
    reason: topic.reason
  })
  const find = (text: string): ReadonlyArray<Guard.Finding> => {
    const findings: Array<Guard.Finding> = []
    const places = byWord.size === 0 ? [] : wordsOf(text)
    const known: Array<string | undefined> = []
    const word = (index: number): string => {
      const start = places[2 * index] as number
      const end = places[2 * index + 1] as number
      if (end - start > longestWord) return ""
      known[index] ??= foldText(text.slice(start, end))
      return known[index]
    }
    const firstOf = (topics: ReadonlyArray<Topic> | undefined, index: number): Guard.Finding | undefined => {
      for (const topic of topics ?? []) {
        const match = matchAt(topic, text, places, index, word)
        if (match !== undefined) return found(match, topic)
      }
      return undefined
    }
    for (let index = 0; 2 * index < places.length; index++) {
      const bySecond = byWord.get(word(index))
      if (bySecond === undefined) continue
      const phrases = 2 * index + 2 < places.length ? bySecond.get(word(index + 1)) : undefined
      const match = firstOf(phrases, index) ?? firstOf(bySecond.get(undefined), index)
      if (match !== undefined) findings.push(match)
    }
    for (const topic of symbols) {
      const [symbol = ""] = topic.around
      for (let at = text.indexOf(symbol); at >= 0; at = text.indexOf(symbol, at + symbol.length)) {
        findings.push(found({ start: at, end: at + symbol.length }, topic))
      }
    }
    return mergeOverlaps(findings)
  }
  return WindowGuard.make({
    name: options.name ?? "topic",
    stages: options.stages ?? ["input", "output"],
    window: { reach: topics.reduce((reach, topic) => Math.max(reach, reachOf(topic)), 0), find }
  })
}

/** Merges overlapping topics: the span covers all of them, and the first one names it. */
const mergeOverlaps = (findings: Array<Guard.Finding>): ReadonlyArray<Guard.Finding> => {
  const out: Array<Guard.Finding> = []
  for (const finding of findings.sort((a, b) => a.start - b.start || b.end - a.end)) {
    const before = out[out.length - 1]
    if (before === undefined || finding.start >= before.end) out.push(finding)
    else if (finding.end > before.end) out[out.length - 1] = { ...before, end: finding.end }
  }
  return out
}
