import { assert, describe, it } from "@effect/vitest"
import * as ReActPrompts from "../../../src/prompt/defaults/ReActPrompts.js"
import * as ReActText from "../../../src/strategy/reasoning/ReActText.js"

describe("ReActPrompts.ThoughtStep", () => {
  it("shows the form that the parser reads", () => {
    const text = ReActPrompts.ThoughtStep.system.source
    const example = (marker: string) => text.slice(text.lastIndexOf("THOUGHT:", text.indexOf(marker)))
    assert.strictEqual(ReActText.parse(example("\nACTION:").split("\n\n")[0]!)._tag, "Action")
    assert.strictEqual(ReActText.parse(example("\nFINAL_ANSWER:").split("\n\n")[0]!)._tag, "FinalAnswer")
  })
})
