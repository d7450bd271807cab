/**
 * Statistics of scores and of repeated trials. No function returns NaN or Infinity: input that has no answer is a
 * `StatisticsError`.
 *
 * @since 0.1.0
 */
import * as Either from "effect/Either"
import * as Schema from "effect/Schema"
import * as ErrorCode from "../../domain/ErrorCode.js"
import * as Normal from "./Normal.js"

/**
 * Numbers have no such statistic: there are too few of them, one is out of range, or they do not vary.
 *
 * @since 0.1.0
 * @category errors
 */
export class StatisticsError extends ErrorCode.TaggedError<StatisticsError>(
  "effect-lexigram/eval/Statistics/StatisticsError"
)("StatisticsError", {
  ...ErrorCode.fields("LEX_ERR_EVAL_105"),
  /** The function that refused. */
  statistic: Schema.String
}) {}

/**
 * Bounds of an unknown value, and how often such bounds hold it: 0.95 for 95 of 100 experiments.
 *
 * @since 0.1.0
 * @category models
 */
export interface Interval {
  readonly lower: number
  readonly upper: number
  readonly confidence: number
}

/**
 * A result, or why there is none. It can be yielded in `Effect.gen`.
 *
 * @since 0.1.0
 * @category models
 */
export type Result<A> = Either.Either<A, StatisticsError>

/**
 * The largest number that is accepted, in either direction: squares of as many numbers as an array holds stay finite.
 *
 * @since 0.1.0
 * @category constants
 */
export const largest = 1e140

/**
 * Fails with `StatisticsError`.
 *
 * @since 0.1.0
 * @category constructors
 * @internal
 */
export const refuse = (statistic: string, message: string, hint: string): Either.Either<never, StatisticsError> =>
  Either.left(new StatisticsError({ statistic, message: `${statistic}: ${message}`, hint }))

/**
 * Requires at least `least` numbers, all of them at most `largest`.
 *
 * @since 0.1.0
 * @category guards
 * @internal
 */
export const checkNumbers = (statistic: string, values: ReadonlyArray<number>, least = 1): Result<void> => {
  if (values.length < least) {
    return refuse(
      statistic,
      `${values.length} numbers are too few`,
      `Give at least ${least === 1 ? "one number" : `${least} numbers`}.`
    )
  }
  const at = values.findIndex((value) => !(Math.abs(value) <= largest))
  return at < 0
    ? Either.void
    : refuse(
        statistic,
        `number ${at} is ${values[at]}`,
        `Leave out what has no score. Numbers are from -${largest} to ${largest}.`
      )
}

/**
 * Requires a confidence between 0 and 1.
 *
 * @since 0.1.0
 * @category guards
 * @internal
 */
export const checkConfidence = (statistic: string, confidence: number): Result<void> =>
  confidence > 0 && confidence < 1
    ? Either.void
    : refuse(statistic, `confidence is ${confidence}`, "Give a confidence above 0 and below 1, as 0.95.")

/**
 * The mean of numbers that were checked.
 *
 * @since 0.1.0
 * @category statistics
 * @internal
 */
export const unsafeMean = (values: ReadonlyArray<number>): number =>
  values.reduce((sum, value) => sum + value, 0) / values.length

/**
 * The sum of the squared differences of numbers that were checked from their mean.
 *
 * @since 0.1.0
 * @category statistics
 * @internal
 */
export const unsafeSquares = (values: ReadonlyArray<number>): number => {
  const center = unsafeMean(values)
  return isConstant(values) ? 0 : values.reduce((sum, value) => sum + (value - center) ** 2, 0)
}

const isConstant = (values: ReadonlyArray<number>): boolean => values.every((value) => value === values[0])

/**
 * A quantile from 0 to 1 of numbers in ascending order, interpolated linearly between the two nearest.
 *
 * @since 0.1.0
 * @category statistics
 * @internal
 */
export const unsafeQuantile = (sorted: ArrayLike<number>, quantile: number): number => {
  const place = quantile * (sorted.length - 1)
  const below = Math.floor(place)
  const low = sorted[below] ?? 0
  return low + (place - below) * ((sorted[below + 1] ?? low) - low)
}

/**
 * The arithmetic mean.
 *
 * @since 0.1.0
 * @category statistics
 */
export const mean = (values: ReadonlyArray<number>): Result<number> =>
  Either.map(checkNumbers("mean", values), () => unsafeMean(values))

/**
 * The standard deviation of a sample: the squares are divided by one less than the count. Needs two numbers.
 *
 * @since 0.1.0
 * @category statistics
 */
export const standardDeviation = (values: ReadonlyArray<number>): Result<number> =>
  Either.map(checkNumbers("standardDeviation", values, 2), () => Math.sqrt(unsafeSquares(values) / (values.length - 1)))

/**
 * Percentiles from 0 to 100, interpolated linearly between the two nearest numbers, in the order they were asked for.
 * The numbers are sorted once.
 *
 * @since 0.1.0
 * @category statistics
 */
export const percentiles = (
  values: ReadonlyArray<number>,
  percents: ReadonlyArray<number>
): Result<ReadonlyArray<number>> =>
  Either.flatMap(checkNumbers("percentiles", values), () => {
    const strange = percents.find((percent) => !(percent >= 0 && percent <= 100))
    if (strange !== undefined) return refuse("percentiles", `percent is ${strange}`, "Give percents from 0 to 100.")
    const sorted = Float64Array.from(values).sort()
    return Either.right(percents.map((percent) => unsafeQuantile(sorted, percent / 100)))
  })

/**
 * One of the {@link percentiles}; 50 is the median.
 *
 * @since 0.1.0
 * @category statistics
 */
export const percentile = (values: ReadonlyArray<number>, percent: number): Result<number> =>
  Either.map(percentiles(values, [percent]), ([found]) => found ?? 0)

const mostTrials = 1e9

const checkTrials = (statistic: string, n: number, c: number, k: number, least: number): Result<void> => {
  const isCount = (value: number, from: number, to: number) => Number.isInteger(value) && value >= from && value <= to
  if (!isCount(n, 1, mostTrials)) return refuse(statistic, `n is ${n}`, `Trials are from 1 to ${mostTrials}.`)
  if (!isCount(c, 0, n)) return refuse(statistic, `c is ${c} of ${n}`, "Successes are from 0 to the trials.")
  return isCount(k, least, n)
    ? Either.void
    : refuse(statistic, `k is ${k} of ${n}`, `k is from ${least} to the trials that were made.`)
}

/**
 * Chance that all of `k` trials drawn out of `n` are among `m` of them: C(m, k) / C(n, k). The product has as many
 * factors as the smaller one of `k` and `n - m`, and ends where it is 0.
 */
const chanceOfAll = (n: number, m: number, k: number): number => {
  const [factors, from] = k <= n - m ? [k, m] : [n - m, n - k]
  let chance = 1
  for (let i = 0; i < factors && chance > 0; i++) chance *= Math.max(0, from - i) / (n - i)
  return chance
}

/**
 * pass@k: the chance that at least one of `k` trials succeeds, estimated without bias from `c` successes in `n` trials:
 * `1 - C(n - c, k) / C(n, k)` (Chen et al. 2021, "Evaluating Large Language Models Trained on Code").
 *
 * @since 0.1.0
 * @category statistics
 */
export const passAtK = (n: number, c: number, k: number): Result<number> =>
  Either.map(checkTrials("passAtK", n, c, k, 1), () => 1 - chanceOfAll(n, n - c, k))

/**
 * pass^k: the chance that all of `k` trials succeed, estimated without bias from `c` successes in `n` trials:
 * `C(c, k) / C(n, k)` (Yao et al. 2024, "τ-bench").
 *
 * @since 0.1.0
 * @category statistics
 */
export const passHatK = (n: number, c: number, k: number): Result<number> =>
  Either.map(checkTrials("passHatK", n, c, k, 1), () => chanceOfAll(n, c, k))

/**
 * Wilson's score interval of a rate, without continuity correction: from 0 to 1, and not empty where no trial or every
 * trial succeeded. The confidence is 0.95 by default.
 *
 * @since 0.1.0
 * @category statistics
 */
export const wilson = (successes: number, trials: number, confidence = 0.95): Result<Interval> =>
  Either.map(
    Either.all([checkTrials("wilson", trials, successes, 0, 0), checkConfidence("wilson", confidence)]),
    () => {
      const rate = successes / trials
      const z = -Normal.quantile((1 - confidence) / 2)
      const share = z ** 2 / trials
      const center = (rate + share / 2) / (1 + share)
      const half = (z * Math.sqrt((rate * (1 - rate)) / trials + share / (4 * trials))) / (1 + share)
      return {
        lower: successes === 0 ? 0 : Math.max(0, center - half),
        upper: successes === trials ? 1 : Math.min(1, center + half),
        confidence
      }
    }
  )
