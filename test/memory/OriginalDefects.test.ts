import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as TestClock from "effect/TestClock"
import * as TokenCounter from "../../src/llm/TokenCounter.js"
import * as ConsolidationScheduler from "../../src/memory/ConsolidationScheduler.js"
import * as ConsolidationStrategies from "../../src/memory/ConsolidationStrategies.js"
import * as EntityExtractor from "../../src/memory/EntityExtractor.js"
import * as EpisodicCompressor from "../../src/memory/EpisodicCompressor.js"
import * as FactStore from "../../src/memory/FactStore.js"
import * as LastConsolidation from "../../src/memory/LastConsolidation.js"
import * as MemoryConsolidator from "../../src/memory/MemoryConsolidator.js"
import * as MemoryStore from "../../src/memory/MemoryStore.js"
import * as MemorySummary from "../../src/memory/MemorySummary.js"
import * as SemanticMemory from "../../src/memory/SemanticMemory.js"
import * as SummarizeStrategy from "../../src/memory/SummarizeStrategy.js"
import { DAY, entry, ids, now } from "../support/ConsolidatedMemory.js"

describe("consolidation has an effect", () => {
  const layer = ConsolidationScheduler.layer({ jitter: 0 }).pipe(
    Layer.provideMerge(
      MemoryConsolidator.layer({
        strategies: [
          ConsolidationStrategies.deduplication(),
          ConsolidationStrategies.recencyDecay(),
          ConsolidationStrategies.accessFrequency(),
          SummarizeStrategy.make()
        ]
      })
    ),
    Layer.provideMerge(SemanticMemory.layer()),
    Layer.provideMerge(MemoryStore.layerMemory({ ttl: 0 })),
    Layer.provide([
      FactStore.layerMemory(),
      EntityExtractor.layerHeuristic(),
      EpisodicCompressor.layerExtractive,
      LastConsolidation.layerMemory
    ]),
    Layer.provide(TokenCounter.layerApproximate())
  )

  it.effect(
    "pruned entries are deleted, summaries stored, facts read and counted, for all owners, without being told",
    () =>
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
            ["young", "double", "summary"]
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
