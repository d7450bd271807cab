import { assert, describe, it } from "@effect/vitest"
import * as CanonicalJson from "../../../src/internal/text/CanonicalJson.js"

describe("CanonicalJson", () => {
  it("ignores the order of keys, not of items", () => {
    assert.strictEqual(
      CanonicalJson.stringify({ b: [1, { d: 2, c: null }], a: "x" }),
      CanonicalJson.stringify({ a: "x", b: [1, { c: null, d: 2 }] })
    )
    assert.notStrictEqual(CanonicalJson.stringify([1, 2]), CanonicalJson.stringify([2, 1]))
  })

  it("writes plain JSON with sorted keys", () => {
    assert.strictEqual(CanonicalJson.stringify({ b: 1.5, a: [true, null, "ä\n"] }), '{"a":[true,null,"ä\\n"],"b":1.5}')
  })

  it("omits undefined fields, and writes undefined items as null", () => {
    assert.strictEqual(CanonicalJson.stringify({ b: undefined, a: [undefined], c: 1 }), '{"a":[null],"c":1}')
    assert.strictEqual(CanonicalJson.stringify({ a: undefined }), "{}")
  })

  it("does not normalize text", () => {
    assert.notStrictEqual(CanonicalJson.hash("é"), CanonicalJson.hash("e\u0301"))
  })

  it("treats prototype keys like others", () => {
    const hostile = JSON.parse('{"__proto__":{"a":1},"constructor":2}')
    assert.strictEqual(CanonicalJson.stringify(hostile), '{"__proto__":{"a":1},"constructor":2}')
    assert.notStrictEqual(CanonicalJson.hash(hostile), CanonicalJson.hash({ constructor: 2 }))
  })

  it("never writes different data alike", () => {
    const values = [1, "1", 1n, "1n", [1], { 0: 1 }, new Uint8Array([1]), 'bytes"AQ=="', null, "null", new Date(0), ""]
    assert.strictEqual(new Set(values.map(CanonicalJson.stringify)).size, values.length)
  })

  it("hashes the text by SHA-256", () => {
    assert.strictEqual(CanonicalJson.hash({}), "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a")
  })

  it("throws on cyclic data", () => {
    const cyclic: Record<string, unknown> = {}
    cyclic["self"] = cyclic
    assert.throws(() => CanonicalJson.stringify(cyclic), RangeError)
  })
})
