import { assert, describe, it } from "@effect/vitest"
import { count } from "../../src/internal/Count.js"

describe("count", () => {
  it("is whole, and at least the minimum", () => {
    assert.deepStrictEqual(
      [count(3.9, 1, 0), count(-2, 1, 0), count(0, 5, 1), count(Number.POSITIVE_INFINITY, 1, 0)],
      [3, 0, 1, Number.POSITIVE_INFINITY]
    )
  })

  it("ignores non-numeric values", () => {
    assert.deepStrictEqual([count(undefined, 7, 1), count(Number.NaN, 7, 1)], [7, 7])
  })
})
