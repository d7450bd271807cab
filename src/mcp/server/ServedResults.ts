/**
 * Structured results: values that fit the output schema of their tool.
 *
 * @private
 * @since 0.1.0
 */
import * as Either from "effect/Either"
import * as Predicate from "effect/Predicate"
import type { JsonSchema } from "../../llm/model/LlmClient.js"
import * as JsonSchemaValidator from "../../tool/definition/JsonSchemaValidator.js"

/**
 * Makes the structured content of a value: itself, or an object with it as its only field, as schemas of other values
 * than objects are described. `undefined` if neither fits.
 *
 * @category models
 */
export type Structure = (value: unknown) => Record<string, unknown> | undefined

/**
 * @category constructors
 */
export const make = (schema: JsonSchema): Structure => {
  const compiled = JsonSchemaValidator.compile(schema)
  const fits = (value: unknown): value is Record<string, unknown> =>
    Predicate.isRecord(value) && (Either.isLeft(compiled) || compiled.right.validate(value).length === 0)
  return (value) => (fits(value) ? value : fits({ value }) ? { value } : undefined)
}
