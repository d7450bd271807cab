/**
 * Describes parameters as a list, for skills without a schema: written by hand or read from data.
 *
 * @since 0.1.0
 */

import type * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import { dual } from "effect/Function"
import * as Predicate from "effect/Predicate"
import type { JsonSchema } from "../../llm/model/LlmClient.js"
import * as JsonSchemaValidator from "../../tool/definition/JsonSchemaValidator.js"
import * as Skill from "./Skill.js"
import type * as SkillCall from "./SkillCall.js"
import type * as SkillDefinition from "./SkillDefinition.js"
import type { SkillParameter } from "./SkillDefinition.js"
import { SkillValidationError } from "./SkillError.js"

/**
 * A parameter as given: required unless it says otherwise or has a default.
 *
 * @since 0.1.0
 * @category models
 */
export type Given = Omit<SkillParameter, "required"> & { readonly required?: boolean | undefined }

const types: ReadonlyArray<string> = ["string", "integer", "number", "boolean", "array", "object"]

const isRequired = (parameter: Given): boolean => parameter.required ?? parameter.default === undefined

const propertyOf = ({ default: fallback, description, maxLength, maxValue, minValue, type, ...rest }: Given) => ({
  type,
  ...(description === "" ? {} : { description }),
  ...(rest.enum === undefined ? {} : { enum: rest.enum }),
  ...(minValue === undefined ? {} : { minimum: minValue }),
  ...(maxValue === undefined ? {} : { maximum: maxValue }),
  ...(maxLength === undefined ? {} : { maxLength }),
  ...(fallback === undefined ? {} : { default: fallback })
})

/**
 * The JSON Schema of an object with exactly these parameters. Of two parameters with one name the last one counts;
 * `issues` reports it.
 *
 * @since 0.1.0
 * @category conversions
 */
export const toJsonSchema = (parameters: ReadonlyArray<Given>): JsonSchema => ({
  type: "object",
  // Defines own properties, whatever their names.
  properties: Object.fromEntries(parameters.map((parameter) => [parameter.name, propertyOf(parameter)])),
  required: [...new Set(parameters.filter(isRequired).map(({ name }) => name))],
  additionalProperties: false
})

const MAX_ISSUES = 20

const quoteName = (name: string): string => JSON.stringify(name.slice(0, 64))

/** Keywords that do not restrict values. */
const remarks = new Set(["$schema", "$id", "$comment", "title", "description", "examples", "example"])
const topWords = new Set([...remarks, "type", "properties", "required", "additionalProperties"])
const propertyWords = new Set([...remarks, "type", "enum", "minimum", "maximum", "maxLength", "default"])

const unknownWords = (schema: Readonly<Record<string, unknown>>, known: ReadonlySet<string>, where: string) =>
  Object.keys(schema)
    .filter((word) => !known.has(word))
    .map((word) => `${where}: ${quoteName(word)} cannot be said of a parameter in a list`)

const readProperty = (
  name: string,
  schema: unknown,
  required: boolean
): Either.Either<SkillParameter, ReadonlyArray<string>> => {
  const where = quoteName(name)
  if (!Predicate.isReadonlyRecord(schema)) return Either.left([`${where}: it has no schema of its own`])
  const issues = unknownWords(schema, propertyWords, where)
  const { description, maximum, maxLength, minimum, type } = schema
  if (!types.includes(type as string)) issues.push(`${where}: the type is not one of ${types.join(", ")}`)
  for (const [word, value] of Object.entries({ maximum, minimum })) {
    if (value !== undefined && !Number.isFinite(value)) issues.push(`${where}: ${word} is not a number`)
  }
  if (maxLength !== undefined && !(Number.isSafeInteger(maxLength) && (maxLength as number) >= 0))
    issues.push(`${where}: maxLength is not a whole number from 0`)
  if (issues.length > 0) return Either.left(issues)
  return Either.right({
    name,
    type: type as SkillParameter["type"],
    description: typeof description === "string" ? description : "",
    required,
    ...(schema["default"] === undefined ? {} : { default: schema["default"] }),
    ...(schema["enum"] === undefined ? {} : { enum: schema["enum"] as ReadonlyArray<unknown> }),
    ...(minimum === undefined ? {} : { minValue: minimum as number }),
    ...(maximum === undefined ? {} : { maxValue: maximum as number }),
    ...(maxLength === undefined ? {} : { maxLength: maxLength as number })
  })
}

/**
 * The parameters of a JSON Schema that is an object of plain properties, or everything in it that a list cannot
 * express: compositions, references, patterns, items and nested properties, additional properties. Annotations (titles,
 * examples) are ignored.
 *
 * @since 0.1.0
 * @category conversions
 */
export const fromJsonSchema = (
  schema: unknown
): Either.Either<ReadonlyArray<SkillParameter>, ReadonlyArray<string>> => {
  if (!Predicate.isReadonlyRecord(schema)) return Either.left(["It is no schema of an object"])
  const normalised = JsonSchemaValidator.normalise(schema)
  if (Either.isLeft(normalised)) return Either.left([normalised.left])
  const { additionalProperties, properties, required } = normalised.right
  const issues = unknownWords(normalised.right, topWords, "the parameters")
  if (additionalProperties !== undefined && additionalProperties !== false)
    issues.push("the parameters: further properties cannot be allowed by a list")
  const names = new Set(Array.isArray(required) ? (required as ReadonlyArray<string>) : [])
  const parameters: Array<SkillParameter> = []
  for (const [name, property] of Object.entries(Predicate.isReadonlyRecord(properties) ? properties : {})) {
    const parameter = readProperty(name, property, names.delete(name))
    if (Either.isRight(parameter)) parameters.push(parameter.right)
    else issues.push(...parameter.left)
  }
  for (const name of names) issues.push(`${quoteName(name)}: it is required, and has no schema`)
  return issues.length === 0 ? Either.right(parameters) : Either.left(issues.slice(0, MAX_ISSUES))
}

const hasType = (value: unknown, type: SkillParameter["type"]): boolean => {
  switch (type) {
    case "string":
    case "boolean":
      return typeof value === type
    case "number":
      return typeof value === "number" && Number.isFinite(value)
    case "integer":
      return Number.isInteger(value)
    case "array":
      return Array.isArray(value)
    case "object":
      return Predicate.isReadonlyRecord(value)
  }
}

const issuesOf = (parameter: Given): ReadonlyArray<string> => {
  const { default: fallback, maxLength, maxValue, minValue, type } = parameter
  const isNumeric = type === "number" || type === "integer"
  const issues: Array<string> = []
  if (parameter.name.trim() === "") issues.push("the name is empty")
  if (parameter.name === "__proto__") issues.push("no validator accepts a parameter of this name")
  if (!isNumeric && (minValue !== undefined || maxValue !== undefined))
    issues.push("minValue and maxValue are for numbers")
  if (type !== "string" && maxLength !== undefined) issues.push("maxLength is for strings")
  for (const bound of [minValue, maxValue])
    if (bound !== undefined && !Number.isFinite(bound)) issues.push("a bound is not a finite number")
  if (minValue !== undefined && maxValue !== undefined && minValue > maxValue)
    issues.push("minValue is above maxValue: nothing fits")
  if (maxLength !== undefined && !(Number.isSafeInteger(maxLength) && maxLength >= 0))
    issues.push("maxLength is not a whole number from 0")
  if (parameter.enum?.length === 0) issues.push("the enum is empty: nothing fits")
  if (parameter.enum?.some((value) => !hasType(value, type))) issues.push(`the enum holds what is no ${type}`)
  if (issues.length > 0 || fallback === undefined) return issues
  const own = JsonSchemaValidator.compileAny(propertyOf(parameter))
  if (Either.isLeft(own)) return [own.left]
  return own.right.validate(fallback).map(({ message }) => `the default does not fit: ${message}`)
}

/**
 * Contradictions in a list, one text each; empty if there are none.
 *
 * @since 0.1.0
 * @category validation
 */
export const issues = (parameters: ReadonlyArray<Given>): ReadonlyArray<string> => {
  const names = new Set<string>()
  const found: Array<string> = []
  for (const parameter of parameters) {
    const where = `The parameter ${quoteName(parameter.name)}`
    if (names.has(parameter.name)) found.push(`${where}: there are two of this name`)
    names.add(parameter.name)
    for (const issue of issuesOf(parameter)) found.push(`${where}: ${issue}`)
  }
  return found.slice(0, MAX_ISSUES)
}

/**
 * Adds the defaults of absent parameters.
 *
 * @since 0.1.0
 * @category combinators
 */
export const withDefaults: {
  (parameters: ReadonlyArray<Given>): (params: Readonly<Record<string, unknown>>) => Readonly<Record<string, unknown>>
  (params: Readonly<Record<string, unknown>>, parameters: ReadonlyArray<Given>): Readonly<Record<string, unknown>>
} = dual(2, (params: Readonly<Record<string, unknown>>, parameters: ReadonlyArray<Given>) => {
  const absent = parameters.filter(
    ({ default: fallback, name }) => fallback !== undefined && !Object.hasOwn(params, name)
  )
  return absent.length === 0
    ? params
    : { ...params, ...Object.fromEntries(absent.map(({ default: fallback, name }) => [name, fallback])) }
})

/**
 * A skill whose parameters are a list. Handler and confirmation predicate see the defaults. A contradictory list is the
 * skill's `problem`.
 *
 * @since 0.1.0
 * @category constructors
 * @example
 * ```ts
 * import { SkillParameters } from "effect-lexigram/skill"
 * import * as Effect from "effect/Effect"
 *
 * const forecast = SkillParameters.toSkill("forecast", {
 *   description: "The weather of the next days",
 *   parameters: [
 *     { name: "city", type: "string", description: "Where", maxLength: 100 },
 *     { name: "days", type: "integer", description: "How many", minValue: 1, maxValue: 7, default: 3 }
 *   ],
 *   handler: ({ city, days }) => Effect.succeed(`${days} sunny days in ${city}`)
 * })
 * ```
 */
export const toSkill = <A = unknown, F = never, R = never>(
  name: string,
  options: SkillDefinition.Traits &
    SkillDefinition.Confirmation<Readonly<Record<string, unknown>>> & {
      readonly description: string
      readonly parameters: ReadonlyArray<Given>
      readonly returns?: unknown
      readonly handler: (params: Readonly<Record<string, unknown>>, call: SkillCall.SkillCall) => Effect.Effect<A, F, R>
      readonly retryable?: ((error: F) => boolean) | undefined
    }
): Skill.Skill<Readonly<Record<string, unknown>>, A, F, R> => {
  const { handler, parameters, requiresConfirmation } = options
  const skill = Skill.fromJsonSchema<A, F, R>(name, {
    ...options,
    parameters: toJsonSchema(parameters),
    requiresConfirmation:
      typeof requiresConfirmation === "function"
        ? (params) => requiresConfirmation(withDefaults(params, parameters))
        : requiresConfirmation,
    handler: (params, call) => handler(withDefaults(params, parameters), call)
  })
  const errors = issues(parameters)
  if (errors.length === 0 || skill.problem !== undefined) return skill
  const problem = new SkillValidationError({
    skillName: name,
    errors,
    message: `The definition of the skill ${quoteName(name)} is invalid: ${errors.join("; ")}`,
    hint: "Correct the list of parameters"
  })
  return Object.assign(Object.create(Object.getPrototypeOf(skill)), skill, { problem })
}
