import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as FastCheck from "effect/FastCheck"
import * as Layer from "effect/Layer"
import { EntryId } from "../../../src/domain/Ids.js"
import * as Embedder from "../../../src/llm/embedding/Embedder.js"
import * as HashingEmbedder from "../../../src/llm/embedding/HashingEmbedder.js"
import * as Selection from "../../../src/memory/entry/Selection.js"
import * as VectorIndex from "../../../src/memory/search/VectorIndex.js"
import * as SetClock from "../../support/SetClock.js"

const dimensions = 7

const vectorOf = (seed: number): Embedder.Vector =>
  Embedder.normalize(Array.from({ length: dimensions }, (_, i) => ((seed * 31 + i * 17) % 11) - 5))!

const cosine = (a: Embedder.Vector, b: Embedder.Vector): number => a.reduce((sum, x, i) => sum + x * b[i]!, 0)

const item = (id: string, seed: number, fields: Partial<VectorIndex.VectorItem> = {}): VectorIndex.VectorItem => ({
  id: EntryId.make(id),
  vector: vectorOf(seed),
  timestamp: 0,
  role: "user",
  metadata: {},
  ...fields
})

type Operation =
  | { readonly _tag: "upsert"; readonly owner: string; readonly items: ReadonlyArray<VectorIndex.VectorItem> }
  | { readonly _tag: "delete"; readonly owner: string; readonly ids: ReadonlyArray<EntryId> }
  | { readonly _tag: "clear"; readonly owner: string }
  | { readonly _tag: "pass"; readonly millis: number }
  | {
      readonly _tag: "search"
      readonly owner: string
      readonly seed: number
      readonly limit: number
      readonly kind: string | undefined
    }

const owner = FastCheck.constantFrom("ann", "bob", "__proto__")
const id = FastCheck.integer({ min: 0, max: 30 }).map((n) => EntryId.make(`e${n}`))
const seed = FastCheck.integer({ min: 0, max: 12 })
const anItem = FastCheck.record({
  id,
  seed,
  kind: FastCheck.constantFrom("a", "b"),
  expiresAt: FastCheck.option(FastCheck.integer({ min: 0, max: 60 }), { nil: undefined })
}).map(({ expiresAt, id, kind, seed }) => item(id, seed, { metadata: { kind }, expiresAt }))

const operation: FastCheck.Arbitrary<Operation> = FastCheck.oneof(
  {
    weight: 4,
    arbitrary: FastCheck.record({
      _tag: FastCheck.constant("upsert" as const),
      owner,
      items: FastCheck.array(anItem, { maxLength: 12 })
    })
  },
  {
    weight: 2,
    arbitrary: FastCheck.record({
      _tag: FastCheck.constant("delete" as const),
      owner,
      ids: FastCheck.array(id, { maxLength: 8 })
    })
  },
  FastCheck.record({ _tag: FastCheck.constant("clear" as const), owner }),
  FastCheck.record({ _tag: FastCheck.constant("pass" as const), millis: FastCheck.integer({ min: 1, max: 15 }) }),
  {
    weight: 4,
    arbitrary: FastCheck.record({
      _tag: FastCheck.constant("search" as const),
      owner,
      seed,
      limit: FastCheck.integer({ min: 0, max: 40 }),
      kind: FastCheck.constantFrom("a", "b", undefined)
    })
  }
)

/** The same by the plainest means: a map, a scan, a sort. */
class Model {
  now = 0
  private readonly owners = new Map<string, Map<EntryId, VectorIndex.VectorItem>>()

  alive(owner: string): Array<VectorIndex.VectorItem> {
    return Array.from(this.owners.get(owner)?.values() ?? []).filter(
      ({ expiresAt }) => expiresAt === undefined || expiresAt > this.now
    )
  }
  upsert(owner: string, items: ReadonlyArray<VectorIndex.VectorItem>): void {
    const known = this.owners.get(owner) ?? new Map()
    this.owners.set(owner, known)
    for (const item of items) known.set(item.id, item)
  }
  delete(owner: string, ids: ReadonlyArray<EntryId>): void {
    for (const id of ids) this.owners.get(owner)?.delete(id)
  }
  clear(owner: string): void {
    this.owners.delete(owner)
  }
  search(owner: string, query: Embedder.Vector, limit: number, selection: Selection.Selection) {
    const accepts = Selection.predicate(selection) ?? (() => true)
    return this.alive(owner)
      .filter(accepts)
      .map(({ id, vector }) => ({ id, similarity: cosine(query, vector) }))
      .sort((a, b) => b.similarity - a.similarity || (a.id < b.id ? -1 : 1))
      .slice(0, limit)
  }
}

describe("makeMemory", () => {
  it.effect("agrees with a naive scan after any operations", () =>
    Effect.promise(() =>
      FastCheck.assert(
        FastCheck.asyncProperty(FastCheck.array(operation, { maxLength: 60 }), (operations) => {
          const clock = SetClock.make()
          return Effect.runPromise(
            Effect.gen(function* () {
              const index = yield* VectorIndex.makeMemory({ model: "m", dimensions })
              const model = new Model()
              for (const op of operations) {
                switch (op._tag) {
                  case "upsert": {
                    yield* index.upsert(op.owner, op.items)
                    model.upsert(op.owner, op.items)
                    break
                  }
                  case "delete": {
                    yield* index.delete(op.owner, op.ids)
                    model.delete(op.owner, op.ids)
                    break
                  }
                  case "clear": {
                    yield* index.clear(op.owner)
                    model.clear(op.owner)
                    break
                  }
                  case "pass": {
                    model.now += op.millis
                    clock.set(model.now)
                    break
                  }
                  case "search": {
                    const selection = op.kind === undefined ? {} : { filters: { kind: op.kind } }
                    const query = vectorOf(op.seed)
                    const hits = yield* index.search(op.owner, query, { limit: op.limit, selection })
                    const expected = model.search(op.owner, query, op.limit, selection)
                    assert.strictEqual(hits.length, expected.length)
                    for (const [i, hit] of hits.entries()) {
                      assert.closeTo(hit.similarity, expected[i]!.similarity, 1e-5)
                      // Two ways to add up may put similar ones differently.
                      if (expected.filter((e) => Math.abs(e.similarity - hit.similarity) < 1e-5).length === 1) {
                        assert.strictEqual(hit.id, expected[i]!.id)
                      }
                    }
                    break
                  }
                }
                const alive = model.alive("ann").map(({ id }) => id)
                assert.deepStrictEqual(
                  Array.from(yield* index.known("ann", [...alive, EntryId.make("never")])).sort(),
                  alive.sort()
                )
                assert.strictEqual(yield* index.count("bob"), model.alive("bob").length)
              }
            }).pipe(Effect.withClock(clock.clock))
          )
        }),
        { numRuns: 150 }
      )
    )
  )

  it.effect("rejects vectors of another length and non-finite numbers, and stores nothing of the call", () =>
    Effect.gen(function* () {
      const index = yield* VectorIndex.makeMemory({ model: "m", dimensions, name: "mine" })
      const short = yield* Effect.flip(
        index.upsert("ann", [item("a", 1), item("b", 2, { vector: new Float32Array(3) })])
      )
      assert.strictEqual(short._tag, "MemoryStoreError")
      assert.strictEqual(short._tag === "MemoryStoreError" ? short.store : "", "mine")
      assert.strictEqual(short.message, "A vector of length 3 does not fit an index of vectors of length 7")
      const broken = new Float32Array(dimensions).fill(Number.NaN)
      const notFinite = yield* Effect.flip(index.upsert("ann", [item("a", 1), item("b", 2, { vector: broken })]))
      assert.strictEqual(notFinite._tag, "MemoryStoreError")
      assert.strictEqual((yield* Effect.flip(index.search("ann", broken, { limit: 1 })))._tag, "MemoryStoreError")
      const asked = yield* Effect.flip(index.search("ann", new Float32Array(8), { limit: 1 }))
      assert.include(asked.message, "length 8")
      assert.strictEqual(yield* index.count("ann"), 0)
    })
  )

  it.effect("returns cosines within -1 and 1 for vectors of any length", () =>
    Effect.gen(function* () {
      const index = yield* VectorIndex.makeMemory({ model: "m", dimensions })
      const long = Float32Array.from(vectorOf(3), (x) => 1000 * x)
      const opposite = Float32Array.from(vectorOf(3), (x) => -0.001 * x)
      yield* index.upsert("ann", [
        item("long", 0, { vector: long }),
        item("opposite", 0, { vector: opposite }),
        item("zero", 0, { vector: new Float32Array(dimensions) })
      ])
      const hits = yield* index.search(
        "ann",
        Float32Array.from(vectorOf(3), (x) => 7 * x),
        { limit: 3 }
      )
      assert.deepStrictEqual(
        hits.map(({ id }) => id as string),
        ["long", "zero", "opposite"]
      )
      assert.closeTo(hits[0]!.similarity, 1, 1e-6)
      assert.strictEqual(hits[1]!.similarity, 0)
      assert.closeTo(hits[2]!.similarity, -1, 1e-6)
      for (const { similarity } of hits) assert.isTrue(Math.abs(similarity) <= 1)
    })
  )

  it.effect("stores copies of vectors", () =>
    Effect.gen(function* () {
      const index = yield* VectorIndex.makeMemory({ model: "m", dimensions })
      const vector = Float32Array.from(vectorOf(1))
      yield* index.upsert("ann", [item("a", 0, { vector })])
      vector.fill(0)
      const [hit] = yield* index.search("ann", vectorOf(1), { limit: 1 })
      assert.closeTo(hit!.similarity, 1, 1e-6)
    })
  )

  it.effect("finds nothing for an empty limit, and everything for one beyond the size", () =>
    Effect.gen(function* () {
      const index = yield* VectorIndex.makeMemory({ model: "m", dimensions })
      yield* index.upsert("ann", [item("a", 1), item("b", 2)])
      for (const limit of [0, -1, Number.NaN, 0.5]) {
        assert.deepStrictEqual(yield* index.search("ann", vectorOf(1), { limit }), [])
      }
      assert.lengthOf(yield* index.search("ann", vectorOf(1), { limit: Number.POSITIVE_INFINITY }), 2)
    })
  )

  it.effect("removes expired vectors, even those of unused owners", () => {
    const clock = SetClock.make()
    return Effect.gen(function* () {
      const index = yield* VectorIndex.makeMemory({ model: "m", dimensions })
      const many = Array.from({ length: 50 }, (_, i) => item(`e${i}`, i, { expiresAt: 10 }))
      for (let n = 0; n < 40; n++) yield* index.upsert(`owner ${n}`, many)
      clock.set(10)
      for (let n = 0; n < 3000; n++) yield* index.upsert("new", [item(`n${n}`, n)])
      // Back in time nothing is expired: what is there was kept.
      clock.set(0)
      for (let n = 0; n < 40; n++) assert.strictEqual(yield* index.count(`owner ${n}`), 0)
      assert.strictEqual(yield* index.count("new"), 3000)
    }).pipe(Effect.withClock(clock.clock))
  })
})

describe("layerMemory", () => {
  it.effect("takes model and dimensions from the embedder", () =>
    Effect.gen(function* () {
      const index = yield* VectorIndex.VectorIndex
      assert.deepInclude(index, { name: "in_memory", model: "hashing-v1-64", dimensions: 64 })
      const vector = yield* Embedder.embed("dark chocolate")
      yield* index.upsert("ann", [item("a", 0, { vector })])
      const [hit] = yield* index.search("ann", yield* Embedder.embed("chocolate, dark"), { limit: 1 })
      assert.strictEqual(hit!.id, "a")
    }).pipe(Effect.provide(Layer.provideMerge(VectorIndex.layerMemory(), HashingEmbedder.layer({ dimensions: 64 }))))
  )
})

describe("layerCheck", () => {
  const build = (model: string, dimensions: number) =>
    Effect.void.pipe(
      Effect.provide(
        VectorIndex.layerCheck.pipe(
          Layer.provide(
            Layer.merge(
              HashingEmbedder.layer({ dimensions: 64 }),
              Layer.effect(VectorIndex.VectorIndex, VectorIndex.makeMemory({ model, dimensions }))
            )
          )
        )
      )
    )

  it.effect("builds when embedder and index agree", () => build("hashing-v1-64", 64))

  it.effect("names both when model or dimensions differ", () =>
    Effect.gen(function* () {
      const model = yield* Effect.flip(build("other", 64))
      assert.strictEqual(model._tag, "MemorySystemError")
      assert.include(model.message, "other (length 64)")
      assert.include(model.message, "hashing-v1-64 (length 64)")
      const length = yield* Effect.flip(build("hashing-v1-64", 32))
      assert.include(length.message, "(length 32)")
    })
  )
})
