import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { EntryId } from "../../src/domain/Ids.js"
import * as EntityExtractor from "../../src/memory/EntityExtractor.js"
import type { Fact } from "../../src/memory/Fact.js"
import * as FactStore from "../../src/memory/FactStore.js"
import * as MemoryEntry from "../../src/memory/MemoryEntry.js"
import * as SemanticMemory from "../../src/memory/SemanticMemory.js"

const entry = (id: string, content: string, timestamp = 1000, ownerId = "ann") =>
  MemoryEntry.make({ id: EntryId.make(id), ownerId, content, role: "user", timestamp })

const live = (options?: SemanticMemory.Options) =>
  SemanticMemory.layer(options).pipe(
    Layer.provideMerge(Layer.merge(FactStore.layerMemory(), EntityExtractor.layerHeuristic()))
  )

const told = (facts: ReadonlyArray<Fact>) =>
  facts.map(({ object, predicate, subject }) => `${subject} ${predicate} ${object}`)

describe("SemanticMemory.layer", () => {
  it.effect("what is said is known, and what is said anew replaces it", () =>
    Effect.gen(function* () {
      const memory = yield* SemanticMemory.SemanticMemory
      yield* memory.ingest([entry("e1", "My name is Anna and I live in Paris.", 0)])
      const again = yield* memory.ingest([entry("e1", "My name is Anna and I live in Paris.", 0)])
      assert.deepStrictEqual(told(again), ["user is called Anna", "user lives in Paris"])
      yield* memory.ingest([entry("e2", "I moved to Berlin.", 0)])
      assert.deepStrictEqual(told(yield* memory.recall("ann", "Where do I live?")), [
        "user lives in Berlin",
        "user is called Anna"
      ])
      const all = yield* memory.queryFacts("ann", "USER", { includeClosed: true })
      assert.strictEqual(all.length, 3)
      assert.strictEqual(all.find(({ object }) => object === "Paris")?.validTo, 0)
    }).pipe(Effect.provide(live()))
  )
})
