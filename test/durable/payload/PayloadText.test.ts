import { assert, describe, it } from "@effect/vitest"
import * as FastCheck from "effect/FastCheck"
import * as PayloadText from "../../../src/durable/payload/PayloadText.js"
import * as ExactJson from "../../../src/persistence/engine/ExactJson.js"

const values = FastCheck.anything({
  withBigInt: true,
  withDate: true,
  withTypedArray: false,
  withNullPrototype: false,
  maxDepth: 4
})
const bounds = FastCheck.record({
  above: FastCheck.integer({ min: 1, max: 400 }),
  most: FastCheck.integer({ min: 1, max: 800 })
})

describe("the text of a value that a run keeps", () => {
  it("is made for what is above the bound, and for nothing else", () =>
    FastCheck.assert(
      FastCheck.property(values, bounds, (value, given) => {
        const text = ExactJson.encode(value)
        const bytes = Buffer.byteLength(text)
        const measured = PayloadText.measure(value, given)
        if (measured._tag === "TooLarge") assert.isAbove(bytes, given.most)
        else assert.isAtMost(bytes, given.most)
        if (measured._tag === "Large") assert.strictEqual(measured.text, text)
        if (measured._tag !== "TooLarge") assert.strictEqual(measured._tag === "Large", bytes > given.above)
        if (PayloadText.isSmall(value, given)) assert.strictEqual(measured._tag, "Small")
      }),
      { numRuns: 2000 }
    ))

  it("counts control characters, wide characters and bytes as they are written", () => {
    for (const value of [
      "\u0001".repeat(100),
      "\ud800".repeat(100),
      "語".repeat(100),
      new Uint8Array(100),
      [1, 2, 3]
    ]) {
      const bytes = Buffer.byteLength(ExactJson.encode(value))
      assert.strictEqual(PayloadText.measure(value, { above: bytes, most: bytes })._tag, "Small")
      assert.strictEqual(PayloadText.measure(value, { above: bytes - 1, most: bytes })._tag, "Large")
      assert.deepStrictEqual(PayloadText.measure(value, { above: 1, most: bytes - 1 }), { _tag: "TooLarge", bytes })
    }
  })

  it("counts no fields that no text has", () => {
    const name = "n".repeat(1_000)
    for (const nothing of [undefined, () => 1, Symbol("s")]) {
      assert.strictEqual(PayloadText.measure([{ [name]: nothing }], { above: 1, most: 4 })._tag, "Large")
    }
  })

  it("is not made of a value that is far too large, whatever it refers to", () => {
    let reads = 0
    const endless = new Proxy([] as Array<unknown>, {
      get: (target, key) => {
        if (key === "length") return 2 ** 31
        if (typeof key === "string" && /^\d+$/.test(key)) {
          reads++
          return "text"
        }
        return Reflect.get(target, key)
      }
    })
    const measured = PayloadText.measure({ endless }, { above: 100, most: 1000 })
    assert.strictEqual(measured._tag, "TooLarge")
    assert.isBelow(reads, 1000)
    const cyclic: Record<string, unknown> = { text: "text" }
    cyclic["again"] = cyclic
    assert.strictEqual(PayloadText.measure(cyclic, { above: 10, most: 1000 })._tag, "Large")
  })

  it("takes bounds from 1 to 256 MiB", () => {
    const { bounds } = PayloadText
    assert.deepStrictEqual(bounds(), { above: 65_536, most: 33_554_432 })
    assert.deepStrictEqual(bounds({ above: 0, most: -1 }), { above: 1, most: 1 })
    assert.deepStrictEqual(bounds({ above: Number.NaN, most: Number.POSITIVE_INFINITY }), {
      above: 65_536,
      most: 268_435_456
    })
  })
})
