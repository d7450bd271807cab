/**
 * JSON Schemas as the offline model understands them: loose types made regular, references followed, unions decided.
 *
 * @internal
 * @since 0.1.0
 */

import * as Predicate from "effect/Predicate"
import * as PatternCost from "../internal/text/PatternCost.js"
import type { JsonSchema } from "../llm/model/LlmClient.js"

/**
 * @since 0.1.0
 * @category models
 */
export type Type = "string" | "number" | "integer" | "boolean" | "array" | "object" | "null" | "any"

/**
 * A schema with its references followed and its unions decided.
 *
 * @since 0.1.0
 * @category models
 */
export interface Shape {
  readonly type: Type
  readonly nullable: boolean
  readonly enum?: ReadonlyArray<unknown> | undefined
  readonly properties: ReadonlyArray<readonly [name: string, shape: Shape]>
  readonly required: ReadonlyArray<string>
  readonly closed: boolean
  readonly items?: Shape | undefined
  readonly description: string
  readonly format?: string | undefined
  readonly default?: unknown
  readonly raw: JsonSchema
}

const typeNames: ReadonlyMap<string, Type> = new Map([
  ["string", "string"],
  ["str", "string"],
  ["char", "string"],
  ["text", "string"],
  ["date", "string"],
  ["number", "number"],
  ["float", "number"],
  ["double", "number"],
  ["decimal", "number"],
  ["integer", "integer"],
  ["int", "integer"],
  ["long", "integer"],
  ["short", "integer"],
  ["byte", "integer"],
  ["boolean", "boolean"],
  ["bool", "boolean"],
  ["array", "array"],
  ["list", "array"],
  ["tuple", "array"],
  ["set", "array"],
  ["arraylist", "array"],
  ["object", "object"],
  ["dict", "object"],
  ["map", "object"],
  ["hashmap", "object"],
  ["null", "null"],
  ["any", "any"]
])

const maxDepth = 6
const maxProperties = 60

const lookUp = (root: JsonSchema, reference: string): unknown => {
  if (!reference.startsWith("#")) return undefined
  let at: unknown = root
  for (const step of reference
    .slice(1)
    .split("/")
    .filter((part) => part !== "")) {
    const name = step.replace(/~1/g, "/").replace(/~0/g, "~")
    at = Predicate.isReadonlyRecord(at) && Object.hasOwn(at, name) ? at[name] : undefined
  }
  return at
}

const isNull = (u: unknown): boolean => Predicate.isReadonlyRecord(u) && (u["type"] === "null" || u["const"] === null)

const inferType = (schema: JsonSchema): Type => {
  if (Predicate.isReadonlyRecord(schema["properties"])) return "object"
  if (schema["items"] !== undefined) return "array"
  const values = Array.isArray(schema["enum"]) ? schema["enum"] : "const" in schema ? [schema["const"]] : []
  if (values.length > 0 && values.every((value) => typeof value === "string")) return "string"
  if (values.length > 0 && values.every((value) => typeof value === "number")) return "number"
  return typeof schema["pattern"] === "string" || typeof schema["format"] === "string" ? "string" : "any"
}

const resolve = (input: unknown, root: JsonSchema): { readonly schema: JsonSchema; readonly nullable: boolean } => {
  let schema: JsonSchema = Predicate.isReadonlyRecord(input) ? input : {}
  let nullable = schema["nullable"] === true
  for (let step = 0; step < 8; step++) {
    const reference = schema["$ref"]
    const union = Array.isArray(schema["anyOf"])
      ? schema["anyOf"]
      : Array.isArray(schema["oneOf"])
        ? schema["oneOf"]
        : undefined
    const all = schema["allOf"]
    let next: unknown
    if (typeof reference === "string") next = lookUp(root, reference)
    else if (union !== undefined && union.length > 0) {
      nullable ||= union.some(isNull)
      const literals = union.filter(
        (member) => Predicate.isReadonlyRecord(member) && typeof member["const"] === "string"
      )
      next =
        literals.length > 1
          ? { enum: literals.map((member) => (member as JsonSchema)["const"]) }
          : union.find((member) => !isNull(member))
    } else if (Array.isArray(all) && all.length > 0) {
      next = Object.assign({}, ...all.slice(0, 8).map((member) => resolve(member, root).schema))
    } else break
    const { $ref: _ref, anyOf: _any, oneOf: _one, allOf: _all, ...own } = schema
    schema = Predicate.isReadonlyRecord(next) ? { ...next, ...own } : own
  }
  return { schema, nullable }
}

/**
 * Understands a schema; references outside the document and past the sixth level are taken as "anything".
 *
 * @since 0.1.0
 * @category constructors
 */
export const shapeOf = (input: unknown, root?: JsonSchema, depth = 0): Shape => {
  const top = root ?? (Predicate.isReadonlyRecord(input) ? input : {})
  const { nullable, schema } = resolve(input, top)
  const declared = schema["type"]
  const names = (Array.isArray(declared) ? declared : [declared]).filter(
    (name): name is string => typeof name === "string"
  )
  const types = names.map((name) => typeNames.get(name.toLowerCase()) ?? "any")
  const type = types.find((name) => name !== "null") ?? (types.length > 0 ? "null" : inferType(schema))
  const properties =
    Predicate.isReadonlyRecord(schema["properties"]) && depth < maxDepth
      ? Object.entries(schema["properties"]).slice(0, maxProperties)
      : []
  const tuple = Array.isArray(schema["items"]) ? schema["items"][0] : schema["items"]
  return {
    type,
    nullable: nullable || (types.length > 1 && types.includes("null")),
    enum: Array.isArray(schema["enum"])
      ? schema["enum"].slice(0, 200)
      : Object.hasOwn(schema, "const")
        ? [schema["const"]]
        : undefined,
    properties: properties
      .filter(([name]) => name !== "__proto__")
      .map(([name, value]) => [name, shapeOf(value, top, depth + 1)] as const),
    required: Array.isArray(schema["required"])
      ? schema["required"].filter((name): name is string => typeof name === "string")
      : [],
    closed: schema["additionalProperties"] === false,
    items: Predicate.isReadonlyRecord(tuple) && depth < maxDepth ? shapeOf(tuple, top, depth + 1) : undefined,
    description: typeof schema["description"] === "string" ? schema["description"].slice(0, 600) : "",
    format: typeof schema["format"] === "string" ? schema["format"] : undefined,
    ...(Object.hasOwn(schema, "default") ? { default: schema["default"] } : {}),
    raw: schema
  }
}

const number = (schema: JsonSchema, key: string): number | undefined => {
  const value = schema[key]
  return typeof value === "number" ? value : undefined
}

const patterns = new Map<string, RegExp | undefined>()

const compile = (pattern: string): RegExp | undefined => {
  if (patterns.has(pattern)) return patterns.get(pattern)
  let compiled: RegExp | undefined
  try {
    compiled = PatternCost.isCheap(pattern) ? new RegExp(pattern, "u") : undefined
  } catch {
    compiled = undefined
  }
  if (patterns.size >= 256) patterns.clear()
  patterns.set(pattern, compiled)
  return compiled
}

const formats: { readonly [format: string]: RegExp } = {
  date: /^\d{4}-\d{2}-\d{2}$/,
  "date-time": /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:\.\d{1,9})?(?:Z|[+-]\d{2}:\d{2})$/,
  time: /^\d{2}:\d{2}:\d{2}(?:\.\d{1,9})?(?:Z|[+-]\d{2}:\d{2})$/,
  email: /^[^\s@]{1,64}@[^\s@]{1,190}$/,
  uri: /^[a-z][a-z0-9+.-]{0,20}:\S{1,2000}$/i,
  url: /^https?:\/\/\S{1,2000}$/i,
  uuid: /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i
}

const same = (a: unknown, b: unknown): boolean => a === b || JSON.stringify(a) === JSON.stringify(b)

/**
 * The value satisfies what the offline model understands of the schema: type, enum, bounds, lengths, pattern, format,
 * required and closed properties. A pattern that could take exponential time counts as not satisfied.
 *
 * @since 0.1.0
 * @category predicates
 */
export const conforms = (shape: Shape, value: unknown): boolean => {
  if (value === null) return shape.nullable || shape.type === "null" || (shape.enum?.includes(null) ?? false)
  if (shape.enum !== undefined && !shape.enum.some((option) => same(option, value))) return false
  switch (shape.type) {
    case "any":
      return true
    case "null":
      return false
    case "boolean":
      return typeof value === "boolean"
    case "string":
      return typeof value === "string" && conformsText(shape, value)
    case "number":
    case "integer":
      return typeof value === "number" && conformsNumber(shape, value)
    case "array": {
      const { maxItems, minItems, uniqueItems } = shape.raw as { readonly [key: string]: unknown }
      return (
        Array.isArray(value) &&
        (typeof minItems !== "number" || value.length >= minItems) &&
        (typeof maxItems !== "number" || value.length <= maxItems) &&
        (uniqueItems !== true || new Set(value.map((item) => JSON.stringify(item))).size === value.length) &&
        (shape.items === undefined || value.every((item) => conforms(shape.items!, item)))
      )
    }
    case "object":
      return (
        Predicate.isReadonlyRecord(value) &&
        shape.required.every((name) => Object.hasOwn(value, name)) &&
        shape.properties.every(([name, inner]) => !Object.hasOwn(value, name) || conforms(inner, value[name])) &&
        (!shape.closed || Object.keys(value).every((name) => shape.properties.some(([known]) => known === name)))
      )
  }
}

const conformsText = (shape: Shape, value: string): boolean => {
  const min = number(shape.raw, "minLength")
  const max = number(shape.raw, "maxLength")
  if ((min !== undefined && value.length < min) || (max !== undefined && value.length > max)) return false
  const pattern = shape.raw["pattern"]
  if (typeof pattern === "string" && !(value.length <= 200 && compile(pattern)?.test(value) === true)) return false
  const format = shape.format === undefined || !Object.hasOwn(formats, shape.format) ? undefined : formats[shape.format]
  return format === undefined || format.test(value)
}

const conformsNumber = (shape: Shape, value: number): boolean => {
  if (!Number.isFinite(value) || (shape.type === "integer" && !Number.isInteger(value))) return false
  const { raw } = shape
  const min = number(raw, "minimum")
  const max = number(raw, "maximum")
  const above = number(raw, "exclusiveMinimum")
  const below = number(raw, "exclusiveMaximum")
  const step = number(raw, "multipleOf")
  return (
    (min === undefined || value >= min) &&
    (max === undefined || value <= max) &&
    (above === undefined || value > above) &&
    (below === undefined || value < below) &&
    (step === undefined || step <= 0 || Math.abs(value / step - Math.round(value / step)) < 1e-9)
  )
}
