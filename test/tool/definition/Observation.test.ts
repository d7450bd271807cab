import { assert, describe, it } from "@effect/vitest"
import * as FastCheck from "effect/FastCheck"
import * as Observation from "../../../src/tool/definition/Observation.js"

const circular = (): Record<string, unknown> => {
  const value: Record<string, unknown> = { name: "loop", twice: [{ n: 1 }] }
  value["self"] = value
  value["list"] = [value]
  return value
}

describe("Observation", () => {
  it("keeps a text, reads nothing as ok, and encodes anything else as JSON", () => {
    assert.deepStrictEqual(Observation.make("a\nb", 100), { result: "a\nb", text: "a\nb", truncated: false })
    assert.deepStrictEqual(Observation.make(undefined, 100), { result: "ok", text: "ok", truncated: false })
    assert.deepStrictEqual(Observation.make(null, 100), { result: null, text: "null", truncated: false })
    assert.deepStrictEqual(Observation.make({ a: [1] }, 100), {
      result: { a: [1] },
      text: '{"a":[1]}',
      truncated: false
    })
  })

  it("makes results plain that JSON rejects", () => {
    assert.deepStrictEqual(Observation.make({ n: 12n }, 100)?.result, { n: "12" })
    assert.deepStrictEqual(Observation.make(circular(), 1000)?.result, {
      name: "loop",
      twice: [{ n: 1 }],
      self: "[Circular]",
      list: ["[Circular]"]
    })
    const shared = { n: 1n }
    assert.deepStrictEqual(Observation.make([shared, shared], 100)?.result, [{ n: "1" }, { n: "1" }])
  })

  it("changes results for the transcript as JSON does", () => {
    class Point {
      constructor(readonly x: number) {}
    }
    const result = Observation.make(
      { at: new Date(0), p: new Point(1), m: new Map([[1, 2]]), u: undefined, n: Number.NaN },
      200
    )
    assert.deepStrictEqual(result?.result, { at: "1970-01-01T00:00:00.000Z", p: { x: 1 }, m: {}, n: null })
    assert.strictEqual(result?.text, JSON.stringify(result?.result))
  })

  it("returns nothing, without throwing, for values without a JSON form", () => {
    const thrower = {
      toJSON: () => {
        throw new Error("no")
      }
    }
    let deep: unknown = 1
    for (let i = 0; i < 50_000; i++) deep = [deep]
    for (const value of [() => 1, Symbol("s"), thrower, deep]) assert.isUndefined(Observation.make(value, 100))
  })

  it("makes a deep result plain", () => {
    let deep: unknown = 1
    for (let i = 0; i < 4000; i++) deep = [deep]
    assert.strictEqual(Observation.make(deep, 10_000)?.text.length, 8001)
  })

  it("truncates a long text with a marker that counts the rest", () => {
    const cut = Observation.truncate("x".repeat(10_050), 10_000)
    assert.isTrue(cut.truncated)
    assert.strictEqual(cut.text, `${"x".repeat(10_000)}\n[TRUNCATED: 50 of 10050 characters left out]`)
    assert.deepStrictEqual(Observation.truncate("x".repeat(10_000), 10_000).truncated, false)
    assert.strictEqual(
      Observation.make({ long: "x".repeat(50) }, 10)?.result,
      Observation.make({ long: "x".repeat(50) }, 10)?.text
    )
    for (const odd of [0, -5, Number.NaN]) {
      assert.strictEqual(Observation.truncate("abc", odd).text, "\n[TRUNCATED: 3 of 3 characters left out]")
    }
  })

  it("never splits a surrogate pair", () => {
    FastCheck.assert(
      FastCheck.property(
        FastCheck.string({ unit: "binary", minLength: 1, maxLength: 40 }),
        FastCheck.integer({ min: 0, max: 45 }),
        (text, max) => {
          const { text: cut, truncated } = Observation.truncate(text, max)
          assert.strictEqual(truncated, text.length > max)
          if (!truncated) return assert.strictEqual(cut, text)
          const kept = cut.slice(0, cut.lastIndexOf("\n[TRUNCATED"))
          assert.isTrue(text.startsWith(kept))
          assert.notMatch(kept, /\p{Surrogate}/u)
          assert.include([max, Math.max(0, max - 1)], kept.length)
        }
      )
    )
  })
})
