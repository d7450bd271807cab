/** Configurations of one level: defaults with some fields replaced. All issues are reported together. */
import * as Either from "effect/Either"
import * as ParseResult from "effect/ParseResult"
import type * as Schema from "effect/Schema"

export interface Issue {
  readonly field: string
  readonly message: string
}

/**
 * A field that is `undefined` keeps its default; a field unknown to the schema is an issue. The schema is compiled
 * once.
 */
export const checking = <A extends object>(
  schema: Schema.Schema<A>,
  defaults: A
): ((options: object | undefined) => Either.Either<A, ReadonlyArray<Issue>>) => {
  const validate = ParseResult.validateEither(schema, { errors: "all", onExcessProperty: "error" })
  return (options) => {
    const given: Record<string, unknown> = Object.fromEntries(Object.entries(defaults))
    for (const [name, value] of Object.entries(options ?? {})) if (value !== undefined) given[name] = value
    return Either.mapLeft(validate(given), (error) => {
      const issues = new Map<string, Issue>()
      for (const issue of ParseResult.ArrayFormatter.formatIssueSync(error)) {
        const field = String(issue.path[0] ?? "")
        if (issues.has(field)) continue
        issues.set(field, { field, message: Object.hasOwn(defaults, field) ? issue.message : "is not a field" })
      }
      return Array.from(issues.values())
    })
  }
}

export const toText = (issues: ReadonlyArray<Issue>): string =>
  issues.map(({ field, message }) => `${field} ${message}`).join("; ")
