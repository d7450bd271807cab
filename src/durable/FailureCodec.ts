/**
 * Encodes the failures of runs: errors of the library and of given classes by their own schemas, others by their tag
 * and message.
 *
 * @private
 * @since 0.1.0
 */
import * as Either from "effect/Either"
import * as ParseResult from "effect/ParseResult"
import * as Schema from "effect/Schema"
import { ErrorInfo, errorInfo } from "../domain/ErrorInfo.js"
import * as StepFailure from "../observability/journal/StepFailure.js"

/** The class of a tagged error with a schema (`Schema.TaggedError`, `ErrorCode.TaggedError`). */
export interface ErrorClass extends Schema.Schema<any, any> {
  readonly _tag: string
  new (...args: ReadonlyArray<any>): any
}

export const Encoded = Schema.Struct({
  info: ErrorInfo,
  /** The failure by its schema, if it has one that is known. */
  value: Schema.optional(Schema.Unknown)
})
export type Encoded = typeof Encoded.Type

export interface FailureCodec {
  readonly encode: (failure: unknown) => Encoded
  readonly decode: (encoded: Encoded) => unknown
  /** Stands for `StepFailure.any`. */
  readonly schema: Schema.Schema<any, any>
}

interface Compiled {
  readonly is: (failure: unknown) => boolean
  readonly encode: (failure: unknown) => Either.Either<unknown, unknown>
  readonly decode: (value: unknown) => Either.Either<unknown, unknown>
}

const compile = (error: ErrorClass): Compiled => ({
  is: (failure) => failure instanceof error,
  encode: ParseResult.encodeUnknownEither(error),
  decode: ParseResult.decodeUnknownEither(error)
})

/** Compiles each class with its first failure. */
export const make = (classes: ReadonlyArray<ErrorClass>): FailureCodec => {
  const byTag = new Map(classes.map((error) => [error._tag, error]))
  const compiled = new Map<string, Compiled>()
  const of = (tag: string): Compiled | undefined => {
    const known = compiled.get(tag)
    if (known !== undefined) return known
    const error = byTag.get(tag)
    if (error === undefined) return undefined
    const made = compile(error)
    compiled.set(tag, made)
    return made
  }
  const encode = (failure: unknown): Encoded => {
    const info = errorInfo(failure)
    const schema = of(info.tag)
    const value = schema?.is(failure) === true ? Either.getOrUndefined(schema.encode(failure)) : undefined
    return value === undefined ? { info } : { info, value }
  }
  const decode = ({ info, value }: Encoded): unknown => {
    const decoded = value === undefined ? undefined : of(info.tag)?.decode(value)
    return decoded !== undefined && Either.isRight(decoded) ? decoded.right : StepFailure.fromInfo(info)
  }
  return {
    encode,
    decode,
    schema: Schema.transform(Encoded, Schema.Any, { strict: true, decode, encode })
  }
}
