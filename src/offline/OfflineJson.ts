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
  email: "unknown@example.com",
  uri: "about:blank",
  uuid: "00000000-0000-0000-0000-000000000000"
}

/** The sentence that shares most words with the parameter, fitted to its bounds, or one of its words. */
const text = ({ about, key, shape }: Parameter, lines: ReadonlyArray<string>): string => {
  const hits = (line: string) => Text.contentStems(line).filter((stem) => key.includes(stem) || about.has(stem)).length
  const closest = lines.reduce((best, line) => (hits(line) > hits(best) ? line : best), lines[0] ?? "")
  const line = closest.slice(0, Math.min(600, Schema.bound(shape, "maxLength") ?? 600))
  const padded = line.padEnd(Math.min(Schema.bound(shape, "minLength") ?? 0, 10_000), ".")
  const tries = [neutral[String(shape.raw["format"])] ?? line, padded, ...line.split(/\s+/).slice(0, 100)]
  return tries.find((one) => Schema.conforms(shape, one)) ?? line
}

const number = (shape: Schema.Shape): number => {
  const low = Schema.bound(shape, "minimum") ?? Schema.bound(shape, "exclusiveMinimum")
  const high = Schema.bound(shape, "maximum") ?? Schema.bound(shape, "exclusiveMaximum")
  const middle = low !== undefined && high !== undefined ? (low + high) / 2 : (low ?? Math.min(high ?? 0, 0))
  const tries = [middle, Math.ceil(middle), Math.floor(middle), (low ?? 0) + 1]
  return tries.find((one) => Schema.conforms(shape, one)) ?? Math.round(middle)
}

const verdict =
  /^(?:done|complete|completed|sufficient|approved|pass|passed|valid|success|successful|finished|ok|correct|answered|solved|relevant)$/

const list = ({ name, shape }: Parameter, lines: ReadonlyArray<string>): ReadonlyArray<unknown> => {
  const items = Tools.parameter(name, shape.items ?? Schema.fromJsonSchema({ type: "string" }), true)
  const least = Math.min(Schema.bound(shape, "minItems") ?? 0, 50)
  const most = Math.min(Schema.bound(shape, "maxItems") ?? 8, 50)
  const length = Math.max(least, Math.min(most, lines.length))
  return Array.from({ length }, (_, index) => value(items, [lines[index % lines.length] ?? ""]))
}

/** A neutral value for a required field that the text does not name. */
const fallback = (param: Parameter, lines: ReadonlyArray<string>): unknown => {
  const { name, shape } = param
  if (shape.raw["default"] !== undefined) return shape.raw["default"]
  if (shape.enum !== undefined) return shape.enum[0]
  if (shape.type === "number" || shape.type === "integer") return number(shape)
  if (shape.type === "boolean") return Text.words(name).some((word) => verdict.test(word))
  if (shape.type === "array") return list(param, lines)
  if (shape.type === "object") return object(shape, lines)
  return shape.type === "null" ? null : text(param, lines)
}

const value = (param: Parameter, lines: ReadonlyArray<string>): unknown => {
  if (param.shape.type === "object") return object(param.shape, lines)
  const { params, scores } = Arguments.fill([param], Text.tokens(lines.join("\n")))
  return (scores.get(param.name) ?? 0) >= (param.shape.type === "string" ? 1.5 : 0.5)
    ? params[param.name]
    : fallback(param, lines)
}

const object = (shape: Schema.Shape, lines: ReadonlyArray<string>): { readonly [key: string]: unknown } => {
  const all = Tools.parameters(shape)
  const { params, scores } = Arguments.fill(all, Text.tokens(lines.join("\n")))
  const isNamed = ({ name }: Parameter): boolean => (scores.get(name) ?? 0) >= 1
  return Object.fromEntries(
    all
      .filter((param) => param.required || isNamed(param))
      .map((param) => [param.name, isNamed(param) ? params[param.name] : fallback(param, lines)])
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
