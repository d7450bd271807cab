/**
 * The handlers of experiments.
 *
 * @private
 * @since 0.1.0
 */
import * as HttpApiBuilder from "@effect/platform/HttpApiBuilder"
import * as Effect from "effect/Effect"
import * as PublicView from "../../domain/PublicView.js"
import * as Experiment from "../../eval/Experiment.js"
import type { Finished } from "../../eval/record/ExperimentFold.js"
import * as ExperimentStore from "../../eval/record/ExperimentStore.js"
import type { ExperimentStoreError } from "../../eval/record/ExperimentStoreError.js"
import * as CaseScores from "../../eval/report/CaseScores.js"
import * as EvalReport from "../../eval/report/EvalReport.js"
import type { VariantSummary } from "../../eval/report/VariantSummary.js"
import type { StatisticsError } from "../../eval/statistics/Statistics.js"
import { ApiError } from "../../http/api/ApiError.js"
import * as Refusals from "../../http/api/Refusals.js"
import { StudioApi } from "../api/StudioApi.js"

const BINS = 10

/** How many cases have a mean score in each tenth from 0 to 1. */
const binsOf = (finished: ReadonlyArray<Finished>, scorer: string): ReadonlyArray<number> => {
  const bins = Array.from({ length: BINS }, () => 0)
  for (const values of CaseScores.of(finished, scorer).cases.values()) {
    const at = Math.min(BINS - 1, Math.max(0, Math.floor(CaseScores.meanOf(values) * BINS)))
    bins[at] = (bins[at] ?? 0) + 1
  }
  return bins
}

const variantOf = (results: Experiment.Results, { unpriced: _, scores, ...summary }: VariantSummary) => {
  const finished = CaseScores.finishedOf(results, summary.variant)
  return { ...summary, scores: scores.map((score) => ({ ...score, bins: binsOf(finished, score.scorer) })) }
}

const reasons = { conflict: "conflict", cursor: "invalid", unknown: "unknown" } as const

const fromFailure = (error: ExperimentStoreError | StatisticsError): Effect.Effect<never, ApiError> => {
  const { code, hint, message } = error
  if (error._tag === "ExperimentStoreError" && error.reason === "storage") return Refusals.unavailable(error)
  const reason = error._tag === "ExperimentStoreError" && error.reason !== "storage" ? reasons[error.reason] : "invalid"
  return new ApiError({ reason, error: code, message, ...(hint === undefined ? {} : { hint }) })
}

/** What a task gave may be anything, also an answer with a key in it. */
const shownOf = ({ result, trial }: Finished) => ({
  trial,
  result: {
    ...result,
    ...(result.output === undefined ? {} : { output: PublicView.fromValue(result.output) }),
    ...(result.error === undefined ? {} : { error: PublicView.fromError(result.error, { developer: true }) })
  }
})

const DEFAULT_LIMIT = 50

/**
 * @category layers
 */
export const layer = HttpApiBuilder.group(StudioApi, "evals", (handlers) =>
  Effect.gen(function* () {
    const stores = Refusals.offered(
      yield* Effect.serviceOption(ExperimentStore.ExperimentStore),
      "experiments: run some with `lexigram eval run`, or add a layer of `ExperimentStore` to it"
    )
    const load = (id: string) =>
      Effect.flatMap(stores, (store) =>
        Effect.catchAll(Effect.provideService(Experiment.load(id), ExperimentStore.ExperimentStore, store), fromFailure)
      )
    const report = (results: Experiment.Results, options: EvalReport.Options) =>
      Effect.catchAll(EvalReport.make(results, options), fromFailure)
    return handlers
      .handle("experiments", ({ urlParams }) =>
        Effect.flatMap(stores, (store) => Effect.catchAll(store.list(urlParams), fromFailure))
      )
      .handle("experiment", ({ path, urlParams: { baseline } }) =>
        Effect.gen(function* () {
          const results = yield* load(path.experimentId)
          const other = baseline === undefined ? undefined : yield* load(baseline)
          const { comparisons, variants } = yield* report(results, other === undefined ? {} : { baseline: other })
          const { attempts, costUsd, header, missing } = results
          return {
            header,
            missing,
            attempts,
            costUsd,
            variants: variants.map((variant) => variantOf(results, variant)),
            comparisons
          }
        })
      )
      .handle("experimentCases", ({ path, urlParams: { limit = DEFAULT_LIMIT, offset = 0 } }) =>
        Effect.gen(function* () {
          const cases = EvalReport.casesOf(yield* load(path.experimentId))
          return {
            cases: cases
              .slice(offset, offset + limit)
              .map(({ trials, ...one }) => ({ ...one, trials: trials.map(shownOf) })),
            total: cases.length
          }
        })
      )
  })
)
