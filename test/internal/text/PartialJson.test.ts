import { assert, describe, it } from "@effect/vitest"
import * as FastCheck from "effect/FastCheck"
import { PartialJson } from "../../../src/internal/text/PartialJson.js"

/** True if the value could grow to the other one. */
const isBeginning = (part: unknown, whole: unknown): boolean => {
  if (typeof part === "string") return typeof whole === "string" && whole.startsWith(part)
  if (typeof part !== "object" || part === null) return Object.is(part, whole)
  if (typeof whole !== "object" || whole === null || Array.isArray(part) !== Array.isArray(whole)) return false
  const keys = Object.keys(part)
  const all = Object.keys(whole)
  return keys.every((key, at) => {
    const [mine, other] = [Reflect.get(part, key), Reflect.get(whole, key)]
    if (!all.includes(key)) return false
    return at === keys.length - 1 ? isBeginning(mine, other) : JSON.stringify(mine) === JSON.stringify(other)
  })
}

const chunksOf = (text: string, cuts: ReadonlyArray<number>): ReadonlyArray<string> => {
  const at = [0, ...cuts.map((cut) => cut % (text.length + 1)).sort((a, b) => a - b), text.length]
  return at.slice(1).map((end, index) => text.slice(at[index], end))
}

const keys = FastCheck.oneof(
  FastCheck.string({ maxLength: 5 }),
  FastCheck.constantFrom("a", "b", "é", "𝄞", 'quote"', "back\\slash", "\n")
).filter((key) => !["__proto__", "prototype"].includes(key) && !/^\d+$/.test(key))

/** Objects and arrays, as an answer with an output is. */
const { value: values } = FastCheck.letrec<{ value: unknown; leaf: unknown; any: unknown }>((tie) => ({
  leaf: FastCheck.oneof(
    FastCheck.string({ unit: "binary" }),
    FastCheck.string({ unit: "grapheme" }),
    FastCheck.double({ noNaN: true, noDefaultInfinity: true }).map((n) => (Object.is(n, -0) ? 0 : n)),
    FastCheck.boolean(),
    FastCheck.constant(null)
  ),
  any: FastCheck.oneof({ depthSize: "small" }, tie("leaf"), tie("value")),
  value: FastCheck.oneof(
    FastCheck.array(tie("any"), { maxLength: 4 }),
    FastCheck.dictionary(keys, tie("any"), { maxKeys: 4, noNullPrototype: true })
  )
}))

const cutsOf = FastCheck.array(FastCheck.nat(), { maxLength: 20 })

describe("JSON in pieces", () => {
  it("grows to what JSON.parse reads, and no value that was shown changes afterwards", () => {
    FastCheck.assert(
      FastCheck.property(values, cutsOf, FastCheck.constantFrom(0, 2), (value, cuts, indent) => {
        const text = JSON.stringify(value, undefined, indent)
        const partial = new PartialJson()
        const seen: Array<readonly [value: unknown, text: string]> = []
        for (const chunk of chunksOf(text, cuts)) {
          if (partial.push(chunk)) seen.push([partial.value, JSON.stringify(partial.value)])
        }
        assert.strictEqual(partial.state, "whole")
        assert.strictEqual(JSON.stringify(partial.value), JSON.stringify(JSON.parse(text)))
        for (const [at, [shown, before]] of seen.entries()) {
          assert.strictEqual(JSON.stringify(shown), before)
          assert.isTrue(isBeginning(shown, at + 1 < seen.length ? seen[at + 1]?.[0] : partial.value), before)
        }
      }),
      { numRuns: 2_000, seed: 5 }
    )
  })

  it("takes no longer in small pieces: characters are read once", () => {
    const text = JSON.stringify({ list: Array.from({ length: 2_000 }, (_, id) => ({ id, text: `item "${id}"` })) })
    const partial = new PartialJson()
    let changes = 0
    for (const char of text) if (partial.push(char)) changes++
    assert.deepStrictEqual(partial.value, JSON.parse(text))
    assert.isAbove(changes, 10_000)
  })

  it("shares what has not changed", () => {
    const partial = new PartialJson()
    partial.push('{"a":{"b":[1,2]},"c":"d')
    const before = partial.value as { readonly a: object }
    partial.push("e")
    const after = partial.value as { readonly a: object }
    assert.notStrictEqual(after, before)
    assert.strictEqual(after.a, before.a)
    assert.deepStrictEqual([before, after], [{ a: { b: [1, 2] }, c: "d" } as any, { a: { b: [1, 2] }, c: "de" }])
  })

  it("shows numbers and literals when they have ended, and surrogate pairs whole", () => {
    const shown = (...pieces: ReadonlyArray<string>): unknown => {
      const partial = new PartialJson()
      for (const piece of pieces) partial.push(piece)
      return partial.value
    }
    assert.deepStrictEqual(shown('{"a": 12'), {})
    assert.deepStrictEqual(shown('{"a": 12', "3,"), { a: 123 })
    assert.deepStrictEqual(shown("[tru"), [])
    assert.deepStrictEqual(shown("[tru", "e "), [true])
    assert.deepStrictEqual(shown('["\ud834'), [""])
    assert.deepStrictEqual(shown('["\ud834', "\udd1e"), ["𝄞"])
    assert.deepStrictEqual(shown('["\\ud834\\ud', "d1"), [""])
    assert.deepStrictEqual(shown('["\\ud834\\ud', "d1ex"), ["𝄞x"])
    assert.deepStrictEqual(shown('{"key'), {})
    assert.deepStrictEqual(shown('{"key":'), {})
    assert.deepStrictEqual(shown('{"key":"'), { key: "" })
    assert.deepStrictEqual(shown(" \n```json\n", '{"a"', ":1}\n```"), { a: 1 })
  })

  it("stops at what is not JSON, and keeps what it had", () => {
    const wrong = [
      ["Here is it: {}", undefined],
      ["12", undefined],
      ['"text"', undefined],
      ['{"a":1,}', { a: 1 }],
      ['{"a":1 "b":2}', { a: 1 }],
      ["{a:1}", {}],
      ["[1,,2]", [1]],
      ["[01,", []],
      ["[+1,", []],
      ["[nul,", []],
      ["[1}", [1]],
      ['{"a":1]', { a: 1 }],
      ['["\\x"]', [""]],
      ['["\\u12g4"]', [""]],
      ['["a\nb"]', [""]],
      [`[${"1".repeat(2_000)}]`, []]
    ] as const
    for (const [text, value] of wrong) {
      const partial = new PartialJson()
      partial.push(text)
      assert.strictEqual(partial.state, "invalid", text)
      assert.deepStrictEqual(partial.value, value as unknown, text)
      assert.isFalse(partial.push("{}"))
    }
    const deep = new PartialJson()
    deep.push("[".repeat(100_000))
    assert.strictEqual(deep.state, "invalid")
  })

  it("drops keys that could poison a prototype", () => {
    const partial = new PartialJson()
    partial.push(
      '{"__proto__":{"admin":true},"constructor":{"prototype":{"admin":true},"x":1},"a":[{"__proto__":[1]}]}'
    )
    assert.deepStrictEqual(partial.value, { constructor: { x: 1 }, a: [{}] } as unknown)
    assert.isUndefined(({} as { readonly admin?: true }).admin)
  })
})
