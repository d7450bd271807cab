import { assert, describe, it } from "@effect/vitest"
import * as JsonDepth from "../../src/internal/JsonDepth.js"

const nested = (depth: number): unknown => JSON.parse(`${'{"a":['.repeat(depth)}${"]}".repeat(depth)}`)

describe("JsonDepth", () => {
  it("counts objects and lists in each other", () => {
    for (const plain of [undefined, null, 1, "x"]) assert.isFalse(JsonDepth.isDeeper(plain, 0))
    assert.isTrue(JsonDepth.isDeeper({}, 0))
    assert.isFalse(JsonDepth.isDeeper({ a: 1, b: [] }, 2))
    assert.isTrue(JsonDepth.isDeeper({ a: 1, b: [{}] }, 2))
    assert.isFalse(JsonDepth.isDeeper(nested(3), 6))
    assert.isTrue(JsonDepth.isDeeper(nested(3), 5))
  })

  it("takes values of any depth", () => {
    assert.isTrue(JsonDepth.isDeeper(nested(2_000), 64))
    assert.isTrue(JsonDepth.isDeeper(nested(2_000), 3_999))
    assert.isFalse(JsonDepth.isDeeper(nested(2_000), 4_000))
  })
})
