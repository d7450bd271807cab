import { assert, describe, it } from "@effect/vitest"
import * as FastCheck from "effect/FastCheck"
import * as ToolNames from "../../../src/tool/definition/ToolNames.js"

const accepted = /^[A-Za-z0-9_-]{1,64}$/

describe("ToolNames", () => {
  it("keeps names that providers accept", () => {
    for (const name of ["search", "get_weather-2", "A".repeat(64)]) assert.strictEqual(ToolNames.clean(name), name)
  })

  it("maps dots, spaces, foreign letters, long and empty names, and back", () => {
    const names = ["fs.read", "my tool", "größe", "検索", "", "___", "x".repeat(65), `${"x".repeat(65)}y`, "a/b\n"]
    const map = ToolNames.make(names)
    for (const name of names) {
      assert.match(map.toProvider(name), accepted)
      assert.strictEqual(map.fromProvider(map.toProvider(name)), name)
      assert.strictEqual(map.fromProvider(name), name)
    }
    assert.strictEqual(map.toProvider("fs.read"), "fs_read")
  })

  it("keeps a valid name, whatever precedes it", () => {
    const map = ToolNames.make(["a.b", "a b", "a_b"])
    assert.strictEqual(map.toProvider("a_b"), "a_b")
    assert.strictEqual(map.fromProvider("a_b"), "a_b")
    assert.strictEqual(new Set(["a.b", "a b", "a_b"].map(map.toProvider)).size, 3)
  })

  it("resolves an unknown name to none, and cleans it for the provider", () => {
    const map = ToolNames.make(["search"])
    for (const name of ["other", "", "__proto__", "constructor"]) assert.isUndefined(map.fromProvider(name))
    assert.match(map.toProvider("no such.tool"), accepted)
  })

  it("maps any names deterministically, uniquely and reversibly", () => {
    const name = FastCheck.oneof(
      FastCheck.string({ unit: "binary", maxLength: 80 }),
      FastCheck.string({ unit: FastCheck.constantFrom("a", "b", ".", "_", " ", "é"), maxLength: 4 }),
      FastCheck.string({ unit: FastCheck.constantFrom("x"), minLength: 60, maxLength: 70 }),
      FastCheck.constantFrom("__proto__", "constructor", "toString", "a_b", "a.b")
    )
    FastCheck.assert(
      FastCheck.property(FastCheck.uniqueArray(name, { maxLength: 30 }), (names) => {
        const map = ToolNames.make(names)
        const mapped = names.map(map.toProvider)
        for (const provider of mapped) assert.match(provider, accepted)
        assert.strictEqual(new Set(mapped).size, names.length)
        assert.deepStrictEqual(mapped.map(map.fromProvider), names)
        assert.deepStrictEqual(names.map(map.fromProvider), names)
        assert.deepStrictEqual(mapped, names.map(ToolNames.make(names).toProvider))
      }),
      { numRuns: 100 }
    )
  })
})
