import { assert, describe, it } from "@effect/vitest"
import * as Either from "effect/Either"
import * as FastCheck from "effect/FastCheck"
import * as Bootstrap from "../../../src/eval/statistics/Bootstrap.js"
import * as Comparison from "../../../src/eval/statistics/Comparison.js"
import * as SeededRandom from "../../support/SeededRandom.js"

const right = (options: Comparison.Options) => Either.getOrThrow(Comparison.paired({ samples: 1000, ...options }))

const refusal = (options: Comparison.Options): string =>
  Either.getOrThrow(Either.flip(Comparison.paired(options))).message

/** Versions of which the candidate wins and loses so many cases. */
const decided = (wins: number, losses: number, ties = 0): Comparison.Options => ({
  baseline: [...new Array(wins).fill(0), ...new Array(losses).fill(1), ...new Array(ties).fill(1)],
  candidate: [...new Array(wins).fill(1), ...new Array(losses).fill(0), ...new Array(ties).fill(1)]
})

const versions: Comparison.Options = {
  baseline: [0.2, 0.9, 0.5, 0.4, 1, 0, 0.35, 0.6],
  candidate: [0.6, 0.8, 0.75, 0.4, 1, 0.5, 0.9, 0.65]
}

describe("Comparison.paired", () => {
  it("gives means, difference, interval, wins, losses and ties", () => {
    const compared = right({ ...versions, samples: 2000, seed: 3 })
    assert.strictEqual(compared.cases, 8)
    assert.closeTo(compared.meanBaseline, 0.49375, 1e-12)
    assert.closeTo(compared.meanCandidate, 0.7, 1e-12)
    assert.closeTo(compared.difference, 0.20625, 1e-12)
    assert.deepStrictEqual([compared.wins, compared.losses, compared.ties], [5, 1, 2])
    const differences = versions.candidate.map((score, i) => score - (versions.baseline[i] ?? 0))
    assert.deepStrictEqual(
      compared.interval,
      Either.getOrThrow(Bootstrap.mean(differences, { samples: 2000, seed: 3 }))
    )
    assert.strictEqual(right({ ...versions, confidence: 0.5 }).interval?.confidence, 0.5)
    assert.notDeepEqual(right({ ...versions, method: "percentile" }).interval, right(versions).interval)
  })

  // Of scipy 1.10: permutation_test(permutation_type="samples") with all permutations.
  it("gives scipy's exact chances where few cases differ", () => {
    const compared = right(versions)
    assert.strictEqual(compared.pTwoSided, 0.09375)
    assert.strictEqual(compared.pWorse, 0.96875)
    assert.strictEqual(compared.pBetter, 0.046875)
    const tolerant = right({ ...versions, tolerance: 0.1 })
    assert.strictEqual(tolerant.pTwoSided, 0.09375)
    assert.strictEqual(tolerant.pWorse, 1)
    assert.strictEqual(tolerant.pBetter, 0.1484375)
  })

  // Of statsmodels 0.13 and scipy 1.10: mcnemar(exact=True), binomtest with p = 0.5.
  it("is McNemar's exact test where all that differ do so by the same", () => {
    const expected: ReadonlyArray<readonly [number, number, number, number, number]> = [
      [3, 9, 0.14599609375, 0.072998046875, 0.980712890625],
      [40, 20, 0.01348929373119186, 0.9968911986703367, 0.00674464686559593],
      [6, 6, 1, 0.61279296875, 0.61279296875],
      [1, 0, 1, 1, 0.5],
      [520, 480, 0.2174482932041409, 0.9026168357691174, 0.10872414660207046],
      [5000, 5200, 0.04878796312682233, 0.024393981563411164, 0.9767180073201914]
    ]
    for (const [wins, losses, twoSided, worse, better] of expected) {
      const compared = right({ ...decided(wins, losses, 5), samples: 100 })
      assert.closeTo(compared.pTwoSided, twoSided, 1e-10)
      assert.closeTo(compared.pWorse, worse, 1e-10)
      assert.closeTo(compared.pBetter, better, 1e-10)
      assert.deepStrictEqual([compared.wins, compared.losses, compared.ties], [wins, losses, 5])
    }
  })

  it("samples where many cases differ, and comes near the exact chance", () => {
    // One case wins by twice as much as the 60 others win or lose: with it won, 40 wins of 60 are as good, and with it
    // lost, 42.
    const { baseline, candidate } = decided(40, 20)
    const compared = right({ baseline: [...baseline, -1], candidate: [...candidate, 1], samples: 100_000 })
    const heads = (least: number) => {
      let [term, sum] = [0.5 ** 60, 0]
      for (let i = 0; i <= 60; term *= (60 - i) / (i + 1), i++) if (i >= least) sum += term
      return sum
    }
    const expected = (heads(40) + heads(42)) / 2
    assert.closeTo(compared.pBetter, expected, 0.001)
    assert.closeTo(compared.pTwoSided, 2 * expected, 0.002)
  })

  it("never gives 0 from samples", () => {
    const baseline = Array.from({ length: 60 }, (_, i) => i / 1000)
    const compared = right({ baseline, candidate: baseline.map((score) => score * 2 + 1), samples: 999 })
    assert.strictEqual(compared.pTwoSided, 1 / 1000)
    assert.strictEqual(compared.pBetter, 1 / 1000)
    assert.strictEqual(compared.pWorse, 1)
  })

  it("is the same by the same seed, and another by another", () => {
    const random = SeededRandom.make(1)
    const scores = () => Array.from({ length: 40 }, () => random.next())
    const options = { baseline: scores(), candidate: scores() }
    assert.deepStrictEqual(right({ ...options, seed: 4 }), right({ ...options, seed: 4 }))
    assert.notStrictEqual(right({ ...options, seed: 4 }).pTwoSided, right({ ...options, seed: 5 }).pTwoSided)
  })

  it("takes differences of rounding for ties", () => {
    const compared = right({ baseline: [0.3, 0.3, 0.1], candidate: [0.1 + 0.2, 0.3, 0.1] })
    assert.deepStrictEqual([compared.wins, compared.losses, compared.ties], [0, 0, 3])
    assert.deepStrictEqual([compared.pTwoSided, compared.pWorse, compared.pBetter], [1, 1, 1])
    assert.strictEqual(compared.difference, 0)
    // 0.3 - 0.2 and 0.2 - 0.1 are one size, and a difference of the tolerance is none.
    const tolerant = right({ baseline: [0.3, 0.2], candidate: [0.2, 0.1], tolerance: 0.1 })
    assert.deepStrictEqual([tolerant.pTwoSided, tolerant.pWorse, tolerant.losses], [0.5, 1, 2])
  })

  it("finds a regression only beyond the tolerance", () => {
    const baseline = Array.from({ length: 60 }, (_, i) => 0.5 + (i % 7) / 20)
    const candidate = baseline.map((score, i) => score - 0.05 - (i % 3) / 100)
    const worse = (tolerance: number) => right({ baseline, candidate, tolerance }).pWorse
    assert.isBelow(worse(0), 0.01)
    assert.isBelow(worse(0.05), 0.01)
    assert.isAbove(worse(0.07), 0.9)
  })

  it("gives a single case no interval", () => {
    const compared = right({ baseline: [0], candidate: [1] })
    assert.strictEqual(compared.interval, undefined)
    assert.strictEqual(compared.pTwoSided, 1)
  })

  it("mirrors when the versions change places, and does not depend on the order of the cases", () => {
    const pairs = FastCheck.array(
      FastCheck.tuple(FastCheck.constantFrom(0, 0.25, 0.5, 0.7, 1), FastCheck.constantFrom(0, 0.25, 0.5, 0.7, 1)),
      { minLength: 1, maxLength: 14 }
    )
    FastCheck.assert(
      FastCheck.property(pairs, FastCheck.constantFrom(0, 0.1), (pairs, tolerance) => {
        const options = { baseline: pairs.map(([b]) => b), candidate: pairs.map(([, c]) => c), tolerance, samples: 100 }
        const compared = right(options)
        const mirrored = right({ ...options, baseline: options.candidate, candidate: options.baseline })
        assert.strictEqual(mirrored.pTwoSided, compared.pTwoSided)
        assert.strictEqual(mirrored.pWorse, compared.pBetter)
        assert.strictEqual(mirrored.wins, compared.losses)
        assert.closeTo(mirrored.difference, -compared.difference, 1e-12)
        for (const p of [compared.pTwoSided, compared.pWorse, compared.pBetter]) assert.isTrue(p > 0 && p <= 1)
        if (tolerance === 0) assert.isAtLeast(compared.pWorse + compared.pBetter, 1)
        const reversed = right({
          ...options,
          baseline: [...options.baseline].reverse(),
          candidate: [...options.candidate].reverse()
        })
        assert.strictEqual(reversed.pTwoSided, compared.pTwoSided)
        assert.strictEqual(reversed.pWorse, compared.pWorse)
      }),
      { seed: 2, numRuns: 60 }
    )
  })

  it("errs about as often as it says where nothing changed", () => {
    const random = SeededRandom.make(11)
    const found = Array.from({ length: 500 }, (_, seed) => {
      const scores = () => Array.from({ length: 25 }, () => random.next())
      return right({ baseline: scores(), candidate: scores(), seed, samples: 200 }).pTwoSided <= 0.05
    }).filter(Boolean).length
    // 25 of 500; 3 standard deviations are 15.
    assert.isAtLeast(found, 10)
    assert.isAtMost(found, 40)
  })

  it("finds no more regressions than it says where candidates are worse by just the tolerance", () => {
    const random = SeededRandom.make(21)
    const rate = (wins: number, losses: number) => {
      const found = Array.from({ length: 200 }, (_, seed) => {
        const pairs = Array.from({ length: 80 }, () => {
          const drawn = random.next()
          return drawn < wins ? [0, 1] : drawn < wins + losses ? [1, 0] : [1, 1]
        })
        const [baseline, candidate] = [pairs.map(([b = 0]) => b), pairs.map(([, c = 0]) => c)]
        return right({ baseline, candidate, tolerance: 0.05, seed, samples: 200 }).pWorse <= 0.05
      })
      return found.filter(Boolean).length / found.length
    }
    // 0.05; 3 standard deviations of 200 experiments are 0.046.
    assert.isAtMost(rate(0, 0.05), 0.096)
    assert.isAtMost(rate(0.3, 0.35), 0.096)
    assert.isAtLeast(rate(0, 0.2), 0.9)
  })

  it("refuses lists of different lengths, no cases, strange scores and options", () => {
    assert.include(refusal({ baseline: [1], candidate: [1, 0] }), "1 scores of the baseline, 2 of the candidate")
    assert.include(refusal({ baseline: [], candidate: [] }), "0 numbers are too few")
    assert.include(refusal({ baseline: [Number.NaN], candidate: [1] }), "number 0 is NaN")
    assert.include(refusal({ baseline: [1], candidate: [Number.POSITIVE_INFINITY] }), "number 0 is Infinity")
    for (const tolerance of [-0.1, Number.NaN, Number.POSITIVE_INFINITY])
      assert.include(refusal({ baseline: [1, 0], candidate: [1, 1], tolerance }), `tolerance is ${tolerance}`)
    assert.include(refusal({ baseline: [1], candidate: [1], samples: 1 }), "samples is 1")
    assert.include(refusal({ baseline: [1, 0], candidate: [1, 1], confidence: 2 }), "confidence is 2")
  })
})

describe("Comparison.holm", () => {
  const adjusted = (...chances: ReadonlyArray<number>) => Either.getOrThrow(Comparison.holm(chances))

  // Of statsmodels 0.13: multipletests(method="holm").
  it("gives the numbers of statsmodels", () => {
    const found = adjusted(0.01, 0.04, 0.03, 0.005, 0.5, 0.9)
    for (const [i, expected] of [0.05, 0.12, 0.12, 0.03, 1.0, 1.0].entries())
      assert.closeTo(found[i] ?? -1, expected, 1e-12)
    assert.deepStrictEqual(adjusted(), [])
    assert.deepStrictEqual(adjusted(0.2), [0.2])
    assert.deepStrictEqual(adjusted(0, 1, 1), [0, 1, 1])
  })

  it("lowers no chance, and keeps their order", () => {
    const chances = FastCheck.array(FastCheck.double({ min: 0, max: 1, noNaN: true }), { maxLength: 10 })
    FastCheck.assert(
      FastCheck.property(chances, (chances) => {
        const found = adjusted(...chances)
        for (const [i, chance] of chances.entries()) {
          assert.isTrue((found[i] ?? -1) >= chance && (found[i] ?? 2) <= 1)
          for (const [j, other] of chances.entries())
            if (chance < other) assert.isTrue((found[i] ?? 2) <= (found[j] ?? -1))
        }
      })
    )
  })

  it("refuses what is no chance", () => {
    for (const chance of [-0.1, 1.1, Number.NaN])
      assert.include(Either.getOrThrow(Either.flip(Comparison.holm([0.5, chance]))).message, `a chance is ${chance}`)
  })
})
