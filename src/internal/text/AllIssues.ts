/**
 * Decoders and encoders that report all issues at the cost of those that stop at the first: parse options cost 2 µs per
 * call, so only failed values are checked a second time.
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
 * Returns an `Either` where the schema has no asynchronous steps. An effect that is not an `Either` has not started.
 */
export const decoder = (schema: Schema.Schema<any, any, never>): Parse =>
  twice(ParseResult.decodeUnknown(schema), ParseResult.decodeUnknown(schema, all))

/** Like `decoder`, for encoding. */
export const encoder = (schema: Schema.Schema<any, any, never>): Parse =>
  twice(ParseResult.encodeUnknown(schema), ParseResult.encodeUnknown(schema, all))
