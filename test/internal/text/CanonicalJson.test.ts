import { assert, describe, it } from "@effect/vitest"
import * as CanonicalJson from "../../../src/internal/text/CanonicalJson.js"

describe("CanonicalJson", () => {
  it("the order of keys does not matter, the order of items does", () => {
    assert.strictEqual(
      CanonicalJson.stringify({ b: [1, { d: 2, c: null }], a: "x" }),
      CanonicalJson.stringify({ a: "x", b: [1, { c: null, d: 2 }] })
    )
    assert.notStrictEqual(CanonicalJson.stringify([1, 2]), CanonicalJson.stringify([2, 1]))
  })

  it("plain JSON is written as JSON with sorted keys", () => {
    assert.strictEqual(CanonicalJson.stringify({ b: 1.5, a: [true, null, "ä\n"] }), '{"a":[true,null,"ä\\n"],"b":1.5}')
  })

  it("undefined fields are absent, undefined items are null", () => {
    assert.strictEqual(CanonicalJson.stringify({ b: undefined, a: [undefined], c: 1 }), '{"a":[null],"c":1}')
    assert.strictEqual(CanonicalJson.stringify({ a: undefined }), "{}")
  })

  it("text is not normalised", () => {
    assert.notStrictEqual(CanonicalJson.hash("é"), CanonicalJson.hash("e\u0301"))
  })

  it("keys named like prototypes are keys like others", () => {
    const hostile = JSON.parse('{"__proto__":{"a":1},"constructor":2}')
    assert.strictEqual(CanonicalJson.stringify(hostile), '{"__proto__":{"a":1},"constructor":2}')
    assert.notStrictEqual(CanonicalJson.hash(hostile), CanonicalJson.hash({ constructor: 2 }))
  })

  it("different data never looks the same", () => {
    const values = [1, "1", 1n, "1n", [1], { 0: 1 }, new Uint8Array([1]), 'bytes"AQ=="', null, "null", new Date(0), ""]
    assert.strictEqual(new Set(values.map(CanonicalJson.stringify)).size, values.length)
  })

  it("the hash is SHA-256 of the text", () => {
    assert.strictEqual(CanonicalJson.hash({}), "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a")
  })

  it("cyclic data throws", () => {
    const cyclic: Record<string, unknown> = {}
    cyclic["self"] = cyclic
    assert.throws(() => CanonicalJson.stringify(cyclic), RangeError)
  })
})
