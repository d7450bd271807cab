/**
 * What is recorded of a step.
 *
 * @private
 * @since 0.1.0
 */
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Option from "effect/Option"
import type * as ParseResult from "effect/ParseResult"
import * as Schema from "effect/Schema"
import * as StepTooLargeError from "../observability/journal/StepTooLargeError.js"

/** How a step ended. */
export type Outcome<A, E> =
  | { readonly _tag: "Success"; readonly value: A }
  | { readonly _tag: "Failure"; readonly error: E }
  | { readonly _tag: "Defect"; readonly defect: unknown }
  | { readonly _tag: "Interrupted" }
  /** An attempt that must not run twice began before, and its end is not recorded. */
  | { readonly _tag: "Lost" }
  /** It ended with more than a run keeps. */
  | { readonly _tag: "TooLarge"; readonly step: string; readonly bytes: number; readonly most: number }

/** Encodes and decodes records. */
export interface Codec {
  readonly encode: (record: unknown) => Effect.Effect<unknown, ParseResult.ParseError>
  readonly decode: (record: unknown) => Effect.Effect<unknown, ParseResult.ParseError>
}

const makeCodec = (success: Schema.Schema<any, any>, error: Schema.Schema<any, any>): Codec => {
  const schema = Schema.Struct({
    hash: Schema.optional(Schema.String),
    at: Schema.Number,
    outcome: Schema.Union(
      Schema.TaggedStruct("Success", { value: success }),
      Schema.TaggedStruct("Failure", { error }),
      Schema.TaggedStruct("Defect", { defect: Schema.Defect }),
      Schema.TaggedStruct("Interrupted", {}),
      Schema.TaggedStruct("Lost", {}),
      Schema.TaggedStruct("TooLarge", { step: Schema.String, bytes: Schema.Number, most: Schema.Number })
    )
  })
  return { encode: Schema.encodeUnknown(schema), decode: Schema.decodeUnknown(schema) }
}

const codecs = new WeakMap<Schema.Schema<any, any>, WeakMap<Schema.Schema<any, any>, Codec>>()

/** That of a pair of schemas, compiled once. */
export const codecOf = (success: Schema.Schema<any, any>, error: Schema.Schema<any, any>): Codec => {
  let byError = codecs.get(success)
  if (byError === undefined) {
    byError = new WeakMap()
    codecs.set(success, byError)
  }
  let codec = byError.get(error)
  if (codec === undefined) {
    codec = makeCodec(success, error)
    byError.set(error, codec)
  }
  return codec
}

/** What is recorded of a step. `at`: milliseconds since the epoch. */
export interface Record {
  readonly hash?: string | undefined
  readonly at: number
  readonly outcome: Outcome<any, any>
}

export const outcomeOf = (exit: Exit.Exit<unknown, unknown>): Outcome<unknown, unknown> => {
  if (Exit.isSuccess(exit)) return { _tag: "Success", value: exit.value }
  const failure = Cause.failureOption(exit.cause)
  if (Option.isSome(failure)) return { _tag: "Failure", error: failure.value }
  return Cause.isInterruptedOnly(exit.cause)
    ? { _tag: "Interrupted" }
    : { _tag: "Defect", defect: Cause.squash(exit.cause) }
}

/** Ends as the step did. */
export const exitOf = <A, E>(outcome: Outcome<A, E>): Effect.Effect<A, E> => {
  switch (outcome._tag) {
    case "Success":
      return Effect.succeed(outcome.value)
    case "Failure":
      return Effect.fail(outcome.error)
    case "Defect":
      return Effect.die(outcome.defect)
    case "TooLarge":
      return Effect.die(StepTooLargeError.make(outcome))
    default:
      return Effect.interrupt
  }
}
