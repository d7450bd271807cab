/**
 * Normalizes arguments from models into values that a tool can decode.
 *
 * @since 0.1.0
 */

import * as Either from "effect/Either"
import * as Predicate from "effect/Predicate"
import * as JsonRepair from "../../internal/text/JsonRepair.js"
import type { JsonSchema } from "../../llm/model/LlmClient.js"

const onlyStringParameter = (schema: JsonSchema): string | undefined => {
  const properties = schema["properties"]
  if (!Predicate.isReadonlyRecord(properties)) return undefined
  const names = Object.keys(properties)
  const required = Array.isArray(schema["required"]) ? (schema["required"] as ReadonlyArray<unknown>) : []
  const candidates = names.length === 1 ? names : names.filter((name) => required.includes(name))
  const name = candidates.length === 1 ? candidates[0] : undefined
  if (name === undefined) return undefined
  const property = properties[name]
  return Predicate.isReadonlyRecord(property) && property["type"] === "string" ? name : undefined
}

/** Models sometimes encode a call twice: as the text of a text. */
const parseObject = (text: string): unknown => {
  const parsed = JsonRepair.parse(text)
  if (Either.isLeft(parsed) || typeof parsed.right !== "string") return Either.getOrUndefined(parsed)
  return parsed.right.trimStart().startsWith("{") ? Either.getOrUndefined(JsonRepair.parse(parsed.right)) : parsed.right
}

/**
 * Missing arguments become `{}`. Text is read as JSON and repaired where it is broken; for a tool with one string
 * parameter a bare text or number becomes that parameter. Anything else is left to validation.
 *
 * @since 0.1.0
 * @category conversions
 */
export const normalise = (raw: unknown, schema: JsonSchema): unknown => {
  if (raw === undefined || raw === null) return {}
  if (Predicate.isReadonlyRecord(raw)) return raw
  if (typeof raw !== "string") {
    const name = Array.isArray(raw) ? undefined : onlyStringParameter(schema)
    return name === undefined ? raw : { [name]: String(raw) }
  }
  const text = raw.trim()
  if (text === "") return {}
  const name = onlyStringParameter(schema)
  if (name === undefined) return parseObject(text) ?? raw
  // Only text that begins like an object is parsed: repair would turn any text into something.
  const parsed = /^(?:\{|`{3}|"\s*\{)/.test(text) ? parseObject(text) : undefined
  if (Predicate.isReadonlyRecord(parsed)) return parsed
  const bare = Either.getOrUndefined(JsonRepair.decode(text))
  return { [name]: typeof bare === "string" ? bare : text }
}

/** A schema, or the schema in the same document that it refers to. */
const resolve = (schema: unknown, root: unknown, hops: number = 0): unknown => {
  const ref = Predicate.isReadonlyRecord(schema) ? schema["$ref"] : undefined
  if (typeof ref !== "string" || !ref.startsWith("#") || hops > 8) return schema
  // The name of an anchor: what it stands for is not known here.
  if (ref !== "#" && !ref.startsWith("#/")) return true
  let target: unknown = root
  for (const segment of ref.slice(1).split("/").slice(1)) {
    const key = segment.replace(/~1/g, "/").replace(/~0/g, "~")
    target = Predicate.isReadonlyRecord(target) && Object.hasOwn(target, key) ? target[key] : undefined
  }
  return resolve(target, root, hops + 1)
}

const variantsOf = (schema: Record<string, unknown>): ReadonlyArray<unknown> =>
  ["anyOf", "oneOf", "allOf"].flatMap((key) => (Array.isArray(schema[key]) ? (schema[key] as Array<unknown>) : []))

const acceptsNull = (given: unknown, root: unknown, depth: number): boolean => {
  const schema = resolve(given, root)
  if (!Predicate.isReadonlyRecord(schema) || depth > MAX_DEPTH) return true
  const { allOf, const: constant, enum: values, type } = schema
  if (type !== undefined && !(Array.isArray(type) ? type.includes("null") : type === "null")) return false
  if (Array.isArray(values) && !values.includes(null)) return false
  if (Object.hasOwn(schema, "const") && constant !== null) return false
  const some = schema["anyOf"] ?? schema["oneOf"]
  if (Array.isArray(some) && !some.some((item) => acceptsNull(item, root, depth + 1))) return false
  return !Array.isArray(allOf) || allOf.every((item) => acceptsNull(item, root, depth + 1))
}

const MAX_DEPTH = 32

/**
 * The arguments without explicit `null`s for optional parameters that do not accept `null`, at any depth: models use
 * `null` for absent. Returns the input itself when there is none.
 *
 * @since 0.1.0
 * @category conversions
 */
export const withoutNulls = (value: unknown, schema: unknown): unknown => strip(value, schema, schema, 0)

const strip = (value: unknown, given: unknown, root: unknown, depth: number): unknown => {
  if (depth > MAX_DEPTH || typeof value !== "object" || value === null) return value
  const schema = resolve(given, root)
  if (!Predicate.isReadonlyRecord(schema)) return value
  const own = Array.isArray(value)
    ? stripItems(value, schema, root, depth)
    : stripFields(value as Record<string, unknown>, schema, root, depth)
  return variantsOf(schema).reduce((current: unknown, variant) => strip(current, variant, root, depth + 1), own)
}

const stripItems = (
  items: ReadonlyArray<unknown>,
  schema: Record<string, unknown>,
  root: unknown,
  depth: number
): unknown => {
  const places = schema["prefixItems"] ?? schema["items"]
  const rest = Array.isArray(schema["items"]) ? schema["additionalItems"] : schema["items"]
  const next = items.map((item, index) =>
    strip(item, Array.isArray(places) ? (places[index] ?? rest) : rest, root, depth + 1)
  )
  return next.some((item, index) => item !== items[index]) ? next : items
}

const stripFields = (
  fields: Record<string, unknown>,
  schema: Record<string, unknown>,
  root: unknown,
  depth: number
): unknown => {
  const properties = Predicate.isReadonlyRecord(schema["properties"]) ? schema["properties"] : {}
  const required = Array.isArray(schema["required"]) ? (schema["required"] as ReadonlyArray<unknown>) : []
  let changed = false
  const entries: Array<[string, unknown]> = []
  for (const [key, item] of Object.entries(fields)) {
    const known = Object.hasOwn(properties, key)
    if (item === null && known && !required.includes(key) && !acceptsNull(properties[key], root, 0)) {
      changed = true
      continue
    }
    const next = strip(item, known ? properties[key] : schema["additionalProperties"], root, depth + 1)
    if (next !== item) changed = true
    entries.push([key, next])
  }
  return changed ? Object.fromEntries(entries) : fields
}
