import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as FastCheck from "effect/FastCheck"
import * as Schema from "effect/Schema"
import * as Stream from "effect/Stream"
import * as TestClock from "effect/TestClock"
import { EntryId } from "../../../src/domain/Ids.js"
import * as MemoryPruner from "../../../src/memory/consolidation/MemoryPruner.js"
import * as MemoryEntry from "../../../src/memory/entry/MemoryEntry.js"
import * as InMemoryMemoryStore from "../../../src/memory/search/InMemoryMemoryStore.js"
import * as MemoryStore from "../../../src/memory/search/MemoryStore.js"

type Fields = Partial<MemoryEntry.MemoryEntry>

const entry = (id: string, fields: Fields = {}): MemoryEntry.MemoryEntry =>
  MemoryEntry.make({ id: EntryId.make(id), ownerId: "ann", content: id, role: "user", timestamp: 0, ...fields })

const filled = (entries: ReadonlyArray<MemoryEntry.MemoryEntry>) =>
  Effect.tap(MemoryStore.MemoryStore, (store) => store.storeMany(entries))

const ids = (ownerId = "ann") =>
  Effect.flatMap(MemoryStore.MemoryStore, (store) =>
    Effect.map(Stream.runCollect(store.stream(ownerId)), (found) => Array.from(found, ({ id }) => String(id)))
  )

const hour = 3_600_000

describe("MemoryPruner", () => {
  it.effect("deletes entries less important than 0.1, and counts them", () =>
    Effect.gen(function* () {
      yield* filled([entry("a", { importance: 0.09 }), entry("b", { importance: 0.1 }), entry("c", { importance: 0 })])
      const result = yield* MemoryPruner.prune({ ownerId: "ann" })
      assert.deepStrictEqual(result, {
        prunedCount: 2,
        remainingCount: 1,
        metadata: { dryRun: false, importanceThreshold: 0.1, unimportant: 2, aged: 0 }
      })
      assert.isTrue(Schema.is(MemoryPruner.PruneResult)(result))
      assert.deepStrictEqual(yield* ids(), ["b"])
      assert.include(yield* MemoryPruner.prune({ ownerId: "ann" }), { prunedCount: 0, remainingCount: 1 })
    }).pipe(Effect.provide(InMemoryMemoryStore.layer()))
  )

  it.effect("uses the given threshold, and deletes none for 0", () =>
    Effect.gen(function* () {
      yield* filled([entry("a", { importance: 0 }), entry("b", { importance: 0.5 }), entry("c", { importance: 0.9 })])
      assert.strictEqual((yield* MemoryPruner.prune({ ownerId: "ann", importanceThreshold: 0 })).prunedCount, 0)
      assert.strictEqual((yield* MemoryPruner.prune({ ownerId: "ann", importanceThreshold: 0.6 })).prunedCount, 2)
      assert.deepStrictEqual(yield* ids(), ["c"])
    }).pipe(Effect.provide(InMemoryMemoryStore.layer()))
  )

  it.effect("considers age only when given; either condition suffices", () =>
    Effect.gen(function* () {
      yield* filled([
        entry("old"),
        entry("faint", { importance: 0.01, timestamp: 2 * hour }),
        entry("both", { importance: 0.01, timestamp: 1 }),
        entry("new", { timestamp: 2 * hour })
      ])
      yield* TestClock.setTime(3 * hour)
      assert.strictEqual((yield* MemoryPruner.prune({ ownerId: "ann", dryRun: true })).prunedCount, 2)
      const result = yield* MemoryPruner.prune({ ownerId: "ann", maxAge: "2 hours" })
      assert.deepStrictEqual(result.metadata, {
        dryRun: false,
        importanceThreshold: 0.1,
        maxAgeMs: 2 * hour,
        unimportant: 2,
        aged: 2
      })
      assert.deepStrictEqual(yield* ids(), ["new"])
    }).pipe(Effect.provide(InMemoryMemoryStore.layer()))
  )

  it.effect("keeps an entry of exactly that age", () =>
    Effect.gen(function* () {
      yield* filled([entry("a")])
      yield* TestClock.setTime(hour)
      const prune = MemoryPruner.prune({ ownerId: "ann", maxAge: "1 hour" })
      assert.strictEqual((yield* prune).prunedCount, 0)
      yield* TestClock.adjust(1)
      assert.strictEqual((yield* prune).prunedCount, 1)
    }).pipe(Effect.provide(InMemoryMemoryStore.layer()))
  )

  it.effect("counts and deletes nothing in a dry run", () =>
    Effect.gen(function* () {
      yield* filled([entry("a", { importance: 0 }), entry("b")])
      const result = yield* MemoryPruner.prune({ ownerId: "ann", dryRun: true })
      assert.include(result, { prunedCount: 1, remainingCount: 1 })
      assert.isTrue(result.metadata.dryRun)
      assert.deepStrictEqual(yield* ids(), ["a", "b"])
    }).pipe(Effect.provide(InMemoryMemoryStore.layer()))
  )

  it.effect("processes all pages and no other owner", () =>
    Effect.gen(function* () {
      const many = (ownerId: string) =>
        Array.from({ length: 1_203 }, (_, index) =>
          entry(`e${index}`, { ownerId, timestamp: index, importance: index % 3 === 0 ? 0 : 0.5 })
        )
      for (const ownerId of ["ann", "bob", "__proto__"]) yield* filled(many(ownerId))
      assert.include(yield* MemoryPruner.prune({ ownerId: "ann" }), { prunedCount: 401, remainingCount: 802 })
      assert.lengthOf(yield* ids("ann"), 802)
      assert.lengthOf(yield* ids("bob"), 1_203)
      assert.include(yield* MemoryPruner.prune({ ownerId: "__proto__" }), { prunedCount: 401, remainingCount: 802 })
      assert.include(yield* MemoryPruner.prune({ ownerId: "nobody" }), { prunedCount: 0, remainingCount: 0 })
    }).pipe(Effect.provide(InMemoryMemoryStore.layer()))
  )

  it.effect("deletes a tool call and its results together or not at all", () =>
    Effect.gen(function* () {
      const call = (id: string, importance: number): MemoryEntry.MemoryEntry =>
        entry(id, { role: "assistant", importance, metadata: { toolCallIds: [id] } })
      const result = (id: string, importance: number): MemoryEntry.MemoryEntry =>
        entry(`${id}-result`, { role: "tool", importance, timestamp: 1, metadata: { toolCallId: id } })
      yield* filled([call("half", 0), result("half", 0.5), call("all", 0), result("all", 0)])
      yield* MemoryPruner.prune({ ownerId: "ann" })
      assert.deepStrictEqual(yield* ids(), ["half", "half-result"])
    }).pipe(Effect.provide(InMemoryMemoryStore.layer()))
  )

  it.effect("deletes everything once when two calls run concurrently", () =>
    Effect.gen(function* () {
      yield* filled(Array.from({ length: 700 }, (_, index) => entry(`e${index}`, { importance: 0 })))
      const results = yield* Effect.all(
        [1, 2, 3].map(() => MemoryPruner.prune({ ownerId: "ann" })),
        {
          concurrency: "unbounded"
        }
      )
      assert.strictEqual(
        results.reduce((sum, { prunedCount }) => sum + prunedCount, 0),
        700
      )
      assert.isEmpty(yield* ids())
    }).pipe(Effect.provide(InMemoryMemoryStore.layer()))
  )

  it.effect.prop(
    "leaves exactly what is important and young enough",
    [
      FastCheck.array(FastCheck.tuple(FastCheck.integer({ min: 0, max: 10 }), FastCheck.integer({ min: 0, max: 10 })), {
        maxLength: 40
      }),
      FastCheck.integer({ min: 0, max: 10 }),
      FastCheck.integer({ min: 0, max: 10 })
    ],
    ([figures, threshold, age]) =>
      Effect.gen(function* () {
        yield* TestClock.setTime(10)
        const entries = figures.map(([importance, timestamp], index) =>
          entry(`e${index}`, { importance: importance / 10, timestamp })
        )
        yield* filled(entries)
        const options = { ownerId: "ann", importanceThreshold: threshold / 10, maxAge: age }
        const planned = yield* MemoryPruner.prune({ ...options, dryRun: true })
        const done = yield* MemoryPruner.prune(options)
        const left = entries.filter((one) => one.importance >= threshold / 10 && 10 - one.timestamp <= age)
        assert.deepStrictEqual(new Set(yield* ids()), new Set(left.map(({ id }) => String(id))))
        assert.include(done, { prunedCount: entries.length - left.length, remainingCount: left.length })
        assert.include(planned, { prunedCount: done.prunedCount, remainingCount: done.remainingCount })
      }).pipe(Effect.provide(InMemoryMemoryStore.layer()))
  )
})
