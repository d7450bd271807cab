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
import { asObject, BUDGET, type Draft, draftsOf, type Issue, makeWalker, type Read, read } from "./JsonSchemaText.js"

export { type Issue, limits, normalise } from "./JsonSchemaText.js"

/**
 * @since 0.1.0
 * @category models
 */
export interface Validator {
  readonly schema: JsonSchema
  /** All issues of a value; none when it fits. At most 20. */
  readonly validate: (value: unknown) => ReadonlyArray<Issue>
}

/** The compiler takes patterns of one text for one pattern. */
const accepting = { test: () => true, toString: () => "any text" }

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
        return {
          test: (text: string) => text.length > PatternCost.maxText || expression.test(text),
          toString: () => String(expression)
        }
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

const MAX_REFERENCES = 50_000

class OverBudget extends Error {}

const isDynamic = (schema: unknown): boolean =>
  typeof schema === "object" &&
  schema !== null &&
  (Object.hasOwn(schema, "$dynamicRef") ||
    Object.hasOwn(schema, "$dynamicAnchor") ||
    Object.values(schema).some(isDynamic))

/**
 * Whether a dynamic reference may lead elsewhere than a plain one: if a schema inside with an `$id` has any, or where
 * both kinds are in one place.
 */
const hasScopes = (schema: unknown): boolean =>
  typeof schema === "object" &&
  schema !== null &&
  ((Object.hasOwn(schema, "$id") && isDynamic(schema)) ||
    (Object.hasOwn(schema, "$ref") && Object.hasOwn(schema, "$dynamicRef")) ||
    (Object.hasOwn(schema, "$anchor") && Object.hasOwn(schema, "$dynamicAnchor")) ||
    Object.values(schema).some(hasScopes))

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
    const isStatic = draft === "2020-12" && !hasScopes(schema)
    const check: ValidateFunction = ajv.compile(makeWalker("compiled", isStatic).walk(schema, 0) as object)
    return Either.right((value) => {
      left = MAX_REFERENCES
      return check(value) ? undefined : (check.errors ?? [])
    })
  } catch (error) {
    return Either.left(reasonOf(error))
  }
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
