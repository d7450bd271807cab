/**
 * Arguments from text: what it offers for every parameter, the best pairs taken first. What the text does not say stays
 * missing.
 *
 * @internal
 * @since 0.1.0
 */
import type { Candidate, Scope, Shared } from "./OfflineCandidates.js"
import * as Candidates from "./OfflineCandidates.js"
import * as Language from "./OfflineLanguage.js"
import * as Lexicon from "./OfflineLexicon.js"
import * as Lookups from "./OfflineLookups.js"
import type { Mention, Scene } from "./OfflineMentions.js"
import * as Schema from "./OfflineSchema.js"
import * as Shapes from "./OfflineShape.js"

/**
 * @since 0.1.0
 * @category models
 */
export interface Filling {
  readonly values: ReadonlyMap<string, Candidate>
  readonly missing: ReadonlyArray<Schema.Parameter>
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
 * Mentions of the same kind next to each other, joined by commas, "and", "or" and repeated prepositions, the given one
 * among them.
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
    if (Shapes.conforms(param.shape, literal)) return [{ value: literal, score: 4, from: 0, to: 0 }]
  }
  const shape = items ?? Shapes.shapeOf({ type: "string" })
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
  const chosen = options.flatMap((option) => Lookups.findOption(option, scope) ?? [])
  if (chosen.length > 0 && (shape.enum !== undefined || chosen.length > 1))
    return [{ value: chosen.map(({ value }) => value), score: 4, from: chosen[0]!.from, to: chosen[0]!.to }]
  if (shape.enum !== undefined) return []
  return candidates(one, scope, shared, tool).map((candidate) => {
    const group = candidate.mention === undefined ? undefined : listed(scope.scene, candidate.mention)
    if (group === undefined || group.length < 2) return { ...candidate, value: [candidate.value] }
    const values = group.flatMap(
      (mention) =>
        (one.shape.type === "string"
          ? Candidates.fitText(one, mention, scope, shared, tool)
          : Candidates.fitNumber(one, mention, scope, shared)) ?? []
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
    if (Shapes.conforms(param.shape, literal)) return [{ value: literal, score: 4, from: 0, to: 0 }]
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
    if (
      !Candidates.inScope(scope, name.segment) ||
      !/^[:=]$/.test(sign.text) ||
      name.kind === "symbol" ||
      right.kind === "symbol"
    )
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
      const hit = Lookups.findOption(String(option), scope)
      if (hit !== undefined) found.push({ ...hit, value: option })
    }
    const described = /\b(?:type|kind|unit|mode)\b/.test(param.name) ? 0 : 0.2
    if (shape.enum.length === 1 && shape.enum[0] !== null)
      found.push({ value: shape.enum[0], score: 2.7 + described, from: 0, to: 0 })
    return found
  }
  const type = shape.type === "any" ? "string" : shape.type
  if (type === "boolean") {
    const flag = Lookups.findFlag(param, scope)
    if (flag !== undefined) found.push(flag)
  } else if (type === "array") found.push(...fitArray(param, scope, shared, tool))
  else if (type === "object") found.push(...fitObject(param, scope, tool))
  else if (type === "number" || type === "integer") {
    for (const mention of scope.scene.mentions) {
      if (!Candidates.inScope(scope, mention.segment)) continue
      const fit = Candidates.fitNumber(param, mention, scope, shared)
      if (fit !== undefined) found.push(fit)
    }
    const rest =
      Candidates.says(param, "initial start") && Candidates.says(param, "velocity speed")
        ? scope.scene.tokens.find((token) => token.lower === "rest" && Candidates.inScope(scope, token.segment))
        : undefined
    if (rest !== undefined) found.push({ value: 0, score: 1.9, from: 0, to: 0 })
  } else if (type === "string") {
    const sought = param.seeks === undefined ? [] : Lookups.findSought(scope, param.seeks)
    if (sought.length > 0) return sought.filter((candidate) => Shapes.conforms(shape, candidate.value))
    for (const mention of scope.scene.mentions) {
      if (!Candidates.inScope(scope, mention.segment)) continue
      const fit = Candidates.fitText(param, mention, scope, shared, tool)
      if (fit !== undefined) found.push(fit)
    }
    for (const option of param.options) {
      const hit = Lookups.findOption(option, scope)
      if (hit !== undefined) found.push({ ...hit, score: hit.score - 0.5 })
    }
    if (param.topic === "currency") found.push(...Lookups.findCurrencies(param, scope))
    if (param.topic === "region" || param.topic === "country") found.push(...Lookups.findPlaceFacts(param, scope))
    if (param.topic === "unit") found.push(...Lookups.findUnits(param, scope))
    if (param.topic === "content" || param.topic === "any" || param.topic === "person")
      found.push(...Lookups.findSpans(param, scope))
    if (param.topic === "color" || param.topic === "language") {
      const table = param.topic === "color" ? Lexicon.colors : Lexicon.languages
      scope.scene.tokens.forEach((token, index) => {
        if (Candidates.inScope(scope, token.segment) && table.has(token.lower))
          found.push({
            value: token.text,
            score: 3.5 + (scope.scene.tokens[index - 1]?.lower === "to" ? 0.5 : 0),
            from: index,
            to: index + 1
          })
      })
    }
  }
  return found.filter((candidate) => Shapes.conforms(shape, candidate.value))
}

/** "in Boston" is for the parameter that "in" announces, if there is one. */
const claimed = (params: ReadonlyArray<Schema.Parameter>, param: Schema.Parameter, candidate: Candidate): Candidate => {
  const near = candidate.mention?.kind === "name" ? candidate.mention.prepositions[0] : undefined
  if (near === undefined || !/^(?:in|from|to|by)$/.test(near) || param.prepositions.has(near)) return candidate
  return params.some(
    (other) =>
      other !== param && other.shape.type === "string" && other.topic !== "date" && other.prepositions.has(near)
  )
    ? { ...candidate, score: candidate.score - 1.5 }
    : candidate
}

const series = (param: Schema.Parameter): string =>
  param.key.length === 1 && param.key[0]!.length === 1
    ? "?"
    : param.key.map((word) => (/^\d$|^(?:first|second|third)$/.test(word) ? "?" : word.replace(/\d$/, "?"))).join(" ")

/** `city1` and `city2` tell nothing apart but the order: what comes first in the text is the first. */
const inSeries = (params: ReadonlyArray<Schema.Parameter>, values: Map<string, Candidate>): void => {
  const groups = new Map<string, Array<Schema.Parameter>>()
  for (const param of params) {
    const name = series(param)
    if (name.includes("?") && values.get(param.name)?.mention !== undefined)
      groups.set(name, [...(groups.get(name) ?? []), param])
  }
  for (const group of groups.values()) {
    const found = group.map((param) => values.get(param.name)!).sort((a, b) => a.from - b.from)
    const fits = group.every((param, index) => Shapes.conforms(param.shape, found[index]!.value))
    if (!fits) continue
    for (const [index, param] of group.entries()) values.set(param.name, found[index]!)
  }
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
 * Fills parameters from a scope. A mention serves one parameter. Required parameters without a value take their
 * default; without one they are missing, but for a flag that nobody mentioned, which is off.
 *
 * @since 0.1.0
 * @category constructors
 */
export const fill = (params: ReadonlyArray<Schema.Parameter>, scope: Scope, tool: ReadonlySet<string>): Filling => {
  const shared = Candidates.sharedWords(params)
  const offers = params.flatMap((param, order) => {
    const least = threshold(param)
    return candidates(param, scope, shared, tool)
      .map((candidate) => claimed(params, param, candidate))
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
  inSeries(params, values)
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
