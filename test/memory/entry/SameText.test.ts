import { assert, describe, it } from "@effect/vitest"
import * as FastCheck from "effect/FastCheck"
import * as SameText from "../../../src/memory/entry/SameText.js"

const corrections: ReadonlyArray<readonly [string, string]> = [
  ["I do want the newsletter", "I do not want the newsletter"],
  ["I want the newsletter to come every week to my home", "I don't want the newsletter to come every week to my home"],
  ["My blood pressure is 120 mmHg", "My blood pressure is 180 mmHg"],
  ["The meeting is on 3 May 2024", "The meeting is on 4 May 2024"],
  ["The meeting is at 3pm", "The meeting is at 5pm"],
  ["Call Anna about it", "Call Anne about it"],
  ["Mail a.b@example.com", "Mail a-b@example.com"],
  ["See https://example.com/a", "See https://example.com/b"],
  ["The key is aBc9", "The key is abc9"],
  ["It costs $5", "It costs €5"],
  ["It costs .5 a piece", "It costs 5 a piece"],
  ["It is -5 outside", "It is 5 outside"],
  ["It weighs 5 kg", "It weighs 5 lb"],
  ["The first door", "The second door"],
  ["We run v1.2.3", "We run v1.2.4"],
  ["The flag is true", "The flag is false"],
  ["The light is on", "The light is off"],
  ["Take it before lunch", "Take it after lunch"],
  ["I want more tea", "I want less tea"],
  ["She never smokes", "She smokes"],
  ["He no longer works here", "He works here"],
  ["Ich will das", "Ich will das nicht"],
  ["Je veux", "Je ne veux pas"],
  ["Quiero té", "No quiero té"],
  ["我要茶", "我不要茶"],
  ["私は行く", "私は行かない"],
  ["Ann likes Bob", "Bob likes Ann"],
  ["Don't stop", "Don't. Stop"],
  ["No, tea is fine", "No tea is fine"],
  ["You like tea?", "You like tea."],
  ["The pipe is 5' long", 'The pipe is 5" long'],
  ["It told us", "It told US"],
  ["It is 5² metres", "It is 52 metres"],
  ["Dial 55 55 12", "Dial 55 12"]
]

const doubles: ReadonlyArray<readonly [string, string]> = [
  ["I like tea", "i LIKE Tea".replace("LIKE", "like")],
  ["I like tea", "I LIKE TEA"],
  ["I like tea.", "I  like\n tea!"],
  ["I like tea, and rain.", "I like tea and rain"],
  ["I live in Ghent", "i live in ghent"],
  ["It is very good", "It is very very good"],
  ["The total is 1,200.50", "The total is 1,200.50."],
  ["“Tea” it is", "Tea it is"]
]

describe("SameText", () => {
  for (const [a, b] of corrections) {
    it(`distinguishes ${JSON.stringify(a)} from ${JSON.stringify(b)}`, () => {
      assert.notStrictEqual(SameText.key(a), SameText.key(b))
      assert.notStrictEqual(SameText.gist(a), SameText.gist(b))
    })
  }

  it("ignores small words, unless there are no others", () => {
    assert.strictEqual(SameText.gist("Hello, the tea is really good!"), SameText.gist("tea is good"))
    assert.notStrictEqual(SameText.gist("hello"), SameText.gist("thanks"))
  })

  for (const [a, b] of doubles) {
    it(`equates ${JSON.stringify(a)} and ${JSON.stringify(b)}`, () =>
      assert.strictEqual(SameText.key(a), SameText.key(b)))
  }

  it("gives duplicates the same words, digits, negations and names", () => {
    const word = FastCheck.constantFrom(
      ..."tea rain likes not don't no never 120 180 3pm 5pm $5 €5 Ann Bob before after true false , . 不要".split(" ")
    )
    const said = FastCheck.array(word, { minLength: 1, maxLength: 5 }).map((words) => words.join(" "))
    const counts = { doubles: 0 }
    FastCheck.assert(
      FastCheck.property(FastCheck.array(said, { minLength: 2, maxLength: 60 }), (texts) => {
        const seen = new Map<string, string>()
        const words = (text: string) => [...new Set(text.toLowerCase().match(/[^\s,.]+/g) ?? [])].join(" ")
        for (const text of texts) {
          const other = seen.get(SameText.key(text))
          if (other !== undefined) {
            counts.doubles++
            assert.strictEqual(words(text), words(other))
          }
          seen.set(SameText.key(text), text)
        }
      }),
      { numRuns: 300 }
    )
    assert.isAbove(counts.doubles, 0)
  })
})
