/**
 * What a report of an experiment says.
 *
 * @private
 * @since 0.1.0
 */
import * as Either from "effect/Either"
import type { Results } from "../Experiment.js"
import * as Labels from "../Labels.js"
import type { Finished } from "../record/ExperimentFold.js"
import type * as Statistics from "../statistics/Statistics.js"
import * as CaseScores from "./CaseScores.js"
import * as VariantComparison from "./VariantComparison.js"
import * as VariantSummary from "./VariantSummary.js"

/**
 * @since 0.1.0
 * @category models
 */
export interface Options extends VariantSummary.Options {
  /**
   * What each variant is compared with: another experiment over the same dataset, or a variant of this one. Default:
   * the first variant, if there are several.
   */
  readonly baseline?: Results | VariantComparison.Side | undefined
  /** As that of `Comparison.paired`. Default 0. */
  readonly tolerance?: number | undefined
  /** Scores and labels from this on are good, where the report says how far both agree. From 0 to 1. Default 0.5. */
  readonly threshold?: number | undefined
}

/**
 * The trials of a case.
 *
 * @since 0.1.0
 * @category models
 */
export interface ReportCase {
  readonly caseId: string
  /** In the order of variants and repetitions. */
  readonly trials: ReadonlyArray<Finished>
  /** The mean of all of its scores; absent if it has none. */
  readonly mean: number | undefined
}

/**
 * A scorer beside the people who labeled outputs.
 *
 * @since 0.1.0
 * @category models
 */
export interface LabelledScorer {
  readonly scorer: string
  readonly labels: number
  readonly people: number
  /** Over all variants. */
  readonly agreement: Labels.ScorerAgreement
}

/**
 * @since 0.1.0
 * @category models
 */
export interface EvalReport {
  readonly results: Results
  readonly variants: ReadonlyArray<VariantSummary.VariantSummary>
  readonly comparisons: ReadonlyArray<VariantComparison.VariantComparison>
  /** The cases with the lowest scores first. */
  readonly cases: ReadonlyArray<ReportCase>
  /** The scorers that people labeled outputs beside; the others are absent. */
  readonly labelled: ReadonlyArray<LabelledScorer>
}

/**
 * The cases of an experiment with their trials, those with the lowest scores first: without statistics.
 *
 * @since 0.1.0
 * @category conversions
 */
export const casesOf = ({ finished, header }: Results): ReadonlyArray<ReportCase> => {
  const order = new Map(header.variants.map((variant, index) => [variant, index]))
  const cases = new Map<string, Array<Finished>>()
  for (const one of finished) {
    const trials = cases.get(one.trial.caseId)
    if (trials === undefined) cases.set(one.trial.caseId, [one])
    else trials.push(one)
  }
  const placeOf = ({ trial }: Finished) => (order.get(trial.variant) ?? 0) * 1000 + trial.repetition
  return Array.from(cases, ([caseId, trials]) => {
    const values = trials.flatMap(({ result }) =>
      result.scores.flatMap(({ value }) => (value === undefined ? [] : [value]))
    )
    return {
      caseId,
      trials: trials.sort((a, b) => placeOf(a) - placeOf(b)),
      mean: values.length === 0 ? undefined : values.reduce((sum, value) => sum + value, 0) / values.length
    }
  }).sort((a, b) => (a.mean ?? 0) - (b.mean ?? 0) || (a.caseId < b.caseId ? -1 : 1))
}

const baselineOf = (results: Results, { baseline }: Options): VariantComparison.Side | undefined => {
  const { variants } = results.header
  if (baseline !== undefined) return "results" in baseline ? baseline : { results: baseline }
  return variants.length < 2 ? undefined : { results, variant: variants[0] }
}

const scoredBy = ({ results, variant = "" }: VariantComparison.Side, scorer: string) =>
  CaseScores.of(CaseScores.finishedOf(results, variant), scorer).cases

/** Variants and scorers without a case in common are not compared. */
const comparisonsOf = (results: Results, options: Options) =>
  Either.gen(function* () {
    const side = baselineOf(results, options)
    if (side === undefined) return []
    const baseline = { results: side.results, variant: yield* VariantComparison.variantOf(side) }
    const found: Array<VariantComparison.VariantComparison> = []
    for (const variant of results.header.variants) {
      if (baseline.results === results && baseline.variant === variant) continue
      const candidate = { results, variant }
      for (const scorer of results.header.scorers) {
        const before = scoredBy(baseline, scorer)
        if (!Array.from(scoredBy(candidate, scorer).keys()).some((caseId) => before.has(caseId))) continue
        found.push(yield* VariantComparison.make({ ...options, baseline, candidate, scorer }))
      }
    }
    return found
  })

const labelledOf = (results: Results, { threshold }: Options): Statistics.Result<ReadonlyArray<LabelledScorer>> =>
  Either.all(
    results.header.scorers.flatMap((scorer) => {
      const labels = results.labels.filter((label) => label.scorer === scorer)
      return labels.length === 0
        ? []
        : [
            Either.map(Labels.agreement(results, scorer, { threshold }), (agreement) => ({
              scorer,
              labels: labels.length,
              people: new Set(labels.map(({ by }) => by)).size,
              agreement
            }))
          ]
    })
  )

/**
 * Fails if the datasets of the two experiments differ, or an option is out of its bounds.
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = (results: Results, options: Options = {}): Statistics.Result<EvalReport> =>
  Either.gen(function* () {
    const variants = yield* VariantSummary.make(results, options)
    return {
      results,
      variants,
      comparisons: yield* comparisonsOf(results, options),
      cases: casesOf(results),
      labelled: yield* labelledOf(results, options)
    }
  })
