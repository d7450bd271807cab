import { assert, describe, it } from "@effect/vitest"
import { EntryId, RunId, SessionId } from "../../../src/domain/Ids.js"
import type { MemoryEntry } from "../../../src/memory/entry/MemoryEntry.js"
import * as MemorySummary from "../../../src/memory/episodic/MemorySummary.js"
import { entry, ids } from "../../support/ConsolidatedMemory.js"

const make = (...entries: [MemoryEntry, ...Array<MemoryEntry>]) => MemorySummary.make({ entries, content: "in short" })

describe("make", () => {
  it("is dated like the newest entry, with the average importance", () => {
    const summary = make(
      entry("b", "x", { timestamp: 30, importance: 0.2 }),
      entry("a", "y", { timestamp: 10, importance: 0.4 })
    )
    assert.strictEqual(summary.timestamp, 30)
    assert.closeTo(summary.importance, 0.3, 1e-9)
    assert.deepStrictEqual(summary.metadata, {
      type: "summary",
      compressedIds: ids("a", "b"),
      timeRange: { start: 10, end: 30 },
      level: 1,
      turns: 2
    })
  })

  it("keeps equal importances equal in spite of rounding", () => {
    for (const importance of [0.1, 0.3, 0.7]) {
      for (let size = 2; size < 50; size++) {
        const entries = Array.from({ length: size }, (_, index) => entry(`e${index}`, "x", { importance }))
        assert.strictEqual(make(...(entries as [MemoryEntry])).importance, importance)
      }
    }
  })

  it("keeps exactly what all entries share", () => {
    const sessionId = SessionId.make("s1")
    const runId = RunId.make("r1")
    const same = { sessionId, runId, role: "user" as const }
    const both = make(
      entry("a", "x", { ...same, metadata: { project: "p", mood: "glad", list: [1], type: "turn" } }),
      entry("b", "y", { ...same, metadata: { project: "p", mood: "sad", list: [1], type: "turn" } })
    )
    assert.deepInclude(both, { sessionId, runId, role: "user" })
    assert.strictEqual(both.metadata["project"], "p")
    assert.strictEqual(both.metadata["type"], "summary")
    assert.notProperty(both.metadata, "mood")
    assert.notProperty(both.metadata, "list")
    const mixed = make(entry("a", "x", { ...same }), entry("b", "y", { role: "tool" }))
    assert.strictEqual(mixed.role, "assistant")
    assert.notProperty(mixed, "sessionId")
    assert.notProperty(mixed, "runId")
  })

  it("sums recalls, and expires with the first entry", () => {
    const summary = make(
      entry("a", "x", { accessCount: 2, lastAccessedAt: 50, expiresAt: 900 }),
      entry("b", "y", { accessCount: 1, lastAccessedAt: 70, expiresAt: 800 }),
      entry("c", "z")
    )
    assert.deepInclude(summary, { accessCount: 3, lastAccessedAt: 70, expiresAt: 800 })
    const plain = make(entry("a", "x"), entry("b", "y"))
    assert.notProperty(plain, "accessCount")
    assert.notProperty(plain, "lastAccessedAt")
    assert.notProperty(plain, "expiresAt")
  })

  it("has the same id for the same entries in any order, and another for others", () => {
    const [a, b, c] = [entry("a", "x"), entry("b", "y"), entry("c", "z")]
    assert.strictEqual(make(a, b).id, make(b, a).id)
    assert.notStrictEqual(make(a, b).id, make(a, c).id)
    assert.notStrictEqual(make(entry("a,b", "x"), c).id, make(a, b, c).id)
  })

  it("spans what its summaries cover", () => {
    const low = make(entry("a", "x", { timestamp: 10 }), entry("b", "y", { timestamp: 20 }))
    const high = make(low, entry("c", "z", { timestamp: 15 }))
    assert.deepStrictEqual(high.metadata, {
      type: "summary",
      compressedIds: [EntryId.make("c"), low.id],
      timeRange: { start: 10, end: 20 },
      level: 2,
      turns: 3
    })
    assert.deepStrictEqual([MemorySummary.level(high), MemorySummary.turns(high)], [2, 3])
  })

  it("ignores invalid metadata", () => {
    const odd = entry("a", "x", {
      timestamp: 5,
      metadata: { type: "summary", level: -3, turns: "many", timeRange: { start: "x" } }
    })
    assert.deepStrictEqual([MemorySummary.level(odd), MemorySummary.turns(odd)], [1, 1])
    assert.deepInclude(make(odd, entry("b", "y", { timestamp: 6 })).metadata, {
      level: 2,
      turns: 2,
      timeRange: { start: 5, end: 6 }
    })
    const none = entry("c", "z", { metadata: { level: 7, turns: 9 } })
    assert.deepStrictEqual([MemorySummary.level(none), MemorySummary.turns(none)], [0, 1])
  })
})
