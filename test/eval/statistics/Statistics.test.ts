import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as FastCheck from "effect/FastCheck"
import * as Normal from "../../../src/eval/statistics/Normal.js"
import * as Statistics from "../../../src/eval/statistics/Statistics.js"

const near = (found: number, expected: number, relative = 1e-12) =>
  assert.isAtMost(Math.abs(found - expected), relative * Math.max(Math.abs(expected), 1e-300), `${found}, ${expected}`)

const right = <A>(result: Statistics.Result<A>): A => Either.getOrThrow(result)

const refusal = (result: Statistics.Result<unknown>): Statistics.StatisticsError =>
  Either.getOrThrow(Either.flip(result))

const numbers = FastCheck.array(FastCheck.double({ min: -1e140, max: 1e140, noNaN: true }), {
  minLength: 2,
  maxLength: 30
})

describe("mean, standardDeviation and percentiles", () => {
  const values = [0.3, 1.5, -2.25, 4, 4, 0.125, 7.5]

  // Numbers of numpy 1.24: mean, std with ddof=1, percentile with its default method.
  it("give numpy's numbers", () => {
    near(right(Statistics.mean(values)), 2.167857142857143)
    near(right(Statistics.standardDeviation(values)), 3.2344729827578518)
    const found = right(Statistics.percentiles(values, [0, 5, 25, 50, 90, 95, 99, 100]))
    const expected = [-2.25, -1.5374999999999999, 0.2125, 1.5, 5.4, 6.4499999999999975, 7.289999999999998, 7.5]
    for (const [i, value] of found.entries()) near(value, expected[i] ?? 0)
    assert.strictEqual(right(Statistics.percentile(values, 50)), 1.5)
    assert.strictEqual(right(Statistics.percentile([7], 99)), 7)
    assert.deepStrictEqual(values, [0.3, 1.5, -2.25, 4, 4, 0.125, 7.5])
  })

  it("is 0 for the deviation of equal numbers, whatever rounding does to their mean", () => {
    assert.strictEqual(right(Statistics.standardDeviation([0.1, 0.1, 0.1])), 0)
  })

  it("stay finite and within the numbers, in any order", () => {
    FastCheck.assert(
      FastCheck.property(numbers, FastCheck.double({ min: 0, max: 100, noNaN: true }), (values, percent) => {
        const [least, most] = [Math.min(...values), Math.max(...values)]
        const slack = 1e-12 * Math.max(Math.abs(least), Math.abs(most))
        for (const result of [Statistics.mean(values), Statistics.percentile(values, percent)]) {
          assert.isAtLeast(right(result), least - slack)
          assert.isAtMost(right(result), most + slack)
        }
        const deviation = right(Statistics.standardDeviation(values))
        assert.isTrue(Number.isFinite(deviation) && deviation >= 0)
        const reversed = [...values].reverse()
        assert.strictEqual(
          right(Statistics.percentile(reversed, percent)),
          right(Statistics.percentile(values, percent))
        )
      })
    )
  })

  it("refuse too few numbers, numbers that are none and percents out of range, and say what to do", () => {
    const { code, hint, message, statistic } = refusal(Statistics.mean([]))
    assert.deepStrictEqual(
      [code, statistic, message, hint],
      ["LEX_ERR_EVAL_105", "mean", "mean: 0 numbers are too few", "Give at least one number."]
    )
    assert.strictEqual(refusal(Statistics.standardDeviation([1])).hint, "Give at least 2 numbers.")
    for (const strange of [Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, 2e140, -Number.MAX_VALUE]) {
      assert.strictEqual(refusal(Statistics.mean([1, strange])).message, `mean: number 1 is ${strange}`)
      assert.instanceOf(refusal(Statistics.standardDeviation([1, strange])), Statistics.StatisticsError)
      assert.instanceOf(refusal(Statistics.percentile([1, strange], 50)), Statistics.StatisticsError)
    }
    // biome-ignore lint/suspicious/noSparseArray: a hole has no score
    assert.strictEqual(refusal(Statistics.mean([1, , 2] as Array<number>)).message, "mean: number 1 is undefined")
    for (const percent of [-1, 100.5, Number.NaN])
      assert.strictEqual(refusal(Statistics.percentile([1], percent)).message, `percentiles: percent is ${percent}`)
  })

  it.effect("can be yielded", () =>
    Effect.gen(function* () {
      assert.strictEqual(yield* Statistics.mean([1, 2]), 1.5)
      assert.instanceOf(yield* Effect.flip(Statistics.mean([])), Statistics.StatisticsError)
    })
  )
})

describe("passAtK and passHatK", () => {
  // Of scipy 1.10: hypergeom(n, c, k).sf(0) and .pmf(k).
  it("give the numbers of the hypergeometric distribution", () => {
    const expected: ReadonlyArray<readonly [number, number, number, number, number]> = [
      [5, 2, 1, 0.4, 0.4],
      [10, 3, 5, 0.9166666666666666, 0],
      [200, 37, 10, 0.8773745673794602, 1.5515124900677956e-8],
      [1000, 1, 100, 0.1, 0],
      [100, 99, 50, 1, 0.5],
      [7, 0, 3, 0, 0],
      [7, 7, 3, 1, 1],
      [300, 150, 20, 0.9999995158396079, 4.84160392057196e-7]
    ]
    for (const [n, c, k, atK, hatK] of expected) {
      near(right(Statistics.passAtK(n, c, k)), atK)
      near(right(Statistics.passHatK(n, c, k)), hatK, 1e-11)
    }
  })

  it("do not overflow", () => {
    for (const [n, c, k] of [
      [1e9, 5e8, 5e8],
      [1e9, 1e9 - 1, 1e9],
      [1e6, 10, 999_990],
      [1e9, 1, 1]
    ] as const) {
      for (const found of [right(Statistics.passAtK(n, c, k)), right(Statistics.passHatK(n, c, k))])
        assert.isTrue(found >= 0 && found <= 1, String(found))
    }
  })

  it("are chances; with k the one rises and the other falls, and they meet at k = 1", () => {
    const trials = FastCheck.integer({ min: 1, max: 400 }).chain((n) =>
      FastCheck.tuple(
        FastCheck.constant(n),
        FastCheck.integer({ min: 0, max: n }),
        FastCheck.integer({ min: 1, max: n })
      )
    )
    FastCheck.assert(
      FastCheck.property(trials, ([n, c, k]) => {
        const [at, hat] = [right(Statistics.passAtK(n, c, k)), right(Statistics.passHatK(n, c, k))]
        assert.isTrue(at >= 0 && at <= 1 && hat >= 0 && hat <= 1)
        assert.isAtLeast(at, hat - 1e-12)
        assert.closeTo(right(Statistics.passAtK(n, c, 1)), c / n, 1e-12)
        assert.closeTo(right(Statistics.passHatK(n, c, 1)), c / n, 1e-12)
        if (k === n) return
        assert.isAtLeast(right(Statistics.passAtK(n, c, k + 1)), at - 1e-12)
        assert.isAtMost(right(Statistics.passHatK(n, c, k + 1)), hat + 1e-12)
      })
    )
  })

  it("refuse counts that are none or out of range", () => {
    const strange: ReadonlyArray<readonly [number, number, number, string]> = [
      [0, 0, 1, "n is 0"],
      [1.5, 1, 1, "n is 1.5"],
      [2e9, 1, 1, "n is 2000000000"],
      [Number.NaN, 1, 1, "n is NaN"],
      [5, 6, 1, "c is 6 of 5"],
      [5, -1, 1, "c is -1 of 5"],
      [5, 2, 0, "k is 0 of 5"],
      [5, 2, 6, "k is 6 of 5"],
      [5, 2, Number.POSITIVE_INFINITY, "k is Infinity of 5"]
    ]
    for (const [n, c, k, message] of strange) {
      assert.strictEqual(refusal(Statistics.passAtK(n, c, k)).message, `passAtK: ${message}`)
      assert.strictEqual(refusal(Statistics.passHatK(n, c, k)).message, `passHatK: ${message}`)
    }
  })
})

describe("wilson", () => {
  // Of statsmodels 0.13: proportion_confint(method="wilson").
  it("gives the numbers of statsmodels", () => {
    const expected: ReadonlyArray<readonly [number, number, number, number, number]> = [
      [0, 10, 0.95, 0, 0.2775327998628892],
      [10, 10, 0.95, 0.7224672001371107, 1],
      [7, 10, 0.95, 0.39677814746114537, 0.8922087325936989],
      [37, 200, 0.99, 0.12480384348632112, 0.265424999402275],
      [1, 1, 0.9, 0.269865948784054, 1],
      [500_000, 1_000_000, 0.95, 0.4990200198900048, 0.5009799801099952],
      [3, 12, 0.999999, 0.025863035204918616, 0.8071368870047437]
    ]
    for (const [successes, trials, confidence, lower, upper] of expected) {
      const found = right(Statistics.wilson(successes, trials, confidence))
      near(found.lower, lower, 1e-11)
      near(found.upper, upper, 1e-11)
      assert.strictEqual(found.confidence, confidence)
    }
    assert.strictEqual(right(Statistics.wilson(7, 10)).confidence, 0.95)
  })

  it("holds the rate and mirrors with successes and failures", () => {
    const trials = FastCheck.integer({ min: 1, max: 1000 }).chain((n) =>
      FastCheck.tuple(FastCheck.constant(n), FastCheck.integer({ min: 0, max: n }))
    )
    const confidences = FastCheck.constantFrom(1e-9, 0.5, 0.95, 1 - 1e-15)
    FastCheck.assert(
      FastCheck.property(trials, confidences, ([n, c], confidence) => {
        const found = right(Statistics.wilson(c, n, confidence))
        const mirrored = right(Statistics.wilson(n - c, n, confidence))
        assert.isTrue(found.lower >= 0 && found.upper <= 1)
        if (c === 0) assert.strictEqual(found.lower, 0)
        if (c === n) assert.strictEqual(found.upper, 1)
        assert.isTrue(found.lower <= c / n + 1e-12 && found.upper >= c / n - 1e-12)
        assert.closeTo(found.lower, 1 - mirrored.upper, 1e-12)
      })
    )
  })

  it("refuses counts and confidences out of range", () => {
    assert.strictEqual(refusal(Statistics.wilson(0, 0)).message, "wilson: n is 0")
    assert.strictEqual(refusal(Statistics.wilson(3, 2)).message, "wilson: c is 3 of 2")
    for (const confidence of [0, 1, -1, 95, Number.NaN])
      assert.strictEqual(refusal(Statistics.wilson(1, 2, confidence)).message, `wilson: confidence is ${confidence}`)
  })
})

describe("the normal distribution", () => {
  // Of scipy 1.10: norm.cdf and norm.ppf.
  it("gives scipy's numbers", () => {
    const distribution: ReadonlyArray<readonly [number, number]> = [
      [-20, 2.7536241186061556e-89],
      [-8, 6.22096057427174e-16],
      [-5, 2.866515718791933e-7],
      [-3.0000001, 0.0013498975884453205],
      [-3, 0.0013498980316300933],
      [-2.5, 0.006209665325776132],
      [-1, 0.15865525393145707],
      [-0.1, 0.460172162722971],
      [0, 0.5],
      [0.5, 0.6914624612740131],
      [2.9, 0.998134186699616],
      [3.5, 0.9997673709209645],
      [6, 0.9999999990134123]
    ]
    for (const [x, chance] of distribution) near(Normal.distribution(x), chance, 1e-12)
    const quantiles: ReadonlyArray<readonly [number, number]> = [
      [1e-300, -37.0470962993612],
      [1e-100, -21.273453560965322],
      [1e-16, -8.222082216130435],
      [1e-6, -4.753424308822899],
      [0.001, -3.090232306167813],
      [0.025, -1.9599639845400545],
      [0.3, -0.5244005127080409],
      [0.5, 0],
      [0.9, 1.2815515655446004],
      [0.975, 1.959963984540054],
      [0.999999, 4.753424308817087]
    ]
    for (const [share, x] of quantiles) near(Normal.quantile(share), x, 1e-10)
  })

  it("stays within 0 and 1 far out", () => {
    for (const x of [-1e9, -40, 40, 1e9]) assert.include([0, 1], Math.round(Normal.distribution(x)))
    assert.isFalse(Number.isNaN(Normal.distribution(-1e200)))
  })
})
