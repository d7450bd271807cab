/**
 * JSON Schemas of the embedded model: normalizes types, follows references, resolves unions.
 *
 * @private
 * @since 0.1.0
 */
import * as Predicate from "effect/Predicate"
import * as PatternCost from "../internal/text/PatternCost.js"
import type { JsonSchema } from "../llm/model/LlmClient.js"

/**
 * @category models
 */
export type Type = "string" | "number" | "integer" | "boolean" | "array" | "object" | "null" | "any"

/**
 * @category models
 */
export interface Shape {
  readonly type: Type
  readonly nullable: boolean
  readonly enum: ReadonlyArray<unknown> | undefined
  readonly properties: ReadonlyArray<readonly [name: string, shape: Shape]>
  readonly required: ReadonlyArray<string>
  readonly items: Shape | undefined
  readonly description: string
  readonly raw: JsonSchema
}

/**
 * @category guards
 */
export const isRecord = (u: unknown): u is JsonSchema => Predicate.isRecord(u) && !Array.isArray(u)

const spellings: { readonly [type in Type]: string } = {
  string: "string str text date",
  number: "number float double decimal",
  integer: "integer int long",
  boolean: "boolean bool",
  array: "array list tuple set",
  object: "object dict map",
  null: "null",
  any: "any"
}

const typeOf = (name: string): Type =>
  (Object.keys(spellings) as ReadonlyArray<Type>).find((type) =>
    spellings[type].split(" ").includes(name.toLowerCase())
  ) ?? "any"

const maxDepth = 6
const maxProperties = 60

const lookUp = (root: JsonSchema, reference: string): unknown =>
  reference
    .split("/")
    .slice(1)
    .reduce<unknown>((at, name) => (isRecord(at) && Object.hasOwn(at, name) ? at[name] : undefined), root)

const isNull = (u: unknown): boolean => isRecord(u) && (u["type"] === "null" || u["const"] === null)

/** Follows references; takes the first member of a union, or all literals of a union of literals. */
const resolve = (input: unknown, root: JsonSchema): { readonly schema: JsonSchema; readonly nullable: boolean } => {
  let schema: JsonSchema = isRecord(input) ? input : {}
  let nullable = false
  for (let step = 0; step < 8; step++) {
    const { $ref: reference, anyOf, oneOf, allOf, ...own } = schema
    const members = [anyOf, oneOf, allOf].find(Array.isArray)?.slice(0, 200) ?? []
    if (typeof reference !== "string" && members.length === 0) break
    nullable ||= members.some(isNull)
    const literals = members.flatMap((one) => (isRecord(one) && Object.hasOwn(one, "const") ? [one["const"]] : []))
    const next =
      typeof reference === "string"
        ? lookUp(root, reference)
        : literals.length > 1
          ? { enum: literals }
          : members.find((one) => !isNull(one))
    schema = isRecord(next) ? { ...next, ...own } : own
  }
  return { schema, nullable }
}

const inferType = (schema: JsonSchema, options: ReadonlyArray<unknown> | undefined): Type => {
  if (isRecord(schema["properties"])) return "object"
  if (schema["items"] !== undefined) return "array"
  const [first] = options ?? []
  return typeof first === "string" ? "string" : typeof first === "number" ? "number" : "any"
}

const optionsOf = (schema: JsonSchema): ReadonlyArray<unknown> | undefined =>
  Array.isArray(schema["enum"])
    ? schema["enum"].slice(0, 200)
    : Object.hasOwn(schema, "const")
      ? [schema["const"]]
      : undefined

const namesOf = (value: unknown): ReadonlyArray<string> =>
  (Array.isArray(value) ? value : [value]).filter((name) => typeof name === "string")

/**
 * Reads a schema. External references and levels below the sixth accept anything.
 *
 * @category constructors
 */
export const fromJsonSchema = (input: unknown, root?: JsonSchema, depth = 0): Shape => {
  const top = root ?? (isRecord(input) ? input : {})
  const { nullable, schema } = resolve(input, top)
  const types = namesOf(schema["type"]).map(typeOf)
  const options = optionsOf(schema)
  const inner = isRecord(schema["properties"]) && depth < maxDepth ? Object.entries(schema["properties"]) : []
  const items = Array.isArray(schema["items"]) ? schema["items"][0] : schema["items"]
  return {
    type: types.find((name) => name !== "null") ?? (types.length > 0 ? "null" : inferType(schema, options)),
    nullable: nullable || schema["nullable"] === true || (types.length > 1 && types.includes("null")),
    enum: options,
    properties: inner
      .filter(([name]) => name !== "__proto__")
      .slice(0, maxProperties)
      .map(([name, value]) => [name, fromJsonSchema(value, top, depth + 1)] as const),
    required: namesOf(schema["required"]),
    items: isRecord(items) && depth < maxDepth ? fromJsonSchema(items, top, depth + 1) : undefined,
    description: typeof schema["description"] === "string" ? schema["description"].slice(0, 600) : "",
    raw: schema
  }
}

/**
 * @category getters
 */
export const bound = ({ raw }: Shape, key: string): number | undefined => {
  const value = raw[key]
  return typeof value === "number" && Number.isFinite(value) ? value : undefined
}

const isWithin = (shape: Shape, size: number, least: string, most: string): boolean =>
  size >= (bound(shape, least) ?? Number.NEGATIVE_INFINITY) && size <= (bound(shape, most) ?? Number.POSITIVE_INFINITY)

const matches = ({ raw: { pattern } }: Shape, text: string): boolean => {
  if (typeof pattern !== "string") return true
  try {
    return text.length <= 200 && PatternCost.isCheap(pattern) && new RegExp(pattern, "u").test(text)
  } catch {
    return false
  }
}

/**
 * Checks a value against the supported parts of a schema: type, enum, inclusive bounds, lengths, pattern, required and
 * closed properties. A pattern that could take exponential time counts as not satisfied.
 *
 * @category predicates
 */
export const conforms = (shape: Shape, value: unknown): boolean => {
  if (value === null) return shape.nullable || shape.type === "null" || (shape.enum?.includes(null) ?? false)
  if (shape.enum !== undefined && !shape.enum.includes(value)) return false
  switch (shape.type) {
    case "any":
      return true
    case "null":
      return false
    case "boolean":
      return typeof value === "boolean"
    case "string":
      return (
        typeof value === "string" && isWithin(shape, value.length, "minLength", "maxLength") && matches(shape, value)
      )
    case "integer":
    case "number":
      return (
        typeof value === "number" &&
        (shape.type === "number" || Number.isInteger(value)) &&
        isWithin(shape, value, "minimum", "maximum")
      )
    case "array":
      return (
        Array.isArray(value) &&
        isWithin(shape, value.length, "minItems", "maxItems") &&
        value.every((item) => shape.items === undefined || conforms(shape.items, item))
      )
    case "object": {
      const known = new Map(shape.properties)
      return (
        isRecord(value) &&
        shape.required.every((name) => Object.hasOwn(value, name)) &&
        Object.entries(value).every(([name, inner]) => {
          const own = known.get(name)
          return own === undefined ? shape.raw["additionalProperties"] !== false : conforms(own, inner)
        })
      )
    }
  }
}
