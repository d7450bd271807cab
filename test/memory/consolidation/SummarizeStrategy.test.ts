import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { EntryId, RunId, SessionId } from "../../../src/domain/Ids.js"
import * as TokenCounter from "../../../src/llm/model/TokenCounter.js"
import * as SummarizeStrategy from "../../../src/memory/consolidation/SummarizeStrategy.js"
import type { MemoryEntry } from "../../../src/memory/entry/MemoryEntry.js"
import * as Selection from "../../../src/memory/entry/Selection.js"
import * as DefaultEpisodicCompressor from "../../../src/memory/episodic/DefaultEpisodicCompressor.js"
import * as MemorySummary from "../../../src/memory/episodic/MemorySummary.js"
import { DAY, entry, HOUR, now, run } from "../../support/ConsolidatedMemory.js"

const said = (count: number, at: number, over?: Partial<MemoryEntry>): ReadonlyArray<MemoryEntry> =>
  Array.from({ length: count }, (_, index) =>
    entry(`${at}-${String(index).padStart(4, "0")}`, `says ${at} ${index}`, { timestamp: at + index, ...over })
  )

/** What becomes one summary each, as the numbers of entries, in the order they were asked for. */
const sizes = (
  entries: ReadonlyArray<MemoryEntry>,
  options?: SummarizeStrategy.Options,
  batch: { readonly agedBefore?: number; readonly batchSize?: number } = {}
) => Effect.map(replaced(entries, options, batch), (groups) => groups.map(({ length }) => length))

const replaced = (
  entries: ReadonlyArray<MemoryEntry>,
  options?: SummarizeStrategy.Options,
  batch: { readonly agedBefore?: number; readonly batchSize?: number } = {}
) =>
  SummarizeStrategy.make(options)
    .propose({
      ownerId: "ann",
      entries: entries.toSorted((a, b) => a.timestamp - b.timestamp),
      now,
      agedBefore: now - DAY,
      batchSize: 100,
      dryRun: true,
      ...batch
    })
    .pipe(
      Effect.map(({ replace = [] }) => replace.map(({ ids }) => ids)),
      Effect.provide(DefaultEpisodicCompressor.layerExtractive.pipe(Layer.provide(TokenCounter.layerApproximate())))
    )

const s1 = { sessionId: SessionId.make("s1") }
const s2 = { sessionId: SessionId.make("s2") }

describe("groups", () => {
  it.effect("hold a day of a session once all of it is old enough", () =>
    Effect.gen(function* () {
      const entries = [
        ...said(6, now - 4 * DAY, s1),
        ...said(7, now - 4 * DAY + HOUR, s2),
        ...said(8, now - 4 * DAY + 2 * HOUR),
        ...said(9, now - 3 * DAY, s1)
      ]
      assert.deepStrictEqual(yield* sizes(entries), [6, 7, 8, 9])
      // `now` is midnight.
      assert.deepStrictEqual(yield* sizes(entries, {}, { agedBefore: now - 2 * DAY }), [6, 7, 8, 9])
      assert.deepStrictEqual(yield* sizes(entries, {}, { agedBefore: now - 2 * DAY - 1 }), [6, 7, 8])
    })
  )

  it.effect("separate entries before and after a rewind, and those of branches", () =>
    Effect.gen(function* () {
      const of = (metadata: object) => ({ ...s1, metadata: { sessionTree: "s1", ...metadata } })
      const entries = [
        ...said(5, now - 4 * DAY, of({})),
        ...said(6, now - 4 * DAY + HOUR, of({ sessionStretch: now - 4 * DAY + HOUR })),
        ...said(7, now - 4 * DAY + 2 * HOUR, { ...s2, metadata: { sessionTree: "s1" } })
      ]
      assert.deepStrictEqual(yield* sizes(entries), [5, 6, 7])
      assert.deepStrictEqual(yield* sizes(entries, { acrossSessions: true }), [18])
      const [first] = yield* replaced(entries)
      const group = entries.filter(({ id }) => first?.includes(id))
      const summary = MemorySummary.make({ entries: group as [MemoryEntry, ...Array<MemoryEntry>], content: "" })
      assert.strictEqual(summary.metadata["sessionTree"], "s1")
      assert.strictEqual(summary.sessionId, s1.sessionId)
      // Of several branches of one tree: nobody can say which of them may recall it.
      const mixed = MemorySummary.make({ entries: entries as [MemoryEntry, ...Array<MemoryEntry>], content: "" })
      assert.strictEqual(mixed.sessionId, undefined)
      const way = { tree: s1.sessionId, lineage: [{ ...s1 }, { ...s2 }] }
      assert.deepStrictEqual(
        [group[0], summary, mixed].map((one) => one !== undefined && Selection.predicate(way)?.(one)),
        [true, true, false]
      )
    })
  )

  it.effect("hold a whole session after a day of silence, or what a function gives one name", () =>
    Effect.gen(function* () {
      const entries = [...said(3, now - 9 * DAY, s1), ...said(3, now - 5 * DAY, s1), ...said(6, now - 3 * DAY, s2)]
      assert.deepStrictEqual(yield* sizes(entries), [6])
      assert.deepStrictEqual(yield* sizes(entries, { groupBy: "session" }), [6, 6])
      const active = [...entries, ...said(1, now - DAY - HOUR, s1)]
      assert.deepStrictEqual(yield* sizes(active, { groupBy: "session" }), [6])
      const parity = (one: MemoryEntry) => String(one.timestamp % 2)
      assert.deepStrictEqual(yield* sizes(said(13, now - 9 * DAY), { groupBy: parity }), [7, 6])
    })
  )

  it.effect("mix sessions only on request", () =>
    Effect.gen(function* () {
      const entries = [...said(3, now - 4 * DAY, s1), ...said(3, now - 4 * DAY + HOUR, s2)]
      assert.deepStrictEqual(yield* sizes(entries), [])
      assert.deepStrictEqual(yield* sizes(entries, { acrossSessions: true }), [6])
    })
  )

  it.effect("separate expiring from lasting entries, and leave system prompts", () =>
    Effect.gen(function* () {
      const entries = [
        ...said(5, now - 4 * DAY),
        ...said(5, now - 4 * DAY + HOUR, { expiresAt: now + DAY }),
        ...said(9, now - 4 * DAY + 2 * HOUR, { role: "system" })
      ]
      assert.deepStrictEqual(yield* sizes(entries), [5, 5])
    })
  )

  it.effect("have at least five entries, and split more than a hundred evenly", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* sizes(said(4, now - 4 * DAY)), [])
      assert.deepStrictEqual(yield* sizes(said(4, now - 4 * DAY), { minEntries: 4 }), [4])
      assert.deepStrictEqual(yield* sizes(said(1, now - 4 * DAY), { minEntries: 0 }), [])
      assert.deepStrictEqual(yield* sizes(said(101, now - 4 * DAY)), [51, 50])
      assert.deepStrictEqual(yield* sizes(said(30, now - 4 * DAY), { batchSize: 10 }), [10, 10, 10])
      assert.deepStrictEqual(yield* sizes(said(30, now - 4 * DAY), {}, { batchSize: 15 }), [15, 15])
    })
  )

  it.effect("never separate a tool call from its results", () =>
    Effect.gen(function* () {
      const runId = RunId.make("r1")
      const metadata = { toolCallIds: ["1", "2"] }
      const at = now - 4 * DAY
      const entries = [
        ...said(9, at),
        entry("call", "looks up", { timestamp: at + 10, role: "assistant", metadata, runId }),
        entry("one", "found", { timestamp: at + 11, role: "tool", metadata: { toolCallId: "1" }, runId }),
        entry("two", "found", { timestamp: at + 12, role: "tool", metadata: { toolCallId: "2" }, runId }),
        ...said(8, at + 20)
      ]
      const groups = yield* replaced(entries, { batchSize: 10 })
      assert.deepStrictEqual(
        groups.map((group) => group.filter((id) => ["call", "one", "two"].includes(id))),
        [[], ["call", "one", "two"].map((id) => EntryId.make(id))]
      )
      // Seen up to the call only: its results may still be to come.
      const early = yield* replaced(entries.slice(0, 10), {}, { agedBefore: at + 10 })
      assert.deepStrictEqual(early, [])
    })
  )

  it.effect("number at most eight at once", () =>
    Effect.gen(function* () {
      const entries = Array.from({ length: 12 }, (_, index) => said(5, now - (index + 3) * DAY)).flat()
      assert.lengthOf(yield* sizes(entries), 8)
    })
  )
})

describe("summaries of summaries", () => {
  const summary = (index: number, level: number): MemoryEntry =>
    entry(`sum${level}-${String(index).padStart(3, "0")}`, "in short", {
      timestamp: now - 30 * DAY + index,
      metadata: { type: "summary", level, turns: 5, compressedIds: [] }
    })
  const many = (count: number, level: number) => Array.from({ length: count }, (_, index) => summary(index, level))

  it.effect("combine ten of a level into one, and leave the rest", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* sizes(many(9, 1)), [])
      assert.deepStrictEqual(yield* sizes(many(25, 1)), [10, 10])
      assert.deepStrictEqual(yield* sizes([...many(9, 1), ...many(9, 2)]), [])
      assert.deepStrictEqual(yield* sizes(many(25, 1), { fanIn: 4 }), [4, 4, 4, 4, 4, 4])
      assert.deepStrictEqual(yield* sizes(many(5, 1), { fanIn: 1 }), [2, 2])
    })
  )

  it.effect("stop at the highest level", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* sizes(many(10, 2)), [10])
      assert.deepStrictEqual(yield* sizes(many(50, 3)), [])
      assert.deepStrictEqual(yield* sizes(many(50, 1), { maxLevel: 1 }), [])
    })
  )

  it.effect("reduce two months of talk to few summaries that cover each turn, and then change nothing", () =>
    run(
      ({ consolidator, store }) =>
        Effect.gen(function* () {
          const entries = Array.from({ length: 60 }, (_, day) => said(6, now - (62 - day) * DAY)).flat()
          yield* store.storeMany(entries)
          const result = yield* consolidator.consolidate({ ownerId: "ann" })
          const left = yield* store.all("ann")
          assert.deepStrictEqual(left.map(MemorySummary.level), [3, 3, 3, 2, 2, 2])
          assert.strictEqual(
            left.map(MemorySummary.turns).reduce((a, b) => a + b),
            360
          )
          assert.strictEqual(result.summariesStored, 60 + 15 + 3)
          assert.strictEqual(result.entriesConsolidated, 360 + 60 + 12)
          for (const one of left) assert.isAtMost(TokenCounter.approximate.count(one.content), 50)
          const [first] = left
          assert.deepStrictEqual(first?.metadata["timeRange"], {
            start: now - 62 * DAY,
            end: first?.timestamp
          })
          assert.strictEqual((yield* consolidator.consolidate({ ownerId: "ann" })).summariesStored, 0)
        }),
      { strategies: [SummarizeStrategy.make({ fanIn: 4, maxTokens: 50 })] }
    )
  )
})
