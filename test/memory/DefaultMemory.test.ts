import { assert, describe, it } from "@effect/vitest"
import * as Clock from "effect/Clock"
import * as ConfigProvider from "effect/ConfigProvider"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as TestClock from "effect/TestClock"
import { EntryId } from "../../src/domain/Ids.js"
import * as CacheBackend from "../../src/llm/CacheBackend.js"
import * as HashingEmbedder from "../../src/llm/embedding/HashingEmbedder.js"
import * as TokenCounter from "../../src/llm/model/TokenCounter.js"
import * as ConsolidationScheduler from "../../src/memory/consolidation/ConsolidationScheduler.js"
import * as LastConsolidation from "../../src/memory/consolidation/LastConsolidation.js"
import * as MemoryConsolidator from "../../src/memory/consolidation/MemoryConsolidator.js"
import * as DefaultMemory from "../../src/memory/DefaultMemory.js"
import * as MemoryEntry from "../../src/memory/entry/MemoryEntry.js"
import { StorageError } from "../../src/memory/entry/MemoryError.js"
import * as DefaultEpisodicCompressor from "../../src/memory/episodic/DefaultEpisodicCompressor.js"
import * as EpisodicMemory from "../../src/memory/episodic/EpisodicMemory.js"
import * as FactStore from "../../src/memory/facts/FactStore.js"
import * as InMemoryFactStore from "../../src/memory/facts/InMemoryFactStore.js"
import * as Memory from "../../src/memory/Memory.js"
import type * as MemoryConfig from "../../src/memory/MemoryConfig.js"
import * as ProceduralMemory from "../../src/memory/procedural/ProceduralMemory.js"
import type * as DefaultMemoryStore from "../../src/memory/search/DefaultMemoryStore.js"
import * as InMemoryMemoryStore from "../../src/memory/search/InMemoryMemoryStore.js"
import * as MemoryStore from "../../src/memory/search/MemoryStore.js"
import * as VectorIndex from "../../src/memory/search/VectorIndex.js"
import * as EntityExtractor from "../../src/memory/semantic/EntityExtractor.js"
import * as SemanticMemory from "../../src/memory/semantic/SemanticMemory.js"
import * as WorkingMemory from "../../src/memory/working/WorkingMemory.js"

type Config = MemoryConfig.Options

const within =
  (config: Config, collaborators: DefaultMemory.Collaborators = {}) =>
  <A, E>(effect: Effect.Effect<A, E, Memory.Out>): Effect.Effect<A, unknown> =>
    Effect.provide(effect, DefaultMemory.layer({ ...collaborators, config }) as Layer.Layer<Memory.Out, unknown>)

const entry = (id: string, fields: Partial<MemoryEntry.MemoryEntry> = {}): MemoryEntry.MemoryEntry =>
  MemoryEntry.make({
    id: EntryId.make(id),
    ownerId: "ada",
    content: `the parcel ${id} is on its way`,
    role: "user",
    timestamp: 0,
    metadata: { type: "turn" },
    ...fields
  })

const entries = (count: number, fields: Partial<MemoryEntry.MemoryEntry> = {}) =>
  Array.from({ length: count }, (_, index) => entry(`e${index}`, { content: `parcel number${index}`, ...fields }))

/** Said now. */
const remembered = (...given: ReadonlyArray<MemoryEntry.MemoryEntry>) =>
  Effect.gen(function* () {
    const timestamp = yield* Clock.currentTimeMillis
    yield* (yield* EpisodicMemory.EpisodicMemory).recordMany(given.map((one) => ({ ...one, timestamp })))
  })
const held = Effect.flatMap(MemoryStore.MemoryStore, (store) => store.count("ada"))
const recall = (query: Partial<MemoryEntry.MemoryQuery> = {}) =>
  Effect.flatMap(EpisodicMemory.EpisodicMemory, (memory) =>
    memory.recall({ ownerId: "ada", query: "parcel", explain: true, ...query })
  )
const sections = (options: Partial<WorkingMemory.AssembleOptions> = {}) =>
  Effect.flatMap(WorkingMemory.WorkingMemory, (memory) =>
    Effect.map(memory.assemble({ ownerId: "ada", query: "parcel", tokenBudget: 2000, ...options }), ({ report }) =>
      Object.fromEntries(report.map((one) => [one.source, one]))
    )
  )
const consolidated = Effect.flatMap(MemoryConsolidator.MemoryConsolidator, (consolidator) =>
  consolidator.consolidate({ ownerId: "ada" })
)
/** Lets time pass, and what was due in it end. */
const hours = (count: number): Effect.Effect<void, never, Memory.Out> =>
  Effect.gen(function* () {
    yield* TestClock.adjust(Duration.hours(count))
    const scheduler = yield* ConsolidationScheduler.ConsolidationScheduler
    const now = yield* Clock.currentTimeMillis
    const isOver = Effect.map(
      scheduler.status,
      ({ nextRunAt, running }) => !running && Option.getOrElse(nextRunAt, () => now + 1) > now
    )
    yield* Effect.repeat(Effect.zipRight(Effect.yieldNow(), isOver), { until: (over) => over })
  })

/** For each field: what two values of it make different. */
const fields: Record<string, readonly [off: Config, on: Config, see: Effect.Effect<unknown, unknown, Memory.Out>]> = {
  enabled: [{ enabled: false }, { enabled: true }, Effect.zipRight(remembered(entry("a")), held)],
  ttlSeconds: [
    { ttlSeconds: 3600 },
    { ttlSeconds: 0 },
    Effect.zipRight(Effect.zipRight(remembered(entry("a")), hours(1)), held)
  ],
  "working.systemPromptTokens": [
    { working: { systemPromptTokens: 100 } },
    { working: { systemPromptTokens: 200 } },
    Effect.map(sections({ systemPrompt: "x" }), (found) => found["system_prompt"]?.tokenBudget)
  ],
  "working.recentTurnsFraction": [
    { working: { recentTurnsFraction: 0 } },
    { working: { recentTurnsFraction: 0.4 } },
    Effect.zipRight(
      remembered(entry("a")),
      Effect.map(sections(), (found) => found["recent_turns"]?.taken)
    )
  ],
  "working.episodicFraction": [
    { working: { episodicFraction: 0 } },
    { working: { episodicFraction: 0.3 } },
    Effect.zipRight(
      remembered(...entries(30)),
      Effect.map(sections(), (found) => found["episodic"]?.taken.length)
    )
  ],
  "working.semanticFraction": [
    { working: { semanticFraction: 0 } },
    { working: { semanticFraction: 0.2 } },
    Effect.flatMap(SemanticMemory.SemanticMemory, (memory) =>
      Effect.zipRight(
        memory.storeFact("ada", { subject: "parcel", predicate: "is in", object: "Ghent" }),
        Effect.map(sections(), (found) => found["semantic"]?.taken.length)
      )
    )
  ],
  "working.toolDescriptionsFraction": [
    { working: { toolDescriptionsFraction: 0 } },
    { working: { toolDescriptionsFraction: 0.1 } },
    Effect.map(
      sections({ tools: [{ name: "track", description: "Tracks a parcel" }] }),
      (found) => found["tool_descriptions"]?.taken.length
    )
  ],
  "working.maxRecentTurns": [
    { working: { maxRecentTurns: 2 } },
    { working: { maxRecentTurns: 4 } },
    Effect.zipRight(
      remembered(...entries(9)),
      Effect.map(sections(), (found) => found["recent_turns"]?.taken.length)
    )
  ],
  "episodic.defaultTopK": [
    { episodic: { defaultTopK: 3 } },
    { episodic: { defaultTopK: 5 } },
    Effect.zipRight(
      remembered(...entries(9)),
      Effect.map(recall(), (results) => results.length)
    )
  ],
  "episodic.recencyWeight": [
    { episodic: { recencyWeight: 0 } },
    { episodic: { recencyWeight: 0.5 } },
    Effect.zipRight(
      remembered(entry("a")),
      Effect.map(recall(), (results) => results[0]?.explanation?.weights)
    )
  ],
  "episodic.importanceWeight": [
    { episodic: { importanceWeight: 0 } },
    { episodic: { importanceWeight: 0.5 } },
    Effect.zipRight(
      remembered(entry("a")),
      Effect.map(recall(), (results) => results[0]?.explanation?.weights)
    )
  ],
  "episodic.relevanceWeight": [
    { episodic: { relevanceWeight: 0.1 } },
    { episodic: { relevanceWeight: 0.9 } },
    Effect.zipRight(
      remembered(entry("a")),
      Effect.map(recall(), (results) => results[0]?.explanation?.weights)
    )
  ],
  "episodic.recencyHalfLifeHours": [
    { episodic: { recencyHalfLifeHours: 1 } },
    { episodic: { recencyHalfLifeHours: 2 } },
    Effect.gen(function* () {
      yield* remembered(entry("a"))
      yield* hours(2)
      return (yield* recall())[0]?.explanation?.recency
    })
  ],
  "episodic.vectorWeight": [
    { defaultBackend: "vector", episodic: { vectorWeight: 0 } },
    { defaultBackend: "vector", episodic: { vectorWeight: 1 } },
    Effect.zipRight(
      remembered({ ...entry("a"), content: "parcels" }, { ...entry("b"), content: "a parcel from Ghent, at last" }),
      Effect.map(recall({ recencyWeight: 0, importanceWeight: 0, relevanceWeight: 1 }), (results) =>
        results.map(({ relevance }) => relevance)
      )
    )
  ],
  "episodic.ttlSeconds": [
    { episodic: { ttlSeconds: 3600 } },
    { episodic: { ttlSeconds: 0 } },
    Effect.zipRight(Effect.zipRight(remembered(entry("a")), hours(1)), held)
  ],
  "semantic.minConfidence": [
    { semantic: { minConfidence: 0.3 } },
    { semantic: { minConfidence: 0.9 } },
    Effect.flatMap(SemanticMemory.SemanticMemory, (memory) =>
      Effect.zipRight(
        memory.storeFact("ada", { subject: "Ada", predicate: "likes", object: "tea", confidence: 0.5 }),
        Effect.map(memory.queryFacts("ada", "Ada"), (facts) => facts.length)
      )
    )
  ],
  "semantic.maxFactsPerEntity": [
    { semantic: { maxFactsPerEntity: 1 } },
    { semantic: { maxFactsPerEntity: 2 } },
    Effect.flatMap(SemanticMemory.SemanticMemory, (memory) =>
      Effect.zipRight(
        Effect.forEach(["tea", "milk", "rum"], (object, index) =>
          Effect.ignore(
            memory.storeFact("ada", { subject: "Ada", predicate: "likes", object, confidence: 0.6 + index / 10 })
          )
        ),
        Effect.map(memory.queryFacts("ada", "Ada"), (facts) => facts.length)
      )
    )
  ],
  "consolidation.enabled": [
    { consolidation: { enabled: false, ageThresholdHours: 1 } },
    { consolidation: { enabled: true, ageThresholdHours: 1 } },
    Effect.zipRight(Effect.zipRight(remembered(entry("a", { importance: 0 })), hours(3)), held)
  ],
  "consolidation.intervalSeconds": [
    { consolidation: { intervalSeconds: 3600, ageThresholdHours: 1 } },
    { consolidation: { intervalSeconds: 360_000, ageThresholdHours: 1 } },
    Effect.zipRight(Effect.zipRight(remembered(entry("a", { importance: 0 })), hours(3)), held)
  ],
  "consolidation.ageThresholdHours": [
    { consolidation: { ageThresholdHours: 1 } },
    { consolidation: { ageThresholdHours: 100 } },
    Effect.zipRight(Effect.zipRight(remembered(entry("a", { importance: 0 })), hours(3)), held)
  ],
  "consolidation.halfLifeHours": [
    { consolidation: { halfLifeHours: 0.5, ageThresholdHours: 1 } },
    { consolidation: { halfLifeHours: 1000, ageThresholdHours: 1 } },
    Effect.zipRight(Effect.zipRight(remembered(entry("a")), hours(4)), held)
  ],
  "consolidation.importancePruneThreshold": [
    { consolidation: { importancePruneThreshold: 0.2, ageThresholdHours: 1 } },
    { consolidation: { importancePruneThreshold: 0.4, ageThresholdHours: 1 } },
    Effect.zipRight(Effect.zipRight(remembered(entry("a", { importance: 0.3 })), hours(3)), held)
  ]
}

describe("Memory", () => {
  for (const [field, [off, on, see]] of Object.entries(fields)) {
    it.effect(`applies ${field}`, () =>
      Effect.gen(function* () {
        const without = yield* within(off)(see)
        const withIt = yield* within(on)(see)
        assert.notDeepEqual(without, withIt, String(without))
      })
    )
  }

  it.effect("summarizes consolidation.batchSize entries into one", () =>
    Effect.gen(function* () {
      for (const batchSize of [5, 10]) {
        const result = yield* within(
          { consolidation: { batchSize, intervalSeconds: 36_000, ageThresholdHours: 1 } },
          { compressor: DefaultEpisodicCompressor.layerExtractive }
        )(
          Effect.gen(function* () {
            yield* remembered(...entries(10).map((one, index) => ({ ...one, content: `${"abcdefghij"[index]} alone` })))
            yield* hours(40)
            return yield* held
          })
        )
        assert.strictEqual(result, 10 / batchSize)
      }
    })
  )

  it.effect("summarizes nothing without a compressor", () =>
    within({ consolidation: { intervalSeconds: 36_000, ageThresholdHours: 1 } })(
      Effect.gen(function* () {
        yield* remembered(...entries(10).map((one, index) => ({ ...one, content: `${"abcdefghij"[index]} alone` })))
        yield* hours(40)
        assert.strictEqual(yield* held, 10)
      })
    )
  )

  it.effect("uses the store that defaultBackend names, and no other", () =>
    Effect.gen(function* () {
      const name = Effect.map(MemoryStore.MemoryStore, (store) => store.name)
      assert.strictEqual(yield* within({})(name), "in_memory")
      const cache = CacheBackend.layerMemory({ capacity: 10_000 })
      assert.strictEqual(yield* within({ defaultBackend: "cache" }, { cache })(name), "cache")
      for (const [defaultBackend, hint] of [
        ["cache", "cache"],
        ["database", "store"]
      ] as const) {
        const error = (yield* Effect.flip(within({ defaultBackend })(name))) as { _tag: string; hint: string }
        assert.strictEqual(error._tag, "MemorySystemError")
        assert.include(error.hint, `\`${hint}\``)
      }
      const refused = (yield* Effect.flip(within({ defaultBackend: "redis" as "cache" })(name))) as { message: string }
      assert.include(refused.message, "defaultBackend must be")
    })
  )

  it.effect("finds similarly spelled entries by vectors", () =>
    Effect.gen(function* () {
      const see = Effect.zipRight(
        remembered(entry("a", { content: "telephotography" })),
        recall({ query: "cameramen photographic", minRelevance: 0.01 })
      )
      assert.isEmpty(yield* within({})(see))
      for (const vectors of [
        undefined,
        Layer.provideMerge(VectorIndex.layerMemory(), HashingEmbedder.layer({ dimensions: 64 }))
      ]) {
        const [found] = yield* within({ defaultBackend: "vector" }, vectors === undefined ? {} : { vectors })(see)
        assert.isAbove(found?.explanation?.vector ?? 0, 0)
      }
    })
  )

  it("knows the type of the options that a given store receives", () => {
    const store = (options: DefaultMemoryStore.Options) => InMemoryMemoryStore.layer(options)
    const layer = DefaultMemory.layer({ store: (options) => store(options) })
    const fromEnvironment = DefaultMemory.layerConfig({ store: (options) => store(options) })
    assert.isTrue(Layer.isLayer(layer) && Layer.isLayer(fromEnvironment))
    // @ts-expect-error it has no such option
    DefaultMemory.layer({ stores: store })
  })

  it.effect("uses a given store instead of the configured one, with the configured options", () =>
    Effect.gen(function* () {
      let told: DefaultMemoryStore.Options | undefined
      const size = yield* within(
        { defaultBackend: "database", ttlSeconds: 60, episodic: { defaultTopK: 2, recencyHalfLifeHours: 3 } },
        {
          store: (options) => {
            told = options
            return InMemoryMemoryStore.layer(options)
          }
        }
      )(
        Effect.gen(function* () {
          yield* remembered(...entries(5))
          return (yield* Effect.flatMap(MemoryStore.MemoryStore, (store) =>
            store.retrieve({ ownerId: "ada", query: "parcel" })
          )).length
        })
      )
      assert.strictEqual(size, 2)
      assert.deepStrictEqual(told, {
        ttl: Duration.seconds(60),
        topK: 2,
        weights: { recency: 0.3, importance: 0.2, relevance: 0.5 },
        recencyHalfLife: Duration.hours(3),
        vectorWeight: 0.25
      })
      const own = InMemoryMemoryStore.layer({ ttl: 0 })
      const kept = yield* within(
        { ttlSeconds: 60 },
        { store: own }
      )(Effect.zipRight(Effect.zipRight(remembered(entry("a")), hours(1)), held))
      assert.strictEqual(kept, 1)
    })
  )

  it.effect("uses the given facts, extractor and token counter", () =>
    Effect.gen(function* () {
      const facts = yield* InMemoryFactStore.make()
      const reading = EntityExtractor.EntityExtractor.of({
        extract: () =>
          Effect.succeed({ facts: [{ subject: "Ada", predicate: "owns", object: "a kite" }], entities: ["Ada"] })
      })
      const given = {
        facts: Layer.succeed(FactStore.FactStore, facts),
        extractor: Layer.succeed(EntityExtractor.EntityExtractor, reading),
        tokens: Layer.succeed(
          TokenCounter.TokenCounter,
          TokenCounter.make({ model: "letters", exact: true, count: (text) => text.length })
        )
      }
      const { tokens, texts } = yield* within(
        {},
        given
      )(
        Effect.gen(function* () {
          const memory = yield* WorkingMemory.WorkingMemory
          yield* memory.add(entry("a"))
          yield* memory.flush({ ownerId: "ada" })
          const assembled = yield* memory.assemble({ ownerId: "ada", query: "Ada", tokenBudget: 2000 })
          return { tokens: assembled.tokens, texts: assembled.facts }
        })
      )
      assert.lengthOf(texts, 1)
      assert.include(texts[0], "kite")
      assert.isAbove(tokens, 100)
      assert.strictEqual(yield* facts.count("ada"), 1)
    })
  )

  it.effect("uses the given strategies, owners and last consolidation", () =>
    Effect.gen(function* () {
      const last = yield* Layer.build(LastConsolidation.layerMemory)
      const seen: Array<string> = []
      yield* within(
        { consolidation: { intervalSeconds: 3600, ageThresholdHours: 1 } },
        {
          strategies: [
            {
              name: "watching",
              propose: ({ ownerId }) => Effect.sync(() => seen.push(ownerId)).pipe(Effect.as({}))
            }
          ],
          owners: ["ada"],
          lastConsolidation: Layer.succeedContext(last)
        }
      )(
        Effect.gen(function* () {
          yield* remembered(entry("a", { importance: 0 }), entry("b", { ownerId: "bob" }))
          yield* hours(3)
          assert.strictEqual(yield* held, 1)
        })
      )
      assert.deepStrictEqual(Array.from(new Set(seen)), ["ada"])
      const at = yield* Context.get(last, LastConsolidation.LastConsolidation).get
      assert.isTrue(Option.isSome(at) && at.value > 0)
    }).pipe(Effect.scoped)
  )

  it.effect("consolidates on request when automatic consolidation is off", () =>
    within({ consolidation: { enabled: false } })(
      Effect.gen(function* () {
        yield* remembered(entry("a", { importance: 0 }), entry("b"))
        yield* hours(48)
        assert.strictEqual(yield* held, 2)
        const scheduler = yield* ConsolidationScheduler.ConsolidationScheduler
        assert.strictEqual((yield* scheduler.runOnce).result.entriesPruned, 1)
        assert.strictEqual((yield* consolidated).entriesPruned, 0)
        assert.strictEqual(yield* held, 1)
      })
    )
  )

  it.effect("forgets everything of one owner and nothing of others", () =>
    within({})(
      Effect.gen(function* () {
        const semantic = yield* SemanticMemory.SemanticMemory
        const procedural = yield* ProceduralMemory.ProceduralMemory
        const step = { tool: "track", parameters: ["id"] }
        for (const ownerId of ["ada", "bob"]) {
          yield* remembered(...entries(3).map((one) => ({ ...one, ownerId })))
          yield* semantic.storeFact(ownerId, { subject: "Ada", predicate: "likes", object: "tea" })
          yield* procedural.learn({ ownerId, task: "track a parcel", steps: [step], success: true })
        }
        const memory = yield* Memory.Memory
        assert.deepStrictEqual(yield* memory.forget("ada"), { entries: 3, facts: 1, procedures: 1 })
        assert.deepStrictEqual(yield* memory.forget("ada"), { entries: 0, facts: 0, procedures: 0 })
        assert.isEmpty(yield* procedural.recall({ ownerId: "ada", task: "track a parcel" }))
        assert.lengthOf(yield* procedural.recall({ ownerId: "bob", task: "track a parcel" }), 1)
        assert.deepStrictEqual(yield* memory.forget("bob"), { entries: 3, facts: 1, procedures: 1 })
      })
    )
  )

  it.effect("does not consolidate procedures", () =>
    within({ consolidation: { halfLifeHours: 0.5, ageThresholdHours: 1 } })(
      Effect.gen(function* () {
        const procedural = yield* ProceduralMemory.ProceduralMemory
        const step = { tool: "track", parameters: ["id"] }
        yield* procedural.learn({ ownerId: "ada", task: "track a parcel", steps: [step], success: true })
        yield* hours(4)
        assert.lengthOf(yield* procedural.recall({ ownerId: "ada", task: "track a parcel" }), 1)
      })
    )
  )

  it.effect("reports the health of its stores", () =>
    Effect.gen(function* () {
      const well = yield* within({})(Memory.health)
      assert.deepStrictEqual(
        well.parts.map(({ name, status }) => [name, status]),
        [
          ["entries", "healthy"],
          ["facts", "healthy"]
        ]
      )
      const down = Layer.succeed(MemoryStore.MemoryStore, {
        ...MemoryStore.noop,
        health: new StorageError({ message: "the disk is gone" })
      })
      const ill = yield* within({}, { store: down })(Memory.health)
      assert.strictEqual(ill.status, "unhealthy")
      assert.strictEqual(ill.parts[0]?.message, "the disk is gone")
    })
  )

  it.effect("reads its configuration from the environment", () =>
    Effect.gen(function* () {
      const memory = (variables: Record<string, string>) =>
        Effect.provide(
          Effect.map(Memory.Memory, ({ config }) => config),
          Layer.provide(
            DefaultMemory.layerConfig(),
            Layer.setConfigProvider(ConfigProvider.fromMap(new Map(Object.entries(variables))))
          )
        )
      const config = yield* memory({ LEX_AI_MEMORY__WORKING__MAX_RECENT_TURNS: "3" })
      assert.strictEqual(config.working.maxRecentTurns, 3)
      const error = yield* Effect.flip(memory({ LEX_AI_MEMORY__DEFAULT_BACKEND: "redis" }))
      assert.include(String(error), "LEX_AI_MEMORY__DEFAULT_BACKEND")
      const database = yield* Effect.flip(memory({ LEX_AI_MEMORY__DEFAULT_BACKEND: "database" }))
      assert.include(String(database), "MemorySystemError")
      const off = yield* memory({ LEX_AI_MEMORY__ENABLED: "false", LEX_AI_MEMORY__DEFAULT_BACKEND: "database" })
      assert.isFalse(off.enabled)
    })
  )

  it.effect("provides every service and remembers nothing when disabled", () =>
    Effect.gen(function* () {
      const memory = yield* WorkingMemory.WorkingMemory
      yield* memory.addAll([entry("a")])
      assert.deepStrictEqual((yield* memory.assemble({ ownerId: "ada", query: "a", tokenBudget: 100 })).entries, [])
      assert.strictEqual((yield* Memory.health).status, "healthy")
      assert.deepStrictEqual(yield* (yield* Memory.Memory).forget("ada"), { entries: 0, facts: 0, procedures: 0 })
      assert.strictEqual(
        yield* (yield* FactStore.FactStore)
          .assert("ada", [{ subject: "Ada", predicate: "likes", object: "tea" }])
          .pipe(Effect.zipRight(Effect.flatMap(FactStore.FactStore, (facts) => facts.count("ada")))),
        0
      )
    }).pipe(Effect.provide(Memory.layerNoop))
  )
})
