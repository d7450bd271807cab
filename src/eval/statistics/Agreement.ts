/**
 * How far two raters agree: a judge with people, people with each other, a judge with itself.
 *
 * @since 0.1.0
 */
import * as Either from "effect/Either"
import * as Statistics from "./Statistics.js"

/**
 * What a rater says of an output: a class, a verdict, a grade.
 *
 * @since 0.1.0
 * @category models
 */
export type Label = string | number | boolean

type Labels = ReadonlyArray<Label>

const checkPairs = (statistic: string, first: ReadonlyArray<unknown>, second: ReadonlyArray<unknown>, least: number) =>
  first.length !== second.length
    ? Statistics.refuse(
        statistic,
        `${first.length} and ${second.length} ratings`,
        "Give both ratings of the same outputs, in the same order."
      )
    : first.length < least
      ? Statistics.refuse(statistic, `${first.length} ratings are too few`, `Give at least ${least}.`)
      : Either.void

/**
 * The part of the outputs that both raters gave the same label, from 0 to 1.
 *
 * @since 0.1.0
 * @category statistics
 */
export const percentAgreement = (first: Labels, second: Labels): Statistics.Result<number> =>
  Either.map(
    checkPairs("percentAgreement", first, second, 1),
    () => first.filter((label, i) => label === second[i]).length / first.length
  )

/**
 * @since 0.1.0
 * @category models
 */
export interface KappaOptions {
  /**
   * How much two labels differ: not at all or wholly by default; by the distance of their places among the categories
   * (`linear`), or by its square (`quadratic`).
   */
  readonly weights?: "linear" | "quadratic" | undefined
  /**
   * All labels, from the lowest to the highest, also those that nobody gave. By default the labels that were given,
   * numbers by size and others by their characters.
   */
  readonly categories?: ReadonlyArray<Label> | undefined
}

const compareLabels = (a: Label, b: Label): number => {
  if (typeof a === "number" && typeof b === "number") return a - b
  const [first, second] = [`${typeof a} ${a}`, `${typeof b} ${b}`]
  return first < second ? -1 : first > second ? 1 : 0
}

const distances = {
  none: (a: number, b: number) => (a === b ? 0 : 1),
  linear: (a: number, b: number) => Math.abs(a - b),
  quadratic: (a: number, b: number) => (a - b) ** 2
}

/** More categories than this are no scale; the work is their square. */
const mostCategories = 1000

const places = (labels: Labels, categories: Labels): Statistics.Result<ReadonlyArray<number>> => {
  const placeOf = new Map(categories.map((label, place) => [label, place]))
  const strange = labels.find((label) => !placeOf.has(label))
  return strange === undefined
    ? Either.right(labels.map((label) => placeOf.get(label) ?? 0))
    : Statistics.refuse("kappa", `${JSON.stringify(strange)} is no category`, "List every label in categories.")
}

/** Agreement beyond chance: one less the distance that was found for each that chance would give. */
const kappaOf = (
  first: ReadonlyArray<number>,
  second: ReadonlyArray<number>,
  size: number,
  distance: (a: number, b: number) => number
): Statistics.Result<number> => {
  const counts = (ratings: ReadonlyArray<number>) => {
    const counts = new Float64Array(size)
    for (const place of ratings) counts[place] = (counts[place] ?? 0) + 1
    return counts
  }
  const [ofFirst, ofSecond] = [counts(first), counts(second)]
  const found = first.reduce((sum, place, i) => sum + distance(place, second[i] ?? place), 0)
  let expected = 0
  for (const [a, count] of ofFirst.entries())
    if (count > 0) for (const [b, other] of ofSecond.entries()) expected += count * other * distance(a, b)
  if (expected === 0) {
    return Statistics.refuse("kappa", "both raters gave one label to everything", "Rate outputs of more than one kind.")
  }
  return Either.right(1 - (found * first.length) / expected)
}

/**
 * Cohen's kappa: agreement beyond what chance gives, 1 at best, 0 by chance (Cohen 1960; with weights Cohen 1968). Up
 * to 1,000 categories.
 *
 * @since 0.1.0
 * @category statistics
 */
export const kappa = (first: Labels, second: Labels, options: KappaOptions = {}): Statistics.Result<number> =>
  Either.gen(function* () {
    yield* checkPairs("kappa", first, second, 1)
    const categories = options.categories ?? [...new Set([...first, ...second])].sort(compareLabels)
    if (categories.length > mostCategories) {
      const message = `${categories.length} categories`
      return yield* Statistics.refuse("kappa", message, `Give at most ${mostCategories}, or use pearson for numbers.`)
    }
    const distance = distances[options.weights ?? "none"]
    return yield* kappaOf(
      yield* places(first, categories),
      yield* places(second, categories),
      categories.length,
      distance
    )
  })

/** The differences within a group of ratings, over all ordered pairs, for each other rating of the group. */
const disagreement = {
  nominal: (labels: Labels): number => {
    const counts = new Map<Label, number>()
    for (const label of labels) counts.set(label, (counts.get(label) ?? 0) + 1)
    const same = [...counts.values()].reduce((sum, count) => sum + count ** 2, 0)
    return (labels.length ** 2 - same) / (labels.length - 1)
  },
  interval: (labels: Labels): number =>
    (2 * labels.length * Statistics.unsafeSquares(labels.map(Number))) / (labels.length - 1)
}

/**
 * Krippendorff's alpha: agreement beyond chance of any number of raters, each of which may have left outputs out: 1 at
 * best, 0 by chance (Krippendorff 2011, "Computing Krippendorff's Alpha-Reliability"). One list for each rater, with
 * `undefined` where it gave no rating. `nominal`, the default, compares labels; `interval` takes squared differences of
 * numbers.
 *
 * @since 0.1.0
 * @category statistics
 */
export const krippendorffAlpha = (
  raters: ReadonlyArray<ReadonlyArray<Label | undefined>>,
  level: "nominal" | "interval" = "nominal"
): Statistics.Result<number> =>
  Either.gen(function* () {
    const name = "krippendorffAlpha"
    const outputs = raters.reduce((most, ratings) => Math.max(most, ratings.length), 0)
    const groups = Array.from({ length: outputs }, (_, output) =>
      raters.map((ratings) => ratings[output]).filter((label) => label !== undefined)
    ).filter((labels) => labels.length > 1)
    const all = groups.flat()
    if (groups.length === 0) {
      return yield* Statistics.refuse(name, "no output has two ratings", "Have two raters rate the same outputs.")
    }
    if (level === "interval") {
      yield* Statistics.checkNumbers(
        name,
        all.map((label) => (typeof label === "number" ? label : Number.NaN))
      )
    }
    const expected = disagreement[level](all)
    if (expected === 0) {
      return yield* Statistics.refuse(name, "all ratings are the same", "Rate outputs of more than one kind.")
    }
    return 1 - groups.reduce((sum, labels) => sum + disagreement[level](labels), 0) / expected
  })

const correlation = (
  name: string,
  first: ReadonlyArray<number>,
  second: ReadonlyArray<number>,
  values: (numbers: ReadonlyArray<number>) => ReadonlyArray<number>
): Statistics.Result<number> =>
  Either.gen(function* () {
    yield* checkPairs(name, first, second, 2)
    yield* Statistics.checkNumbers(name, first)
    yield* Statistics.checkNumbers(name, second)
    const [a, b] = [unit(values(first)), unit(values(second))]
    if (a === undefined || b === undefined) {
      return yield* Statistics.refuse(name, "one rater gave one number to everything", "Rate outputs that differ.")
    }
    return Math.min(
      1,
      Math.max(
        -1,
        a.reduce((sum, value, i) => sum + value * (b[i] ?? 0), 0)
      )
    )
  })

/** Differences from the mean, as a vector of length 1; nothing if the numbers are the same. */
const unit = (values: ReadonlyArray<number>): ReadonlyArray<number> | undefined => {
  const center = Statistics.unsafeMean(values)
  const most = values.reduce((most, value) => Math.max(most, Math.abs(value - center)), 0)
  const scaled = values.map((value) => (value - center) / most)
  const length = Math.sqrt(Statistics.unsafeSquares(scaled))
  return length > 0 ? scaled.map((value) => value / length) : undefined
}

/** Ranks from 1; numbers that are the same have the mean of their ranks. */
const ranks = (values: ReadonlyArray<number>): ReadonlyArray<number> => {
  const order = values.map((value, at) => ({ value, at })).sort((a, b) => a.value - b.value)
  const found = new Array<number>(values.length).fill(0)
  for (let from = 0; from < order.length; ) {
    let to = from
    while (to < order.length && order[to]?.value === order[from]?.value) to++
    for (const { at } of order.slice(from, to)) found[at] = (from + to + 1) / 2
    from = to
  }
  return found
}

/**
 * Pearson's correlation of two raters' numbers, from -1 to 1. Needs two outputs.
 *
 * @since 0.1.0
 * @category statistics
 */
export const pearson = (first: ReadonlyArray<number>, second: ReadonlyArray<number>): Statistics.Result<number> =>
  correlation("pearson", first, second, (numbers) => numbers)

/**
 * Spearman's correlation of the ranks of two raters' numbers, from -1 to 1; numbers that are the same share their mean
 * rank. Needs two outputs.
 *
 * @since 0.1.0
 * @category statistics
 */
export const spearman = (first: ReadonlyArray<number>, second: ReadonlyArray<number>): Statistics.Result<number> =>
  correlation("spearman", first, second, ranks)
