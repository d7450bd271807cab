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

/** A value and the tokens it was read from. */
interface Candidate {
  readonly value: unknown
  readonly from: number
  readonly to: number
  readonly score: number
}

/**
 * @category models
 */
export interface Filling {
  readonly params: { readonly [name: string]: unknown }
  /** Certainty of each value: 1 and more if the text names it, 0 for a default. */
  readonly scores: ReadonlyMap<string, number>
  /** Required parameters without a value. */
  readonly missing: ReadonlyArray<Parameter>
}

type Tokens = ReadonlyArray<Text.Token>

const idWords = new Set(["id", "code", "number", "no", "ref", "sku", "max", "min", "highest"].map(Text.stem))

const specific = ({ key }: Parameter): ReadonlyArray<string> => key.filter((stem) => !idWords.has(stem))

const isBreak = ({ lower }: Text.Token): boolean => /^(?:[,.;!?]|and)$/.test(lower)

/** Proximity of a parameter's words to the tokens: its name counts more than its description. */
const nearness = (tokens: Tokens, from: number, to: number, param: Parameter): number => {
  const rate = ({ lower, stem }: Text.Token, distance: number): number =>
    specific(param).includes(stem) || param.key.includes(lower)
      ? 3 - 0.4 * distance
      : param.about.has(stem) && !StopWords.isStopWord(lower)
        ? 1.5 - 0.3 * distance
        : 0
  const side = (near: Tokens, loss: number): ReadonlyArray<number> => {
    const end = near.findIndex(isBreak)
    return near.slice(0, end < 0 ? undefined : end).map((token, distance) => rate(token, distance) - loss)
  }
  return Math.max(
    0,
    ...side(tokens.slice(Math.max(0, from - 4), from).reverse(), 0),
    ...side(tokens.slice(to, to + 2), 0.3)
  )
}

/** The word before a place, without an article. */
const before = (tokens: Tokens, at: number): string =>
  tokens.slice(Math.max(0, at - 2), at).findLast(({ lower }) => !/^(?:the|an?|about|some)$/.test(lower))?.lower ?? ""

/** Candidates of one token each. */
const single = (
  param: Parameter,
  tokens: Tokens,
  base: number,
  read: (token: Text.Token, at: number) => unknown
): ReadonlyArray<Candidate> =>
  tokens.flatMap((token, at) => {
    const value = read(token, at)
    return value !== undefined && Schema.conforms(param.shape, value)
      ? [{ value, from: at, to: at + 1, score: base + nearness(tokens, at, at + 1, param) }]
      : []
  })

const counts = "one two three four five six seven eight nine".split(" ")

/** `nouns` name what other tools identify: "order 1042" is not a tracking number. */
const ids = (param: Parameter, tokens: Tokens, nouns: ReadonlySet<string>): ReadonlyArray<Candidate> => {
  const count = counts.indexOf(/\b(\w+)[ -]digits?\b/i.exec(param.shape.description)?.[1]?.toLowerCase() ?? "") + 1
  return single(param, tokens, count > 0 ? 1.5 : 1, ({ kind, text, value }, at) => {
    const noun = tokens.slice(Math.max(0, at - 2), at).findLast((token) => token.kind === "word")?.stem ?? ""
    if (nouns.has(noun) && !param.key.includes(noun)) return undefined
    if (kind === "quoted") return value
    const isNumber = kind === "number" && /^\d/.test(text) && (count === 0 || text.length === count)
    return kind === "code" || isNumber ? text : undefined
  })
}

const options = (param: Parameter, tokens: Tokens): ReadonlyArray<Candidate> =>
  (param.shape.enum ?? []).flatMap((option): ReadonlyArray<Candidate> => {
    const wanted = Text.words(String(option)).map(Text.stem)
    const at = tokens.findIndex(
      ({ value }, at) =>
        value === option || (wanted.length > 0 && wanted.every((stem, index) => tokens[at + index]?.stem === stem))
    )
    return at < 0 ? [] : [{ value: option, from: at, to: at + wanted.length, score: 3 + wanted.length / 10 }]
  })

const flags = (param: Parameter, tokens: Tokens): ReadonlyArray<Candidate> => {
  const at = tokens.findIndex(({ stem }) => specific(param).includes(stem) || param.about.has(stem))
  const isNegated = tokens.slice(Math.max(0, at - 2), at).some(({ lower }) => /^(?:no|not|without|never)$/.test(lower))
  return at < 0 ? [] : [{ value: !isNegated, from: at, to: at, score: 2 }]
}

const from = /^(?:from|origin|source|start|departure)/
const to = /^(?:to|destination|target|end|recipient)/

/** Points for the preposition before a text; `undefined` if it introduces the other end of a route. */
const introduced = ({ name, topic }: Parameter, word: string): number | undefined => {
  const direction = from.test(name) ? "from" : to.test(name) ? "to" : undefined
  if (direction !== undefined && /^(?:from|to)$/.test(word)) return word === direction ? 2 : undefined
  return topic === "name" && /^(?:in|at|near|by|for|of|to|from)$/.test(word) ? 1 : 0
}

const textOf = (tokens: Tokens): string => tokens.map(({ text }) => text).join(" ")

const maxWords = 6

/** Quoted texts and sequences of names ("New York"). */
const texts = (param: Parameter, tokens: Tokens): ReadonlyArray<Candidate> =>
  tokens.flatMap((token, at): ReadonlyArray<Candidate> => {
    const keep = (value: unknown, to: number, score: number): ReadonlyArray<Candidate> =>
      Schema.conforms(param.shape, value) ? [{ value, from: at, to, score }] : []
    if (token.kind === "quoted") return keep(token.value, at + 1, 1.5 + nearness(tokens, at, at + 1, param))
    if (param.topic === "text" || param.topic === "query") return []
    if (!token.isName || tokens[at - 1]?.isName === true) return []
    const points = introduced(param, before(tokens, at))
    const names = tokens.slice(at, at + maxWords).findIndex(({ isName }) => !isName)
    const to = names < 0 ? Math.min(tokens.length, at + maxWords) : at + names
    const score = 1 + (points ?? 0) + nearness(tokens, at, to, param)
    return points === undefined ? [] : keep(textOf(tokens.slice(at, to)), to, score)
  })

const openings =
  /^(?:do|does|you|have|has|sell|offer|carry|stock|got|find|search|show|look|looking|browse|there|need|something|anything|much|many|cost|costs|price|want|i'm|for)$/
const closings = /^(?:under|below|for|up|in|that|with|less|at|please|cost|costs)$/

/** The noun phrase to search for: the rest without request phrases and other arguments. */
const phrase = (tokens: Tokens, isTaken: (at: number) => boolean): string => {
  const isWord = ({ kind, lower }: Text.Token) => kind !== "mark" && !StopWords.isStopWord(lower)
  const from = tokens.findIndex((token, at) => !isTaken(at) && isWord(token) && !openings.test(token.lower))
  if (from < 0) return ""
  const rest = tokens.slice(from, from + 10)
  const end = rest.findIndex(({ kind, lower }, at) => kind === "mark" || isTaken(from + at) || closings.test(lower))
  const own = rest.slice(0, end < 0 ? undefined : end)
  return textOf(own.slice(0, own.findLastIndex(isWord) + 1))
}

/** Possible values of a parameter in a text. */
const candidates = (param: Parameter, tokens: Tokens, nouns: ReadonlySet<string>): ReadonlyArray<Candidate> => {
  const { shape, topic } = param
  if (shape.enum !== undefined) return options(param, tokens)
  if (shape.type === "boolean") return flags(param, tokens)
  if (shape.type === "number" || shape.type === "integer")
    return single(param, tokens, 0.6, ({ kind, value }) => (kind === "number" ? value : undefined))
  if (shape.type !== "string" && shape.type !== "any") return []
  if (topic === "id") return ids(param, tokens, nouns)
  return topic === "email" || topic === "url" || topic === "date"
    ? single(param, tokens, 2, ({ kind, value }) => (kind === topic ? value : undefined))
    : texts(param, tokens)
}

const maxTokens = 300

/**
 * Assigns the best candidates first, each token once. An optional parameter is filled only if the text names it, and a
 * required one without a candidate gets its default.
 *
 * @category constructors
 */
export const fill = (
  parameters: ReadonlyArray<Parameter>,
  all: Tokens,
  nouns: ReadonlySet<string> = new Set()
): Filling => {
  const tokens = all.slice(0, maxTokens)
  const offers = parameters
    .flatMap((param) => candidates(param, tokens, nouns).map((candidate) => ({ param, ...candidate })))
    .filter(({ param, score }) => score >= (param.required ? 0.5 : 1.5))
    .sort((a, b) => b.score - a.score || a.from - b.from)
  const values = new Map<string, Pick<Candidate, "value" | "score">>()
  const claimed = new Set<number>()
  for (const { from, param, score, to, value } of offers) {
    const span = Array.from({ length: to - from }, (_, index) => from + index)
    if (values.has(param.name) || span.some((at) => claimed.has(at))) continue
    for (const at of span) claimed.add(at)
    values.set(param.name, { value, score })
  }
  for (const { name, required, shape, topic } of parameters) {
    if (values.has(name) || !required) continue
    const query = topic === "query" ? phrase(tokens, (at) => claimed.has(at)) : ""
    if (query !== "" && Schema.conforms(shape, query)) values.set(name, { value: query, score: 0.4 })
    else if (shape.raw["default"] !== undefined) values.set(name, { value: shape.raw["default"], score: 0 })
  }
  const filled = parameters.filter(({ name }) => values.has(name))
  return {
    params: Object.fromEntries(filled.map(({ name }) => [name, values.get(name)!.value])),
    scores: new Map(filled.map(({ name }) => [name, values.get(name)!.score])),
    missing: parameters.filter(({ name, required }) => required && !values.has(name))
  }
}
