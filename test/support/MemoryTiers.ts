/** Long-term memory tiers over arrays, for tests of working memory. */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { EntryId, SessionId } from "../../src/domain/Ids.js"
import * as TokenCounter from "../../src/llm/model/TokenCounter.js"
import type * as MemoryEntry from "../../src/memory/entry/MemoryEntry.js"
import { StorageError } from "../../src/memory/entry/MemoryError.js"
import * as Selection from "../../src/memory/entry/Selection.js"
import * as EpisodicMemory from "../../src/memory/episodic/EpisodicMemory.js"
import { type Fact, FactId } from "../../src/memory/facts/Fact.js"
import * as ProceduralMemory from "../../src/memory/procedural/ProceduralMemory.js"
import * as Procedure from "../../src/memory/procedural/Procedure.js"
import * as SemanticMemory from "../../src/memory/semantic/SemanticMemory.js"

export const failure = new StorageError({ message: "the disk is full" })

export const entry = (
  id: string,
  fields?: Partial<Omit<MemoryEntry.MemoryEntry, "id" | "sessionId">> & { readonly sessionId?: string }
): MemoryEntry.MemoryEntry => {
  const { sessionId, ...rest } = fields ?? {}
  return {
    id: EntryId.make(id),
    ownerId: "ada",
    content: `content of ${id}`,
    role: "user",
    timestamp: 0,
    importance: 0.5,
    metadata: {},
    ...(sessionId === undefined ? {} : { sessionId: SessionId.make(sessionId) }),
    ...rest
  }
}

/** Turn number n of session `s`, from 1. */
export const turn = (n: number, fields?: Parameters<typeof entry>[1]): MemoryEntry.MemoryEntry =>
  entry(`t${n}`, {
    timestamp: n * 1000,
    role: n % 2 === 1 ? "user" : "assistant",
    content: `turn ${n}`,
    metadata: { type: "turn" },
    sessionId: "s",
    ...fields
  })

export const fact = (id: string, subject: string, object: string, recordedAt = 0): Fact => ({
  id: FactId.make(id),
  ownerId: "ada",
  subject,
  predicate: "likes",
  object,
  confidence: 1,
  sources: [],
  validFrom: recordedAt,
  recordedAt,
  metadata: {}
})

export const procedure = (id: string, task: string, createdAt = 0): Procedure.Procedure => ({
  id: Procedure.ProcedureId.make(id),
  ownerId: "ada",
  task,
  signature: task,
  steps: [{ tool: "search", parameters: ["query"] }],
  successes: 3,
  failures: 1,
  createdAt,
  lastUsedAt: createdAt
})

export interface State {
  entries: ReadonlyArray<MemoryEntry.MemoryEntry>
  facts: ReadonlyArray<Fact>
  procedures: ReadonlyArray<Procedure.Procedure>
  ingested: ReadonlyArray<ReadonlyArray<MemoryEntry.MemoryEntry>>
  queries: ReadonlyArray<MemoryEntry.MemoryQuery>
  /** Entries counted as accessed, per call. */
  accessed: ReadonlyArray<ReadonlyArray<string>>
  recents: ReadonlyArray<{ readonly n: number; readonly selection?: Selection.Selection | undefined }>
}

const words = (text: string): ReadonlyArray<string> =>
  text
    .toLowerCase()
    .split(/\W+/)
    .filter((word) => word !== "")

const unused = Effect.dieMessage("not used here")

export interface Tiers {
  readonly state: State
  readonly layer: Layer.Layer<
    EpisodicMemory.EpisodicMemory | SemanticMemory.SemanticMemory | ProceduralMemory.ProceduralMemory
  >
}

export const make = (
  initial?: Partial<State>,
  overrides?: {
    readonly episodic?: Partial<EpisodicMemory.Service>
    readonly semantic?: Partial<SemanticMemory.Service>
    readonly procedural?: Partial<ProceduralMemory.Service>
  }
): Tiers => {
  const state: State = {
    entries: [],
    facts: [],
    procedures: [],
    ingested: [],
    queries: [],
    accessed: [],
    recents: [],
    ...initial
  }
  const of = (ownerId: string, selection: Selection.Selection) => {
    const test = Selection.predicate(selection) ?? (() => true)
    return state.entries.filter((entry) => entry.ownerId === ownerId && test(entry))
  }
  const episodic: EpisodicMemory.Service = {
    record: (entry) => episodic.recordMany([entry]),
    recordMany: (entries) =>
      Effect.sync(() => {
        const ids = new Set(entries.map(({ id }) => id))
        state.entries = [...state.entries.filter(({ id }) => !ids.has(id)), ...entries]
      }),
    recall: (query, options) =>
      Effect.sync(() => {
        state.queries = [...state.queries, query]
        const wanted = new Set(words(query.query))
        return of(query.ownerId, query)
          .map((entry) => ({ entry, score: words(entry.content).filter((word) => wanted.has(word)).length }))
          .filter(({ score }) => score > 0)
          .sort((a, b) => b.score - a.score)
          .slice(0, query.topK ?? 10)
          .map(({ entry, score }) => ({ entry, score, relevance: score, source: "test" }))
      }).pipe(
        Effect.tap((results) => {
          if (options?.counted !== false) state.accessed = [...state.accessed, results.map(({ entry }) => entry.id)]
        })
      ),
    recordAccess: (_ownerId, ids) =>
      Effect.sync(() => {
        state.accessed = [...state.accessed, ids]
      }),
    recent: ({ n, ownerId, selection }) =>
      Effect.sync(() => {
        state.recents = [...state.recents, { n, selection }]
        return of(ownerId, selection ?? {})
          .sort((a, b) => b.timestamp - a.timestamp || (a.id < b.id ? 1 : -1))
          .slice(0, n)
      }),
    forget: (_ownerId, id) =>
      Effect.sync(() => {
        const before = state.entries.length
        state.entries = state.entries.filter((entry) => entry.id !== id)
        return state.entries.length < before
      }),
    compress: () => unused,
    health: Effect.void,
    ...overrides?.episodic
  }
  const semantic: SemanticMemory.Service = {
    storeFact: () => unused,
    queryFacts: () => unused,
    getEntityFacts: () => unused,
    recall: (_ownerId, query) =>
      Effect.sync(() => {
        const wanted = new Set(words(query))
        return state.facts.filter(({ object, subject }) => words(`${subject} ${object}`).some((one) => wanted.has(one)))
      }),
    updateFact: () => unused,
    deleteFact: () => unused,
    ingest: (entries) =>
      Effect.sync(() => {
        state.ingested = [...state.ingested, entries]
        return []
      }),
    clear: () => unused,
    health: Effect.void,
    ...overrides?.semantic
  }
  const procedural: ProceduralMemory.Service = {
    learn: () => unused,
    recall: ({ limit }) => Effect.sync(() => state.procedures.slice(0, limit ?? 3)),
    forget: () => unused,
    clear: () => unused,
    health: Effect.void,
    ...overrides?.procedural
  }
  return {
    state,
    layer: Layer.mergeAll(
      Layer.succeed(EpisodicMemory.EpisodicMemory, episodic),
      Layer.succeed(SemanticMemory.SemanticMemory, semantic),
      Layer.succeed(ProceduralMemory.ProceduralMemory, procedural)
    )
  }
}

/** One token per character, which a test can compute by hand. */
export const characters: TokenCounter.Service = TokenCounter.make({
  model: "characters",
  exact: true,
  count: (text) => text.length
})

/** Counts more for a whole than for its parts, and varies for texts of equal length. */
export const superadditive: TokenCounter.Service = TokenCounter.make({
  model: "superadditive",
  exact: true,
  count: (text) => Math.ceil(text.length ** 1.2 / 3) + (text.length % 7)
})
