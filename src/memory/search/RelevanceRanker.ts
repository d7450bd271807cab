/**
 * Ranks results by custom weights or those of a query. Recomputes each score from the relevance, importance and age of
 * the entry. Previous scores are ignored, so that nothing counts twice.
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
  /** Weights for queries that do not set them. Default `MemoryEntry.queryDefaults`. */
  readonly weights?: Partial<Scoring.Weights> | undefined
  /** The age at which recency is one half. Default 30 days. */
  readonly recencyHalfLife?: Duration.DurationInput | undefined
}

/**
 * The fields of a query that determine an order.
 *
 * @since 0.1.0
 * @category models
 */
export type Weighing = Pick<MemoryQuery, "recencyWeight" | "importanceWeight" | "relevanceWeight">

/**
 * The weights of a query, otherwise of the options, otherwise the defaults, normalized to a sum of 1.
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
 * Best first; equal scores by time, newest first, then by id. Neighbors follow their result and have its score.
 * Neighbors without their result are omitted.
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
 * The best `k` results (default the `topK` of the query, otherwise 10). Neighbors do not count.
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
