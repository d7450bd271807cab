/**
 * Errors of datasets.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"
import * as ErrorCode from "../../domain/ErrorCode.js"

const NAME = "effect-lexigram/eval/DatasetError"

/**
 * - `syntax`: a line is no JSON, or a row no CSV
 * - `case`: a case is not what its schemas say, or its id is not valid
 * - `duplicate`: two cases have one id
 * - `file`: the file could not be read, is too large, or has an ending that says no format
 *
 * @since 0.1.0
 * @category schemas
 */
export const DatasetErrorReason = Schema.Literal("syntax", "case", "duplicate", "file").annotations({
  identifier: `${NAME}/DatasetErrorReason`
})
/**
 * @since 0.1.0
 * @category models
 */
export type DatasetErrorReason = typeof DatasetErrorReason.Type

/**
 * A dataset could not be made. `line` is the line of the text where the case begins, from 1.
 *
 * @since 0.1.0
 * @category errors
 */
export class DatasetError extends ErrorCode.TaggedError<DatasetError>(`${NAME}/DatasetError`)("DatasetError", {
  ...ErrorCode.fields("LEX_ERR_EVAL_100"),
  reason: DatasetErrorReason,
  dataset: Schema.String,
  line: Schema.optional(Schema.Number)
}) {}
