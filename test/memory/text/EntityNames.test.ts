import { assert, describe, it } from "@effect/vitest"
import * as FastCheck from "effect/FastCheck"
import * as EntityNames from "../../../src/memory/text/EntityNames.js"
import * as Growth from "../../support/Growth.js"

const cases: ReadonlyArray<readonly [fact: string, text: string, names: ReadonlyArray<string>]> = [
  ["a capitalised word inside a sentence", "yesterday we met Anna in Paris", ["Anna", "Paris"]],
  ["a run of capitalised words is one name", "we met Anna Maria Smith there", ["Anna Maria Smith"]],
  [
    "particles join names",
    "he heard Ludwig van Beethoven at the Bank of America",
    ["Ludwig van Beethoven", "Bank of America"]
  ],
  ["a number belongs to the name before it", "they flew with Apollo 11 to the moon", ["Apollo 11"]],
  ["one word that begins a sentence is none", "Water is wet. Running helps.", []],
  ["one word that begins a sentence is a name when it comes again", "Anna likes tea. I know Anna well.", ["Anna"]],
  ["a word that also comes in small letters is none", "Water is wet. Water is the best water.", []],
  ["a run at the beginning of a sentence is a name", "Anna Smith went home.", ["Anna Smith"]],
  ["words of grammar before a name are not part of it", "In Paris I met The Beatles", ["Paris", "Beatles"]],
  ["a possessive at the beginning of a sentence is a name", "Anna's birthday is in May.", ["Anna"]],
  ["the possessive ends a run", "we took Anna's Volvo", ["Anna", "Volvo"]],
  ["a title belongs to the name", "ask Dr. Smith about it", ["Dr. Smith"]],
  ["months and weekdays are none", "we meet on Monday in January", []],
  ["an acronym is a name", "he works for NASA and AT&T", ["NASA", "AT&T"]],
  ["a quoted name", 'the club is called "Blue Note" by all', ["Blue Note"]],
  ["a quoted sentence is none", 'he said "hello there my friend" and left', []],
  ["names in scripts without capitals stand in quotes", "彼は「東京」に住んでいる", ["東京"]],
  ["an e-mail address", "write to anna.smith@mail.example.org.", ["anna.smith@mail.example.org"]],
  ["a handle", "ask @anna_s or (@bob)", ["@anna_s", "@bob"]],
  ["a lone at sign is none", "at @ or @x or a@b", []],
  ["each once, whatever its case, in the order of appearance", "by Paris and PARIS and Rome", ["Paris", "Rome"]],
  ["a long run of capitals is somebody shouting", "so THIS IS ALL VERY LOUD BUT SAYS NOTHING TO ANYBODY HERE", []],
  ["the first person is none", "then I said that I'm here", []],
  ["letters beyond ASCII", "we met Åsa Öberg and Élodie there", ["Åsa Öberg", "Élodie"]],
  ["nothing in nothing", "", []]
]

describe("EntityNames.entitiesOf", () => {
  for (const [fact, text, names] of cases) {
    it(fact, () => {
      assert.deepStrictEqual(EntityNames.entitiesOf(text), names)
    })
  }

  it("returns at most the given number", () => {
    assert.deepStrictEqual(EntityNames.entitiesOf("by Paris and Rome and Oslo", { limit: 2 }), ["Paris", "Rome"])
    const many = Array.from({ length: 500 }, (_, index) => `and Name${index}x`).join(" ")
    assert.strictEqual(EntityNames.entitiesOf(many).length, 64)
  })

  it("ignores text beyond the examined characters", () => {
    const text = `${"x ".repeat(EntityNames.maxChars / 2)} by Paris`
    assert.deepStrictEqual(EntityNames.entitiesOf(text), [])
  })

  it("reads hostile texts of 100 kB in little time", () => {
    const unit = [
      "@",
      "a@",
      '"',
      '"A',
      "A ",
      "A of ",
      "A'",
      "A. ",
      "«",
      "a.",
      "\u0301",
      "A\u0301'",
      "Dr. ",
      "1 ",
      "\ud800"
    ]
    Growth.assertLinearTexts(unit, EntityNames.entitiesOf, 100_000)
  })

  it("returns only names of the text, for any text", () => {
    FastCheck.assert(
      FastCheck.property(
        FastCheck.array(
          FastCheck.constantFrom("Anna", "Paris", "of", "the", "@bob", '"', ". ", " ", "\n", "x", "'s", "I", "é"),
          {
            maxLength: 40
          }
        ),
        (parts) => {
          const text = parts.join("")
          const plain = text.replace(/\s+/g, " ")
          for (const name of EntityNames.entitiesOf(text)) assert.include(plain, name)
        }
      ),
      { numRuns: 300 }
    )
  })
})
