import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Scorer from "../../../src/eval/scorer/Scorer.js"

const subject: Scorer.Subject<string, string, string> = {
  input: "2 + 2?",
  output: "4",
  expected: "4",
  response: undefined
}

describe("Scorer", () => {
  it.effect("takes true, false, a number or a whole score", () =>
    Effect.gen(function* () {
      const valueOf = (score: boolean | number | Scorer.Score) =>
        Effect.map(Scorer.make("s", () => score).score(subject), ({ value }) => value)
      assert.strictEqual(yield* valueOf(true), 1)
      assert.strictEqual(yield* valueOf(false), 0)
      assert.strictEqual(yield* valueOf(0.25), 0.25)
      assert.strictEqual(yield* valueOf({ value: 0.5, reason: "half" }), 0.5)
    })
  )

  it.effect("fails where a score is not from 0 to 1", () =>
    Effect.gen(function* () {
      for (const value of [-0.1, 1.1, Number.NaN, Number.POSITIVE_INFINITY]) {
        const error = yield* Effect.flip(Scorer.make("s", () => value).score(subject))
        assert.instanceOf(error, Scorer.ScorerError)
        assert.include(error.message, `s gave no score: its score is ${value}`)
      }
    })
  )

  it.effect("fails where its function throws or its effect fails, and says which scorer did", () =>
    Effect.gen(function* () {
      const thrown = yield* Effect.flip(
        Scorer.make("s", () => {
          throw new Error("no field")
        }).score(subject)
      )
      assert.deepStrictEqual([thrown.scorer, thrown.message], ["s", "s gave no score: it threw: no field"])
      const failed = yield* Effect.flip(Scorer.makeEffect("e", () => Effect.fail("no answer")).score(subject))
      assert.deepStrictEqual([failed.scorer, failed.message], ["e", "e gave no score: no answer"])
      const own = Scorer.noScore("judge", "no verdict", { hint: "Ask again" })
      assert.strictEqual(yield* Effect.flip(Scorer.makeEffect("e", () => Effect.fail(own)).score(subject)), own)
    })
  )
})
