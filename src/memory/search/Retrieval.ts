/**
 * Retrieves scored results for a query: candidates from every index of a store, one relevance, one score.
 *
 * @private
 * @since 0.1.0
 */
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import type { EntryId } from "../../domain/Ids.js"
import * as Parallel from "../../internal/fiber/Parallel.js"
import type { Service as Embedder } from "../../llm/embedding/Embedder.js"
import type { MemoryBackend, Position } from "../entry/MemoryBackend.js"
import {
  type Explanation,
  type MemoryEntry,
  type MemoryQuery,
  type MemorySearchResult,
  queryDefaults
} from "../entry/MemoryEntry.js"
import { MemoryStoreError, type RetrievalFailure } from "../entry/MemoryError.js"
import * as SameText from "../entry/SameText.js"
import * as Scoring from "../entry/Scoring.js"
import type { Selection } from "../entry/Selection.js"
import * as EntityNames from "../text/EntityNames.js"
import * as QueryDates from "../text/QueryDates.js"
import * as Similarity from "../text/Similarity.js"
import * as Relevance from "./Relevance.js"
import type { Service as VectorIndex } from "./VectorIndex.js"

/**
 * Defaults of a store for fields that a query omits.
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
  /** 0 to 1. */
  readonly vectorWeight: number
}

/**
 * @category models
 */
export interface Sources {
  readonly backend: MemoryBackend
  readonly vectors?: { readonly embedder: Embedder; readonly index: VectorIndex } | undefined
  readonly options: Options
}

/**
 * Maximum number of candidates that are scored, the most relevant. There are no results beyond them, whatever `topK`
 * and `offset` are, so that pages of a query fit together and a merely fresh entry cannot appear on a later page.
 *
 * @category constants
 */
export const poolSize = 200

/** If words and vectors find fewer, the newest entries fill up. */
const few = 10

/** Number of best hits that are checked for being questions, whose next entry is read. */
const askedHits = 10

/** Entries read at once while all compete. */
const pageSize = 256

/** Maximum number of entries that compete for a query without text. */
const scanned = 20_000

/** Maximum number of names of a query. */
const maxNames = 16

/** Maximum characters of a query that are embedded. */
const embedded = 8_000

/** Maximum characters of a content used to compare results. */
const compared = 5_000

interface Settings {
  readonly weights: Scoring.Weights
  readonly halfLife: number
  readonly now: number
}

interface Candidate {
  readonly entry: MemoryEntry
  readonly parts: Scoring.Parts
  readonly relevance: number
  readonly score: number
  readonly found: Relevance.Found
}

/**
 * An item that can be ordered.
 *
 * @category models
 */
export type Rated = Pick<MemorySearchResult, "entry" | "score" | "relevance">

const byCodeUnit = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)

/**
 * Best first; equal scores by time, newest first, then by id.
 *
 * @category combinators
 */
export const byScore = (a: Rated, b: Rated): number =>
  b.score - a.score || b.entry.timestamp - a.entry.timestamp || byCodeUnit(a.entry.id, b.entry.id)

const scored = (entry: MemoryEntry, found: Relevance.Found, settings: Settings): Candidate => {
  const { relevance } = found
  const recency = Scoring.recency(entry.timestamp, settings.now, settings.halfLife)
  const parts: Scoring.Parts = { recency, importance: entry.importance, relevance }
  return { entry, parts, relevance, score: Scoring.score(parts, settings.weights), found }
}

const selectionOf = (query: MemoryQuery): Selection => {
  const { filters, lineage, roles, sessionIds, timeRange, tree } = query
  return { filters, lineage, roles, sessionIds, timeRange, tree }
}

const settingsOf = ({ backend, options }: Sources, query: MemoryQuery, now: number) =>
  Either.mapBoth(
    Either.flatMap(
      options.vectorWeight >= 0 && options.vectorWeight <= 1
        ? Either.void
        : Either.left({
            message: `The weight of vectors is ${options.vectorWeight}`,
            hint: "Give a number from 0 to 1"
          }),
      () =>
        Scoring.normalise({
          recency: query.recencyWeight ?? options.recencyWeight,
          importance: query.importanceWeight ?? options.importanceWeight,
          relevance: query.relevanceWeight ?? options.relevanceWeight
        })
    ),
    {
      onLeft: ({ hint, message }) =>
        new MemoryStoreError({ store: backend.name, message, ...(hint === undefined ? {} : { hint }) }),
      onRight: (weights): Settings => ({ weights, halfLife: options.recencyHalfLife, now })
    }
  )

/** The entries directly after hits that are questions: an answer seldom repeats the words of its question. */
const answersTo = (
  backend: MemoryBackend,
  query: MemoryQuery,
  hits: ReadonlyArray<Relevance.LexicalHit>,
  selection: Selection
) =>
  Effect.map(
    Effect.forEach(
      hits
        .slice(0, askedHits)
        .filter(({ entry }) => entry.sessionId !== undefined && Relevance.isQuestion(entry.content)),
      ({ entry }) =>
        Effect.map(backend.around(query.ownerId, entry.id, { before: 0, after: 1, selection }), (after) =>
          after.map((next) => ({ entry: next, to: entry.id }))
        )
    ),
    (answers) => answers.flat()
  )

/**
 * Entries whose metadata names what the query names, even if their words do not. None if there are many: those of a
 * speaker say nothing about the question, and the newest of them would push out what does.
 */
const taggedWith = (backend: MemoryBackend, query: MemoryQuery, names: ReadonlyArray<string>, selection: Selection) =>
  names.length === 0 || Object.hasOwn(selection.filters ?? {}, "entities")
    ? Effect.succeed([])
    : Effect.map(
        backend.recent(query.ownerId, {
          limit: few + 1,
          selection: { ...selection, filters: { ...selection.filters, entities: { in: names } } }
        }),
        (tagged) => (tagged.length > few ? [] : tagged)
      )

/** Searches by words and by vectors concurrently: either may wait for a server. */
const hitsOf = ({ backend, vectors }: Sources, { ownerId }: MemoryQuery, text: string, selection: Selection) => {
  const lexical = backend.lexical(ownerId, { text, limit: poolSize, selection })
  if (vectors === undefined) return Effect.map(lexical, (lexical) => [lexical, undefined] as const)
  const nearest = Effect.flatMap(vectors.embedder.embed(text.slice(0, embedded)), (vector) =>
    vectors.index.search(ownerId, vector, { limit: poolSize, selection })
  )
  return Parallel.zip(lexical, nearest)
}

/** The candidates of a query with text. */
const relevant = Effect.fnUntraced(function* (
  sources: Sources,
  query: MemoryQuery,
  text: string,
  selection: Selection,
  settings: Settings
) {
  const { backend } = sources
  const { ownerId } = query
  const names = EntityNames.entitiesOf(text, { limit: maxNames })
  const [lexical, vector] = yield* hitsOf(sources, query, text, selection)
  const answers = yield* answersTo(backend, query, lexical.hits, selection)
  const tagged = yield* taggedWith(backend, query, names, selection)
  const found = Relevance.combine({
    lexical,
    vector,
    vectorWeight: sources.options.vectorWeight,
    answers,
    tagged,
    names,
    dates: QueryDates.datesOf(text),
    explained: query.explain === true
  })
  const entries = new Map<EntryId, MemoryEntry>()
  for (const { entry } of lexical.hits) entries.set(entry.id, entry)
  for (const { entry } of answers) entries.set(entry.id, entry)
  for (const entry of tagged) entries.set(entry.id, entry)
  const pool =
    found.size <= poolSize
      ? Array.from(found)
      : Array.from(found)
          .sort(([a, x], [b, y]) => y.fused - x.fused || byCodeUnit(a, b))
          .slice(0, poolSize)
  const unread = pool.filter(([id]) => !entries.has(id)).map(([id]) => id)
  if (unread.length > 0) {
    for (const entry of yield* backend.get(ownerId, unread)) entries.set(entry.id, entry)
  }
  const candidates: Array<Candidate> = []
  for (const [id, one] of pool) {
    // A vector may briefly outlive its entry.
    const entry = entries.get(id)
    if (entry !== undefined) candidates.push(scored(entry, one, settings))
  }
  if (candidates.length < few) {
    const newest = yield* backend.recent(ownerId, { limit: few, selection })
    newest.forEach((entry, index) => {
      if (candidates.length >= few || found.has(entry.id)) return
      candidates.push(scored(entry, Relevance.irrelevant(index + 1), settings))
    })
  }
  return candidates
})

/**
 * The best `count` of the selection when relevance plays no part. Reads from the newest on, and stops when even the
 * highest importance could not lift an older entry above those kept.
 */
const everything = Effect.fnUntraced(function* (
  { backend }: Sources,
  query: MemoryQuery,
  selection: Selection,
  settings: Settings,
  count: number
) {
  let kept: Array<Candidate> = []
  let read = 0
  let before: Position | undefined
  while (read < scanned) {
    const page: ReadonlyArray<MemoryEntry> = yield* backend.recent(query.ownerId, {
      limit: pageSize,
      selection,
      before
    })
    for (const entry of page) kept.push(scored(entry, Relevance.irrelevant(++read), settings))
    kept = kept.sort(byScore).slice(0, count)
    const last = page[page.length - 1]
    if (last === undefined || page.length < pageSize) break
    before = { timestamp: last.timestamp, id: last.id }
    const recency = Scoring.recency(last.timestamp, settings.now, settings.halfLife)
    const most = Scoring.score({ recency, importance: 1, relevance: 0 }, settings.weights)
    const worst = kept[count - 1]
    if (worst === undefined) continue
    if (most < worst.score || (most === worst.score && last.timestamp < worst.entry.timestamp)) break
  }
  return kept
})

/**
 * Arranges items as the query asks: relevant enough, best first, without duplicates, diversified. Lazy: compares only
 * as many as are taken.
 *
 * @category combinators
 */
export const arranged = <A extends Rated>(items: ReadonlyArray<A>, query: MemoryQuery): Iterable<A> => {
  const { diversity = 0, minRelevance = queryDefaults.minRelevance, suppressDuplicates } = query
  const best = items.filter(({ relevance }) => relevance >= minRelevance).sort(byScore)
  if (suppressDuplicates === undefined && diversity === 0) return best
  const known = new Map<A, Similarity.Terms>()
  const termsOf = (one: A): Similarity.Terms => {
    let terms = known.get(one)
    if (terms === undefined) {
      terms = Similarity.terms(one.entry.content.slice(0, compared))
      known.set(one, terms)
    }
    return terms
  }
  const comparedOf = (one: A): Similarity.Compared => ({
    terms: termsOf(one),
    gist: SameText.gist(one.entry.content)
  })
  const different = suppressDuplicates === undefined ? best : Similarity.distinct(best, comparedOf, suppressDuplicates)
  if (diversity === 0) return different
  return Scoring.diversify(Array.from(different), {
    lambda: 1 - diversity,
    relevance: ({ score }) => score,
    similarity: (a, b) => Similarity.jaccard(termsOf(a), termsOf(b))
  })
}

/**
 * The page of the query.
 *
 * @category combinators
 */
export const paged = <A>(items: Iterable<A>, offset: number, count: number): Array<A> => {
  const page: Array<A> = []
  if (count <= 0) return page
  let position = 0
  for (const item of items) {
    if (position++ < offset) continue
    page.push(item)
    if (page.length >= count) break
  }
  return page
}

const resultOf = (source: string, one: Candidate, query: MemoryQuery, settings: Settings): MemorySearchResult => {
  const { entry, found, parts, relevance, score } = one
  const result = { entry, score, relevance, source }
  if (query.explain !== true) return result
  const explanation: Explanation = {
    ...parts,
    weights: settings.weights,
    ...(found.lexical === undefined ? {} : { lexical: found.lexical }),
    ...(found.vector === undefined ? {} : { vector: found.vector }),
    ranks: found.ranks,
    fused: found.fused
  }
  return { ...result, explanation }
}

/** Each result followed by its neighbors, without duplicates. */
const withNeighbours = Effect.fnUntraced(function* (
  backend: MemoryBackend,
  query: MemoryQuery,
  results: ReadonlyArray<MemorySearchResult>,
  candidates: ReadonlyArray<Candidate>,
  selection: Selection
) {
  const { neighbours = 0, ownerId } = query
  const seen = new Set(results.map(({ entry }) => entry.id))
  const relevance = new Map(candidates.map(({ entry, relevance }) => [entry.id, relevance]))
  const all: Array<MemorySearchResult> = []
  for (const result of results) {
    all.push(result)
    const { id } = result.entry
    const around = yield* backend.around(ownerId, id, { before: neighbours, after: neighbours, selection })
    for (const entry of around) {
      if (seen.has(entry.id)) continue
      seen.add(entry.id)
      const own = relevance.get(entry.id) ?? 0
      all.push({ entry, score: result.score, relevance: own, source: backend.name, neighbourOf: id })
    }
  }
  return all
})

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
    const settings = yield* settingsOf(sources, query, now)
    const { offset = queryDefaults.offset, topK = options.topK } = query
    if (topK === 0) return []
    const selection = selectionOf(query)
    const text = query.query.trim()
    const count = offset + topK
    const candidates =
      text === ""
        ? yield* everything(sources, query, selection, settings, Math.max(poolSize, count))
        : yield* relevant(sources, query, text, selection, settings)
    const page = paged(arranged(candidates, query), offset, topK).map((one) =>
      resultOf(backend.name, one, query, settings)
    )
    return query.neighbours === undefined || query.neighbours === 0
      ? page
      : yield* withNeighbours(backend, query, page, candidates, selection)
  })
