/**
 * Experiments: what the variants scored, and case by case.
 *
 * @private
 * @since 0.1.0
 */
import * as HttpApiEndpoint from "@effect/platform/HttpApiEndpoint"
import * as HttpApiGroup from "@effect/platform/HttpApiGroup"
import * as OpenApi from "@effect/platform/OpenApi"
import * as Schema from "effect/Schema"
import * as Usage from "../../domain/Usage.js"
import * as ExperimentRecord from "../../eval/record/ExperimentRecord.js"
import { numberBetween, pathParam } from "../../http/api/ApiModels.js"
import { Invalid, Unavailable, Unknown, Unsupported } from "../../http/api/ApiStatus.js"
import { Developer } from "../access/StudioDeveloper.js"

const NAME = "effect-lexigram/studio/StudioEvalsApi"

const experimentId = pathParam("experimentId", Schema.String.pipe(Schema.minLength(1), Schema.maxLength(512)))

const optional = Schema.optional(Schema.Number)

const Interval = Schema.Struct({ lower: Schema.Number, upper: Schema.Number, confidence: Schema.Number })

/**
 * The scores of a variant by one scorer, from 0 to 1. `bins` are the cases by their mean score, in ten equal parts.
 *
 * @category schemas
 */
export const Scores = Schema.Struct({
  scorer: Schema.String,
  cases: Schema.Number,
  unscored: Schema.Number,
  mean: optional,
  interval: Schema.optional(Interval),
  passRate: optional,
  passAtK: optional,
  passHatK: optional,
  k: Schema.Number,
  bins: Schema.Array(Schema.Number)
}).annotations({ identifier: `${NAME}/Scores` })

/**
 * @category schemas
 */
export const Variant = Schema.Struct({
  variant: Schema.String,
  trials: Schema.Number,
  failed: Schema.Number,
  scores: Schema.Array(Scores),
  latency: Schema.optional(Schema.Struct({ p50: Schema.Number, p95: Schema.Number, p99: Schema.Number })),
  costUsd: Schema.Number,
  scoringCostUsd: Schema.Number,
  usage: Usage.Usage,
  modelCalls: Schema.Number
}).annotations({ identifier: `${NAME}/Variant` })

/**
 * A variant beside the baseline, by the cases that both have.
 *
 * @category schemas
 */
export const Comparison = Schema.Struct({
  scorer: Schema.String,
  baseline: Schema.String,
  candidate: Schema.String,
  cases: Schema.Number,
  difference: Schema.Number,
  interval: Schema.optional(Interval),
  pTwoSided: Schema.Number,
  wins: Schema.Number,
  losses: Schema.Number,
  ties: Schema.Number
}).annotations({ identifier: `${NAME}/Comparison` })

/**
 * @category schemas
 */
export const Report = Schema.Struct({
  header: ExperimentRecord.Header,
  /** Trials without a result. */
  missing: Schema.Number,
  attempts: Schema.Number,
  costUsd: Schema.Number,
  variants: Schema.Array(Variant),
  comparisons: Schema.Array(Comparison)
}).annotations({ identifier: `${NAME}/Report` })

/**
 * @category schemas
 */
export const ReportCase = Schema.Struct({
  caseId: Schema.String,
  mean: optional,
  trials: Schema.Array(Schema.Struct({ trial: ExperimentRecord.Trial, result: ExperimentRecord.TrialResult }))
}).annotations({ identifier: `${NAME}/ReportCase` })

/**
 * @category constants
 */
export const evals = HttpApiGroup.make("evals")
  .add(
    HttpApiEndpoint.get("experiments", "/evals")
      .setUrlParams(
        Schema.Struct({
          name: Schema.optional(Schema.String.pipe(Schema.maxLength(512))),
          limit: Schema.optional(numberBetween(1, 200)),
          cursor: Schema.optional(Schema.String.pipe(Schema.maxLength(1024)))
        })
      )
      .addSuccess(
        Schema.Struct({ experiments: Schema.Array(ExperimentRecord.Header), next: Schema.optional(Schema.String) })
      )
      .addError(Invalid)
      .annotate(OpenApi.Summary, "The experiments of the store, the newest first")
  )
  .add(
    HttpApiEndpoint.get("experiment")`/evals/${experimentId}`
      .setUrlParams(
        Schema.Struct({
          /** Another experiment over the same dataset. Default: the first variant of this one. */
          baseline: Schema.optional(Schema.String.pipe(Schema.minLength(1), Schema.maxLength(512)))
        })
      )
      .addSuccess(Report)
      .addError(Invalid)
      .addError(Unknown)
      .annotate(OpenApi.Summary, "What the variants of an experiment scored and took, and how they compare")
  )
  .add(
    HttpApiEndpoint.get("experimentCases")`/evals/${experimentId}/cases`
      .setUrlParams(
        Schema.Struct({
          offset: Schema.optional(numberBetween(0, Number.MAX_SAFE_INTEGER)),
          limit: Schema.optional(numberBetween(1, 200))
        })
      )
      .addSuccess(Schema.Struct({ cases: Schema.Array(ReportCase), total: Schema.Number }))
      .addError(Invalid)
      .addError(Unknown)
      .annotate(OpenApi.Summary, "The cases of an experiment, those with the lowest scores first")
  )
  .addError(Unsupported)
  .addError(Unavailable)
  .middleware(Developer)
