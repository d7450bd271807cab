/**
 * Normalizes JSON Schemas from outside (MCP servers, files, skills) and compiles each once.
 *
 * @since 0.1.0
 */
import type { ErrorObject, ValidateFunction } from "ajv"
import { Ajv } from "ajv"
import { Ajv2020 } from "ajv/dist/2020.js"
import * as Either from "effect/Either"
import * as PatternCost from "../../internal/text/PatternCost.js"
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

/**
 * The most levels and parts of a schema. Compiling takes time in proportion and cannot be interrupted.
 *
 * @since 0.1.0
 * @category constants
 */
export const limits = { depth: 64, nodes: 2000 } as const

class Refused extends Error {}

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

interface Read {
  readonly schema: JsonSchema
  /** Whether it uses keywords of the newer drafts. */
  readonly modern: boolean
}

const read = (
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

const asObject = (record: Record<string, unknown>): Either.Either<JsonSchema, string> => {
  const type = record["type"]
  if (type === "object") return Either.right(record)
  if (Array.isArray(type) ? !type.includes("object") : type !== undefined) {
    return Either.left(`parameters are an object, not ${JSON.stringify(type).slice(0, 64)}`)
  }
  const composed = ["$ref", "oneOf", "anyOf", "allOf"].some((key) => Object.hasOwn(record, key))
  return Either.right(composed ? { ...record, type: "object" } : { properties: {}, ...record, type: "object" })
}

const modernWords = new Set(["$defs", "prefixItems", "$dynamicRef", "dependentRequired", "dependentSchemas"])

const isTooDeep = (data: unknown, depth: number): boolean =>
  typeof data === "object" &&
  data !== null &&
  (depth > limits.depth || Object.values(data).some((item) => isTooDeep(item, depth + 1)))

/** Counts the references that a validation follows: a few lines can make it follow them forever. */
const BUDGET = "lexBudget"
const MAX_REFERENCES = 50_000

/**
 * The purpose of a walk: the model, the meta-schema (which compares each value of an enum with all others), or the
 * compiler.
 */
type Purpose = "plain" | "judged" | "compiled"

const makeWalker = (purpose: Purpose) => {
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
          if (key !== "__proto__" && key !== BUDGET) result[key] = walk(value, depth + 1)
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

const accepting = { test: () => true }

/**
 * Patterns come from outside and run on this thread. A pattern that may take long or is not valid JavaScript accepts
 * everything, and so does every pattern for a long text: the tool checks for itself.
 */
const regExp = Object.assign(
  (pattern: string, flags: string) => {
    if (!PatternCost.isCheap(pattern)) return accepting
    for (const flag of [flags, ""]) {
      try {
        const expression = new RegExp(pattern, flag)
        return { test: (text: string) => text.length > PatternCost.maxText || expression.test(text) }
      } catch {}
    }
    return accepting
  },
  { code: "new RegExp" }
)

const options = {
  strict: false,
  allErrors: true,
  validateFormats: false,
  validateSchema: false,
  meta: false,
  logger: false,
  addUsedSchema: false,
  ownProperties: true,
  code: { regExp }
} as const

/** The errors, where there are any. */
type Checked = ReadonlyArray<ErrorObject> | undefined

type Draft = "draft-07" | "2020-12"

/** The meta-schemas take longest to compile: once per draft. They keep nothing of what they validate. */
const judges: { [D in Draft]?: Ajv | Ajv2020 } = {}
const judge = (draft: Draft): Ajv | Ajv2020 => {
  judges[draft] ??= draft === "2020-12" ? new Ajv2020({ logger: false }) : new Ajv({ logger: false })
  return judges[draft]
}
const metaSchema = {
  "draft-07": "http://json-schema.org/draft-07/schema",
  "2020-12": "https://json-schema.org/draft/2020-12/schema"
} as const

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
    case "enum": {
      const allowed = (error.params as { allowedValues?: ReadonlyArray<unknown> }).allowedValues ?? []
      return `must be one of ${JSON.stringify(allowed.slice(0, 50)).slice(0, 500)}`
    }
    default:
      return error.message ?? error.keyword
  }
}

const reasonOf = (error: unknown): string =>
  error instanceof RangeError
    ? "its references go in circles"
    : error instanceof Error && error.message !== ""
      ? error.message.slice(0, 500)
      : "the schema does not compile"

class OverBudget extends Error {}

const compileAs = (draft: Draft, schema: JsonSchema): Either.Either<(value: unknown) => Checked, string> => {
  try {
    const meta = judge(draft)
    if (meta.validate(metaSchema[draft], makeWalker("judged").walk(schema, 0)) !== true) {
      return Either.left(meta.errorsText(meta.errors, { dataVar: "schema" }).slice(0, 500))
    }
    // One instance per schema: a shared one keeps every schema it has seen.
    const ajv = draft === "2020-12" ? new Ajv2020(options) : new Ajv(options)
    let left = 0
    ajv.addKeyword({
      keyword: BUDGET,
      errors: false,
      validate: () => {
        if (--left < 0) throw new OverBudget()
        return true
      }
    })
    const check: ValidateFunction = ajv.compile(makeWalker("compiled").walk(schema, 0) as object)
    return Either.right((value) => {
      left = MAX_REFERENCES
      return check(value) ? undefined : (check.errors ?? [])
    })
  } catch (error) {
    return Either.left(reasonOf(error))
  }
}

const draftsOf = (declared: unknown, modern: boolean): ReadonlyArray<Draft> => {
  if (typeof declared === "string" && declared !== "") return [declared.includes("2020-12") ? "2020-12" : "draft-07"]
  return modern ? ["2020-12", "draft-07"] : ["draft-07", "2020-12"]
}

/**
 * Compiles a schema of draft-07 or 2020-12: by its `$schema`, otherwise by its keywords. Formats are not checked, and
 * references to other documents are rejected; `Left` says why a schema does not compile.
 *
 * @since 0.1.0
 * @category constructors
 */
export const compile = (schema: unknown): Either.Either<Validator, string> => compileRead(read(schema, asObject))

/**
 * Like `compile`, for values of any type; a schema without a type accepts everything.
 *
 * @since 0.1.0
 * @category constructors
 */
export const compileAny = (schema: unknown): Either.Either<Validator, string> => compileRead(read(schema, Either.right))

const compileRead = (given: Either.Either<Read, string>): Either.Either<Validator, string> =>
  Either.flatMap(given, ({ modern, schema }) => {
    const { $schema: declared, $id: _, ...body } = schema
    const [draft, other] = draftsOf(declared, modern)
    const first = compileAs(draft as Draft, body)
    const compiled =
      Either.isLeft(first) && other !== undefined ? Either.orElse(compileAs(other, body), () => first) : first
    return Either.map(compiled, (check) => ({
      schema: body,
      validate: (value) => {
        let errors: Checked
        try {
          errors = check(value)
        } catch (error) {
          if (!(error instanceof OverBudget || error instanceof RangeError)) throw error
          return [{ path: "", message: "is too deep or too complex to be checked" }]
        }
        return errors === undefined
          ? []
          : errors.slice(0, 20).map((error) => ({ path: pathOf(error), message: messageOf(error) }))
      }
    }))
  })
