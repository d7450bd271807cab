/** Measures how often, and at which rank, a search finds the evidence of a question among the first ten results. */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import MiniSearch from "minisearch"
import * as HashingEmbedder from "../../src/llm/embedding/HashingEmbedder.js"
import type * as MemoryEntry from "../../src/memory/entry/MemoryEntry.js"
import * as InMemoryMemoryStore from "../../src/memory/search/InMemoryMemoryStore.js"
import type * as MemoryStore from "../../src/memory/search/MemoryStore.js"
import * as VectorIndex from "../../src/memory/search/VectorIndex.js"
import type { Conversations, Question } from "./Conversations.js"

export interface Figures {
  /** Fraction of questions with evidence among the first ten. */
  readonly recall: number
  /** Mean of 1 / rank of the evidence, 0 if it is not among the first ten. */
  readonly mrr: number
  readonly questions: number
}

type Search = (question: Question) => Effect.Effect<ReadonlyArray<string>, unknown>

const figures = (conversations: Conversations, search: Search): Effect.Effect<Figures, unknown> =>
  Effect.map(
    Effect.forEach(conversations.questions, (question) =>
      Effect.map(search(question), (ids) => ids.slice(0, 10).indexOf(question.evidence.id))
    ),
    (places) => {
      const found = places.filter((place) => place >= 0)
      const questions = places.length
      return {
        recall: found.length / questions,
        mrr: found.reduce((sum, place) => sum + 1 / (place + 1), 0) / questions,
        questions
      }
    }
  )

const idsOf = (results: ReadonlyArray<MemoryEntry.MemorySearchResult>) => results.map(({ entry }) => entry.id)

const relevanceAlone = { recencyWeight: 0, importanceWeight: 0, relevanceWeight: 1 } as const

/** Searches with an independent BM25 implementation, with one index per owner. */
const independent = (conversations: Conversations): Search => {
  const indexes = new Map<string, MiniSearch>()
  for (const { content, id, ownerId } of conversations.turns) {
    let index = indexes.get(ownerId)
    if (index === undefined) {
      index = new MiniSearch({ fields: ["content"], idField: "id" })
      indexes.set(ownerId, index)
    }
    index.add({ id, content })
  }
  return ({ ownerId, text }) =>
    Effect.sync(() => (indexes.get(ownerId)?.search(text) ?? []).map(({ id }) => String(id)))
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
  "minisearch",
  "the newest ten",
  "relevance alone, with vectors",
  "default weights, with vectors"
] as const
export type Way = (typeof ways)[number]

/** A clock set to the time of the questions. */
const at = (now: number): Clock.Clock => ({
  ...Clock.make(),
  [Clock.ClockTypeId]: Clock.ClockTypeId,
  currentTimeMillis: Effect.succeed(now),
  unsafeCurrentTimeMillis: () => now
})

export const measure = (
  conversations: Conversations,
  wanted: ReadonlyArray<Way> = ways
): Effect.Effect<{ readonly [W in Way]?: Figures }, unknown> =>
  Effect.gen(function* () {
    const store = yield* InMemoryMemoryStore.make({ ttl: 0 })
    yield* store.storeMany(conversations.turns)
    const retrieved =
      (service: MemoryStore.Service, weights: Partial<MemoryEntry.MemoryQuery>): Search =>
      ({ ownerId, text }) =>
        Effect.map(service.retrieve({ ownerId, query: text, ...weights }), idsOf)
    const needsVectors = wanted.some((way) => way.endsWith("with vectors"))
    const vectors = needsVectors ? yield* withVectors : store
    if (needsVectors) yield* vectors.storeMany(conversations.turns)
    const searches: { readonly [W in Way]: () => Search } = {
      "relevance alone": () => retrieved(store, relevanceAlone),
      "default weights": () => retrieved(store, {}),
      minisearch: () => independent(conversations),
      "the newest ten":
        () =>
        ({ ownerId }) =>
          Effect.map(store.getRecent({ ownerId, n: 10 }), (entries) => entries.map(({ id }) => id)),
      "relevance alone, with vectors": () => retrieved(vectors, relevanceAlone),
      "default weights, with vectors": () => retrieved(vectors, {})
    }
    const measured: { [W in Way]?: Figures } = {}
    for (const way of wanted) measured[way] = yield* figures(conversations, searches[way]())
    return measured
  }).pipe(Effect.withClock(at(conversations.now)))
