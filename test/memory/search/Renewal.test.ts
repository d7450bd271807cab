import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
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
import * as Renewal from "../../../src/memory/search/Renewal.js"
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

describe("Renewal.renew", () => {
  const due = Renewal.marked(
    MemoryEntry.make({ id: EntryId.make("a"), ownerId: "ada", content: "a", role: "user", timestamp: 0 }),
    { life: 10, now: 0, options: {} }
  )

  /** Renews an entry whose writes fail so often, and gives the attempts and the warnings. */
  const renewed = (conflicts: number) =>
    Effect.gen(function* () {
      let attempts = 0
      const warnings: Array<unknown> = []
      const logger = Logger.make(({ annotations, logLevel, message }) => {
        warnings.push([logLevel.label, message, Object.fromEntries(annotations)])
      })
      yield* TestClock.setTime(8)
      yield* Renewal.renew("ada", [due.id], {
        get: () => Effect.succeed([due]),
        apply: () => Effect.sync(() => (attempts++ < conflicts ? undefined : 0))
      }).pipe(Effect.provide(Logger.replace(Logger.defaultLogger, logger)))
      return { attempts, warnings }
    })

  it.effect("warns when others changed the entries during every attempt", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* renewed(4), { attempts: 5, warnings: [] })
      assert.deepStrictEqual(yield* renewed(5), {
        attempts: 5,
        warnings: [
          [
            "WARN",
            ["Recalled entries were not renewed"],
            { module: "MemoryStore", reason: "Others changed them during each of 5 attempts" }
          ]
        ]
      })
    })
  )
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
