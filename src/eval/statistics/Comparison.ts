/**
 * Compares two versions by their scores of the same cases.
 *
 * @since 0.1.0
 */
import * as Either from "effect/Either"
import * as Bootstrap from "./Bootstrap.js"
import * as SignFlips from "./SignFlips.js"
import * as Statistics from "./Statistics.js"

/**
 * @since 0.1.0
 * @category models
 */
export interface Options extends Bootstrap.Options {
  /** One score for each case; for cases that were repeated, the mean of the repetitions. */
  readonly baseline: ReadonlyArray<number>
  /** The scores of the same cases, in the same order. */
  readonly candidate: ReadonlyArray<number>
  /** A mean difference up to this is no change, for `pWorse` and `pBetter`: 0 or more; 0 by default. */
  readonly tolerance?: number | undefined
}

/**
 * What two versions differ by. Differences are those of the candidate from the baseline: above 0, the candidate scores
 * higher.
 *
 * @since 0.1.0
 * @category models
 */
export interface Comparison {
  readonly cases: number
  readonly meanBaseline: number
  readonly meanCandidate: number
  /** The mean of the differences of the cases. */
  readonly difference: number
  /** The bootstrap interval of the difference; absent for a single case. */
  readonly interval: Statistics.Interval | undefined
  /** The chance of a difference as far from 0, in either direction, if nothing had changed. */
  readonly pTwoSided: number
  /** The chance of a difference as low, if the candidate were worse by no more than the tolerance. */
  readonly pWorse: number
  /** The chance of a difference as high, if the candidate were better by no more than the tolerance. */
  readonly pBetter: number
  /** Cases in which the candidate scored higher. */
  readonly wins: number
  readonly losses: number
  readonly ties: number
}

const name = "Comparison.paired"

/** Scores that differ by less than this part of the largest score are the same. */
const rounding = 1e-12

const checkOptions = ({ baseline, candidate, tolerance = 0 }: Options): Statistics.Result<void> => {
  if (baseline.length !== candidate.length) {
    const message = `${baseline.length} scores of the baseline, ${candidate.length} of the candidate`
    return Statistics.refuse(name, message, "Give the scores of the cases that both have, in the same order.")
  }
  if (!(tolerance >= 0 && tolerance <= Statistics.largest)) {
    return Statistics.refuse(name, `tolerance is ${tolerance}`, "Give a tolerance of 0 or more.")
  }
  return Either.flatMap(Statistics.checkNumbers(name, baseline), () => Statistics.checkNumbers(name, candidate))
}

const widthOf = ({ baseline, candidate }: Options): number =>
  rounding * [...baseline, ...candidate].reduce((most, score) => Math.max(most, Math.abs(score)), 0)

/**
 * Compares the scores that two versions have of the same cases.
 *
 * The interval is the bootstrap's. The chances are those of the permutation test that flips the signs of the
 * differences: exact for up to 20 cases that differ, and with any number of cases if all that differ do so by the same,
 * where it is McNemar's exact test; otherwise from `samples` by `seed`. A tolerance is added to the differences for
 * `pWorse`, and subtracted from them for `pBetter`. The test assumes that differences around the tolerance are
 * symmetric if nothing changed by more.
 *
 * @since 0.1.0
 * @category statistics
 * @example
 * ```ts
 * import { Comparison } from "effect-lexigram/eval"
 *
 * const compared = Comparison.paired({
 *   baseline: [1, 0, 1, 1, 0, 1],
 *   candidate: [1, 1, 1, 1, 1, 1]
 * })
 * ```
 */
export const paired = (options: Options): Statistics.Result<Comparison> =>
  Either.gen(function* () {
    yield* checkOptions(options)
    const { baseline, candidate, tolerance = 0 } = options
    const width = widthOf(options)
    const rounded = (difference: number) => (Math.abs(difference) <= width ? 0 : difference)
    const differences = candidate.map((score, i) => rounded(score - (baseline[i] ?? 0)))
    const chancesOf = (shift: number) =>
      Either.map(Bootstrap.toDrawing(name, options), (drawing) =>
        SignFlips.chances(
          differences.map((difference) => rounded(difference + shift)).filter((difference) => difference !== 0),
          drawing
        )
      )
    const same = yield* chancesOf(0)
    const worse = tolerance === 0 ? same : yield* chancesOf(tolerance)
    const better = tolerance === 0 ? same : yield* chancesOf(-tolerance)
    const wins = differences.filter((difference) => difference > 0).length
    const losses = differences.filter((difference) => difference < 0).length
    return {
      cases: differences.length,
      meanBaseline: Statistics.unsafeMean(baseline),
      meanCandidate: Statistics.unsafeMean(candidate),
      difference: Statistics.unsafeMean(differences),
      interval: differences.length < 2 ? undefined : yield* Bootstrap.mean(differences, options),
      pTwoSided: same.asFar,
      pWorse: worse.atMost,
      pBetter: better.atLeast,
      wins,
      losses,
      ties: differences.length - wins - losses
    }
  })

/**
 * The chances of several comparisons, such as one for each scorer, adjusted so that one of them is below a level by
 * chance no more often than the level says (Holm 1979). In the order in which they were given.
 *
 * @since 0.1.0
 * @category statistics
 */
export const holm = (chances: ReadonlyArray<number>): Statistics.Result<ReadonlyArray<number>> => {
  const strange = chances.find((chance) => !(chance >= 0 && chance <= 1))
  if (strange !== undefined) {
    return Statistics.refuse("Comparison.holm", `a chance is ${strange}`, "Give chances from 0 to 1.")
  }
  const adjusted = new Array<number>(chances.length).fill(1)
  const order = Array.from(chances.entries()).sort(([, a], [, b]) => a - b)
  let most = 0
  for (const [rank, [at, chance]] of order.entries()) {
    most = Math.max(most, Math.min(1, chance * (order.length - rank)))
    adjusted[at] = most
  }
  return Either.right(adjusted)
}
