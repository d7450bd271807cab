/**
 * A Schema as providers want the shape of an answer: a JSON Schema with an object at the top, and the way back.
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
  /** Why there is no JSON Schema, if there is none. */
  readonly problem: string | undefined
  readonly decode: (value: unknown) => Effect.Effect<A, ParseResult.ParseIssue>
  readonly encode: (value: unknown) => Effect.Effect<I, ParseResult.ParseIssue>
  /** Decodes what a model sent; the failure says what is wrong in words it can act on. */
  readonly read: (value: unknown) => Effect.Effect<A, string>
}

/** OpenAI and others take letters, digits, `_` and `-`, at most 64. */
export const nameOf = (schema: Schema.Schema<any, any>, fallback: string): string => {
  // That of a class stands at the side it decodes to.
  const { ast } = schema
  const identifier = Option.getOrElse(
    SchemaAST.getJSONIdentifier(SchemaAST.isTransformation(ast) ? ast.to : ast),
    () => fallback
  )
  return identifier.replace(/[^A-Za-z0-9_-]/g, "_").slice(0, 64) || "output"
}

/**
 * Providers want an object at the top: anything else travels as its only field. References hold from the top, wrapped
 * or not.
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

/** What is wrong, in words a model can act on. */
export const explain = (issue: ParseResult.ParseIssue): string =>
  ParseResult.ArrayFormatter.formatIssueSync(issue)
    .slice(0, 20)
    .map((one) => (one.path.length === 0 ? one.message : `${one.path.join(".")}: ${one.message}`))
    .join("; ")

/** Compiled once; what comes back may be used for any number of answers. */
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
