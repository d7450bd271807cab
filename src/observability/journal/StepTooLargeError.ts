/**
 * The failure of a durable run that cannot keep a value.
 *
 * @since 0.1.0
 */
import * as Cause from "effect/Cause"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as ErrorCode from "../../domain/ErrorCode.js"

/**
 * A step of a durable run ended with more than a run may keep of one step. `step` is the kind of the step and its place
 * in the run, `bytes` the size of what it ended with, encoded, and at least that where it was not encoded to the end.
 * Nothing of it is kept. It comes as a defect, because any step may end with it.
 *
 * @since 0.1.0
 * @category errors
 */
export class StepTooLargeError extends ErrorCode.TaggedError<StepTooLargeError>(
  "effect-lexigram/observability/StepTooLargeError/StepTooLargeError"
)("StepTooLargeError", {
  ...ErrorCode.fields("LEX_ERR_AGT_129"),
  step: Schema.String,
  bytes: Schema.Number,
  most: Schema.Number
}) {}

/**
 * @internal
 */
export const make = (at: { readonly step: string; readonly bytes: number; readonly most: number }): StepTooLargeError =>
  new StepTooLargeError({
    ...at,
    message: `The step ${at.step} ended with ${at.bytes} bytes, and a run keeps at most ${at.most} of one step`,
    hint: "Return less, or a reference to it, or raise `payloads.most` of the runs"
  })

/**
 * That of a run which crashed with it.
 *
 * @internal
 */
export const inCause = (cause: Cause.Cause<unknown>): StepTooLargeError | undefined => {
  const crash = Option.getOrUndefined(Cause.dieOption(cause))
  return crash instanceof StepTooLargeError ? crash : undefined
}
