import { assert, describe, it } from "@effect/vitest"
import * as Progress from "../../src/strategy/Progress.js"

describe("Progress", () => {
  it("counts how often a call has shown the same, without anything else between", () => {
    const { note } = Progress.makeCircleDetector()
    const counts = ["x", "x", "y", "y", "y", "x"].map((seen, step) => note(step, "t", { a: 1 }, seen))
    assert.deepStrictEqual(counts, [1, 2, 1, 2, 3, 1])
  })

  it("keeps calls apart by name and arguments", () => {
    const { note } = Progress.makeCircleDetector()
    note(1, "t", { a: 1 }, "x")
    assert.strictEqual(note(2, "t", { a: 2 }, "x"), 1)
    assert.strictEqual(note(2, "u", { a: 1 }, "x"), 1)
    assert.strictEqual(note(2, "t", undefined, "x"), 1)
    assert.strictEqual(note(2, "t", { a: 1 }, "x"), 2)
  })

  it("counts equal calls of one step once", () => {
    const { note } = Progress.makeCircleDetector()
    const counts = [1, 1, 1, 2, 2].map((step) => note(step, "t", {}, "x"))
    assert.deepStrictEqual(counts, [1, 1, 1, 2, 2])
  })
})
