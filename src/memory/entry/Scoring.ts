/**
 * Arithmetic of retrieval: combines recency, importance and relevance into one score, fuses rankings, and diversifies
 * results. Pure functions.
 *
 * @since 0.1.0
 */
import * as Duration from "effect/Duration"
import * as Either from "effect/Either"
import * as Schema from "effect/Schema"
import { MemorySystemError } from "./MemoryError.js"

const Weight = Schema.NonNegative.pipe(Schema.finite())

/**
 * How much each part of a score counts. Only their ratio matters.
 *
 * @since 0.1.0
 * @category schemas
 */
export const Weights = Schema.Struct({ recency: Weight, importance: Weight, relevance: Weight }).annotations({
  identifier: "effect-lexigram/memory/Scoring/Weights"
})
/**
 * @since 0.1.0
 * @category models
 */
export interface Weights extends Schema.Schema.Type<typeof Weights> {}

/**
 * The parts of a score, each 0 to 1.
 *
 * @since 0.1.0
 * @category models
 */
export interface Parts {
  readonly recency: number
  readonly importance: number
  readonly relevance: number
}

/**
 * The age at which recency is one half: 30 days.
 *
 * @since 0.1.0
 * @category constants
 */
export const halfLife: Duration.Duration = Duration.days(30)

/**
 * The constant of reciprocal rank fusion that its authors found best: 60.
 *
 * @since 0.1.0
 * @category constants
 */
export const fusionConstant = 60

const unit = (value: number): number => (value > 0 ? Math.min(1, value) : 0)

const isWeights = Schema.is(Weights)

/**
 * Normalizes the weights to a sum of 1. Rejects negative, NaN and infinite weights, and weights that are all 0: such a
 * score would order nothing.
 *
 * @since 0.1.0
 * @category combinators
 */
export const normalise = (weights: Weights): Either.Either<Weights, MemorySystemError> => {
  const { importance, recency, relevance } = weights
  const largest = Math.max(recency, importance, relevance)
  if (!isWeights(weights) || largest === 0) {
    return Either.left(
      new MemorySystemError({
        message: "The weights of recency, importance and relevance are invalid",
        hint: "Give numbers of at least 0, at least one of them above 0"
      })
    )
  }
  // Divides by the largest first, so that neither huge nor tiny weights lose their ratio.
  const [r, i, l] = [recency / largest, importance / largest, relevance / largest]
  const sum = r + i + l
  return Either.right({ recency: r / sum, importance: i / sum, relevance: l / sum })
}

/**
 * `2^(-age / halfLife)`: 1 now, one half after the half-life, approaching 0 after that. Future times count as now.
 *
 * @since 0.1.0
 * @category combinators
 */
export const recency = (timestamp: number, now: number, halfLifeMillis: number): number => {
  const age = now - timestamp
  if (!(age > 0)) return 1
  return halfLifeMillis > 0 ? 2 ** -(age / halfLifeMillis) : 0
}

/**
 * `recency·weights.recency + importance·weights.importance + relevance·weights.relevance`. 0 to 1 for weights that
 * `normalise` returned.
 *
 * @since 0.1.0
 * @category combinators
 */
export const score = (parts: Parts, weights: Weights): number =>
  unit(parts.recency * weights.recency + parts.importance * weights.importance + parts.relevance * weights.relevance)

/**
 * Reciprocal rank fusion (Cormack, Clarke and Buettcher 2009): an item gets `1 / (k + rank)` from each ranking that
 * contains it, with ranks from 1. An item that occurs twice in a ranking counts at its first place. A ranking can be
 * weighted (default 1).
 *
 * @since 0.1.0
 * @category combinators
 */
export const fuse = <A>(
  rankings: ReadonlyArray<ReadonlyArray<A>>,
  options?: { readonly k?: number | undefined; readonly weights?: ReadonlyArray<number> | undefined } | undefined
): Map<A, number> => {
  const k = options?.k ?? fusionConstant
  const fused = new Map<A, number>()
  rankings.forEach((ranking, index) => {
    const weight = options?.weights?.[index] ?? 1
    const seen = new Set<A>()
    ranking.forEach((item, position) => {
      if (seen.has(item)) return
      seen.add(item)
      fused.set(item, (fused.get(item) ?? 0) + weight / (k + position + 1))
    })
  })
  return fused
}

/**
 * Maximal marginal relevance (Carbonell and Goldstein 1998): repeatedly takes the item with the highest
 * `lambda·relevance - (1 - lambda)·(similarity to the most similar item taken before)`. With `lambda` 1 that is the
 * order of relevance; with 0 each item is the one least similar to those before it. Of equal items the earlier comes
 * first. Lazy: taking n items costs n steps.
 *
 * @since 0.1.0
 * @category combinators
 */
export function* diversify<A>(
  items: ReadonlyArray<A>,
  options: {
    readonly lambda: number
    readonly relevance: (item: A) => number
    readonly similarity: (a: A, b: A) => number
  }
): Generator<A> {
  const lambda = unit(options.lambda)
  const left = items.map((item) => ({ item, relevance: options.relevance(item), similar: 0 }))
  let taken: A | undefined
  for (let isFirst = true; left.length > 0; isFirst = false) {
    let best = 0
    let highest = Number.NEGATIVE_INFINITY
    for (let i = 0; i < left.length; i++) {
      const one = left[i] as (typeof left)[number]
      if (!isFirst && lambda < 1) {
        const similarity = options.similarity(one.item, taken as A)
        if (similarity > one.similar) one.similar = similarity
      }
      // Nothing is taken yet: the most relevant item comes first, whatever lambda is.
      const marginal = isFirst ? one.relevance : lambda * one.relevance - (1 - lambda) * one.similar
      if (marginal > highest) {
        highest = marginal
        best = i
      }
    }
    taken = (left.splice(best, 1)[0] as (typeof left)[number]).item
    yield taken
  }
}

/**
 * The highest relevance of a result that the query did not find: one that only fills up the number of results or stands
 * beside a result that was found.
 *
 * @since 0.1.0
 * @category constants
 */
export const BACKGROUND = 0.05

/**
 * Returns whether the query found a result: whether its relevance is above `BACKGROUND`.
 *
 * @since 0.1.0
 * @category guards
 */
export const isRelevant = ({ relevance }: Pick<Parts, "relevance">): boolean => relevance > BACKGROUND
