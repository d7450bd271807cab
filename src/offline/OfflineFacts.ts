/**
 * Tool results as facts: their leaves with the words of their paths, so that a later call or an answer can find them.
 *
 * @internal
 * @since 0.1.0
 */
import * as Predicate from "effect/Predicate"
import type { Outcome } from "./OfflineDialogue.js"
import * as Language from "./OfflineLanguage.js"
import * as Lexicon from "./OfflineLexicon.js"
import type * as Schema from "./OfflineSchema.js"
import * as Shapes from "./OfflineShape.js"

/**
 * `path` names the keys from the root; `item` is the position in the outermost list, if the leaf stands in one.
 *
 * @since 0.1.0
 * @category models
 */
export interface Fact {
  readonly path: ReadonlyArray<string>
  readonly value: string | number | boolean
  readonly item?: number | undefined
}

const maxFacts = 400
const maxDepth = 8

/**
 * The leaves of a result, in order; at most 400, eight levels deep.
 *
 * @since 0.1.0
 * @category conversions
 */
export const flatten = (result: unknown): ReadonlyArray<Fact> => {
  const facts: Array<Fact> = []
  const visit = (value: unknown, path: ReadonlyArray<string>, item: number | undefined) => {
    if (facts.length >= maxFacts || path.length > maxDepth) return
    if (Array.isArray(value)) {
      for (let i = 0; i < value.length && facts.length < maxFacts; i++) visit(value[i], path, item ?? i)
    } else if (Predicate.isReadonlyRecord(value)) {
      for (const key of Object.keys(value)) visit(value[key], [...path, key], item)
    } else if (typeof value === "string" || typeof value === "number" || typeof value === "boolean") {
      facts.push(item === undefined ? { path, value } : { path, value, item })
    }
  }
  visit(result, [], undefined)
  return facts
}

const greatest =
  /^(?:highest|largest|biggest|most|longest|best|top|max|maximum|expensive|priciest|latest|newest|greatest|heaviest|fastest)$/
const smallest =
  /^(?:cheapest|lowest|smallest|least|shortest|fewest|min|minimum|earliest|oldest|nearest|closest|worst|lightest)$/
const measures: ReadonlyArray<readonly [words: string, keys: RegExp]> = [
  ["cheapest expensive priciest", /price|cost|fare|amount|total|rate/i],
  ["longest shortest fastest", /duration|time|minutes|length|distance/i],
  ["nearest closest", /distance|km|miles/i],
  ["latest newest earliest oldest", /date|time|year|at$|departure|start/i],
  ["best worst top", /rating|score|stars|rank/i],
  ["heaviest lightest", /weight/i]
]

const listOf = (result: unknown): ReadonlyArray<unknown> | undefined => {
  if (Array.isArray(result)) return result
  if (!Predicate.isReadonlyRecord(result)) return undefined
  return Object.values(result).find(
    (value): value is ReadonlyArray<unknown> => Array.isArray(value) && value.length > 0
  )
}

/**
 * Which item of a list a text asks for: "the second one", "the cheapest", "the one with the highest score". Undefined
 * if it does not say.
 *
 * @since 0.1.0
 * @category getters
 */
export const pick = (result: unknown, text: string): number | undefined => {
  const list = listOf(result)
  if (list === undefined || list.length === 0) return undefined
  const said = Language.words(text)
  for (const [index, word] of said.entries()) {
    const position = Lexicon.ordinal(word)
    if (
      position === undefined ||
      (index === 0 && said[1] !== "one") ||
      (word === "second" && Lexicon.numeral(said[index - 1] ?? "") !== undefined)
    )
      continue
    const at = position < 0 ? list.length - 1 : position - 1
    if (at < list.length) return at
  }
  const extreme =
    said.find((word) => (greatest.test(word) && word !== "most" && word !== "top") || smallest.test(word)) ??
    said.find((word) => word === "most" || word === "top")
  if (extreme === undefined) return undefined
  const known = measures.find(([words]) => words.split(" ").includes(extreme))?.[1]
  const stems = new Set(said.map(Language.stem))
  let best: { readonly at: number; readonly value: number | string } | undefined
  for (const [at, item] of list.slice(0, 200).entries()) {
    const fact = flatten(item).find(({ path, value }) => {
      const key = path[path.length - 1] ?? ""
      const comparable = typeof value === "number" || /^\d{4}-\d{2}/.test(String(value))
      return (
        comparable &&
        (known === undefined ? Language.words(key).some((word) => stems.has(Language.stem(word))) : known.test(key))
      )
    })
    if (fact === undefined) continue
    const value = typeof fact.value === "number" ? fact.value : String(fact.value)
    const more = best !== undefined && (smallest.test(extreme) ? value < best.value : value > best.value)
    if (best === undefined || more) best = { at, value }
  }
  return best?.at
}

const keyStems = (key: string): ReadonlyArray<string> => Language.words(key).map(Language.stem)

const idWords = new Set(["id", "identifi", "code", "number", "no", "ref", "referenc"])

const fit = (param: Schema.Parameter, fact: Fact, core: ReadonlySet<string>): number => {
  const last = keyStems(fact.path[fact.path.length - 1] ?? "")
  const around = new Set([...last, ...fact.path.slice(0, -1).flatMap(keyStems), ...core])
  const own = param.key
  if (own.length === 0 || last.length === 0) return 0
  if (own.join(" ") === last.join(" ")) return own.length === 1 && idWords.has(own[0]!) ? 2.6 : 5
  const specific = own.filter((word) => !idWords.has(word))
  const identifies = own.some((word) => idWords.has(word)) || param.topic === "id"
  const names = last.some((word) => idWords.has(word))
  if (specific.length > 0 && specific.every((word) => around.has(word)) && (!identifies || names))
    return specific.some((word) => last.includes(word)) ? 4 : 3
  if (
    identifies &&
    specific.length > 0 &&
    specific.every((word) => last.includes(word)) &&
    /^(?=\D*\d)[\p{L}\p{N}_-]+$/u.test(String(fact.value))
  )
    return 3
  if (param.topic === "email" && /^[^\s@]+@[^\s@]+$/.test(String(fact.value))) return 3
  if (last.every((word) => own.includes(word)) && !idWords.has(last[0]!)) return 2.6
  if (
    last.length > 0 &&
    last.every((word) => param.about.has(word)) &&
    !last.every((word) => idWords.has(word) || Language.isGeneric(word))
  )
    return 2.5
  return 0
}

const convert = (param: Schema.Parameter, value: Fact["value"]): unknown => {
  const { type } = param.shape
  if (type === "string" && typeof value === "number") return String(value)
  if (
    (type === "number" || type === "integer") &&
    typeof value === "string" &&
    /^-?\d{1,15}(?:\.\d{1,15})?$/.test(value)
  )
    return Number(value)
  return value
}

/**
 * A value for a parameter from earlier calls, the latest first, but before them the one whose list the text points
 * into: a field of a result, or what was passed under the same name. Of a list the item that the text asks for, else
 * the first.
 *
 * @since 0.1.0
 * @category getters
 */
export const find = (
  param: Schema.Parameter,
  outcomes: ReadonlyArray<Outcome>,
  text: string,
  coreOf: (tool: string) => ReadonlySet<string>
): { readonly value: unknown } | undefined => {
  const latest = outcomes.filter((outcome) => !outcome.isFailure).reverse()
  const pointed = latest.filter((outcome) => pick(outcome.result, text) !== undefined)
  for (const outcome of [...pointed, ...latest.filter((other) => !pointed.includes(other))]) {
    const wanted = pick(outcome.result, text)
    let best: { readonly value: unknown; readonly score: number } | undefined
    const values = new Map<string, Array<unknown>>()
    for (const fact of flatten(outcome.result)) {
      if (wanted !== undefined && fact.item !== undefined && fact.item !== wanted) continue
      const value = convert(param, fact.value)
      const score = fit(param, fact, coreOf(outcome.name))
      if (param.shape.type === "array" && score >= 2.5) {
        const key = fact.path.join("\u0000")
        values.set(key, [...(values.get(key) ?? []), fact.value])
      } else if (score >= 2.5 && score > (best?.score ?? 0) && Shapes.conforms(param.shape, value))
        best = { value, score }
    }
    const list = Array.from(values.values()).find((candidate) => Shapes.conforms(param.shape, candidate))
    if (list !== undefined) return { value: list }
    if (best !== undefined) return { value: best.value }
    if (Object.hasOwn(outcome.params, param.name) && Shapes.conforms(param.shape, outcome.params[param.name]))
      return { value: outcome.params[param.name] }
  }
  return undefined
}

/**
 * The item of a list that a text points at, with the call whose result holds it.
 *
 * @since 0.1.0
 * @category getters
 */
export const item = (
  outcomes: ReadonlyArray<Outcome>,
  text: string
): { readonly outcome: Outcome; readonly value: unknown } | undefined => {
  for (let i = outcomes.length - 1; i >= 0; i--) {
    const outcome = outcomes[i]!
    const at = outcome.isFailure ? undefined : pick(outcome.result, text)
    const list = at === undefined ? undefined : listOf(outcome.result)
    if (at !== undefined && list !== undefined) return { outcome, value: list[at] }
  }
  return undefined
}
