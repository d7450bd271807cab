import { assert, describe, it } from "@effect/vitest"
import * as FastCheck from "effect/FastCheck"
import { type Indexed, LexicalIndex, scratch } from "../../../src/memory/text/LexicalIndex.js"

interface Doc extends Indexed {
  readonly id: number
  readonly terms: ReadonlyArray<string>
}

const make = (room = scratch()) => new LexicalIndex<Doc>(room, (a, b) => b.id - a.id)

const doc = (id: number, text: string): Doc => ({ id, terms: text === "" ? [] : text.split(" "), slot: -1 })

/** BM25 as it is written down, over all documents. */
const naive = (docs: ReadonlyArray<Doc>, query: ReadonlyArray<string>) => {
  const average = Math.max(1, docs.reduce((sum, { terms }) => sum + terms.length, 0) / Math.max(1, docs.length))
  const different = [...new Set(query)]
  const idf = (term: string) => {
    const holders = docs.filter(({ terms }) => terms.includes(term)).length
    return Math.log(1 + (docs.length - holders + 0.5) / (holders + 0.5))
  }
  const scored = docs
    .filter(({ terms }) => different.some((term) => terms.includes(term)))
    .map((item) => ({
      item,
      score: different.reduce((sum, term) => {
        const frequency = item.terms.filter((one) => one === term).length
        return sum + (idf(term) * frequency * 2.2) / (frequency + 1.2 * (0.25 + (0.75 * item.terms.length) / average))
      }, 0)
    }))
  return { scored, ceiling: different.reduce((sum, term) => sum + idf(term) * 2.2, 0) }
}

const ids = (hits: ReadonlyArray<{ readonly item: Doc }>) => hits.map(({ item }) => item.id)

describe("LexicalIndex", () => {
  it("agrees with BM25 over all documents after any additions, replacements and removals", () => {
    const term = FastCheck.constantFrom("a", "b", "c", "d", "e", "f", "__proto__", "constructor")
    const text = FastCheck.array(term, { maxLength: 12 })
    const step = FastCheck.oneof(
      {
        weight: 3,
        arbitrary: FastCheck.record({ what: FastCheck.constant("set" as const), id: FastCheck.nat(20), text })
      },
      {
        weight: 2,
        arbitrary: FastCheck.record({ what: FastCheck.constant("delete" as const), id: FastCheck.nat(20) })
      },
      {
        weight: 1,
        arbitrary: FastCheck.record({
          what: FastCheck.constant("search" as const),
          text: FastCheck.array(term, { maxLength: 4 }),
          limit: FastCheck.nat(8),
          odd: FastCheck.boolean()
        })
      },
      { weight: 1, arbitrary: FastCheck.constant({ what: "burst" as const }) }
    )
    FastCheck.assert(
      FastCheck.property(FastCheck.array(step, { minLength: 30, maxLength: 60 }), (steps) => {
        const index = make()
        const model = new Map<number, Doc>()
        const set = (id: number, terms: ReadonlyArray<string>) => {
          const before = model.get(id)
          if (before !== undefined) index.remove(before)
          const after = { id, terms, slot: -1 }
          index.add(after, terms)
          model.set(id, after)
        }
        const remove = (id: number) => {
          const item = model.get(id)
          if (item === undefined) return
          index.remove(item)
          model.delete(id)
        }
        for (const one of steps) {
          if (one.what === "set") set(one.id, one.text)
          else if (one.what === "delete") remove(one.id)
          else if (one.what === "burst") {
            // Enough for the lists to be swept.
            for (let id = 100; id < 200; id++) set(id, ["a", "x"])
            for (let id = 100; id < 200; id++) remove(id)
          } else {
            const { ceiling, scored } = naive([...model.values()], one.text)
            const wanted = (item: Doc) => !one.odd || item.id % 2 === 1
            const found = index.search(one.text, one.limit, one.odd ? wanted : undefined)
            assert.closeTo(found.ceiling, ceiling, 1e-9)
            const expected = scored
              .filter(({ item }) => wanted(item))
              .sort((a, b) => (Math.abs(a.score - b.score) < 1e-9 ? b.item.id - a.item.id : b.score - a.score))
            assert.strictEqual(found.hits.length, Math.min(one.limit, expected.length))
            for (const [at, { item, score }] of found.hits.entries()) {
              const other = expected[at]
              assert.closeTo(score, other?.score ?? Number.NaN, 1e-9)
              // Sums of the same parts in another order may differ in their last bits, and with them the order of equals.
              const own = expected.find((one) => one.item.id === item.id)
              assert.closeTo(score, own?.score ?? Number.NaN, 1e-9)
              assert.isAtMost(score / found.ceiling, 1)
              assert.isAbove(score, 0)
            }
          }
          assert.strictEqual(index.size, model.size)
        }
      }),
      { numRuns: 100 }
    )
  })

  it("gives words in every document a positive weight", () => {
    const index = make()
    for (let id = 0; id < 50; id++) index.add(doc(id, "common"), ["common"])
    const { hits } = index.search(["common"], 3)
    assert.deepStrictEqual(ids(hits), [49, 48, 47])
    assert.isAbove(hits[0]?.score ?? 0, 0)
  })

  it("includes words that no document has in the ceiling", () => {
    const index = make()
    index.add(doc(1, "lunch"), ["lunch"])
    const known = index.search(["lunch"], 1)
    const other = index.search(["lunch", "quantum"], 1)
    assert.strictEqual(known.hits[0]?.score, other.hits[0]?.score)
    assert.isAbove(other.ceiling, known.ceiling)
  })

  it("finds nothing and leaves no trace without words or room for results", () => {
    const index = make()
    index.add(doc(1, "a"), ["a"])
    assert.deepStrictEqual(index.search([], 5), { hits: [], ceiling: 0 })
    assert.deepStrictEqual(index.search(["a"], 0).hits, [])
    assert.deepStrictEqual(ids(index.search(["a"], 5).hits), [1])
  })

  it("shares only working memory between the indexes of a store", () => {
    const room = scratch()
    const one = make(room)
    const other = make(room)
    for (let id = 0; id < 20; id++) one.add(doc(id, "a b"), ["a", "b"])
    other.add(doc(100, "a"), ["a"])
    const alone = make()
    alone.add(doc(100, "a"), ["a"])
    one.search(["a", "b"], 3, () => false)
    assert.strictEqual(other.search(["a"], 3).hits[0]?.score, alone.search(["a"], 3).hits[0]?.score)
  })

  it("leaves no scores behind when the filter throws", () => {
    const index = make()
    for (let id = 0; id < 5; id++) index.add(doc(id, "a"), ["a"])
    const before = index.search(["a"], 5).hits.map(({ score }) => score)
    assert.throws(() =>
      index.search(["a"], 5, () => {
        throw new RangeError("broken")
      })
    )
    assert.deepStrictEqual(
      index.search(["a"], 5).hits.map(({ score }) => score),
      before
    )
  })

  it("finds words of any number of documents, before and after most are removed", () => {
    const index = make()
    const docs = Array.from({ length: 1_800 }, (_, id) =>
      doc(id, ["all", id % 2 === 0 ? "even even" : "odd", id % 100 === 0 ? "rare" : "", `only${id}`].join(" ").trim())
    )
    const agrees = (left: ReadonlyArray<Doc>) => {
      for (const query of [["all"], ["even", "rare"], ["odd", "all", "only7"], ["only1799"], ["nowhere"]]) {
        const { ceiling, scored } = naive(left, query)
        const found = index.search(query, left.length)
        const scores = new Map(scored.map(({ item, score }) => [item.id, score]))
        assert.closeTo(found.ceiling, ceiling, 1e-9)
        assert.strictEqual(found.hits.length, scores.size)
        const wrong = found.hits.filter(
          ({ item, score }) => !(Math.abs(score - (scores.get(item.id) ?? Number.NaN)) < 1e-9)
        )
        assert.deepStrictEqual(ids(wrong), [])
      }
    }
    for (const [at, item] of docs.entries()) {
      index.add(item, item.terms)
      // Around every length at which a list goes on elsewhere.
      if ([0, 1, 2, 3, 6, 7, 254, 255, 510, 511, 512, 767, 768].includes(at)) agrees(docs.slice(0, at + 1))
    }
    agrees(docs)
    for (const item of docs) if (item.id % 3 !== 0) index.remove(item)
    const left = docs.filter(({ id }) => id % 3 === 0)
    agrees(left)
    const later = Array.from({ length: 600 }, (_, at) => doc(5_000 + at, "all even"))
    for (const item of later) index.add(item, item.terms)
    agrees([...left, ...later])
  })

  it("removes an item once when removed twice", () => {
    const index = make()
    const item = doc(1, "a")
    index.add(item, item.terms)
    index.add(doc(2, "a"), ["a"])
    index.remove(item)
    index.remove(item)
    assert.strictEqual(index.size, 1)
    assert.deepStrictEqual(ids(index.search(["a"], 5).hits), [2])
  })

  it("compares each entry of equal score that is too old for the hits once", () => {
    let compared = 0
    const index = new LexicalIndex<Doc>(scratch(), (a, b) => {
      compared++
      return b.id - a.id
    })
    const count = 2000
    const limit = 10
    for (let id = 0; id < count; id++) index.add(doc(id, "a b"), ["a", "b"])
    const { hits } = index.search(["a", "b"], limit)
    assert.deepStrictEqual(
      ids(hits),
      Array.from({ length: limit }, (_, index) => count - 1 - index)
    )
    // The hits are compared with each other as well.
    assert.isAtMost(compared, count + limit * limit)
  })
})
