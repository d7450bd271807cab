import { assert, describe, it } from "@effect/vitest"
import * as FastCheck from "effect/FastCheck"
import * as VisibleText from "../../../src/internal/text/VisibleText.js"

describe("VisibleText", () => {
  it("leaves plain text unchanged", () => {
    for (const text of ["", "pay 5 € to Ann", "日本語 ü 😀", '{ "a": "\\n" }']) {
      assert.strictEqual(VisibleText.visible(text), text)
    }
  })

  it("shows characters that move, hide or turn text as codes", () => {
    for (const [text, expected] of [
      ["a\u001b[2Jb", "a\\u{001b}[2Jb"],
      ["\u009b2J", "\\u{009b}2J"],
      ["a\r\nb\tc\b", "a\\u{000d}\\u{000a}b\\u{0009}c\\u{0008}"],
      ["\u202etxt.exe\u2066", "\\u{202e}txt.exe\\u{2066}"],
      ["a\u200b\u00adb\ufeff", "a\\u{200b}\\u{00ad}b\\u{feff}"],
      ["\u2028\u2029", "\\u{2028}\\u{2029}"],
      ["\u{e0041}", "\\u{e0041}"],
      ["\ud800", "\\u{d800}"]
    ] as const) {
      assert.strictEqual(VisibleText.visible(text), expected)
    }
  })

  it("leaves no control or format character in any text", () => {
    FastCheck.assert(
      FastCheck.property(FastCheck.string({ unit: "binary" }), (text) => {
        assert.notMatch(VisibleText.visible(text), /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u)
      })
    )
  })

  it("wraps lines at the width without losing text", () => {
    assert.deepStrictEqual(VisibleText.wrap("abcdef", 4), ["abcd", "ef"])
    assert.deepStrictEqual(VisibleText.wrap("日本語", 4), ["日本", "語"])
    assert.deepStrictEqual(VisibleText.wrap("", 4), [""])
    FastCheck.assert(
      FastCheck.property(
        FastCheck.string({ unit: "grapheme" }),
        FastCheck.integer({ min: 2, max: 9 }),
        (text, width) => {
          const lines = VisibleText.wrap(text, width)
          assert.strictEqual(lines.join(""), text)
          for (const line of lines) assert.isAtMost(Array.from(line).length, width)
        }
      )
    )
  })

  it("handles a huge text quickly", () => {
    const text = "\u001b".repeat(100_000)
    assert.strictEqual(VisibleText.wrap(VisibleText.visible(text), 80).join("").length, 800_000)
  })
})
