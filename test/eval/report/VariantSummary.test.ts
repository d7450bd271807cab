import { assert, describe, it } from "@effect/vitest"
import * as Either from "effect/Either"
import * as VariantSummary from "../../../src/eval/report/VariantSummary.js"
import * as Experiments from "../../support/Experiments.js"

const summaries = (given: Experiments.Given, options?: VariantSummary.Options) =>
  Either.getOrThrow(VariantSummary.make(Experiments.results(given), options))

describe("VariantSummary", () => {
  it("counts each case the same, however often it was repeated", () => {
    const [summary] = summaries({ variants: { a: [[1, 1, 0, 0], [1]] } })
    const score = summary?.scores[0]
    assert.strictEqual(score?.mean, 0.75)
    assert.strictEqual(score?.cases, 2)
    assert.strictEqual(score?.passRate, 3 / 5)
    assert.deepStrictEqual([summary?.trials, summary?.failed], [5, 0])
  })

  it("says the chances of k repetitions", () => {
    // 2 of 4 pass: one of two with 1 - 1/6, both with 1/6.
    const given = { variants: { a: [[1, 1, 0, 0], [1, 1, 1, 1], [1]] } }
    const [two] = summaries(given, { k: 2 })
    assert.closeTo(two?.scores[0]?.passAtK ?? 0, (5 / 6 + 1) / 2, 1e-12)
    assert.closeTo(two?.scores[0]?.passHatK ?? 0, (1 / 6 + 1) / 2, 1e-12)
    const [four] = summaries(given)
    assert.deepStrictEqual([four?.scores[0]?.k, four?.scores[0]?.passAtK, four?.scores[0]?.passHatK], [4, 1, 0.5])
    for (const k of [0, 5, 1.5, Number.NaN]) {
      assert.isTrue(Either.isLeft(VariantSummary.make(Experiments.results(given), { k })), `${k}`)
    }
  })

  it("passes from a score on", () => {
    const given = { variants: { a: [[0.5, 0.9]] } }
    assert.strictEqual(summaries(given)[0]?.scores[0]?.passRate, 0)
    assert.strictEqual(summaries(given, { passAt: 0.9 })[0]?.scores[0]?.passRate, 0.5)
    assert.strictEqual(summaries(given, { passAt: 0.5 })[0]?.scores[0]?.passRate, 1)
  })

  it("has an interval by a seed, where there are cases for one", () => {
    const given = { variants: { a: Experiments.split(30, 20) } }
    const of = (options: VariantSummary.Options) => summaries(given, options)[0]?.scores[0]?.interval
    const interval = of({ seed: 1 })
    assert.isTrue(interval !== undefined && interval.lower < 0.6 && interval.upper > 0.6)
    assert.deepStrictEqual(of({ seed: 1 }), interval)
    assert.isBelow(of({ confidence: 0.5 })?.upper ?? 1, interval?.upper ?? 0)
    assert.isUndefined(summaries({ variants: { a: [[1, 0]] } })[0]?.scores[0]?.interval)
    assert.isTrue(Either.isLeft(VariantSummary.make(Experiments.results(given), { samples: 1 })))
  })

  it("sums what trials took, and says what is not known", () => {
    const taken = (durationMs: number, more: object = {}) => ({
      scores: [{ scorer: "exact", value: 1 }],
      durationMs,
      usage: { totalTokens: 10 },
      costUsd: 0.25,
      modelCalls: 2,
      ...more
    })
    const [summary, empty] = summaries({
      variants: {
        a: [
          [taken(0), taken(100, { scoring: { costUsd: 1 } })],
          [taken(200, { costUsd: undefined }), taken(1000, { error: { tag: "E", message: "m" } })]
        ],
        b: []
      }
    })
    const { p50 = 0, p95 = 0, p99 = 0 } = summary?.latency ?? {}
    assert.deepStrictEqual([p50, p95, p99].map(Math.round), [150, 880, 976])
    assert.deepStrictEqual(
      [
        summary?.costUsd,
        summary?.scoringCostUsd,
        summary?.unpriced,
        summary?.usage,
        summary?.modelCalls,
        summary?.failed
      ],
      [0.75, 1, 1, { totalTokens: 40 }, 8, 1]
    )
    assert.deepStrictEqual([empty?.trials, empty?.latency, empty?.scores[0]?.mean], [0, undefined, undefined])
  })

  it("counts trials without a score", () => {
    const [summary] = summaries({
      variants: { a: [[1], [{ scores: [{ scorer: "exact", error: { tag: "E", message: "" } }] }]] }
    })
    assert.deepStrictEqual(
      [summary?.scores[0]?.unscored, summary?.scores[0]?.cases, summary?.scores[0]?.mean],
      [1, 1, 1]
    )
  })
})
