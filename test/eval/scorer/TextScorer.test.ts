import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as FastCheck from "effect/FastCheck"
import * as TextScorer from "../../../src/eval/scorer/TextScorer.js"
import * as Growth from "../../support/Growth.js"

const subject = (output: string, expected: TextScorer.References) => ({
  input: "",
  output,
  expected,
  response: undefined
})

const valueOf = (scorer: TextScorer.TextScorer, output: string, expected: TextScorer.References) =>
  Effect.map(scorer.score(subject(output, expected)), ({ value }) => value)

const check = Effect.fnUntraced(function* (
  scorer: TextScorer.TextScorer,
  cases: ReadonlyArray<readonly [output: string, expected: TextScorer.References, value: number]>
) {
  for (const [output, expected, value] of cases)
    assert.closeTo(yield* valueOf(scorer, output, expected), value, 1e-12, JSON.stringify([output, expected]))
})

const every: ReadonlyArray<TextScorer.TextScorer> = [
  TextScorer.exact,
  TextScorer.normalized({ ignoreArticles: true, ignorePunctuation: true }),
  TextScorer.containsAll(),
  TextScorer.containsAny(),
  TextScorer.matches(),
  TextScorer.similarity(),
  TextScorer.tokenF1
]

describe("exact", () => {
  it.effect("compares character by character with each reference", () =>
    check(TextScorer.exact, [
      ["Paris", "Paris", 1],
      ["paris", "Paris", 0],
      ["Paris ", "Paris", 0],
      ["b", ["a", "b"], 1],
      ["", "", 1],
      ["e\u0301", "é", 0]
    ])
  )
})

describe("normalized", () => {
  it.effect("takes no notice of case, space and forms of Unicode by default", () =>
    check(TextScorer.normalized(), [
      [" PARIS\n is\u00a0big", "Paris is big", 1],
      ["e\u0301", "É", 1],
      ["ﬁve ２", "five 2", 1],
      ["Paris.", "Paris", 0],
      ["the Paris", "Paris", 0]
    ])
  )

  it.effect("takes notice of what its options say", () =>
    Effect.gen(function* () {
      assert.strictEqual(TextScorer.normalized({ name: "loose" }).name, "loose")
      yield* check(TextScorer.normalized({ ignoreCase: false }), [["PARIS", "Paris", 0]])
      yield* check(TextScorer.normalized({ ignoreWhitespace: false }), [
        ["a  b", "a b", 0],
        ["A b", "a b", 1]
      ])
      yield* check(TextScorer.normalized({ ignorePunctuation: true }), [
        ["«Paris», $5!", "paris 5", 1],
        ["don't", "dont", 1]
      ])
      yield* check(TextScorer.normalized({ ignoreArticles: true }), [
        ["The capital: a city", "capital: city", 1],
        ["theme an-ant éa", "theme -ant éa", 1],
        ["thé", "é", 0]
      ])
    })
  )
})

describe("containsAll and containsAny", () => {
  it.effect("look for what was expected", () =>
    Effect.gen(function* () {
      const text = "The Eiffel  Tower stands in PARIS."
      yield* check(TextScorer.containsAll(), [
        [text, "paris", 1],
        [text, ["eiffel tower", "Paris"], 1],
        [text, ["Eiffel", "Rome"], 0],
        [text, "", 1]
      ])
      yield* check(TextScorer.containsAny(), [
        [text, ["Rome", "Paris"], 1],
        [text, ["Rome", "Oslo"], 0]
      ])
      yield* check(TextScorer.containsAll({ ignoreCase: false }), [[text, "paris", 0]])
      yield* check(TextScorer.containsAny({ ignorePunctuation: true }), [[text, "in paris", 1]])
    })
  )

  it.effect("look for given texts, and name what is missing", () =>
    Effect.gen(function* () {
      const scorer = TextScorer.containsAll({ name: "facts", texts: ["a", "x\ny", "2", "3", "4", "5", "6"] })
      const { reason, value } = yield* scorer.score(subject("a", "unused"))
      assert.deepStrictEqual(
        [scorer.name, value, reason],
        ["facts", 0, 'it does not contain "x\\ny", "2", "3", "4", "5" and 1 more']
      )
      assert.strictEqual((yield* TextScorer.containsAny({ texts: ["a", "b"] }).score(subject("b", "x"))).value, 1)
    })
  )
})

describe("matches", () => {
  it.effect("finds a given expression, however often it was used", () =>
    Effect.gen(function* () {
      const scorer = TextScorer.matches(/order \d+/gi, "ordered")
      assert.strictEqual(scorer.name, "ordered")
      for (let i = 0; i < 3; i++) yield* check(scorer, [["Your ORDER 17 is on its way", "", 1]])
      yield* check(scorer, [["Your order", "", 0]])
    })
  )

  it.effect("finds the pattern that was expected", () =>
    check(TextScorer.matches(), [
      ["order 17", "^order \\d+$", 1],
      ["order", "^order \\d+$", 0],
      ["b", ["a", "b"], 1],
      ["😀", "^.$", 1]
    ])
  )

  it.effect("refuses patterns of a dataset that may take long or are none, and long texts for them", () =>
    Effect.gen(function* () {
      const failure = (output: string, pattern: string) =>
        Effect.map(Effect.flip(valueOf(TextScorer.matches(), output, pattern)), ({ message }) => message)
      const hostile = `${"a".repeat(50)}!`
      for (const pattern of ["^(a+)+$", "(a|aa)+$", "(.*)(.*)(.*)b", "a{1000}{1000}", "\\1(a)", "x".repeat(1000)])
        assert.include(yield* failure(hostile, pattern), "may take long")
      for (const pattern of ["(", "[", "*", "a{2,1}"]) assert.isString(yield* failure("a", pattern))
      assert.include(yield* failure("x".repeat(10_001), "a"), "its output has 10001 characters")
      // The costliest pattern that is taken, on the longest text.
      assert.strictEqual(yield* valueOf(TextScorer.matches(), "a".repeat(10_000), "a.*b"), 0)
    })
  )
})

describe("similarity", () => {
  // Of rapidfuzz's definition, 1 - distance / length of the longer text, with distances of the literature.
  it.effect("is the part of the longer text that takes no edit", () =>
    check(TextScorer.similarity(), [
      ["kitten", "sitting", 1 - 3 / 7],
      ["saturday", "sunday", 1 - 3 / 8],
      ["intention", "execution", 1 - 5 / 9],
      ["", "", 1],
      ["", "abc", 0],
      ["abc", "abc", 1],
      ["a😀", "a😁", 0.5],
      ["xaby", "xy", 0.5],
      ["aXa", "aa", 1 - 1 / 3],
      ["aa", "a", 0.5],
      ["abab", "ab", 0.5]
    ])
  )

  it("is the same from both sides, and counts as an oracle does", () => {
    const oracle = (a: string, b: string): number =>
      a === "" || b === ""
        ? a.length + b.length
        : Math.min(
            oracle(a.slice(1), b) + 1,
            oracle(a, b.slice(1)) + 1,
            oracle(a.slice(1), b.slice(1)) + (a[0] === b[0] ? 0 : 1)
          )
    const texts = FastCheck.array(FastCheck.constantFrom("a", "b", "c"), { maxLength: 6 }).map((all) => all.join(""))
    FastCheck.assert(
      FastCheck.property(texts, texts, (a, b) => {
        const value = Effect.runSync(valueOf(TextScorer.similarity(), a, b))
        const longest = Math.max(a.length, b.length)
        assert.closeTo(value, longest === 0 ? 1 : 1 - oracle(a, b) / longest, 1e-12)
        assert.closeTo(Effect.runSync(valueOf(TextScorer.similarity(), b, a)), value, 1e-12)
      })
    )
  })

  it.effect("refuses texts that differ in more characters than it compares", () =>
    Effect.gen(function* () {
      const scorer = TextScorer.similarity({ name: "near", maxCharacters: 4 })
      const error = yield* Effect.flip(valueOf(scorer, "abcde", "vwxyz"))
      assert.include(error.message, "near gave no score: texts of 5 and 5 characters differ in more than 4 of them")
      const long = "x".repeat(1_000_000)
      assert.closeTo(yield* valueOf(scorer, `${long}ab${long}`, `${long}cd${long}`), 1, 1e-5)
      assert.instanceOf(yield* Effect.flip(valueOf(TextScorer.similarity(), "a".repeat(5001), "b")), Error)
    })
  )
})

describe("tokenF1", () => {
  // By the definition of SQuAD's evaluate-v1.1.py; the values are worked out by hand.
  it.effect("gives the F1 of words without case, punctuation and articles, of the best reference", () =>
    check(TextScorer.tokenF1, [
      ["The Eiffel Tower!", "eiffel tower", 1],
      ["in Paris, France", "Paris", 0.5],
      ["Rome", "Paris", 0],
      ["a a b b", "b c", 2 / 4],
      ["the", "a", 1],
      ["the", "x", 0],
      ["New York", ["Boston", "York"], 2 / 3],
      ["U.S.", "us", 1],
      ["éa", "é", 0]
    ])
  )
})

describe("scorers of texts", () => {
  it.effect("refuse outputs that are no text, and cases without one", () =>
    Effect.gen(function* () {
      for (const scorer of every) {
        for (const output of [undefined, null, 1, {}, ["a"]]) {
          const { message } = yield* Effect.flip(scorer.score(subject(output as any, "a")))
          assert.include(message, "its output is no text")
        }
        for (const expected of [undefined, null, 1, {}, [], ["a", 1]]) {
          const { message } = yield* Effect.flip(scorer.score(subject("a", expected as any)))
          assert.include(message, "what is expected is no text")
        }
      }
    })
  )

  it("are from 0 to 1 for any text, and 1 for the same text", () => {
    const texts = FastCheck.string({ unit: "binary", maxLength: 40 })
    FastCheck.assert(
      FastCheck.property(texts, texts, (output, expected) => {
        for (const scorer of every.filter(({ name }) => name !== "matches")) {
          const value = Effect.runSync(valueOf(scorer, output, expected))
          assert.isTrue(value >= 0 && value <= 1)
          assert.strictEqual(Effect.runSync(valueOf(scorer, output, output)), 1)
        }
      })
    )
  })

  it.effect("take time linear in the text", () =>
    Growth.assertLinearTextsEffect(
      ["a ", " ", "the ", "a.", "\u0301", "..", (size) => `${" ".repeat(size)}x`, (size) => "thea".repeat(size / 4)],
      (text) =>
        Effect.forEach(
          every.filter(({ name }) => name !== "matches"),
          (scorer) => valueOf(scorer, text, [text, `${text}b`])
        ),
      64_000
    )
  )
})
