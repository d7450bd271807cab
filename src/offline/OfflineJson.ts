/**
 * Values that must be there: JSON for a response format, arguments of a forced call, and arguments corrected after a
 * tool refused them.
 *
 * @internal
 * @since 0.1.0
 */
import * as Arguments from "./OfflineArguments.js"
import type { Candidate } from "./OfflineCandidates.js"
import * as Language from "./OfflineLanguage.js"
import * as Lexicon from "./OfflineLexicon.js"
import type { Scene } from "./OfflineMentions.js"
import * as Mentions from "./OfflineMentions.js"
import * as Schema from "./OfflineSchema.js"
import * as Shapes from "./OfflineShape.js"

const noWords: ReadonlySet<string> = new Set()

const neutral: { readonly [format: string]: string } = {
  date: "1970-01-01",
  "date-time": "1970-01-01T00:00:00Z",
  time: "00:00:00Z",
  email: "unknown@example.com",
  uri: "about:blank",
  url: "https://example.com",
  uuid: "00000000-0000-0000-0000-000000000000"
}

const bound = (shape: Shapes.Shape, key: string): number | undefined => {
  const value = shape.raw[key]
  return typeof value === "number" && Number.isFinite(value) ? value : undefined
}

/** The sentence of the text that shares most words with the parameter; of a text that shares none, its first. */
const span = (param: Schema.Parameter, scene: Scene): string => {
  const lines = Language.sentences(scene.text)
  let best = lines[0] ?? ""
  let most = 0
  for (const line of lines) {
    const hits = Language.contentStems(line).filter((word) => param.key.includes(word) || param.about.has(word)).length
    if (hits > most) {
      most = hits
      best = line
    }
  }
  return best.slice(0, 600)
}

const textValue = (param: Schema.Parameter, scene: Scene): string => {
  const { shape } = param
  const tokens = scene.tokens.slice(0, 400).map((token) => token.text)
  const format = shape.format === undefined || !Object.hasOwn(neutral, shape.format) ? undefined : neutral[shape.format]
  const least = bound(shape, "minLength") ?? 0
  const most = bound(shape, "maxLength") ?? Number.POSITIVE_INFINITY
  const line = span(param, scene).slice(0, most)
  const padded = line.padEnd(Math.min(least, 10_000), ".")
  return (
    [format, line, padded, "", ...tokens].find((text) => text !== undefined && Shapes.conforms(shape, text)) ?? line
  )
}

const numberValue = (shape: Shapes.Shape): number => {
  const step = bound(shape, "multipleOf")
  const above = bound(shape, "exclusiveMinimum")
  const below = bound(shape, "exclusiveMaximum")
  const low = bound(shape, "minimum") ?? above
  const high = bound(shape, "maximum") ?? below
  const middle =
    low !== undefined && high !== undefined ? (low + high) / 2 : (low ?? (high !== undefined ? Math.min(high, 0) : 0))
  const unit = step !== undefined && step > 0 ? step : 1
  const tries = [
    middle,
    Math.ceil(middle),
    Math.floor(middle),
    0,
    low,
    high,
    Math.ceil(middle / unit) * unit,
    Math.floor(middle / unit) * unit,
    (low ?? 0) + unit,
    (high ?? 0) - unit
  ]
  return tries.find((value) => value !== undefined && Shapes.conforms(shape, value)) ?? Math.round(middle)
}

const affirmative =
  /^(?:done|complete|completed|sufficient|approved|pass|passed|valid|success|successful|finished|ok|correct|answered|solved|relevant)$/

const enumValue = (param: Schema.Parameter, scene: Scene): unknown => {
  const stems = new Set(scene.tokens.map((token) => token.stem))
  const options = param.shape.enum ?? []
  let best = options[0]
  let most = 0
  for (const option of options) {
    const hits = Language.words(String(option)).filter((word) => stems.has(Language.stem(word))).length
    if (hits > most) {
      most = hits
      best = option
    }
  }
  return best
}

const listValue = (param: Schema.Parameter, scene: Scene): ReadonlyArray<unknown> => {
  const items = param.shape.items ?? Shapes.shapeOf({ type: "string" })
  const least = Math.min(bound(param.shape, "minItems") ?? 0, 50)
  const most = Math.min(bound(param.shape, "maxItems") ?? 8, 50)
  const one = Schema.parameter(param.name, items, true)
  const lines = Language.sentences(scene.text).slice(0, Math.max(most, least))
  const values =
    items.type === "object" || items.type === "string" ? lines.map((line) => value(one, Mentions.scene(line))) : []
  while (values.length < least) values.push(value(one, scene))
  return values.slice(0, most)
}

/**
 * A value for a parameter that must have one: what the text says, else its default, else the value that says least.
 *
 * @since 0.1.0
 * @category constructors
 */
export const value = (param: Schema.Parameter, scene: Scene): unknown => {
  const { shape } = param
  if (shape.type !== "object") {
    const offers = Arguments.candidates(param, { scene }, new Map(), noWords).filter((offer) => offer.score >= 0.5)
    const best = offers.reduce<Candidate | undefined>(
      (top, offer) => (top === undefined || offer.score > top.score ? offer : top),
      undefined
    )
    const least = shape.type === "string" && shape.enum === undefined ? (param.topic === "content" ? 3 : 1.5) : 0.5
    if (best !== undefined && best.score >= least) return best.value
  }
  if (param.fallback !== undefined) return param.fallback.value
  if (shape.enum !== undefined) return enumValue(param, scene)
  switch (shape.type) {
    case "string":
    case "any":
      return textValue(param, scene)
    case "number":
    case "integer":
      return numberValue(shape)
    case "boolean":
      return Language.words(param.name).some((word) => affirmative.test(word))
    case "null":
      return null
    case "array":
      return listValue(param, scene)
    case "object":
      return objectValue(shape, scene)
  }
}

/**
 * An object for a schema: required fields always, optional ones where the text names them.
 *
 * @since 0.1.0
 * @category constructors
 */
export const objectValue = (shape: Shapes.Shape, scene: Scene): { readonly [key: string]: unknown } => {
  const params = Schema.parameters(shape)
  const filling = Arguments.fill(params, { scene }, noWords)
  const entries: Array<readonly [string, unknown]> = []
  for (const param of params) {
    const said = filling.values.get(param.name)
    if (said !== undefined && said.score > 0) entries.push([param.name, said.value])
    else if (param.required) entries.push([param.name, value(param, scene)])
  }
  return Object.fromEntries(entries)
}

/**
 * JSON for a schema from a text.
 *
 * @since 0.1.0
 * @category constructors
 */
export const generate = (schema: { readonly [key: string]: unknown }, text: string): unknown => {
  const shape = Shapes.shapeOf(schema)
  const scene = Mentions.scene(text)
  return shape.type === "object" || shape.type === "any"
    ? objectValue(shape, scene)
    : value(Schema.parameter(typeof schema["title"] === "string" ? schema["title"] : "value", shape, true), scene)
}

const distance = (a: string, b: string): number => {
  let row = Array.from({ length: b.length + 1 }, (_, i) => i)
  for (let i = 1; i <= a.length; i++) {
    const next = [i]
    for (let j = 1; j <= b.length; j++)
      next.push(Math.min(row[j]! + 1, next[j - 1]! + 1, row[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1)))
    row = next
  }
  return row[b.length]!
}

const proposals = (
  param: Schema.Parameter,
  old: unknown,
  message: string,
  scene: Scene,
  taboo: ReadonlySet<string>
): ReadonlyArray<unknown> => {
  const found: Array<unknown> = []
  const text = typeof old === "string" || typeof old === "number" ? String(old) : ""
  const quoted = Array.from(message.matchAll(/["'`]([^"'`\n]{1,60})["'`]/g), (match) => match[1]!)
  const after =
    /(?:one of|expected|allowed(?: values)?(?: are)?|options(?: are)?|choose from|valid values(?: are)?)\s*(?::\s*)?([^\n.]{1,300})/i.exec(
      message
    )
  const listed =
    after === null
      ? []
      : after[1]!.split(/,|\||\bor\b|\band\b|\bactual\b/).map((part) => part.replace(/[[\]"'`()]/g, "").trim())
  const options = Array.from(new Set([...listed, ...quoted])).filter(
    (option) =>
      option !== "" &&
      option !== text &&
      option.length <= 60 &&
      option.toLowerCase() !== param.name.toLowerCase() &&
      !taboo.has(option)
  )
  const prefix =
    /(?:start(?:s|ing)? with|prefix(?:ed)?(?: with)?|begin(?:s|ning)? with)\s*(?::\s*)?["'`]?([\p{L}\p{N}_#-]{1,20})/iu.exec(
      message
    )
  if (prefix !== null && text !== "") found.push(`${prefix[1]}${text}`, `${prefix[1]}${text.replace(/^\D+/, "")}`)
  if (/date|yyyy|iso/i.test(message) && text !== "") found.push(Lexicon.isoDate(Lexicon.parseDate(text)))
  if (/upper/i.test(message)) found.push(text.toUpperCase())
  if (/lower/i.test(message)) found.push(text.toLowerCase())
  if (/number|integer|numeric/i.test(message) && /^-?\d+(?:\.\d+)?$/.test(text)) found.push(Number(text))
  const said = new Set(scene.tokens.map((token) => token.stem))
  const near = options
    .map((option) => ({
      option,
      said: Language.words(option).every((word) => said.has(Language.stem(word))),
      far: distance(option.toLowerCase().slice(0, 60), text.toLowerCase().slice(0, 60))
    }))
    .filter(
      (option) =>
        (option.said && Language.words(option.option).length <= 3) ||
        // The neighbour of a number is another number, never a typing error.
        (text !== "" && !/\d/.test(option.option) && option.far <= Math.max(1, Math.ceil(text.length / 3)))
    )
    .sort((a, b) => Number(b.said) - Number(a.said) || a.far - b.far)
  found.push(
    ...near.map(({ option }) =>
      param.shape.type === "number" || param.shape.type === "integer" ? Number(option) : option
    )
  )
  const others = Arguments.candidates(param, { scene }, new Map(), noWords)
    .slice()
    .sort((a, b) => b.score - a.score)
  found.push(...others.filter((candidate) => candidate.score >= 2).map((candidate) => candidate.value))
  return found
}

/**
 * Other arguments after a refusal: the parameters that the message names, or the only one, get the value the message or
 * the text suggests: an option of the message only if the text says it or all but says it, and none of `taboo`.
 * Undefined if there is none.
 *
 * @since 0.1.0
 * @category combinators
 */
export const correct = (
  params: ReadonlyArray<Schema.Parameter>,
  old: { readonly [key: string]: unknown },
  message: string,
  scene: Scene,
  taboo: ReadonlySet<string> = noWords
): { readonly [key: string]: unknown } | undefined => {
  const heard = message.slice(0, 2_000)
  const spoken = Language.words(heard)
  const said = new Set([...spoken, ...(heard.match(/[\p{L}\p{N}_]+/gu) ?? [])])
  const named = params.filter(
    (param) => said.has(param.name) || Language.words(param.name).every((word) => said.has(word))
  )
  const result: Record<string, unknown> = { ...old }
  let changed = false
  for (const param of named.length > 0 ? named : params.length === 1 ? params : []) {
    const before = JSON.stringify(old[param.name])
    const next = proposals(param, old[param.name], heard, scene, taboo).find(
      (proposal) =>
        proposal !== undefined && JSON.stringify(proposal) !== before && Shapes.conforms(param.shape, proposal)
    )
    if (next === undefined) continue
    result[param.name] = next
    changed = true
  }
  return changed ? result : undefined
}
