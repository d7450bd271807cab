/**
 * Groups results with the neighbors that follow them, so that an order of results keeps them together.
 *
 * @private
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import type { MemorySearchResult } from "../entry/MemoryEntry.js"
import type { Reranked } from "./MemoryReranker.js"

/**
 * A result and the neighbors that follow it.
 *
 * @category models
 */
export type Group = readonly [MemorySearchResult, ...ReadonlyArray<MemorySearchResult>]

/**
 * @category combinators
 */
export const of = (results: ReadonlyArray<MemorySearchResult>): ReadonlyArray<Group> => {
  const groups: Array<[MemorySearchResult, ...Array<MemorySearchResult>]> = []
  for (const result of results) {
    const last = groups[groups.length - 1]
    if (result.neighbourOf === undefined || last === undefined) groups.push([result])
    else last.push(result)
  }
  return groups
}

/**
 * The groups at these places, then the others in their order.
 *
 * @category combinators
 */
export const ordered = (groups: ReadonlyArray<Group>, places: ReadonlyArray<number>): Reranked => {
  const named = new Set(places)
  const first = places.flatMap((at) => groups[at] ?? [])
  return { results: [...first, ...groups.filter((_, at) => !named.has(at)).flat()], reranked: true }
}

/**
 * The results in their order, with a warning that says why.
 *
 * @category constructors
 */
export const kept = (results: ReadonlyArray<MemorySearchResult>, reason: string): Effect.Effect<Reranked> =>
  Effect.as(
    Effect.annotateLogs(Effect.logWarning("The model gave no order of the results, which keep theirs"), {
      module: "effect-lexigram/memory/MemoryReranker",
      reason
    }),
    { results, reranked: false, reason }
  )
