import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Stream from "effect/Stream"
import * as TestClock from "effect/TestClock"
import * as CacheBackend from "../../src/llm/CacheBackend.js"
import * as TokenCounter from "../../src/llm/model/TokenCounter.js"
import * as CacheMemoryStore from "../../src/memory/cache/CacheMemoryStore.js"
import * as ConsolidationScheduler from "../../src/memory/consolidation/ConsolidationScheduler.js"
import * as ConsolidationStrategies from "../../src/memory/consolidation/ConsolidationStrategies.js"
import * as DefaultConsolidationScheduler from "../../src/memory/consolidation/DefaultConsolidationScheduler.js"
import * as DefaultMemoryConsolidator from "../../src/memory/consolidation/DefaultMemoryConsolidator.js"
import * as LastConsolidation from "../../src/memory/consolidation/LastConsolidation.js"
import * as MemoryConsolidator from "../../src/memory/consolidation/MemoryConsolidator.js"
import * as SummarizeStrategy from "../../src/memory/consolidation/SummarizeStrategy.js"
import * as DefaultMemory from "../../src/memory/DefaultMemory.js"
import type { MemoryEntry, MemoryQuery } from "../../src/memory/entry/MemoryEntry.js"
import { MemoryConsolidatedHook, MemoryRetrievedHook, MemoryWrittenHook } from "../../src/memory/entry/MemoryHooks.js"
import * as DefaultEpisodicCompressor from "../../src/memory/episodic/DefaultEpisodicCompressor.js"
import * as EpisodicMemory from "../../src/memory/episodic/EpisodicMemory.js"
import * as MemorySummary from "../../src/memory/episodic/MemorySummary.js"
import * as InMemoryFactStore from "../../src/memory/facts/InMemoryFactStore.js"
import * as InMemoryMemoryStore from "../../src/memory/search/InMemoryMemoryStore.js"
import * as MemoryStore from "../../src/memory/search/MemoryStore.js"
import * as RelevanceRanker from "../../src/memory/search/RelevanceRanker.js"
import * as DefaultEntityExtractor from "../../src/memory/semantic/DefaultEntityExtractor.js"
import * as DefaultSemanticMemory from "../../src/memory/semantic/DefaultSemanticMemory.js"
import * as SemanticMemory from "../../src/memory/semantic/SemanticMemory.js"
import * as WorkingMemory from "../../src/memory/working/WorkingMemory.js"
import * as DomainEvent from "../../src/observability/DomainEvent.js"
import * as EventBus from "../../src/observability/EventBus.js"
import * as Hooks from "../../src/observability/Hooks.js"
import * as LocalEventBus from "../../src/observability/LocalEventBus.js"
import { DAY, entry, ids, now } from "../support/ConsolidatedMemory.js"

describe("consolidation has an effect", () => {
  const layer = DefaultConsolidationScheduler.layer({ jitter: 0 }).pipe(
    Layer.provideMerge(
      DefaultMemoryConsolidator.layer({
        strategies: [
          ConsolidationStrategies.deduplication(),
          ConsolidationStrategies.recencyDecay(),
          ConsolidationStrategies.accessFrequency(),
          SummarizeStrategy.make()
        ]
      })
    ),
    Layer.provideMerge(DefaultSemanticMemory.layer()),
    Layer.provideMerge(InMemoryMemoryStore.layer({ ttl: 0 })),
    Layer.provide([
      InMemoryFactStore.layer(),
      DefaultEntityExtractor.layerHeuristic(),
      DefaultEpisodicCompressor.layerExtractive,
      LastConsolidation.layerMemory
    ]),
    Layer.provide(TokenCounter.layerApproximate())
  )

  it.effect("deletes pruned entries, stores summaries and extracts facts for all owners automatically", () =>
    Effect.gen(function* () {
      const store = yield* MemoryStore.MemoryStore
      const semantic = yield* SemanticMemory.SemanticMemory
      const scheduler = yield* ConsolidationScheduler.ConsolidationScheduler
      for (const ownerId of ["ann", "bob"]) {
        yield* store.storeMany([
          entry("double", "Paris is the capital of France", { ownerId }),
          entry("double2", "paris is the capital of france", { ownerId }),
          entry("faded", "says hello", { ownerId, timestamp: now - 300 * DAY }),
          entry("idle", "says hm", { ownerId, importance: 0.01 }),
          ...Array.from({ length: 6 }, (_, index) =>
            entry(`talk${index}`, `Item${index} is a thing`, { ownerId, timestamp: now - 9 * DAY + index })
          ),
          entry("young", "Paris is the capital of France", { ownerId, timestamp: now - 1000, importance: 0 })
        ])
      }
      yield* TestClock.adjust("1 hour")

      for (const ownerId of ["ann", "bob"]) {
        const left = yield* store.getRecent({ ownerId, n: 100 })
        assert.deepStrictEqual(
          left.map((one) => (MemorySummary.isSummary(one) ? "summary" : one.id)),
          ["young", "double2", "summary"]
        )
        assert.deepStrictEqual(
          left[2]?.metadata["compressedIds"],
          ids("talk0", "talk1", "talk2", "talk3", "talk4", "talk5")
        )
        const facts = yield* semantic.queryFacts(ownerId, "Item3")
        assert.deepStrictEqual(
          facts.map(({ sources }) => sources),
          [ids("talk3")]
        )
      }
      const { lastReport } = yield* scheduler.status
      assert.isTrue(lastReport._tag === "Some")
      if (lastReport._tag === "None") return
      const { entitiesExtracted, ...result } = lastReport.value.result
      assert.strictEqual(lastReport.value.owners, 2)
      assert.deepStrictEqual(result, {
        entriesProcessed: 20,
        entriesConsolidated: 12,
        entriesPruned: 6,
        summariesStored: 2,
        durationMs: 0,
        dryRun: false
      })
      assert.isAtLeast(entitiesExtracted, 14)
    }).pipe(Effect.provide(layer), (body) => Effect.zipRight(TestClock.setTime(now), body))
  )
})

const remember = (...entries: ReadonlyArray<MemoryEntry>) =>
  Effect.flatMap(MemoryStore.MemoryStore, (store) => store.storeMany(entries))

describe("retrieval looks at the query", () => {
  const texts = {
    kettle: "the kettle needs a new lid",
    garden: "the garden gate squeaks again",
    bills: "the bills are paid until June"
  }
  const all = Object.entries(texts).map(([id, content]) => entry(id, content))

  it.effect("separates relevant from irrelevant entries, all else being equal", () =>
    Effect.gen(function* () {
      const store = yield* MemoryStore.MemoryStore
      yield* remember(...all)
      for (const [id, query] of [
        ["kettle", "is there a lid for the kettle?"],
        ["garden", "which gate squeaks?"],
        ["bills", "were bills paid?"]
      ] as const) {
        const [best, ...others] = yield* store.retrieve({ ownerId: all[0]?.ownerId ?? "", query })
        assert.strictEqual(String(best?.entry.id), id)
        for (const other of others) assert.isBelow(other.relevance, best?.relevance ?? 0)
      }
    }).pipe(Effect.provide(InMemoryMemoryStore.layer({ ttl: 0 })))
  )

  it.effect("counts recency and importance once, even when results are ranked again", () =>
    Effect.gen(function* () {
      yield* TestClock.setTime(now)
      const store = yield* MemoryStore.MemoryStore
      yield* remember(...all.map((one, index) => ({ ...one, importance: index / 4, timestamp: now - index * DAY })))
      const query: MemoryQuery = { ownerId: all[0]?.ownerId ?? "", query: "the lid of the kettle", explain: true }
      const once = yield* store.retrieve(query)
      const twice = yield* RelevanceRanker.rank(yield* RelevanceRanker.rank(once, query), query)
      assert.deepStrictEqual(twice, once)
      for (const { explanation, score } of once) {
        if (explanation === undefined) assert.fail("there is no explanation")
        const { importance, recency, relevance, weights } = explanation
        assert.approximately(
          score,
          recency * weights.recency + importance * weights.importance + relevance * weights.relevance,
          1e-9
        )
        assert.isAtMost(score, 1)
      }
    }).pipe(Effect.provide(InMemoryMemoryStore.layer({ ttl: 0 })))
  )

  it.effect("compares the minimum relevance with the relevance, not with the whole score", () =>
    Effect.gen(function* () {
      yield* TestClock.setTime(now)
      const store = yield* MemoryStore.MemoryStore
      yield* remember(...all.map((one) => ({ ...one, importance: 1, timestamp: now })))
      const found = yield* store.retrieve({
        ownerId: all[0]?.ownerId ?? "",
        query: "the lid of the kettle",
        minRelevance: 0.5
      })
      assert.deepStrictEqual(
        found.map(({ entry }) => entry.id),
        ids("kettle")
      )
    }).pipe(Effect.provide(InMemoryMemoryStore.layer({ ttl: 0 })))
  )

  it.effect("filters in a cache as in any other store", () =>
    Effect.gen(function* () {
      const store = yield* MemoryStore.MemoryStore
      yield* remember(...all.map((one, index) => ({ ...one, metadata: { type: index === 0 ? "note" : "turn" } })))
      const ownerId = all[0]?.ownerId ?? ""
      const filters = { type: "note" }
      assert.strictEqual(yield* store.count(ownerId, { filters }), 1)
      const found = yield* store.retrieve({ ownerId, query: "the kettle, the garden and the bills", filters })
      assert.deepStrictEqual(
        found.map(({ entry }) => entry.id),
        ids("kettle")
      )
    }).pipe(
      Effect.provide(
        CacheMemoryStore.layer({ ttl: 0 }).pipe(Layer.provide(CacheBackend.layerMemory({ capacity: 4096 })))
      )
    )
  )
})

describe("a context has a budget", () => {
  it.effect("never exceeds the budget with turns, recalled entries and facts", () =>
    Effect.gen(function* () {
      const working = yield* WorkingMemory.WorkingMemory
      const semantic = yield* SemanticMemory.SemanticMemory
      const long = "the kettle needs a new lid because the old one is bent and does not close any more ".repeat(5)
      const entries = Array.from({ length: 40 }, (_, index) =>
        entry(`long${index}`, long + index, { metadata: { type: "turn" } })
      )
      const ownerId = entries[0]?.ownerId ?? ""
      yield* working.addAll(entries)
      for (const object of ["a lid", "a whistle", "a handle"]) {
        yield* semantic.storeFact(ownerId, { subject: "The kettle", predicate: "has", object })
      }
      const counter = yield* TokenCounter.forModel("gpt-4o")
      for (const tokenBudget of [0, 10, 100, 1000, 4096]) {
        const assembled = yield* working.assemble({ ownerId, query: "the lid of the kettle", tokenBudget })
        const sent = counter.countMessages(WorkingMemory.toMessages(assembled)) - counter.countMessages([])
        assert.isAtMost(sent, tokenBudget)
        assert.strictEqual(assembled.tokens, sent)
      }
    }).pipe(
      Effect.provide(
        DefaultMemory.layer({ config: { ttlSeconds: 0 }, tokens: TokenCounter.layer({ model: "gpt-4o" }) })
      )
    )
  )
})

describe("configured values apply", () => {
  it.effect("uses the named backend or fails", () =>
    Effect.gen(function* () {
      const error = yield* Effect.flip(Layer.build(DefaultMemory.layer({ config: { defaultBackend: "database" } })))
      assert.strictEqual(error._tag, "MemorySystemError")
    }).pipe(Effect.scoped)
  )

  it.effect("publishes the hooks and events of memory", () =>
    Effect.gen(function* () {
      const seen: Array<string> = []
      const hooks = yield* Hooks.Hooks
      yield* hooks.on(MemoryWrittenHook, ({ backend, ids, tier }) =>
        Effect.sync(() => seen.push(`written ${tier} ${backend} ${ids.join()}`))
      )
      yield* hooks.on(MemoryRetrievedHook, ({ resultCount, tier }) =>
        Effect.sync(() => seen.push(`retrieved ${tier} ${resultCount}`))
      )
      yield* hooks.on(MemoryConsolidatedHook, ({ pruned, strategy }) =>
        Effect.sync(() => seen.push(`consolidated ${strategy} ${pruned.join()}`))
      )
      const events: Array<string> = []
      yield* Effect.forkScoped(
        Stream.runForEach(EventBus.subscribe(DomainEvent.any), (event) =>
          Effect.sync(() => events.push(event.eventType))
        )
      )
      yield* Effect.yieldNow()
      const run = Effect.gen(function* () {
        const episodic = yield* EpisodicMemory.EpisodicMemory
        const { ownerId } = entry("a", "x")
        yield* episodic.record(entry("a", "the kettle", { importance: 0 }))
        yield* episodic.recall({ ownerId, query: "kettle" })
        yield* TestClock.setTime(now + 3 * DAY)
        yield* Effect.flatMap(MemoryConsolidator.MemoryConsolidator, (consolidator) =>
          consolidator.consolidate({ ownerId })
        )
      })
      yield* Effect.provide(run, DefaultMemory.layer({ config: { ttlSeconds: 0, consolidation: { enabled: false } } }))
      yield* Effect.repeatN(Effect.yieldNow(), 50)
      assert.deepStrictEqual(seen, [
        "written episodic in_memory a",
        "retrieved episodic 1",
        "consolidated access_frequency a"
      ])
      assert.deepStrictEqual(events, ["MemoryStoredEvent", "MemoryRetrievedEvent"])
    }).pipe(Effect.scoped, Effect.provide(Layer.merge(Hooks.layer, LocalEventBus.layer())))
  )
})
