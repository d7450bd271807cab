/**
 * Errors of stores of experiments.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"
import * as ErrorCode from "../../domain/ErrorCode.js"

const NAME = "effect-lexigram/eval/ExperimentStoreError"

/**
 * - `conflict`: another experiment has this id
 * - `unknown`: no experiment has this id
 * - `cursor`: no page begins there, or no entry has this position
 * - `storage`: experiments could not be read or written
 *
 * @since 0.1.0
 * @category schemas
 */
export const ExperimentStoreErrorReason = Schema.Literal("conflict", "unknown", "cursor", "storage").annotations({
  identifier: `${NAME}/ExperimentStoreErrorReason`
})
/**
 * @since 0.1.0
 * @category models
 */
export type ExperimentStoreErrorReason = typeof ExperimentStoreErrorReason.Type

/**
 * An experiment was not kept or found.
 *
 * @since 0.1.0
 * @category errors
 */
export class ExperimentStoreError extends ErrorCode.TaggedError<ExperimentStoreError>(`${NAME}/ExperimentStoreError`)(
  "ExperimentStoreError",
  {
    ...ErrorCode.fields("LEX_ERR_EVAL_102"),
    reason: ExperimentStoreErrorReason,
    /** The experiment concerned, at most its first 256 characters. */
    experimentId: Schema.optional(Schema.String)
  }
) {}

/**
 * @since 0.1.0
 * @category constructors
 */
export const conflict = (id: string): ExperimentStoreError =>
  new ExperimentStoreError({
    reason: "conflict",
    experimentId: id.slice(0, 256),
    message: "Another experiment has this id: its cases, variants, scorers or repetitions differ",
    hint: "Choose another id, or run the same experiment to go on with it"
  })

/**
 * @since 0.1.0
 * @category constructors
 */
export const unknown = (id: string): ExperimentStoreError =>
  new ExperimentStoreError({
    reason: "unknown",
    experimentId: id.slice(0, 256),
    message: "No experiment has this id",
    hint: "Check the id, and the store"
  })

/**
 * @since 0.1.0
 * @category constructors
 */
export const storage = (message: string, more: { readonly hint?: string; readonly cause?: unknown } = {}) =>
  new ExperimentStoreError({ reason: "storage", message, ...more })
