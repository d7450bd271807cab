import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as FastCheck from "effect/FastCheck"
import * as OverlapScorer from "../../../src/eval/scorer/OverlapScorer.js"
import type * as Scorer from "../../../src/eval/scorer/Scorer.js"
import * as Growth from "../../support/Growth.js"

type Texts = string | ReadonlyArray<string>

const valueOf = (scorer: Scorer.Scorer<unknown, string, Texts>, output: string, expected: Texts) =>
  Effect.map(scorer.score({ input: "", output, expected, response: undefined }), ({ value }) => value)

const pairs: ReadonlyArray<readonly [string, ReadonlyArray<string>]> = [
  ["the cat is on the mat", ["the cat sat on the mat"]],
  ["The quick brown fox jumps over the lazy dog.", ["The fast brown fox jumps over the lazy dog."]],
  [
    "It is a guide to action which ensures that the military always obeys the commands of the party",
    [
      "It is a guide to action that ensures that the military will forever heed Party commands",
      "It is the guiding principle which guarantees the military forces always being under the command of the Party",
      "It is the practical guide for the army always to heed the directions of the party"
    ]
  ],
  ["Price: $1,234.56 today", ["The price is $1,234.56 today, not more."]],
  ["the the the the the", ["the cat is on the mat"]],
  ["a b c", ["a b c d"]],
  ["hello", ["hello world"]],
  ["x y z w", ["x q z w"]],
  ["completely different words here now", ["none of them match at all"]]
]

describe("bleu", () => {
  const romanian = {
    expected: "producţia de zahăr brut se exprimă în zahăr alb;",
    output: "Producția de zahăr primă va fi exprimată în ceea ce privește zahărul alb;"
  }

  it.effect("gives the numbers of sacrebleu's own tests", () =>
    Effect.gen(function* () {
      const { expected, output } = romanian
      assert.closeTo(yield* valueOf(OverlapScorer.bleu(), output, expected), 0.08493, 1e-5)
      const blanks = OverlapScorer.bleu({ tokenize: (text) => text.split(" ") })
      assert.closeTo(yield* valueOf(blanks, output, expected), 0.07347, 1e-5)
      assert.strictEqual(yield* valueOf(OverlapScorer.bleu(), "this is a cat", "okay thanks"), 0)
      assert.closeTo(yield* valueOf(OverlapScorer.bleu(), "test", "a test"), 0.3678794411714425, 1e-12)
      assert.closeTo(yield* valueOf(OverlapScorer.bleu(), "a test", "a test"), 1, 1e-12)
      // Of two references as near in length the shorter one counts, so that nothing is too short.
      assert.closeTo(yield* valueOf(OverlapScorer.bleu(), "a b c d", ["a b c", "a b c d e"]), 1, 1e-12)
      assert.closeTo(yield* valueOf(OverlapScorer.bleu(), "a b c d", ["a b c d e", "a b c"]), 1, 1e-12)
    })
  )

  // Of nltk 3.8: sentence_bleu with SmoothingFunction().method3, which is exponential smoothing, and as many weights as
  // the output has tokens, up to four.
  it.effect("gives the numbers of nltk, also with several references", () =>
    Effect.gen(function* () {
      const expected = [
        0.37991784282579627, 0.7825422900366437, 0.5045666840058485, 0.14628187563941414, 0.10400597689005309,
        0.7165313105737893, 0.36787944117144233, 0.3535533905932738, 0
      ]
      for (const [i, [output, references]] of pairs.entries())
        assert.closeTo(yield* valueOf(OverlapScorer.bleu(), output, references), expected[i] ?? -1, 1e-12)
    })
  )

  // Of nltk 3.8: NISTTokenizer, but for the hyphen at the end of a line, which sacrebleu removes.
  it("has the tokens of mteval-v13a", () => {
    const expected: ReadonlyArray<readonly [string, string]> = [
      ["Hello, world! It costs $1,234.56 (a lot).", "Hello , world ! It costs $ 1,234.56 ( a lot ) ."],
      ["state-of-the-art 3-4 times; 1990-2000", "state-of-the-art 3 - 4 times ; 1990 - 2000"],
      ["&quot;A &amp; B&quot; &lt;tag&gt;", '" A & B " < tag >'],
      ["U.S. is 5.5%, not .5", "U . S . is 5.5 % , not . 5"],
      ["a\nb hyphen-\nated<skipped>", "a b hyphenated"],
      ["It's {x|y} [z] a/b 'c' \"d\"", "It's { x | y } [ z ] a / b 'c' \" d \""],
      ["tab\there  two spaces", "tab here two spaces"],
      ["naïve café — 5,5", "naïve café — 5,5"],
      ["", ""]
    ]
    for (const [text, tokens] of expected)
      assert.deepStrictEqual(OverlapScorer.tokenize13a(text), tokens === "" ? [] : tokens.split(" "))
  })
})

describe("rouge", () => {
  // Of the tests of rouge-score; `target` and `prediction` are the other way around there.
  it.effect("gives the numbers of rouge-score's own tests", () =>
    Effect.gen(function* () {
      const score = (kind: 1 | 2 | "L", output: string) => valueOf(OverlapScorer.rouge(kind), output, "testing one two")
      assert.closeTo(yield* score(1, "testing"), 1 / 2, 1e-12)
      assert.closeTo(yield* score(2, "testing one"), 2 / 3, 1e-12)
      assert.closeTo(yield* score("L", "testing one"), 4 / 5, 1e-12)
      assert.closeTo(yield* score("L", "testing two"), 4 / 5, 1e-12)
      for (const kind of [1, 2, "L"] as const)
        for (const empty of ["", "/"]) assert.strictEqual(yield* score(kind, empty), 0)
    })
  )

  // Of a second implementation in Python, by n-gram counters and a memoized recursion.
  it.effect("gives the numbers of another implementation, of the best reference", () =>
    Effect.gen(function* () {
      const expected = [
        [0.8333333333333334, 0.6, 0.8333333333333334],
        [0.8888888888888888, 0.75, 0.8888888888888888],
        [0.7058823529411765, 0.5, 0.6470588235294118],
        [0.7142857142857143, 0.5, 0.7142857142857143],
        [0.3636363636363636, 0, 0.3636363636363636],
        [0.8571428571428571, 0.8, 0.8571428571428571],
        [0.6666666666666666, 0, 0.6666666666666666],
        [0.75, 0.3333333333333333, 0.75],
        [0, 0, 0]
      ]
      for (const [i, [output, references]] of pairs.entries())
        for (const [j, kind] of ([1, 2, "L"] as const).entries())
          assert.closeTo(yield* valueOf(OverlapScorer.rouge(kind), output, references), expected[i]?.[j] ?? -1, 1e-12)
    })
  )

  it.effect("takes other words and another name", () =>
    Effect.gen(function* () {
      const letters = OverlapScorer.rouge(1, { name: "letters", tokenize: (text) => Array.from(text) })
      assert.strictEqual(letters.name, "letters")
      assert.strictEqual(OverlapScorer.rouge("L").name, "rougeL")
      assert.strictEqual(yield* valueOf(OverlapScorer.rouge(1), "東京都", "東京"), 0)
      assert.strictEqual(yield* valueOf(letters, "東京都", "東京"), 4 / 5)
    })
  )

  it.effect("refuses texts of too many words for L", () =>
    Effect.gen(function* () {
      const long = "word ".repeat(5001)
      const error = yield* Effect.flip(valueOf(OverlapScorer.rouge("L"), long, "word"))
      assert.include(error.message, "ROUGE-L takes texts of up to 5000 words, not of 5001 and 1")
    })
  )
})

describe("bleu and rouge", () => {
  const scorers = [OverlapScorer.bleu(), OverlapScorer.rouge(1), OverlapScorer.rouge(2), OverlapScorer.rouge("L")]

  it("are from 0 to 1, and 1 for the same text of words", () => {
    const texts = FastCheck.array(FastCheck.constantFrom("a", "b", "__proto__", "1.5", ",", "é", "\u0000"), {
      maxLength: 12
    }).map((words) => words.join(" "))
    FastCheck.assert(
      FastCheck.property(texts, FastCheck.array(texts, { minLength: 1, maxLength: 3 }), (output, references) => {
        for (const scorer of scorers) {
          const value = Effect.runSync(valueOf(scorer, output, references))
          assert.isTrue(value >= 0 && value <= 1)
          const words = `one two ${output}`
          assert.closeTo(Effect.runSync(valueOf(scorer, words, [...references, words])), 1, 1e-12)
        }
      })
    )
  })

  it.effect("refuse outputs that are no text, and cases without one", () =>
    Effect.gen(function* () {
      for (const scorer of scorers) {
        const notText = yield* Effect.flip(valueOf(scorer, 5 as any, "a"))
        assert.include(notText.message, "its output is no text, but number: map the subject to a text")
        for (const expected of [undefined, [], [1]])
          assert.include(
            (yield* Effect.flip(valueOf(scorer, "a", expected as any))).message,
            "what is expected is no text"
          )
      }
    })
  )

  it.effect("take time linear in the text, but L", () =>
    Growth.assertLinearTextsEffect(
      ["a b c d ", "....,,,,", "1-2-", "&amp;", (size) => "x".repeat(size), "-\n", "a<skipped>"],
      (text) => Effect.forEach(scorers.slice(0, 3), (scorer) => valueOf(scorer, text, [text, "a b"])),
      48_000
    )
  )
})
