import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as TestClock from "effect/TestClock"
import { EntryId, SessionId } from "../../../src/domain/Ids.js"
import * as TokenCounter from "../../../src/llm/model/TokenCounter.js"
import * as MemoryEntry from "../../../src/memory/entry/MemoryEntry.js"
import { MemoryRetrievedHook, MemoryWrittenHook } from "../../../src/memory/entry/MemoryHooks.js"
import * as DefaultEpisodicCompressor from "../../../src/memory/episodic/DefaultEpisodicCompressor.js"
import * as DefaultEpisodicMemory from "../../../src/memory/episodic/DefaultEpisodicMemory.js"
import * as EpisodicMemory from "../../../src/memory/episodic/EpisodicMemory.js"
import * as Hooks from "../../../src/observability/Hooks.js"
import * as WatchedMemoryStore from "../../support/WatchedMemoryStore.js"

const entry = (id: string, over?: Partial<Parameters<typeof MemoryEntry.make>[0]>): MemoryEntry.MemoryEntry =>
  MemoryEntry.make({
    id: EntryId.make(id),
    ownerId: "ann",
    content: `likes ${id}`,
    role: "user",
    timestamp: 1000,
    ...over
  })

const ids = (...names: ReadonlyArray<string>): ReadonlyArray<EntryId> => names.map((name) => EntryId.make(name))

const compressor = DefaultEpisodicCompressor.layerExtractive.pipe(Layer.provide(TokenCounter.layerApproximate()))

const run = <A, E>(
  body: (memory: EpisodicMemory.Service, store: WatchedMemoryStore.Watched) => Effect.Effect<A, E, Hooks.Hooks>,
  options?: DefaultEpisodicMemory.Options
) =>
  Effect.flatMap(WatchedMemoryStore.make(), (store) =>
    Effect.flatMap(EpisodicMemory.EpisodicMemory, (memory) => body(memory, store)).pipe(
      Effect.provide(
        DefaultEpisodicMemory.layer(options).pipe(
          Layer.provide(Layer.merge(compressor, WatchedMemoryStore.layer(store))),
          Layer.provideMerge(Hooks.layer)
        )
      )
    )
  )

describe("record", () => {
  it.effect("makes an entry available to the next call", () =>
    run((memory) =>
      Effect.gen(function* () {
        yield* memory.record(entry("tea"))
        yield* memory.recordMany([entry("milk", { timestamp: 2000 }), entry("rain", { timestamp: 3000 })])
        const recent = yield* memory.recent({ ownerId: "ann", n: 2 })
        assert.deepStrictEqual(
          recent.map(({ id }) => id),
          ids("rain", "milk")
        )
        assert.deepStrictEqual(yield* memory.recent({ ownerId: "bob", n: 2 }), [])
        assert.isTrue(yield* memory.forget("ann", EntryId.make("tea")))
        assert.isFalse(yield* memory.forget("ann", EntryId.make("tea")))
        yield* memory.health
      })
    )
  )

  it.effect("expires an entry after the configured time, or at its own earlier time", () =>
    run(
      (memory, store) =>
        Effect.gen(function* () {
          yield* TestClock.setTime(5000)
          yield* memory.record(entry("tea"))
          yield* memory.recordMany([entry("milk", { expiresAt: 6000 }), entry("rain", { expiresAt: 90_000 })])
          assert.deepStrictEqual(
            (yield* store.all("ann")).map(({ expiresAt, id }) => [id, expiresAt]),
            [
              [EntryId.make("milk"), 6000],
              [EntryId.make("rain"), 65_000],
              [EntryId.make("tea"), 65_000]
            ]
          )
        }),
      { ttl: "1 minute" }
    )
  )

  it.effect("expires an entry only at its own time without a configured one", () =>
    run((memory, store) =>
      Effect.gen(function* () {
        yield* memory.recordMany([entry("milk", { expiresAt: 6000 }), entry("tea")])
        assert.deepStrictEqual(
          (yield* store.all("ann")).map(({ expiresAt }) => expiresAt),
          [6000, undefined]
        )
      })
    )
  )
})

describe("recall", () => {
  it.effect("uses the configuration for fields that a query omits", () =>
    run(
      (memory, store) =>
        Effect.gen(function* () {
          yield* memory.recall({ ownerId: "ann", query: "tea" })
          yield* memory.recall({ ownerId: "ann", query: "tea", topK: 3, recencyWeight: 0, importanceWeight: 0.9 })
          assert.deepStrictEqual(store.queries, [
            {
              ownerId: "ann",
              query: "tea",
              topK: 7,
              recencyWeight: 0.1,
              importanceWeight: 0.4,
              relevanceWeight: 0.6
            },
            { ownerId: "ann", query: "tea", topK: 3, recencyWeight: 0, importanceWeight: 0.9, relevanceWeight: 0.6 }
          ])
        }),
      { defaultTopK: 7, recencyWeight: 0.1, importanceWeight: 0.4, relevanceWeight: 0.6 }
    )
  )

  it.effect("returns ten results weighted 0.3, 0.2 and 0.5 by default", () =>
    run((memory, store) =>
      Effect.gen(function* () {
        yield* memory.recall({ ownerId: "ann", query: "tea" })
        const { importanceWeight, recencyWeight, relevanceWeight, topK } = store.queries[0] as MemoryEntry.MemoryQuery
        assert.deepStrictEqual([topK, recencyWeight, importanceWeight, relevanceWeight], [10, 0.3, 0.2, 0.5])
      })
    )
  )

  it.effect("counts each result as accessed, but not listed entries", () =>
    run((memory, store) =>
      Effect.gen(function* () {
        yield* memory.recordMany([entry("tea"), entry("milk")])
        yield* TestClock.setTime(9000)
        yield* memory.recall({ ownerId: "ann", query: "tea", topK: 1 })
        yield* memory.recall({ ownerId: "ann", query: "tea", topK: 1 })
        yield* memory.recent({ ownerId: "ann", n: 5 })
        assert.deepStrictEqual(
          (yield* store.all("ann")).map(({ accessCount, id, lastAccessedAt }) => [id, accessCount, lastAccessedAt]),
          [
            [EntryId.make("milk"), undefined, undefined],
            [EntryId.make("tea"), 2, 9000]
          ]
        )
      })
    )
  )

  it.effect("does not count neighbors and results that only fill up the number", () =>
    run((memory, store) =>
      Effect.gen(function* () {
        const sessionId = SessionId.make("s")
        yield* memory.recordMany([entry("tea", { sessionId }), entry("milk", { sessionId }), entry("rain")])
        const results = yield* memory.recall({ ownerId: "ann", query: "tea", neighbours: 1 })
        assert.lengthOf(results, 3)
        yield* memory.recall({ ownerId: "ann", query: "" })
        assert.deepStrictEqual(
          (yield* store.all("ann")).filter(({ accessCount }) => accessCount !== undefined).map(({ id }) => id),
          ids("tea")
        )
      })
    )
  )

  it.effect("lets callers count only what they use", () =>
    run((memory, store) =>
      Effect.gen(function* () {
        yield* memory.recordMany([entry("tea"), entry("milk"), entry("rain")])
        yield* TestClock.setTime(9000)
        const results = yield* memory.recall({ ownerId: "ann", query: "likes" }, { counted: false })
        assert.lengthOf(results, 3)
        yield* memory.recordAccess("ann", ids("tea", "tea", "unknown"))
        yield* memory.recordAccess("bob", ids("milk"))
        assert.deepStrictEqual(
          (yield* store.all("ann")).map(({ accessCount, id, lastAccessedAt }) => [id, accessCount, lastAccessedAt]),
          [
            [EntryId.make("milk"), undefined, undefined],
            [EntryId.make("rain"), undefined, undefined],
            [EntryId.make("tea"), 1, 9000]
          ]
        )
      })
    )
  )

  it.effect("makes no call for no ids, and fails when counting fails", () =>
    run((memory, store) =>
      Effect.gen(function* () {
        store.before.set("recordAccess", Effect.fail(WatchedMemoryStore.refusal))
        yield* memory.recordAccess("ann", [])
        assert.deepStrictEqual(store.calls, [])
        assert.strictEqual((yield* Effect.flip(memory.recordAccess("ann", ids("tea")))).message, "refused")
      })
    )
  )

  it.effect("returns results even when counting fails", () =>
    run((memory, store) =>
      Effect.gen(function* () {
        yield* memory.record(entry("tea"))
        store.before.set("recordAccess", Effect.fail(WatchedMemoryStore.refusal))
        const results = yield* memory.recall({ ownerId: "ann", query: "tea" })
        assert.deepStrictEqual(
          results.map(({ entry }) => entry.id),
          ids("tea")
        )
        assert.deepStrictEqual(store.calls, ["retrieve", "recordAccess"])
      })
    )
  )

  it.effect("fails when the store fails", () =>
    run((memory, store) =>
      Effect.gen(function* () {
        store.before.set("retrieve", Effect.fail(WatchedMemoryStore.refusal))
        assert.strictEqual((yield* Effect.flip(memory.recall({ ownerId: "ann", query: "tea" }))).message, "refused")
      })
    )
  )
})

describe("compress", () => {
  it.effect("replaces entries by a summary", () =>
    run((memory, store) =>
      Effect.gen(function* () {
        const sessionId = SessionId.make("s1")
        yield* memory.recordMany([
          entry("tea", { sessionId, importance: 0.2, timestamp: 3000, metadata: { type: "turn", topic: "drinks" } }),
          entry("milk", { sessionId, importance: 0.6, timestamp: 1000, metadata: { type: "turn", topic: "drinks" } }),
          entry("rain", { sessionId, timestamp: 2000 })
        ])
        const summary = yield* memory.compress({ ownerId: "ann", ids: ids("tea", "gone", "milk", "tea") })
        assert.deepStrictEqual(
          (yield* store.all("ann")).map(({ id }) => id),
          [EntryId.make("rain"), summary.id]
        )
        assert.deepInclude(summary, {
          ownerId: "ann",
          content: "[summary of 2 turns]\n- user: likes milk\n- user: likes tea",
          role: "user",
          timestamp: 3000,
          importance: 0.4,
          sessionId
        })
        assert.deepStrictEqual(summary.metadata, {
          type: "summary",
          topic: "drinks",
          compressedIds: ids("milk", "tea"),
          timeRange: { start: 1000, end: 3000 },
          level: 1,
          turns: 2
        })
      })
    )
  )

  it.effect("combines entries of two sessions, or of one and none, only on request", () =>
    run((memory, store) =>
      Effect.gen(function* () {
        yield* memory.recordMany([
          entry("tea", { sessionId: SessionId.make("s1") }),
          entry("milk", { sessionId: SessionId.make("s2") }),
          entry("rain")
        ])
        for (const pair of [ids("tea", "milk"), ids("tea", "rain")]) {
          const error = yield* Effect.flip(memory.compress({ ownerId: "ann", ids: pair }))
          assert.strictEqual(error._tag, "ConsolidationError")
        }
        assert.lengthOf(yield* store.all("ann"), 3)
        const summary = yield* memory.compress({ ownerId: "ann", ids: ids("tea", "milk"), acrossSessions: true })
        assert.isUndefined(summary.sessionId)
        assert.lengthOf(yield* store.all("ann"), 2)
      })
    )
  )

  it.effect("bounds the tokens of a summary", () =>
    run((memory) =>
      Effect.gen(function* () {
        yield* memory.record(entry("tea", { content: "one two three four five six seven. ".repeat(100) }))
        const summary = yield* memory.compress({ ownerId: "ann", ids: ids("tea"), maxTokens: 30 })
        assert.isAtMost(TokenCounter.approximate.count(summary.content), 30)
        assert.isAbove(TokenCounter.approximate.count(summary.content), 15)
      })
    )
  )

  it.effect("fails and changes nothing for missing entries or another owner's", () =>
    run((memory, store) =>
      Effect.gen(function* () {
        yield* memory.record(entry("tea"))
        assert.strictEqual(
          (yield* Effect.flip(memory.compress({ ownerId: "bob", ids: ids("tea") })))._tag,
          "ConsolidationError"
        )
        assert.strictEqual(
          (yield* Effect.flip(memory.compress({ ownerId: "ann", ids: [] })))._tag,
          "ConsolidationError"
        )
        assert.deepStrictEqual(yield* store.all("ann"), [entry("tea")])
      })
    )
  )

  it.effect("does not restore in a summary what was forgotten in the meantime", () =>
    Effect.gen(function* () {
      const store = yield* WatchedMemoryStore.make()
      const layer = DefaultEpisodicMemory.layer().pipe(
        Layer.provide(
          DefaultEpisodicCompressor.layer(() =>
            Effect.as(store.delete("ann", EntryId.make("tea")), "tea and milk").pipe(Effect.orDie)
          )
        ),
        Layer.provide([WatchedMemoryStore.layer(store), TokenCounter.layerApproximate()])
      )
      const memory = yield* Effect.provide(EpisodicMemory.EpisodicMemory, layer)
      yield* memory.recordMany([entry("tea"), entry("milk")])
      const error = yield* Effect.flip(memory.compress({ ownerId: "ann", ids: ids("tea", "milk") }))
      assert.strictEqual(error._tag, "ConsolidationError")
      assert.deepStrictEqual(
        (yield* store.all("ann")).map(({ id }) => id),
        ids("milk")
      )
    })
  )
})

describe("hooks", () => {
  it.effect("are called for writes and recalls, per owner", () =>
    run((memory) =>
      Effect.gen(function* () {
        const told: Array<unknown> = []
        yield* Hooks.on(MemoryWrittenHook, (payload) => Effect.sync(() => told.push(payload)))
        yield* Hooks.on(MemoryRetrievedHook, (payload) => Effect.sync(() => told.push(payload)))
        yield* memory.recordMany([entry("tea"), entry("rain", { ownerId: "__proto__" }), entry("milk")])
        yield* memory.recall({ ownerId: "ann", query: "milk", topK: 1 })
        const summary = yield* memory.compress({ ownerId: "ann", ids: ids("tea", "milk") })
        const place = { tier: "episodic", backend: "in_memory" }
        assert.deepStrictEqual(told, [
          { ...place, ownerId: "ann", ids: ["tea", "milk"] },
          { ...place, ownerId: "__proto__", ids: ["rain"] },
          { tier: "episodic", ownerId: "ann", resultCount: 1 },
          { ...place, ownerId: "ann", ids: [summary.id] }
        ])
      }).pipe(Effect.scoped)
    )
  )
})

describe("layerNoop", () => {
  it.effect("remembers nothing", () =>
    Effect.gen(function* () {
      const memory = yield* EpisodicMemory.EpisodicMemory
      yield* memory.record(entry("tea"))
      yield* memory.recordMany([entry("milk")])
      assert.deepStrictEqual(yield* memory.recall({ ownerId: "ann", query: "tea" }), [])
      yield* memory.recordAccess("ann", ids("tea"))
      assert.deepStrictEqual(yield* memory.recent({ ownerId: "ann", n: 5 }), [])
      assert.isFalse(yield* memory.forget("ann", EntryId.make("tea")))
      assert.strictEqual(
        (yield* Effect.flip(memory.compress({ ownerId: "ann", ids: ids("tea") })))._tag,
        "ConsolidationError"
      )
      yield* memory.health
    }).pipe(Effect.provide(EpisodicMemory.layerNoop))
  )
})
