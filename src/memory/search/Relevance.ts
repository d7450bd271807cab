/**
 * Computes the relevance of each candidate of a query, 0 to 1, from the hits of the indexes.
 *
 * Neither BM25 nor cosines have an absolute scale, so each hit counts as a share of the best hit, measured from the
 * background: what an entry far down the ranking scores by accident. A few entries then stand out and all others are
 * near 0. Otherwise those that happen to be fresh would outrank old entries that the query is about. Park et al.
 * (Generative Agents, 2023) normalize by minimum and maximum for the same reason.
 *
 * @private
 * @since 0.1.0
 */
import type { EntryId } from "../../domain/Ids.js"
import type { LexicalMatches } from "../entry/MemoryBackend.js"
import type { MemoryEntry } from "../entry/MemoryEntry.js"
import * as Scoring from "../entry/Scoring.js"
import * as QueryDates from "../text/QueryDates.js"
import type { VectorHit } from "./VectorIndex.js"

/**
 * @category models
 */
export type LexicalHit = LexicalMatches["hits"][number]

/**
 * Which indexes found an entry, and how well.
 *
 * @category models
 */
export interface Found {
  readonly relevance: number
  readonly lexical?: number | undefined
  readonly vector?: number | undefined
  /** Empty unless `explained`. */
  readonly ranks: { readonly [index: string]: number }
  readonly fused: number
}

/**
 * The hits of the indexes. `answers` directly follow hits that are questions, with the id of that hit. `tagged` have a
 * name of the query in their metadata.
 *
 * @category models
 */
export interface Findings {
  readonly lexical: LexicalMatches
  readonly vector?: ReadonlyArray<VectorHit> | undefined
  /** The share of vectors in what words and vectors find, 0 to 1. */
  readonly vectorWeight: number
  readonly answers: ReadonlyArray<{ readonly entry: MemoryEntry; readonly to: EntryId }>
  readonly tagged: ReadonlyArray<MemoryEntry>
  readonly names: ReadonlyArray<string>
  /** The dates that the query names. */
  readonly dates: ReadonlyArray<QueryDates.NamedDate>
  /** Whether ranks are needed. */
  readonly explained: boolean
}

/** The entry at this rank is background. */
const backgroundRank = 17
/** Less than this share of the best is always background. */
const faint = 0.35
/** More than this share of the best never is, however many entries have it: where all are alike, none is background. */
const clear = 0.8
/** The distance above the background at which half of the relevance is reached. */
const half = 0.15
/**
 * If the best hit has less of the query's words than this, it is poor and does not get full relevance.
 *
 * @category constants
 */
export const poorWords = 0.1
/** A best vector that exceeds the others by less than this is poor. */
const poorVector = 0.1
/** Factor for the words of an entry that names what the query names, if few do, or that is said by whom it names. */
const naming = 1.75
/** Factor for an entry of a date that the query names. */
const dated = 1.5
/** Up to this share of the entries a name is rare; from the other on it says nothing. */
const rare = 0.05
const common = 0.12
/** This many entries with the name are always few. */
const fewNamed = 3
/** Weights of the best hits of an entry's session, and of the hits before and after it. */
const aboutSession = 0.6
const aboutNeighbours = 0.3
/** The hits of a session that say what it is about. */
const sessionHits = 3
/** Minimum share of the best for an entry whose metadata names what the query names, if few do. */
const tagging = 0.6
/** Share of a question's relevance that its answer gets. */
const answering = 0.95

/**
 * An entry that is included because it is recent.
 *
 * @category constructors
 */
export const irrelevant = (rank: number): Found => ({
  relevance: 0,
  ranks: { recent: rank },
  fused: 1 / (Scoring.fusionConstant + rank)
})

/**
 * Returns whether a text asks a question, in scripts that have a question mark.
 *
 * @category guards
 */
export const isQuestion = (text: string): boolean => /[?？؟՞፧]/.test(text.slice(-500))

/** Characters of a content that are searched for names. */
const maxNaming = 5_000

const alone = { before: "(?<![\\p{L}\\p{M}\\p{N}])", after: "(?![\\p{L}\\p{M}\\p{N}])" }

const anyOf = (names: ReadonlyArray<string>): string =>
  `(?:${names.map((name) => name.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&")).join("|")})`

const noIds: ReadonlySet<EntryId> = new Set()

/** The hits whose content has one of these names, ignoring case. */
const namedIn = (names: ReadonlyArray<string>, hits: ReadonlyArray<LexicalHit>): ReadonlySet<EntryId> => {
  if (names.length === 0) return noIds
  const pattern = new RegExp(`${alone.before}${anyOf(names)}${alone.after}`, "iu")
  return new Set(
    hits.filter(({ entry }) => pattern.test(entry.content.slice(0, maxNaming))).map(({ entry }) => entry.id)
  )
}

/** Tests whether an entry has one of these names in its metadata under `entities`. */
const isTagged = (names: ReadonlyArray<string>): ((entry: MemoryEntry) => boolean) => {
  const known = new Set<unknown>(names)
  return ({ metadata }) => {
    const entities = known.size > 0 && Object.hasOwn(metadata, "entities") ? metadata["entities"] : undefined
    return Array.isArray(entities) && entities.some((entity) => known.has(entity))
  }
}

/** This many entries with a name, */
const fewAddressed = 8
/** of which this share has it set off like an address (`Thanks, Ruth!`), */
const setOff = 0.5
/** and this share is in one role, tell that the other role has the name. */
const oneRole = 0.85

/**
 * The hits said by the one whom the query names: they begin with the name and a colon, or the other role addresses its
 * partner by the name.
 */
const saidBy = (
  names: ReadonlyArray<string>,
  hits: ReadonlyArray<LexicalHit>,
  named: ReadonlySet<EntryId>
): ReadonlySet<EntryId> => {
  const name = anyOf(names)
  const opens = new RegExp(`^${name}:`, "iu")
  const addresses = new RegExp(`(?:^|[.,!?…]\\s{0,4})(?:\\p{L}{1,16}\\s{1,4})?${name}\\s{0,4}(?:[.,!?…]|$)`, "iu")
  const said = new Set<EntryId>()
  const byRole = new Map<string, number>()
  let addressed = 0
  for (const { entry } of hits) {
    if (!named.has(entry.id)) continue
    const text = entry.content.slice(0, maxNaming)
    if (opens.test(text)) {
      said.add(entry.id)
      continue
    }
    if (addresses.test(text)) addressed++
    byRole.set(entry.role, (byRole.get(entry.role) ?? 0) + 1)
  }
  const others = named.size - said.size
  if (others < fewAddressed || addressed < others * setOff) return said
  const speaks = Array.from(byRole).find(([, count]) => count >= others * oneRole)?.[0]
  for (const { entry } of speaks === undefined ? [] : hits) if (entry.role !== speaks) said.add(entry.id)
  return said
}

const share = (score: number, ceiling: number): number => (ceiling > 0 && score > 0 ? Math.min(1, score / ceiling) : 0)

/**
 * How rare it is that an entry names what the query names, 0 to 1. In a dialogue a third of the turns name the other
 * speaker: there a name says little about what a turn is about, but who says it tells who the other one is.
 */
const rarity = ({ entries, hits }: LexicalMatches, entities: ReadonlySet<EntryId>): number => {
  const named = hits.reduce((count, { entry }) => (entities.has(entry.id) ? count + 1 : count), 0)
  // A few are always rare, in a small memory too.
  const excess = Math.max(0, named - fewNamed) / Math.max(1, entries)
  return named === 0 ? 0 : Math.max(0, Math.min(1, (common - excess) / (common - rare)))
}

/** The entries of each session in the order of time. */
const bySession = (entries: Iterable<MemoryEntry>): Iterable<ReadonlyArray<MemoryEntry>> => {
  const sessions = new Map<string, Array<MemoryEntry>>()
  for (const entry of entries) {
    if (entry.sessionId === undefined) continue
    const session = sessions.get(entry.sessionId)
    if (session === undefined) sessions.set(entry.sessionId, [entry])
    else session.push(entry)
  }
  for (const session of sessions.values()) {
    session.sort((a, b) => a.timestamp - b.timestamp || (a.id < b.id ? -1 : 1))
  }
  return sessions.values()
}

/** The mean of the best values, where missing ones count 0. */
const meanOfBest = (values: ReadonlyArray<number>, count: number): number =>
  Float64Array.from(values)
    .sort()
    .slice(-count)
    .reduce((sum, value) => sum + value, 0) / count

/**
 * The query words that each hit has, as a share of the best; more of them where it names or is said by whom the query
 * names.
 */
const byWords = (
  { ceiling, hits }: LexicalMatches,
  isRare: number,
  entities: ReadonlySet<EntryId>,
  said: ReadonlySet<EntryId>
): Map<EntryId, number> => {
  const words = new Map(
    hits.map(({ entry, score }) => {
      const about = (entities.has(entry.id) ? isRare : 0) + (said.has(entry.id) ? 1 - isRare : 0)
      return [entry.id, share(score, ceiling) * (1 + (naming - 1) * about)]
    })
  )
  let best = poorWords
  for (const value of words.values()) best = Math.max(best, value)
  for (const [id, value] of words) words.set(id, value / best)
  return words
}

/**
 * The conversation around an entry says what it is about: the hits before and after it, and the best of its session.
 * The best value stays what it is.
 */
const spread = (values: Map<EntryId, number>, hits: ReadonlyArray<LexicalHit>, weight: number): void => {
  const best = (): number => {
    let most = 0
    for (const value of values.values()) most = Math.max(most, value)
    return most
  }
  const before = best()
  if (weight === 0 || before === 0) return
  for (const session of bySession(hits.map(({ entry }) => entry))) {
    const own = session.map(({ id }) => values.get(id) as number)
    const whole = meanOfBest(own, sessionHits) * aboutSession
    session.forEach(({ id }, at) => {
      const beside = Math.max(own[at - 1] ?? 0, own[at + 1] ?? 0) * aboutNeighbours
      values.set(id, (own[at] as number) + weight * (whole + beside))
    })
  }
  const factor = before / best()
  for (const [id, value] of values) values.set(id, value * factor)
}

/**
 * Each similarity as a share of the best, above what all vectors have in common. The fewer vectors, the less is known
 * of that.
 *
 * @category combinators
 */
export const byVectors = (hits: ReadonlyArray<VectorHit>): Map<EntryId, number> => {
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

/** Maps a share of the best to a relevance: rising from 0 to 1, steepest just above the background. */
const stood = (value: number, background: number): number => {
  if (value <= background) return (Scoring.BACKGROUND * value) / background
  const above = ((value - background) / (1 - background)) ** 2
  const middle = half ** 2
  return Math.min(1, Scoring.BACKGROUND + ((1 - Scoring.BACKGROUND) * above * (1 + middle)) / (above + middle))
}

const unranked = {}

/**
 * The relevance of every candidate that any index found.
 *
 * @category combinators
 */
export const combine = (findings: Findings): Map<EntryId, Found> => {
  const { answers, dates, explained, lexical, names, tagged, vector, vectorWeight } = findings
  const named = namedIn(names, lexical.hits)
  const hasTag = isTagged(names)
  const rankings = {
    lexical: lexical.hits.map(({ entry }) => entry.id),
    vector: vector?.map(({ id }) => id) ?? [],
    entity: [
      ...lexical.hits.map(({ entry }) => entry).filter((entry) => named.has(entry.id) || hasTag(entry)),
      ...tagged
    ].map(({ id }) => id),
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
  const entities = new Set(rankings.entity)
  const isRare = rarity(lexical, entities)
  const words = byWords(
    lexical,
    isRare,
    entities,
    isRare < 1 && named.size > 0 ? saidBy(names, lexical.hits, named) : noIds
  )
  const vectors = byVectors(vector ?? [])
  const raw = new Map<EntryId, number>()
  for (const id of fused.keys()) {
    const ofWords = words.get(id) ?? 0
    raw.set(id, vector === undefined ? ofWords : ofWords * (1 - vectorWeight) + (vectors.get(id) ?? 0) * vectorWeight)
  }
  for (const { entry } of dates.length === 0 ? [] : lexical.hits) {
    if (QueryDates.includes(dates, entry.timestamp)) raw.set(entry.id, (raw.get(entry.id) ?? 0) * dated)
  }
  spread(raw, lexical.hits, 1 - isRare)
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
