/**
 * Fills a JSON Schema from a text.
 *
 * @private
 * @since 0.1.0
 */
import * as Arguments from "./OfflineArguments.js"
import * as Schema from "./OfflineSchema.js"
import * as Text from "./OfflineText.js"
import type { Parameter } from "./OfflineTools.js"
import * as Tools from "./OfflineTools.js"

const neutral: { readonly [format: string]: string } = {
  date: "1970-01-01",
  "date-time": "1970-01-01T00:00:00Z",
  time: "00:00:00Z",
  email: "unknown@example.com",
  uri: "about:blank",
  url: "https://example.com",
  uuid: "00000000-0000-0000-0000-000000000000"
}

/** The sentence that shares most words with the parameter; otherwise the first. */
const closest = (param: Parameter, lines: ReadonlyArray<string>): string => {
  const hits = (line: string) =>
    Text.contentStems(line).filter((stem) => param.key.includes(stem) || param.about.has(stem)).length
  return lines.reduce((best, line) => (hits(line) > hits(best) ? line : best), lines[0] ?? "").slice(0, 600)
}

const text = (param: Parameter, lines: ReadonlyArray<string>): string => {
  const { shape } = param
  const line = closest(param, lines).slice(0, Schema.bound(shape, "maxLength") ?? 600)
  const padded = line.padEnd(Math.min(Schema.bound(shape, "minLength") ?? 0, 10_000), ".")
  const words = line.split(/\s+/).slice(0, 100)
  const tries = [
    ...(typeof shape.raw["format"] === "string" ? [neutral[shape.raw["format"]]] : []),
    line,
    padded,
    ...words
  ]
  return tries.find((one): one is string => one !== undefined && Schema.conforms(shape, one)) ?? line
}

const number = (shape: Schema.Shape): number => {
  const low = Schema.bound(shape, "minimum") ?? Schema.bound(shape, "exclusiveMinimum")
  const high = Schema.bound(shape, "maximum") ?? Schema.bound(shape, "exclusiveMaximum")
  const step = Schema.bound(shape, "multipleOf") ?? 1
  const middle = low !== undefined && high !== undefined ? (low + high) / 2 : (low ?? Math.min(high ?? 0, 0))
  const tries = [
    middle,
    Math.ceil(middle / step) * step,
    Math.floor(middle / step) * step,
    0,
    low,
    high,
    (low ?? 0) + 1
  ]
  return tries.find((one): one is number => one !== undefined && Schema.conforms(shape, one)) ?? Math.round(middle)
}

const verdict =
  /^(?:done|complete|completed|sufficient|approved|pass|passed|valid|success|successful|finished|ok|correct|answered|solved|relevant)$/

const list = (param: Parameter, lines: ReadonlyArray<string>): ReadonlyArray<unknown> => {
  const items = Tools.parameter(param.name, param.shape.items ?? Schema.fromJsonSchema({ type: "string" }), true)
  const least = Math.min(Schema.bound(param.shape, "minItems") ?? 0, 50)
  const most = Math.min(Schema.bound(param.shape, "maxItems") ?? 8, 50)
  const isText = items.shape.type === "object" || items.shape.type === "string"
  const values = isText ? lines.slice(0, most).map((line) => value(items, [line])) : []
  while (values.length < least) values.push(value(items, lines))
  return values
}

/** A neutral value for a required field that the text does not name. */
const fallback = (param: Parameter, lines: ReadonlyArray<string>): unknown => {
  const { shape } = param
  if (param.fallback !== undefined) return param.fallback.value
  if (shape.enum !== undefined) return shape.enum[0]
  switch (shape.type) {
    case "string":
    case "any":
      return text(param, lines)
    case "number":
    case "integer":
      return number(shape)
    case "boolean":
      return Text.words(param.name).some((word) => verdict.test(word))
    case "null":
      return null
    case "array":
      return list(param, lines)
    case "object":
      return object(shape, lines)
  }
}

const value = (param: Parameter, lines: ReadonlyArray<string>): unknown => {
  if (param.shape.type === "object") return object(param.shape, lines)
  const found = Arguments.fill([param], Text.tokens(lines.join("\n"))).values.get(param.name)
  return found !== undefined && found.score >= (param.shape.type === "string" ? 1.5 : 0.5)
    ? found.value
    : fallback(param, lines)
}

const object = (shape: Schema.Shape, lines: ReadonlyArray<string>): { readonly [key: string]: unknown } => {
  const params = Tools.parameters(shape)
  const { values } = Arguments.fill(params, Text.tokens(lines.join("\n")))
  return Object.fromEntries(
    params.flatMap((param): ReadonlyArray<readonly [string, unknown]> => {
      const found = values.get(param.name)
      if (found !== undefined && found.score >= 1) return [[param.name, found.value]]
      return param.required ? [[param.name, fallback(param, lines)]] : []
    })
  )
}

/**
 * Generates a value for each required field: from the text, else the default, else a neutral value. Optional fields are
 * filled only if the text names them.
 *
 * @category constructors
 */
export const generate = (schema: { readonly [key: string]: unknown }, text: string): unknown => {
  const shape = Schema.fromJsonSchema(schema)
  const lines = Text.sentences(text)
  return shape.type === "any"
    ? object(shape, lines)
    : value(Tools.parameter(typeof schema["title"] === "string" ? schema["title"] : "value", shape, true), lines)
}
