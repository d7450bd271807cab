/**
 * The parameters of tools and skills: one schema, compiled once, decodes them, encodes them and describes them to
 * models.
 *
 * @private
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as JSONSchema from "effect/JSONSchema"
import * as ParseResult from "effect/ParseResult"
import * as Schema from "effect/Schema"
import type { Simplify } from "effect/Types"
import * as OnDemand from "../../internal/fiber/OnDemand.js"
import * as AllIssues from "../../internal/text/AllIssues.js"
import * as StandardSchema from "../../internal/text/StandardSchema.js"
import type { JsonSchema } from "../../llm/model/LlmClient.js"
import * as JsonSchemaCheck from "./JsonSchemaCheck.js"
import type { Issue } from "./JsonSchemaText.js"
import type { compile as Compile, Validator } from "./JsonSchemaValidator.js"

/**
 * Parameters as a definition gives them: an object schema, or its fields, or a Standard Schema of another library.
 *
 * @since 0.1.0
 * @category models
 */
export type Parameters = Schema.Struct.Fields | Schema.Schema<any, any, never> | StandardSchema.StandardSchema<any, any>

/**
 * The decoded parameters.
 *
 * @since 0.1.0
 * @category models
 */
export type ParametersType<P extends Parameters> =
  P extends Schema.Schema<infer A, any, never>
    ? A
    : P extends Schema.Struct.Fields
      ? Simplify<Schema.Struct.Type<P>>
      : P extends StandardSchema.StandardSchema<any, any>
        ? StandardSchema.OutputOf<P>
        : never

/**
 * The problem that makes a definition unusable.
 *
 * @since 0.1.0
 * @category models
 */
export interface Problem {
  readonly message: string
  readonly hint: string
  readonly cause?: unknown
}

/**
 * @since 0.1.0
 * @category models
 */
export interface Codec {
  /** The JSON Schema of the object, for models. */
  readonly parameters: JsonSchema
  readonly problem: Problem | undefined
  readonly decode: (args: unknown) => Effect.Effect<unknown, ReadonlyArray<Issue>>
  /** The encoded form of decoded parameters; `undefined` when they cannot be encoded. */
  readonly encode: (params: unknown) => unknown
}

const isFields = (
  parameters: Schema.Struct.Fields | Schema.Schema<any, any, never>
): parameters is Schema.Struct.Fields => !Schema.isSchema(parameters)

const issuesOf = (error: ParseResult.ParseIssue): ReadonlyArray<Issue> =>
  ParseResult.ArrayFormatter.formatIssueSync(error).map((issue) => ({
    path: issue.path.join("."),
    message: issue.message
  }))

/**
 * The JSON Schema of an Effect Schema. Providers require an object at the top, where `JSONSchema.make` puts a reference
 * for a schema with an identifier. Throws for a schema without a JSON form.
 *
 * @since 0.1.0
 * @category conversions
 */
export const toJsonSchema = (schema: Schema.Schema<any, any, any>): JsonSchema => {
  const definitions: Record<string, JSONSchema.JsonSchema7> = {}
  const root: object = JSONSchema.fromAST(schema.ast, { definitions, topLevelReferenceStrategy: "skip" })
  const { $id: _, ...body } = root as { readonly $id?: unknown; readonly [key: string]: unknown }
  return Object.keys(definitions).length === 0 ? body : { ...body, $defs: definitions }
}

/**
 * No parameters at all.
 *
 * @since 0.1.0
 * @category constructors
 */
export const none: Codec = {
  parameters: { type: "object", properties: {}, additionalProperties: false },
  problem: undefined,
  // An empty struct would accept any value and pass it on.
  decode: () => Either.right({}),
  encode: () => ({})
}

/**
 * From fields or a schema. `subject` names its owner in problems: `tool "weather"`. A JSON Schema that is given
 * replaces that of the parameters.
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = (subject: string, given: Parameters | undefined, jsonSchema?: unknown): Codec => {
  const codec = codecOf(subject, given, jsonSchema)
  if (jsonSchema === undefined) return codec
  if (codec === none) {
    return {
      ...none,
      problem: {
        message: `${subject} has a JSON Schema, but no parameters`,
        hint: "Give `parameters`, or use `fromJsonSchema`"
      }
    }
  }
  return { ...codec, ...rawParameters(subject, jsonSchema) }
}

/** A JSON Schema from outside, in standard words. */
const rawParameters = (subject: string, jsonSchema: unknown): Pick<Codec, "parameters" | "problem"> =>
  Either.match(JsonSchemaCheck.parameters(jsonSchema), {
    onLeft: (reason) => ({
      parameters: none.parameters,
      problem: {
        message: `The JSON Schema of ${subject} cannot be used: ${reason}`,
        hint: "Use draft-07 or 2020-12 with an object at the top"
      }
    }),
    onRight: (parameters) => ({ parameters, problem: undefined })
  })

const fromStandard = (subject: string, schema: StandardSchema.StandardSchema<any, any>, given: unknown): Codec => ({
  ...Either.match(
    given === undefined ? StandardSchema.toJsonSchema(schema, "parametersJsonSchema") : Either.right(given),
    {
      onLeft: ({ cause, hint, reason }) => ({
        parameters: none.parameters,
        problem: { message: `The parameters of ${subject} have no JSON Schema: ${reason}`, hint, cause }
      }),
      onRight: (jsonSchema) => rawParameters(subject, jsonSchema)
    }
  ),
  decode: StandardSchema.decoder(schema),
  // Such a schema has no way back.
  encode: () => undefined
})

const codecOf = (subject: string, given: Parameters | undefined, jsonSchema: unknown): Codec => {
  if (given === undefined) return none
  if (StandardSchema.isStandard(given)) return fromStandard(subject, given, jsonSchema)
  if (isFields(given)) {
    return Object.keys(given).length === 0 ? none : fromSchema(subject, Schema.Struct(given))
  }
  return fromSchema(subject, given)
}

const fromSchema = (subject: string, schema: Schema.Schema<any, any, any>): Codec => {
  let parameters: JsonSchema = { type: "object", properties: {} }
  let problem: Problem | undefined
  try {
    const whole = toJsonSchema(schema)
    parameters = "type" in whole || "enum" in whole || "const" in whole ? whole : { type: "object", ...whole }
    if (parameters["type"] !== "object") {
      problem = {
        message: `The parameters of ${subject} are not an object`,
        hint: "Models pass parameters by name: put the value into a field"
      }
    }
  } catch (error) {
    problem = {
      message: `The parameters of ${subject} have no JSON Schema`,
      hint: "Give the offending field a schema with a JSON form, or annotate it with `jsonSchema`",
      cause: error
    }
  }
  const decode = AllIssues.decoder(schema as Schema.Schema<any, any, never>)
  const encode = ParseResult.encodeUnknownEither(schema as Schema.Schema<any, any, never>)
  return {
    parameters,
    problem,
    decode: (args) => mapFailure(decode(args), issuesOf),
    encode: (params) => Either.getOrUndefined(encode(params))
  }
}

const validators = OnDemand.make(() => import("./JsonSchemaValidator.js"))

/** A schema that does not compile accepts nothing. */
const compiled = (schema: unknown, { compile }: { readonly compile: typeof Compile }): Validator["validate"] =>
  Either.match(compile(schema), {
    onLeft: (reason) => () => [{ path: "", message: `cannot be checked: the schema does not compile: ${reason}` }],
    onRight: ({ validate }) => validate
  })

/**
 * From a raw JSON Schema; `Left` says why it cannot be used. The validator is loaded and compiled for the first value.
 *
 * @since 0.1.0
 * @category constructors
 */
export const fromJsonSchema = (schema: unknown): Either.Either<Codec, string> =>
  Either.map(JsonSchemaCheck.parameters(schema), (parameters) => {
    let validate: Validator["validate"] | undefined
    const check = (validate: Validator["validate"], args: unknown): Either.Either<unknown, ReadonlyArray<Issue>> => {
      const issues = validate(args)
      return issues.length === 0 ? Either.right(args) : Either.left(issues)
    }
    return {
      parameters,
      problem: undefined,
      decode: (args) =>
        validate === undefined
          ? Effect.flatMap(validators, (module) => {
              validate ??= compiled(schema, module)
              return check(validate, args)
            })
          : check(validate, args),
      encode: (params) => params
    }
  })

/**
 * Encodes results through their schema; `Left` says what does not fit. Without a schema they stay unchanged. A Standard
 * Schema validates them: its output is the encoded form.
 *
 * @since 0.1.0
 * @category conversions
 */
export const encoder = (
  schema: Schema.Schema<any, any, never> | StandardSchema.StandardSchema<any, any> | undefined
): ((value: unknown) => Effect.Effect<unknown, string>) => {
  if (schema === undefined) return Either.right
  if (StandardSchema.isStandard(schema)) {
    const validate = StandardSchema.decoder(schema)
    return (value) => Effect.mapError(validate(value), StandardSchema.explain)
  }
  const encode = AllIssues.encoder(schema)
  return (value) => mapFailure(encode(value), formatted)
}

/**
 * Decodes foreign data through its schema; `Left` says what does not fit.
 *
 * @since 0.1.0
 * @category conversions
 */
export const decoder = (
  schema: Schema.Schema<any, any, never>
): ((value: unknown) => Effect.Effect<unknown, string>) => {
  const decode = AllIssues.decoder(schema)
  return (value) => mapFailure(decode(value), formatted)
}

const formatted = (issue: ParseResult.ParseIssue): string => ParseResult.TreeFormatter.formatIssueSync(issue)

/** Schemas without asynchronous steps give an `Either`, which needs no further step. */
const mapFailure = <A, E, E2>(effect: Effect.Effect<A, E>, f: (error: E) => E2): Effect.Effect<A, E2> =>
  Either.isEither(effect) ? Either.mapLeft(effect as Either.Either<A, E>, f) : Effect.mapError(effect, f)
