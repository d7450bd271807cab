/**
 * Arguments as models send them, made into what a tool can decode.
 *
 * @since 0.1.0
 */
import * as Either from "effect/Either"
import * as JsonRepair from "../internal/JsonRepair.js"
import type { JsonSchema } from "../llm/LlmClient.js"

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value)

const onlyStringParameter = (schema: JsonSchema): string | undefined => {
  const properties = schema["properties"]
  if (!isRecord(properties)) return undefined
  const names = Object.keys(properties)
  const required = Array.isArray(schema["required"]) ? (schema["required"] as ReadonlyArray<unknown>) : []
  const candidates = names.length === 1 ? names : names.filter((name) => required.includes(name))
  const name = candidates.length === 1 ? candidates[0] : undefined
  if (name === undefined) return undefined
  const property = properties[name]
  return isRecord(property) && property["type"] === "string" ? name : undefined
}

/**
 * Nothing becomes `{}`; text is read as JSON, repaired where it is broken, and a bare text (or number) for a tool with one string
 * parameter becomes that parameter. Anything else is left for validation to judge.
 *
 * @since 0.1.0
 * @category conversions
 */
export const normalise = (raw: unknown, schema: JsonSchema): unknown => {
  if (raw === undefined || raw === null) return {}
  if (isRecord(raw)) return raw
  if (typeof raw !== "string") {
    const name = Array.isArray(raw) ? undefined : onlyStringParameter(schema)
    return name === undefined ? raw : { [name]: String(raw) }
  }
  const text = raw.trim()
  if (text === "") return {}
  const name = onlyStringParameter(schema)
  const looksLikeObject = text.startsWith("{")
  if (name !== undefined && !looksLikeObject) {
    const parsed = Either.getOrUndefined(Either.try((): unknown => JSON.parse(text)))
    return { [name]: typeof parsed === "string" ? parsed : text }
  }
  const parsed = JsonRepair.parse(text)
  return Either.isRight(parsed) ? parsed.right : raw
}

const acceptsNull = (schema: unknown): boolean => {
  if (!isRecord(schema)) return true
  const type = schema["type"]
  if (type === "null" || (Array.isArray(type) && type.includes("null"))) return true
  if (Array.isArray(schema["enum"]) && schema["enum"].includes(null)) return true
  const variants = schema["anyOf"] ?? schema["oneOf"]
  if (Array.isArray(variants)) return variants.some(acceptsNull)
  return (
    type === undefined && schema["$ref"] === undefined && schema["enum"] === undefined && schema["const"] === undefined
  )
}

/**
 * The same arguments without explicit `null`s for optional parameters that do not take one: leaving out and `null` mean the same. The
 * input itself is given back when there is none.
 *
 * @since 0.1.0
 * @category conversions
 */
export const withoutNulls = (value: unknown, schema: unknown, depth: number = 0): unknown => {
  if (depth > 32 || !isRecord(schema)) return value
  if (Array.isArray(value)) {
    const next = value.map((item) => withoutNulls(item, schema["items"], depth + 1))
    return next.some((item, index) => item !== value[index]) ? next : value
  }
  if (!isRecord(value)) return value
  const properties = schema["properties"]
  if (!isRecord(properties)) return value
  const required = Array.isArray(schema["required"]) ? (schema["required"] as ReadonlyArray<unknown>) : []
  let changed = false
  const entries: Array<[string, unknown]> = []
  for (const [key, item] of Object.entries(value)) {
    const property = Object.hasOwn(properties, key) ? properties[key] : undefined
    if (item === null && property !== undefined && !required.includes(key) && !acceptsNull(property)) {
      changed = true
      continue
    }
    const next = withoutNulls(item, property, depth + 1)
    if (next !== item) changed = true
    entries.push([key, next])
  }
  return changed ? Object.fromEntries(entries) : value
}
