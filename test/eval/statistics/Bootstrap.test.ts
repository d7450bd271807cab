import { assert, describe, it } from "@effect/vitest"
import * as Either from "effect/Either"
import * as FastCheck from "effect/FastCheck"
import * as Bootstrap from "../../../src/eval/statistics/Bootstrap.js"
import type * as Statistics from "../../../src/eval/statistics/Statistics.js"
import * as SeededRandom from "../../support/SeededRandom.js"

const right = <A>(result: Statistics.Result<A>): A => Either.getOrThrow(result)

const refusal = (result: Statistics.Result<unknown>): string => Either.getOrThrow(Either.flip(result)).message

describe("Bootstrap.mean", () => {
  const near = (found: Statistics.Interval, lower: number, upper: number, within: number) => {
    assert.closeTo(found.lower, lower, within)
    assert.closeTo(found.upper, upper, within)
  }

  // Of scipy 1.10: bootstrap(np.mean, n_resamples=2_000_000) with each method. The means of samples are 1/300 apart.
  it("gives scipy's intervals but for the chance of the samples", () => {
    const values = [0, 0, 1, 1, 0.5, 0.25, 0, 1, 0, 0.1, 0.9, 0.3, 0, 0, 0.2]
    const options = { samples: 200_000 }
    near(right(Bootstrap.mean(values, { ...options, method: "percentile" })), 0.15667, 0.56, 0.0035)
    near(right(Bootstrap.mean(values, options)), 0.17333, 0.58333, 0.0035)
    const skewed = [0.37, 1, 1.65, 2.72, 7.39, 12.18, 1.35, 1.11, 0.61, 20.09]
    const ninety = { ...options, confidence: 0.9 }
    near(right(Bootstrap.mean(skewed, { ...ninety, method: "percentile" })), 1.881, 8.343, 0.05)
    near(right(Bootstrap.mean(skewed, ninety)), 2.33, 9.338, 0.05)
  })

  // All 4^4 samples of four numbers, which have 13 means: percentiles of them all are known exactly.
  it("gives the percentiles of all samples", () => {
    const values = [0, 0, 0, 1]
    const means: Array<number> = []
    for (const a of values)
      for (const b of values) for (const c of values) for (const d of values) means.push((a + b + c + d) / 4)
    const sorted = means.sort((a, b) => a - b)
    const options = { samples: 100_000, method: "percentile" as const }
    for (const confidence of [0.5, 0.8, 0.95]) {
      const found = right(Bootstrap.mean(values, { ...options, confidence }))
      assert.strictEqual(found.lower, sorted[Math.floor(((1 - confidence) / 2) * 255)])
      assert.strictEqual(found.upper, sorted[Math.ceil(((1 + confidence) / 2) * 255)])
    }
  })

  it("corrects no bias of numbers that are symmetric, however many samples have their mean", () => {
    // 96 of the 256 samples of these have the mean itself.
    for (const confidence of [0.5, 0.8, 0.9, 0.95]) {
      const { lower, upper } = right(Bootstrap.mean([0, 0, 1, 1], { confidence, samples: 100_000 }))
      assert.strictEqual(lower + upper, 1, String(confidence))
    }
  })

  it("is the same by the same seed, and another by another", () => {
    const values = [0.31, 0.52, 0.77, 0.11, 0.93, 0.48, 0.66]
    const by = (seed: number) => right(Bootstrap.mean(values, { seed, samples: 500 }))
    assert.deepStrictEqual(by(7), by(7))
    assert.notDeepEqual(by(7), by(8))
    assert.notDeepEqual(by(7), by(7 + 2 ** 32))
    assert.deepStrictEqual(by(0), right(Bootstrap.mean(values, { samples: 500 })))
  })

  it("is within the numbers, holds their mean, and is wider with more confidence", () => {
    const values = FastCheck.array(FastCheck.double({ min: 0, max: 1, noNaN: true }), { minLength: 2, maxLength: 12 })
    FastCheck.assert(
      FastCheck.property(values, FastCheck.constantFrom("bca" as const, "percentile" as const), (values, method) => {
        const at = (confidence: number) => right(Bootstrap.mean(values, { confidence, method, samples: 400 }))
        const [narrow, wide] = [at(0.5), at(0.99)]
        const mean = values.reduce((sum, value) => sum + value, 0) / values.length
        assert.isAtLeast(wide.lower, Math.min(...values) - 1e-12)
        assert.isAtMost(wide.upper, Math.max(...values) + 1e-12)
        assert.isTrue(wide.lower <= narrow.lower && narrow.upper <= wide.upper)
        assert.isTrue(wide.lower <= mean + 1e-9 && mean - 1e-9 <= wide.upper)
      }),
      { seed: 1, numRuns: 60 }
    )
  })

  it("holds the true mean about as often as it says", () => {
    const random = SeededRandom.make(5)
    const held = Array.from({ length: 400 }, (_, seed) => {
      const values = Array.from({ length: 40 }, () => random.next() ** 2)
      const { lower, upper } = right(Bootstrap.mean(values, { seed, samples: 1000 }))
      return lower <= 1 / 3 && 1 / 3 <= upper
    }).filter(Boolean).length
    // 95 of 100; 3 standard deviations of 400 experiments are 13.
    assert.isAtLeast(held, 380 - 20)
    assert.isAtMost(held, 380 + 13)
  })

  it("stays finite for numbers that are alike, huge, or extremely skewed", () => {
    const cases = [
      [0.1, 0.1, 0.1],
      [1e140, -1e140],
      [1e-300, 0],
      [...new Array<number>(200).fill(0), 1e140]
    ]
    for (const values of cases)
      for (const confidence of [1e-9, 0.95, 1 - 1e-15])
        for (const method of ["bca", "percentile"] as const) {
          const { lower, upper } = right(Bootstrap.mean(values, { confidence, method, samples: 200 }))
          assert.isTrue(Number.isFinite(lower) && Number.isFinite(upper) && lower <= upper, `${lower} ${upper}`)
          const mean = values.reduce((sum, value) => sum + value / values.length, 0)
          if (confidence > 0.9) assert.isTrue(lower <= mean * (1 + 1e-12) && upper >= mean * (1 - 1e-12))
        }
    const { lower, upper } = right(Bootstrap.mean([0.1, 0.1, 0.1]))
    assert.closeTo(lower, 0.1, 1e-15)
    assert.closeTo(upper, 0.1, 1e-15)
  })

  it("refuses too few numbers and options out of range", () => {
    assert.include(refusal(Bootstrap.mean([1])), "1 numbers are too few")
    assert.include(refusal(Bootstrap.mean([1, Number.NaN])), "number 1 is NaN")
    for (const samples of [0, 99, 1.5, 1_000_001, Number.NaN, Number.POSITIVE_INFINITY])
      assert.include(refusal(Bootstrap.mean([0, 1], { samples })), `samples is ${samples}`)
    for (const seed of [0.5, Number.NaN, 2 ** 60])
      assert.include(refusal(Bootstrap.mean([0, 1], { seed })), `seed is ${seed}`)
    for (const confidence of [0, 1, 95])
      assert.include(refusal(Bootstrap.mean([0, 1], { confidence })), `confidence is ${confidence}`)
  })
})

describe("Bootstrap.clusters", () => {
  it("draws cases, so that repetitions do not make it narrower", () => {
    const cases = [0.1, 0.9, 0.4, 0.6, 0.2, 0.8]
    const repeated = cases.map((score) => new Array<number>(50).fill(score))
    const [once, often] = [right(Bootstrap.mean(cases)), right(Bootstrap.clusters(repeated))]
    assert.closeTo(often.lower, once.lower, 1e-12)
    assert.closeTo(often.upper, once.upper, 1e-12)
    const pooled = right(Bootstrap.mean(repeated.flat()))
    assert.isBelow(pooled.upper - pooled.lower, (often.upper - often.lower) / 4)
  })

  it("counts each case the same", () => {
    assert.deepStrictEqual(
      right(Bootstrap.clusters([[0, 1], [0.25, 0.25, 0.25, 0.25], [1]])),
      right(Bootstrap.mean([0.5, 0.25, 1]))
    )
  })

  it("refuses a case without numbers, and a single case", () => {
    assert.include(refusal(Bootstrap.clusters([[1], []])), "0 numbers are too few")
    assert.include(refusal(Bootstrap.clusters([[1, 0, 1]])), "1 numbers are too few")
    assert.include(refusal(Bootstrap.clusters([])), "0 numbers are too few")
  })
})
