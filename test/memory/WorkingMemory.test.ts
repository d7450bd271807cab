import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { EntryId } from "../../src/domain/Ids.js"
import * as MemoryEntry from "../../src/memory/MemoryEntry.js"
import * as WorkingMemory from "../../src/memory/WorkingMemory.js"

const entry = MemoryEntry.MemoryEntry.make({
  id: EntryId.make("e1"),
  ownerId: "owner",
  content: "likes tea",
  role: "user",
  timestamp: 1_700_000_000_000
})

describe("WorkingMemory.layerNoop", () => {
  it.effect("nothing is remembered", () =>
    Effect.gen(function* () {
      const memory = yield* WorkingMemory.WorkingMemory
      yield* memory.add(entry)
      yield* memory.addAll([entry, entry])
      const assembled = yield* memory.assemble({ query: "tea", tokenBudget: 1000, ownerId: "owner" })
      assert.deepStrictEqual(assembled, { entries: [], facts: [], tools: [], tokens: 0, report: [] })
      assert.deepStrictEqual(yield* memory.getContextEntries({ ownerId: "owner" }), [])
      yield* memory.flush({ ownerId: "owner" })
      yield* memory.health
    }).pipe(Effect.provide(WorkingMemory.layerNoop))
  )
})

describe("MemoryEntry", () => {
  it("what is left out gets its default when made and when decoded", () => {
    assert.strictEqual(entry.importance, 0.5)
    assert.deepStrictEqual(entry.metadata, {})
    const decoded = Schema.decodeUnknownSync(MemoryEntry.MemoryEntry)({
      id: "e1",
      ownerId: "owner",
      content: "likes tea",
      role: "user",
      timestamp: 1_700_000_000_000
    })
    assert.deepStrictEqual(decoded, entry)
  })

  it("an entry without an owner, or with an importance past 1, is refused", () => {
    const isEntry = Schema.is(MemoryEntry.MemoryEntry)
    assert.isTrue(isEntry(entry))
    assert.isFalse(isEntry({ ...entry, ownerId: "" }))
    assert.isFalse(isEntry({ ...entry, importance: 1.1 }))
    assert.isFalse(isEntry({ ...entry, timestamp: Number.NaN }))
  })

  it("a query leaves its weights to the configuration", () => {
    const query = MemoryEntry.MemoryQuery.make({ ownerId: "owner", query: "tea" })
    assert.deepStrictEqual(query, { ownerId: "owner", query: "tea", minRelevance: 0, filters: {} })
    const { importanceWeight, recencyWeight, relevanceWeight } = MemoryEntry.queryDefaults
    assert.closeTo(importanceWeight + recencyWeight + relevanceWeight, 1, 1e-9)
  })
})
