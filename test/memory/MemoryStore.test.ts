import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as TestClock from "effect/TestClock"
import type { EntryId } from "../../src/domain/Ids.js"
import * as MemoryEntry from "../../src/memory/MemoryEntry.js"
import * as MemoryStore from "../../src/memory/MemoryStore.js"
import * as MemoryStoreSuite from "../../src/testing/MemoryStoreSuite.js"

const entry = (fields: {
  readonly id: string
  readonly content?: string
  readonly ownerId?: string
  readonly timestamp?: number
}) => MemoryEntry.make({ content: "", ownerId: "o", role: "user", timestamp: 0, ...fields, id: fields.id as EntryId })

describe("MemoryStore.layerMemory", () => {
  for (const one of MemoryStoreSuite.cases) {
    it(one.name, () => Effect.runPromise(MemoryStoreSuite.check(one, MemoryStore.layerMemory())))
  }
})

describe("MemoryStore", () => {
  it.effect("what was stored is found by its words", () =>
    Effect.gen(function* () {
      const store = yield* MemoryStore.makeMemory()
      yield* store.storeMany([
        entry({ id: "a", content: "Caroline went to the pottery class" }),
        entry({ id: "b", content: "The weather is fine" })
      ])
      const [first] = yield* store.retrieve({ ownerId: "o", query: "pottery classes" })
      assert.strictEqual(first?.entry.id, "a")
      assert.isAbove(first?.relevance ?? 0, 0)
      yield* TestClock.adjust("31 days")
      assert.strictEqual(yield* store.count("o"), 0)
    })
  )
})
