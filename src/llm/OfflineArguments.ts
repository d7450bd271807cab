/**
 * Arguments from text: every mention is weighed against every parameter by type, format, nearby words, prepositions and units, and
 * the best pairs are taken first. What the text does not say stays missing.
 *
 * @since 0.1.0
 */
import * as Language from "./OfflineLanguage.js"
import * as Lexicon from "./OfflineLexicon.js"
import type { Mention, Scene } from "./OfflineMentions.js"
import * as Schema from "./OfflineSchema.js"

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
 * @since 0.1.0
 * @category models
 */
export interface Filling {
  readonly values: ReadonlyMap<string, Candidate>
  readonly missing: ReadonlyArray<Schema.Parameter>
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

const inScope = (scope: Scope, segment: number): boolean => scope.segments === undefined || scope.segments.has(segment)

/** How many parameters use a stem: a word that all share tells none of them apart. */
type Shared = ReadonlyMap<string, number>

const sharedWords = (params: ReadonlyArray<Schema.Parameter>): Shared => {
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

const says = (param: Schema.Parameter, list: string): boolean =>
  list.split(" ").some((word) => param.key.includes(Language.stem(word)) || param.about.has(Language.stem(word)))

const names = (param: Schema.Parameter, list: string): boolean =>
  list.split(" ").some((word) => param.key.includes(Language.stem(word)))

const isYear = (mention: Mention): boolean =>
  mention.unit === undefined &&
  mention.money === undefined &&
  Number.isInteger(mention.number) &&
  mention.number! >= 1000 &&
  mention.number! <= 2100 &&
  /^\d{4}$/.test(mention.text)

const numberValue = (param: Schema.Parameter, mention: Mention): number => {
  const value = mention.number ?? 0
  const fraction = mention.percent === true && param.shape.type === "number" && !says(param, "percent percentage")
  return fraction &&
    says(param, "rate yield interest probability growth return discount tax ratio fraction inflation margin")
    ? Number((value / 100).toPrecision(12))
    : value
}

const fitNumber = (param: Schema.Parameter, mention: Mention, scope: Scope, shared: Shared): Candidate | undefined => {
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
  if (isYear(mention)) score += names(param, "year season") ? 2 : -0.6
  else if (names(param, "year") && mention.unit === undefined && !says(param, "period duration number")) score -= 1
  if (mention.spelled === true && mention.unit !== undefined && (shared.get(Language.stem(mention.unit)) ?? 0) > 1)
    return undefined
  if (mention.spelled === true) score -= 0.8
  if (mention.percent !== true && (mention.number ?? 0) > 1 && names(param, "probability fraction ratio confidence"))
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
  if (param.prepositions.has(near)) return near === "of" ? 1 : 2.5
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
    noun.capital
  )
    return false
  return ![Language.stem(noun.lower)].some(
    (word) => param.key.includes(word) || param.about.has(word) || tool.has(word)
  )
}

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

const fitText = (
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
    return make(text, 0.4 + near() + named + color + (label ? 3.6 : labelled(param, mention, scope)) - overlap * 1.5)
  }
  let score = textKinds[kind] + near() + labelled(param, mention, scope)
  if (topic === "id") {
    if (kind === "name" && !/^[\p{Lu}\p{N}_-]+$/u.test(mention.text)) return undefined
    if (
      kind === "number" &&
      ((mention.unit !== undefined && !names(param, mention.unit)) ||
        mention.money !== undefined ||
        mention.percent === true)
    )
      score -= 2
    score += kind === "code" || kind === "number" ? 1.8 : 0.5
    if (labelsOther(param, mention, scope, tool)) score -= 3
  }
  if ((topic === "place" || topic === "country") && kind === "name" && mention.prepositions.length > 0) score += 1
  if (topic === "person" && kind === "name") score += 1
  if (topic === "any" && kind === "name" && mention.prepositions.length === 0) score += 0.3
  if (kind === "name" && Lexicon.units.has(mention.text.toLowerCase())) return undefined
  if (topic === "person" && kind === "code") score += 1
  if (kind === "name" && Language.contentStems(mention.text).every((word) => tool.has(word))) score -= 2.5
  if (kind === "code" && topic === "any") score += cue(param, mention, scope, shared) > 0 ? 0.8 : 0
  const joined =
    topic === "place" && mention.region !== undefined && param.key.length > 0
      ? `${mention.text}, ${mention.region}`
      : mention.text
  return make(kind === "number" ? mention.text.replace(/^#/, "") : joined, score)
}

/** All words of the option, in order and together, or all of them within the scope for options of several words. */
const findOption = (option: string, { scene, segments }: Scope): Candidate | undefined => {
  const wanted = Language.words(option).map(Language.stem)
  if (wanted.length === 0) return undefined
  for (let i = 0; i + wanted.length <= scene.tokens.length; i++) {
    if (segments !== undefined && !segments.has(scene.tokens[i]!.segment)) continue
    const stems = (index: number) => Language.words(scene.tokens[index]!.lower).map(Language.stem)
    const here = stems(i)
    if (!here.includes(wanted[0]!)) continue
    if (wanted.every((word) => here.includes(word))) return { value: option, score: 4, from: i, to: i + 1 }
    if (wanted.every((word, offset) => scene.tokens[i + offset] !== undefined && stems(i + offset).includes(word))) {
      return { value: option, score: 4.5, from: i, to: i + wanted.length }
    }
  }
  return undefined
}

const findCurrencies = (param: Schema.Parameter, { scene, segments }: Scope): ReadonlyArray<Candidate> => {
  const found: Array<Candidate> = []
  for (let i = 0; i < scene.tokens.length; i++) {
    const token = scene.tokens[i]!
    if (segments !== undefined && !segments.has(token.segment)) continue
    for (let length = 3; length >= 1; length--) {
      const text = scene.tokens
        .slice(i, i + length)
        .map((word) => word.lower)
        .join(" ")
      const code =
        length === 1 && Lexicon.currencySigns.has(token.text)
          ? Lexicon.currencySigns.get(token.text)
          : Lexicon.currencies.get(text)
      if (code === undefined) continue
      const previous = scene.tokens[i - 1]
      const counted = previous?.kind === "number" || Lexicon.currencySigns.has(token.text)
      const into = previous !== undefined && /^(?:to|into|in)$/.test(previous.lower)
      const source = param.prepositions.has("from")
      const target = param.prepositions.has("to")
      const score =
        3 +
        (counted ? (source ? 2 : target ? -2 : 0) : 0) +
        (into ? (target ? 2 : source ? -2 : 0) : 0) +
        (previous?.lower === "from" && source ? 2 : 0)
      found.push({ value: code, score, from: i, to: i + length })
      i += length - 1
      break
    }
  }
  return found
}

const findPlaceFacts = (param: Schema.Parameter, scope: Scope): ReadonlyArray<Candidate> => {
  const facts = param.topic === "region" ? Lexicon.states : Lexicon.countries
  const known = new Set(facts.values())
  const found: Array<Candidate> = []
  for (const mention of scope.scene.mentions) {
    if (mention.kind !== "name" || !inScope(scope, mention.segment)) continue
    const fact = facts.get(mention.text.toLowerCase())
    if (mention.region !== undefined)
      found.push({ value: mention.region, score: 3.5, from: mention.to, to: mention.to })
    else if (known.has(mention.text) && fact !== undefined && param.topic === "region")
      found.push({ value: mention.text, score: 2, from: mention.to, to: mention.to })
    else if (known.has(mention.text))
      found.push({ value: mention.text, score: 4, from: mention.from, to: mention.to, mention })
    else if (fact !== undefined) found.push({ value: fact, score: 2.2, from: mention.to, to: mention.to })
  }
  return found
}

const findUnits = (param: Schema.Parameter, { scene, segments }: Scope): ReadonlyArray<Candidate> => {
  const found: Array<Candidate> = []
  scene.tokens.forEach((token, index) => {
    if (
      (segments !== undefined && !segments.has(token.segment)) ||
      token.kind !== "word" ||
      !Lexicon.units.has(token.lower) ||
      token.lower === "in"
    )
      return
    const stated = scene.tokens[index - 1]?.lower === "in"
    if (stated || (token.lower.length > 2 && param.required))
      found.push({ value: token.lower, score: stated ? 4 : 1.5, from: index, to: index + 1 })
  })
  return found
}

const connectors =
  /^(?:is|are|was|be|being|of|as|to|named|called|titled|:|=|-|on|for|about|that|says|saying|reads|the|a|an|named)$/

/** `subject: Hello`, `title is X`, `a note saying X`: the words after the parameter's own. */
const findSpans = (param: Schema.Parameter, { scene, segments }: Scope): ReadonlyArray<Candidate> => {
  const found: Array<Candidate> = []
  const content = param.topic === "content"
  const { tokens } = scene
  const last = param.key[param.key.length - 1]
  for (let i = 0; i < tokens.length - 1 && found.length < 8; i++) {
    const token = tokens[i]!
    if (segments !== undefined && !segments.has(token.segment)) continue
    const [head = "", tail] = token.kind === "word" ? token.text.split("-") : []
    if (tail !== undefined && head !== "" && param.key.includes(Language.stem(tail.toLowerCase())))
      found.push({ value: head, score: 3, from: i, to: i + 1 })
    const own = (token.kind === "word" || token.kind === "quoted") && Language.stem(token.lower) === last
    const speech = content && /^(?:saying|says|telling|asking|reads)$/.test(token.lower)
    if (!own && !speech) continue
    let from = i + 1
    while (
      from < tokens.length &&
      from < i + 4 &&
      tokens[from]!.sentence === token.sentence &&
      connectors.test(tokens[from]!.lower) &&
      !(content && /^(?:the|a|an)$/.test(tokens[from]!.lower))
    )
      from++
    if (from >= tokens.length || tokens[from]!.sentence !== token.sentence) continue
    const linked = from > i + 1 || speech
    const first = tokens[from]!
    if (first.kind === "quoted") {
      found.push({ value: first.text, score: linked ? 5 : 3.5, from, to: from + 1 })
      continue
    }
    if (!linked || first.kind === "symbol") continue
    let to = from
    while (to < tokens.length && tokens[to]!.sentence === first.sentence) {
      const word = tokens[to]!
      if (
        !content &&
        (word.segment !== first.segment ||
          word.kind === "symbol" ||
          (to > from && (Language.isPreposition(word.lower) || word.lower === "and")))
      )
        break
      if (to - from > 60) break
      to++
    }
    while (to > from && (tokens[to - 1]!.kind === "symbol" || tokens[to - 1]!.lower === "and")) to--
    if (to > from)
      found.push({
        value: scene.text.slice(tokens[from]!.start, tokens[to - 1]!.end),
        score: speech ? 4 : content ? 3.5 : 2.4,
        from,
        to
      })
  }
  return found
}

const negations =
  /^(?:not|no|without|don't|doesn't|never|exclude|excluding|except|skip|avoid|avoiding|disable|disabled|off|false)$/

const findFlag = (param: Schema.Parameter, { scene, segments }: Scope): Candidate | undefined => {
  const auxiliary = new Set([
    "is",
    "has",
    "with",
    "include",
    "includ",
    "should",
    "show",
    "enabl",
    "use",
    "only",
    "need",
    "want",
    "option",
    "allow",
    "if",
    "do",
    "can"
  ])
  const wanted = param.key.filter((word) => !auxiliary.has(word) && !Language.isStopWord(word))
  if (wanted.length === 0) return undefined
  const hits = scene.tokens.flatMap((token, index) =>
    (segments === undefined || segments.has(token.segment)) &&
    Language.words(token.lower).some((word) => wanted.includes(Language.stem(word)))
      ? [index]
      : []
  )
  const matched = new Set(
    hits
      .flatMap((index) => Language.words(scene.tokens[index]!.lower).map(Language.stem))
      .filter((word) => wanted.includes(word))
  )
  if (hits.length === 0 || matched.size < Math.ceil(wanted.length / 2)) return undefined
  const first = hits[0]!
  const own = new Set(Language.words(param.name))
  let negated = false
  for (let i = Math.max(0, first - 4); i < first; i++) {
    const token = scene.tokens[i]!
    if (token.segment === scene.tokens[first]!.segment && negations.test(token.lower) && !own.has(token.lower))
      negated = true
  }
  return { value: !negated, score: 3, from: first, to: first }
}

const literals = (text: string, openers: string): ReadonlyArray<unknown> => {
  const found: Array<unknown> = []
  for (let start = 0; start < text.length && found.length < 4; start++) {
    if (!openers.includes(text.charAt(start))) continue
    let depth = 0
    for (let end = start; end < text.length; end++) {
      const character = text.charAt(end)
      if (character === "{" || character === "[") depth++
      else if (character === "}" || character === "]") depth--
      if (depth > 0) continue
      const literal = text.slice(start, end + 1)
      try {
        found.push(JSON.parse(literal))
      } catch {
        try {
          found.push(JSON.parse(literal.replace(/'/g, '"')))
        } catch {
          // Not JSON in either quotation: the text says something else.
        }
      }
      start = end
      break
    }
    if (depth > 0) break
  }
  return found
}

/**
 * Mentions of the same kind next to each other, joined by commas, "and", "or" and repeated prepositions, the given one among them.
 *
 * @since 0.1.0
 * @category getters
 */
export const listed = (scene: Scene, mention: Mention): ReadonlyArray<Mention> => {
  const alike = scene.mentions.filter((other) => other.kind === mention.kind && other.sentence === mention.sentence)
  const at = alike.indexOf(mention)
  const joined = (left: Mention, right: Mention): boolean => {
    if (left.region !== undefined || right.from - left.to > 4 || right.from < left.to) return false
    let separated = false
    for (let i = left.to; i < right.from; i++) {
      const token = scene.tokens[i]!
      if (/^(?:,|and|or|&|\/|;|plus|versus|vs|to|then)$/.test(token.lower)) separated ||= token.lower !== "to"
      else if (!Language.isPreposition(token.lower) && !/^(?:the|a|an|also|-|\$|€|£)$/.test(token.lower)) return false
    }
    return separated
  }
  let from = at
  let to = at
  while (from > 0 && joined(alike[from - 1]!, alike[from]!)) from--
  while (to < alike.length - 1 && joined(alike[to]!, alike[to + 1]!)) to++
  return at < 0 ? [mention] : alike.slice(from, to + 1)
}

const fitArray = (
  param: Schema.Parameter,
  scope: Scope,
  shared: Shared,
  tool: ReadonlySet<string>
): ReadonlyArray<Candidate> => {
  const items = param.shape.items
  for (const literal of literals(scope.scene.text, "[")) {
    if (Schema.conforms(param.shape, literal)) return [{ value: literal, score: 4, from: 0, to: 0 }]
  }
  const shape = items ?? Schema.shapeOf({ type: "string" })
  if (shape.type === "object") {
    const inner = fill(Schema.parameters(shape), scope, tool)
    return inner.missing.length === 0 && inner.values.size > 0
      ? [{ value: [object(inner)], score: 2, from: 0, to: 0 }]
      : []
  }
  const one: Schema.Parameter = {
    ...Schema.parameter(param.name, { ...shape, description: shape.description || param.shape.description }, true),
    about: param.about,
    options: param.options
  }
  const options = (shape.enum ?? param.options).filter((option): option is string => typeof option === "string")
  const chosen = options.flatMap((option) => findOption(option, scope) ?? [])
  if (chosen.length > 0 && (shape.enum !== undefined || chosen.length > 1))
    return [{ value: chosen.map(({ value }) => value), score: 4, from: chosen[0]!.from, to: chosen[0]!.to }]
  if (shape.enum !== undefined) return []
  return candidates(one, scope, shared, tool).map((candidate) => {
    const group = candidate.mention === undefined ? undefined : listed(scope.scene, candidate.mention)
    if (group === undefined || group.length < 2) return { ...candidate, value: [candidate.value] }
    const values = group.flatMap(
      (mention) =>
        (one.shape.type === "string"
          ? fitText(one, mention, scope, shared, tool)
          : fitNumber(one, mention, scope, shared)) ?? []
    )
    return {
      ...candidate,
      value: values.map(({ value }) => value),
      score: candidate.score + 1.5,
      from: group[0]!.from,
      to: group[group.length - 1]!.to
    }
  })
}

const fitObject = (param: Schema.Parameter, scope: Scope, tool: ReadonlySet<string>): ReadonlyArray<Candidate> => {
  for (const literal of literals(scope.scene.text, "{")) {
    if (Schema.conforms(param.shape, literal)) return [{ value: literal, score: 4, from: 0, to: 0 }]
  }
  if (param.shape.properties.length > 0) {
    const inner = fill(Schema.parameters(param.shape), scope, tool)
    return inner.missing.length === 0 && inner.values.size > 0
      ? [{ value: object(inner), score: 2.5, from: 0, to: 0 }]
      : []
  }
  const value: Array<[string, unknown]> = []
  const { tokens } = scope.scene
  for (let i = 0; i + 2 < tokens.length; i++) {
    const [name, sign, right] = [tokens[i]!, tokens[i + 1]!, tokens[i + 2]!]
    if (!inScope(scope, name.segment) || !/^[:=]$/.test(sign.text) || name.kind === "symbol" || right.kind === "symbol")
      continue
    value.push([name.text, right.kind === "number" ? Number(right.text.replace(/,/g, "")) : right.text])
  }
  return value.length === 0
    ? []
    : [{ value: Object.fromEntries(value.filter(([name]) => name !== "__proto__")), score: 3, from: 0, to: 0 }]
}

/**
 * Every value the scope offers for one parameter; only values that conform.
 *
 * @since 0.1.0
 * @category getters
 */
export const candidates = (
  param: Schema.Parameter,
  scope: Scope,
  shared: Shared,
  tool: ReadonlySet<string>
): ReadonlyArray<Candidate> => {
  const { shape } = param
  const found: Array<Candidate> = []
  if (shape.enum !== undefined) {
    const scalar = shape.enum.filter((option) => typeof option === "string" || typeof option === "number")
    for (const option of scalar) {
      const hit = findOption(String(option), scope)
      if (hit !== undefined) found.push({ ...hit, value: option })
    }
    const described = /\b(?:type|kind|unit|mode)\b/.test(param.name) ? 0 : 0.2
    if (shape.enum.length === 1 && shape.enum[0] !== null)
      found.push({ value: shape.enum[0], score: 2.7 + described, from: 0, to: 0 })
    return found
  }
  const type = shape.type === "any" ? "string" : shape.type
  if (type === "boolean") {
    const flag = findFlag(param, scope)
    if (flag !== undefined) found.push(flag)
  } else if (type === "array") found.push(...fitArray(param, scope, shared, tool))
  else if (type === "object") found.push(...fitObject(param, scope, tool))
  else if (type === "number" || type === "integer") {
    for (const mention of scope.scene.mentions) {
      if (!inScope(scope, mention.segment)) continue
      const fit = fitNumber(param, mention, scope, shared)
      if (fit !== undefined) found.push(fit)
    }
    const rest =
      says(param, "initial start") && says(param, "velocity speed")
        ? scope.scene.tokens.find((token) => token.lower === "rest" && inScope(scope, token.segment))
        : undefined
    if (rest !== undefined) found.push({ value: 0, score: 1.9, from: 0, to: 0 })
  } else if (type === "string") {
    for (const mention of scope.scene.mentions) {
      if (!inScope(scope, mention.segment)) continue
      const fit = fitText(param, mention, scope, shared, tool)
      if (fit !== undefined) found.push(fit)
    }
    for (const option of param.options) {
      const hit = findOption(option, scope)
      if (hit !== undefined) found.push({ ...hit, score: hit.score - 0.5 })
    }
    if (param.topic === "currency") found.push(...findCurrencies(param, scope))
    if (param.topic === "region" || param.topic === "country") found.push(...findPlaceFacts(param, scope))
    if (param.topic === "unit") found.push(...findUnits(param, scope))
    if (param.topic === "content" || param.topic === "any" || param.topic === "person")
      found.push(...findSpans(param, scope))
    if (param.topic === "color" || param.topic === "language") {
      const table = param.topic === "color" ? Lexicon.colors : Lexicon.languages
      scope.scene.tokens.forEach((token, index) => {
        if (inScope(scope, token.segment) && table.has(token.lower))
          found.push({
            value: token.text,
            score: 3.5 + (scope.scene.tokens[index - 1]?.lower === "to" ? 0.5 : 0),
            from: index,
            to: index + 1
          })
      })
    }
  }
  return found.filter((candidate) => Schema.conforms(shape, candidate.value))
}

/** An optional parameter wants a reason to be set. */
const threshold = (param: Schema.Parameter): number => (param.required ? 0.75 : param.shape.type === "string" ? 2.9 : 2)

/**
 * The values as the object of a call.
 *
 * @since 0.1.0
 * @category conversions
 */
export const object = (filling: {
  readonly values: ReadonlyMap<string, Candidate>
}): { readonly [key: string]: unknown } =>
  Object.fromEntries(Array.from(filling.values, ([name, { value }]) => [name, value]))

/**
 * Fills parameters from a scope. A mention serves one parameter. Required parameters without a value take their default; without one
 * they are missing, but for a flag that nobody mentioned, which is off.
 *
 * @since 0.1.0
 * @category constructors
 */
export const fill = (params: ReadonlyArray<Schema.Parameter>, scope: Scope, tool: ReadonlySet<string>): Filling => {
  const shared = sharedWords(params)
  const offers = params.flatMap((param, order) => {
    const least = threshold(param)
    return candidates(param, scope, shared, tool)
      .filter(({ score }) => score >= least)
      .map((candidate) => ({ param, order, candidate }))
  })
  offers.sort(
    (a, b) => b.candidate.score - a.candidate.score || a.candidate.from - b.candidate.from || a.order - b.order
  )
  const values = new Map<string, Candidate>()
  const used: Array<Candidate> = []
  for (const { candidate, param } of offers) {
    if (values.has(param.name)) continue
    const free =
      candidate.to <= candidate.from || !used.some((other) => candidate.from < other.to && other.from < candidate.to)
    if (!free) continue
    values.set(param.name, candidate)
    if (candidate.to > candidate.from) used.push(candidate)
  }
  const missing: Array<Schema.Parameter> = []
  const ordered = new Map<string, Candidate>()
  for (const param of params) {
    const value = values.get(param.name)
    if (value !== undefined) ordered.set(param.name, value)
    else if (param.required) {
      const stated =
        param.fallback ??
        (param.shape.type === "boolean" && param.shape.enum === undefined ? { value: false } : undefined)
      if (stated === undefined) missing.push(param)
      else ordered.set(param.name, { value: stated.value, score: 0, from: 0, to: 0 })
    }
  }
  return { values: ordered, missing }
}
