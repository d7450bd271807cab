import { assert, describe, it } from "@effect/vitest"
import * as ReasoningModules from "../../../src/strategy/discovery/ReasoningModules.js"

describe("reasoning modules", () => {
  it("have distinct names and texts for the 39 of the paper, each with a place for the task", () => {
    assert.lengthOf(ReasoningModules.paper, 39)
    const { all } = ReasoningModules
    for (const field of ["name", "description", "template"] as const) {
      assert.lengthOf(new Set(all.map((one) => one[field])), all.length)
    }
    for (const { description, name, template } of all) {
      assert.match(name, /^[a-z]+(_[a-z]+)*$/)
      assert.include(template, "{task}")
      assert.isAbove(description.length, 30)
    }
  })

  it("include the ten of the original library", () => {
    assert.lengthOf(ReasoningModules.originals, 10)
    for (const name of ReasoningModules.originals) assert.strictEqual(ReasoningModules.get(name).name, name)
    assert.isUndefined(ReasoningModules.get("magic" as string))
    assert.isUndefined(ReasoningModules.get("__proto__" as string))
  })
})
