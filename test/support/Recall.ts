/** Measures how much of the evidence of questions a search finds among its first results. */
import * as Effect from "effect/Effect"
import MiniSearch from "minisearch"
import type { EntryId } from "../../src/domain/Ids.js"
import * as HashingEmbedder from "../../src/llm/embedding/HashingEmbedder.js"
import * as DefaultMemory from "../../src/memory/DefaultMemory.js"
import type * as MemoryEntry from "../../src/memory/entry/MemoryEntry.js"
import * as InMemoryMemoryStore from "../../src/memory/search/InMemoryMemoryStore.js"
import * as MemoryStore from "../../src/memory/search/MemoryStore.js"
import * as VectorIndex from "../../src/memory/search/VectorIndex.js"
import * as TextAnalyzer from "../../src/memory/text/TextAnalyzer.js"
import * as WorkingMemory from "../../src/memory/working/WorkingMemory.js"
import * as SetClock from "./SetClock.js"

export interface Question {
  readonly ownerId: string
  readonly text: string
  readonly evidence: ReadonlyArray<EntryId>
}

/** Turns, and questions about them. */
export interface Ground {
  /** Each owner's in order. */
  readonly turns: ReadonlyArray<MemoryEntry.MemoryEntry>
  readonly questions: ReadonlyArray<Question>
  /** Who said a turn, by name, where names are known. */
  readonly speakers?: ReadonlyMap<string, string> | undefined
  /** The time of the questions. */
  readonly now: number
}

export const depths = [5, 10, 20] as const
export type Depth = (typeof depths)[number]

export interface Figures {
  /** Mean share of a question's evidence among the first results, by their number. */
  readonly recall: { readonly [D in Depth]: number }
  /** Mean of 1 / rank of the first evidence, 0 if none is among the first ten. */
  readonly mrr: number
  readonly questions: number
}

type Search = (question: Question) => Effect.Effect<ReadonlyArray<string>, unknown>

const mean = (values: ReadonlyArray<number>): number => values.reduce((sum, value) => sum + value, 0) / values.length

const figures = (ground: Ground, search: Search): Effect.Effect<Figures, unknown> =>
  Effect.map(
    Effect.forEach(ground.questions, (question) =>
      Effect.map(search(question), (ids) => question.evidence.map((id) => ids.indexOf(id)))
    ),
    (places) => {
      const within = (depth: number) =>
        mean(places.map((own) => own.filter((place) => place >= 0 && place < depth).length / own.length))
      const first = (own: ReadonlyArray<number>) =>
        own.reduce((best, place) => (place >= 0 && place < 10 ? Math.max(best, 1 / (place + 1)) : best), 0)
      return {
        recall: { 5: within(5), 10: within(10), 20: within(20) },
        mrr: mean(places.map(first)),
        questions: places.length
      }
    }
  )

const idsOf = (results: ReadonlyArray<MemoryEntry.MemorySearchResult>) => results.map(({ entry }) => entry.id)

const relevanceAlone = { recencyWeight: 0, importanceWeight: 0, relevanceWeight: 1 } as const

const byOwner = <A>(ground: Ground, make: (turns: ReadonlyArray<MemoryEntry.MemoryEntry>) => A): Map<string, A> => {
  const turns = new Map<string, Array<MemoryEntry.MemoryEntry>>()
  for (const turn of ground.turns) {
    const own = turns.get(turn.ownerId)
    if (own === undefined) turns.set(turn.ownerId, [turn])
    else own.push(turn)
  }
  return new Map(Array.from(turns, ([ownerId, own]) => [ownerId, make(own)]))
}

/** Another library's BM25, with its own words or with the stems and stop words of this one. */
const miniSearch = (ground: Ground, analyzed: boolean): Search => {
  const words = analyzed
    ? { tokenize: (text: string) => [...TextAnalyzer.english.analyze(text)], processTerm: (term: string) => term }
    : {}
  const indexes = byOwner(ground, (turns) => {
    const index = new MiniSearch({ fields: ["content"], idField: "id", ...words })
    index.addAll(turns.map(({ content, id }) => ({ id, content })))
    return index
  })
  return ({ ownerId, text }) =>
    Effect.sync(() => (indexes.get(ownerId)?.search(text) ?? []).map(({ id }) => String(id)))
}

/** BM25 (k1 = 1.2, b = 0.75) over the stems of this library's analyzer, straight from the formula. */
const plainBm25 = (ground: Ground): Search => {
  const indexes = byOwner(ground, (turns) => {
    const texts = turns.map(({ content, id }) => ({ id, words: [...TextAnalyzer.english.analyze(content)] }))
    const average = mean(texts.map(({ words }) => words.length))
    const holders = new Map<string, number>()
    for (const { words } of texts) for (const word of new Set(words)) holders.set(word, (holders.get(word) ?? 0) + 1)
    return (query: string) => {
      const terms = new Set(TextAnalyzer.english.analyze(query))
      return texts
        .map(({ id, words }) => {
          let score = 0
          for (const term of terms) {
            const count = words.filter((word) => word === term).length
            const held = holders.get(term) ?? 0
            const idf = Math.log(1 + (texts.length - held + 0.5) / (held + 0.5))
            score += (idf * count * 2.2) / (count + 1.2 * (0.25 + (0.75 * words.length) / average))
          }
          return { id, score }
        })
        .filter(({ score }) => score > 0)
        .sort((a, b) => b.score - a.score)
        .map(({ id }) => id)
    }
  })
  return ({ ownerId, text }) => Effect.sync(() => indexes.get(ownerId)?.(text) ?? [])
}

const withVectors = Effect.gen(function* () {
  const embedder = HashingEmbedder.make()
  const index = yield* VectorIndex.makeMemory({ model: embedder.model, dimensions: embedder.dimensions })
  return yield* InMemoryMemoryStore.make({ ttl: 0, vectors: { embedder, index } })
})

/** Ways to search; all except the last two by words. */
export const ways = [
  "relevance alone",
  "default weights",
  "BM25, the same stems",
  "minisearch, the same stems",
  "minisearch",
  "the newest ten",
  "relevance alone, with vectors",
  "default weights, with vectors"
] as const
export type Way = (typeof ways)[number]

/** How turns are stored: as they are, with the name of their speaker before the text, or with it in `metadata`. */
export const stored = {
  text: (ground: Ground): Ground => ground,
  "speaker in the text": (ground: Ground): Ground => ({
    ...ground,
    turns: ground.turns.map((turn) => {
      const speaker = ground.speakers?.get(turn.id)
      return speaker === undefined ? turn : { ...turn, content: `${speaker}: ${turn.content}` }
    })
  }),
  "speaker as an entity": (ground: Ground): Ground => ({
    ...ground,
    turns: ground.turns.map((turn) => {
      const speaker = ground.speakers?.get(turn.id)
      return speaker === undefined ? turn : { ...turn, metadata: { ...turn.metadata, entities: [speaker] } }
    })
  })
} as const

export const measure = (
  ground: Ground,
  wanted: ReadonlyArray<Way> = ways
): Effect.Effect<{ readonly [W in Way]?: Figures }, unknown> =>
  Effect.gen(function* () {
    const store = yield* InMemoryMemoryStore.make({ ttl: 0 })
    yield* store.storeMany(ground.turns)
    const retrieved =
      (service: MemoryStore.Service, weights: Partial<MemoryEntry.MemoryQuery>): Search =>
      ({ ownerId, text }) =>
        Effect.map(service.retrieve({ ownerId, query: text, topK: 20, ...weights }), idsOf)
    const needsVectors = wanted.some((way) => way.endsWith("with vectors"))
    const vectors = needsVectors ? yield* withVectors : store
    if (needsVectors) yield* vectors.storeMany(ground.turns)
    const searches: { readonly [W in Way]: () => Search } = {
      "relevance alone": () => retrieved(store, relevanceAlone),
      "default weights": () => retrieved(store, {}),
      "BM25, the same stems": () => plainBm25(ground),
      "minisearch, the same stems": () => miniSearch(ground, true),
      minisearch: () => miniSearch(ground, false),
      "the newest ten":
        () =>
        ({ ownerId }) =>
          Effect.map(store.getRecent({ ownerId, n: 10 }), (entries) => entries.map(({ id }) => id)),
      "relevance alone, with vectors": () => retrieved(vectors, relevanceAlone),
      "default weights, with vectors": () => retrieved(vectors, {})
    }
    const measured: { [W in Way]?: Figures } = {}
    for (const way of wanted) measured[way] = yield* figures(ground, searches[way]())
    return measured
  }).pipe(Effect.withClock(SetClock.make(ground.now).clock))

const longLived = DefaultMemory.layer({ config: { ttlSeconds: 0 } })

export const budgets = [512, 1024, 2048, 8192] as const

/** Mean share of a question's evidence in a context that working memory assembles, by its tokens. */
export const assembled = (ground: Ground): Effect.Effect<ReadonlyArray<number>, unknown> =>
  Effect.gen(function* () {
    const store = yield* MemoryStore.MemoryStore
    const memory = yield* WorkingMemory.WorkingMemory
    yield* store.storeMany(ground.turns)
    return yield* Effect.forEach(budgets, (tokenBudget) =>
      Effect.map(
        Effect.forEach(ground.questions, ({ evidence, ownerId, text }) =>
          Effect.map(memory.assemble({ query: text, ownerId, tokenBudget }), ({ entries }) => {
            const shown = new Set(entries.map(({ id }) => id))
            return evidence.filter((id) => shown.has(id)).length / evidence.length
          })
        ),
        mean
      )
    )
  }).pipe(Effect.provide(longLived), Effect.withClock(SetClock.make(ground.now).clock))
