/**
 * Checks parameters and results of skills; compiled once per skill.
 *
 * @private
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import type * as Schema from "effect/Schema"
import type { JsonSchema } from "../../llm/model/LlmClient.js"
import type { Issue } from "../../tool/definition/JsonSchemaValidator.js"
import * as JsonSchemaValidator from "../../tool/definition/JsonSchemaValidator.js"
import * as ParameterCodec from "../../tool/definition/Parameters.js"

/**
 * Encodes results, and decodes them again.
 *
 * @category models
 */
export interface ResultCodec {
  readonly schema: JsonSchema
  readonly problem: ParameterCodec.Problem | undefined
  readonly encode: (value: unknown) => Effect.Effect<unknown, string>
  readonly decodeResult: (encoded: unknown) => Effect.Effect<unknown, string>
}

/**
 * An issue as one text.
 *
 * @category conversions
 */
const issueText = ({ message, path }: Issue): string => (path === "" ? message : `${path}: ${message}`)

const issueTexts = (issues: ReadonlyArray<Issue>): ReadonlyArray<string> => issues.map(issueText)

/**
 * Decodes parameters with the codec and renders issues as text. An `Either` stays an `Either`, which needs no further
 * step.
 *
 * @category conversions
 */
export const decoding =
  (params: Pick<ParameterCodec.Codec, "decode">) =>
  (given: unknown): Effect.Effect<unknown, ReadonlyArray<string>> => {
    const decoded = params.decode(given)
    return Either.isEither(decoded)
      ? Either.mapLeft(decoded as Either.Either<unknown, ReadonlyArray<Issue>>, issueTexts)
      : Effect.mapError(decoded, issueTexts)
  }

/**
 * Accepts any result unchanged.
 *
 * @category constructors
 */
export const any: ResultCodec = { schema: {}, problem: undefined, encode: Either.right, decodeResult: Either.right }

const schemaOf = (schema: Schema.Schema<any, any, never>): Pick<ResultCodec, "schema" | "problem"> => {
  try {
    return { schema: ParameterCodec.toJsonSchema(schema), problem: undefined }
  } catch (cause) {
    return {
      schema: {},
      problem: {
        message: "The result has no JSON Schema",
        hint: "Give the offending part a schema with a JSON form, or annotate it with `jsonSchema`",
        cause
      }
    }
  }
}

/**
 * @category constructors
 */
export const forSchema = (schema: Schema.Schema<any, any, never> | undefined): ResultCodec => {
  if (schema === undefined) return any
  return { ...schemaOf(schema), encode: ParameterCodec.encoder(schema), decodeResult: ParameterCodec.decoder(schema) }
}

/**
 * @category constructors
 */
export const ofJsonSchema = (schema: unknown): ResultCodec => {
  if (schema === undefined) return any
  const compiled = JsonSchemaValidator.compileAny(schema)
  if (Either.isLeft(compiled)) {
    return {
      ...any,
      problem: {
        message: `The JSON Schema of the result does not compile: ${compiled.left}`,
        hint: "Use draft-07 or 2020-12 without references to other documents"
      }
    }
  }
  const { schema: read, validate } = compiled.right
  const check = (value: unknown): Either.Either<unknown, string> => {
    const issues = validate(value)
    return issues.length === 0 ? Either.right(value) : Either.left(issueTexts(issues).join("; "))
  }
  return { schema: read, problem: undefined, encode: check, decodeResult: check }
}
