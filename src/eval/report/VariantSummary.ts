/**
 * What the variants of an experiment scored, took and cost.
 *
 * @since 0.1.0
 */
import * as Either from "effect/Either"
import * as Usage from "../../domain/Usage.js"
import type { Results } from "../Experiment.js"
import type { Finished } from "../record/ExperimentFold.js"
import * as Bootstrap from "../statistics/Bootstrap.js"
import * as Statistics from "../statistics/Statistics.js"
import * as CaseScores from "./CaseScores.js"

/**
 * @since 0.1.0
 * @category models
 */
export interface Options extends Bootstrap.Options {
  /** A trial passes with a score from this on. Default 1. */
  readonly passAt?: number | undefined
  /** The `k` of pass@k and pass^k. Default: the repetitions of the experiment. */
  readonly k?: number | undefined
}

/**
 * The scores of a variant by one scorer. Each case counts the same, however often it was repeated.
 *
 * @since 0.1.0
 * @category models
 */
export interface ScoreSummary {
  readonly scorer: string
  /** Cases with a score. */
  readonly cases: number
  /** Trials without a score: the scorer failed. */
  readonly unscored: number
  /** The mean of the means of the cases; absent without a score. */
  readonly mean: number | undefined
  /** The bootstrap interval of the mean; absent for fewer than two cases. */
  readonly interval: Statistics.Interval | undefined
  /** The share of trials that pass. */
  readonly passRate: number | undefined
  /** The chance that one of `k` repetitions passes, over the cases with so many; absent if there are none. */
  readonly passAtK: number | undefined
  /** The chance that all of `k` repetitions pass. */
  readonly passHatK: number | undefined
  readonly k: number
}

/**
 * Milliseconds of trials, tries included.
 *
 * @since 0.1.0
 * @category models
 */
export interface Latency {
  readonly p50: number
  readonly p95: number
  readonly p99: number
}

/**
 * @since 0.1.0
 * @category models
 */
export interface VariantSummary {
  readonly variant: string
  /** Trials that ended. */
  readonly trials: number
  /** Trials whose task failed: they have 0 of every scorer. */
  readonly failed: number
  readonly scores: ReadonlyArray<ScoreSummary>
  readonly latency: Latency | undefined
  /** US dollars of the tasks, and of their scoring; trials of unknown price count 0. */
  readonly costUsd: number
  readonly scoringCostUsd: number
  /** Trials with usage whose price is not known. */
  readonly unpriced: number
  readonly usage: Usage.Usage
  readonly modelCalls: number
}

const passes = (
  cases: ReadonlyArray<ReadonlyArray<number>>,
  passAt: number,
  k: number,
  chance: (n: number, c: number, k: number) => Statistics.Result<number>
): number | undefined => {
  const found = cases
    .filter((values) => values.length >= k)
    .map((values) => chance(values.length, values.filter((value) => value >= passAt).length, k))
    .flatMap((result) => (Either.isRight(result) ? [result.right] : []))
  return found.length === 0 ? undefined : CaseScores.meanOf(found)
}

const scoreOf = (
  finished: ReadonlyArray<Finished>,
  scorer: string,
  repetitions: number,
  options: Options
): Statistics.Result<ScoreSummary> =>
  Either.gen(function* () {
    const { cases, unscored } = CaseScores.of(finished, scorer)
    const lists = Array.from(cases.values())
    const { k = repetitions, passAt = 1 } = options
    const all = lists.flat()
    return {
      scorer,
      cases: lists.length,
      unscored,
      mean: lists.length === 0 ? undefined : CaseScores.meanOf(lists.map(CaseScores.meanOf)),
      interval: lists.length < 2 ? undefined : yield* Bootstrap.clusters(lists, options),
      passRate: all.length === 0 ? undefined : all.filter((value) => value >= passAt).length / all.length,
      passAtK: passes(lists, passAt, k, Statistics.passAtK),
      passHatK: passes(lists, passAt, k, Statistics.passHatK),
      k
    }
  })

const latencyOf = (finished: ReadonlyArray<Finished>): Latency | undefined =>
  Statistics.percentiles(
    finished.map(({ result }) => result.durationMs),
    [50, 95, 99]
  ).pipe(
    Either.map(([p50 = 0, p95 = 0, p99 = 0]) => ({ p50, p95, p99 })),
    Either.getOrElse(() => undefined)
  )

const sum = (values: ReadonlyArray<number | undefined>): number =>
  values.reduce<number>((total, value) => total + (value ?? 0), 0)

/**
 * A summary for each variant of the experiment, in its order. Fails if an option is out of its bounds.
 *
 * @example
 * ```ts
 * import { Experiment, VariantSummary } from "effect-lexigram/eval"
 * import * as Effect from "effect/Effect"
 *
 * const passes = Effect.gen(function* () {
 *   const summaries = yield* VariantSummary.make(yield* Experiment.load("1a2b3c4"), { passAt: 0.8 })
 *   return summaries.map(({ scores, variant }) => ({ variant, passRate: scores[0]?.passRate }))
 * })
 * ```
 *
 * @since 0.1.0
 * @category constructors
 */
export const make = (results: Results, options: Options = {}): Statistics.Result<ReadonlyArray<VariantSummary>> =>
  Either.gen(function* () {
    const { repetitions, scorers, variants } = results.header
    const { k = repetitions } = options
    if (!(Number.isInteger(k) && k >= 1 && k <= repetitions)) {
      const hint = "k is from 1 to the repetitions of the experiment."
      return yield* Statistics.refuse("VariantSummary.make", `k is ${k} of ${repetitions}`, hint)
    }
    return yield* Either.all(
      variants.map((variant) =>
        Either.gen(function* () {
          const finished = CaseScores.finishedOf(results, variant)
          const all = finished.map(({ result }) => result)
          return {
            variant,
            trials: finished.length,
            failed: all.filter(({ error }) => error !== undefined).length,
            scores: yield* Either.all(scorers.map((scorer) => scoreOf(finished, scorer, repetitions, options))),
            latency: latencyOf(finished),
            costUsd: sum(all.map((result) => result.costUsd)),
            scoringCostUsd: sum(all.map((result) => result.scoring?.costUsd)),
            unpriced: all.filter((result) => result.usage !== undefined && result.costUsd === undefined).length,
            usage: all.reduce((total, { usage }) => Usage.add(total, usage ?? Usage.empty), Usage.empty),
            modelCalls: sum(all.map((result) => result.modelCalls))
          }
        })
      )
    )
  })
