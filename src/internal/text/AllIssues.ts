/**
 * Schemas that name all issues of what does not fit, at the price of those that stop at the first: with parse options
 * each call costs 2 µs more, so only what failed is looked at a second time.
 */
import type * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as ParseResult from "effect/ParseResult"
import type * as Schema from "effect/Schema"

type Parse = (u: unknown) => Effect.Effect<any, ParseResult.ParseIssue>

const all = { errors: "all" } as const

const twice =
  (first: Parse, whole: Parse): Parse =>
  (u) => {
    const parsed = first(u)
    return Either.isEither(parsed) && Either.isRight(parsed) ? parsed : whole(u)
  }

/**
 * Gives an `Either` where the schema has no asynchronous steps. An effect that is not an `Either` was not begun.
 */
export const decoder = (schema: Schema.Schema<any, any, never>): Parse =>
  twice(ParseResult.decodeUnknown(schema), ParseResult.decodeUnknown(schema, all))

/**
 * The other way round.
 */
export const encoder = (schema: Schema.Schema<any, any, never>): Parse =>
  twice(ParseResult.encodeUnknown(schema), ParseResult.encodeUnknown(schema, all))
