/** Common parts of consolidation tests: a store, counted facts, and an advanced clock. */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as TestClock from "effect/TestClock"
import { EntryId } from "../../src/domain/Ids.js"
import * as TokenCounter from "../../src/llm/model/TokenCounter.js"
import * as DefaultMemoryConsolidator from "../../src/memory/consolidation/DefaultMemoryConsolidator.js"
import type * as MemoryConsolidator from "../../src/memory/consolidation/MemoryConsolidator.js"
import * as MemoryEntry from "../../src/memory/entry/MemoryEntry.js"
import { FactExtractionError } from "../../src/memory/entry/MemoryError.js"
import * as DefaultEpisodicCompressor from "../../src/memory/episodic/DefaultEpisodicCompressor.js"
import type * as EpisodicCompressor from "../../src/memory/episodic/EpisodicCompressor.js"
import { type Fact, FactId } from "../../src/memory/facts/Fact.js"
import * as SemanticMemory from "../../src/memory/semantic/SemanticMemory.js"
import * as Hooks from "../../src/observability/Hooks.js"
import * as WatchedMemoryStore from "./WatchedMemoryStore.js"

export const HOUR = 3_600_000
export const DAY = 24 * HOUR

/** Time of the tests. */
export const now = 1000 * DAY

/** An entry from two days ago by default. */
export const entry = (
  id: string,
  content: string,
  over?: Partial<Parameters<typeof MemoryEntry.make>[0]>
): MemoryEntry.MemoryEntry =>
  MemoryEntry.make({ id: EntryId.make(id), ownerId: "ann", content, role: "user", timestamp: now - 2 * DAY, ...over })

export const ids = (...names: ReadonlyArray<string>): ReadonlyArray<EntryId> => names.map((name) => EntryId.make(name))

export interface Read {
  /** Entries from which facts were read, in order. */
  readonly from: Array<string>
  failing: boolean
}

/** One fact per entry. */
export const facts = (read: Read): SemanticMemory.Service => {
  const nothing = Effect.succeed([])
  const missing = Effect.die("not asked for here")
  return {
    storeFact: () => missing,
    queryFacts: () => nothing,
    getEntityFacts: () => nothing,
    recall: () => nothing,
    updateFact: () => missing,
    deleteFact: () => Effect.succeed(false),
    clear: () => Effect.succeed(0),
    health: Effect.void,
    ingest: (entries) =>
      Effect.suspend(() => {
        if (read.failing) return new FactExtractionError({ message: "no facts" })
        read.from.push(...entries.map(({ id }) => id))
        return Effect.succeed(
          entries.map(
            ({ id, ownerId }): Fact => ({
              id: FactId.make(`fact-${id}`),
              ownerId,
              subject: id,
              predicate: "is",
              object: "said",
              confidence: 1,
              sources: [id],
              validFrom: 0,
              recordedAt: 0,
              metadata: {}
            })
          )
        )
      })
  }
}

export interface World {
  readonly store: WatchedMemoryStore.Watched
  readonly consolidator: MemoryConsolidator.Service
  readonly read: Read
}

export const compressor = DefaultEpisodicCompressor.layerExtractive.pipe(Layer.provide(TokenCounter.layerApproximate()))

export const make = (
  options?: DefaultMemoryConsolidator.Options<EpisodicCompressor.EpisodicCompressor>,
  compress: Layer.Layer<EpisodicCompressor.EpisodicCompressor> = compressor
): Effect.Effect<World, never, Hooks.Hooks> =>
  Effect.gen(function* () {
    yield* TestClock.setTime(now)
    const store = yield* WatchedMemoryStore.make()
    const read: Read = { from: [], failing: false }
    const below = Layer.mergeAll(
      WatchedMemoryStore.layer(store),
      Layer.succeed(SemanticMemory.SemanticMemory, facts(read)),
      compress
    )
    const consolidator = yield* Effect.provide(DefaultMemoryConsolidator.make(options), below)
    return { store, consolidator, read }
  })

export const run = <A, E>(
  body: (world: World) => Effect.Effect<A, E, Hooks.Hooks>,
  options?: DefaultMemoryConsolidator.Options<EpisodicCompressor.EpisodicCompressor>,
  compress?: Layer.Layer<EpisodicCompressor.EpisodicCompressor>
): Effect.Effect<A, E> => Effect.flatMap(make(options, compress), body).pipe(Effect.provide(Hooks.layer))
