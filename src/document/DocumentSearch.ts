/**
 * Finds passages by their words, and by meaning where there are vectors. Both rankings are fused.
 *
 * @private
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import type { EntryId, SessionId } from "../domain/Ids.js"
import * as Count from "../internal/Count.js"
import type { LexicalMatches } from "../memory/entry/MemoryBackend.js"
import type { MemoryEntry } from "../memory/entry/MemoryEntry.js"
import * as Relevance from "../memory/search/Relevance.js"
import type { VectorHit } from "../memory/search/VectorIndex.js"
import type { Hit, Passage } from "./Document.js"
import * as DocumentCandidates from "./DocumentCandidates.js"
import type { Parts } from "./DocumentChanges.js"
import type { Found, IndexFailure, Query } from "./DocumentIndex.js"
import * as Rows from "./DocumentRows.js"

/** Characters of a query. */
const MAX_QUERY = 8_000
/** Candidates of each ranking. */
const POOL = 100
const MAX_LIMIT = 100
const MAX_NEIGHBOURS = 10

interface Ranked {
  readonly id: EntryId
  readonly score: number
}

/** The share of vectors in what words and vectors find: as in memory, so that a weak model does no harm. */
const vectorWeight = 0.25

/** The best candidates of both rankings. Scores of words are shares of the highest possible one. */
const fused = (lexical: LexicalMatches, nearest: ReadonlyArray<VectorHit> | undefined): ReadonlyArray<Ranked> => {
  const { ceiling, hits } = lexical
  const words = hits.map(({ entry, score }) => ({
    id: entry.id,
    score: ceiling > 0 ? Math.min(1, score / ceiling) : 0
  }))
  if (nearest === undefined) return words
  const best = Math.max(Relevance.poorWords, words[0]?.score ?? 0)
  const scores = new Map(words.map(({ id, score }) => [id, (1 - vectorWeight) * (score / best)]))
  for (const [id, score] of Relevance.byVectors(nearest)) {
    scores.set(id, (scores.get(id) ?? 0) + vectorWeight * score)
  }
  return Array.from(scores, ([id, score]) => ({ id, score })).sort(
    (a, b) => b.score - a.score || (a.id < b.id ? -1 : 1)
  )
}

/** The passages around a chunk, parted by it. */
const around = Effect.fnUntraced(function* ({ backend }: Parts, space: string, entry: MemoryEntry, count: number) {
  const none: ReadonlyArray<Passage> = []
  if (count === 0) return { before: none, after: none }
  const found = yield* backend.around(space, entry.id, { before: count, after: count, selection: {} })
  const isBefore = ({ timestamp }: MemoryEntry) => timestamp < entry.timestamp
  return {
    before: found.filter(isBefore).map(Rows.passage),
    after: found.filter((one) => !isBefore(one)).map(Rows.passage)
  }
})

/** The best candidates as hits. One whose chunk or document is gone is left out. */
const hitsOf = Effect.fnUntraced(function* (
  parts: Parts,
  space: string,
  ranked: ReadonlyArray<Ranked>,
  options: {
    readonly known: ReadonlyMap<EntryId, MemoryEntry>
    readonly limit: number
    readonly neighbours: number
  }
) {
  const { backend } = parts
  const { known, limit, neighbours } = options
  const unread = ranked.filter(({ id }) => !known.has(id)).map(({ id }) => id)
  const more = unread.length === 0 ? [] : yield* backend.get(space, unread)
  const entries = new Map([...known, ...more.map((entry) => [entry.id, entry] as const)])
  const best = ranked
    .flatMap(({ id, score }) => {
      const entry = entries.get(id)
      return entry === undefined || !Rows.isChunk(entry) ? [] : [{ entry, score }]
    })
    .slice(0, limit)
  const ids = new Set(best.map(({ entry }) => Rows.recordIdOfSession(entry.sessionId as SessionId)))
  const records = new Map((yield* backend.get(space, Array.from(ids))).map((entry) => [entry.id, Rows.kept(entry)]))
  const hits: Array<Hit> = []
  for (const { entry, score } of best) {
    const record = records.get(Rows.recordIdOfSession(entry.sessionId as SessionId))
    if (record === undefined) continue
    const beside = yield* around(parts, space, entry, neighbours)
    hits.push({ ...Rows.passage(entry), document: record.info, score, ...beside })
  }
  return hits
})

/**
 * @category combinators
 */
export const search = (parts: Parts, space: string, query: Query): Effect.Effect<Found, IndexFailure> =>
  Effect.gen(function* () {
    const text = query.text.slice(0, MAX_QUERY)
    const limit = Math.min(Count.count(query.limit, 5, 0), MAX_LIMIT)
    const neighbours = Math.min(Count.count(query.neighbours, 0, 0), MAX_NEIGHBOURS)
    if (text.trim() === "" || limit === 0) return { hits: [] }
    const asked = { text, limit: Math.max(POOL, limit) }
    const { lexical, nearest, warning } = yield* DocumentCandidates.find(parts, space, asked, query)
    const known = new Map(lexical.hits.map(({ entry }) => [entry.id, entry]))
    const hits = yield* hitsOf(parts, space, fused(lexical, nearest), { known, limit, neighbours })
    return { hits, ...(warning === undefined ? {} : { warning }) }
  })
