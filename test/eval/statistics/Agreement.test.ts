import { assert, describe, it } from "@effect/vitest"
import * as Either from "effect/Either"
import * as FastCheck from "effect/FastCheck"
import * as Agreement from "../../../src/eval/statistics/Agreement.js"
import type * as Statistics from "../../../src/eval/statistics/Statistics.js"
import * as Growth from "../../support/Growth.js"

const right = <A>(result: Statistics.Result<A>): A => Either.getOrThrow(result)

const refusal = (result: Statistics.Result<unknown>): string => Either.getOrThrow(Either.flip(result)).message

const first = [1, 2, 3, 4, 5, 5, 4, 3, 2, 1, 1, 2]
const second = [1, 2, 4, 4, 5, 3, 4, 2, 2, 1, 3, 5]
const words = ["a", "b", "b", "c", "a", "a"]
const otherWords = ["a", "b", "c", "c", "a", "b"]

const grades = FastCheck.integer({ min: 2, max: 30 }).chain((length) => {
  const list = FastCheck.array(FastCheck.integer({ min: 1, max: 5 }), { minLength: length, maxLength: length })
  return FastCheck.tuple(list, list)
})

describe("percentAgreement", () => {
  it("is the part of the same labels", () => {
    assert.strictEqual(right(Agreement.percentAgreement(words, otherWords)), 4 / 6)
    assert.strictEqual(right(Agreement.percentAgreement([true, false], [true, true])), 0.5)
    assert.strictEqual(right(Agreement.percentAgreement(["1"], [1])), 0)
    assert.include(refusal(Agreement.percentAgreement([], [])), "0 ratings are too few")
    assert.include(refusal(Agreement.percentAgreement(["a"], ["a", "b"])), "1 and 2 ratings")
  })
})

describe("kappa", () => {
  // Of scikit-learn 1.2: cohen_kappa_score.
  it("gives the numbers of scikit-learn", () => {
    assert.closeTo(right(Agreement.kappa(first, second)), 0.4782608695652173, 1e-12)
    assert.closeTo(right(Agreement.kappa(first, second, { weights: "linear" })), 0.5263157894736843, 1e-12)
    assert.closeTo(right(Agreement.kappa(first, second, { weights: "quadratic" })), 0.5957446808510638, 1e-12)
    assert.closeTo(right(Agreement.kappa(words, otherWords)), 0.5, 1e-12)
    const categories = ["c", "a", "b"]
    assert.closeTo(right(Agreement.kappa(words, otherWords, { weights: "linear", categories })), 0.4, 1e-12)
  })

  it("orders numbers by size, and counts the categories that nobody gave", () => {
    // By their characters 10 would come before 2.
    const [a, b] = [
      [1, 2, 10, 1, 2],
      [2, 10, 10, 1, 2]
    ]
    const weights = "quadratic" as const
    assert.strictEqual(
      right(Agreement.kappa(a, b, { weights })),
      right(Agreement.kappa(a, b, { weights, categories: [1, 2, 10] }))
    )
    assert.notStrictEqual(
      right(Agreement.kappa(a, b, { weights })),
      right(Agreement.kappa(a, b, { weights, categories: [1, 2, 3, 4, 10] }))
    )
  })

  it("is 1 for the same labels, at most 1 for others, and the same from both sides", () => {
    FastCheck.assert(
      FastCheck.property(
        grades,
        FastCheck.constantFrom(undefined, "linear" as const, "quadratic" as const),
        ([a, b], weights) => {
          const found = Agreement.kappa(a, b, { weights })
          if (Either.isLeft(found)) return assert.strictEqual(new Set([...a, ...b]).size, 1)
          assert.isTrue(found.right <= 1 && found.right >= -2)
          assert.closeTo(right(Agreement.kappa(b, a, { weights })), found.right, 1e-12)
          if (new Set(a).size > 1) assert.strictEqual(right(Agreement.kappa(a, a, { weights })), 1)
        }
      )
    )
  })

  it("keeps labels of other types and of names of Object apart", () => {
    assert.isBelow(right(Agreement.kappa(["1", "__proto__", true], [1, "constructor", "true"])), 0.01)
    assert.strictEqual(right(Agreement.kappa(["__proto__", "toString"], ["__proto__", "toString"])), 1)
  })

  it("refuses one label for everything, labels that are no category, and too many categories", () => {
    assert.include(refusal(Agreement.kappa(["a", "a"], ["a", "a"])), "both raters gave one label to everything")
    assert.include(refusal(Agreement.kappa(["a", "b"], ["a", "b"], { categories: ["a"] })), `"b" is no category`)
    const many = Array.from({ length: 1001 }, (_, i) => i)
    assert.include(refusal(Agreement.kappa(many, many)), "1001 categories")
    assert.include(refusal(Agreement.kappa(["a"], [])), "1 and 0 ratings")
  })

  it("takes time linear in the ratings", () => {
    Growth.assertLinear({
      input: (size) => Array.from({ length: size }, (_, i) => i % 10),
      size: 100_000,
      run: (labels) => Agreement.kappa(labels, [...labels].reverse(), { weights: "quadratic" })
    })
  })
})

describe("krippendorffAlpha", () => {
  // The example of Krippendorff 2011, which gives 0.743 and 0.849; further digits of nltk 3.8 (AnnotationTask.alpha).
  const none = undefined
  const raters = [
    [1, 2, 3, 3, 2, 1, 4, 1, 2, none, none, none],
    [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, none, 3],
    [none, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, none],
    [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, none]
  ]

  it("gives Krippendorff's numbers, with ratings missing", () => {
    assert.closeTo(right(Agreement.krippendorffAlpha(raters)), 0.743421052631579, 1e-12)
    assert.closeTo(right(Agreement.krippendorffAlpha(raters, "interval")), 0.8491071428571428, 1e-12)
    const named = raters.map((ratings) => ratings.map((label) => (label === none ? none : `grade ${label}`)))
    assert.closeTo(right(Agreement.krippendorffAlpha(named)), 0.743421052631579, 1e-12)
  })

  it("takes lists that end early for missing ratings", () => {
    const shorter = raters.map((ratings, i) => (i === 0 ? ratings.slice(0, 9) : ratings))
    assert.strictEqual(right(Agreement.krippendorffAlpha(shorter)), right(Agreement.krippendorffAlpha(raters)))
  })

  it("is at most 1, and does not depend on the order of raters and outputs", () => {
    FastCheck.assert(
      FastCheck.property(grades, FastCheck.constantFrom("nominal" as const, "interval" as const), ([a, b], level) => {
        const found = Agreement.krippendorffAlpha([a, b], level)
        if (Either.isLeft(found)) return assert.strictEqual(new Set([...a, ...b]).size, 1)
        assert.isTrue(found.right <= 1 && Number.isFinite(found.right))
        const turned = Agreement.krippendorffAlpha([[...b].reverse(), [...a].reverse()], level)
        assert.closeTo(right(turned), found.right, 1e-9)
        if (new Set(a).size > 1) assert.strictEqual(right(Agreement.krippendorffAlpha([a, a], level)), 1)
      })
    )
  })

  it("refuses ratings without pairs, without differences, and intervals of what is no number", () => {
    assert.include(refusal(Agreement.krippendorffAlpha([])), "no output has two ratings")
    assert.include(
      refusal(
        Agreement.krippendorffAlpha([
          ["a", none],
          [none, "a"]
        ])
      ),
      "no output has two ratings"
    )
    assert.include(
      refusal(
        Agreement.krippendorffAlpha([
          ["a", "a"],
          ["a", "a"]
        ])
      ),
      "all ratings are the same"
    )
    assert.include(
      refusal(
        Agreement.krippendorffAlpha(
          [
            [1, "2"],
            [1, "2"]
          ],
          "interval"
        )
      ),
      "number 2 is NaN"
    )
  })
})

describe("pearson and spearman", () => {
  const scores = [0.1, 0.5, 0.5, 0.9, 0.3, 1, 0]
  const stars = [1, 3, 4, 5, 2, 5, 2]

  // Of scipy 1.10: pearsonr, spearmanr.
  it("give scipy's numbers, with ties", () => {
    assert.closeTo(right(Agreement.pearson(scores, stars)), 0.9343049706788158, 1e-12)
    assert.closeTo(right(Agreement.spearman(scores, stars)), 0.9174698042719671, 1e-12)
  })

  it("are from -1 to 1, the same from both sides, and ranks do not see the size of steps", () => {
    FastCheck.assert(
      FastCheck.property(grades, ([a, b]) => {
        for (const correlate of [Agreement.pearson, Agreement.spearman]) {
          const found = correlate(a, b)
          if (Either.isLeft(found)) return assert.isTrue(new Set(a).size === 1 || new Set(b).size === 1)
          assert.isTrue(found.right >= -1 && found.right <= 1)
          assert.closeTo(right(correlate(b, a)), found.right, 1e-12)
          assert.closeTo(
            right(
              correlate(
                a,
                a.map((value) => -value)
              )
            ),
            -1,
            1e-12
          )
        }
        const steps = right(Agreement.spearman(a, b))
        assert.closeTo(
          right(
            Agreement.spearman(
              a.map((value) => 10 ** value),
              b
            )
          ),
          steps,
          1e-12
        )
      })
    )
  })

  it("stay finite for huge and tiny numbers", () => {
    for (const size of [1e140, 1e-300]) {
      const values = [size, -size, size / 2]
      assert.closeTo(right(Agreement.pearson(values, values)), 1, 1e-12)
    }
  })

  it("refuse one number for everything, too few outputs and lists of different lengths", () => {
    for (const correlate of [Agreement.pearson, Agreement.spearman]) {
      assert.include(refusal(correlate([0.1, 0.1, 0.1], [1, 2, 3])), "one rater gave one number to everything")
      assert.include(refusal(correlate([1], [1])), "1 ratings are too few")
      assert.include(refusal(correlate([1, 2], [1])), "2 and 1 ratings")
      assert.include(refusal(correlate([1, 2], [1, Number.NaN])), "number 1 is NaN")
    }
  })

  it("rank in time that hardly grows faster than the numbers", () => {
    Growth.assertLinear({
      input: (size) => Array.from({ length: size }, (_, i) => (i * 7919) % 1000),
      size: 64_000,
      run: (values) => Agreement.spearman(values, [...values].reverse())
    })
  })
})
