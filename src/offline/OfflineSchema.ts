/**
 * JSON Schemas of the embedded model: normalizes types, follows references, resolves unions.
 *
 * @private
 * @since 0.1.0
 */
import * as Predicate from "effect/Predicate"
import * as PatternCost from "../internal/text/PatternCost.js"
import type { JsonSchema } from "../llm/model/LlmClient.js"

type Type = "string" | "number" | "integer" | "boolean" | "array" | "object" | "null" | "any"

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

/** Other names of types in loosely written schemas. */
const spellings: { readonly [name: string]: Type } = { dict: "object", float: "number", list: "array", tuple: "array" }

const types: ReadonlyArray<string> = ["string", "number", "integer", "boolean", "array", "object", "null"]

const typeOf = (name: string): Type => spellings[name] ?? (types.includes(name) ? (name as Type) : "any")

const maxDepth = 6

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

const typesOf = (schema: JsonSchema): ReadonlyArray<Type> => {
  const named = [schema["type"]].flat().filter((name) => typeof name === "string")
  if (named.length > 0) return named.map(typeOf)
  return isRecord(schema["properties"]) ? ["object"] : schema["items"] !== undefined ? ["array"] : ["any"]
}

/**
 * Reads a schema. External references and levels below the sixth accept anything.
 *
 * @category constructors
 */
export const fromJsonSchema = (input: unknown, root?: JsonSchema, depth = 0): Shape => {
  const top = root ?? (isRecord(input) ? input : {})
  const { nullable, schema } = resolve(input, top)
  const { description, items, properties, required } = schema
  const types = typesOf(schema)
  const item = Array.isArray(items) ? items[0] : items
  const options = Object.hasOwn(schema, "const") ? [schema["const"]] : schema["enum"]
  return {
    type: types.find((name) => name !== "null") ?? "null",
    nullable: nullable || schema["nullable"] === true || (types.length > 1 && types.includes("null")),
    enum: Array.isArray(options) ? options.slice(0, 200) : undefined,
    properties: Object.entries(isRecord(properties) && depth < maxDepth ? properties : {})
      .filter(([name]) => name !== "__proto__")
      .slice(0, 60)
      .map(([name, value]) => [name, fromJsonSchema(value, top, depth + 1)] as const),
    required: Array.isArray(required) ? required.filter((name) => typeof name === "string") : [],
    items: isRecord(item) && depth < maxDepth ? fromJsonSchema(item, top, depth + 1) : undefined,
    description: typeof description === "string" ? description.slice(0, 600) : "",
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

const isWithin = (shape: Shape, size: number, of: "Length" | "Items" | "imum" = "imum"): boolean =>
  size >= (bound(shape, `min${of}`) ?? Number.NEGATIVE_INFINITY) &&
  size <= (bound(shape, `max${of}`) ?? Number.POSITIVE_INFINITY)

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
      return typeof value === "string" && isWithin(shape, value.length, "Length") && matches(shape, value)
    case "integer":
    case "number":
      return typeof value === "number" && (shape.type === "number" || Number.isInteger(value)) && isWithin(shape, value)
    case "array":
      return (
        Array.isArray(value) &&
        isWithin(shape, value.length, "Items") &&
        value.every((item) => shape.items === undefined || conforms(shape.items, item))
      )
    case "object": {
      const known = new Map(shape.properties)
      const isOpen = shape.raw["additionalProperties"] !== false
      const fits = (own: Shape | undefined, inner: unknown): boolean =>
        own === undefined ? isOpen : conforms(own, inner)
      return (
        isRecord(value) &&
        shape.required.every((name) => Object.hasOwn(value, name)) &&
        Object.entries(value).every(([name, inner]) => fits(known.get(name), inner))
      )
    }
  }
}
