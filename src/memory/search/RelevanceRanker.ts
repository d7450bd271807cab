/**
 * Puts results in another order: by weights of one's own, or those of a query. Scores are made anew, from what each
 * entry is: its relevance, its importance and its age. A score that a result had before counts for nothing, so that
 * nothing counts twice.
 *
 * @since 0.1.0
 */
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import { type MemoryQuery, type MemorySearchResult, queryDefaults } from "../entry/MemoryEntry.js"
import type { MemorySystemError } from "../entry/MemoryError.js"
import * as Scoring from "../entry/Scoring.js"
import * as Retrieval from "./Retrieval.js"

/**
 * @since 0.1.0
 * @category models
 */
export interface Options {
  /** What counts how much where the query does not say; `MemoryEntry.queryDefaults` unless set. */
  readonly weights?: Partial<Scoring.Weights> | undefined
  /** The age at which recency has fallen to one half; 30 days unless set. */
  readonly recencyHalfLife?: Duration.DurationInput | undefined
}

/**
 * What of a query decides an order.
 *
 * @since 0.1.0
 * @category models
 */
export type Weighing = Pick<MemoryQuery, "recencyWeight" | "importanceWeight" | "relevanceWeight">

/**
 * The weights of a query, of the options where it has none, and the default ones where they have none either; with a
 * sum of 1.
 *
 * @since 0.1.0
 * @category combinators
 */
export const weightsOf = (
  query: Weighing,
  options?: Options | undefined
): Either.Either<Scoring.Weights, MemorySystemError> =>
  Scoring.normalise({
    recency: query.recencyWeight ?? options?.weights?.recency ?? queryDefaults.recencyWeight,
    importance: query.importanceWeight ?? options?.weights?.importance ?? queryDefaults.importanceWeight,
    relevance: query.relevanceWeight ?? options?.weights?.relevance ?? queryDefaults.relevanceWeight
  })

const rescored = (
  result: MemorySearchResult,
  weights: Scoring.Weights,
  now: number,
  halfLife: number
): MemorySearchResult => {
  const { entry, explanation, relevance } = result
  const recency = Scoring.recency(entry.timestamp, now, halfLife)
  const parts: Scoring.Parts = { recency, importance: entry.importance, relevance }
  const score = Scoring.score(parts, weights)
  return explanation === undefined
    ? { ...result, score }
    : { ...result, score, explanation: { ...explanation, ...parts, weights } }
}

/**
 * Best first; equal scores by time, newest first, then by id. Neighbours stay behind the result they stand beside and
 * have its score; those whose result is not there are left out.
 *
 * @since 0.1.0
 * @category combinators
 */
export const rank = (
  results: ReadonlyArray<MemorySearchResult>,
  query: Weighing = {},
  options?: Options | undefined
): Effect.Effect<ReadonlyArray<MemorySearchResult>, MemorySystemError> =>
  Effect.flatMap(Clock.currentTimeMillis, (now) =>
    Either.map(weightsOf(query, options), (weights) => {
      const halfLife = Duration.toMillis(options?.recencyHalfLife ?? Scoring.halfLife)
      const beside = new Map<string, Array<MemorySearchResult>>()
      const found: Array<MemorySearchResult> = []
      for (const result of results) {
        const { neighbourOf } = result
        if (neighbourOf === undefined) found.push(rescored(result, weights, now, halfLife))
        else beside.set(neighbourOf, [...(beside.get(neighbourOf) ?? []), result])
      }
      return found.sort(Retrieval.byScore).flatMap((result) => {
        const neighbours = beside.get(result.entry.id)
        return neighbours === undefined
          ? [result]
          : [result, ...neighbours.map((one) => ({ ...one, score: result.score }))]
      })
    })
  )

/**
 * The best of them, at most `k` (the `topK` of the query unless given, else 10); neighbours do not count.
 *
 * @since 0.1.0
 * @category combinators
 */
export const topK = (
  results: ReadonlyArray<MemorySearchResult>,
  query: Weighing & Pick<MemoryQuery, "topK"> = {},
  options?: (Options & { readonly k?: number | undefined }) | undefined
): Effect.Effect<ReadonlyArray<MemorySearchResult>, MemorySystemError> =>
  Effect.map(rank(results, query, options), (ranked) => {
    const most = options?.k ?? query.topK ?? queryDefaults.topK
    let found = 0
    const beyond = ranked.findIndex((one) => one.neighbourOf === undefined && ++found > most)
    return beyond < 0 ? ranked : ranked.slice(0, beyond)
  })
