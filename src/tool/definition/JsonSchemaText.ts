/**
 * Normalizes JSON Schemas from outside (MCP servers, files, skills), without compiling them.
 *
 * @private
 * @since 0.1.0
 */
import * as Either from "effect/Either"
import type { JsonSchema } from "../../llm/model/LlmClient.js"

/**
 * An issue of a value; `path` is dotted, and `""` for the value itself.
 *
 * @since 0.1.0
 * @category models
 */
export interface Issue {
  readonly path: string
  readonly message: string
}

const odd: Record<string, string> = {
  dict: "object",
  map: "object",
  hashmap: "object",
  struct: "object",
  float: "number",
  double: "number",
  decimal: "number",
  int: "integer",
  long: "integer",
  bool: "boolean",
  str: "string",
  char: "string",
  text: "string",
  tuple: "array",
  list: "array",
  set: "array"
}
const standard = new Set(["object", "number", "integer", "boolean", "string", "array", "null"])

/**
 * The most levels and parts of a schema. Compiling takes time in proportion and cannot be interrupted.
 *
 * @since 0.1.0
 * @category constants
 */
export const limits = { depth: 64, nodes: 2000 } as const

/** Ends a walk; the message says why the schema cannot be used. */
export class Refused extends Error {}

/**
 * Rewrites a schema in standard words: `dict`, `float`, `tuple`, `any` and the like get their JSON type, in any case of
 * letters; unknown types accept everything. Parameters are an object, so a schema without a type becomes one. `Left`
 * says why the schema cannot be used. The input is not changed.
 *
 * @since 0.1.0
 * @category conversions
 */
export const normalise = (schema: unknown): Either.Either<JsonSchema, string> =>
  Either.map(read(schema, asObject), (read) => read.schema)

/** A schema in standard words. */
export interface Read {
  readonly schema: JsonSchema
  /** Whether it uses keywords of the newer drafts. */
  readonly modern: boolean
}

/** Rewrites a schema in standard words; `shape` says what becomes of its top. */
export const read = (
  schema: unknown,
  shape: (record: Record<string, unknown>) => Either.Either<JsonSchema, string>
): Either.Either<Read, string> => {
  if (typeof schema !== "object" || schema === null || Array.isArray(schema)) {
    return Either.map(shape({}), (schema) => ({ schema, modern: false }))
  }
  const walker = makeWalker("plain")
  try {
    const record = walker.walk(schema, 0) as Record<string, unknown>
    return Either.map(shape(record), (schema) => ({ schema, modern: walker.isModern() }))
  } catch (error) {
    if (error instanceof Refused) return Either.left(error.message)
    throw error
  }
}

/** The top of parameters, which are an object. */
export const asObject = (record: Record<string, unknown>): Either.Either<JsonSchema, string> => {
  const type = record["type"]
  if (type === "object") return Either.right(record)
  if (Array.isArray(type) ? !type.includes("object") : type !== undefined) {
    return Either.left(`parameters are an object, not ${JSON.stringify(type).slice(0, 64)}`)
  }
  const composed = ["$ref", "oneOf", "anyOf", "allOf"].some((key) => Object.hasOwn(record, key))
  return Either.right(composed ? { ...record, type: "object" } : { properties: {}, ...record, type: "object" })
}

const modernWords = new Set([
  ...["$anchor", "$defs", "$dynamicAnchor", "$dynamicRef", "dependentRequired", "dependentSchemas"],
  ...["maxContains", "minContains", "prefixItems", "unevaluatedItems", "unevaluatedProperties"]
])

const isTooDeep = (data: unknown, depth: number): boolean =>
  typeof data === "object" &&
  data !== null &&
  (depth > limits.depth || Object.values(data).some((item) => isTooDeep(item, depth + 1)))

/** The keyword that counts the references a validation follows: a few lines can make it follow them forever. */
export const BUDGET = "lexBudget"

/**
 * The purpose of a walk: the model, the meta-schema (which compares each value of an enum with all others), or the
 * compiler.
 */
type Purpose = "plain" | "judged" | "compiled"

/**
 * Without an `$id` inside, a document is one resource, in which a dynamic reference is a plain one. The compiler takes
 * a dynamic reference to a definition for one to the whole schema.
 */
const plainOf = new Map([
  ["$dynamicRef", "$ref"],
  ["$dynamicAnchor", "$anchor"]
])

/** Copies a schema in standard words, within its limits. With `isStatic`, its dynamic references become plain. */
export const makeWalker = (purpose: Purpose, isStatic = false) => {
  let nodes = 0
  let modern = false
  const walk = (schema: unknown, depth: number): unknown => {
    if (typeof schema !== "object" || schema === null) return schema
    if (depth > limits.depth) throw new Refused(`it is nested deeper than ${limits.depth} levels`)
    if (++nodes > limits.nodes) throw new Refused(`it has more than ${limits.nodes} parts`)
    if (Array.isArray(schema)) return schema.map((item) => walk(item, depth + 1))
    const result: Record<string, unknown> = {}
    for (const [key, value] of Object.entries(schema)) {
      if (modernWords.has(key)) modern = true
      switch (key) {
        case "type": {
          const type = typeOf(value)
          if (type !== undefined) result["type"] = type
          break
        }
        case "properties":
        case "$defs":
        case "definitions":
        case "patternProperties":
        case "dependencies":
        case "dependentRequired":
        case "dependentSchemas": {
          if (typeof value !== "object" || value === null || Array.isArray(value)) break
          const entries = Object.entries(value).map(([name, inner]) => [name, walk(inner, depth + 1)] as const)
          // `Object.fromEntries` defines own properties, so a property named `__proto__` stays data.
          result[key] = Object.fromEntries(entries)
          break
        }
        case "enum": {
          if (!Array.isArray(value)) throw new Refused("an enum is a list")
          nodes += value.length
          if (isTooDeep(value, depth)) throw new Refused(`it is nested deeper than ${limits.depth} levels`)
          result["enum"] = purpose === "judged" ? value.slice(0, 1) : value
          break
        }
        case "const":
        case "default":
        case "example":
        case "examples": {
          if (isTooDeep(value, depth)) throw new Refused(`it is nested deeper than ${limits.depth} levels`)
          result[key] = value
          break
        }
        case "required": {
          if (!Array.isArray(value)) break
          nodes += value.length
          result["required"] = Array.from(new Set(value.filter((name) => typeof name === "string")))
          break
        }
        default: {
          const name = isStatic ? (plainOf.get(key) ?? key) : key
          if (key !== "__proto__" && key !== BUDGET) result[name] = walk(value, depth + 1)
        }
      }
    }
    if (nodes > limits.nodes) throw new Refused(`it has more than ${limits.nodes} parts`)
    if (purpose === "compiled" && typeof result["$ref"] === "string") result[BUDGET] = true
    return result
  }
  return { walk, isModern: () => modern }
}

const typeOf = (value: unknown): unknown => {
  if (Array.isArray(value)) {
    const types = value.map((type) => (Array.isArray(type) ? undefined : typeOf(type)))
    return types.length === 0 || types.some((type) => type === undefined) ? undefined : Array.from(new Set(types))
  }
  if (typeof value !== "string") return undefined
  const lower = value.toLowerCase()
  return standard.has(lower) ? lower : Object.hasOwn(odd, lower) ? odd[lower] : undefined
}

/** The drafts that are understood. */
export type Draft = "draft-07" | "2020-12"

/** The drafts to try: the one that a schema declares, otherwise the one of its keywords first. */
export const draftsOf = (declared: unknown, modern: boolean): ReadonlyArray<Draft> => {
  if (typeof declared === "string" && declared !== "") return [declared.includes("2020-12") ? "2020-12" : "draft-07"]
  return modern ? ["2020-12", "draft-07"] : ["draft-07", "2020-12"]
}
