import { assert, describe, it } from "@effect/vitest"
import * as Excerpt from "../../../src/internal/text/Excerpt.js"

describe("Excerpt", () => {
  it.each([
    [10, "0123456789"],
    [9, "0123[…2…]6789"],
    [4, "01[…6…]89"],
    [1, "[…10…]"],
    [0, "[…10…]"]
  ])("keeps half of %d characters from the beginning and half from the end", (most, expected) => {
    assert.strictEqual(Excerpt.ends("0123456789", most), expected)
  })

  it.each([
    [0, "1970-01-01T00:00:00.000Z"],
    [Number.MAX_VALUE, "+275760-09-13T00:00:00.000Z"],
    [-Number.MAX_VALUE, "-271821-04-20T00:00:00.000Z"]
  ])("writes the time %d in ISO 8601, within the calendar", (time, expected) => {
    assert.strictEqual(Excerpt.time(time), expected)
  })
})
