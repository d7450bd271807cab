/**
 * What a text offers for one parameter: each mention weighed by type, format, nearby words, prepositions and units.
 *
 * @internal
 * @since 0.1.0
 */
import * as Language from "./OfflineLanguage.js"
import * as Lexicon from "./OfflineLexicon.js"
import type { Mention, Scene } from "./OfflineMentions.js"
import type * as Schema from "./OfflineSchema.js"

/**
 * A value and how well it fits; `from` and `to` are the tokens it was read from.
 *
 * @since 0.1.0
 * @category models
 */
export interface Candidate {
  readonly value: unknown
  readonly score: number
  readonly from: number
  readonly to: number
  readonly mention?: Mention | undefined
}

/**
 * Which tokens count: those of `segments`, else all.
 *
 * @since 0.1.0
 * @category models
 */
export interface Scope {
  readonly scene: Scene
  readonly segments?: ReadonlySet<number> | undefined
}

/**
 * The segment counts.
 *
 * @since 0.1.0
 * @category predicates
 */
export const inScope = (scope: Scope, segment: number): boolean =>
  scope.segments === undefined || scope.segments.has(segment)

/**
 * How many parameters use a stem: a word that all share tells none of them apart.
 *
 * @since 0.1.0
 * @category models
 */
export type Shared = ReadonlyMap<string, number>

/**
 * Counts the parameters that use a stem.
 *
 * @since 0.1.0
 * @category constructors
 */
export const sharedWords = (params: ReadonlyArray<Schema.Parameter>): Shared => {
  const shared = new Map<string, number>()
  for (const param of params)
    for (const word of new Set([...param.key, ...param.about])) shared.set(word, (shared.get(word) ?? 0) + 1)
  return shared
}

const weigh = (param: Schema.Parameter, word: string, shared: Shared): number => {
  const part = word.length >= 4 && param.key.some((key) => key.startsWith(word))
  const weight = param.key.includes(word) ? 2 : param.about.has(word) ? 0.9 : part ? 1.4 : 0
  return weight === 0 ? 0 : weight / (shared.get(word) ?? 1)
}

/** Words of the parameter near the mention; weaker with distance, past a clause and past a mention of the same kind. */
const cue = (param: Schema.Parameter, mention: Mention, { scene }: Scope, shared: Shared): number => {
  const seen = new Set<string>()
  let score = 0
  const take = (index: number, weight: number) => {
    const token = scene.tokens[index]!
    const parts = token.lower.includes("-") ? token.lower.split("-").map(Language.stem) : [Language.stem(token.lower)]
    for (const part of parts) {
      const worth =
        Language.isStopWord(token.lower) && !/^(?:first|second|third|last)$/.test(token.lower)
          ? 0
          : weigh(param, part, shared)
      if (worth > 0 && !seen.has(part)) {
        seen.add(part)
        score += worth * weight
      }
    }
  }
  let weight = 1
  for (let i = mention.from - 1; i >= Math.max(0, mention.from - 8); i--) {
    const token = scene.tokens[i]!
    if (token.sentence !== mention.sentence) break
    if (token.segment !== scene.tokens[i + 1]!.segment) weight *= 0.5
    if (token.kind === "number" || token.kind === "quoted" || token.kind === "date") weight *= 0.35
    take(i, weight)
    weight *= token.kind === "symbol" || Language.isStopWord(token.lower) ? 0.95 : 0.85
  }
  weight = 0.9
  const inner = mention.kind === "number" ? mention.from + 1 : mention.kind === "name" ? mention.from : mention.to
  for (let i = inner; i < Math.min(scene.tokens.length, mention.to + 4); i++) {
    const token = scene.tokens[i]!
    if (token.segment !== mention.segment || (i >= mention.to && (token.kind === "number" || token.kind === "quoted")))
      break
    if (i > mention.to && Language.isPreposition(token.lower) && token.lower !== "of" && token.lower !== "per")
      weight *= 0.5
    take(i, weight)
    weight *= 0.8
  }
  return Math.min(score, 5)
}

/**
 * The parameter's name or description has one of the words.
 *
 * @since 0.1.0
 * @category predicates
 */
export const says = (param: Schema.Parameter, list: string): boolean =>
  list.split(" ").some((word) => param.key.includes(Language.stem(word)) || param.about.has(Language.stem(word)))

const names = (param: Schema.Parameter, list: string): boolean =>
  list.split(" ").some((word) => param.key.includes(Language.stem(word)))

const isYear = (mention: Mention): boolean =>
  mention.unit === undefined &&
  mention.money === undefined &&
  Number.isInteger(mention.number) &&
  mention.number! >= 1500 &&
  mention.number! <= 2100 &&
  /^\d{4}$/.test(mention.text)

const mostWords = /^(?:max|maximum|most|highest|upper|limit|ceiling|cap|budget|under|below|until)$/
const leastWords = /^(?:min|minimum|least|lowest|lower|floor|above|over)$/

/** Which end of a range a numeric parameter sets. */
const endOf = (param: Schema.Parameter): "most" | "least" | undefined => {
  const own = Language.words(param.name)
  const told = Language.words(param.shape.description.slice(0, 120))
  for (const list of [own, told]) {
    const top = list.some((word) => mostWords.test(word))
    const bottom = list.some((word) => leastWords.test(word))
    if (top !== bottom) return top ? "most" : "least"
  }
  return undefined
}

const numberValue = (param: Schema.Parameter, mention: Mention): number => {
  const value = mention.number ?? 0
  const fraction = mention.percent === true && param.shape.type === "number" && !says(param, "percent percentage")
  return fraction &&
    says(param, "rate yield interest probability growth return discount tax ratio fraction inflation margin")
    ? Number((value / 100).toPrecision(12))
    : value
}

/**
 * A number, or the year of a date, as a value for a numeric parameter.
 *
 * @since 0.1.0
 * @category getters
 */
export const fitNumber = (
  param: Schema.Parameter,
  mention: Mention,
  scope: Scope,
  shared: Shared
): Candidate | undefined => {
  if (mention.kind === "date") {
    const year = Lexicon.parseDate(mention.text).year
    return names(param, "year season") && year !== undefined
      ? { value: year, score: 3, from: mention.from, to: mention.to, mention }
      : undefined
  }
  if (mention.kind !== "number") return undefined
  let score = 1 + cue(param, mention, scope, shared)
  if (mention.money !== undefined)
    score += says(
      param,
      "amount price cost budget value money investment salary fee income payment loan balance principal deposit dividend"
    )
      ? 1.5
      : -1
  if (mention.percent === true)
    score += says(param, "rate percent percentage yield interest growth probability discount tip tax") ? 1.8 : -1
  const end = mention.bound === undefined ? undefined : endOf(param)
  if (end !== undefined) score += end === mention.bound ? 2.5 : -3
  if (isYear(mention)) score += names(param, "year season") ? 2 : -0.6
  else if (names(param, "year") && mention.unit === undefined && !says(param, "period duration number")) score -= 1
  if (
    mention.spelled === true &&
    mention.unit !== undefined &&
    names(param, mention.unit) &&
    (shared.get(Language.stem(mention.unit)) ?? 0) > 1
  )
    return undefined
  if (mention.spelled === true) score -= 0.8
  if (
    mention.percent !== true &&
    (mention.number ?? 0) > 1 &&
    (names(param, "probability fraction ratio confidence") ||
      (param.shape.type === "number" && says(param, "probability")))
  )
    return undefined
  if (mention.ordinal === true)
    score += says(param, "century grade level rank floor position nth round term") ? 0.5 : -1.5
  const measures = mention.unit === undefined ? undefined : Lexicon.units.get(mention.unit)
  if (measures !== undefined) score += says(param, measures) ? 2 : -0.8
  if (mention.unit !== undefined && measures === undefined && param.about.has(mention.unit)) score += 2
  return { value: numberValue(param, mention), score, from: mention.from, to: mention.to, mention }
}

const dateText = (param: Schema.Parameter, text: string): string => {
  const date = Lexicon.parseDate(text)
  const iso = Lexicon.isoDate(date)
  if (iso === undefined) return text
  if (param.shape.format === "date-time") return date.time === undefined ? `${iso}T00:00:00Z` : `${iso}${date.time}`
  const [year, month, day] = iso.split("-")
  if (/mm\/dd\/yyyy/i.test(param.shape.description)) return `${month}/${day}/${year}`
  if (/dd\/mm\/yyyy/i.test(param.shape.description)) return `${day}/${month}/${year}`
  return date.time !== undefined && param.shape.format === undefined ? text : iso
}

const clock = (text: string): string => {
  const parts = /^(\d{1,2})(?::(\d{2}))?(?::\d{2})?\s?([ap])?/i.exec(text)
  if (parts === null) return text
  const hour = (Number(parts[1]) % 12) + (parts[3]?.toLowerCase() === "p" ? 12 : 0)
  return `${String(parts[3] === undefined ? Number(parts[1]) : hour).padStart(2, "0")}:${parts[2] ?? "00"}`
}

const role = (param: Schema.Parameter, mention: Mention): number => {
  if (param.prepositions.size === 0) return 0
  const near = mention.prepositions[0]
  if (near === undefined) return 0
  if (param.prepositions.has(near)) return near === "of" ? 1 : near === "at" || near === "on" ? 1.8 : 2.5
  if (mention.prepositions.some((word) => param.prepositions.has(word))) return 1.2
  const opposite =
    (param.prepositions.has("from") && /^(?:to|into|towards)$/.test(near)) ||
    (param.prepositions.has("to") && near === "from")
  return opposite ? -4 : 0
}

/** `Darwin model` for `model`, `comedy genre` for `genre`: the parameter's own word stands right after the value. */
const labelled = (param: Schema.Parameter, mention: Mention, { scene }: Scope): number => {
  const next = scene.tokens[mention.to]
  return next !== undefined &&
    next.segment === mention.segment &&
    next.kind === "word" &&
    param.key.includes(Language.stem(next.lower))
    ? 2.5
    : 0
}

const trimmed = (
  param: Schema.Parameter,
  mention: Mention,
  { scene }: Scope
): { readonly text: string; readonly label: boolean } => {
  let to = mention.to
  let from = mention.from
  const own = (index: number) =>
    !scene.tokens[index]!.capital && param.key.includes(Language.stem(scene.tokens[index]!.lower))
  while (to - from > 1 && own(to - 1)) to--
  const label = to < mention.to
  while (to - from > 1 && own(from)) from++
  const text = scene.text.slice(scene.tokens[from]!.start, scene.tokens[to - 1]!.end).replace(/['’]s?$/, "")
  return { text, label }
}

/**
 * The description says the word of the parameter itself, and not of where it comes from: "the number, as it stands on
 * the order".
 */
const isOwn = (param: Schema.Parameter, word: string): boolean =>
  Language.words(param.shape.description.split(/[,;(]|\b(?:as|that|which|from|found|on the|in the)\b/i)[0] ?? "")
    .map(Language.stem)
    .includes(word)

/** `order 1042` is no tracking id: the noun before says what the number identifies. */
const labelsOther = (
  param: Schema.Parameter,
  mention: Mention,
  { scene }: Scope,
  tool: ReadonlySet<string>
): boolean => {
  let i = mention.from - 1
  while (i >= 0 && /^(?:#|:|no|number|id|is|with|the)$/.test(scene.tokens[i]!.lower)) i--
  const noun = scene.tokens[i]
  if (
    noun === undefined ||
    noun.kind !== "word" ||
    noun.sentence !== mention.sentence ||
    Language.isStopWord(noun.lower) ||
    Language.isGeneric(noun.lower) ||
    (noun.capital && scene.tokens[i - 1]?.sentence === noun.sentence) ||
    /^(?:who|what|which|that|i|you|we|they|he|she|it|to)$/.test(scene.tokens[i - 1]?.lower ?? "")
  )
    return false
  const word = noun.stem
  return !param.key.includes(word) && !(param.about.has(word) && isOwn(param, word)) && !tool.has(word)
}

/** "1042 parcels" counts, "1042 late" does not. */
const counts = (unit: string): boolean => Lexicon.units.has(unit) || Lexicon.currencies.has(unit) || /[^s]s$/.test(unit)

const isCounted = (mention: Mention, { scene }: Scope): boolean => scene.tokens[mention.from - 1]?.kind === "number"

const textKinds: { readonly [kind in Mention["kind"]]: number } = {
  quoted: 2.4,
  name: 1.8,
  code: 1.2,
  phrase: 0.4,
  number: -0.6,
  date: -1,
  time: -1,
  email: -1.5,
  url: -1.5
}

/**
 * A mention as a value for a text parameter.
 *
 * @since 0.1.0
 * @category getters
 */
export const fitText = (
  param: Schema.Parameter,
  mention: Mention,
  scope: Scope,
  shared: Shared,
  tool: ReadonlySet<string>
): Candidate | undefined => {
  const { topic } = param
  const { kind } = mention
  const make = (value: unknown, score: number): Candidate => ({
    value,
    score,
    from: mention.from,
    to: mention.to,
    mention
  })
  const near = () => cue(param, mention, scope, shared) + role(param, mention)
  if (kind === "email" || topic === "email")
    return kind === "email" && (topic === "email" || topic === "person" || topic === "any" || topic === "place")
      ? make(mention.text, topic === "email" ? 4 + near() : 0.5 + near())
      : undefined
  if (kind === "url" || topic === "url")
    return kind === "url" && (topic === "url" || topic === "any")
      ? make(mention.text, topic === "url" ? 4 + near() : 1.5 + near())
      : undefined
  if (topic === "date") {
    if (kind === "date") return make(dateText(param, mention.text), 4 + near())
    if (isYear(mention)) return make(mention.text, 1 + near())
    return kind === "quoted" && near() > 2 ? make(mention.text, 2) : undefined
  }
  if (topic === "time") return kind === "time" ? make(clock(mention.text), 4 + near()) : undefined
  if (topic === "currency" || topic === "region" || topic === "unit") return undefined
  if (kind === "phrase") {
    const { label, text } = trimmed(param, mention, scope)
    const stems = Language.contentStems(text)
    if (stems.length === 0 || stems.every((word) => tool.has(word)) || topic === "id" || text.split(/\s+/).length > 8)
      return undefined
    const overlap = stems.filter((word) => tool.has(word)).length / stems.length
    const named = topic === "place" || topic === "person" || topic === "country" ? -0.3 : 0
    const color = topic === "color" && Lexicon.colors.has(text.toLowerCase()) ? 3 : 0
    const placed = /^(?:for|about|of|on|as|with)$/.test(mention.prepositions[0] ?? "") && topic === "any" ? 0.4 : 0
    return make(
      text,
      0.4 + placed + near() + named + color + (label ? 3.6 : labelled(param, mention, scope)) - overlap * 1.5
    )
  }
  let score = textKinds[kind] + near() + labelled(param, mention, scope)
  if (topic === "id") {
    if (kind === "name" && !/^[\p{Lu}\p{N}_-]+$/u.test(mention.text)) return undefined
    if (
      kind === "number" &&
      ((mention.unit !== undefined && counts(mention.unit) && !names(param, mention.unit)) ||
        mention.bound !== undefined ||
        mention.money !== undefined ||
        mention.percent === true)
    )
      score -= 2
    score += kind === "code" || kind === "number" ? 1.8 : 0.5
    if (labelsOther(param, mention, scope, tool)) score -= 4
    const label = scope.scene.tokens[mention.from - 1]
    if (label?.kind === "word" && !Language.isStopWord(label.lower) && param.key.includes(label.stem)) score += 1.5
  }
  if ((topic === "place" || topic === "country") && kind === "name" && mention.prepositions.length > 0) score += 1
  if (topic === "person" && kind === "name") score += 1
  if (topic === "any" && kind === "name" && mention.prepositions.length === 0) score += 0.3
  if (kind === "name" && Lexicon.units.has(mention.text.toLowerCase())) return undefined
  if (kind === "name" && Lexicon.currencies.has(mention.text.toLowerCase()) && isCounted(mention, scope))
    return undefined
  if (topic === "person" && kind === "code") score += 1
  if (kind === "name" && Language.contentStems(mention.text).every((word) => tool.has(word))) score -= 2.5
  if (kind === "code" && topic === "any") score += cue(param, mention, scope, shared) > 0 ? 0.8 : 0
  const joined =
    topic === "place" && mention.region !== undefined && param.key.length > 0
      ? `${mention.text}, ${mention.region}`
      : mention.text
  return make(kind === "number" ? mention.text.replace(/^#/, "") : joined, score)
}
