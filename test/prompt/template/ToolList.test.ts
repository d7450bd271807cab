import { assert, describe, it } from "@effect/vitest"
import * as ToolList from "../../../src/prompt/template/ToolList.js"

const tools = [
  {
    name: "search",
    description: "Finds\n  pages",
    parameters: { type: "object", properties: { q: { type: "string" } } }
  },
  { name: "add", description: "Adds", parameters: { type: "object" } }
]

describe("ToolList.text", () => {
  it("lists every tool on a line with its schema below", () => {
    const text = ToolList.text(tools)
    assert.include(text, '- search: Finds pages\n  Parameters: {"type":"object","properties":{"q":{"type":"string"}}}')
    assert.include(text, '- add: Adds\n  Parameters: {"type":"object"}')
  })

  it("says so when there are none", () => {
    assert.match(ToolList.text([]), /no tools/)
  })

  it("is made once per set of definitions", () => {
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
    assert.strictEqual(ToolList.text(counted), ToolList.text(counted))
    assert.strictEqual(made, 1)
  })
})
