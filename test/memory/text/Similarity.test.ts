import { assert, describe, it } from "@effect/vitest"
import * as FastCheck from "effect/FastCheck"
import * as SameText from "../../../src/memory/entry/SameText.js"
import * as Similarity from "../../../src/memory/text/Similarity.js"

const text = FastCheck.array(FastCheck.constantFrom("red", "Green", "blue", "zebra", "42", "Žába", "ﬁn"), {
  maxLength: 12
}).map((words) => words.join(" "))

const compared = (text: string): Similarity.Compared => ({
  terms: Similarity.terms(text),
  gist: SameText.gist(text)
})

describe("Similarity", () => {
  it("reduces terms to distinct words without case and punctuation", () => {
    assert.deepStrictEqual(Array.from(Similarity.terms("The zebra, the ZEBRA! ﬁn 42")), ["the", "zebra", "fin", "42"])
    assert.strictEqual(Similarity.terms("?! …").size, 0)
  })

  it("divides common words by all words", () => {
    const jaccard = (a: string, b: string) => Similarity.jaccard(Similarity.terms(a), Similarity.terms(b))
    assert.strictEqual(jaccard("a b c", "b c d"), 0.5)
    assert.strictEqual(jaccard("a b", "A, B!"), 1)
    assert.strictEqual(jaccard("a", "b"), 0)
    assert.strictEqual(jaccard("", ""), 1)
    assert.strictEqual(jaccard("", "a"), 0)
  })

  it("is symmetric, within 0 and 1, and agrees with isAlike", () => {
    FastCheck.assert(
      FastCheck.property(text, text, FastCheck.double({ min: 0, max: 1, noNaN: true }), (left, right, threshold) => {
        const [a, b] = [Similarity.terms(left), Similarity.terms(right)]
        const value = Similarity.jaccard(a, b)
        assert.strictEqual(Similarity.jaccard(b, a), value)
        assert.isAtLeast(value, 0)
        assert.isAtMost(value, 1)
        assert.strictEqual(Similarity.isAlike(a, b, threshold), value >= threshold)
        assert.isTrue(Similarity.isAlike(a, a, 1))
      })
    )
  })

  it("keeps the first of similar items", () => {
    const texts = ["the zebra ran", "The zebra ran!", "a lion slept", "the zebra ran away", "zebra really ran"]
    const kept = (threshold: number) => Array.from(Similarity.distinct(texts, compared, threshold))
    assert.deepStrictEqual(kept(1), ["the zebra ran", "a lion slept", "the zebra ran away", "zebra really ran"])
    assert.deepStrictEqual(kept(0.5), ["the zebra ran", "a lion slept", "the zebra ran away"])
    assert.deepStrictEqual(kept(0), ["the zebra ran", "a lion slept", "the zebra ran away"])
  })

  it("keeps no two similar items, and drops only items similar to a kept one", () => {
    FastCheck.assert(
      FastCheck.property(FastCheck.array(text, { maxLength: 10 }), (texts) => {
        const kept = Array.from(Similarity.distinct(texts, compared, 0.6))
        const alike = (a: string, b: string) =>
          SameText.gist(a) === SameText.gist(b) && Similarity.isAlike(Similarity.terms(a), Similarity.terms(b), 0.6)
        kept.forEach((one, index) => {
          for (const other of kept.slice(index + 1)) assert.isFalse(alike(one, other))
        })
        for (const one of texts) assert.isTrue(kept.some((other) => alike(one, other)))
      })
    )
  })

  it("takes linear time for 100 kB without a word, or of one letter", () => {
    assert.strictEqual(Similarity.terms("!? ".repeat(40_000)).size, 0)
    assert.strictEqual(Similarity.terms("a".repeat(100_000)).size, 1)
    assert.strictEqual(Similarity.terms("a ".repeat(50_000)).size, 1)
  })
})
