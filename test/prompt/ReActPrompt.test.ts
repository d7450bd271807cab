import { assert, describe, it } from "@effect/vitest"
import * as ReActPrompt from "../../src/prompt/ReActPrompt.js"
import * as ReActText from "../../src/strategy/ReActText.js"

const tools = [
  {
    name: "search",
    description: "Finds\n  pages",
    parameters: { type: "object", properties: { q: { type: "string" } } }
  },
  { name: "add", description: "Adds", parameters: { type: "object" } }
]

describe("ReActPrompt.text", () => {
  it("lists every tool on a line with its schema below", () => {
    const text = ReActPrompt.text(tools)
    assert.include(text, '- search: Finds pages\n  Parameters: {"type":"object","properties":{"q":{"type":"string"}}}')
    assert.include(text, '- add: Adds\n  Parameters: {"type":"object"}')
  })

  it("says so when there are none", () => {
    assert.match(ReActPrompt.text([]), /no tools/)
  })

  it("is made once a set of definitions", () => {
    let made = 0
    const counted = [
      {
        name: "x",
        description: "X",
        get parameters() {
          made++
          return {}
        }
      }
    ]
    assert.strictEqual(ReActPrompt.text(counted), ReActPrompt.text(counted))
    assert.strictEqual(made, 1)
  })

  it("shows the form that the parser reads", () => {
    const text = ReActPrompt.text(tools)
    const example = (marker: string) => text.slice(text.lastIndexOf("THOUGHT:", text.indexOf(marker)))
    assert.strictEqual(ReActText.parse(example("\nACTION:").split("\n\n")[0]!)._tag, "Action")
    assert.strictEqual(ReActText.parse(example("\nFINAL_ANSWER:").split("\n\n")[0]!)._tag, "FinalAnswer")
  })
})
