/**
 * Combines the parameter and result schemas of several skills into those of one composite.
 *
 * @private
 * @since 0.1.0
 */

import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Predicate from "effect/Predicate"
import * as CanonicalJson from "../../internal/text/CanonicalJson.js"
import type { JsonSchema } from "../../llm/model/LlmClient.js"
import type { Any, Erased, ErrorOf, Skill } from "../definition/Skill.js"
import { SkillValidationError } from "../definition/SkillError.js"
import * as SkillBinding from "./SkillBinding.js"

/**
 * Parameters that all of these skills accept: the intersection of their parameters.
 *
 * @since 0.1.0
 * @category models
 */
export type ParamsOfAll<S extends Any> = [S] extends [Skill<infer P, unknown, unknown, unknown>] ? P : never

/**
 * At least one skill.
 *
 * @since 0.1.0
 * @category models
 */
export type Some = readonly [Any, ...ReadonlyArray<Any>]

/**
 * @since 0.1.0
 * @category models
 */
export type LastErrorOf<S extends Some> = S extends readonly [...infer _, infer Last extends Any]
  ? ErrorOf<Last>
  : never

/**
 * The parts of a skill that a composite copies.
 *
 * @since 0.1.0
 * @category constructors
 */
export const copyWith = (
  of: Any,
  codec: {
    readonly parametersSchema?: JsonSchema
    readonly returnsSchema?: JsonSchema
  } & Partial<Pick<Erased, "decode" | "encodeParams" | "encode" | "decodeResult">>
): any => {
  const { parametersSchema, returnsSchema, ...erased } = codec
  return {
    definition: {
      ...of.definition,
      ...(parametersSchema === undefined ? {} : { parametersSchema }),
      ...(returnsSchema === undefined ? {} : { returnsSchema })
    },
    erased: { ...of.erased, ...erased }
  }
}

const textOf = (schema: unknown): string => CanonicalJson.stringify(schema)

/** Entries of a field of each schema; of two entries with one name the first. */
const entriesOf = (schemas: ReadonlyArray<JsonSchema>, field: string): Map<string, unknown> => {
  const entries = new Map<string, unknown>()
  for (const schema of schemas) {
    const part = schema[field]
    if (!Predicate.isReadonlyRecord(part)) continue
    for (const [key, value] of Object.entries(part)) if (!entries.has(key)) entries.set(key, value)
  }
  return entries
}

/** Two definitions of one reference cannot share a document. */
const disagree = (schemas: ReadonlyArray<JsonSchema>, field: string): boolean =>
  schemas.some((schema) => {
    const part = schema[field]
    if (!Predicate.isReadonlyRecord(part)) return false
    const entries = entriesOf(schemas, field)
    return Object.entries(part).some(([key, value]) => textOf(entries.get(key)) !== textOf(value))
  })

const bothParameters = (schemas: ReadonlyArray<JsonSchema>): JsonSchema => {
  const [first] = schemas
  const text = textOf(first)
  if (first === undefined || schemas.every((schema) => textOf(schema) === text)) return first ?? { type: "object" }
  if (["$defs", "definitions"].some((field) => disagree(schemas, field))) return { type: "object" }
  const required = new Set(
    schemas.flatMap(({ required }) => (Array.isArray(required) ? (required as ReadonlyArray<unknown>) : []))
  )
  const part = (field: string) => {
    const entries = entriesOf(schemas, field)
    return entries.size === 0 ? {} : { [field]: Object.fromEntries(entries) }
  }
  return {
    type: "object",
    properties: Object.fromEntries(entriesOf(schemas, "properties")),
    ...(required.size === 0 ? {} : { required: Array.from(required) }),
    ...(schemas.every((schema) => schema["additionalProperties"] === false) ? { additionalProperties: false } : {}),
    ...part("$defs"),
    ...part("definitions")
  }
}

/**
 * The parameters of all skills together, each decoded by the skill that uses it. Parameters for references stay as
 * given.
 *
 * @since 0.1.0
 * @category constructors
 */
export const mergeParameters = <S extends Any>(
  skills: readonly [S, ...ReadonlyArray<S>]
): Skill<ParamsOfAll<S>, unknown> => {
  const [first] = skills
  const known = skills.filter(({ erased }) => !erased.reference)
  if (skills.length === 1 || known.length === 0) return copyWith(first, {})
  const open = known.length < skills.length
  const schema = bothParameters(known.map(({ definition }) => definition.parametersSchema))
  const together = (raw: unknown, parts: ReadonlyArray<unknown>): unknown => {
    const [one] = parts
    if (!open && (parts.length === 1 || !parts.every(SkillBinding.isMap))) return one
    return Object.fromEntries(
      [...(open && SkillBinding.isMap(raw) ? [raw] : []), ...parts].flatMap((part) => Object.entries(part as object))
    )
  }
  return copyWith(first, {
    parametersSchema: open ? { ...schema, additionalProperties: true } : schema,
    decode: (raw) =>
      Effect.flatMap(
        Effect.forEach(known, (skill) => Effect.either(skill.erased.decode(raw))),
        (parts) => {
          const issues = new Set(parts.flatMap((part) => (Either.isLeft(part) ? part.left : [])))
          return issues.size > 0
            ? Either.left(Array.from(issues))
            : Either.right(together(raw, parts.map(Either.getOrThrow)))
        }
      ),
    encodeParams: (params) => {
      const parts = known.map((skill) => skill.erased.encodeParams(params))
      return parts.includes(undefined) ? undefined : together(params, parts)
    }
  })
}

const anyResult = (skills: ReadonlyArray<Any>): JsonSchema => {
  const schemas = skills.map(({ definition }) => definition.returnsSchema)
  const distinct = Array.from(new Map(schemas.map((schema) => [textOf(schema), schema])).values())
  if (distinct.length === 1) return distinct[0] as JsonSchema
  return distinct.some((schema) => !isEmbeddable(schema)) ? {} : { anyOf: distinct }
}

/** Whether a schema means the same inside another one: it contains no references and is not empty. */
export const isEmbeddable = (schema: JsonSchema): boolean =>
  Object.keys(schema).length > 0 && !("$defs" in schema || "definitions" in schema || textOf(schema).includes('"$ref"'))

const firstThatTakes = (
  skills: ReadonlyArray<Any>,
  take: (erased: Erased) => Effect.Effect<unknown, string>
): Effect.Effect<unknown, string> =>
  skills
    .map(({ erased }) => take(erased))
    .reduce((before, next) => Effect.catchAll(before, (error) => Effect.mapError(next, () => error)))

/**
 * The result of any one of them. Each result is checked by the first schema that it fits.
 *
 * @since 0.1.0
 * @category constructors
 */
export const mergeResults = (skills: Some): Skill<never, unknown> =>
  copyWith(skills[0], {
    returnsSchema: anyResult(skills),
    encode: (result) => firstThatTakes(skills, (erased) => erased.encode(result)),
    decodeResult: (encoded) => firstThatTakes(skills, (erased) => erased.decodeResult(encoded))
  })

/**
 * Parameters of a composite as one of its skills accepts them: references accept the JSON form.
 *
 * @since 0.1.0
 * @category conversions
 */
export const paramsFor = (skill: Any, composite: Any, params: unknown): unknown =>
  skill.erased.reference ? (composite.erased.encodeParams(params) ?? params) : params

/**
 * A composite with invalid options.
 *
 * @since 0.1.0
 * @category combinators
 */
export const withErrors = <S extends Any>(composite: S, errors: ReadonlyArray<string>): S =>
  errors.length === 0 || composite.problem !== undefined
    ? composite
    : Object.assign(composite, {
        problem: new SkillValidationError({
          skillName: composite.definition.name,
          errors,
          message: `The definition of the skill "${composite.definition.name}" is invalid: ${errors.join("; ")}`,
          hint: "Correct the definition"
        })
      })
