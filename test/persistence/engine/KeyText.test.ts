import { assert, describe, it } from "@effect/vitest"
import * as FastCheck from "effect/FastCheck"
import * as KeyText from "../../../src/persistence/engine/KeyText.js"

const units = [0, 1, 2, 3, 0x20, 0x41, 0x7f, 0xd7fe, 0xd7ff, 0xd800, 0xdbff, 0xdc00, 0xdfff, 0xe000, 0xffff]
const text = FastCheck.array(
  FastCheck.oneof(FastCheck.constantFrom(...units), FastCheck.integer({ min: 0, max: 0xffff })),
  {
    maxLength: 12
  }
).map((codes) => String.fromCharCode(...codes))

const compare = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0)
const bytes = (a: string, b: string): number => Buffer.compare(Buffer.from(a, "utf8"), Buffer.from(b, "utf8"))

describe("a text as a key", () => {
  it("round-trips any text", () => {
    FastCheck.assert(FastCheck.property(text, (one) => KeyText.decode(KeyText.encode(one)) === one))
  })

  it("sorts as bytes by code unit", () => {
    FastCheck.assert(
      FastCheck.property(text, text, (a, b) => compare(a, b) === bytes(KeyText.encode(a), KeyText.encode(b)))
    )
  })

  it("is well-formed and has no NUL", () => {
    FastCheck.assert(
      FastCheck.property(text, (one) => {
        const encoded = KeyText.encode(one)
        return Buffer.from(encoded, "utf8").toString("utf8") === encoded && !encoded.includes("\0")
      })
    )
  })

  it("keeps prefixes", () => {
    FastCheck.assert(
      FastCheck.property(text, text, (a, b) => KeyText.encode(a + b) === KeyText.encode(a) + KeyText.encode(b))
    )
  })

  it("is unchanged without special characters", () => {
    for (const one of ["", "user-1", "Ärger", "日本", "a:b/c"]) assert.strictEqual(KeyText.encode(one), one)
  })

  it("is encoded at once for a million special characters", () => {
    const long = "\u0000".repeat(500_000) + "\ud800".repeat(500_000)
    assert.strictEqual(KeyText.decode(KeyText.encode(long)), long)
  })
})
