/**
 * What is kept of an experiment: what it is, which trials began, what they gave, and what people say of it.
 *
 * @since 0.1.0
 */
import * as Schema from "effect/Schema"
import { ErrorInfo } from "../../domain/ErrorInfo.js"
import * as Usage from "../../domain/Usage.js"

const NAME = "effect-lexigram/eval/ExperimentRecord"

/**
 * What an experiment is. `fingerprint` is a hash of its dataset, variants, scorers and repetitions. Times are
 * milliseconds since the epoch.
 *
 * @since 0.1.0
 * @category schemas
 */
export const Header = Schema.Struct({
  id: Schema.String,
  name: Schema.String,
  createdAt: Schema.Number,
  fingerprint: Schema.String,
  dataset: Schema.Struct({ name: Schema.String, version: Schema.String, cases: Schema.Number }),
  variants: Schema.Array(Schema.String),
  scorers: Schema.Array(Schema.String),
  repetitions: Schema.Number,
  labels: Schema.Record({ key: Schema.String, value: Schema.String })
}).annotations({ identifier: `${NAME}/Header` })
/**
 * @since 0.1.0
 * @category models
 */
export interface Header extends Schema.Schema.Type<typeof Header> {}

/**
 * A trial: one case, by one variant, once. Repetitions count from 1.
 *
 * @since 0.1.0
 * @category schemas
 */
export const Trial = Schema.Struct({
  caseId: Schema.String,
  variant: Schema.String,
  repetition: Schema.Number
}).annotations({ identifier: `${NAME}/Trial` })
/**
 * @since 0.1.0
 * @category models
 */
export interface Trial extends Schema.Schema.Type<typeof Trial> {}

/**
 * The text by which a trial is known within its experiment.
 *
 * @since 0.1.0
 * @category conversions
 */
export const keyOf = ({ caseId, repetition, variant }: Trial): string => JSON.stringify([caseId, variant, repetition])

/**
 * What a scorer gave: a value from 0 to 1, or the error that left the trial without one.
 *
 * @since 0.1.0
 * @category schemas
 */
export const TrialScore = Schema.Struct({
  scorer: Schema.String,
  value: Schema.optional(Schema.Number),
  reason: Schema.optional(Schema.String),
  error: Schema.optional(ErrorInfo)
}).annotations({ identifier: `${NAME}/TrialScore` })
/**
 * @since 0.1.0
 * @category models
 */
export interface TrialScore extends Schema.Schema.Type<typeof TrialScore> {}

/**
 * What a trial gave. A task that failed has an `error`, and 0 of every scorer. `output` is data of JSON; one that is
 * too large is cut (`isCut`) to the beginning of its text. `usage` and `costUsd` are those of the task; `scoring` is
 * what its scorers took. The cost is absent where a price is not known.
 *
 * @since 0.1.0
 * @category schemas
 */
export const TrialResult = Schema.Struct({
  output: Schema.optional(Schema.Unknown),
  isCut: Schema.optional(Schema.Boolean),
  error: Schema.optional(ErrorInfo),
  scores: Schema.Array(TrialScore),
  durationMs: Schema.Number,
  modelCalls: Schema.optional(Schema.Number),
  usage: Schema.optional(Usage.Usage),
  costUsd: Schema.optional(Schema.Number),
  scoring: Schema.optional(
    Schema.Struct({ usage: Schema.optional(Usage.Usage), costUsd: Schema.optional(Schema.Number) })
  ),
  runId: Schema.optional(Schema.String)
}).annotations({ identifier: `${NAME}/TrialResult` })
/**
 * @since 0.1.0
 * @category models
 */
export interface TrialResult extends Schema.Schema.Type<typeof TrialResult> {}

/**
 * An attempt at a trial began, which may be paid for from now on. `by` names who attempts it, where several may.
 *
 * @since 0.1.0
 * @category schemas
 */
export const Began = Schema.TaggedStruct("Began", {
  trial: Trial,
  at: Schema.Number,
  by: Schema.optional(Schema.String)
}).annotations({
  identifier: `${NAME}/Began`
})
/**
 * @since 0.1.0
 * @category models
 */
export interface Began extends Schema.Schema.Type<typeof Began> {}

/**
 * A trial ended with a result.
 *
 * @since 0.1.0
 * @category schemas
 */
export const Ended = Schema.TaggedStruct("Ended", { trial: Trial, at: Schema.Number, result: TrialResult }).annotations(
  {
    identifier: `${NAME}/Ended`
  }
)
/**
 * @since 0.1.0
 * @category models
 */
export interface Ended extends Schema.Schema.Type<typeof Ended> {}

/**
 * What a person says of the output of a trial: a value from 0 to 1, beside that of a scorer. `by` is the person.
 *
 * @since 0.1.0
 * @category schemas
 */
export const Label = Schema.Struct({
  trial: Trial,
  scorer: Schema.String,
  value: Schema.Number,
  by: Schema.String,
  comment: Schema.optional(Schema.String),
  at: Schema.Number
}).annotations({ identifier: `${NAME}/Label` })
/**
 * @since 0.1.0
 * @category models
 */
export interface Label extends Schema.Schema.Type<typeof Label> {}

/**
 * A person labeled a trial. The last label of a person on a trial and a scorer counts.
 *
 * @since 0.1.0
 * @category schemas
 */
export const Labelled = Schema.TaggedStruct("Labelled", Label.fields).annotations({ identifier: `${NAME}/Labelled` })
/**
 * @since 0.1.0
 * @category models
 */
export interface Labelled extends Schema.Schema.Type<typeof Labelled> {}

/**
 * What is appended to an experiment.
 *
 * @since 0.1.0
 * @category schemas
 */
export const Entry = Schema.Union(Began, Ended, Labelled).annotations({ identifier: `${NAME}/Entry` })
/**
 * @since 0.1.0
 * @category models
 */
export type Entry = typeof Entry.Type
