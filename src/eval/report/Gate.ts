/**
 * Gates: say whether the results of an experiment are good enough to go on, as in a test or before a release.
 *
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Schema from "effect/Schema"
import * as ErrorCode from "../../domain/ErrorCode.js"
import type { Results } from "../Experiment.js"
import type * as Bootstrap from "../statistics/Bootstrap.js"
import * as Comparison from "../statistics/Comparison.js"
import * as Statistics from "../statistics/Statistics.js"
import * as CaseScores from "./CaseScores.js"
import * as VariantComparison from "./VariantComparison.js"

/**
 * The results are not good enough. The message has a line for each reason.
 *
 * @since 0.1.0
 * @category errors
 */
export class GateError extends ErrorCode.TaggedError<GateError>("effect-lexigram/eval/Gate/GateError")("GateError", {
  ...ErrorCode.fields("LEX_ERR_EVAL_103"),
  experimentId: Schema.String,
  variant: Schema.String,
  problems: Schema.Array(Schema.String)
}) {}

/**
 * @since 0.1.0
 * @category models
 */
export interface Options extends Bootstrap.Options {
  /** The variant that must pass. May be left out where the experiment has one alone. */
  readonly variant?: string | undefined
  /** The least mean score by scorer, from 0 to 1. */
  readonly min?: Readonly<Record<string, number>> | undefined
  /**
   * Results that these may not be worse than: another experiment over the same dataset, or another variant of this one.
   * A paired test of each scorer that both have decides, so that noise does not fail the gate.
   */
  readonly noWorseThan?: Results | VariantComparison.Side | undefined
  /** A mean score lower by this is no worse. Default 0. */
  readonly tolerance?: number | undefined
  /**
   * The chance that a gate fails by noise alone, over all scorers that are compared (Holm's method). Above 0 and below
   * 1. Default 0.05.
   */
  readonly alpha?: number | undefined
  /** US dollars that the tasks of the variant may have cost. */
  readonly maxCostUsd?: number | undefined
  /** The share of trials that may lack a score, by scorer. Default 0. */
  readonly maxUnscored?: number | undefined
  /** Trials of the variant that may lack a result. Default 0. */
  readonly maxMissing?: number | undefined
}

/**
 * What a gate found.
 *
 * @since 0.1.0
 * @category models
 */
export interface Passed {
  readonly variant: string
  /** Mean scores by scorer. */
  readonly means: Readonly<Record<string, number>>
  /** One for each scorer that was compared. */
  readonly comparisons: ReadonlyArray<VariantComparison.VariantComparison>
}

const percent = (value: number): string => `${(100 * value).toFixed(1)} %`

const sideOf = (given: Results | VariantComparison.Side): VariantComparison.Side =>
  "results" in given ? given : { results: given }

const compare = (results: Results, variant: string, options: Options) =>
  Either.gen(function* () {
    if (options.noWorseThan === undefined) return []
    const baseline = sideOf(options.noWorseThan)
    const shared = results.header.scorers.filter((scorer) => baseline.results.header.scorers.includes(scorer))
    if (shared.length === 0) {
      const hint = "Compare results that have a scorer in common."
      return yield* Statistics.refuse("Gate.check", "the baseline has none of the scorers", hint)
    }
    return yield* Either.all(
      shared.map((scorer) => VariantComparison.make({ ...options, baseline, candidate: { results, variant }, scorer }))
    )
  })

const checkOptions = ({ header }: Results, options: Options): Statistics.Result<void> => {
  const { alpha = 0.05, min = {} } = options
  const name = "Gate.check"
  if (!(alpha > 0 && alpha < 1))
    return Statistics.refuse(name, `alpha is ${alpha}`, "Give a chance above 0 and below 1.")
  for (const [scorer, least] of Object.entries(min)) {
    if (!header.scorers.includes(scorer)) {
      const hint = `Name one of: ${header.scorers.join(", ")}.`
      return Statistics.refuse(name, `no scorer is named ${JSON.stringify(scorer)}`, hint)
    }
    if (!(least >= 0 && least <= 1)) {
      return Statistics.refuse(name, `the least score of ${scorer} is ${least}`, "Scores are from 0 to 1.")
    }
  }
  for (const bound of ["maxCostUsd", "maxUnscored", "maxMissing"] as const) {
    const value = options[bound] ?? 0
    if (!(value >= 0)) return Statistics.refuse(name, `${bound} is ${value}`, "Give a bound of 0 or more.")
  }
  return Either.void
}

interface Found extends Passed {
  readonly problems: ReadonlyArray<string>
}

const examine = (results: Results, options: Options): Statistics.Result<Found> =>
  Either.gen(function* () {
    yield* checkOptions(results, options)
    const { alpha = 0.05, maxCostUsd, maxMissing = 0, maxUnscored = 0, min = {}, tolerance = 0 } = options
    const variant = yield* VariantComparison.variantOf({ results, variant: options.variant })
    const finished = CaseScores.finishedOf(results, variant)
    const { dataset, repetitions, scorers } = results.header
    const problems: Array<string> = []
    const missing = dataset.cases * repetitions - finished.length
    if (missing > maxMissing) problems.push(`${missing} trials have no result, at most ${maxMissing} may`)
    const means = new Map<string, number>()
    for (const scorer of scorers) {
      const { cases, unscored } = CaseScores.of(finished, scorer)
      const share = finished.length === 0 ? 0 : unscored / finished.length
      if (share > maxUnscored) problems.push(`${scorer}: ${unscored} trials have no score (${percent(share)})`)
      const mean = cases.size === 0 ? undefined : CaseScores.meanOf(Array.from(cases.values(), CaseScores.meanOf))
      if (mean !== undefined) means.set(scorer, mean)
      const least = Object.hasOwn(min, scorer) ? min[scorer] : undefined
      if (least !== undefined && !((mean ?? -1) >= least)) {
        problems.push(
          `${scorer}: the mean is ${mean === undefined ? "unknown" : percent(mean)}, at least ${percent(least)}`
        )
      }
    }
    const costUsd = finished.reduce((total, { result }) => total + (result.costUsd ?? 0), 0)
    if (maxCostUsd !== undefined && costUsd > maxCostUsd) {
      problems.push(`the tasks cost $${costUsd.toFixed(4)}, at most $${maxCostUsd}`)
    }
    const comparisons = yield* compare(results, variant, options)
    const chances = yield* Comparison.holm(comparisons.map(({ pWorse }) => pWorse))
    for (const [index, { difference, meanBaseline, meanCandidate, pairs, scorer }] of comparisons.entries()) {
      const chance = chances[index] ?? 1
      if (chance > alpha) continue
      const lost = pairs.filter((pair) => pair.candidate < pair.baseline).map(({ caseId }) => caseId)
      problems.push(
        `${scorer}: ${percent(meanCandidate)} after ${percent(meanBaseline)}, ` +
          `worse by ${percent(-difference)}${tolerance > 0 ? ` (${percent(tolerance)} may be)` : ""} ` +
          `with p = ${chance.toPrecision(2)}; ${lost.length} cases lost, first ${lost.slice(0, 5).join(", ")}`
      )
    }
    return { variant, means: Object.fromEntries(means), comparisons, problems }
  })

/**
 * Fails with `GateError` if the results are not good enough, and with `StatisticsError` if they cannot be judged so.
 *
 * @since 0.1.0
 * @category constructors
 * @example
 * ```ts
 * import * as Effect from "effect/Effect"
 * import { Experiment, Gate } from "effect-lexigram/eval"
 *
 * const judged = Effect.gen(function* () {
 *   const [before, after] = [yield* Experiment.load("v1"), yield* Experiment.load("v2")]
 *   return yield* Gate.check(after, { min: { exact: 0.8 }, noWorseThan: before, maxCostUsd: 5 })
 * })
 * ```
 */
export const check = (
  results: Results,
  options: Options
): Effect.Effect<Passed, GateError | Statistics.StatisticsError> =>
  Effect.flatMap(
    Effect.suspend(() => examine(results, options)),
    ({ problems, ...passed }) =>
      problems.length === 0
        ? Effect.succeed(passed)
        : Effect.fail(
            new GateError({
              experimentId: results.header.id,
              variant: passed.variant,
              problems,
              message: `The variant ${passed.variant} does not pass:\n${problems.map((one) => `- ${one}`).join("\n")}`,
              hint: "Look at the cases that lost, then mend the variant, or change the gate on purpose"
            })
          )
  )
