/**
 * Compares two variants case by case, of one experiment or of two over the same dataset.
 *
 * @since 0.1.0
 */
import * as Either from "effect/Either"
import type { Results } from "../Experiment.js"
import type * as Bootstrap from "../statistics/Bootstrap.js"
import * as Comparison from "../statistics/Comparison.js"
import * as Statistics from "../statistics/Statistics.js"
import * as CaseScores from "./CaseScores.js"

/**
 * A variant of an experiment. Its name may be left out where the experiment has one alone.
 *
 * @since 0.1.0
 * @category models
 */
export interface Side {
  readonly results: Results
  readonly variant?: string | undefined
}

/**
 * @since 0.1.0
 * @category models
 */
export interface Options extends Bootstrap.Options {
  readonly baseline: Side
  readonly candidate: Side
  readonly scorer: string
  /** As that of `Comparison.paired`. Default 0. */
  readonly tolerance?: number | undefined
}

/**
 * The mean scores of a case.
 *
 * @since 0.1.0
 * @category models
 */
export interface Pair {
  readonly caseId: string
  readonly baseline: number
  readonly candidate: number
}

/**
 * @since 0.1.0
 * @category models
 */
export interface VariantComparison extends Comparison.Comparison {
  readonly scorer: string
  readonly baseline: string
  readonly candidate: string
  /** The cases that both have scores of: first those that lost the most. */
  readonly pairs: ReadonlyArray<Pair>
  /** Cases that one of the two has no score of. They are not compared. */
  readonly unpaired: ReadonlyArray<string>
}

const name = "VariantComparison.make"

/**
 * The name of the variant of a side.
 *
 * @since 0.1.0
 * @category accessors
 * @internal
 */
export const variantOf = ({ results, variant }: Side): Statistics.Result<string> => {
  const { id, variants } = results.header
  const [first, ...others] = variants
  if (variant === undefined && first !== undefined && others.length === 0) return Either.right(first)
  return variant !== undefined && variants.includes(variant)
    ? Either.right(variant)
    : Statistics.refuse(
        name,
        variant === undefined
          ? `the experiment ${JSON.stringify(id)} has ${variants.length} variants`
          : `the experiment ${JSON.stringify(id)} has no variant ${JSON.stringify(variant)}`,
        `Name one of: ${variants.join(", ")}.`
      )
}

const scoresOf = (side: Side, scorer: string) =>
  Either.map(variantOf(side), (variant) => ({
    variant,
    cases: CaseScores.of(CaseScores.finishedOf(side.results, variant), scorer).cases
  }))

/** Two datasets are the same if their cases are. */
const checkDatasets = ({ baseline, candidate }: Options): Statistics.Result<void> => {
  const [before, after] = [baseline.results.header.dataset, candidate.results.header.dataset]
  return before.version === after.version
    ? Either.void
    : Statistics.refuse(
        name,
        `the datasets differ: ${before.name} ${before.version}, ${after.name} ${after.version}`,
        "Run both over the same cases."
      )
}

/**
 * Compares the mean scores of the cases that both have. Fails if the datasets differ, a variant or the scorer is
 * unknown, or there is no case to compare.
 *
 * @example
 * ```ts
 * import { Experiment, VariantComparison } from "effect-lexigram/eval"
 * import * as Effect from "effect/Effect"
 *
 * const lost = Effect.gen(function* () {
 *   const compared = yield* VariantComparison.make({
 *     baseline: { results: yield* Experiment.load("1a2b3c4") },
 *     candidate: { results: yield* Experiment.load("5d6e7f8") },
 *     scorer: "exact"
 *   })
 *   return compared.pairs.filter(({ baseline, candidate }) => candidate < baseline)
 * })
 * ```
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = (options: Options): Statistics.Result<VariantComparison> =>
  Either.gen(function* () {
    yield* checkDatasets(options)
    const { scorer } = options
    const [before, after] = [yield* scoresOf(options.baseline, scorer), yield* scoresOf(options.candidate, scorer)]
    const pairs: Array<Pair> = []
    const unpaired: Array<string> = []
    for (const caseId of new Set([...before.cases.keys(), ...after.cases.keys()])) {
      const [baseline, candidate] = [before.cases.get(caseId), after.cases.get(caseId)]
      if (baseline === undefined || candidate === undefined) unpaired.push(caseId)
      else pairs.push({ caseId, baseline: CaseScores.meanOf(baseline), candidate: CaseScores.meanOf(candidate) })
    }
    if (pairs.length === 0) {
      const hint = "Check the name of the scorer; a scorer that failed for every trial gives no score."
      return yield* Statistics.refuse(name, `no case has scores of ${JSON.stringify(scorer)} by both`, hint)
    }
    // The order does not depend on that in which trials ended, so that the same results have the same statistics.
    pairs.sort((a, b) => a.candidate - a.baseline - (b.candidate - b.baseline) || (a.caseId < b.caseId ? -1 : 1))
    const compared = yield* Comparison.paired({
      ...options,
      baseline: pairs.map(({ baseline }) => baseline),
      candidate: pairs.map(({ candidate }) => candidate)
    })
    return { ...compared, scorer, baseline: before.variant, candidate: after.variant, pairs, unpaired: unpaired.sort() }
  })
