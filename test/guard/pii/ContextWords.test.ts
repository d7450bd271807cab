import { assert, describe, it } from "@effect/vitest"
import * as FastCheck from "effect/FastCheck"
import * as ContextWords from "../../../src/guard/pii/ContextWords.js"

const words = [
  "card*",
  "credit",
  "*nummer",
  "american express",
  "p. iva",
  "ss#",
  "id",
  "卡号",
  "тел",
  "📞",
  "tel",
  "tele*"
]

/** By an expression for one word at one place, the slow way. */
const expected = (text: string): ReadonlyArray<string> => {
  const found = new Set<string>()
  for (const [owner, word] of words.entries()) {
    const bare = word.replace(/^\*|\*$/g, "")
    const isSpaced = !/[卡📞]/u.test(bare)
    const begin = isSpaced && !word.startsWith("*") ? "(?<![\\p{L}\\p{N}])" : ""
    const end = isSpaced && !word.endsWith("*") ? "(?![\\p{L}\\p{N}])" : ""
    for (let width = 0; width <= 2; width++) {
      const source = bare.replace(".", "\\.").replace(" ", `[\\s_-]{${width}}`)
      const expression = new RegExp(`${begin}${source}${end}`, "gu")
      for (const { 0: match, index } of text.matchAll(expression))
        found.add(`${owner} ${index} ${index + match.length}`)
    }
  }
  return [...found].sort()
}

const all = (): ContextWords.ContextWords => {
  const made = new ContextWords.ContextWords()
  for (const [owner, word] of words.entries()) made.add(owner, [word])
  return made
}

describe("ContextWords", () => {
  it("finds the same as one expression per word", () => {
    const made = all()
    const pieces = [
      "card",
      "credit",
      "nummer",
      "american",
      "express",
      "p.",
      "iva",
      "ss#",
      "id",
      "卡号",
      "тел",
      "📞",
      "tel"
    ]
    const piece = FastCheck.constantFrom(...pieces, " ", "-", "_", "  ", "   ", "x", "7", "é", "𝐀", ".", "\n", "e")
    FastCheck.assert(
      FastCheck.property(FastCheck.array(piece, { maxLength: 12 }), (parts) => {
        const text = parts.join("")
        const find = made.find(text)
        const found = words.flatMap((_, owner) => find(owner).map(([start, end]) => `${owner} ${start} ${end}`))
        assert.deepStrictEqual([...new Set(found)].sort(), expected(text), JSON.stringify(text))
        for (const owner of words.keys()) {
          const starts = find(owner).map(([start]) => start)
          assert.deepStrictEqual(
            starts,
            starts.toSorted((a, b) => a - b)
          )
        }
      }),
      { numRuns: 500, seed: 1 }
    )
  })

  it("returns the last word that begins and ends within a part", () => {
    const places = [
      [0, 4],
      [2, 3],
      [5, 9],
      [5, 6]
    ] as const
    assert.deepStrictEqual(ContextWords.last(places, 0, 9), [5, 9])
    assert.deepStrictEqual(ContextWords.last(places, 0, 8), [5, 6])
    assert.deepStrictEqual(ContextWords.last(places, 0, 5), [0, 4])
    assert.deepStrictEqual(ContextWords.last(places, 1, 5), [2, 3])
    assert.isUndefined(ContextWords.last(places, 3, 5))
    assert.isUndefined(ContextWords.last([], 0, 100))
  })
})
