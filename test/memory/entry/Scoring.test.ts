import { assert, describe, it } from "@effect/vitest"
import * as Duration from "effect/Duration"
import * as Either from "effect/Either"
import * as FastCheck from "effect/FastCheck"
import * as Schema from "effect/Schema"
import { queryDefaults } from "../../../src/memory/entry/MemoryEntry.js"
import * as Scoring from "../../../src/memory/entry/Scoring.js"

const day = 86_400_000
const halfLife = Duration.toMillis(Scoring.halfLife)

const unit = FastCheck.double({ min: 0, max: 1, noNaN: true })
const weight = FastCheck.double({ min: 0, max: 1e6, noNaN: true })
const weights = FastCheck.record({ recency: weight, importance: weight, relevance: weight }).filter(
  ({ importance, recency, relevance }) => Math.max(recency, importance, relevance) > 1e-6
)
const parts = FastCheck.record({ recency: unit, importance: unit, relevance: unit })

const normalised = (given: Scoring.Weights): Scoring.Weights => Either.getOrThrow(Scoring.normalise(given))

const check = <Ts extends [unknown, ...Array<unknown>]>(property: FastCheck.IProperty<Ts>): void =>
  FastCheck.assert(property, { numRuns: 300 })

describe("Scoring.normalise", () => {
  it("scales the weights of a query to a sum of 1 and keeps their ratio", () => {
    const { importance, recency, relevance } = normalised({
      recency: queryDefaults.recencyWeight * 5,
      importance: queryDefaults.importanceWeight * 5,
      relevance: queryDefaults.relevanceWeight * 5
    })
    assert.closeTo(recency, 0.3, 1e-12)
    assert.closeTo(importance, 0.3, 1e-12)
    assert.closeTo(relevance, 0.4, 1e-12)
  })

  it.each([
    [{ recency: 0, importance: 0, relevance: 0 }],
    [{ recency: -0.1, importance: 0.5, relevance: 0.5 }],
    [{ recency: Number.NaN, importance: 0.5, relevance: 0.5 }],
    [{ recency: Number.POSITIVE_INFINITY, importance: 0.5, relevance: 0.5 }]
  ])("fails with a MemorySystemError for weights that order nothing: %o", (given) => {
    const error = Either.getOrThrow(Either.flip(Scoring.normalise(given)))
    assert.strictEqual(error._tag, "MemorySystemError")
    assert.strictEqual(error.code, "LEX_ERR_MEM_005")
  })

  it("rejects what the schema rejects, and weights that are all 0", () => {
    const isWeights = Schema.is(Scoring.Weights)
    assert.isTrue(isWeights({ recency: 0, importance: 0, relevance: 3 }))
    assert.isFalse(isWeights({ recency: -1, importance: 0, relevance: 3 }))
    assert.isFalse(isWeights({ recency: Number.NaN, importance: 0, relevance: 3 }))
    assert.isFalse(isWeights({ recency: 1, importance: Number.POSITIVE_INFINITY, relevance: 3 }))
  })

  it("keeps the ratio of tiny and huge weights", () => {
    for (const scale of [Number.MIN_VALUE * 4, 1e-300, 1e300, Number.MAX_VALUE / 4]) {
      const { importance, recency, relevance } = normalised({ recency: scale, importance: 0, relevance: scale })
      assert.deepStrictEqual([recency, importance, relevance], [0.5, 0, 0.5])
    }
  })

  it("depends only on the ratio of the weights", () => {
    check(
      FastCheck.property(weights, FastCheck.double({ min: 1e-3, max: 1e3, noNaN: true }), (given, scale) => {
        const one = normalised(given)
        const scaled = normalised({
          recency: given.recency * scale,
          importance: given.importance * scale,
          relevance: given.relevance * scale
        })
        assert.closeTo(one.recency + one.importance + one.relevance, 1, 1e-9)
        for (const key of ["recency", "importance", "relevance"] as const) {
          assert.closeTo(scaled[key], one[key], 1e-9)
        }
      })
    )
  })
})

describe("Scoring.recency", () => {
  it("is 1 now, a half after the half-life and a quarter after two", () => {
    assert.strictEqual(Scoring.recency(1000, 1000, halfLife), 1)
    assert.closeTo(Scoring.recency(0, 30 * day, halfLife), 0.5, 1e-12)
    assert.closeTo(Scoring.recency(0, 60 * day, halfLife), 0.25, 1e-12)
    assert.closeTo(Scoring.recency(0, day, day), 0.5, 1e-12)
  })

  it("counts the future as now", () => {
    assert.strictEqual(Scoring.recency(10 * day, 0, halfLife), 1)
  })

  it("never decays for an infinite half-life, and at once for 0", () => {
    assert.strictEqual(Scoring.recency(0, 1000 * day, Number.POSITIVE_INFINITY), 1)
    assert.strictEqual(Scoring.recency(0, 1, 0), 0)
    assert.strictEqual(Scoring.recency(5, 5, 0), 1)
  })

  it("is 0 to 1 and never rises with age", () => {
    const time = FastCheck.double({ min: -1e15, max: 1e15, noNaN: true })
    check(
      FastCheck.property(time, time, time, FastCheck.double({ min: 0, max: 1e12, noNaN: true }), (a, b, now, half) => {
        const older = Scoring.recency(Math.min(a, b), now, half)
        const younger = Scoring.recency(Math.max(a, b), now, half)
        assert.isAtLeast(older, 0)
        assert.isAtMost(younger, 1)
        assert.isAtLeast(younger, older)
      })
    )
  })
})

describe("Scoring.score", () => {
  it("is the weighted sum of its parts", () => {
    const weights = normalised({ recency: 0.3, importance: 0.3, relevance: 0.4 })
    assert.closeTo(Scoring.score({ recency: 1, importance: 0.5, relevance: 0.25 }, weights), 0.3 + 0.15 + 0.1, 1e-12)
  })

  it("is 0 to 1, and never falls when a part rises", () => {
    check(
      FastCheck.property(
        weights,
        parts,
        FastCheck.constantFrom("recency" as const, "importance" as const, "relevance" as const),
        unit,
        (w, p, key, more) => {
          const own = normalised(w)
          const before = Scoring.score(p, own)
          const after = Scoring.score({ ...p, [key]: Math.max(p[key], more) }, own)
          assert.isAtLeast(before, 0)
          assert.isAtMost(after, 1)
          assert.isAtLeast(after, before)
        }
      )
    )
    const all = normalised({ recency: 0.3, importance: 0.3, relevance: 0.4 })
    assert.isAtMost(Scoring.score({ recency: 1, importance: 1, relevance: 1 }, all), 1)
  })
})

describe("Scoring.fuse", () => {
  it("gives an item 1 / (60 + rank) for each ranking that contains it", () => {
    const fused = Scoring.fuse([
      ["a", "b"],
      ["b", "c"]
    ])
    assert.closeTo(fused.get("a") ?? 0, 1 / 61, 1e-15)
    assert.closeTo(fused.get("b") ?? 0, 1 / 62 + 1 / 61, 1e-15)
    assert.closeTo(fused.get("c") ?? 0, 1 / 62, 1e-15)
  })

  it("uses the given constant and weights of rankings", () => {
    const fused = Scoring.fuse([["a"], ["b"]], { k: 1, weights: [1, 3] })
    assert.closeTo(fused.get("a") ?? 0, 1 / 2, 1e-15)
    assert.closeTo(fused.get("b") ?? 0, 3 / 2, 1e-15)
  })

  it("counts an item that occurs twice in a ranking at its first place", () => {
    assert.deepStrictEqual(Scoring.fuse([["a", "b", "a"]]), Scoring.fuse([["a", "b"]]))
  })

  const ranking = FastCheck.uniqueArray(FastCheck.integer({ min: 0, max: 30 }), { maxLength: 20 })
  it("ignores the order of the rankings, and keeps the order of a single one", () => {
    check(
      FastCheck.property(FastCheck.array(ranking, { maxLength: 4 }), (rankings) => {
        const forth = Scoring.fuse(rankings)
        const back = Scoring.fuse([...rankings].reverse())
        assert.strictEqual(forth.size, new Set(rankings.flat()).size)
        for (const [item, fused] of forth) {
          assert.isAbove(fused, 0)
          assert.isAtMost(fused, rankings.length / 61 + 1e-12)
          assert.closeTo(back.get(item) ?? 0, fused, 1e-12)
        }
      })
    )
    check(
      FastCheck.property(ranking, (items) => {
        const fused = Array.from(Scoring.fuse([items])).sort(([, a], [, b]) => b - a)
        assert.deepStrictEqual(
          fused.map(([item]) => item),
          items
        )
      })
    )
  })

  it("keeps the order of two items that all rankings agree on", () => {
    check(
      FastCheck.property(ranking, ranking, (a, b) => {
        const fused = Scoring.fuse([
          ["first", ...a.map(String), "last"],
          ["first", ...b.map(String), "last"]
        ])
        const values = Array.from(fused.values())
        assert.strictEqual(fused.get("first"), Math.max(...values))
        assert.isAbove(fused.get("first") ?? 0, fused.get("last") ?? 0)
      })
    )
  })
})

interface Item {
  readonly id: number
  readonly relevance: number
  readonly topic: number
}
const items = FastCheck.array(FastCheck.record({ relevance: unit, topic: FastCheck.integer({ min: 0, max: 3 }) }), {
  maxLength: 20
}).map((all) => all.map((one, id): Item => ({ id, ...one })).sort((a, b) => b.relevance - a.relevance))
const diversified = (all: ReadonlyArray<Item>, lambda: number): ReadonlyArray<Item> =>
  Array.from(
    Scoring.diversify(all, {
      lambda,
      relevance: ({ relevance }) => relevance,
      similarity: (a, b) => (a.topic === b.topic ? 1 : 0)
    })
  )

describe("Scoring.diversify", () => {
  it("orders by relevance with lambda 1", () => {
    check(FastCheck.property(items, (all) => assert.deepStrictEqual(diversified(all, 1), all)))
  })

  it("takes one item of every topic before a second one with lambda 0, the most relevant first", () => {
    check(
      FastCheck.property(items, (all) => {
        const out = diversified(all, 0)
        const topics = new Set(all.map(({ topic }) => topic)).size
        assert.deepStrictEqual(out[0], all[0])
        assert.strictEqual(new Set(out.slice(0, topics).map(({ topic }) => topic)).size, topics)
      })
    )
  })

  it("returns each item once, and the same first items however many are taken", () => {
    check(
      FastCheck.property(items, unit, (all, lambda) => {
        const out = diversified(all, lambda)
        assert.deepStrictEqual(
          out.map(({ id }) => id).sort((a, b) => a - b),
          all.map(({ id }) => id).sort((a, b) => a - b)
        )
        const [first] = Scoring.diversify(all, { lambda, relevance: ({ relevance }) => relevance, similarity: () => 0 })
        assert.deepStrictEqual(first, all[0])
      })
    )
  })

  it("prefers a less relevant item of another topic to a similar one, if it is relevant enough", () => {
    const all: ReadonlyArray<Item> = [
      { id: 0, relevance: 1, topic: 0 },
      { id: 1, relevance: 0.9, topic: 0 },
      { id: 2, relevance: 0.4, topic: 1 }
    ]
    assert.deepStrictEqual(
      diversified(all, 0.5).map(({ id }) => id),
      [0, 2, 1]
    )
    assert.deepStrictEqual(
      diversified(all, 0.9).map(({ id }) => id),
      [0, 1, 2]
    )
  })
})
