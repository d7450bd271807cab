/**
 * Confidence intervals of means by the bootstrap: the mean of many samples, each drawn with replacement out of the
 * numbers that are there (Efron and Tibshirani 1993, "An Introduction to the Bootstrap").
 *
 * @since 0.1.0
 */
import * as Either from "effect/Either"
import { PCGRandom } from "effect/Utils"
import * as Normal from "./Normal.js"
import * as Statistics from "./Statistics.js"

/**
 * @since 0.1.0
 * @category models
 */
export interface Options {
  /** How often the interval holds the mean: above 0 and below 1; 0.95 by default. */
  readonly confidence?: number | undefined
  /** Samples that are drawn, from 100 to 1,000,000; 10,000 by default. The work is this times the cases. */
  readonly samples?: number | undefined
  /** A whole number. The same seed gives the same interval; 0 by default. */
  readonly seed?: number | undefined
  /**
   * `bca`, the default, corrects percentiles for the bias and the skewness of the numbers. `percentile` takes them as
   * they are.
   */
  readonly method?: "bca" | "percentile" | undefined
}

/**
 * The options of what draws samples, with their defaults.
 *
 * @since 0.1.0
 * @category models
 * @internal
 */
export interface Drawing {
  readonly confidence: number
  readonly samples: number
  readonly random: PCGRandom
}

const [fewestSamples, mostSamples] = [100, 1_000_000]

/**
 * Checks options.
 *
 * @since 0.1.0
 * @category constructors
 * @internal
 */
export const toDrawing = (statistic: string, options: Options): Statistics.Result<Drawing> => {
  const { confidence = 0.95, samples = 10_000, seed = 0 } = options
  if (!(Number.isInteger(samples) && samples >= fewestSamples && samples <= mostSamples)) {
    const hint = `Draw from ${fewestSamples} to ${mostSamples} samples.`
    return Statistics.refuse(statistic, `samples is ${samples}`, hint)
  }
  if (!Number.isSafeInteger(seed)) {
    return Statistics.refuse(statistic, `seed is ${seed}`, "Give a whole number.")
  }
  const random = new PCGRandom(Math.floor(seed / 2 ** 32), seed)
  return Either.map(Statistics.checkConfidence(statistic, confidence), () => ({ confidence, samples, random }))
}

/** Means of samples, in ascending order. */
const sampleMeans = (values: Float64Array, { random, samples }: Drawing): Float64Array => {
  const means = new Float64Array(samples)
  for (let sample = 0; sample < samples; sample++) {
    let sum = 0
    for (let i = 0; i < values.length; i++) sum += values[Math.floor(random.number() * values.length)] ?? 0
    means[sample] = sum / values.length
  }
  return means.sort()
}

/** What is nearer to the mean than this is the mean: samples add the same numbers in other orders. */
const rounding = 1e-12

/** The share of samples whose mean is smaller; those of the same mean count half. */
const shareBelow = (means: Float64Array, center: number, width: number): number => {
  let twice = 0
  for (const mean of means) {
    if (mean < center - width) twice += 2
    else if (mean <= center + width) twice += 1
  }
  return Math.min(Math.max(twice, 1), 2 * means.length - 1) / (2 * means.length)
}

/** The acceleration, from the means that leave out one number each. */
const accelerationOf = (values: ReadonlyArray<number>, center: number): number => {
  const squares = Statistics.unsafeSquares(values)
  if (squares === 0) return 0
  const deviation = Math.sqrt(squares)
  return values.reduce((sum, value) => sum + ((value - center) / deviation) ** 3, 0) / 6
}

/** The share of the samples at which an interval ends that is corrected for bias and acceleration. */
const corrected = (tail: number, bias: number, acceleration: number): number => {
  const shifted = bias + Normal.quantile(tail)
  const scale = 1 - acceleration * shifted
  return scale > 0 ? Normal.distribution(bias + shifted / scale) : shifted > 0 ? 1 : 0
}

const intervalOf = (
  values: ReadonlyArray<number>,
  method: "bca" | "percentile",
  drawing: Drawing
): Statistics.Interval => {
  const means = sampleMeans(Float64Array.from(values), drawing)
  const center = Statistics.unsafeMean(values)
  const width = rounding * values.reduce((most, value) => Math.max(most, Math.abs(value)), 0)
  const below = (1 - drawing.confidence) / 2
  const bias = Normal.quantile(shareBelow(means, center, width))
  const acceleration = accelerationOf(values, center)
  const at = (share: number) =>
    Statistics.unsafeQuantile(means, method === "percentile" ? share : corrected(share, bias, acceleration))
  return { lower: at(below), upper: at(1 - below), confidence: drawing.confidence }
}

/**
 * The interval of the mean of numbers. Needs two of them. Numbers that are all the same give an interval without width:
 * for rates without failures, `Statistics.wilson` says more.
 *
 * @since 0.1.0
 * @category statistics
 */
export const mean = (values: ReadonlyArray<number>, options: Options = {}): Statistics.Result<Statistics.Interval> =>
  Either.flatMap(Statistics.checkNumbers("Bootstrap.mean", values, 2), () =>
    Either.map(toDrawing("Bootstrap.mean", options), (drawing) => intervalOf(values, options.method ?? "bca", drawing))
  )

/**
 * The interval of the mean of cases that were repeated: one list of numbers for each case. Samples draw whole cases, as
 * repetitions of one case are alike, and every case counts the same, however often it was repeated. Needs two cases.
 *
 * @since 0.1.0
 * @category statistics
 */
export const clusters = (
  cases: ReadonlyArray<ReadonlyArray<number>>,
  options: Options = {}
): Statistics.Result<Statistics.Interval> =>
  Either.flatMap(Either.all(cases.map(Statistics.mean)), (means) => mean(means, options))
