/**
 * Failures of durable runs.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"
import * as ErrorCode from "../domain/ErrorCode.js"

/**
 * A run that goes on came to another step than the one that is recorded: its agent, its tools or what they read have
 * changed.
 *
 * @since 0.1.0
 * @category errors
 */
export class ReplayError extends ErrorCode.TaggedError<ReplayError>("effect-lexigram/durable/ReplayError/ReplayError")(
  "ReplayError",
  {
    ...ErrorCode.fields("LEX_ERR_AGT_124"),
    /** The kind of the step and its place in the run. */
    step: Schema.String
  }
) {}

/**
 * A step whose input is another one than that recorded.
 *
 * @internal
 */
export const changed = (step: string) => ({
  step,
  message: `The step ${step} of the run is not the one that is recorded: its input has changed`,
  hint: "Let runs that have begun end with the version of the agent that began them (`version`)"
})

/**
 * A step that a fork comes to and its run did not.
 *
 * @internal
 */
export const unshared = (step: string) => ({
  step,
  message: `The run that is forked has not recorded the step ${step}`,
  hint: "Fork it from an earlier step, and with changes that leave the steps before as they are"
})

/**
 * A step whose outcome cannot be read from where it is kept.
 *
 * @internal
 */
export const lost = (step: string, { hint, message }: { readonly message: string; readonly hint: string }) => ({
  step,
  message: `What the run has kept of the step ${step} cannot be read: ${message}`,
  hint
})

/**
 * A step that a run waits at which undoes its calls, and does not come to all of them again.
 *
 * @internal
 */
export const unreached = (step: string) => ({
  step,
  message: `The run undoes its calls, and does not come to all of them again: it waits at the step ${step}`,
  hint: "Let runs that have begun end with the version of the agent that began them (`version`)"
})
