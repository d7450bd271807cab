/**
 * Forms of questions: flat objects of texts, numbers and booleans, and the check of answers.
 *
 * @private
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as ParseResult from "effect/ParseResult"
import * as Predicate from "effect/Predicate"
import * as Schema from "effect/Schema"
import type { JsonSchema } from "../../llm/model/LlmClient.js"
import type { Issue } from "../definition/JsonSchemaText.js"
import * as Observation from "../definition/Observation.js"
import * as Parameters from "../definition/Parameters.js"
import { ApprovalError } from "./ApprovalError.js"
import type * as ApprovalGate from "./ApprovalGate.js"
import * as TextFormat from "./TextFormat.js"

const described = {
  title: Schema.optional(Schema.String),
  description: Schema.optional(Schema.String),
  examples: Schema.optional(Schema.Array(Schema.Unknown))
}

const TextField = Schema.Struct({
  type: Schema.Literal("string"),
  ...described,
  enum: Schema.optional(Schema.NonEmptyArray(Schema.String)),
  /** How the values of `enum` are shown. */
  enumNames: Schema.optional(Schema.Array(Schema.String)),
  format: Schema.optional(TextFormat.TextFormat),
  minLength: Schema.optional(Schema.Number),
  maxLength: Schema.optional(Schema.Number),
  pattern: Schema.optional(Schema.String),
  default: Schema.optional(Schema.String)
})

const NumberField = Schema.Struct({
  type: Schema.Literal("number", "integer"),
  ...described,
  minimum: Schema.optional(Schema.Number),
  maximum: Schema.optional(Schema.Number),
  exclusiveMinimum: Schema.optional(Schema.Number),
  exclusiveMaximum: Schema.optional(Schema.Number),
  multipleOf: Schema.optional(Schema.Number),
  default: Schema.optional(Schema.Number)
})

const BooleanField = Schema.Struct({
  type: Schema.Literal("boolean"),
  ...described,
  default: Schema.optional(Schema.Boolean)
})

const Form = Schema.Struct({
  type: Schema.Literal("object"),
  ...described,
  properties: Schema.Record({ key: Schema.String, value: Schema.Union(TextField, NumberField, BooleanField) }),
  required: Schema.optional(Schema.Array(Schema.String)),
  additionalProperties: Schema.optional(Schema.Boolean)
})

/** The most fields of a form, and characters of an answer as JSON. */
const maxFields = 100
const maxContent = 100_000

const decodeForm = ParseResult.decodeUnknownEither(Form)

const reasonOf = (issue: ParseResult.ParseIssue): string => {
  const [first] = ParseResult.ArrayFormatter.formatIssueSync(issue)
  return first === undefined ? "" : `${first.path.join(".").slice(0, 200)}: ${first.message.slice(0, 300)}`
}

const deepest = 16

/** A field without references to definitions; `allOf` of one schema is that schema. */
const resolved = (field: unknown, definitions: unknown, depth: number): unknown => {
  if (!Predicate.isReadonlyRecord(field) || depth > deepest) return field
  const { $ref: reference, allOf, ...rest } = field
  if (Array.isArray(allOf)) {
    const parts = allOf.map((part) => resolved(part, definitions, depth + 1))
    return parts.every(Predicate.isReadonlyRecord) ? Object.assign({}, ...parts, rest) : field
  }
  if (typeof reference !== "string") return field
  const name = /^#\/(?:\$defs|definitions)\/([^/]+)$/.exec(reference)?.[1]
  const key = name?.replaceAll("~1", "/").replaceAll("~0", "~")
  if (key === undefined || !Predicate.isReadonlyRecord(definitions) || !Object.hasOwn(definitions, key)) return field
  const target = resolved(definitions[key], definitions, depth + 1)
  return Predicate.isReadonlyRecord(target) ? { ...target, ...rest } : target
}

/** The keywords of a field, in the words of forms: choices with titles are an `enum` with `enumNames`. */
const fieldOf = (field: unknown, definitions: unknown): unknown => {
  const plain = resolved(field, definitions, 0)
  if (!Predicate.isReadonlyRecord(plain) || !Array.isArray(plain["oneOf"])) return plain
  const { oneOf, ...rest } = plain
  const choices: ReadonlyArray<unknown> = oneOf
  if (!choices.every(Predicate.isReadonlyRecord)) return plain
  return {
    ...rest,
    enum: choices.map((choice) => choice["const"]),
    enumNames: choices.map((choice) => choice["title"] ?? choice["const"])
  }
}

/** Reads a flat form; `Left` says what no form has. Of foreign forms, unknown keywords are left out. */
export const fromJsonSchema = (
  schema: unknown,
  onExcessProperty: "error" | "ignore" = "ignore"
): Either.Either<JsonSchema, string> => {
  if (!Predicate.isReadonlyRecord(schema)) return Either.left("it is no object")
  const { $defs, $schema: _, definitions, properties, ...rest } = schema
  if (!Predicate.isReadonlyRecord(properties)) return Either.left("it has no fields")
  const fields = Object.entries(properties)
  if (fields.length > maxFields) return Either.left(`it has more than ${maxFields} fields`)
  if (fields.some(([name]) => name === "__proto__")) return Either.left('a field has the name "__proto__"')
  const flat = fields.map(([name, field]) => [name, fieldOf(field, $defs ?? definitions)])
  return Either.mapBoth(decodeForm({ ...rest, properties: Object.fromEntries(flat) }, { onExcessProperty }), {
    onLeft: reasonOf,
    onRight: (form) => ({ ...form, additionalProperties: false })
  })
}

/** A form, made once of a schema. */
export interface Compiled {
  readonly form: JsonSchema
  readonly decode: Parameters.Codec["decode"]
}

const compiled = new WeakMap<object, Either.Either<Compiled, string>>()

/** The form of a schema; `Left` says why it is none. Derived once for each schema. */
export const make = (schema: Parameters.Parameters): Either.Either<Compiled, string> => {
  const known = compiled.get(schema)
  if (known !== undefined) return known
  const { decode, parameters, problem } = Parameters.make("a question", schema)
  const result =
    problem === undefined
      ? Either.map(fromJsonSchema(parameters, "error"), (form): Compiled => ({ form, decode }))
      : Either.left(problem.message)
  compiled.set(schema, result)
  return result
}

const formatIssues = (form: JsonSchema, content: unknown): ReadonlyArray<Issue> => {
  const { properties } = form
  if (!Predicate.isReadonlyRecord(properties) || !Predicate.isReadonlyRecord(content)) return []
  return Object.entries(content).flatMap(([path, value]) => {
    const field = Object.hasOwn(properties, path) ? properties[path] : undefined
    const format = Predicate.isReadonlyRecord(field) ? field["format"] : undefined
    return typeof value !== "string" || TextFormat.fits(format, value) ? [] : [{ path, message: `is no ${format}` }]
  })
}

/** The issues of an answer to a form. */
export const check = (form: JsonSchema, content: unknown): Effect.Effect<ReadonlyArray<Issue>> => {
  const size = Observation.stringify(content)?.length
  if (size === undefined) return Effect.succeed([{ path: "", message: "has no JSON form" }])
  if (size > maxContent) return Effect.succeed([{ path: "", message: `has more than ${maxContent} characters` }])
  return Either.match(Parameters.fromJsonSchema(form), {
    onLeft: (message) => Effect.succeed([{ path: "", message }]),
    onRight: ({ decode }) =>
      Effect.match(decode(content), { onFailure: (issues) => issues, onSuccess: () => formatIssues(form, content) })
  })
}

/** The form of a JSON Schema from outside, which alone checks the answers. */
export const makeForeign = (schema: unknown): Either.Either<Compiled, string> =>
  Either.map(fromJsonSchema(schema), (form) => ({
    form,
    decode: (content) =>
      Effect.flatMap(check(form, content), (issues) =>
        issues.length === 0 ? Effect.succeed(content) : Effect.fail(issues)
      )
  }))

/** What does not fit, by field. */
export type Issues = ReadonlyArray<Issue>

/** The issues of an answer by its form and, where the run waits here, by the schema of the tool. */
export const issuesOf = (
  { form }: ApprovalGate.Question,
  content: unknown,
  own: ApprovalGate.AnswerCheck | undefined
): Effect.Effect<Issues> =>
  Effect.flatMap(check(form, content), (issues) =>
    issues.length > 0 || own === undefined ? Effect.succeed(issues) : own(content)
  )

/** The approval with the answer, if it fits. */
export const answer = (
  id: string,
  question: ApprovalGate.Question,
  approved: ApprovalGate.Approved,
  own: ApprovalGate.AnswerCheck | undefined
): Effect.Effect<ApprovalGate.Approved, ApprovalError> =>
  Effect.gen(function* () {
    const content = approved.params ?? {}
    const issues = yield* issuesOf(question, content, own)
    if (issues.length === 0) return { ...approved, params: content }
    const texts = issues.slice(0, 20).map(({ message, path }) => (path === "" ? message : `${path}: ${message}`))
    return yield* new ApprovalError({
      reason: "answer",
      requestId: id.slice(0, 256),
      issues: issues.slice(0, 20),
      message: `The answer does not fit the question: ${texts.join("; ").slice(0, 2000)}`,
      hint: "Answer again: the question is still open"
    })
  })
