/**
 * Schemas of the failures of steps.
 *
 * @private
 * @since 0.1.0
 */
import * as Data from "effect/Data"
import * as Schema from "effect/Schema"
import type { ErrorInfo } from "../../domain/ErrorInfo.js"

/**
 * The schema of a failure whose class only the application knows. A durable layer encodes the failures of the library
 * and the classes that it was given by their own schemas, and any other failure by its tag and message.
 *
 * @category schemas
 */
export const any: Schema.Schema<any> = Schema.Any.annotations({
  identifier: "effect-lexigram/observability/journal/StepFailure"
})

/**
 * The schema of a step that does not fail.
 *
 * @category schemas
 */
export const none: Schema.Schema<never, any> = Schema.make<never, any>(Schema.Never.ast)

/** A recorded failure whose class is not known: its tag, code, message and hint. */
class RecordedFailure extends Data.Error<Omit<ErrorInfo, "tag"> & { readonly _tag: string }> {}

/**
 * A failure with the tag and the message of another one.
 *
 * @category constructors
 */
export const fromInfo = ({ tag, ...rest }: ErrorInfo): Error => new RecordedFailure({ _tag: tag, ...rest })
