/**
 * Converts a Schema to the answer format of providers (a JSON Schema with an object at the top) and decodes answers.
 */
import * as Effect from "effect/Effect"
import * as JSONSchema from "effect/JSONSchema"
import * as Option from "effect/Option"
import * as ParseResult from "effect/ParseResult"
import type * as Schema from "effect/Schema"
import * as SchemaAST from "effect/SchemaAST"
import * as AllIssues from "./AllIssues.js"

export interface OutputSchema<A, I> {
  readonly jsonSchema: { readonly [key: string]: unknown }
  /** Reason why there is no JSON Schema, if any. */
  readonly problem: string | undefined
  readonly decode: (value: unknown) => Effect.Effect<A, ParseResult.ParseIssue>
  readonly encode: (value: unknown) => Effect.Effect<I, ParseResult.ParseIssue>
  /** Decodes a model's answer; the failure states the issue in words the model can act on. */
  readonly read: (value: unknown) => Effect.Effect<A, string>
}

/** OpenAI and others accept letters, digits, `_` and `-`, at most 64. */
export const nameOf = (schema: Schema.Schema<any, any>, fallback: string): string => {
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
  const wrapped = body["type"] !== "object"
  const top = wrapped
    ? { type: "object", properties: { value: body }, required: ["value"], additionalProperties: false }
    : body
  return { wrapped, jsonSchema: Object.keys(definitions).length === 0 ? top : { ...top, $defs: definitions } }
}

/** Describes an issue in words a model can act on. */
export const explain = (issue: ParseResult.ParseIssue): string =>
  ParseResult.ArrayFormatter.formatIssueSync(issue)
    .slice(0, 20)
    .map((one) => (one.path.length === 0 ? one.message : `${one.path.join(".")}: ${one.message}`))
    .join("; ")

/** Compiles a schema once for any number of answers. */
export const make = <A, I>(schema: Schema.Schema<A, I, never>): OutputSchema<A, I> => {
  let made: ReturnType<typeof jsonSchemaOf> = { wrapped: false, jsonSchema: { type: "object", properties: {} } }
  let problem: string | undefined
  try {
    made = jsonSchemaOf(schema)
  } catch (error) {
    problem = `its output schema has no JSON Schema: ${error instanceof Error ? error.message.slice(0, 300) : "unknown reason"}`
  }
  const { jsonSchema, wrapped } = made
  const decode = AllIssues.decoder(schema)
  return {
    jsonSchema,
    problem,
    decode,
    encode: ParseResult.encodeUnknown(schema),
    read: (value) => {
      const inner =
        wrapped && typeof value === "object" && value !== null && Object.hasOwn(value, "value")
          ? (value as { readonly value: unknown }).value
          : value
      return Effect.mapError(decode(inner), explain)
    }
  }
}
