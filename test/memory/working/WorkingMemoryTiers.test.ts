import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as TestClock from "effect/TestClock"
import { SessionId } from "../../../src/domain/Ids.js"
import * as TokenCounter from "../../../src/llm/model/TokenCounter.js"
import * as ConsolidationStrategies from "../../../src/memory/consolidation/ConsolidationStrategies.js"
import * as DefaultMemoryConsolidator from "../../../src/memory/consolidation/DefaultMemoryConsolidator.js"
import * as MemoryConsolidator from "../../../src/memory/consolidation/MemoryConsolidator.js"
import * as DefaultEpisodicCompressor from "../../../src/memory/episodic/DefaultEpisodicCompressor.js"
import * as DefaultEpisodicMemory from "../../../src/memory/episodic/DefaultEpisodicMemory.js"
import * as EpisodicMemory from "../../../src/memory/episodic/EpisodicMemory.js"
import * as InMemoryFactStore from "../../../src/memory/facts/InMemoryFactStore.js"
import * as DefaultProceduralMemory from "../../../src/memory/procedural/DefaultProceduralMemory.js"
import * as ProceduralMemory from "../../../src/memory/procedural/ProceduralMemory.js"
import * as InMemoryMemoryStore from "../../../src/memory/search/InMemoryMemoryStore.js"
import * as MemoryStore from "../../../src/memory/search/MemoryStore.js"
import * as DefaultEntityExtractor from "../../../src/memory/semantic/DefaultEntityExtractor.js"
import * as DefaultSemanticMemory from "../../../src/memory/semantic/DefaultSemanticMemory.js"
import * as DefaultWorkingMemory from "../../../src/memory/working/DefaultWorkingMemory.js"
import * as WorkingMemory from "../../../src/memory/working/WorkingMemory.js"
import * as Tiers from "../../support/MemoryTiers.js"

const memoryOf = (options?: InMemoryMemoryStore.Options) =>
  Layer.mergeAll(
    DefaultEpisodicMemory.layer().pipe(Layer.provide(DefaultEpisodicCompressor.layerExtractive)),
    DefaultProceduralMemory.layer(),
    DefaultSemanticMemory.layer().pipe(
      Layer.provide(Layer.merge(InMemoryFactStore.layer(), DefaultEntityExtractor.layerHeuristic()))
    )
  ).pipe(
    Layer.provideMerge(InMemoryMemoryStore.layer(options)),
    (tiers) => DefaultWorkingMemory.layer().pipe(Layer.provideMerge(tiers)),
    Layer.provideMerge(TokenCounter.layer({ model: "gpt-4o" }))
  )

const memory = memoryOf()

const s = SessionId.make("s")

const ids = ({ entries }: WorkingMemory.Assembled): ReadonlyArray<string> => entries.map(({ id }) => id)

describe("WorkingMemory over the tiers in memory", () => {
  it.effect("combines turns, facts, procedures and recalled entries", () =>
    Effect.gen(function* () {
      yield* TestClock.setTime(60_000)
      const working = yield* WorkingMemory.WorkingMemory
      const procedural = yield* ProceduralMemory.ProceduralMemory
      const before = Tiers.turn(1, { sessionId: "before", content: "We booked two flights to Lisbon in May." })
      yield* working.addAll([
        before,
        Tiers.turn(2, { sessionId: "before", content: "The weather was mild." }),
        Tiers.turn(3, { content: "Ada is a pilot. Ada lives in Rome." }),
        Tiers.turn(4, { content: "Noted." })
      ])
      yield* working.flush({ ownerId: "ada" })
      yield* procedural.learn({
        ownerId: "ada",
        task: "book a flight",
        steps: [{ tool: "search_flights", parameters: ["from", "to"] }],
        success: true
      })
      const assembled = yield* working.assemble({
        query: "Can Ada book another flight?",
        tokenBudget: 2000,
        ownerId: "ada",
        sessionId: s
      })
      assert.include(ids(assembled), before.id)
      assert.includeMembers([...ids(assembled)], ["t3", "t4"])
      assert.isTrue(assembled.facts.some((fact) => fact.includes("pilot")))
      assert.isTrue(assembled.tools.some((tool) => tool.includes("search_flights(from, to)")))
      assert.isTrue(assembled.report.every(({ failed }) => failed === undefined))
      const counter = yield* TokenCounter.TokenCounter
      assert.strictEqual(
        assembled.tokens,
        counter.countMessages(WorkingMemory.toMessages(assembled)) - counter.countMessages([])
      )
      yield* working.health
    }).pipe(Effect.provide(memory))
  )

  it.effect("fades entries that were almost shown but never were", () =>
    Effect.gen(function* () {
      const day = 86_400_000
      const start = 1000 * day
      yield* TestClock.setTime(start)
      const working = yield* WorkingMemory.WorkingMemory
      const store = yield* MemoryStore.MemoryStore
      const consolidator = yield* MemoryConsolidator.MemoryConsolidator
      const old = Array.from({ length: 40 }, (_, n) =>
        Tiers.entry(`old${n}`, {
          content: `Tea was bought in the shop of street number ${n}, which closed ${n} days later.`,
          timestamp: start + n,
          sessionId: "before",
          metadata: {}
        })
      )
      yield* working.addAll(old)
      const shown = new Set<string>()
      for (let passed = 5; passed <= 200; passed += 5) {
        yield* TestClock.setTime(start + passed * day)
        const assembled = yield* working.assemble({
          query: "Where was the tea bought?",
          tokenBudget: 700,
          ownerId: "ada",
          sessionId: s
        })
        for (const id of ids(assembled)) shown.add(id)
      }
      assert.isAbove(shown.size, 0)
      assert.isBelow(shown.size, 30)
      yield* consolidator.consolidate({ ownerId: "ada" })
      const kept = yield* store.getRecent({ ownerId: "ada", n: 100 })
      assert.sameMembers(
        kept.map(({ id }) => id as string),
        Array.from(shown)
      )
    }).pipe(
      Effect.provide(
        DefaultMemoryConsolidator.layer({ strategies: [ConsolidationStrategies.recencyDecay()] }).pipe(
          Layer.provideMerge(memoryOf({ ttl: 0 }))
        )
      )
    )
  )

  it.effect("shows no other owner's memory", () =>
    Effect.gen(function* () {
      const working = yield* WorkingMemory.WorkingMemory
      yield* working.addAll([Tiers.turn(1, { content: "My secret is tea." }), Tiers.turn(2, { ownerId: "__proto__" })])
      yield* working.flush({ ownerId: "ada" })
      for (const ownerId of ["bob", "constructor", "Ada"]) {
        const other = yield* working.assemble({ query: "secret tea", tokenBudget: 2000, ownerId, sessionId: s })
        assert.deepStrictEqual([other.entries, other.facts, other.tools], [[], [], []])
      }
      const proto = yield* working.assemble({ query: "secret", tokenBudget: 2000, ownerId: "__proto__", sessionId: s })
      assert.deepStrictEqual(ids(proto), ["t2"])
    }).pipe(Effect.provide(memory))
  )

  it.effect("shows a summary in place of summarized turns, and nothing that was forgotten", () =>
    Effect.gen(function* () {
      const working = yield* WorkingMemory.WorkingMemory
      const episodic = yield* EpisodicMemory.EpisodicMemory
      const turns = [1, 2, 3, 4].map((n) => Tiers.turn(n))
      yield* working.addAll(turns)
      const summary = yield* episodic.compress({ ownerId: "ada", ids: turns.slice(0, 2).map(({ id }) => id) })
      yield* episodic.forget("ada", turns[2]!.id)
      const assembled = yield* working.assemble({ query: "", tokenBudget: 2000, ownerId: "ada", sessionId: s })
      assert.deepStrictEqual(ids(assembled), [summary.id, "t4"])
    }).pipe(Effect.provide(memory))
  )

  it.effect("includes tool calls with their results, or not at all", () =>
    Effect.gen(function* () {
      const working = yield* WorkingMemory.WorkingMemory
      const call = (n: number, id: string) =>
        Tiers.turn(n, { role: "assistant", content: `search for ${id}`, metadata: { type: "turn", toolCallIds: [id] } })
      const result = (n: number, id: string) =>
        Tiers.turn(n, { role: "tool", content: `found ${id}`, metadata: { type: "turn", toolCallId: id } })
      yield* working.addAll([call(1, "tea"), result(2, "tea"), result(3, "lost"), call(4, "open"), Tiers.turn(5)])
      const assembled = yield* working.assemble({
        query: "found lost tea",
        tokenBudget: 2000,
        ownerId: "ada",
        sessionId: s
      })
      assert.deepStrictEqual(ids(assembled), ["t1", "t2", "t5"])
      assert.includeMembers(
        [...(assembled.report.find(({ source }) => source === "recent_turns")?.left ?? [])],
        ["t3", "t4"]
      )
    }).pipe(Effect.provide(memory))
  )
})
