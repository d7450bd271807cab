import { assert, describe, it } from "@effect/vitest"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import type { EntryId } from "../../../src/domain/Ids.js"
import type { Vector } from "../../../src/llm/embedding/Embedder.js"
import * as VectorIndex from "../../../src/memory/search/VectorIndex.js"
import * as VectorIndexSuite from "../../../src/testing/vector/VectorIndexSuite.js"

type Service = VectorIndex.Service
type Item = VectorIndex.VectorItem

const layer = (dimensions: number, change: (index: Service) => Service = (index) => index) =>
  Layer.effect(VectorIndex.VectorIndex, Effect.map(VectorIndex.makeMemory({ model: "m", dimensions }), change))

// Lengths that are a multiple of four, and that are not.
for (const dimensions of [4, 7, 64]) {
  describe(`makeMemory as a VectorIndex, ${dimensions} dimensions`, () => {
    for (const one of VectorIndexSuite.cases)
      it(one.name, () => Effect.runPromise(VectorIndexSuite.check(one, layer(dimensions))))
  })
}

/** What an index does to be wrong, and the cases that must tell. */
const broken: Record<string, { readonly change: (index: Service) => Service; readonly tells: ReadonlyArray<string> }> =
  {
    "ignores the owner": {
      change: (index) => ({
        ...index,
        upsert: (_, items) => index.upsert("all", items),
        search: (_, vector, options) => index.search("all", vector, options),
        delete: (_, ids) => index.delete("all", ids),
        clear: () => index.clear("all"),
        count: () => index.count("all"),
        known: (_, ids) => index.known("all", ids)
      }),
      tells: [
        "no call sees or changes anything of another owner",
        "clear removes everything of the owner and nothing of others"
      ]
    },
    "takes owners that look alike for one": {
      change: (index) => {
        const folded = (owner: string) => owner.trim().toLowerCase()
        return {
          ...index,
          upsert: (owner, items) => index.upsert(folded(owner), items),
          search: (owner, vector, options) => index.search(folded(owner), vector, options),
          delete: (owner, ids) => index.delete(folded(owner), ids),
          clear: (owner) => index.clear(folded(owner)),
          count: (owner) => index.count(folded(owner)),
          known: (owner, ids) => index.known(folded(owner), ids)
        }
      },
      tells: ["no call sees or changes anything of another owner"]
    },
    "ignores the selection": {
      change: (index) => ({ ...index, search: (owner, vector, { limit }) => index.search(owner, vector, { limit }) }),
      tells: [
        "a search finds among what is selected only: roles",
        "a search finds among what is selected only: a range",
        "agrees with an exhaustive comparison of many vectors"
      ]
    },
    "selects after it took the nearest": {
      change: (index) => ({
        ...index,
        search: (owner, vector, options) =>
          Effect.gen(function* () {
            const nearest = yield* index.search(owner, vector, { limit: options.limit })
            const all = yield* index.search(owner, vector, { limit: 1e6, selection: options.selection })
            return all.filter((hit) => nearest.some(({ id }) => id === hit.id))
          })
      }),
      tells: [
        "a search finds among what is selected only: a value of the metadata",
        "agrees with an exhaustive comparison of many vectors"
      ]
    },
    "gives the farthest first": {
      change: (index) => ({
        ...index,
        search: (owner, vector, options) =>
          Effect.map(index.search(owner, vector, options), (hits) => [...hits].reverse())
      }),
      tells: [
        "returns the nearest first, with the cosine as similarity",
        "returns as many as requested, and the nearest ones"
      ]
    },
    "orders equals as they came": {
      change: (index) => {
        const places = new Map<EntryId, number>()
        return {
          ...index,
          upsert: (owner, items) => {
            for (const { id } of items) places.set(id, places.get(id) ?? places.size)
            return index.upsert(owner, items)
          },
          search: (owner, vector, options) =>
            Effect.map(index.search(owner, vector, { ...options, limit: 1e6 }), (hits) =>
              [...hits]
                .sort((a, b) => b.similarity - a.similarity || places.get(a.id)! - places.get(b.id)!)
                .slice(0, options.limit)
            )
        }
      },
      tells: ["orders equally near items by id, by code unit"]
    },
    "forgets to delete": {
      change: (index) => ({ ...index, delete: () => Effect.void }),
      tells: ["deletes items and keeps the rest"]
    },
    "clears everybody": {
      change: (index) => {
        const owners = new Set<string>()
        return {
          ...index,
          upsert: (owner, items) => {
            owners.add(owner)
            return index.upsert(owner, items)
          },
          clear: () => Effect.forEach(owners, index.clear, { discard: true })
        }
      },
      tells: [
        "clear removes everything of the owner and nothing of others",
        "no call sees or changes anything of another owner"
      ]
    },
    "takes vectors of any length": {
      change: (index) => {
        const fitted = (vector: Vector): Vector => {
          const fit = new Float32Array(index.dimensions)
          fit.set(vector.subarray(0, index.dimensions))
          return fit
        }
        return {
          ...index,
          upsert: (owner, items) =>
            index.upsert(
              owner,
              items.map((item) => ({ ...item, vector: fitted(item.vector) }))
            ),
          search: (owner, vector, options) => index.search(owner, fitted(vector), options)
        }
      },
      tells: [
        "rejects a vector of another length and stores nothing of the call",
        "rejects a search with a vector of another length"
      ]
    },
    "stores what came before the refused one": {
      change: (index) => ({
        ...index,
        upsert: (owner, items) => Effect.forEach(items, (item) => index.upsert(owner, [item]), { discard: true })
      }),
      tells: [
        "rejects a vector of another length and stores nothing of the call",
        "a vector with something that is no finite number is refused"
      ]
    },
    "never expires anything": {
      change: (index) => ({
        ...index,
        upsert: (owner, items) =>
          index.upsert(
            owner,
            items.map(({ expiresAt: _, ...item }): Item => item)
          )
      }),
      tells: ["expired items are invisible"]
    },
    "keeps the old item beside the new vector": {
      change: (index) => {
        const old = new Map<string, Item>()
        return {
          ...index,
          upsert: (owner, items) =>
            index.upsert(
              owner,
              items.map((item) => {
                const first = old.get(owner + item.id) ?? item
                old.set(owner + item.id, first)
                return { ...first, vector: item.vector }
              })
            )
        }
      },
      tells: ["replaces an existing id with its vector and selectable fields"]
    },
    "gives similarities between 0 and 1": {
      change: (index) => ({
        ...index,
        search: (owner, vector, options) =>
          Effect.map(index.search(owner, vector, options), (hits) =>
            hits.map(({ id, similarity }) => ({ id, similarity: (1 + similarity) / 2 }))
          )
      }),
      tells: ["returns the nearest first, with the cosine as similarity"]
    },
    "knows every id": {
      change: (index) => ({ ...index, known: (_, ids) => Effect.succeed(new Set(ids)) }),
      tells: ["finds a stored item in the next call", "deletes items and keeps the rest"]
    },
    "counts what it ever got": {
      change: (index) => {
        const counts = new Map<string, number>()
        return {
          ...index,
          upsert: (owner, items) => {
            counts.set(owner, (counts.get(owner) ?? 0) + items.length)
            return index.upsert(owner, items)
          },
          count: (owner) => Effect.succeed(counts.get(owner) ?? 0)
        }
      },
      tells: ["deletes items and keeps the rest", "the last of two items with one id wins"]
    }
  }

describe("faulty indexes", () => {
  it("names every case once, and every fault names an existing case", () => {
    const names = VectorIndexSuite.cases.map(({ name }) => name)
    assert.strictEqual(new Set(names).size, names.length)
    for (const { tells } of Object.values(broken)) {
      for (const tell of tells)
        assert.isTrue(
          names.some((name) => name.startsWith(tell)),
          tell
        )
    }
  })

  it.effect("names the failed cases with their reasons", () =>
    Effect.gen(function* () {
      const outcomes = yield* VectorIndexSuite.run(layer(8, broken["gives the farthest first"]!.change))
      assert.deepStrictEqual(
        outcomes.map(({ name }) => name),
        VectorIndexSuite.cases.map(({ name }) => name)
      )
      const nearest = outcomes.find(({ name }) =>
        name.startsWith("returns the nearest first, with the cosine as similarity")
      )
      assert.include(Cause.pretty(nearest!.failure!), "the order: expected")
      assert.isTrue(outcomes.some(({ failure }) => failure === undefined))
    })
  )

  for (const [name, { change, tells }] of Object.entries(broken)) {
    it.effect(`detects one that ${name}`, () =>
      Effect.gen(function* () {
        for (const tell of tells) {
          const one = VectorIndexSuite.cases.find((each) => each.name.startsWith(tell))!
          const exit = yield* Effect.exit(VectorIndexSuite.check(one, layer(8, change)))
          assert.isTrue(Exit.isFailure(exit), tell)
        }
      })
    )
  }
})
