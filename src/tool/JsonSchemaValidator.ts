/**
 * JSON Schemas that come from outside (MCP servers, files, skills): made usable, compiled once.
 *
 * @since 0.1.0
 */
import type { ErrorObject, ValidateFunction } from "ajv"
import { Ajv } from "ajv"
import { Ajv2020 } from "ajv/dist/2020.js"
import * as Either from "effect/Either"
import type { JsonSchema } from "../llm/LlmClient.js"

/**
 * One thing that does not fit; `path` is dotted, `""` for the value itself.
 *
 * @since 0.1.0
 * @category models
 */
export interface Issue {
  readonly path: string
  readonly message: string
}

/**
 * @since 0.1.0
 * @category models
 */
export interface Validator {
  readonly schema: JsonSchema
  /** All issues of a value; none when it fits. At most 20. */
  readonly validate: (value: unknown) => ReadonlyArray<Issue>
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

const MAX_DEPTH = 64

/**
 * A schema as the field writes them, in standard words: `dict`, `float`, `tuple`, `any` and the like get their JSON type, in any case of
 * letters; unknown types accept everything. A schema without a type at the top becomes an object's. Input is not changed.
 *
 * @since 0.1.0
 * @category conversions
 */
export const normalise = (schema: unknown): JsonSchema => {
  const result = walk(schema, 0)
  if (result === true || typeof result !== "object" || result === null || Array.isArray(result)) {
    return { type: "object", properties: {} }
  }
  const record = result as Record<string, unknown>
  const composed = ["$ref", "oneOf", "anyOf", "allOf", "type"].some((key) => Object.hasOwn(record, key))
  return composed ? record : { type: "object", properties: {}, ...record }
}

const walk = (schema: unknown, depth: number): unknown => {
  if (typeof schema !== "object" || schema === null || depth > MAX_DEPTH) return schema
  if (Array.isArray(schema)) return schema.map((item) => walk(item, depth + 1))
  const result: Record<string, unknown> = {}
  for (const [key, value] of Object.entries(schema)) {
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
      case "dependentSchemas": {
        if (typeof value !== "object" || value === null || Array.isArray(value)) break
        const entries = Object.entries(value).map(([name, inner]) => [name, walk(inner, depth + 1)] as const)
        // `Object.fromEntries` defines own properties, so a property named `__proto__` stays data.
        result[key] = Object.fromEntries(entries)
        break
      }
      case "enum":
      case "const":
      case "default":
      case "example":
      case "examples": {
        result[key] = value
        break
      }
      case "required": {
        if (Array.isArray(value)) result["required"] = value.filter((name) => typeof name === "string")
        break
      }
      default: {
        if (key !== "__proto__") result[key] = walk(value, depth + 1)
      }
    }
  }
  return result
}

const typeOf = (value: unknown): unknown => {
  if (Array.isArray(value)) {
    const types = value.map(typeOf)
    return types.some((type) => type === undefined) ? undefined : types
  }
  if (typeof value !== "string") return undefined
  const lower = value.toLowerCase()
  return standard.has(lower) ? lower : odd[lower]
}

const options = { strict: false, allErrors: true, validateFormats: false, logger: false, addUsedSchema: false } as const

const pathOf = (error: ErrorObject): string => {
  const path = error.instancePath.slice(1).replace(/\//g, ".").replace(/~1/g, "/").replace(/~0/g, "~")
  const missing =
    error.keyword === "required" ? String((error.params as { missingProperty?: unknown }).missingProperty) : ""
  return missing === "" ? path : path === "" ? missing : `${path}.${missing}`
}

const messageOf = (error: ErrorObject): string => {
  switch (error.keyword) {
    case "required":
      return "is missing"
    case "additionalProperties":
      return `has an unknown field "${String((error.params as { additionalProperty?: unknown }).additionalProperty).slice(0, 64)}"`
    case "enum":
      return `must be one of ${JSON.stringify((error.params as { allowedValues?: unknown }).allowedValues).slice(0, 200)}`
    default:
      return error.message ?? error.keyword
  }
}

/**
 * Compiles a schema of draft-07 or 2020-12 (by its `$schema`, 2020-12 also when it uses `$defs`, `prefixItems` or `$dynamicRef`). Formats are not checked, references to
 * other documents are refused; `Left` says why a schema does not compile.
 *
 * @since 0.1.0
 * @category constructors
 */
export const compile = (schema: unknown): Either.Either<Validator, string> => {
  const normal = normalise(schema)
  const declared = typeof normal["$schema"] === "string" ? normal["$schema"] : ""
  const { $schema: _, $id: __, ...body } = normal
  const modern =
    declared === "" ? /"(\$defs|prefixItems|\$dynamicRef)"/.test(JSON.stringify(body)) : declared.includes("2020-12")
  let check: ValidateFunction
  try {
    // One instance a schema: a shared one keeps every schema it ever saw.
    check = (modern ? new Ajv2020(options) : new Ajv(options)).compile(body)
  } catch (error) {
    return Either.left(error instanceof Error ? error.message.slice(0, 500) : "the schema does not compile")
  }
  return Either.right({
    schema: body,
    validate: (value) => {
      if (check(value)) return []
      return (check.errors ?? []).slice(0, 20).map((error) => ({ path: pathOf(error), message: messageOf(error) }))
    }
  })
}
