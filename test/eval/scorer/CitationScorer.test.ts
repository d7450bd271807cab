import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as CitationScorer from "../../../src/eval/scorer/CitationScorer.js"
import * as Growth from "../../support/Growth.js"

const sources = [
  { number: 1, title: "Opening hours", source: "hours", place: "", text: "The museum opens at 9 and closes at 17." },
  { number: 2, title: "Prices", source: "prices", place: "", text: "A ticket costs 12 euros." }
]

const subject = (output: string) => ({ input: "When?", output, expected: [1], response: undefined })

describe("CitationScorer.make", () => {
  const scorer = CitationScorer.make({ sources: () => sources })

  it.effect("scores 1 where all citations hold, and names those that do not", () =>
    Effect.gen(function* () {
      assert.strictEqual(scorer.name, "citations")
      const cases: ReadonlyArray<readonly [string, number, string | undefined]> = [
        ["The museum opens at 9 [1]. A ticket costs 12 euros [2].", 1, undefined],
        ["The museum opens at 9.", 1, undefined],
        ["The museum opens at 10 [1].", 0, "[1] does not say what cites it"],
        ["The museum opens at 9 [3]. It closes at 17 [3].", 0, "[3] is no source"],
        [
          "It opens at 8 [1]. It costs 5 [2]. See [7].",
          0,
          "[1] does not say what cites it; [2] does not say what cites it; [7] is no source"
        ]
      ]
      for (const [output, value, reason] of cases) {
        const score = yield* scorer.score(subject(output))
        assert.deepStrictEqual([score.value, score.reason], [value, reason], output)
      }
    })
  )

  it.effect("takes the options of the check", () =>
    Effect.gen(function* () {
      const valueOf = (options: { readonly required?: boolean; readonly minSupport?: number }, output: string) =>
        Effect.map(
          CitationScorer.make({ name: "c", sources: () => sources, ...options }).score(subject(output)),
          ({ reason, value }) => [value, reason]
        )
      assert.deepStrictEqual(yield* valueOf({ required: true }, "It opens at 9."), [0, "nothing is cited"])
      const loose = "Tourists love how the museum opens early [1]."
      assert.strictEqual((yield* valueOf({ minSupport: 0.2 }, loose))[0], 1)
      assert.strictEqual((yield* valueOf({ minSupport: 0.9 }, loose))[0], 0)
    })
  )

  it.effect("fails for what is no text, and where the sources throw", () =>
    Effect.gen(function* () {
      assert.include((yield* Effect.flip(scorer.score(subject(5 as any)))).message, "its output is no text")
      const throwing = CitationScorer.make({
        sources: () => {
          throw new Error("no sources")
        }
      })
      assert.include((yield* Effect.flip(throwing.score(subject("x")))).message, "no sources")
    })
  )

  it.effect("takes time linear in the answer", () =>
    Growth.assertLinearTextsEffect(["It opens at 9 [1]. ", "[1]", "[", "`", "1,", "[1, 2-9] "], (text) =>
      scorer.score(subject(text))
    )
  )
})

describe("CitationScorer.recall", () => {
  it.effect("is the share of the relevant sources that are cited", () =>
    Effect.gen(function* () {
      const scorer = CitationScorer.recall({ relevant: () => [1, 2, 5, 5] })
      assert.strictEqual(scorer.name, "citation recall")
      const valueOf = (output: string) => Effect.map(scorer.score(subject(output)), ({ value }) => value)
      assert.strictEqual(yield* valueOf("a [1][1], b [3]"), 1 / 3)
      assert.strictEqual(yield* valueOf("a [1-2], b [5]"), 1)
      assert.strictEqual(yield* valueOf("`[1]`"), 0)
      const none = CitationScorer.recall({ name: "r", relevant: () => [] }).score(subject("a [1]"))
      assert.include((yield* Effect.flip(none)).message, "r gave no score: the case has no relevant sources")
    })
  )
})
