/**
 * Schemas of other libraries (Zod, Valibot, ArkType), by the two interfaces that these share: Standard Schema, which
 * validates, and Standard JSON Schema, which describes.
 */
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Predicate from "effect/Predicate"
import * as Schema from "effect/Schema"

/**
 * A schema of any library that implements Standard Schema v1 (standardschema.dev). `Input` is the type before it is
 * validated, `Output` the type after.
 *
 * @since 0.1.0
 * @category models
 */
export interface StandardSchema<Input = unknown, Output = Input> {
  readonly "~standard": {
    readonly version: 1
    readonly vendor: string
    readonly validate: (value: unknown) => StandardResult<Output> | Promise<StandardResult<Output>>
    readonly types?: { readonly input: Input; readonly output: Output } | undefined
  }
}

/**
 * What a validation finds: the value, or at least one issue.
 *
 * @since 0.1.0
 * @category models
 */
export type StandardResult<Output> =
  | { readonly value: Output; readonly issues?: undefined }
  | {
      readonly issues: ReadonlyArray<{
        readonly message: string
        readonly path?: ReadonlyArray<PropertyKey | { readonly key: PropertyKey }> | undefined
      }>
    }

/**
 * The type of validated values.
 *
 * @since 0.1.0
 * @category models
 */
export type OutputOf<S extends StandardSchema<any, any>> = NonNullable<S["~standard"]["types"]>["output"]

export interface Issue {
  /** Dotted; `""` for the value itself. */
  readonly path: string
  readonly message: string
}

/** Effect Schemas that also implement it (`Schema.standardSchemaV1`) are Effect Schemas: they encode too. */
export const isStandard = (u: unknown): u is StandardSchema<any, any> =>
  (typeof u === "object" || typeof u === "function") && u !== null && "~standard" in u && !Schema.isSchema(u)

const readIssues = (result: StandardResult<unknown>): Either.Either<unknown, ReadonlyArray<Issue>> => {
  if (!result.issues) return Either.right(result.value)
  return Either.left(
    Array.from(result.issues, ({ message, path }) => ({
      path: Array.from(path ?? [], (part) => String(typeof part === "object" ? part.key : part)).join("."),
      message: String(message)
    }))
  )
}

/** A validation that throws is an issue: deep values overflow the stack of some libraries. */
const unchecked = (error: unknown): ReadonlyArray<Issue> => [
  { path: "", message: `cannot be checked: ${textOf(error)}` }
]

const textOf = (error: unknown): string => String((error as Error | null)?.message ?? error).slice(0, 300)

/** Validates values, each with one call of the library. Synchronous libraries take no asynchronous step. */
export const decoder = (
  schema: StandardSchema<any, any>
): ((value: unknown) => Effect.Effect<unknown, ReadonlyArray<Issue>>) => {
  const standard = schema["~standard"]
  return (value) =>
    Effect.catchAllDefect(
      Effect.suspend(() => {
        const result = standard.validate(value)
        return Predicate.isPromiseLike(result)
          ? Effect.flatMap(
              Effect.promise(() => result),
              readIssues
            )
          : readIssues(result)
      }),
      (error) => Either.left(unchecked(error))
    )
}

/** Describes issues in words a model can act on. */
export const explain = (issues: ReadonlyArray<Issue>): string =>
  issues
    .slice(0, 20)
    .map(({ message, path }) => (path === "" ? message : `${path}: ${message}`))
    .join("; ")

interface Converter {
  readonly input: (options: { readonly target: string }) => Readonly<Record<string, unknown>>
}

/** The JSON Schema of the input. `Left` says why there is none, and what to do; `option` is the one that gives it. */
export const toJsonSchema = (
  schema: StandardSchema<any, any>,
  option: string
): Either.Either<
  Readonly<Record<string, unknown>>,
  { readonly reason: string; readonly hint: string; readonly cause?: unknown }
> => {
  const { vendor } = schema["~standard"]
  const { jsonSchema } = schema["~standard"] as { readonly jsonSchema?: Converter | undefined }
  const convert = (target: string) => Either.try(() => jsonSchema!.input({ target }))
  return Either.mapBoth(
    Either.orElse(convert("draft-2020-12"), () => convert("draft-07")),
    {
      onLeft: (cause) => ({
        reason:
          jsonSchema === undefined
            ? `this schema of ${vendor} does not implement Standard JSON Schema`
            : `${vendor} cannot describe it: ${textOf(cause)}`,
        hint: `Update ${vendor}, or wrap the schema (Valibot: \`toStandardJsonSchema\`), or give its JSON Schema as \`${option}\``,
        cause
      }),
      onRight: ({ $schema: _, ...body }) => body
    }
  )
}
