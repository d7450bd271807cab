/**
 * Ranks what several owners remember together.
 *
 * Each owner's results are relative to its own best one, which may be poor. They are compared by their words among the
 * results of all, and by their vectors, which have one scale.
 *
 * @private
 * @since 0.1.0
 */
import type { MemorySearchResult } from "../entry/MemoryEntry.js"
import * as Scoring from "../entry/Scoring.js"
import * as TextRelevance from "./TextRelevance.js"

/** Characters of an entry that are compared. */
const compared = 2_000

/** The least that the best result of an owner counts: it may have been found by a name or as an answer. */
const least = 0.5

type Lists<A> = ReadonlyArray<ReadonlyArray<A>>

/** Of equal items, one of an earlier list comes first. */
const sorted = <A>(lists: Lists<A>, scoreOf: (item: A) => number): ReadonlyArray<A> =>
  lists.flat().sort((a, b) => scoreOf(b) - scoreOf(a))

/** What the best result of each owner is worth, as a share of the best of all. */
const worths = (query: string, lists: Lists<MemorySearchResult>): ReadonlyArray<number> => {
  const words = TextRelevance.scores(
    query,
    lists.flat().map(({ entry }) => entry.content.slice(0, compared))
  )
  let at = 0
  const bests = lists.map((list) =>
    list.reduce((best, { explanation }) => {
      const lexical = words[at++] ?? 0
      return Math.max(best, explanation?.vector === undefined ? lexical : (lexical + explanation.vector) / 2)
    }, 0)
  )
  const highest = Math.max(...bests)
  return bests.map((best) => (highest > 0 ? Math.max(least, best / highest) : 1))
}

const weighed = (result: MemorySearchResult, worth: number): MemorySearchResult => {
  const { explanation } = result
  const relevance = result.relevance * worth
  const score =
    explanation === undefined
      ? result.score * worth
      : Scoring.score({ ...explanation, relevance: explanation.relevance * worth }, explanation.weights)
  return { ...result, relevance, score }
}

/**
 * The explained results (`MemoryQuery.explain`) of each owner, best first, as one list. Of equal results, one of an
 * earlier owner comes first.
 *
 * @category combinators
 */
export const results = (query: string, lists: Lists<MemorySearchResult>): ReadonlyArray<MemorySearchResult> => {
  if (lists.length === 1) return lists[0] as ReadonlyArray<MemorySearchResult>
  const shares = worths(query, lists)
  return sorted(
    lists.map((list, index) => list.map((result) => weighed(result, shares[index] ?? 1))),
    ({ score }) => score
  )
}

/**
 * Lists without scores as one: the first item of each, then the second ones.
 *
 * @category combinators
 */
export const ranks = <A>(lists: Lists<A>): ReadonlyArray<A> =>
  lists.length === 1
    ? (lists[0] as ReadonlyArray<A>)
    : sorted(
        lists.map((list) => list.map((item, rank) => ({ item, rank }))),
        ({ rank }) => -rank
      ).map(({ item }) => item)
