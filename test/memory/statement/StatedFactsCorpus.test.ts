import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Corpus from "./StatedFactsCorpus.js"
import * as StatedFactsRun from "./StatedFactsRun.js"

/** Wrong ones of these results, as they can be read in a report. */
const wrong = (results: ReadonlyArray<StatedFactsRun.Result>) =>
  results.flatMap(({ isRight, stated }) => (isRight ? [] : [stated.says]))

describe("facts of 200 statements of our own, by rules", () => {
  it("has 200 statements, half of them corrections, half of each class held out", () => {
    assert.lengthOf(Corpus.all, 200)
    assert.lengthOf(
      Corpus.all.filter(({ isCorrection }) => isCorrection),
      100
    )
    assert.lengthOf(
      Corpus.all.filter(({ isHeldOut }) => isHeldOut),
      100
    )
    assert.lengthOf(new Set(Corpus.all.map(({ before, says }) => `${before} ${says}`)), 200)
  })

  it.effect("knows what holds and what has ended after each of them", () =>
    Effect.gen(function* () {
      const results = yield* StatedFactsRun.evaluate(Corpus.all)
      const [developed, heldOut] = [false, true].map((isHeldOut) =>
        wrong(results.filter(({ stated }) => stated.isHeldOut === isHeldOut))
      )
      assert.deepStrictEqual(developed, ["The capital of our project is its documentation."])
      assert.isAtMost(heldOut?.length ?? 100, 4, heldOut?.join("\n"))
      assert.deepStrictEqual(wrong(results.filter(({ stated }) => stated.isCorrection)), [])
    })
  )

  it.effect("knows less of statements in words of everyday, written after the rules", () =>
    Effect.gen(function* () {
      const results = yield* StatedFactsRun.evaluate(Corpus.everyday)
      assert.lengthOf(results, 40)
      const missed = wrong(results)
      assert.isAtMost(missed.length, 26, missed.join("\n"))
    })
  )
})
