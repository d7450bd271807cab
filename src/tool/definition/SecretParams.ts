/**
 * Finds and removes the secret arguments of a tool.
 *
 * @private
 * @since 0.1.0
 */
import * as Predicate from "effect/Predicate"
import * as SecretText from "../../internal/text/SecretText.js"
import type { JsonSchema } from "../../llm/model/LlmClient.js"

const isSecret = (schema: unknown): boolean =>
  Predicate.isReadonlyRecord(schema) &&
  (schema["writeOnly"] === true ||
    schema["format"] === "password" ||
    ["anyOf", "oneOf", "allOf"].some((key) => Array.isArray(schema[key]) && schema[key].some(isSecret)))

const maxDepth = 32

const collect = (schema: unknown, names: Set<string>, depth: number): void => {
  if (depth > maxDepth) return
  if (Array.isArray(schema)) {
    for (const item of schema) collect(item, names, depth + 1)
    return
  }
  if (!Predicate.isReadonlyRecord(schema)) return
  const { properties } = schema
  if (Predicate.isReadonlyRecord(properties)) {
    for (const [name, property] of Object.entries(properties)) if (isSecret(property)) names.add(name)
  }
  for (const member of Object.values(schema)) if (typeof member === "object") collect(member, names, depth + 1)
}

/** Removes members of these names at any depth. */
const removeMembers = (value: unknown, names: ReadonlySet<string>, depth: number): unknown => {
  if (typeof value !== "object" || value === null) return value
  if (depth > maxDepth) return SecretText.replacement
  if (Array.isArray(value)) return value.map((item) => removeMembers(item, names, depth + 1))
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [
      name,
      names.has(name) ? SecretText.replacement : removeMembers(member, names, depth + 1)
    ])
  )
}

/**
 * Removes the secret arguments of a call. Arguments that are not a record are not parsed yet: all of them may be
 * secret.
 */
export const hideSecrets = (tool: Parameters<typeof namesOf>[0], params: unknown): unknown => {
  const secret = namesOf(tool)
  if (secret === undefined || params === undefined) return params
  return typeof params === "object" && params !== null
    ? removeMembers(params, new Set(secret), 0)
    : SecretText.replacement
}

const known = new WeakMap<JsonSchema, ReadonlyArray<string> | undefined>()

/**
 * Names of the members that a schema marks as secret (`writeOnly`, `format: "password"`), at any depth; `undefined` if
 * there are none.
 */
export const namesOfSchema = (schema: JsonSchema): ReadonlyArray<string> | undefined => {
  if (known.has(schema)) return known.get(schema)
  const names = new Set<string>()
  collect(schema, names, 0)
  const found = names.size === 0 ? undefined : Array.from(names)
  known.set(schema, found)
  return found
}

/** Names of the secret members, marked by the schema or named by the tool. */
export const namesOf = (tool: {
  readonly parameters: JsonSchema
  readonly annotations: { readonly secretParams?: ReadonlyArray<string> | undefined }
}): ReadonlyArray<string> | undefined => {
  const found = namesOfSchema(tool.parameters)
  const named = tool.annotations.secretParams
  if (named === undefined || named.length === 0) return found
  return found === undefined ? named : Array.from(new Set([...found, ...named]))
}
