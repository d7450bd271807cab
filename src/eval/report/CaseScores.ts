/**
 * The scores of an experiment by variant, scorer and case.
 *
 * @private
 * @since 0.1.0
 */
import type { Results } from "../Experiment.js"
import type { Finished } from "../record/ExperimentFold.js"

/** The scores of one variant by one scorer. */
export interface CaseScores {
  /** One list for each case with a score: its repetitions. The cases are in the order of their first ends. */
  readonly cases: ReadonlyMap<string, ReadonlyArray<number>>
  /** Trials that ended without a score of this scorer. */
  readonly unscored: number
}

/** The results of one variant. */
export const finishedOf = ({ finished }: Results, variant: string): ReadonlyArray<Finished> =>
  finished.filter(({ trial }) => trial.variant === variant)

export const of = (finished: ReadonlyArray<Finished>, scorer: string): CaseScores => {
  const cases = new Map<string, Array<number>>()
  let unscored = 0
  for (const { result, trial } of finished) {
    const value = result.scores.find((score) => score.scorer === scorer)?.value
    if (value === undefined) {
      unscored++
      continue
    }
    const values = cases.get(trial.caseId)
    if (values === undefined) cases.set(trial.caseId, [value])
    else values.push(value)
  }
  return { cases, unscored }
}

/** The mean of a list that is not empty. */
export const meanOf = (values: ReadonlyArray<number>): number =>
  values.reduce((sum, value) => sum + value, 0) / values.length
