/**
 * Reads the arguments of a call from the words of a request.
 *
 * @private
 * @since 0.1.0
 */
import * as StopWords from "../internal/text/StopWords.js"
import * as Schema from "./OfflineSchema.js"
import * as Text from "./OfflineText.js"
import type { Parameter } from "./OfflineTools.js"

/**
 * A value and the tokens it was read from.
 *
 * @category models
 */
export interface Candidate {
  readonly value: unknown
  readonly from: number
  readonly to: number
  readonly score: number
}

/**
 * @category models
 */
export interface Filling {
  readonly values: ReadonlyMap<string, Candidate>
  /** Required parameters without a value. */
  readonly missing: ReadonlyArray<Parameter>
}

type Tokens = ReadonlyArray<Text.Token>

const idWords = new Set(["id", "code", "number", "numb", "no", "ref", "sku", "max", "min", "highest"].map(Text.stem))

const specific = ({ key }: Parameter): ReadonlyArray<string> => key.filter((stem) => !idWords.has(stem))

const isBreak = (token: Text.Token): boolean => token.kind === "mark" && /[,.;!?]/.test(token.text)

/** Proximity of a parameter's words to the tokens: its name counts more than its description. */
const nearness = (tokens: Tokens, from: number, to: number, param: Parameter): number => {
  const own = specific(param)
  const rate = ({ stem, lower }: Text.Token, distance: number): number =>
    own.includes(stem) || param.key.includes(lower)
      ? 3 - 0.4 * distance
      : param.about.has(stem) && !StopWords.isStopWord(lower)
        ? 1.5 - 0.3 * distance
        : 0
  let best = 0
  for (let distance = 0; distance < 4; distance++) {
    const token = tokens[from - 1 - distance]
    if (token === undefined || isBreak(token) || token.lower === "and") break
    best = Math.max(best, rate(token, distance))
  }
  for (let distance = 0; distance < 2; distance++) {
    const token = tokens[to + distance]
    if (token === undefined || isBreak(token) || token.lower === "and") break
    best = Math.max(best, rate(token, distance) - 0.3)
  }
  return best
}

const before = (tokens: Tokens, at: number): string => {
  const previous = tokens[at - 1]?.lower ?? ""
  return /^(?:the|a|an|about|some)$/.test(previous) ? (tokens[at - 2]?.lower ?? "") : previous
}

const money = /price|cost|budget|amount|fee|rate|limit|money|euro|eur|chf|usd/
const isCurrency = (token: Text.Token | undefined): boolean =>
  token !== undefined && /^(?:[$€£]|eur|usd|chf|gbp|euros?|dollars?)$/.test(token.lower)

const bounds = /\b(?:under|below|most|than|to|within|max|maximum)$/

const numbers = (param: Parameter, tokens: Tokens): ReadonlyArray<Candidate> =>
  tokens.flatMap((token, at) => {
    if (token.kind !== "number" || !Schema.conforms(param.shape, token.value)) return []
    const label = `${param.name} ${param.shape.description}`.toLowerCase()
    const symbol = tokens[at - 1]?.kind === "mark" && isCurrency(tokens[at - 1]) ? at - 1 : at
    const priced = symbol < at || isCurrency(tokens[at + 1])
    const bounded = /max|highest|most|limit/.test(label) && bounds.test(before(tokens, symbol))
    const score =
      0.6 + nearness(tokens, at, at + 1, param) + (priced ? (money.test(label) ? 1.5 : -0.5) : 0) + (bounded ? 1.5 : 0)
    return [{ value: token.value, from: symbol, to: at + 1, score }]
  })

const digits = (description: string): number | undefined => {
  const said = /\b(three|four|five|six|seven|eight)[ -]digits?\b/i.exec(description)?.[1]
  return said === undefined ? undefined : "three four five six seven eight".split(" ").indexOf(said.toLowerCase()) + 3
}

/** `nouns` name what other tools identify: "order 1042" is not a tracking number. */
const ids = (param: Parameter, tokens: Tokens, nouns: ReadonlySet<string>): ReadonlyArray<Candidate> => {
  const length = digits(param.shape.description)
  return tokens.flatMap((token, at) => {
    if (token.kind !== "code" && token.kind !== "number" && token.kind !== "quoted") return []
    if (token.kind === "number" && !/^\d/.test(token.text)) return []
    const value = token.kind === "quoted" ? token.value : token.text
    if (!Schema.conforms(param.shape, value)) return []
    if (length !== undefined && token.kind === "number" && token.text.length !== length) return []
    const previous = tokens.slice(Math.max(0, at - 2), at).findLast(({ kind }) => kind === "word")
    const noun = previous?.stem ?? ""
    if (nouns.has(noun) && !param.key.includes(noun)) return []
    const score = 1 + nearness(tokens, at, at + 1, param) + (length === undefined ? 0 : 0.5)
    return [{ value, from: at, to: at + 1, score }]
  })
}

const options = (param: Parameter, tokens: Tokens): ReadonlyArray<Candidate> =>
  (param.shape.enum ?? []).flatMap((option): ReadonlyArray<Candidate> => {
    const wanted = Text.words(String(option)).map(Text.stem)
    const at = tokens.findIndex(({ stem, value }) => stem === wanted[0] || value === option)
    const isSaid = wanted.length > 0 && wanted.every((stem, index) => tokens[at + index]?.stem === stem)
    return at >= 0 && (isSaid || tokens[at]?.value === option)
      ? [{ value: option, from: at, to: at + wanted.length, score: 3 + wanted.length / 10 }]
      : []
  })

const flags = (param: Parameter, tokens: Tokens): ReadonlyArray<Candidate> => {
  const at = tokens.findIndex(({ stem }) => specific(param).includes(stem) || param.about.has(stem))
  if (at < 0) return []
  const value = !tokens.slice(Math.max(0, at - 2), at).some(({ lower }) => /^(?:no|not|without|never)$/.test(lower))
  return [{ value, from: at, to: at, score: 2 }]
}

const directions: ReadonlyArray<readonly [RegExp, string]> = [
  [/^(?:from|origin|source|start|departure)\b/, "from"],
  [/^(?:to|destination|target|end|recipient)\b/, "to"]
]

const placed = /^(?:in|at|near|for|of|to|around|from)$/
const personal = /^(?:by|for|of|from)$/

/** Points for the preposition before a text; `undefined` if it introduces the other end of a route. */
const introduced = (param: Parameter, word: string): number | undefined => {
  const label = Text.words(param.name).join(" ")
  const direction = directions.find(([pattern]) => pattern.test(label))?.[1]
  if (direction !== undefined && word === direction) return 2
  if (direction !== undefined && (word === "from" || word === "to")) return undefined
  if (param.topic === "place") return placed.test(word) ? 1 : 0
  return param.topic === "person" && personal.test(word) ? 1 : 0
}

const maxWords = 6

/** End of a sequence of names: "Mia Falk", "New York". */
const nameEnd = (tokens: Tokens, from: number): number => {
  let to = from
  while (to < from + maxWords && tokens[to]?.isName === true) to++
  return to
}

const textOf = (tokens: Tokens, from: number, to: number): string =>
  tokens
    .slice(from, to)
    .map(({ text }) => text)
    .join(" ")

const texts = (param: Parameter, tokens: Tokens): ReadonlyArray<Candidate> =>
  tokens.flatMap((token, at): ReadonlyArray<Candidate> => {
    const keep = (value: unknown, to: number, score: number): ReadonlyArray<Candidate> =>
      Schema.conforms(param.shape, value) ? [{ value, from: at, to, score }] : []
    if (token.kind === "quoted") return keep(token.value, at + 1, 1.5 + nearness(tokens, at, at + 1, param))
    if (param.topic === "text" || param.topic === "query") return []
    const isAfterKey = (at > 0 && specific(param).includes(tokens[at - 1]!.stem)) || before(tokens, at) === "of"
    const near = nearness(tokens, at, at, param)
    if (token.isName && tokens[at - 1]?.isName !== true) {
      const points = introduced(param, before(tokens, at))
      const to = nameEnd(tokens, at)
      return points === undefined ? [] : keep(textOf(tokens, at, to), to, 1 + points + nearness(tokens, at, to, param))
    }
    const isPlain = (token.kind === "word" && !StopWords.isStopWord(token.lower)) || token.kind === "code"
    return isAfterKey && isPlain && near >= 2 ? keep(token.text, at + 1, near) : []
  })

const openings =
  /^(?:do|does|you|have|has|sell|offer|carry|stock|got|find|search|show|look|looking|browse|there|need|something|anything|much|many|cost|costs|price|want|i'm|for)$/

/** The noun phrase to search for: the rest without request phrases and other arguments. */
const phrase = (tokens: Tokens, taken: (at: number) => boolean): string | undefined => {
  const isFree = ({ kind, lower }: Text.Token, at: number) =>
    !taken(at) && kind !== "mark" && !StopWords.isStopWord(lower) && !openings.test(lower)
  const from = tokens.findIndex(isFree)
  if (from < 0) return undefined
  let to = from
  for (let at = from; at < Math.min(tokens.length, from + 10); at++) {
    const token = tokens[at]!
    if (token.kind === "mark" || taken(at)) break
    if (/^(?:under|below|for|up|in|that|with|less|at|please|cost|costs)$/.test(token.lower)) break
    if (!StopWords.isStopWord(token.lower)) to = at + 1
  }
  return textOf(tokens, from, to) || undefined
}

/** Possible values of a parameter in a text. */
const candidates = (param: Parameter, tokens: Tokens, nouns: ReadonlySet<string>): ReadonlyArray<Candidate> => {
  const { shape, topic } = param
  if (shape.enum !== undefined) return options(param, tokens)
  switch (shape.type) {
    case "boolean":
      return flags(param, tokens)
    case "number":
    case "integer":
      return numbers(param, tokens)
    case "string":
    case "any": {
      if (topic === "id") return ids(param, tokens, nouns)
      if (topic !== "email" && topic !== "url" && topic !== "date") return texts(param, tokens)
      return tokens.flatMap(({ kind, value }, at) =>
        kind === topic && Schema.conforms(shape, value)
          ? [{ value, from: at, to: at + 1, score: 2 + nearness(tokens, at, at + 1, param) }]
          : []
      )
    }
    case "array":
    case "object":
    case "null":
      return []
  }
}

/**
 * @category conversions
 */
export const toObject = (values: ReadonlyMap<string, Candidate>): { readonly [key: string]: unknown } =>
  Object.fromEntries(Array.from(values, ([name, { value }]) => [name, value]))

const maxTokens = 300

/**
 * Assigns the best candidates first, each token once. An optional parameter is filled only if the text names it, and a
 * required one without a candidate gets its default.
 *
 * @category constructors
 */
export const fill = (
  params: ReadonlyArray<Parameter>,
  all: Tokens,
  nouns: ReadonlySet<string> = new Set()
): Filling => {
  const tokens = all.slice(0, maxTokens)
  const offers = params
    .flatMap((param) => candidates(param, tokens, nouns).map((candidate) => ({ param, ...candidate })))
    .filter(({ param, score }) => score >= (param.required ? 0.5 : 1.5))
    .sort((a, b) => b.score - a.score || a.from - b.from)
  const values = new Map<string, Candidate>()
  const claimed = new Set<number>()
  for (const { from, param, score, to, value } of offers) {
    const span = Array.from({ length: to - from }, (_, index) => from + index)
    if (values.has(param.name) || span.some((at) => claimed.has(at))) continue
    for (const at of span) claimed.add(at)
    values.set(param.name, { value, from, to, score })
  }
  for (const param of params) {
    if (values.has(param.name) || !param.required) continue
    const query = param.topic === "query" ? phrase(tokens, (at) => claimed.has(at)) : undefined
    if (query !== undefined && Schema.conforms(param.shape, query))
      values.set(param.name, { value: query, from: 0, to: 0, score: 0.4 })
    else if (param.fallback !== undefined)
      values.set(param.name, { value: param.fallback.value, from: 0, to: 0, score: 0 })
  }
  const ordered = params.flatMap(({ name }) => (values.has(name) ? [[name, values.get(name)!] as const] : []))
  return {
    values: new Map(ordered),
    missing: params.filter(({ name, required }) => required && !values.has(name))
  }
}
