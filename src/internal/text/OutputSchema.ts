/**
 * Converts a Schema to the answer format of providers (a JSON Schema with an object at the top) and decodes answers.
 */
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as JSONSchema from "effect/JSONSchema"
import * as Option from "effect/Option"
import * as ParseResult from "effect/ParseResult"
import * as Predicate from "effect/Predicate"
import * as Schema from "effect/Schema"
import * as SchemaAST from "effect/SchemaAST"
import * as AllIssues from "./AllIssues.js"
import * as StandardSchema from "./StandardSchema.js"

type JsonSchema = { readonly [key: string]: unknown }

export interface OutputSchema<A, I> {
  readonly jsonSchema: JsonSchema
  /** Reason why there is no JSON Schema, if any. */
  readonly problem: string | undefined
  readonly decode: (value: unknown) => Effect.Effect<A, ParseResult.ParseIssue>
  readonly encode: (value: unknown) => Effect.Effect<I, ParseResult.ParseIssue>
  /** Decodes a model's answer; the failure states the issue in words the model can act on. */
  readonly read: (value: unknown) => Effect.Effect<A, string>
  /** Like `read`, with the encoded form as its result. */
  readonly check: (value: unknown) => Effect.Effect<I, string>
}

type AnyStandard = StandardSchema.StandardSchema<any, any>

/** OpenAI and others accept letters, digits, `_` and `-`, at most 64. */
export const nameOf = (schema: Schema.Schema<any, any> | AnyStandard, fallback: string): string => {
  if (StandardSchema.isStandard(schema)) return fallback.replace(/[^A-Za-z0-9_-]/g, "_").slice(0, 64) || "output"
  // The annotations of a class are on its decoded side.
  const { ast } = schema
  const identifier = Option.getOrElse(
    SchemaAST.getJSONIdentifier(SchemaAST.isTransformation(ast) ? ast.to : ast),
    () => fallback
  )
  return identifier.replace(/[^A-Za-z0-9_-]/g, "_").slice(0, 64) || "output"
}

/**
 * Providers require an object at the top: any other value is wrapped as its only field. References stay valid either
 * way.
 */
const jsonSchemaOf = (schema: Schema.Schema<any, any, never>) => {
  const definitions: Record<string, JSONSchema.JsonSchema7> = {}
  const root: object = JSONSchema.fromAST(schema.ast, { definitions, topLevelReferenceStrategy: "skip" })
  const { $id: _, ...body } = root as { readonly [key: string]: unknown }
  return withObjectAtTop(body, definitions)
}

const withObjectAtTop = (body: JsonSchema, definitions: JsonSchema) => {
  const wrapped = body["type"] !== "object"
  const top = wrapped
    ? { type: "object", properties: { value: body }, required: ["value"], additionalProperties: false }
    : body
  return { wrapped, jsonSchema: Object.keys(definitions).length === 0 ? top : { ...top, $defs: definitions } }
}

/** True if answers of a schema are the only field of an object. */
export const isWrapped = (schema: Schema.Schema<any, any, never>): boolean => {
  try {
    return jsonSchemaOf(schema).wrapped
  } catch {
    return false
  }
}

/** The field of a wrapped value. */
export const unwrap = (value: unknown, wrapped: boolean): unknown =>
  wrapped && typeof value === "object" && value !== null && Object.hasOwn(value, "value")
    ? (value as { readonly value: unknown }).value
    : value

/** References to the whole schema, which a wrapped one no longer is. */
const toField = (body: JsonSchema): JsonSchema =>
  JSON.parse(JSON.stringify(body), (key, value) => (key === "$ref" && value === "#" ? "#/properties/value" : value))

const fromRaw = ({ $defs, ...body }: JsonSchema) =>
  withObjectAtTop(body["type"] === "object" ? body : toField(body), ($defs ?? {}) as JsonSchema)

/** Describes an issue in words a model can act on. */
export const explain = (issue: ParseResult.ParseIssue): string =>
  StandardSchema.explain(
    ParseResult.ArrayFormatter.formatIssueSync(issue).map(({ message, path }) => ({ path: path.join("."), message }))
  )

const empty = { wrapped: false, jsonSchema: { type: "object", properties: {} } as JsonSchema }

/** Compiles a schema once for any number of answers. A JSON Schema that is given replaces its own. */
export const make = <A, I>(schema: Schema.Schema<A, I, never>, given?: JsonSchema): OutputSchema<A, I> => {
  let made = empty
  let problem: string | undefined
  try {
    made = given === undefined ? jsonSchemaOf(schema) : fromRaw(given)
  } catch (error) {
    problem = `its output schema has no JSON Schema: ${error instanceof Error ? error.message.slice(0, 300) : "unknown reason"}`
  }
  const { jsonSchema, wrapped } = made
  const decode = AllIssues.decoder(schema)
  const encode = ParseResult.encodeUnknown(schema)
  const read = (value: unknown) => Effect.mapError(decode(unwrap(value, wrapped)), explain)
  return {
    jsonSchema,
    problem,
    decode,
    encode,
    read,
    check: (value) => Effect.flatMap(read(value), (decoded) => Effect.mapError(encode(decoded), explain))
  }
}

/**
 * As `make`, for a Standard Schema, which has no way back: a decoded answer is its own encoded form, and `check` gives
 * what the model wrote. An object is validated once; asked again, its decoded form is the same value.
 */
export const fromStandard = (schema: AnyStandard, given?: JsonSchema): OutputSchema<unknown, unknown> => {
  const described = given === undefined ? StandardSchema.toJsonSchema(schema, "outputJsonSchema") : Either.right(given)
  const made = Either.match(described, { onLeft: () => empty, onRight: fromRaw })
  const validate = StandardSchema.decoder(schema)
  const known = new WeakMap<object, unknown>()
  const decode = (value: unknown) => {
    if (!Predicate.isObject(value)) return validate(value)
    return known.has(value)
      ? Effect.succeed(known.get(value))
      : Effect.tap(validate(value), (decoded) => void known.set(value, decoded))
  }
  const read = (value: unknown) => Effect.mapError(decode(unwrap(value, made.wrapped)), StandardSchema.explain)
  return {
    jsonSchema: made.jsonSchema,
    problem: Either.isRight(described)
      ? undefined
      : `its output schema has no JSON Schema: ${described.left.reason}. ${described.left.hint}`,
    decode: (value) =>
      Effect.mapError(
        decode(value),
        (issues) => new ParseResult.Type(Schema.Unknown.ast, value, StandardSchema.explain(issues))
      ),
    encode: Effect.succeed,
    read,
    check: (value) => Effect.as(read(value), unwrap(value, made.wrapped))
  }
}

/** The JSON Schema of a value, with an object at the top; `undefined` if its schema has none. */
export const describe = (schema: Schema.Schema<any, any, never> | AnyStandard): JsonSchema | undefined => {
  const { jsonSchema, problem } = StandardSchema.isStandard(schema) ? fromStandard(schema) : make(schema)
  return problem === undefined ? jsonSchema : undefined
}
