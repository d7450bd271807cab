/**
 * The steps of recorded handlers of hook points.
 *
 * @private
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"
import * as StepFailure from "./StepFailure.js"

/** A handler that announces something. */
export const action = { kind: "hook", success: Schema.Void, error: StepFailure.none }

/** A handler that may replace a value. Values are plain data. */
export const filter = {
  kind: "hook",
  success: Schema.Struct({ value: Schema.optional(Schema.Unknown) }),
  error: StepFailure.none
}
