import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as FastCheck from "effect/FastCheck"
import type * as Guard from "../../src/guard/pipeline/Guard.js"
import * as TopicGuard from "../../src/guard/TopicGuard.js"
import * as Growth from "../support/Growth.js"
import * as Windows from "../support/Windows.js"

const input = { stage: "input" } as const

/** What is found of the topics, as it stands in the text. */
const found = (topics: ReadonlyArray<string>, text: string) =>
  TopicGuard.make({ topics })
    .window!.find(text, 0)
    .map(({ end, start }) => text.slice(start, end))

const cases: ReadonlyArray<
  readonly [name: string, topics: ReadonlyArray<string>, text: string, found: ReadonlyArray<string>]
> = [
  ["whole words only", ["bet"], "a better alphabet, a bet, bet5", ["bet"]],
  ["at both ends of the text", ["bet"], "bet or bet", ["bet", "bet"]],
  ["in any case", ["Casino"], "CASINO casino cAsInO", ["CASINO", "casino", "cAsInO"]],
  ["beyond ASCII in any case", ["straße", "ΟΔΟΣ"], "STRASSE, Straße; οδος οδός", ["STRASSE", "Straße", "οδος"]],
  ["composed or not", ["café"], "cafe\u0301 CAFÉ cafe", ["cafe\u0301", "CAFÉ"]],
  ["in full width", ["poker"], "ｐｏｋｅｒ", ["ｐｏｋｅｒ"]],
  ["a word that goes on with a mark is another word", ["cafe"], "cafe\u0301", []],
  [
    "phrases across spaces, hyphens and lines",
    ["self harm"],
    "self harm, self-harm, SELF\n  HARM, selfharm",
    ["self harm", "self-harm", "SELF\n  HARM"]
  ],
  ["a hyphen in the topic or not", ["self-harm"], "self harm", ["self harm"]],
  ["not across a sentence", ["self harm"], "my self. Harm", []],
  ["not across a gap of any length", ["self harm"], `self${" ".repeat(20)}harm`, []],
  ["the words of a phrase alone are no phrase", ["insider trading"], "insider and trading", []],
  ["a phrase that begins again", ["a a b"], "a a a b", ["a a b"]],
  ["apostrophes", ["don't"], "Don’t", ["Don’t"]],
  ["next to an underscore or a digit sign", ["bet"], "my_bet #bet", ["bet", "bet"]],
  [
    "where no spaces stand",
    ["赌博", "カジノ", "การพนัน", "도박"],
    "在线赌博网站 オンラインカジノで เล่นการพนันออนไลน์ 도박을",
    ["赌博", "カジノ", "การพนัน", "도박"]
  ],
  ["another script ends a word", ["AI"], "AI赌博 ai", ["AI", "ai"]],
  ["letters with spaces between them", ["赌博"], "赌 博", ["赌 博"]],
  ["symbols count", ["C++", ".net"], "c, C++ and net or .NET", ["C++", ".NET"]],
  ["symbols alone", ["🎰"], "play 🎰🎰", ["🎰", "🎰"]],
  [
    "topics that overlap are found as one",
    ["online casino", "casino bonus"],
    "online casino bonus",
    ["online casino bonus"]
  ],
  ["the longest of those that begin alike", ["bet", "bet shop"], "bet shop bet", ["bet shop", "bet"]],
  [
    "a topic named like a property of objects",
    ["constructor", "__proto__"],
    "the constructor and proto",
    ["constructor", "proto"]
  ]
]

describe("TopicGuard", () => {
  for (const [name, topics, text, expected] of cases) {
    it(name, () => {
      assert.deepStrictEqual(found(topics, text), expected)
    })
  }

  it("ignores blank topics, and restricts nothing without topics", () => {
    assert.deepStrictEqual(found(["", "  ", "\n"], "any text"), [])
    assert.deepStrictEqual(found([], "any text"), [])
  })

  it.effect("blocks by default, and names the topic without the text", () =>
    Effect.gen(function* () {
      const check = (action?: TopicGuard.Options["action"]) =>
        TopicGuard.make({ topics: ["online casino"], action }).check("my ONLINE-CASINO", input)
      const result = yield* check()
      assert.strictEqual(result.action, "block")
      assert.strictEqual(result.guardName, "topic")
      assert.strictEqual(result.details.reason, 'the topic "online casino" is restricted')
      assert.notInclude(JSON.stringify(result), "ONLINE-CASINO")
      const redacted = yield* check("redact")
      assert.strictEqual(redacted.action === "redact" ? redacted.redactedContent : "", "my [REDACTED:TOPIC]")
      assert.strictEqual((yield* check("warn")).action, "warn")
    })
  )

  it("runs at its stages with its name", () => {
    const guard = TopicGuard.make({ topics: ["x"], stages: ["toolInput"], name: "words" })
    assert.deepStrictEqual([guard.name, guard.stages], ["words", ["toolInput"]])
    assert.deepStrictEqual(TopicGuard.make({ topics: ["x"] }).stages, ["input", "output"])
  })

  it.effect("judges a streamed text like the whole", () =>
    Effect.promise(() =>
      FastCheck.assert(
        FastCheck.asyncProperty(
          FastCheck.array(
            FastCheck.constantFrom(
              "self",
              "harm",
              "Self",
              "casino",
              "cafe",
              "\u0301",
              "赌",
              "博",
              "C++",
              "🎰",
              " ",
              "-",
              "\n",
              ".",
              "x",
              "1"
            ),
            { maxLength: 60 }
          ).map((parts) => parts.join("")),
          FastCheck.integer({ min: 1, max: 20 }),
          (text, size) =>
            Effect.gen(function* () {
              const guard: Guard.Guard = TopicGuard.make({
                topics: ["self harm", "casino", "café", "赌博", "c++", "🎰", "harm self"],
                action: "redact"
              })
              const whole = yield* guard.check(text, input)
              const streamed = yield* Windows.written(guard, text, size)
              assert.strictEqual(streamed.text, whole.action === "redact" ? whole.redactedContent : text)
            }).pipe(Effect.runPromise)
        ),
        { numRuns: 500 }
      )
    )
  )

  it("takes linear time on any text", () => {
    const guard = TopicGuard.make({
      topics: ["a a a a a a a b", "b", "self harm", ...Array.from({ length: 500 }, (_, i) => `topic ${i}`)]
    })
    Growth.assertLinearTexts(["a ", "a", "é", "e\u0301", "\u0301", "赌", "topic ", "😀", " ", "-\u200b"], (text) =>
      guard.window!.find(text, 0)
    )
  })
})
