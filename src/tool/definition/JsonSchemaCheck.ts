/**
 * Checks a JSON Schema against the rules of its draft without compiling it. What compiles passes; what does not compile
 * fails, apart from references by `$id` and `$anchor`, which are left to the compiler.
 *
 * @private
 * @since 0.1.0
 */
import * as Either from "effect/Either"
import * as Predicate from "effect/Predicate"
import type { JsonSchema } from "../../llm/model/LlmClient.js"
import { asObject, type Draft, draftsOf, read } from "./JsonSchemaText.js"

/** Says what a value must be; undefined when it is. */
type Rule = (value: unknown) => string | undefined

const must =
  (what: string, fits: (value: unknown) => boolean): Rule =>
  (value) =>
    fits(value) ? undefined : `must be ${what}`

const isText = (value: unknown): boolean => typeof value === "string"
const isTexts = (value: unknown): boolean => Array.isArray(value) && value.every(isText)
const isSchema = (value: unknown): boolean => typeof value === "boolean" || Predicate.isReadonlyRecord(value)

const text = must("string", isText)
const number = must("number", (value) => typeof value === "number")
const boolean = must("boolean", (value) => typeof value === "boolean")
const count = must("a whole number from 0", (value) => Number.isInteger(value) && (value as number) >= 0)
const list = must("array", Array.isArray)
const schema = must("object or boolean", isSchema)
const schemas = must("a list of schemas with at least one", (value) => {
  return Array.isArray(value) && value.length > 0 && value.every(isSchema)
})
const recordOf = (what: string, fits: (value: unknown) => boolean): Rule =>
  must(`an object of ${what}`, (value) => Predicate.isReadonlyRecord(value) && Object.values(value).every(fits))
const named = recordOf("schemas", isSchema)

const keysOf = (rule: Rule, keys: string): ReadonlyArray<readonly [string, Rule]> =>
  keys.split(" ").map((key) => [key, rule])

const ofBoth = [
  ...keysOf(text, "$id $schema $ref $comment title description pattern format contentMediaType contentEncoding"),
  ...keysOf(number, "maximum minimum exclusiveMaximum exclusiveMinimum"),
  ...keysOf(count, "maxLength minLength maxItems minItems maxProperties minProperties"),
  ...keysOf(boolean, "readOnly writeOnly uniqueItems"),
  ["examples", list],
  ["enum", must("a list with at least one value", (value) => Array.isArray(value) && value.length > 0)],
  ...keysOf(schema, "additionalProperties contains propertyNames not if then else additionalItems"),
  ...keysOf(schemas, "allOf anyOf oneOf"),
  ...keysOf(named, "properties patternProperties definitions"),
  ["required", must("a list of names", isTexts)],
  ["multipleOf", must("number above 0", (value) => typeof value === "number" && value > 0)],
  ["dependencies", recordOf("schemas and lists of names", (value) => isSchema(value) || isTexts(value))]
] as const

const rulesOf: Readonly<Record<Draft, ReadonlyMap<string, Rule>>> = {
  "draft-07": new Map<string, Rule>([...ofBoth, ["items", (value) => (isSchema(value) ? undefined : schemas(value))]]),
  "2020-12": new Map<string, Rule>([
    ...ofBoth,
    ...keysOf(text, "$anchor $dynamicRef $dynamicAnchor"),
    ...keysOf(count, "maxContains minContains"),
    ...keysOf(schema, "items unevaluatedItems unevaluatedProperties contentSchema"),
    ["deprecated", boolean],
    ["prefixItems", schemas],
    ["$defs", named],
    ["dependentSchemas", named],
    ["dependentRequired", recordOf("lists of names", isTexts)]
  ])
}

/** Keywords whose values are schemas: one, a list of them, or an object of them. */
const one = "additionalProperties additionalItems contains propertyNames not if then else items".split(" ")
const single = new Set([...one, "unevaluatedItems", "unevaluatedProperties"])
const listed = new Set(["allOf", "anyOf", "oneOf", "prefixItems", "items"])
const keyed = new Set(["properties", "patternProperties", "dependencies", "dependentSchemas"])
const shelves = new Set(["$defs", "definitions"])

/** The schemas directly inside another one, with their paths. Definitions count only if they are asked for. */
const inside = (node: JsonSchema, withDefinitions: boolean): ReadonlyArray<readonly [string, unknown]> =>
  Object.entries(node).flatMap(([key, value]) => {
    const isKeyed = keyed.has(key) || (withDefinitions && shelves.has(key))
    if (isKeyed && Predicate.isReadonlyRecord(value)) {
      return Object.entries(value).map(([name, inner]) => [`${key}/${name}`, inner] as const)
    }
    if (listed.has(key) && Array.isArray(value)) return value.map((inner, i) => [`${key}/${i}`, inner] as const)
    return single.has(key) ? [[key, value] as const] : []
  })

const brokenRule = (draft: Draft, node: unknown, path: string): string | undefined => {
  if (!Predicate.isReadonlyRecord(node)) return undefined
  for (const [key, value] of Object.entries(node)) {
    const problem = rulesOf[draft].get(key)?.(value)
    if (problem !== undefined) return `${path}/${key} ${problem}`
  }
  for (const [key, inner] of inside(node, true)) {
    const problem = brokenRule(draft, inner, `${path}/${key}`)
    if (problem !== undefined) return problem
  }
  return undefined
}

const isNaming = (node: unknown): boolean =>
  Predicate.isReadonlyRecord(node) &&
  (["$id", "$anchor", "$dynamicAnchor"].some((key) => Object.hasOwn(node, key)) ||
    inside(node, true).some(([, inner]) => isNaming(inner)))

const decoded = (segment: string): string => {
  try {
    return decodeURIComponent(segment).replace(/~1/g, "/").replace(/~0/g, "~")
  } catch {
    return segment
  }
}

/** The value that a reference within the schema points at. The compiler follows no reference to the whole schema. */
const targetOf = (root: JsonSchema, reference: string): unknown => {
  if (!reference.startsWith("#/")) return undefined
  let target: unknown = root
  for (const segment of reference.slice(2).split("/").map(decoded)) {
    if (typeof target !== "object" || target === null || !Object.hasOwn(target, segment)) return undefined
    target = (target as Readonly<Record<string, unknown>>)[segment]
  }
  return target
}

/** The first reference that points at nothing, among those that a check of a value may follow. */
const brokenReference = (root: JsonSchema): string | undefined => {
  const seen = new Set<unknown>()
  const open: Array<unknown> = [root]
  for (let node = open.pop(); node !== undefined; node = open.pop()) {
    if (seen.has(node) || !Predicate.isReadonlyRecord(node)) continue
    seen.add(node)
    const reference = node["$ref"]
    if (typeof reference === "string") {
      const target = targetOf(root, reference)
      if (target === undefined) return `can't resolve reference ${reference.slice(0, 200)}`
      open.push(target)
    }
    for (const [, inner] of inside(node, false)) open.push(inner)
  }
  return undefined
}

/**
 * The schema of parameters in standard words; `Left` says why it cannot be used.
 *
 * @since 0.1.0
 * @category conversions
 */
export const parameters = (given: unknown): Either.Either<JsonSchema, string> =>
  Either.flatMap(read(given, asObject), ({ modern, schema: { $schema: declared, $id: _, ...schema } }) => {
    const problems = draftsOf(declared, modern).map((draft) => brokenRule(draft, schema, "schema"))
    const broken = problems.every((problem) => problem !== undefined) ? problems[0] : undefined
    const problem = broken ?? (isNaming(schema) ? undefined : brokenReference(schema))
    return problem === undefined ? Either.right(schema) : Either.left(problem)
  })
