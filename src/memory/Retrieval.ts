/**
 * From a query to scored results.
 *
 * @internal
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import type { Service as Embedder } from "../llm/Embedder.js"
import type { MemoryBackend } from "./MemoryBackend.js"
import { type MemoryEntry, type MemoryQuery, type MemorySearchResult, queryDefaults } from "./MemoryEntry.js"
import type { RetrievalFailure } from "./MemoryError.js"
import { byPosition } from "./OwnerEntries.js"
import type { Service as VectorIndex } from "./VectorIndex.js"

/**
 * What a store says where a query says nothing.
 *
 * @category models
 */
export interface Options {
  readonly topK: number
  readonly recencyWeight: number
  readonly importanceWeight: number
  readonly relevanceWeight: number
  /** In milliseconds. */
  readonly recencyHalfLife: number
}

/**
 * @category models
 */
export interface Sources {
  readonly backend: MemoryBackend
  readonly vectors?: { readonly embedder: Embedder; readonly index: VectorIndex } | undefined
  readonly options: Options
}

/** Candidates for each result that is asked for. */
const CANDIDATES = 10

/**
 * @category combinators
 */
export const retrieve = (
  sources: Sources,
  query: MemoryQuery,
  now: number
): Effect.Effect<ReadonlyArray<MemorySearchResult>, RetrievalFailure> =>
  Effect.gen(function* () {
    const { backend, options } = sources
    const topK = query.topK ?? options.topK
    const offset = query.offset ?? queryDefaults.offset
    if (topK === 0) return []
    const limit = (topK + offset) * CANDIDATES
    const relevances = new Map<string, number>()
    const entries = new Map<string, MemoryEntry>()
    const { ceiling, hits } = yield* backend.lexical(query.ownerId, { text: query.query, limit, selection: query })
    for (const { entry, score } of hits) {
      entries.set(entry.id, entry)
      relevances.set(entry.id, ceiling > 0 ? Math.min(1, score / ceiling) : 0)
    }
    const recent = yield* backend.recent(query.ownerId, { limit, selection: query })
    for (const entry of recent) entries.set(entry.id, entry)
    const weights = {
      recency: query.recencyWeight ?? options.recencyWeight,
      importance: query.importanceWeight ?? options.importanceWeight,
      relevance: query.relevanceWeight ?? options.relevanceWeight
    }
    const sum = weights.recency + weights.importance + weights.relevance || 1
    return Array.from(entries.values(), (entry): MemorySearchResult => {
      const relevance = relevances.get(entry.id) ?? 0
      const recency = 2 ** (-Math.max(0, now - entry.timestamp) / options.recencyHalfLife)
      const score =
        (recency * weights.recency + entry.importance * weights.importance + relevance * weights.relevance) / sum
      return { entry, score, relevance, source: backend.name }
    })
      .filter((result) => result.relevance >= (query.minRelevance ?? queryDefaults.minRelevance))
      .sort((a, b) => b.score - a.score || byPosition(b.entry, a.entry))
      .slice(offset, offset + topK)
  })
