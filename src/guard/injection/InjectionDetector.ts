/**
 * Detects prompt injections by documented heuristics: it asks no model, and nothing leaves the process.
 *
 * It removes disguises from the text (case, accents, width, look-alikes, digits for letters, invisible characters,
 * spaced letters), decodes encoded parts once, and adds the matching rules up to a score. Heuristics find known
 * attacks: they are the first line of defense, not the last.
 *
 * @since 0.1.0
 */

import * as Steps from "../pipeline/Steps.js"
import { lexicon } from "./InjectionLexicon.js"
import { damped } from "./InjectionMention.js"
import * as InjectionPayload from "./InjectionPayload.js"
import * as InjectionRules from "./InjectionRules.js"
import * as InjectionSearch from "./InjectionSearch.js"
import * as InjectionText from "./InjectionText.js"
import * as InjectionWords from "./InjectionWords.js"
import * as PersonaContract from "./PersonaContract.js"
import * as RecordText from "./RecordText.js"

/**
 * How much evidence is needed.
 *
 * @since 0.1.0
 * @category models
 */
export type Sensitivity = "low" | "medium" | "high"

/**
 * Lowest score that counts as an injection.
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
  /** Custom rules besides the built-in ones; a rule with the id of a built-in one replaces it. */
  readonly rules?: ReadonlyArray<InjectionRules.Rule> | undefined
  /** Ids of rules or categories to disable. */
  readonly disabled?: ReadonlyArray<string> | undefined
}

/**
 * A match of a rule, in UTF-16 code units of the original text.
 *
 * @since 0.1.0
 * @category models
 */
export interface Match {
  readonly rule: string
  readonly category: InjectionRules.Category
  readonly start: number
  readonly end: number
  /** Weight of the rule, reduced where the text only talks about injections. */
  readonly weight: number
  /**
   * Absent for plain text; otherwise how it was hidden: `base64`, `hex`, `escaped`, `rot13`, `reversed`, `spelled`,
   * `tags`.
   */
  readonly hidden?: string | undefined
}

/**
 * @since 0.1.0
 * @category models
 */
export interface Report {
  /** From 0 to 1. */
  readonly score: number
  /** Ordered by start; at most one per rule and place, 64 in total. */
  readonly matches: ReadonlyArray<Match>
}

/**
 * @since 0.1.0
 * @category models
 */
export interface Detector {
  /** Takes time linear in the length of the text. */
  readonly detect: (text: string) => Report
  /** Like `detect`, in steps: a caller can do other work between the steps of a long text. */
  readonly detectInSteps: (text: string) => Steps.Steps<Report>
}

const mostMatches = 64

/** Most matches of one text that are tested for being mentions; later ones count in full. */
const mostLooks = 400

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
  contract: {
    id: "roleplay_jailbreak.contract",
    category: "roleplay_jailbreak",
    weight: 0.5,
    doc: "A role, and terms that no honest role needs: no rules, no refusals, a pledge. More terms count up to 0.9."
  },
  hidden: {
    id: "encoding_bypass.hidden-text",
    category: "encoding_bypass",
    weight: 0.7,
    doc: "InjectionSearch.Words are written in characters that only machines see."
  },
  shots: {
    id: "many_shot.dialogue",
    category: "many_shot",
    weight: 0.35,
    doc: "A dialogue of twenty turns or more; 60 count 0.6."
  }
} as const

/**
 * Rules about how the text is written, without a pattern.
 *
 * @since 0.1.0
 * @category constants
 */
export const structural: ReadonlyArray<Omit<InjectionRules.Rule, "match">> = Object.values(extra)

const foldedPlace = (folded: InjectionText.Folded, source: string, start: number, end: number) => {
  const { map } = folded
  if (map === undefined) return { start, end }
  const from = map[start] ?? source.length
  const last = map[end - 1] ?? source.length - 1
  const width = (source.codePointAt(last) ?? 0) > 0xffff ? 2 : 1
  return { start: from, end: Math.max(from, Math.min(source.length, last + width)) }
}

/** Maps places of a folded text to the original. */
type PlaceOf = (start: number, end: number) => { readonly start: number; readonly end: number }

/** Finds all matches in one text, including payloads if `isOuter`. */
function* scan(
  rules: InjectionSearch.Compiled,
  off: ReadonlySet<string>,
  source: string,
  isOuter: boolean
): Steps.Steps<ReadonlyArray<Match>> {
  const matches: Array<Match> = []
  // Field names are not words of a sentence.
  const record = yield* RecordText.makeInSteps(source)
  yield
  const folded = yield* InjectionText.foldInSteps(record.text)
  yield
  const originalPlace: PlaceOf = (from, to) => {
    const { end, start } = foldedPlace(folded, record.text, from, to)
    return RecordText.placeOf(record, source, start, end)
  }
  const words = yield* InjectionWords.wordsInSteps(folded, lexicon())
  yield
  const isOn = ({ category, id }: { readonly category: string; readonly id: string }): boolean =>
    !off.has(id) && !off.has(category)
  const best = new Map<string, Match>()
  const disguised = new Set<string>()
  let looks = mostLooks
  const judge = (hit: InjectionSearch.Hit, within: string, from: number, to: number): number => {
    const { category, id } = hit.rule
    const known = best.get(id)
    if (known !== undefined && known.weight >= hit.weight) return known.weight
    // A quotation must not hide what follows it, and testing every quotation must not take forever.
    const weight = looks-- > 0 ? hit.weight * damped(within, from, to) : hit.weight
    if (known === undefined || weight > known.weight) {
      const { end, start } = within === source ? { start: from, end: to } : RecordText.placeOf(record, source, from, to)
      best.set(id, { rule: id, category, start, end, weight })
      if (hit.isDisguised) disguised.add(id)
    }
    return weight
  }
  const judgeFolded: InjectionSearch.Judge = (hit) => {
    const { end, start } = foldedPlace(folded, record.text, hit.start, hit.end)
    return judge(hit, record.text, start, end)
  }
  yield* InjectionSearch.findSentences(rules, words, folded.text, judgeFolded)
  yield* InjectionSearch.findPatterns(rules.patterns, true, folded.text, judgeFolded)
  yield* InjectionSearch.findPatterns(rules.patterns, false, source, (hit) => judge(hit, source, hit.start, hit.end))
  if (record.map !== undefined) {
    yield* InjectionSearch.findPatterns(rules.patterns, false, record.text, (hit) =>
      judge(hit, record.text, hit.start, hit.end)
    )
  }
  const contract = isOn(extra.contract) ? PersonaContract.find(folded.text) : undefined
  yield
  if (contract !== undefined) {
    const { end, start } = foldedPlace(folded, record.text, contract.start, contract.end)
    const rule: InjectionRules.Rule = { ...extra.contract, match: [] }
    judge({ rule, start, end, weight: contract.weight, isDisguised: false }, record.text, start, end)
  }
  matches.push(...best.values())
  const disguise = matches.find(({ rule, weight }) => weight >= 0.3 && disguised.has(rule))
  if (disguise !== undefined && isOn(extra.disguise)) {
    const { category, id, weight } = extra.disguise
    matches.push({ ...disguise, rule: id, category, weight })
  }
  if (isOuter) yield* findHidden(rules, off, source, record, folded, words, originalPlace, isOn, matches)
  return matches
}

function* findHidden(
  rules: InjectionSearch.Compiled,
  off: ReadonlySet<string>,
  source: string,
  record: RecordText.RecordText,
  folded: InjectionText.Folded,
  words: InjectionSearch.Words,
  originalPlace: PlaceOf,
  isOn: (rule: { readonly category: string; readonly id: string }) => boolean,
  matches: Array<Match>
): Steps.Steps<void> {
  const plain = new Set(matches.map(({ rule }) => rule))
  function* look(text: string, start: number, end: number, kind: string): Steps.Steps<void> {
    const found = yield* scan(rules, off, text, false)
    let strongest = 0
    for (const match of found) {
      // Text around the spelled words was read before.
      if (kind === "spelled" && plain.has(match.rule)) continue
      strongest = Math.max(strongest, match.weight)
      matches.push({ ...match, start, end, hidden: kind })
    }
    if (strongest >= 0.3 && isOn(extra.payload)) {
      const { category, id, weight } = extra.payload
      matches.push({ rule: id, category, start, end, weight, hidden: kind })
    }
  }
  for (const { end, kind, start, text } of InjectionPayload.inSource(source)) yield* look(text, start, end, kind)
  yield
  const spelled = InjectionPayload.spelled(folded.text, lexicon())
  yield
  for (const payload of [...InjectionPayload.inWords(folded, words), ...spelled]) {
    const { end, start } = originalPlace(payload.start, payload.end)
    yield* look(payload.text, start, end, payload.kind)
  }
  yield
  const { hidden } = folded
  if (hidden !== undefined) {
    const { end, start } = RecordText.placeOf(record, source, hidden.start, hidden.end)
    yield* look(hidden.text, start, end, "tags")
    if (/[a-z]{2}[^a-z]+[a-z]{2}|[a-z]{8}/i.test(hidden.text) && isOn(extra.hidden)) {
      const { category, id, weight } = extra.hidden
      matches.push({ rule: id, category, start, end, weight, hidden: "tags" })
    }
  }
  const shots = manyShot(source)
  if (shots.count >= 20 && isOn(extra.shots)) {
    const { category, id, weight } = extra.shots
    matches.push({ rule: id, category, start: shots.start, end: shots.end, weight: shots.count >= 60 ? 0.6 : weight })
  }
}

/** Rules that match the same thing count once: the strongest per place and category, and each rule once. */
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
 * Compiles the rules once; the detector serves any number of texts.
 *
 * @example
 * ```ts
 * import { InjectionDetector } from "effect-lexigram/guard"
 *
 * const detector = InjectionDetector.make()
 *
 * const isSuspicious = (text: string) => detector.detect(text).score >= InjectionDetector.thresholds.medium
 * ```
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
  const compiled = InjectionSearch.compile(rules)
  function* detectInSteps(text: string): Steps.Steps<Report> {
    const found = yield* scan(compiled, off, text, true)
    const matches = found.toSorted((a, b) => b.weight - a.weight).slice(0, mostMatches)
    return { score: scoreOf(matches), matches: matches.toSorted((a, b) => a.start - b.start || a.end - b.end) }
  }
  return { detect: (text) => Steps.finish(detectInSteps(text)), detectInSteps }
}
