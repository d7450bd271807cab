/**
 * Finds instructions that somebody else wants a model to follow, by documented heuristics: no model is asked, nothing leaves the process.
 *
 * The text is read without its disguise (case, accents, width, look-alikes, digits for letters, invisible characters, letters set apart),
 * what is encoded in it is decoded once, and the rules that fit are added up to a score. Heuristics see what is known: they are the first
 * line of defence, not the last.
 *
 * @since 0.1.0
 */

import type { Meaning } from "./InjectionLexicon.js"
import { bits, lexicon } from "./InjectionLexicon.js"
import { damped } from "./InjectionMention.js"
import * as InjectionPayload from "./InjectionPayload.js"
import * as InjectionRules from "./InjectionRules.js"
import * as InjectionText from "./InjectionText.js"

/**
 * How much has to come together.
 *
 * @since 0.1.0
 * @category models
 */
export type Sensitivity = "low" | "medium" | "high"

/**
 * From which score on a text counts as an injection.
 *
 * @since 0.1.0
 * @category constants
 */
export const thresholds: { readonly [S in Sensitivity]: number } = { low: 0.75, medium: 0.5, high: 0.3 }

/**
 * @since 0.1.0
 * @category models
 */
export interface Options {
  /** Rules of one's own, besides those of the library; one with the id of another takes its place. */
  readonly rules?: ReadonlyArray<InjectionRules.Rule> | undefined
  /** Ids of rules, or whole categories, that are left out. */
  readonly disabled?: ReadonlyArray<string> | undefined
}

/**
 * A rule that fits at a place of the text, in UTF-16 code units of the text as it was given.
 *
 * @since 0.1.0
 * @category models
 */
export interface Match {
  readonly rule: string
  readonly category: InjectionRules.Category
  readonly start: number
  readonly end: number
  /** What it counts here: the weight of the rule, less where the text only talks about injections. */
  readonly weight: number
  /** Absent where it stands in plain sight; else how it was hidden: `base64`, `hex`, `escaped`, `rot13`, `reversed`, `spelled`, `tags`. */
  readonly hidden?: string | undefined
}

/**
 * @since 0.1.0
 * @category models
 */
export interface Report {
  /** From 0 to 1. */
  readonly score: number
  /** By start; at most one a rule and place, and 64 in all. */
  readonly matches: ReadonlyArray<Match>
}

/**
 * @since 0.1.0
 * @category models
 */
export interface Detector {
  /** Takes time linear in the length of the text. */
  readonly detect: (text: string) => Report
}

const mostMatches = 64

/** Further away than this nothing is looked for. */
const furthest = 16

/** How many places of one text are looked at for being talked about; those behind count in full. */
const mostLooks = 400

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
}

interface Compiled {
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

const compile = (rules: ReadonlyArray<InjectionRules.Rule>): Compiled => {
  const sentences: Array<SentenceRule> = []
  const patterns: Array<PatternRule> = []
  for (const rule of rules) {
    const { match } = rule
    if (isPhrases(match)) {
      patterns.push({ rule, pattern: phrases(match), folded: true, holds: undefined, times: 1 })
    } else if ("pattern" in match) {
      patterns.push({
        rule,
        pattern: global(match.pattern),
        folded: match.folded ?? false,
        holds: match.holds,
        times: match.times ?? 1
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

/** What a rule found, by places of the folded or the original text. */
interface Hit {
  readonly rule: InjectionRules.Rule
  readonly start: number
  readonly end: number
  readonly weight: number
  readonly isDisguised: boolean
}

type Words = ReadonlyArray<InjectionText.Word>

const isNear = (word: InjectionText.Word, other: InjectionText.Word | undefined, most: number): boolean =>
  other !== undefined && other.sentence === word.sentence && Math.abs(other.index - word.index) <= most

/** Everything that is meant near a word. */
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
    // What was denied before a comma is another thing.
    if ((words[i]!.mask & bits.not) !== 0) return !/[,;:()\u2013\u2014]/.test(text.slice(words[i]!.end, word.start))
  }
  return false
}

const sentenceAt = (one: SentenceRule, words: Words, at: number, text: string): Hit | undefined => {
  const word = words[at]!
  let open = one.with
  let { end, isDisguised, start } = word
  let isWeak = false
  const look = (other: InjectionText.Word): void => {
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

/** The strongest hit of each rule: what counts here is told by `judge`. */
type Judge = (hit: Hit) => number

const findSentences = ({ anchors, sentences }: Compiled, words: Words, text: string, judge: Judge): void => {
  const best = new Map<InjectionRules.Rule, number>()
  const blocks: Array<number> = []
  for (let at = 0; at < words.length; at++) blocks[at >> 4] = (blocks[at >> 4] ?? 0) | words[at]!.mask
  const isIn = (one: SentenceRule, mask: number): boolean => one.with.every((wanted) => (wanted & mask) !== 0)
  for (let at = 0; at < words.length; at++) {
    const { mask } = words[at]!
    if ((mask & anchors) === 0) continue
    // First roughly, then exactly: most words that may begin something begin nothing.
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

const findPatterns = (patterns: ReadonlyArray<PatternRule>, folded: boolean, text: string, judge: Judge): void => {
  for (const one of patterns) {
    if (one.folded !== folded) continue
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

const turn = /^[ \t>*#"-]{0,6}(?:user|human|assistant|ai|bot|chatbot|q|a|question|answer|model)[ \t*"]{0,3}:/gim

const manyShot = (text: string): { readonly count: number; readonly start: number; readonly end: number } => {
  let count = 0
  let start = 0
  let end = 0
  turn.lastIndex = 0
  for (let match = turn.exec(text); match !== null && count < 200; match = turn.exec(text)) {
    if (count === 0) start = match.index
    end = match.index + match[0].length
    count++
  }
  return { count, start, end }
}

const extra = {
  payload: {
    id: "encoding_bypass.payload",
    category: "encoding_bypass",
    weight: 0.4,
    doc: "Instructions are encoded."
  },
  disguise: {
    id: "encoding_bypass.disguise",
    category: "encoding_bypass",
    weight: 0.4,
    doc: "The words of an instruction are disguised."
  },
  hidden: {
    id: "encoding_bypass.hidden-text",
    category: "encoding_bypass",
    weight: 0.7,
    doc: "Words are written in characters that only machines see."
  },
  shots: {
    id: "many_shot.dialogue",
    category: "many_shot",
    weight: 0.35,
    doc: "A dialogue of twenty turns or more; 60 count 0.6."
  }
} as const

/**
 * Rules that are no pattern of a text but of how it is written.
 *
 * @since 0.1.0
 * @category constants
 */
export const structural: ReadonlyArray<Omit<InjectionRules.Rule, "match">> = Object.values(extra)

const originalPlace = (folded: InjectionText.Folded, source: string, start: number, end: number) => {
  const { map } = folded
  if (map === undefined) return { start, end }
  const from = map[start] ?? source.length
  const last = map[end - 1] ?? source.length - 1
  const width = (source.codePointAt(last) ?? 0) > 0xffff ? 2 : 1
  return { start: from, end: Math.max(from, Math.min(source.length, last + width)) }
}

/** Everything found in one text, payloads included where `isOuter`. */
const scan = (rules: Compiled, off: ReadonlySet<string>, source: string, isOuter: boolean): ReadonlyArray<Match> => {
  const matches: Array<Match> = []
  const folded = InjectionText.fold(source)
  const words = InjectionText.words(folded, lexicon())
  const isOn = ({ category, id }: { readonly category: string; readonly id: string }): boolean =>
    !off.has(id) && !off.has(category)
  const best = new Map<string, Match>()
  const disguised = new Set<string>()
  let looks = mostLooks
  const judge = (hit: Hit, start: number, end: number): number => {
    const { category, id } = hit.rule
    const known = best.get(id)
    if (known !== undefined && known.weight >= hit.weight) return known.weight
    // What is only quoted must not hide what comes after it, nor may looking at each quotation take for ever.
    const weight = looks-- > 0 ? hit.weight * damped(source, start, end) : hit.weight
    if (known === undefined || weight > known.weight) {
      best.set(id, { rule: id, category, start, end, weight })
      if (hit.isDisguised) disguised.add(id)
    }
    return weight
  }
  const judgeFolded: Judge = (hit) => {
    const { end, start } = originalPlace(folded, source, hit.start, hit.end)
    return judge(hit, start, end)
  }
  findSentences(rules, words, folded.text, judgeFolded)
  findPatterns(rules.patterns, true, folded.text, judgeFolded)
  findPatterns(rules.patterns, false, source, (hit) => judge(hit, hit.start, hit.end))
  matches.push(...best.values())
  const disguise = matches.find(({ rule, weight }) => weight >= 0.3 && disguised.has(rule))
  if (disguise !== undefined && isOn(extra.disguise)) {
    const { category, id, weight } = extra.disguise
    matches.push({ ...disguise, rule: id, category, weight })
  }
  if (isOuter) findHidden(rules, off, source, folded, words, isOn, matches)
  return matches
}

const findHidden = (
  rules: Compiled,
  off: ReadonlySet<string>,
  source: string,
  folded: InjectionText.Folded,
  words: Words,
  isOn: (rule: { readonly category: string; readonly id: string }) => boolean,
  matches: Array<Match>
): void => {
  const look = (text: string, start: number, end: number, kind: string): void => {
    const found = scan(rules, off, text, false)
    let strongest = 0
    for (const match of found) {
      strongest = Math.max(strongest, match.weight)
      matches.push({ ...match, start, end, hidden: kind })
    }
    if (strongest >= 0.3 && isOn(extra.payload)) {
      const { category, id, weight } = extra.payload
      matches.push({ rule: id, category, start, end, weight, hidden: kind })
    }
  }
  for (const { end, kind, start, text } of InjectionPayload.inSource(source)) look(text, start, end, kind)
  for (const payload of [
    ...InjectionPayload.inWords(folded, words),
    ...InjectionPayload.spelled(folded.text, lexicon())
  ]) {
    const { end, start } = originalPlace(folded, source, payload.start, payload.end)
    look(payload.text, start, end, payload.kind)
  }
  const { hidden } = folded
  if (hidden !== undefined) {
    look(hidden.text, hidden.start, hidden.end, "tags")
    if (/[a-z]{2,}[^a-z]+[a-z]{2,}|[a-z]{8,}/i.test(hidden.text) && isOn(extra.hidden)) {
      const { category, id, weight } = extra.hidden
      matches.push({ rule: id, category, start: hidden.start, end: hidden.end, weight, hidden: "tags" })
    }
  }
  const shots = manyShot(source)
  if (shots.count >= 20 && isOn(extra.shots)) {
    const { category, id, weight } = extra.shots
    matches.push({ rule: id, category, start: shots.start, end: shots.end, weight: shots.count >= 60 ? 0.6 : weight })
  }
}

/** Rules that see the same thing count as one: the strongest at a place for each category, and each rule once. */
const scoreOf = (matches: ReadonlyArray<Match>): number => {
  const strongest = matches.toSorted((a, b) => b.weight - a.weight)
  const counted: Array<Match> = []
  let rest = 1
  for (const match of strongest) {
    const isKnown = counted.some(
      (other) =>
        other.rule === match.rule ||
        (other.category === match.category &&
          other.hidden === match.hidden &&
          other.start < match.end &&
          match.start < other.end)
    )
    if (isKnown) continue
    counted.push(match)
    rest *= 1 - Math.min(1, Math.max(0, match.weight))
  }
  return 1 - rest
}

/**
 * Compiles the rules once; what comes back may be used for any number of texts.
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = (options?: Options | undefined): Detector => {
  const off = new Set(options?.disabled ?? [])
  const own = options?.rules ?? []
  const ids = new Set(own.map(({ id }) => id))
  const rules = [...InjectionRules.all.filter(({ id }) => !ids.has(id)), ...own].filter(
    ({ category, id }) => !off.has(id) && !off.has(category)
  )
  const compiled = compile(rules)
  return {
    detect: (text) => {
      const matches = scan(compiled, off, text, true)
        .toSorted((a, b) => b.weight - a.weight)
        .slice(0, mostMatches)
      return { score: scoreOf(matches), matches: matches.toSorted((a, b) => a.start - b.start || a.end - b.end) }
    }
  }
}
