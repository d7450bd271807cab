import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Gate from "../../../src/eval/report/Gate.js"
import * as Experiments from "../../support/Experiments.js"

const good = Experiments.results({ id: "good", variants: { a: Experiments.split(180, 20) } })
const bad = Experiments.results({ id: "bad", variants: { a: Experiments.split(120, 80) } })

const problems = (results: typeof good, options: Gate.Options) =>
  Effect.map(Effect.flip(Gate.check(results, options)), (error) => {
    assert.strictEqual(error._tag, "GateError")
    if (error._tag !== "GateError") return []
    assert.isNotEmpty(error.hint)
    for (const problem of error.problems) assert.include(error.message, `- ${problem}`)
    return error.problems
  })

const refusal = (options: Gate.Options, results = good) =>
  Effect.map(Effect.flip(Gate.check(results, options)), (error) => {
    assert.strictEqual(error._tag, "StatisticsError")
    return error.message
  })

describe("Gate", () => {
  it.effect("holds a least mean of each scorer", () =>
    Effect.gen(function* () {
      const passed = yield* Gate.check(good, { min: { exact: 0.9 } })
      assert.deepStrictEqual([passed.variant, passed.means, passed.comparisons], ["a", { exact: 0.9 }, []])
      assert.deepStrictEqual(yield* problems(good, { min: { exact: 0.91 } }), [
        "exact: the mean is 90.0 %, at least 91.0 %"
      ])
      const none = Experiments.results({ variants: { a: [[{ scores: [] }]] } })
      assert.deepStrictEqual(yield* problems(none, { min: { exact: 0.5 }, maxUnscored: 1 }), [
        "exact: the mean is unknown, at least 50.0 %"
      ])
    })
  )

  it.effect("tells of what became worse, with the cases that lost", () =>
    Effect.gen(function* () {
      const [problem] = yield* problems(bad, { noWorseThan: good })
      assert.match(
        problem ?? "",
        /^exact: 60\.0 % after 90\.0 %, worse by 30\.0 % with p = \d\.\de-\d+; 60 cases lost, first case 121, /
      )
      const { comparisons } = yield* Gate.check(good, { noWorseThan: bad })
      assert.strictEqual(comparisons[0]?.wins, 60)
      yield* Gate.check(good, { noWorseThan: { results: good, variant: "a" } })
    })
  )

  it.effect("bears what is within the tolerance, and what may be noise", () =>
    Effect.gen(function* () {
      const slightly = Experiments.results({ variants: { a: Experiments.split(170, 30) } })
      assert.lengthOf(yield* problems(slightly, { noWorseThan: good }), 1)
      yield* Gate.check(slightly, { noWorseThan: good, tolerance: 0.05 })
      yield* Gate.check(slightly, { noWorseThan: good, alpha: 1e-6 })
      const once = Experiments.results({ variants: { a: Experiments.split(179, 21) } })
      yield* Gate.check(once, { noWorseThan: good })
    })
  )

  it.effect("holds the chance of a false alarm over all scorers together", () =>
    Effect.gen(function* () {
      const of = (lost: number, scorers: ReadonlyArray<string>) =>
        Experiments.results({
          scorers,
          variants: {
            a: Array.from({ length: 20 }, (_, i) => [
              { scores: scorers.map((scorer, at) => ({ scorer, value: at === 0 && i < lost ? 0 : 1 })) }
            ])
          }
        })
      // Five losses without a win have a chance of 1/32: below 1/20, but not below 1/40.
      assert.lengthOf(yield* problems(of(5, ["a"]), { noWorseThan: of(0, ["a"]) }), 1)
      yield* Gate.check(of(5, ["a", "b"]), { noWorseThan: of(0, ["a", "b"]) })
      assert.lengthOf(yield* problems(of(6, ["a", "b"]), { noWorseThan: of(0, ["a", "b"]) }), 1)
      // A scorer that one of the two alone has is not compared.
      assert.lengthOf(yield* problems(of(5, ["a", "b"]), { noWorseThan: of(0, ["a"]) }), 1)
    })
  )

  it.effect("judges the variant that it names", () =>
    Effect.gen(function* () {
      const both = Experiments.results({ variants: { old: Experiments.split(20, 0), new: Experiments.split(5, 15) } })
      assert.lengthOf(yield* problems(both, { variant: "new", noWorseThan: { results: both, variant: "old" } }), 1)
      assert.strictEqual((yield* Gate.check(both, { variant: "old", min: { exact: 1 } })).variant, "old")
      assert.include(yield* refusal({ min: {} }, both), "has 2 variants")
    })
  )

  it.effect("bounds costs, trials without a score, and trials without a result", () =>
    Effect.gen(function* () {
      const dear = Experiments.results({
        variants: { a: [[{ scores: [{ scorer: "exact", value: 1 }], costUsd: 0.75 }], [{ scores: [], costUsd: 0.5 }]] }
      })
      assert.deepStrictEqual(yield* problems(dear, { maxCostUsd: 1 }), [
        "exact: 1 trials have no score (50.0 %)",
        "the tasks cost $1.2500, at most $1"
      ])
      yield* Gate.check(dear, { maxCostUsd: 1.25, maxUnscored: 0.5 })
      const cut = { ...good, finished: good.finished.slice(3) }
      assert.deepStrictEqual(yield* problems(cut, {}), ["3 trials have no result, at most 0 may"])
      yield* Gate.check(cut, { maxMissing: 3 })
    })
  )

  it.effect("has the same result by the same seed", () =>
    Effect.gen(function* () {
      const graded = (by: number) =>
        Experiments.results({ variants: { a: Array.from({ length: 50 }, (_, i) => [(((i * by) % 17) + 1) / 20]) } })
      const options = { noWorseThan: graded(3), alpha: 0.0001 }
      const of = (seed: number) =>
        Effect.map(Gate.check(graded(5), { ...options, seed }), ({ comparisons }) => comparisons)
      assert.deepStrictEqual(yield* of(1), yield* of(1))
      assert.notDeepEqual(yield* of(1), yield* of(2))
      const [wide] = (yield* Gate.check(graded(5), { ...options, confidence: 0.99 })).comparisons
      const [narrow] = (yield* Gate.check(graded(5), { ...options, confidence: 0.5, samples: 1000 })).comparisons
      assert.isAbove(wide?.interval?.upper ?? 0, narrow?.interval?.upper ?? 1)
    })
  )

  it.effect("refuses what it cannot judge", () =>
    Effect.gen(function* () {
      assert.include(yield* refusal({ min: { other: 1 } }), 'no scorer is named "other"')
      assert.include(yield* refusal({ min: { exact: 80 } }), "the least score of exact is 80")
      assert.include(yield* refusal({ alpha: 0 }), "alpha is 0")
      assert.include(yield* refusal({ maxCostUsd: Number.NaN }), "maxCostUsd is NaN")
      assert.include(yield* refusal({ maxUnscored: -1 }), "maxUnscored is -1")
      assert.include(yield* refusal({ maxMissing: Number.NaN }), "maxMissing is NaN")
      const other = Experiments.results({ scorers: ["other"], variants: { a: [[1]] } })
      assert.include(yield* refusal({ noWorseThan: other }), "none of the scorers")
      const version = Experiments.results({ version: "w", variants: { a: [[1]] } })
      assert.include(yield* refusal({ noWorseThan: version }), "the datasets differ")
    })
  )
})
