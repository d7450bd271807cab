import { assert, describe, it } from "@effect/vitest"
import * as Either from "effect/Either"
import * as VariantComparison from "../../../src/eval/report/VariantComparison.js"
import * as Experiments from "../../support/Experiments.js"

const compare = (before: Experiments.Given, after: Experiments.Given, more: Partial<VariantComparison.Options> = {}) =>
  VariantComparison.make({
    baseline: { results: Experiments.results(before) },
    candidate: { results: Experiments.results(after) },
    scorer: "exact",
    ...more
  })

const refusal = (result: ReturnType<typeof compare>): string => {
  const error = Either.getOrThrow(Either.flip(result))
  assert.strictEqual(error._tag, "StatisticsError")
  assert.isNotEmpty(error.hint)
  return error.message
}

describe("VariantComparison", () => {
  it("compares the means of cases, the greatest loss first", () => {
    const compared = Either.getOrThrow(
      compare({ variants: { old: [[1, 1], [1, 0], [0], [1]] } }, { variants: { new: [[0, 0], [1, 1], [0], [0.5]] } })
    )
    assert.deepStrictEqual(compared.pairs, [
      { caseId: "case 1", baseline: 1, candidate: 0 },
      { caseId: "case 4", baseline: 1, candidate: 0.5 },
      { caseId: "case 3", baseline: 0, candidate: 0 },
      { caseId: "case 2", baseline: 0.5, candidate: 1 }
    ])
    assert.deepStrictEqual([compared.wins, compared.losses, compared.ties, compared.cases], [1, 2, 1, 4])
    assert.deepStrictEqual([compared.baseline, compared.candidate, compared.scorer], ["old", "new", "exact"])
    assert.deepStrictEqual([compared.meanBaseline, compared.meanCandidate, compared.difference], [0.625, 0.375, -0.25])
    assert.deepStrictEqual(compared.unpaired, [])
  })

  it("compares the variants of one experiment by their names", () => {
    const results = Experiments.results({ variants: { a: Experiments.split(20, 0), b: Experiments.split(10, 10) } })
    const compared = Either.getOrThrow(
      VariantComparison.make({
        baseline: { results, variant: "a" },
        candidate: { results, variant: "b" },
        scorer: "exact"
      })
    )
    // Ten of ten differences go one way: one in 2^10.
    assert.closeTo(compared.pWorse, 2 ** -10, 1e-12)
    assert.deepStrictEqual([compared.losses, compared.ties], [10, 10])
  })

  it("leaves out cases that one of the two has no score of", () => {
    const unscored = { scores: [{ scorer: "exact", error: { tag: "E", message: "m" } }] }
    const compared = Either.getOrThrow(
      compare({ variants: { a: [[1], [unscored], [1]] } }, { variants: { a: [[unscored], [1], [0]] } })
    )
    assert.deepStrictEqual(compared.unpaired, ["case 1", "case 2"])
    assert.deepStrictEqual([compared.cases, compared.difference], [1, -1])
  })

  it("has the tolerance and the seed of the test of pairs", () => {
    const [before, after] = [
      { variants: { a: Array.from({ length: 30 }, (_, i) => [0.5 + (i % 7) / 70]) } },
      { variants: { a: Array.from({ length: 30 }, (_, i) => [0.48 + (i % 5) / 70]) } }
    ]
    const of = (more: Partial<VariantComparison.Options>) => Either.getOrThrow(compare(before, after, more))
    assert.isBelow(of({}).pWorse, 0.05)
    assert.isAbove(of({ tolerance: 0.2 }).pWorse, 0.5)
    assert.deepStrictEqual(of({ seed: 3 }), of({ seed: 3 }))
    assert.notDeepEqual(of({ seed: 3 }).interval, of({ seed: 4 }).interval)
    assert.isBelow(of({ confidence: 0.5 }).interval?.upper ?? 1, of({}).interval?.upper ?? 0)
  })

  it("does not depend on the order in which trials ended", () => {
    const given = { variants: { a: Array.from({ length: 40 }, (_, i) => [(i % 9) / 9, (i % 4) / 4]) } }
    const results = Experiments.results(given)
    const turned = { ...results, finished: [...results.finished].reverse() }
    const other = Experiments.results({ variants: { a: Array.from({ length: 40 }, (_, i) => [(i % 6) / 6]) } })
    const of = (baseline: typeof results) =>
      Either.getOrThrow(
        VariantComparison.make({ baseline: { results: baseline }, candidate: { results: other }, scorer: "exact" })
      )
    assert.deepStrictEqual(of(turned).interval, of(results).interval)
    assert.strictEqual(of(turned).pWorse, of(results).pWorse)
  })

  it("says why two cannot be compared", () => {
    const one = { variants: { a: [[1]] } }
    assert.include(refusal(compare(one, { ...one, version: "w" })), "the datasets differ: d v, d w")
    assert.include(refusal(compare(one, one, { scorer: "other" })), 'no case has scores of "other"')
    const two = { id: "t", variants: { a: [[1]], b: [[1]] } }
    assert.include(refusal(compare(one, two)), 'the experiment "t" has 2 variants')
    const results = Experiments.results(two)
    assert.include(
      refusal(compare(one, one, { candidate: { results, variant: "c" } })),
      'the experiment "t" has no variant "c"'
    )
    assert.include(refusal(compare(one, one, { tolerance: -1 })), "tolerance is -1")
  })
})
