/**
 * How relevant each candidate of a query is, 0 to 1, from what the indexes say of it.
 *
 * What an index says is taken as a share of the best it says, because neither BM25 nor cosines have a scale of their
 * own, and is measured from the background: what the entry far down the ranking has by accident. So few entries stand
 * out, and all others are close to 0 together; otherwise those of them that happen to be fresh would outweigh old
 * entries that the query is about. Park et al. (Generative Agents, 2023) normalise by minimum and maximum for the same
 * reason.
 *
 * @internal
 * @since 0.1.0
 */
import type { EntryId } from "../../domain/Ids.js"
import type { LexicalMatches } from "../entry/MemoryBackend.js"
import type { MemoryEntry } from "../entry/MemoryEntry.js"
import * as Scoring from "../entry/Scoring.js"
import type { VectorHit } from "./VectorIndex.js"

/**
 * @category models
 */
export type LexicalHit = LexicalMatches["hits"][number]

/**
 * What found an entry and how well.
 *
 * @category models
 */
export interface Found {
  readonly relevance: number
  readonly lexical?: number | undefined
  readonly vector?: number | undefined
  /** None unless `explained`. */
  readonly ranks: { readonly [index: string]: number }
  readonly fused: number
}

/**
 * What the indexes found. `answers` were said right after hits that are questions, with the id of the hit; `tagged`
 * have a name of the query in their metadata.
 *
 * @category models
 */
export interface Findings {
  readonly lexical: LexicalMatches
  readonly vector?: ReadonlyArray<VectorHit> | undefined
  readonly answers: ReadonlyArray<{ readonly entry: MemoryEntry; readonly to: EntryId }>
  readonly tagged: ReadonlyArray<MemoryEntry>
  readonly names: ReadonlyArray<string>
  /** Whether somebody wants to know the ranks. */
  readonly explained: boolean
}

/** The entry of this rank is background. */
const backgroundRank = 17
/** Less than this share of the best is background in any case. */
const faint = 0.35
/** More than this share of the best is not, however many have it: where all are alike, none is background. */
const clear = 0.8
/** How far above the background half of the relevance is reached. */
const half = 0.15
/** A best hit with less of the words of a query than this is a poor one, and has less than all of the relevance. */
const poorWords = 0.1
/** A best vector that is less above all others than this is a poor one. */
const poorVector = 0.1
/** How much more the words of an entry count that names what the query names. */
const naming = 1.75
/** How much vectors count beside words. */
const meaning = 0.5
/** What an entry has at least whose metadata names what the query names, as a share of the best. */
const tagging = 0.6
/** How much of what a question has its answer has. */
const answering = 0.95

/**
 * An entry that is there because it is recent.
 *
 * @category constructors
 */
export const irrelevant = (rank: number): Found => ({
  relevance: 0,
  ranks: { recent: rank },
  fused: 1 / (Scoring.fusionConstant + rank)
})

/**
 * Whether a text asks something, in the scripts that have a mark for it.
 *
 * @category guards
 */
export const isQuestion = (text: string): boolean => /[?？؟՞፧]/.test(text.slice(-500))

/** Characters of a content in which names are looked for. */
const maxNaming = 5_000

/**
 * Whether an entry names one of these: in its content, whatever the case, or in its metadata under `entities`.
 *
 * @category constructors
 */
export const namesAny = (names: ReadonlyArray<string>): ((entry: MemoryEntry) => boolean) => {
  if (names.length === 0) return () => false
  const escaped = names.map((name) => name.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&"))
  const pattern = new RegExp(`(?<![\\p{L}\\p{M}\\p{N}])(?:${escaped.join("|")})(?![\\p{L}\\p{M}\\p{N}])`, "iu")
  const known = new Set<unknown>(names)
  return ({ content, metadata }) => {
    if (pattern.test(content.slice(0, maxNaming))) return true
    const entities = Object.hasOwn(metadata, "entities") ? metadata["entities"] : undefined
    return Array.isArray(entities) && entities.some((entity) => known.has(entity))
  }
}

const share = (score: number, ceiling: number): number => (ceiling > 0 && score > 0 ? Math.min(1, score / ceiling) : 0)

/** Of the words of the query, what each entry has, as a share of the best. */
const byWords = ({ hits, ceiling }: LexicalMatches, isNamed: ReadonlySet<EntryId>): Map<EntryId, number> => {
  const words = new Map<EntryId, number>()
  let best = poorWords
  for (const { entry, score } of hits) {
    const value = share(score, ceiling) * (isNamed.has(entry.id) ? naming : 1)
    words.set(entry.id, value)
    best = Math.max(best, value)
  }
  for (const [id, value] of words) words.set(id, value / best)
  return words
}

/**
 * Each as a share of the best, above what all vectors have in common. The fewer there are, the less is known of that.
 */
const byVectors = (hits: ReadonlyArray<VectorHit>): Map<EntryId, number> => {
  let lowest = 1
  let highest = 0
  for (const { similarity } of hits) {
    lowest = Math.min(lowest, similarity)
    highest = Math.max(highest, similarity)
  }
  const common = Math.max(0, lowest) * Math.min(1, hits.length / backgroundRank)
  const best = Math.max(poorVector, highest - common)
  return new Map(hits.map(({ id, similarity }) => [id, Math.max(0, similarity - common) / best]))
}

/** From a share of the best to a relevance: rising from 0 to 1, steepest just above the background. */
const stood = (value: number, background: number): number => {
  if (value <= background) return (Scoring.BACKGROUND * value) / background
  const above = ((value - background) / (1 - background)) ** 2
  const middle = half ** 2
  return Math.min(1, Scoring.BACKGROUND + ((1 - Scoring.BACKGROUND) * above * (1 + middle)) / (above + middle))
}

const unranked = {}

/**
 * Every candidate with its relevance; whoever any index found is there.
 *
 * @category combinators
 */
export const combine = (findings: Findings): Map<EntryId, Found> => {
  const { answers, explained, lexical, names, tagged, vector } = findings
  const isNamed = namesAny(names)
  const rankings = {
    lexical: lexical.hits.map(({ entry }) => entry.id),
    vector: vector?.map(({ id }) => id) ?? [],
    entity: [...lexical.hits.map(({ entry }) => entry).filter(isNamed), ...tagged].map(({ id }) => id),
    answer: answers.map(({ entry }) => entry.id)
  }
  const fused = Scoring.fuse(Object.values(rankings))
  const ranks = new Map<EntryId, Record<string, number>>()
  for (const [index, ids] of explained ? Object.entries(rankings) : []) {
    ids.forEach((id, position) => {
      const own = ranks.get(id)
      if (own === undefined) ranks.set(id, { [index]: position + 1 })
      else own[index] ??= position + 1
    })
  }
  const words = byWords(lexical, new Set(rankings.entity))
  const vectors = byVectors(vector ?? [])
  const raw = new Map<EntryId, number>()
  for (const id of fused.keys()) {
    const ofWords = words.get(id) ?? 0
    raw.set(id, vector === undefined ? ofWords : ofWords * (1 - meaning) + (vectors.get(id) ?? 0) * meaning)
  }
  for (const { id } of tagged) raw.set(id, Math.max(raw.get(id) ?? 0, tagging))
  const asked = answers.length === 0 ? raw : new Map(raw)
  for (const { entry, to } of answers) {
    raw.set(entry.id, Math.max(raw.get(entry.id) ?? 0, (asked.get(to) ?? 0) * answering))
  }
  const ascending = Float64Array.from(raw.values()).sort()
  const best = ascending.at(-1) ?? 0
  const common = ascending.at(-backgroundRank) ?? 0
  const background = Math.min(Math.max(common, best * faint), best * clear)
  const similarity = new Map(vector?.map((hit) => [hit.id, Math.max(0, Math.min(1, hit.similarity))]))
  const matched = new Map(lexical.hits.map(({ entry, score }) => [entry.id, share(score, lexical.ceiling)]))
  const found = new Map<EntryId, Found>()
  for (const [id, value] of raw) {
    found.set(id, {
      relevance: value > 0 ? stood(value, background) : 0,
      lexical: matched.get(id),
      vector: similarity.get(id),
      ranks: ranks.get(id) ?? unranked,
      fused: fused.get(id) ?? 0
    })
  }
  return found
}
