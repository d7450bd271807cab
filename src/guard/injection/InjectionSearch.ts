/**
 * Finds the places of a text where rules match: words near each other, and patterns.
 *
 * @private
 * @since 0.1.0
 */

import type * as Steps from "../pipeline/Steps.js"
import type { Meaning } from "./InjectionLexicon.js"
import { bits } from "./InjectionLexicon.js"
import type * as InjectionRules from "./InjectionRules.js"
import * as InjectionText from "./InjectionText.js"
import type * as InjectionWords from "./InjectionWords.js"

/** Largest distance that is searched, in words. */
const furthest = 16

/** Known words examined per step. */
const wordsPerStep = 500

const maskOf = (meanings: Meaning | ReadonlyArray<Meaning>): number =>
  (typeof meanings === "string" ? [meanings] : meanings).reduce((mask, meaning) => mask | bits[meaning], 0)

interface SentenceRule {
  readonly rule: InjectionRules.Rule
  readonly say: number
  readonly with: ReadonlyArray<number>
  readonly wanted: number
  readonly after: number
  readonly before: number
  readonly weakenedBy: number
  readonly followedBy: RegExp | undefined
  readonly leadsTo: RegExp | undefined
}

interface PatternRule {
  readonly rule: InjectionRules.Rule
  readonly pattern: RegExp
  readonly folded: boolean
  readonly holds: RegExp | undefined
  readonly times: number
  readonly onlyIf: RegExp | undefined
}

export interface Compiled {
  readonly sentences: ReadonlyArray<SentenceRule>
  readonly anchors: number
  readonly patterns: ReadonlyArray<PatternRule>
}

const global = (pattern: RegExp): RegExp =>
  new RegExp(
    pattern.source,
    pattern.flags.includes("g") ? pattern.flags.replace("y", "") : `${pattern.flags.replace("y", "")}g`
  )

const phrases = (texts: ReadonlyArray<string>): RegExp => {
  const escaped = texts
    .map((text) =>
      InjectionText.fold(text)
        .text.trim()
        .split(/\s+/)
        .map((word) => word.replace(/[.*+?^${}()|[\]\\/-]/g, "\\$&"))
        .join("\\s{1,4}")
    )
    .filter((text) => text !== "")
  return new RegExp(
    escaped.length === 0 ? "(?!)" : `(?<![\\p{L}\\p{N}])(?:${escaped.join("|")})(?![\\p{L}\\p{N}])`,
    "gu"
  )
}

const isPhrases = (match: InjectionRules.Rule["match"]): match is ReadonlyArray<string> => Array.isArray(match)

export const compile = (rules: ReadonlyArray<InjectionRules.Rule>): Compiled => {
  const sentences: Array<SentenceRule> = []
  const patterns: Array<PatternRule> = []
  for (const rule of rules) {
    const { match } = rule
    if (isPhrases(match)) {
      patterns.push({ rule, pattern: phrases(match), folded: true, holds: undefined, times: 1, onlyIf: undefined })
    } else if ("pattern" in match) {
      patterns.push({
        rule,
        pattern: global(match.pattern),
        folded: match.folded ?? false,
        holds: match.holds,
        times: match.times ?? 1,
        onlyIf: match.onlyIf
      })
    } else {
      const all = match.with.map(maskOf)
      sentences.push({
        rule,
        say: maskOf(match.say),
        with: all,
        wanted: all.reduce((mask, one) => mask | one, 0),
        after: match.after,
        before: match.before ?? 0,
        weakenedBy: match.weakenedBy === undefined ? 0 : maskOf(match.weakenedBy),
        followedBy: match.followedBy,
        leadsTo: match.leadsTo
      })
    }
  }
  return { sentences, patterns, anchors: sentences.reduce((mask, { say }) => mask | say, 0) }
}

/** A match of a rule, by places of the folded or original text. */
export interface Hit {
  readonly rule: InjectionRules.Rule
  readonly start: number
  readonly end: number
  readonly weight: number
  readonly isDisguised: boolean
}

export type Words = ReadonlyArray<InjectionWords.Word>

const isNear = (word: InjectionWords.Word, other: InjectionWords.Word | undefined, most: number): boolean =>
  other !== undefined && other.sentence === word.sentence && Math.abs(other.index - word.index) <= most

/** Union of the meanings near a word. */
const meantNear = (words: Words, at: number, before: number, after: number): number => {
  const word = words[at]!
  let mask = 0
  for (let i = at + 1; isNear(word, words[i], after); i++) mask |= words[i]!.mask
  for (let i = at - 1; isNear(word, words[i], before); i--) mask |= words[i]!.mask
  return mask
}

const isNegated = (words: Words, at: number, text: string): boolean => {
  const word = words[at]!
  for (let i = at - 1; isNear(word, words[i], 2); i--) {
    // A negation before a comma refers to something else.
    if ((words[i]!.mask & bits.not) !== 0) return !/[,;:()\u2013\u2014]/.test(text.slice(words[i]!.end, word.start))
  }
  return false
}

const sentenceAt = (one: SentenceRule, words: Words, at: number, text: string): Hit | undefined => {
  const word = words[at]!
  let open = one.with
  let { end, isDisguised, start } = word
  let isWeak = false
  const look = (other: InjectionWords.Word): void => {
    if ((other.mask & one.weakenedBy) !== 0) isWeak = true
    if ((other.mask & one.wanted) === 0) return
    const rest = open.filter((mask) => (mask & other.mask) === 0)
    if (rest.length === open.length) return
    open = rest
    start = Math.min(start, other.start)
    end = Math.max(end, other.end)
    isDisguised ||= other.isDisguised
  }
  for (let i = at + 1; open.length > 0 && isNear(word, words[i], one.after); i++) look(words[i]!)
  for (let i = at - 1; open.length > 0 && isNear(word, words[i], one.before); i--) look(words[i]!)
  if (open.length > 0) return undefined
  if (one.followedBy !== undefined && !one.followedBy.test(text.slice(end, end + 60))) return undefined
  if (one.leadsTo !== undefined && !one.leadsTo.test(text.slice(start, end + 160))) return undefined
  return { rule: one.rule, start, end, weight: isWeak ? one.rule.weight * 0.4 : one.rule.weight, isDisguised }
}

/** Weight of a hit; the strongest hit of each rule is kept. */
export type Judge = (hit: Hit) => number

export function* findSentences(
  { anchors, sentences }: Compiled,
  words: Words,
  text: string,
  judge: Judge
): Steps.Steps<void> {
  const best = new Map<InjectionRules.Rule, number>()
  const blocks: Array<number> = []
  for (let at = 0; at < words.length; at++) blocks[at >> 4] = (blocks[at >> 4] ?? 0) | words[at]!.mask
  const isIn = (one: SentenceRule, mask: number): boolean => one.with.every((wanted) => (wanted & mask) !== 0)
  for (let at = 0; at < words.length; at++) {
    if (at % wordsPerStep === wordsPerStep - 1) yield
    const { mask } = words[at]!
    if ((mask & anchors) === 0) continue
    // Tests coarsely, then exactly: most words that may begin a match do not.
    const block = at >> 4
    const roughly = (blocks[block - 1] ?? 0) | blocks[block]! | (blocks[block + 1] ?? 0)
    if (!sentences.some((one) => (mask & one.say) !== 0 && isIn(one, roughly))) continue
    const near = meantNear(words, at, furthest, furthest)
    let negated: boolean | undefined
    for (const one of sentences) {
      if ((mask & one.say) === 0 || !isIn(one, near)) continue
      if ((best.get(one.rule) ?? 0) >= one.rule.weight) continue
      const hit = sentenceAt(one, words, at, text)
      if (hit === undefined) continue
      negated ??= (one.say & bits.not) === 0 && isNegated(words, at, text)
      if (negated) break
      best.set(one.rule, Math.max(best.get(one.rule) ?? 0, judge(hit)))
    }
  }
}

export function* findPatterns(
  patterns: ReadonlyArray<PatternRule>,
  folded: boolean,
  text: string,
  judge: Judge
): Steps.Steps<void> {
  const tested = new Map<RegExp, boolean>()
  const isSearched = ({ onlyIf }: PatternRule): boolean => {
    if (onlyIf === undefined) return true
    const known = tested.get(onlyIf) ?? onlyIf.test(text)
    tested.set(onlyIf, known)
    return known
  }
  for (const one of patterns) {
    if (one.folded !== folded || !isSearched(one)) continue
    yield
    let count = 0
    one.pattern.lastIndex = 0
    for (let match = one.pattern.exec(text); match !== null; match = one.pattern.exec(text)) {
      const start = match.index
      const end = start + match[0].length
      if (end === start) one.pattern.lastIndex++
      else if (one.holds === undefined || one.holds.test(match[0])) {
        const { rule } = one
        if (++count >= one.times && judge({ rule, start, end, weight: rule.weight, isDisguised: false }) >= rule.weight)
          break
      }
    }
  }
}
