/**
 * Cases: the results of a search and their order.
 *
 * @since 0.1.0
 * @private
 */
import * as Effect from "effect/Effect"
import { SessionId } from "../../domain/Ids.js"
import type { Vector } from "../../llm/embedding/Embedder.js"
import { normalize } from "../../llm/embedding/Embedder.js"
import type { Selection } from "../../memory/entry/Selection.js"
import { predicate } from "../../memory/entry/Selection.js"
import type * as VectorIndex from "../../memory/search/VectorIndex.js"
import { equal, failure, holds } from "../suite/SuiteAssert.js"
import { at, type Case, epoch, found, idsOf, item, make, tolerance } from "./VectorIndexCase.js"

const session = (id: string): SessionId => SessionId.make(id)

const selected: ReadonlyArray<readonly [string, Selection]> = [
  ["everything", {}],
  ["a value of the metadata", { filters: { kind: "fact" } }],
  ["several values", { filters: { kind: { in: ["fact", "turn"] } } }],
  ["a value that is not there", { filters: { kind: null } }],
  ["a range", { filters: { rank: { gte: 2, lt: 5 } } }],
  ["one of a list", { filters: { tags: "red" } }],
  ["two conditions", { filters: { kind: "turn", tags: "red" } }],
  ["a key that every object has", { filters: { constructor: null } }],
  ["a key with a dot", { filters: { "a.b": true } }],
  ["a time", { timeRange: { start: epoch - 3, end: epoch - 1 } }],
  ["roles", { roles: ["user", "tool"] }],
  ["no role at all", { roles: [] }],
  ["sessions", { sessionIds: [session("one")] }],
  [
    "the lineage of a branch",
    { lineage: [{ sessionId: session("one"), until: epoch - 2 }, { sessionId: session("two") }] }
  ],
  [
    "the lineage of a branch, with what was left behind",
    {
      lineage: [
        { sessionId: session("one"), until: epoch - 4 },
        { sessionId: session("one"), from: epoch - 2 },
        { sessionId: session("two") }
      ]
    }
  ],
  ["the lineage of a branch in its tree", { lineage: [{ sessionId: session("two") }], tree: session("one") }],
  ["the lineage of a branch in a tree that entries name", { lineage: [], tree: session("a tree") }],
  ["all of it", { filters: { kind: "fact" }, roles: ["user"], timeRange: { start: 0, end: epoch } }]
]

const roles = ["user", "assistant", "tool", "system"] as const
const kinds = ["fact", "turn", undefined] as const

const varied = (index: VectorIndex.Service): ReadonlyArray<VectorIndex.VectorItem> =>
  Array.from({ length: 24 }, (_, n) => {
    const kind = kinds[n % 3]
    return item(index, `e${String(n).padStart(2, "0")}`, n * 3, {
      timestamp: epoch - (n % 6),
      role: roles[n % 4] as (typeof roles)[number],
      metadata: {
        ...(kind === undefined ? {} : { kind }),
        rank: n % 7,
        ...(n % 4 === 1 ? { timeRange: { start: epoch - 3 } } : {}),
        ...(n % 4 === 3 && n % 3 === 0 ? { sessionTree: "a tree" } : {}),
        tags: n % 5 === 0 ? ["red", "blue"] : ["blue"],
        "a.b": n % 2 === 0,
        a: { b: true }
      },
      sessionId: [undefined, "one", "two", "three"][n % 4]
    })
  })

/** Reproducible pseudorandom numbers. */
const scattered = (index: VectorIndex.Service, seed: number): Vector => {
  let state = seed * 2_654_435_761 + 1
  const row = Array.from({ length: index.dimensions }, () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) | 0
    return state / 2 ** 31
  })
  return normalize(row) as Vector
}

const cosine = (a: Vector, b: Vector): number => a.reduce((sum, x, i) => sum + x * (b[i] as number), 0)

/**
 * @since 0.1.0
 * @category constants
 */
export const cases: ReadonlyArray<Case> = [
  make("returns the nearest first, with the cosine as similarity", function* (index) {
    const degrees = [80, 5, 170, 45, 0, 120, 30, 90]
    yield* index.upsert(
      "ann",
      degrees.map((degree) => item(index, `d${degree}`, degree))
    )
    const sorted = [...degrees].sort((a, b) => a - b)
    const hits = yield* index.search("ann", at(index, 0), { limit: 100 })
    equal(
      idsOf(hits),
      sorted.map((degree) => `d${degree}`),
      "the order"
    )
    for (const [n, { similarity }] of hits.entries()) {
      const expected = Math.cos(((sorted[n] as number) * Math.PI) / 180)
      holds(Math.abs(similarity - expected) <= tolerance, `the cosine of ${sorted[n]} degrees`, similarity)
      holds(similarity >= -1 && similarity <= 1, "a cosine is between -1 and 1", similarity)
    }
  }),

  make("returns as many as requested, and the nearest ones", function* (index) {
    yield* index.upsert(
      "ann",
      Array.from({ length: 40 }, (_, n) => item(index, `e${n}`, (n * 37) % 160))
    )
    const all = idsOf(yield* index.search("ann", at(index, 0), { limit: 40 }))
    equal(all.length, 40, "all of them")
    for (const limit of [0, 1, 2, 7, 39, 41, 100_000]) {
      const hits = yield* index.search("ann", at(index, 0), { limit })
      equal(idsOf(hits), all.slice(0, limit), `the nearest ${limit}`)
    }
  }),

  make("orders equally near items by id, by code unit", function* (index) {
    const names = ["b", "a", "B", "é", "10", "9", "a ", "\u{1f600}", "\uffee"]
    yield* index.upsert(
      "ann",
      names.map((name) => item(index, name, 45))
    )
    const sorted = [...names].sort()
    equal(yield* found(index, "ann"), sorted, "the order")
    const hits = yield* index.search("ann", at(index, 45), { limit: 4 })
    equal(idsOf(hits), sorted.slice(0, 4), "the first of them")
  }),

  make("a zero vector has similarity 0 to everything", function* (index) {
    const zero = new Float32Array(index.dimensions)
    yield* index.upsert("ann", [
      item(index, "zero", 0, { vector: zero }),
      item(index, "near", 10),
      item(index, "far", 170)
    ])
    const hits = yield* index.search("ann", at(index, 0), { limit: 10 })
    equal(idsOf(hits), ["near", "zero", "far"], "the order")
    equal(hits[1]?.similarity, 0, "the similarity of the zero vector")
    const all = yield* index.search("ann", zero, { limit: 10 })
    equal(idsOf(all), ["far", "near", "zero"], "what a zero vector finds")
    for (const { similarity } of all) equal(similarity, 0, "the similarity to a zero vector")
  }),

  make("rejects a search with a vector of another length", function* (index) {
    yield* index.upsert("ann", [item(index, "a", 10)])
    for (const dimensions of [0, index.dimensions - 1, index.dimensions + 1]) {
      for (const owner of ["ann", "nobody"]) {
        const search = index.search(owner, new Float32Array(dimensions).fill(0.5), { limit: 1 })
        const error = yield* failure(search, `a search of ${owner} with length ${dimensions}`)
        equal(error._tag, "MemoryStoreError", `the refusal of length ${dimensions}`)
      }
    }
  }),

  ...selected.map(([name, selection]) =>
    make(`a search finds among what is selected only: ${name}`, function* (index) {
      const items = varied(index)
      yield* index.upsert("ann", items)
      const accepts = predicate(selection) ?? (() => true)
      const expected = items.filter(accepts).map(({ id }) => id)
      equal(yield* found(index, "ann", selection), expected, "what is found")
      const few = yield* index.search("ann", at(index, 0), { limit: 3, selection })
      equal(idsOf(few), expected.slice(0, 3), "the nearest three, of what is selected")
    })
  ),

  make("agrees with an exhaustive comparison of many vectors", function* (index) {
    const items = Array.from({ length: 200 }, (_, n) =>
      item(index, `e${String(n).padStart(3, "0")}`, 0, {
        vector: scattered(index, n + 1),
        metadata: { even: n % 2 === 0 }
      })
    )
    yield* Effect.forEach([0, 50, 100, 150], (from) => index.upsert("ann", items.slice(from, from + 50)))
    for (const seed of [1001, 1002, 1003]) {
      const query = scattered(index, seed)
      for (const selection of [undefined, { filters: { even: true } }]) {
        const hits = yield* index.search("ann", query, { limit: 10, selection })
        const best = items
          .filter(({ metadata }) => selection === undefined || metadata["even"] === true)
          .map(({ id, vector }) => ({ id, similarity: cosine(query, vector) }))
          .sort((a, b) => b.similarity - a.similarity)
        equal(hits.length, 10, "as many as asked for")
        for (const [n, { id, similarity }] of hits.entries()) {
          const own = best.find((one) => one.id === id)?.similarity ?? Number.NaN
          holds(Math.abs(similarity - own) <= tolerance, `the similarity of ${id}`, { similarity, expected: own })
          const other = best[n]!.similarity
          holds(Math.abs(own - other) <= tolerance, `place ${n}`, { similarity: own, expected: other })
        }
      }
    }
  })
]
