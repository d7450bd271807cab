import { assert, describe, it } from "@effect/vitest"
import * as FastCheck from "effect/FastCheck"
import * as ExactJson from "../../../src/persistence/engine/ExactJson.js"
import * as Growth from "../../support/Growth.js"

const back = (value: unknown): unknown => ExactJson.decode(ExactJson.encode(value))

describe("ExactJson", () => {
  it("writes plain JSON unchanged", () => {
    for (const value of [null, 1, "a\u0000\ud800", [], {}, { a: [null, { b: "null" }] }, { $: 1 }]) {
      assert.strictEqual(ExactJson.encode(value), JSON.stringify(value))
    }
  })

  it("returns its input", () => {
    const special = FastCheck.oneof(
      FastCheck.constantFrom(Number.NaN, -0, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, null),
      FastCheck.bigInt(),
      FastCheck.date({ noInvalidDate: true }),
      FastCheck.uint8Array({ maxLength: 9 }),
      FastCheck.string({ unit: "binary" }),
      FastCheck.double(),
      FastCheck.boolean()
    )
    const { tree } = FastCheck.letrec<{ tree: unknown }>((tie) => ({
      tree: FastCheck.oneof(
        { maxDepth: 4 },
        special,
        FastCheck.array(FastCheck.option(tie("tree"), { nil: undefined })),
        FastCheck.dictionary(
          FastCheck.oneof(FastCheck.string(), FastCheck.constantFrom("$", "$$", "$a", "value", "__proto__")),
          tie("tree")
        )
      )
    }))
    FastCheck.assert(
      FastCheck.property(tree, (value) => {
        assert.isTrue(same(back(value), value))
      }),
      { numRuns: 150 }
    )
  })

  it("omits only the cyclic or too deep part", () => {
    const cyclic: { a: number; self?: unknown } = { a: 1 }
    cyclic.self = [cyclic]
    assert.deepStrictEqual(back({ cyclic, b: 1n }), { cyclic: { a: 1, self: [null] }, b: 1n })
    let deep: unknown = 1
    for (let level = 0; level < 20_000; level++) deep = [deep]
    assert.deepInclude(back({ deep, b: 2 }) as object, { b: 2 })
  })

  it("takes time linear in the number of records", () => {
    Growth.assertLinear({
      input: (size) => ({
        wide: Array.from({ length: size }, (_, index) => ({ index, none: null })),
        date: new Date(0)
      }),
      size: 20_000,
      run: back
    })
  })

  it("does not mistake a text for one of its own", () => {
    for (const text of ["", "!", "!{", "undefined", "12x"]) assert.throws(() => ExactJson.decode(text), SyntaxError)
  })
})

/** Equal in all that can be told of plain values, other than deep equality in what kind of object they are. */
const same = (a: unknown, b: unknown): boolean => {
  if (Object.is(a, b)) return true
  if (typeof a !== "object" || typeof b !== "object" || a === null || b === null) return false
  if (a instanceof Date && b instanceof Date) return a.getTime() === b.getTime()
  if (a instanceof Uint8Array && b instanceof Uint8Array) return Buffer.compare(a, b) === 0
  if (Array.isArray(a) !== Array.isArray(b)) return false
  const keys = Object.keys(a)
  return (
    keys.length === Object.keys(b).length &&
    keys.every((key) => Object.hasOwn(b, key) && same(Reflect.get(a, key), Reflect.get(b, key)))
  )
}
