import { assert, describe, it } from "@effect/vitest"
import * as FencedText from "../../../src/strategy/reasoning/FencedText.js"

describe("FencedText", () => {
  it("blanks closed blocks and keeps the positions of the rest", () => {
    const text = "a\n```json\nVERDICT: no\n```\nb\n~~~\nc\n```\n~~~\nd"
    const blank = FencedText.blank(text)
    assert.strictEqual(blank.length, text.length)
    assert.strictEqual(blank.replace(/[ \n]+/g, " "), "a b d")
    assert.strictEqual(blank.indexOf("d"), text.length - 1)
  })

  it("keeps texts without a closed block, and a text fenced as a whole", () => {
    for (const text of ["", "a", "```\nopen", "a `b` c", "\n```\nVERDICT: yes\n```\n", "~~~\na\n~~~"]) {
      assert.strictEqual(FencedText.blank(text), text)
    }
  })
})
