import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as TestClock from "effect/TestClock"
import { EntryId } from "../../../src/domain/Ids.js"
import * as CacheBackend from "../../../src/llm/CacheBackend.js"
import * as HashingEmbedder from "../../../src/llm/embedding/HashingEmbedder.js"
import * as CacheMemoryStore from "../../../src/memory/cache/CacheMemoryStore.js"
import * as DefaultMemory from "../../../src/memory/DefaultMemory.js"
import * as MemoryEntry from "../../../src/memory/entry/MemoryEntry.js"
import type * as MemoryConfig from "../../../src/memory/MemoryConfig.js"
import * as InMemoryMemoryStore from "../../../src/memory/search/InMemoryMemoryStore.js"
import * as MemoryStore from "../../../src/memory/search/MemoryStore.js"
import * as VectorIndex from "../../../src/memory/search/VectorIndex.js"
import * as WorkingMemory from "../../../src/memory/working/WorkingMemory.js"
import * as SqlMemoryStore from "../../../src/persistence/memory/SqlMemoryStore.js"
import * as RenewalSuite from "../../support/RenewalSuite.js"
import * as SqlBackends from "../../support/SqlBackends.js"

RenewalSuite.suite("InMemoryMemoryStore", InMemoryMemoryStore.layer)
RenewalSuite.suite("InMemoryMemoryStore with vectors", (options) =>
  InMemoryMemoryStore.layerVectors(options).pipe(
    Layer.provide(Layer.provideMerge(VectorIndex.layerMemory(), HashingEmbedder.layer()))
  )
)
RenewalSuite.suite("CacheMemoryStore", (options) =>
  Layer.provide(CacheMemoryStore.layer(options), CacheBackend.layerMemory())
)

SqlBackends.suite("SqlMemoryStore", ({ layer }) => {
  RenewalSuite.suite("SqlMemoryStore", (options) => Layer.provide(SqlMemoryStore.layer(options), layer))
})

describe("the configuration of renewal", () => {
  const note = MemoryEntry.make({
    id: EntryId.make("note"),
    ownerId: "ada",
    content: "deploys happen on tuesdays",
    role: "user",
    timestamp: 0
  })
  const kept = (config: MemoryConfig.Options) =>
    Effect.gen(function* () {
      const working = yield* WorkingMemory.WorkingMemory
      const store = yield* MemoryStore.MemoryStore
      yield* working.add(note)
      let days = 0
      while (days < 100 && (yield* store.count("ada")) > 0) {
        yield* TestClock.adjust("1 day")
        days++
        yield* working.assemble({ ownerId: "ada", query: "when do deploys happen", tokenBudget: 1_000 })
      }
      return days
    }).pipe(Effect.provide(DefaultMemory.layer({ config: { consolidation: { enabled: false }, ...config } })))

  const tenDays = 864_000
  const maxAgeSeconds = 3 * tenDays

  it.effect("keeps what is recalled up to maxAgeSeconds with renewOnRecall", () =>
    Effect.gen(function* () {
      assert.strictEqual(yield* kept({ ttlSeconds: tenDays }), 10)
      assert.strictEqual(yield* kept({ ttlSeconds: tenDays, renewOnRecall: true, maxAgeSeconds }), 30)
    })
  )

  it.effect("renews the lifetime of episodic memory", () =>
    Effect.gen(function* () {
      const episodic = { ttlSeconds: tenDays }
      assert.strictEqual(yield* kept({ ttlSeconds: 0, episodic }), 10)
      assert.strictEqual(yield* kept({ ttlSeconds: 0, episodic, renewOnRecall: true, maxAgeSeconds }), 30)
    })
  )
})
