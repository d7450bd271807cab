import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as FastCheck from "effect/FastCheck"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Metric from "effect/Metric"
import * as MetricKey from "effect/MetricKey"
import * as MetricLabel from "effect/MetricLabel"
import * as Runtime from "effect/Runtime"
import * as TestClock from "effect/TestClock"
import { EntryId, SessionId } from "../../../src/domain/Ids.js"
import * as TokenCounter from "../../../src/llm/model/TokenCounter.js"
import * as ConsolidationStrategies from "../../../src/memory/consolidation/ConsolidationStrategies.js"
import * as DefaultMemoryConsolidator from "../../../src/memory/consolidation/DefaultMemoryConsolidator.js"
import * as MemoryConsolidator from "../../../src/memory/consolidation/MemoryConsolidator.js"
import * as SummarizeStrategy from "../../../src/memory/consolidation/SummarizeStrategy.js"
import type { MemoryEntry } from "../../../src/memory/entry/MemoryEntry.js"
import { ConsolidationError } from "../../../src/memory/entry/MemoryError.js"
import { MemoryConsolidatedHook } from "../../../src/memory/entry/MemoryHooks.js"
import * as MemoryMetrics from "../../../src/memory/entry/MemoryMetrics.js"
import * as DefaultEpisodicCompressor from "../../../src/memory/episodic/DefaultEpisodicCompressor.js"
import * as EpisodicCompressor from "../../../src/memory/episodic/EpisodicCompressor.js"
import * as MemorySummary from "../../../src/memory/episodic/MemorySummary.js"
import * as SemanticMemory from "../../../src/memory/semantic/SemanticMemory.js"
import * as Hooks from "../../../src/observability/Hooks.js"
import { compressor, DAY, entry, facts, HOUR, ids, now, run, type World } from "../../support/ConsolidatedMemory.js"
import * as WatchedMemoryStore from "../../support/WatchedMemoryStore.js"

const consolidate = ({ consolidator }: World, ownerId = "ann") => consolidator.consolidate({ ownerId })

const idsOf = (entries: ReadonlyArray<MemoryEntry>): ReadonlyArray<EntryId> => entries.map(({ id }) => id)

const plain = (entries: ReadonlyArray<MemoryEntry>) =>
  entries.map((one) => ({ ...one, metadata: { ...one.metadata, [DefaultMemoryConsolidator.FACTS_READ]: undefined } }))

const day = (count: number, over?: Partial<MemoryEntry>): ReadonlyArray<MemoryEntry> =>
  Array.from({ length: count }, (_, index) =>
    entry(`e${String(index).padStart(4, "0")}`, `says thing number ${index}`, {
      timestamp: now - 3 * DAY + index,
      ...over
    })
  )

const all: ReadonlyArray<MemoryConsolidator.ConsolidationStrategy<EpisodicCompressor.EpisodicCompressor>> = [
  ConsolidationStrategies.deduplication(),
  ConsolidationStrategies.recencyDecay(),
  ConsolidationStrategies.timeDecay(),
  ConsolidationStrategies.accessFrequency(),
  SummarizeStrategy.make({ minEntries: 3, fanIn: 2 })
]

describe("consolidate", () => {
  it.effect("removes entries, extracts facts from the others, and counts both", () =>
    run((world) =>
      Effect.gen(function* () {
        const { read, store } = world
        yield* store.storeMany([
          entry("faded", "went to school", { timestamp: now - 200 * DAY }),
          entry("idle", "says hm", { importance: 0.01 }),
          entry("tea", "likes tea"),
          entry("tea2", "Likes tea"),
          entry("young", "likes tea", { timestamp: now - 2 * HOUR, importance: 0 })
        ])
        assert.deepStrictEqual(yield* consolidate(world), {
          entriesProcessed: 4,
          entriesConsolidated: 0,
          entriesPruned: 3,
          entitiesExtracted: 4,
          summariesStored: 0,
          durationMs: 0,
          dryRun: false
        })
        assert.deepStrictEqual(idsOf(yield* store.all("ann")), ids("tea2", "young"))
        // Of a double as well: it says since when.
        assert.deepStrictEqual(read.from.toSorted(), ["faded", "idle", "tea", "tea2"])
      })
    )
  )

  it.effect("changes nothing the second time", () =>
    run(
      (world) =>
        Effect.gen(function* () {
          const { read, store } = world
          yield* store.storeMany([...day(20), entry("tea", "likes tea"), entry("tea2", "Likes tea")])
          yield* consolidate(world)
          const before = yield* store.all("ann")
          const readBefore = read.from.length
          const applied = store.calls.filter((call) => call === "apply").length
          const { entriesProcessed, ...second } = yield* consolidate(world)
          assert.deepStrictEqual(second, {
            entriesConsolidated: 0,
            entriesPruned: 0,
            entitiesExtracted: 0,
            summariesStored: 0,
            durationMs: 0,
            dryRun: false
          })
          assert.strictEqual(entriesProcessed, before.length)
          assert.deepStrictEqual(yield* store.all("ann"), before)
          assert.strictEqual(read.from.length, readBefore)
          assert.strictEqual(store.calls.filter((call) => call === "apply").length, applied)
        }),
      { strategies: all }
    )
  )

  it.effect("changes nothing younger than the threshold, to the millisecond", () =>
    run(
      (world) =>
        Effect.gen(function* () {
          yield* world.store.storeMany([
            entry("old", "x", { importance: 0, timestamp: now - HOUR }),
            entry("young", "y", { importance: 0, timestamp: now - HOUR + 1 })
          ])
          assert.strictEqual((yield* consolidate(world)).entriesProcessed, 1)
          assert.deepStrictEqual(yield* world.store.all("ann"), [
            entry("young", "y", { importance: 0, timestamp: now - HOUR + 1 })
          ])
        }),
      { ageThreshold: "1 hour" }
    )
  )

  it.effect("touches no other owner, whatever the name", () =>
    run((world) =>
      Effect.gen(function* () {
        const { store } = world
        yield* store.storeMany([
          entry("a", "x", { importance: 0 }),
          entry("a", "x", { importance: 0, ownerId: "bob" }),
          entry("a", "x", { importance: 0, ownerId: "__proto__" })
        ])
        assert.strictEqual((yield* consolidate(world, "__proto__")).entriesPruned, 1)
        assert.lengthOf(yield* store.all("__proto__"), 0)
        assert.lengthOf(yield* store.all("ann"), 1)
        assert.strictEqual((yield* consolidate(world, "nobody")).entriesProcessed, 0)
        assert.lengthOf(yield* store.all("bob"), 1)
      })
    )
  )

  it.effect("names what each strategy removes, and in a dry run what it would", () =>
    run(
      (world) =>
        Effect.gen(function* () {
          const { consolidator, store } = world
          yield* store.storeMany([...day(20), entry("tea", "likes tea"), entry("tea2", "Likes tea")])
          const told = (dryRun: boolean) =>
            Effect.gen(function* () {
              const removals: Array<MemoryConsolidator.Removal> = []
              const onRemoval = (removal: MemoryConsolidator.Removal) => Effect.sync(() => void removals.push(removal))
              const result = yield* consolidator.consolidate({ ownerId: "ann", dryRun, onRemoval })
              assert.strictEqual(
                removals.reduce((sum, { pruned, replaced }) => sum + pruned.length + replaced.length, 0),
                result.entriesPruned + result.entriesConsolidated
              )
              return removals.map(({ pruned, replaced, strategy }) => [strategy, idsOf(pruned), idsOf(replaced)])
            })
          const would = yield* told(true)
          assert.isAbove(would.length, 1)
          assert.deepStrictEqual(yield* told(false), would)
          assert.deepStrictEqual(yield* told(false), [])
        }),
      { strategies: all }
    )
  )

  it.effect("counts the same and changes nothing in a dry run", () =>
    run(
      (world) =>
        Effect.gen(function* () {
          const { consolidator, read, store } = world
          yield* store.storeMany([...day(40), entry("tea", "likes tea"), entry("tea2", "Likes tea")])
          const before = yield* store.all("ann")
          const dry = yield* consolidator.consolidate({ ownerId: "ann", dryRun: true })
          assert.deepStrictEqual(yield* store.all("ann"), before)
          assert.lengthOf(read.from, 0)
          assert.isTrue(dry.dryRun)
          const { entitiesExtracted, ...real } = yield* consolidate(world)
          assert.deepStrictEqual({ ...real, entitiesExtracted: 0, dryRun: true }, dry)
          assert.isAbove(entitiesExtracted, 0)
          assert.deepStrictEqual(
            [dry.entriesPruned, dry.entriesConsolidated, dry.summariesStored],
            // Four summaries of ten, two of these, and one of them.
            [1, 46, 7]
          )
        }),
      { batchSize: 10, strategies: all }
    )
  )

  it.effect("lets entries fade that are not recalled for months", () =>
    run((world) =>
      Effect.gen(function* () {
        const { store } = world
        yield* store.storeMany([entry("dear", "likes tea"), entry("other", "likes rain")])
        const left: Array<ReadonlyArray<EntryId>> = []
        for (let month = 0; month < 12; month++) {
          yield* TestClock.adjust("30 days")
          if (month < 6) yield* store.recordAccess("ann", ids("dear"))
          yield* consolidate(world)
          left.push(idsOf(yield* store.all("ann")))
        }
        const both = ids("dear", "other")
        const one = ids("dear")
        // 130 days: from being said for the one, from the last recall in the sixth month for the other.
        assert.deepStrictEqual(left, [both, both, both, both, one, one, one, one, one, one, [], []])
      })
    )
  )

  it.effect("fails and changes nothing when the store fails", () =>
    run((world) =>
      Effect.gen(function* () {
        const { store } = world
        yield* store.storeMany([entry("a", "x", { importance: 0 })])
        store.before.set("apply", Effect.fail(WatchedMemoryStore.refusal))
        assert.strictEqual((yield* Effect.flip(consolidate(world))).message, "refused")
        assert.lengthOf(yield* store.all("ann"), 1)
        store.before.clear()
        store.before.set("health", Effect.fail(WatchedMemoryStore.refusal))
        assert.strictEqual((yield* Effect.flip(world.consolidator.health)).message, "refused")
      })
    )
  )
})

describe("facts", () => {
  it.effect("are extracted once from everything old enough, in batches, but not from system entries", () =>
    run(
      (world) =>
        Effect.gen(function* () {
          const { read, store } = world
          yield* store.storeMany([...day(5), entry("prompt", "be kind", { role: "system" })])
          assert.strictEqual((yield* consolidate(world)).entitiesExtracted, 5)
          assert.strictEqual(store.calls.filter((call) => call === "apply").length, 3)
          assert.strictEqual((yield* consolidate(world)).entitiesExtracted, 0)
          assert.deepStrictEqual(read.from, [...idsOf(day(5))])
          assert.deepStrictEqual(
            plain(yield* store.all("ann")),
            plain([...day(5), entry("prompt", "be kind", { role: "system" })])
          )
        }),
      { batchSize: 2 }
    )
  )

  it.effect("are extracted only from entries that are removed, or not at all", () =>
    Effect.gen(function* () {
      const said = [
        entry("tea", "likes tea"),
        entry("tea2", "likes tea"),
        entry("idle", "says hm", { importance: 0 }),
        entry("rain", "likes rain")
      ]
      const readBy = (facts: "leaving" | "none") =>
        run(
          (world) =>
            Effect.gen(function* () {
              yield* world.store.storeMany(said)
              const { entitiesExtracted } = yield* consolidate(world)
              assert.deepStrictEqual(idsOf(yield* world.store.all("ann")), ids("rain", "tea2"))
              assert.strictEqual(entitiesExtracted, world.read.from.length)
              return world.read.from
            }),
          { facts }
        )
      assert.deepStrictEqual((yield* readBy("leaving")).toSorted(), ["idle", "tea"])
      assert.deepStrictEqual(yield* readBy("none"), [])
    })
  )

  it.effect("are not extracted again from a summary of entries already read", () =>
    run(
      (world) =>
        Effect.gen(function* () {
          yield* world.store.storeMany(day(10))
          assert.strictEqual((yield* consolidate(world)).entitiesExtracted, 10)
          assert.strictEqual((yield* consolidate(world)).entitiesExtracted, 0)
          assert.deepStrictEqual(world.read.from, [...idsOf(day(10))])
        }),
      { strategies: [SummarizeStrategy.make()] }
    )
  )

  it.effect("keep their entries in memory when they cannot be extracted", () =>
    run((world) =>
      Effect.gen(function* () {
        const { read, store } = world
        yield* store.storeMany([entry("idle", "says hm", { importance: 0 })])
        read.failing = true
        assert.strictEqual((yield* Effect.flip(consolidate(world)))._tag, "FactExtractionError")
        assert.lengthOf(yield* store.all("ann"), 1)
        read.failing = false
        assert.strictEqual((yield* consolidate(world)).entriesPruned, 1)
      })
    )
  )
})

describe("a proposal", () => {
  const proposing = (proposal: MemoryConsolidator.Proposal, name = "mine") => ({
    strategies: [{ name, propose: () => Effect.succeed(proposal) }]
  })
  const entries = [entry("a", "x"), entry("b", "y"), entry("young", "z", { timestamp: now })]
  const summary = (over?: Partial<MemoryEntry>) => ({ ...entry("sum", "x and y"), ...over })

  const refused: ReadonlyArray<readonly [string, MemoryConsolidator.Proposal]> = [
    ["an entry that does not exist", { prune: ids("gone") }],
    ["an entry that is too young", { prune: ids("young") }],
    ["an entry of somebody else", { prune: ids("theirs") }],
    ["an entry twice", { prune: ids("a", "a") }],
    ["an entry that goes and is replaced", { prune: ids("a"), replace: [{ summary: summary(), ids: ids("a", "b") }] }],
    ["an entry that goes and changes", { prune: ids("a"), update: [entry("a", "z")] }],
    ["a summary of one", { replace: [{ summary: summary(), ids: ids("a") }] }],
    ["a summary of one named twice", { replace: [{ summary: summary(), ids: ids("a", "a") }] }],
    ["a summary for another owner", { replace: [{ summary: summary({ ownerId: "bob" }), ids: ids("a", "b") }] }],
    ["a summary with the id of what it replaces", { replace: [{ summary: entry("a", "x"), ids: ids("a", "b") }] }],
    ["a summary with the id of a young one", { replace: [{ summary: entry("young", "x"), ids: ids("a", "b") }] }],
    ["a summary that is no entry", { replace: [{ summary: summary({ importance: 2 }), ids: ids("a", "b") }] }],
    ["an entry for another owner", { update: [entry("a", "x", { ownerId: "bob" })] }],
    ["an entry moved in time", { update: [entry("a", "x", { timestamp: now })] }],
    ["an entry that was not there", { update: [entry("new", "x")] }]
  ]

  for (const [what, proposal] of refused) {
    it.effect(`is rejected: ${what}`, () =>
      run(
        (world) =>
          Effect.gen(function* () {
            const { store } = world
            yield* store.storeMany([...entries, entry("theirs", "x", { ownerId: "bob" })])
            const error = yield* Effect.flip(consolidate(world))
            assert.strictEqual(error._tag, "ConsolidationError")
            assert.deepStrictEqual(yield* store.all("ann"), entries)
            assert.lengthOf(yield* store.all("bob"), 1)
          }),
        proposing(proposal)
      )
    )
  }

  it.effect("is seen by the next strategy, and all are applied in one step", () =>
    run(
      (world) =>
        Effect.gen(function* () {
          const { store } = world
          yield* store.storeMany(day(6))
          const told: Array<unknown> = []
          yield* Hooks.on(MemoryConsolidatedHook, (payload) => Effect.sync(() => told.push(payload)))
          const result = yield* consolidate(world)
          assert.deepStrictEqual([result.entriesPruned, result.entriesConsolidated, result.summariesStored], [2, 3, 1])
          assert.strictEqual(store.calls.filter((call) => call === "apply").length, 1)
          assert.deepStrictEqual(
            (yield* store.all("ann")).map(({ content, id }) => [id, content]),
            [
              [EntryId.make("short"), "in short"],
              [EntryId.make("e0005"), "corrected"]
            ]
          )
          assert.deepStrictEqual(told, [
            { strategy: "first", ownerId: "ann", pruned: ids("e0000"), replaced: [] },
            { strategy: "second", ownerId: "ann", pruned: [], replaced: ids("e0001", "e0002", "e0003") },
            { strategy: "third", ownerId: "ann", pruned: ids("e0004"), replaced: [] }
          ])
        }).pipe(Effect.scoped),
      {
        facts: "none",
        strategies: [
          {
            name: "first",
            propose: ({ entries }) => Effect.succeed(entries.length === 6 ? { prune: ids("e0000") } : {})
          },
          {
            name: "second",
            propose: ({ entries }) => {
              if (entries.length !== 5) return Effect.succeed({})
              assert.deepStrictEqual(idsOf(entries), ids("e0001", "e0002", "e0003", "e0004", "e0005"))
              const summary = { ...entry("short", "in short"), timestamp: now - 3 * DAY + 3 }
              return Effect.succeed({
                replace: [{ summary, ids: ids("e0001", "e0002", "e0003") }],
                update: [{ ...(entries[4] as MemoryEntry), content: "corrected" }]
              })
            }
          },
          {
            name: "third",
            propose: ({ entries }) => {
              if (entries.length !== 3) return Effect.succeed({})
              assert.deepStrictEqual(
                entries.map(({ content }) => content),
                ["in short", "says thing number 4", "corrected"]
              )
              return Effect.succeed({ prune: ids("e0004") })
            }
          }
        ]
      }
    )
  )

  it.effect("does not restore an entry that is forgotten during the write", () =>
    run((world) =>
      Effect.gen(function* () {
        const { read, store } = world
        yield* store.storeMany(day(4))
        let forgotten = 0
        const forget = Effect.suspend(() =>
          forgotten++ === 0 ? Effect.asVoid(store.delete("ann", EntryId.make("e0001"))) : Effect.void
        )
        store.before.set("apply", forget)
        yield* consolidate(world)
        assert.isAbove(forgotten, 1)
        assert.deepStrictEqual(idsOf(yield* store.all("ann")), ids("e0000", "e0002", "e0003"))
        assert.isTrue(
          (yield* store.all("ann")).every(({ metadata }) => metadata[DefaultMemoryConsolidator.FACTS_READ] === true)
        )
        assert.lengthOf(read.from, 4)
      })
    )
  )

  it.effect("does not summarize an entry that is forgotten during the write", () =>
    run(
      (world) =>
        Effect.gen(function* () {
          const { store } = world
          yield* store.storeMany(day(4))
          let forgotten = 0
          store.before.set(
            "apply",
            Effect.suspend(() =>
              forgotten++ === 0 ? Effect.asVoid(store.delete("ann", EntryId.make("e0001"))) : Effect.void
            )
          )
          yield* consolidate(world)
          const left = yield* store.all("ann")
          assert.lengthOf(left.filter(MemorySummary.isSummary), 1)
          assert.notInclude(left.map(({ content }) => content).join(" "), "number 1")
        }),
      { strategies: [SummarizeStrategy.make({ minEntries: 2, fanIn: 2 })], facts: "none" }
    )
  )

  it.effect("is not applied when its entries were recalled, changed or forgotten in the meantime", () =>
    Effect.gen(function* () {
      const started = yield* Deferred.make<void>()
      const go = yield* Deferred.make<void>()
      let asked = 0
      yield* run(
        (world) =>
          Effect.gen(function* () {
            const { store } = world
            yield* store.storeMany(day(3, { importance: 0 }))
            const fiber = yield* Effect.fork(consolidate(world))
            yield* Deferred.await(started)
            for (let count = 0; count < 3; count++) yield* store.recordAccess("ann", ids("e0000"))
            yield* store.delete("ann", EntryId.make("e0001"))
            yield* Deferred.succeed(go, undefined)
            assert.strictEqual((yield* Fiber.join(fiber)).entriesPruned, 1)
            assert.deepStrictEqual(idsOf(yield* store.all("ann")), ids("e0000"))
            assert.isAbove(asked, 1)
          }),
        {
          strategies: [
            {
              name: "slow",
              propose: () =>
                Effect.suspend(() => {
                  asked++
                  return Deferred.succeed(started, undefined).pipe(Effect.zipRight(Deferred.await(go)), Effect.as({}))
                })
            },
            ConsolidationStrategies.accessFrequency()
          ]
        }
      )
    })
  )

  it.effect("is given up when its entries keep changing", () =>
    run((world) =>
      Effect.gen(function* () {
        const { store } = world
        yield* store.storeMany([entry("a", "x", { importance: 0 })])
        let count = 0
        store.before.set(
          "getMany",
          Effect.suspend(() => store.apply("ann", { store: [entry("a", `x${count++}`, { importance: 0 })] }))
        )
        assert.strictEqual((yield* Effect.flip(consolidate(world)))._tag, "ConsolidationError")
        assert.lengthOf(yield* store.all("ann"), 1)
      })
    )
  )
})

describe("two concurrent runs", () => {
  it.effect("of one owner never overlap, those of two owners do", () =>
    Effect.gen(function* () {
      const go = yield* Deferred.make<void>()
      const inside: Array<string> = []
      yield* run(
        (world) =>
          Effect.gen(function* () {
            const { store } = world
            yield* store.storeMany([entry("a", "x"), entry("a", "x", { ownerId: "bob" })])
            const fibers = yield* Effect.forEach(["ann", "ann", "bob"], (owner) =>
              Effect.fork(consolidate(world, owner))
            )
            for (let turn = 0; turn < 50; turn++) yield* Effect.yieldNow()
            assert.deepStrictEqual(inside.toSorted(), ["ann", "bob"])
            yield* Fiber.interrupt(fibers[1] as Fiber.RuntimeFiber<unknown, unknown>)
            yield* Deferred.succeed(go, undefined)
            yield* Fiber.join(fibers[0] as Fiber.RuntimeFiber<unknown, unknown>)
            yield* Fiber.join(fibers[2] as Fiber.RuntimeFiber<unknown, unknown>)
            yield* consolidate(world)
          }),
        {
          strategies: [
            {
              name: "slow",
              propose: ({ ownerId }) =>
                Effect.suspend(() => {
                  inside.push(ownerId)
                  return Effect.as(Deferred.await(go), {})
                })
            }
          ]
        }
      )
    })
  )
})

describe("two machines", () => {
  it.effect("consolidate one owner concurrently once, and count it once", () =>
    Effect.gen(function* () {
      yield* TestClock.setTime(now)
      const store = yield* WatchedMemoryStore.make()
      yield* store.storeMany([...day(12), entry("tea", "likes tea"), entry("tea2", "likes tea")])
      const below = Layer.mergeAll(
        WatchedMemoryStore.layer(store),
        Layer.succeed(SemanticMemory.SemanticMemory, facts({ from: [], failing: false })),
        compressor
      )
      const machine = Effect.provide(DefaultMemoryConsolidator.make({ strategies: all }), below)
      const machines = yield* Effect.all([machine, machine, machine])
      const fibers = yield* Effect.forEach(machines, ({ consolidate }) => Effect.fork(consolidate({ ownerId: "ann" })))
      const results = yield* Effect.forEach(fibers, Fiber.join)
      const sum = (get: (result: MemoryConsolidator.ConsolidationResult) => number) =>
        results.reduce((sum, result) => sum + get(result), 0)
      assert.deepStrictEqual(
        [sum((one) => one.entriesPruned), sum((one) => one.entriesConsolidated), sum((one) => one.summariesStored)],
        [1, 12, 1]
      )
      assert.lengthOf(yield* store.all("ann"), 2)
    })
  )
})

describe("entries that are stored again", () => {
  it.effect("get the same summary as before", () =>
    run(
      (world) =>
        Effect.gen(function* () {
          const { store } = world
          yield* store.storeMany(day(6))
          yield* consolidate(world)
          const left = yield* store.all("ann")
          yield* store.storeMany(day(6))
          const result = yield* consolidate(world)
          assert.deepStrictEqual([result.entriesConsolidated, result.summariesStored], [6, 0])
          assert.deepStrictEqual(yield* store.all("ann"), left)
        }),
      { strategies: [SummarizeStrategy.make()] }
    )
  )
})

describe("metrics", () => {
  it.effect("count runs by outcome, and entries by strategy", () =>
    run(
      (world) =>
        Effect.gen(function* () {
          const { store } = world
          const counter = (name: string, label: string, value: string) =>
            Effect.map(
              Metric.value(
                Metric.fromMetricKey(
                  MetricKey.taggedWithLabels(MetricKey.counter(name, { incremental: true }), [
                    MetricLabel.make(label, value)
                  ])
                )
              ),
              ({ count }) => count
            )
          const look = Effect.all([
            counter(MemoryMetrics.METRIC_MEMORY_CONSOLIDATIONS_TOTAL, "outcome", "success"),
            counter(MemoryMetrics.METRIC_MEMORY_CONSOLIDATIONS_TOTAL, "outcome", "failed"),
            counter(MemoryMetrics.METRIC_MEMORY_CONSOLIDATED_ENTRIES, "strategy", "access_frequency"),
            counter(MemoryMetrics.METRIC_MEMORY_CONSOLIDATED_ENTRIES, "strategy", "other")
          ])
          const before = yield* look
          yield* store.storeMany([...day(2, { importance: 0 }), entry("mine", "x")])
          yield* consolidate(world)
          store.before.set("stream", Effect.fail(WatchedMemoryStore.refusal))
          yield* Effect.flip(consolidate(world))
          const after = yield* look
          assert.deepStrictEqual(
            after.map((count, index) => count - (before[index] ?? 0)),
            [1, 1, 2, 1]
          )
        }),
      {
        strategies: [
          ConsolidationStrategies.accessFrequency(),
          {
            name: "of a user's own",
            propose: ({ entries }) =>
              Effect.succeed({ prune: entries.filter(({ id }) => id === "mine").map(({ id }) => id) })
          }
        ]
      }
    )
  )
})

describe("owners with more entries than a window", () => {
  it.effect("have no duplicates left, however far apart, and change nothing the second time", () =>
    run(
      (world) =>
        Effect.gen(function* () {
          const { store } = world
          const many = Array.from({ length: 700 }, (_, index) =>
            entry(`m${String(index).padStart(4, "0")}`, `likes thing ${index % 16}`, {
              timestamp: now - 9 * DAY + index
            })
          )
          yield* store.storeMany(many)
          const result = yield* consolidate(world)
          assert.deepStrictEqual(result.entriesProcessed, 700)
          const left = yield* store.all("ann")
          assert.strictEqual(700 - left.length, result.entriesPruned)
          assert.strictEqual(new Set(left.map(({ content }) => content)).size, left.length)
          assert.strictEqual((yield* consolidate(world)).entriesPruned, 0)
        }),
      { window: 20, facts: "none", strategies: [ConsolidationStrategies.deduplication()] }
    )
  )

  /**
   * Doubles that stand so far apart that each pass brings two of them into one window, and no more: what goes before them moves the
   * others up.
   */
  const shifting = (windows: number, window: number): ReadonlyArray<MemoryEntry> => {
    const texts = Array.from({ length: (windows + 2) * window }, (_, index) => `says thing number ${index}`)
    for (let pair = 0; pair < windows; pair++) {
      const later = (pair + 1) * window - 1 + pair
      texts[later] = texts[pair * window + pair] as string
    }
    return texts.map((text, index) =>
      entry(`m${String(index).padStart(6, "0")}`, text, { timestamp: now - 9 * DAY + index })
    )
  }

  /** Consolidates and gives how many entries were looked at in all passes. */
  const looks = (entries: ReadonlyArray<MemoryEntry>, window: number) =>
    Effect.gen(function* () {
      let looked = 0
      const watching: MemoryConsolidator.ConsolidationStrategy = {
        name: "watching",
        propose: (batch) =>
          Effect.sync(() => {
            looked += batch.entries.length
            return {}
          })
      }
      const left = yield* run(
        (world) =>
          Effect.gen(function* () {
            yield* world.store.storeMany(entries)
            yield* consolidate(world)
            const { from } = world.read
            assert.strictEqual(new Set(from).size, from.length)
            assert.sameMembers(from, [...idsOf(entries)])
            return yield* world.store.all("ann")
          }),
        { window, strategies: [watching, ConsolidationStrategies.deduplication()] }
      )
      return { looked, left }
    })

  it.effect("cost linear time wherever their duplicates are, and have every entry read once", () =>
    Effect.gen(function* () {
      const window = 100
      const some = yield* looks(shifting(40, window), window)
      const more = yield* looks(shifting(80, window), window)
      assert.isAtMost(more.looked / some.looked, 2.5)
      const plain = (count: number) =>
        day(count).map((one, index) => ({ ...one, content: `likes thing ${index % (count / 2)}` }))
      const half = yield* looks(plain(2000), window)
      const whole = yield* looks(plain(4000), window)
      assert.isAtMost(whole.looked / half.looked, 2.5)
    })
  )

  it.effect("continue in later runs where a run has stopped", () =>
    run(
      (world) =>
        Effect.gen(function* () {
          const entries = shifting(40, 100)
          yield* world.store.storeMany(entries)
          let pruned = 0
          for (let runs = 0; runs < 4; runs++) pruned += (yield* consolidate(world)).entriesPruned
          assert.strictEqual(pruned, 40)
          assert.strictEqual((yield* consolidate(world)).entriesPruned, 0)
        }),
      { window: 100, facts: "none", strategies: [ConsolidationStrategies.deduplication()] }
    )
  )

  it.effect("are never in memory as a whole", () =>
    Effect.gen(function* () {
      let largest = 0
      yield* run(
        (world) =>
          Effect.gen(function* () {
            yield* world.store.storeMany(day(95))
            assert.strictEqual((yield* consolidate(world)).entriesProcessed, 95)
            assert.strictEqual(largest, 10)
          }),
        {
          window: 10,
          strategies: [
            {
              name: "watching",
              propose: ({ entries }) =>
                Effect.sync(() => {
                  largest = Math.max(largest, entries.length)
                  return {}
                })
            }
          ]
        }
      )
    })
  )
})

describe("any memory", () => {
  const memory = FastCheck.array(
    FastCheck.record({
      content: FastCheck.constantFrom("likes tea", "Likes tea", "likes rain", "went home", "works at night"),
      role: FastCheck.constantFrom("user" as const, "assistant" as const, "system" as const, "tool" as const),
      age: FastCheck.constantFrom(1, 20, 30, 60, 24 * 100, 24 * 129, 24 * 131, 24 * 300),
      importance: FastCheck.constantFrom(0, 0.05, 0.1, 0.5, 1),
      accessCount: FastCheck.constantFrom(undefined, 1, 5),
      sessionId: FastCheck.constantFrom(undefined, SessionId.make("s1"), SessionId.make("s2")),
      expires: FastCheck.constantFrom(false, true)
    }),
    { maxLength: 40 }
  ).map((items) =>
    items.map(({ accessCount, age, expires, sessionId, ...rest }, index) =>
      entry(`e${index}`, rest.content, {
        role: rest.role,
        importance: rest.importance,
        timestamp: now - age * HOUR,
        ...(accessCount === undefined ? {} : { accessCount }),
        ...(sessionId === undefined ? {} : { sessionId }),
        ...(expires ? { expiresAt: now + DAY } : {})
      })
    )
  )

  /** What stands for an entry in the end: itself, or a summary that names it, or one that names that one. */
  const standsFor = (left: ReadonlyArray<MemoryEntry>, summaries: ReadonlyMap<EntryId, MemoryEntry>) => {
    const named = new Set<EntryId>()
    const add = (one: MemoryEntry): void => {
      named.add(one.id)
      if (!MemorySummary.isSummary(one)) return
      for (const id of one.metadata["compressedIds"] as ReadonlyArray<EntryId>) {
        const below = summaries.get(id)
        if (below === undefined) named.add(id)
        else add(below)
      }
    }
    left.forEach(add)
    return named
  }

  it.effect("keeps counts, worth and young entries, and is idempotent", () =>
    Effect.flatMap(Effect.runtime(), (runtime) =>
      Effect.promise(() =>
        FastCheck.assert(
          FastCheck.asyncProperty(memory, FastCheck.constantFrom(5, 10_000), (entries, window) => {
            const summaries = new Map<EntryId, MemoryEntry>()
            const remembering = Layer.effect(
              EpisodicCompressor.EpisodicCompressor,
              Effect.map(
                DefaultEpisodicCompressor.make((those) =>
                  Effect.succeed(those.map(({ content }) => content).join(". "))
                ),
                ({ compress }) => ({
                  compress: (those: ReadonlyArray<MemoryEntry>, options?: EpisodicCompressor.CompressOptions) =>
                    Effect.tap(compress(those, options), (summary) =>
                      Effect.sync(() => summaries.set(summary.id, summary))
                    )
                })
              )
            ).pipe(Layer.provide(TokenCounter.layerApproximate()))
            return Runtime.runPromise(runtime)(
              run(
                (world) =>
                  Effect.gen(function* () {
                    const { store } = world
                    yield* store.storeMany(entries)
                    const dry = yield* world.consolidator.consolidate({ ownerId: "ann", dryRun: true })
                    const result = yield* consolidate(world)
                    const left = yield* store.all("ann")

                    assert.strictEqual(
                      entries.length - left.length,
                      result.entriesPruned + result.entriesConsolidated - result.summariesStored
                    )
                    if (window > entries.length) {
                      assert.deepStrictEqual(
                        { ...dry, dryRun: false, entitiesExtracted: result.entitiesExtracted },
                        result
                      )
                    }

                    const young = entries.filter(({ timestamp }) => timestamp > now - DAY)
                    const kept = new Map(left.map((one) => [one.id, one]))
                    for (const one of young) assert.deepStrictEqual(kept.get(one.id), one)

                    const named = standsFor(left, summaries)
                    const said = new Set(
                      [...left, ...entries.filter(({ id }) => named.has(id))].map(({ content }) =>
                        content.toLowerCase()
                      )
                    )
                    for (const one of entries) {
                      const matters = one.importance >= 0.1 || (one.accessCount ?? 0) >= 3
                      const recent = one.timestamp > now - 129.5 * DAY
                      if (one.role === "system") assert.isTrue(kept.has(one.id))
                      else if (matters && recent) assert.isTrue(said.has(one.content.toLowerCase()), one.content)
                    }

                    const again = yield* consolidate(world)
                    assert.deepStrictEqual(
                      [again.entriesPruned, again.entriesConsolidated, again.summariesStored, again.entitiesExtracted],
                      [0, 0, 0, 0]
                    )
                    assert.deepStrictEqual(yield* store.all("ann"), left)
                  }),
                {
                  window,
                  strategies: [
                    ConsolidationStrategies.deduplication(),
                    ConsolidationStrategies.recencyDecay(),
                    ConsolidationStrategies.accessFrequency(),
                    SummarizeStrategy.make({ minEntries: 2, fanIn: 2 })
                  ]
                },
                remembering
              )
            )
          }),
          { numRuns: 60 }
        )
      )
    )
  )
})

describe("summaries that fail", () => {
  it.effect("change nothing, and other owners continue", () =>
    run(
      (world) =>
        Effect.gen(function* () {
          const { store } = world
          yield* store.storeMany([...day(6), ...day(6, { ownerId: "bob" })])
          const error = yield* Effect.flip(consolidate(world))
          assert.strictEqual(error._tag, "ConsolidationError")
          assert.deepStrictEqual(yield* store.all("ann"), day(6))
          assert.strictEqual((yield* consolidate(world, "bob")).summariesStored, 1)
        }),
      { strategies: [SummarizeStrategy.make()] },
      DefaultEpisodicCompressor.layer(([{ ownerId }]) =>
        ownerId === "ann" ? new ConsolidationError({ message: "no model" }) : Effect.succeed("in short")
      ).pipe(Layer.provide(TokenCounter.layerApproximate()))
    )
  )
})

describe("layerNoop", () => {
  it.effect("changes nothing", () =>
    Effect.gen(function* () {
      const consolidator = yield* MemoryConsolidator.MemoryConsolidator
      const result = yield* consolidator.consolidate({ ownerId: "ann", dryRun: true })
      assert.deepInclude(result, { entriesProcessed: 0, entriesPruned: 0, dryRun: true })
      yield* consolidator.health
    }).pipe(Effect.provide(MemoryConsolidator.layerNoop))
  )
})
