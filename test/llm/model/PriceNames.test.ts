import { assert, describe, it } from "@effect/vitest"
import * as PriceNames from "../../../src/llm/model/PriceNames.js"

describe("PriceNames", () => {
  it("maps a model to the longest name it begins with, up to a separator", () => {
    const known = PriceNames.make(["gpt-4", "gpt-4.1", "gpt-4.1-mini", "constructor"])
    assert.strictEqual(known("gpt-4.1"), "gpt-4.1")
    assert.strictEqual(known("gpt-4.1-mini-2025-04-14"), "gpt-4.1-mini")
    assert.strictEqual(known("gpt-4.1-nano"), "gpt-4.1")
    assert.strictEqual(known("gpt-4:latest"), "gpt-4")
    assert.strictEqual(known("gpt-4@001"), "gpt-4")
    assert.strictEqual(known("gpt-4o"), undefined)
    assert.strictEqual(known("gpt"), undefined)
    assert.strictEqual(known("my-gpt-4"), undefined)
    assert.strictEqual(known("__proto__"), undefined)
    assert.strictEqual(PriceNames.make([])("x"), undefined)
  })

  it("recognizes a release by a date, a number of three or four digits, or latest", () => {
    for (const rest of ["", "-2025-04-14", "-20250929", "@20250929", "-0613", "-001", "-latest"]) {
      assert.isTrue(PriceNames.isRelease(rest), rest)
    }
    for (const rest of ["-mini", "-5", "-2025-04-14-mini", ":free", "-latest-mini", "-12345", "-2025-4-1"]) {
      assert.isFalse(PriceNames.isRelease(rest), rest)
    }
  })
})
