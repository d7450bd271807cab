import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Scorer from "../../../src/eval/scorer/Scorer.js"
import * as TextScorer from "../../../src/eval/scorer/TextScorer.js"

interface Place {
  readonly city: string
}

const subject: Scorer.Subject<string, Place, Place> = {
  input: "x",
  output: { city: "Paris" },
  expected: { city: "paris" },
  response: undefined
}

const fixed = (name: string, score: number | Scorer.Score) => Scorer.make(name, () => score)

const throwing = () => {
  throw new Error("no field")
}

describe("combinators of scorers", () => {
  it.effect("score another subject, under another name", () =>
    Effect.gen(function* () {
      const city = Scorer.mapSubject(TextScorer.normalized(), (one: Scorer.Subject<string, Place, Place>) => ({
        ...one,
        output: one.output.city,
        expected: one.expected.city
      }))
      assert.deepStrictEqual([city.name, (yield* city.score(subject)).value], ["normalized", 1])
      const same = Scorer.named(city, "city")
      assert.deepStrictEqual([same.name, (yield* same.score(subject)).value], ["city", 1])
      const error = yield* Effect.flip(Scorer.mapSubject(fixed("a", 1), throwing).score(subject))
      assert.include(error.message, "a gave no score: it threw: no field")
    })
  )

  it.effect("change values, which must stay from 0 to 1", () =>
    Effect.gen(function* () {
      const score = { value: 0.3, reason: "so so", costUsd: 2 }
      const inverted = Scorer.mapValue(fixed("a", score), (value) => 1 - value)
      assert.deepStrictEqual(yield* inverted.score(subject), { value: 0.7, reason: "so so", costUsd: 2 })
      const large = Scorer.mapValue(fixed("a", 0.5), (value) => value * 4)
      assert.include((yield* Effect.flip(large.score(subject))).message, "its score is 2")
      const broken = Scorer.mapValue(fixed("a", 0.5), throwing)
      assert.include((yield* Effect.flip(broken.score(subject))).message, "it threw: no field")
    })
  )

  it.effect("decide by a threshold", () =>
    Effect.gen(function* () {
      const valueOf = (value: number) =>
        Effect.map(Scorer.threshold(0.5)(fixed("a", value)).score(subject), ({ value }) => value)
      assert.deepStrictEqual([yield* valueOf(0.49), yield* valueOf(0.5), yield* valueOf(1)], [0, 1, 1])
    })
  )

  it.effect("weigh several scorers, with their reasons, usage and costs", () =>
    Effect.gen(function* () {
      const judge = fixed("judge", { value: 0.5, reason: "curt", usage: { totalTokens: 10 }, costUsd: 0.5 })
      const other = fixed("other", { value: 1, usage: { totalTokens: 5 }, costUsd: 0.25 })
      const both = Scorer.weighted("both", [
        [judge, 1],
        [other, 3],
        [fixed("exact", 0), 1],
        [fixed("long", 1), 5]
      ])
      assert.deepStrictEqual(yield* both.score(subject), {
        value: 0.85,
        reason: "judge 0.5 (curt); exact 0",
        usage: { totalTokens: 15 },
        costUsd: 0.75
      })
      const unpriced = fixed("unpriced", { value: 1, usage: { totalTokens: 1 } })
      const score = yield* Scorer.weighted("some", [
        [judge, 1],
        [unpriced, 1]
      ]).score(subject)
      assert.deepStrictEqual([score.usage?.totalTokens, score.costUsd], [11, undefined])
      const tenths = Array.from({ length: 10 }, (_, i) => [fixed(`s${i}`, 1), 0.1] as const)
      assert.deepStrictEqual(yield* Scorer.weighted("ones", tenths).score(subject), { value: 1 })
    })
  )

  it.effect("take the lowest of several", () =>
    Effect.gen(function* () {
      const lowest = Scorer.all("all", [fixed("a", 1), fixed("b", 0.25), fixed("c", 0.5)])
      assert.deepStrictEqual(yield* lowest.score(subject), { value: 0.25, reason: "b 0.25; c 0.5" })
      assert.deepStrictEqual(yield* Scorer.all("all", [fixed("a", 1)]).score(subject), { value: 1 })
    })
  )

  it.effect("fail with the scorer that fails", () =>
    Effect.gen(function* () {
      const broken = Scorer.make("broken", throwing)
      for (const scorer of [Scorer.all("x", [fixed("a", 1), broken]), Scorer.weighted("x", [[broken, 1]])])
        assert.strictEqual((yield* Effect.flip(scorer.score(subject))).scorer, "broken")
    })
  )

  it("refuse no scorers and weights that are none", () => {
    assert.throws(() => Scorer.all("x", []), "x has no scorers")
    assert.throws(() => Scorer.weighted("x", []), "x has no scorers")
    for (const weight of [0, -1, Number.NaN, Number.POSITIVE_INFINITY])
      assert.throws(() => Scorer.weighted("x", [[fixed("a", 1), weight]]), `the weight of a is ${weight}`)
  })
})
