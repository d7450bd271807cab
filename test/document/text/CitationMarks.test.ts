import { assert, describe, it } from "@effect/vitest"
import * as FastCheck from "effect/FastCheck"
import * as CitationMarks from "../../../src/document/text/CitationMarks.js"
import * as Growth from "../../support/Growth.js"

const allowed = new Set([1, 2, 3, 12])

const resolved = (text: string): string => CitationMarks.resolve(text, allowed).text

describe("resolve", () => {
  it("keeps valid citations and removes the rest with the space before them", () => {
    assert.deepStrictEqual(CitationMarks.resolve("A [2]. B [9]. C [1][7][1], D [9] E.", allowed), {
      text: "A [2]. B. C [1][1], D E.",
      cited: [2, 1],
      removed: [9, 7, 9]
    })
  })

  it("reads lists, ranges and other brackets, and writes them one by one", () => {
    assert.strictEqual(resolved("a [1, 2,9; 12] b"), "a [1][2][12] b")
    assert.strictEqual(resolved("a [1-3] b [11–13] c"), "a [1][2][3] b [12] c")
    assert.strictEqual(resolved("a【2】b 【2†L1-L9】 c【44】"), "a[2]b [2] c")
    assert.strictEqual(resolved("[1-999999] [3-1]"), "[1] [3][1]")
  })

  it("removes the model's own address from a citation, and its list of addresses", () => {
    assert.strictEqual(resolved("a [1](https://evil.example/x) b"), "a [1] b")
    assert.strictEqual(resolved("a [1].\n\n[1]: https://evil.example\n[9]: www.x.example\nb"), "a [1].\n\nb")
  })

  it("leaves code, links, footnotes and check boxes alone", () => {
    const text =
      "`x[9]` and ``a ` [9]`` [a link](https://b.example) [^9] [ ] [x] list[i]\n\n```js\nlist[9]\n[9]: x\n```"
    assert.strictEqual(resolved(text), text)
    assert.deepStrictEqual(CitationMarks.cited(text), [])
    assert.strictEqual(resolved("an `open tick [9] here"), "an `open tick here")
  })

  it("does not join the rest into a citation", () => {
    assert.deepStrictEqual(CitationMarks.cited(resolved("[[9]7]")), [])
    assert.deepStrictEqual(CitationMarks.cited(resolved("[1,[9][9]8] [[[9]5]6]")), [])
    assert.deepStrictEqual(CitationMarks.cited(resolved("[[9]\n7]")), [])
  })

  it("takes linear time on hostile text", () => {
    Growth.assertLinearTexts(
      [
        "[",
        (size) => `[${"1".repeat(size)}`,
        (size) => `[${"1 ".repeat(size / 2)}`,
        "[1 ",
        "[[9]",
        "`",
        "` `` ",
        "```\n",
        "[1]:x\n",
        "【",
        (size) => `[1](http://${"x".repeat(size)}`,
        "[1](http://",
        (size) => `[${"9,".repeat(size / 2)}9]`
      ],
      (text) => CitationMarks.resolve(text, allowed),
      100_000
    )
  })

  const piece = FastCheck.oneof(
    FastCheck.string({ maxLength: 8 }),
    FastCheck.constantFrom(
      "[",
      "]",
      "[9]",
      "[1]",
      "[[9]",
      "[1,9]",
      "【3】",
      "`",
      "``",
      "```",
      "\n",
      "9",
      ",",
      " ",
      "-",
      "[1]:"
    ),
    FastCheck.nat({ max: 20 }).map((n) => `[${n}]`)
  )
  const text = FastCheck.array(piece, { maxLength: 40 }).map((pieces) => pieces.join(""))

  it("leaves only allowed citations in any text, and is idempotent", () => {
    FastCheck.assert(
      FastCheck.property(text, (given) => {
        const once = CitationMarks.resolve(given, allowed)
        for (const number of CitationMarks.cited(once.text)) assert.isTrue(allowed.has(number), `${number}`)
        assert.deepStrictEqual([...CitationMarks.cited(once.text)].sort(), [...once.cited].sort())
        const twice = CitationMarks.resolve(once.text, allowed)
        assert.deepStrictEqual(twice.removed, [])
      }),
      { numRuns: 5000, seed: 5 }
    )
  })

  it("renumbers there and back without a change", () => {
    const there = new Map([
      [1, 2],
      [2, 3],
      [3, 12],
      [12, 1]
    ])
    const back = new Map([...there].map(([from, to]) => [to, from]))
    FastCheck.assert(
      FastCheck.property(text, (given) => {
        const once = resolved(given)
        assert.strictEqual(CitationMarks.renumber(CitationMarks.renumber(once, there), back), once)
      }),
      { numRuns: 2000, seed: 6 }
    )
  })
})
