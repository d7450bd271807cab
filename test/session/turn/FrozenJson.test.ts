import { assert, describe, it } from "@effect/vitest"
import * as FastCheck from "effect/FastCheck"
import * as FrozenJson from "../../../src/session/turn/FrozenJson.js"

const data = FastCheck.dictionary(
  FastCheck.oneof(FastCheck.string({ unit: "binary" }), FastCheck.constant("__proto__")),
  FastCheck.anything({
    withDate: true,
    withMap: true,
    withSet: true,
    withSparseArray: true,
    withTypedArray: true,
    withBoxedValues: true,
    withNullPrototype: true
  })
)

const frozenThrough = (value: unknown): boolean =>
  typeof value !== "object" ||
  value === null ||
  (Object.isFrozen(value) && Object.values(value as object).every(frozenThrough))

describe("FrozenJson.copy", () => {
  it("gives the JSON round trip, deeply frozen", () => {
    FastCheck.assert(
      FastCheck.property(data, (value) => {
        const copy = FrozenJson.copy(value)
        assert.strictEqual(JSON.stringify(copy), JSON.stringify(value))
        assert.deepStrictEqual(copy, JSON.parse(JSON.stringify(value)))
        assert.isTrue(frozenThrough(copy))
      }),
      { numRuns: 300 }
    )
  })

  it("shares nothing with its input", () => {
    const given = { list: [{ a: 1 }], when: new Date(5) }
    const copy = FrozenJson.copy(given)
    given.list[0] = { a: 2 }
    assert.deepStrictEqual(copy, { list: [{ a: 1 }], when: "1970-01-01T00:00:00.005Z" } as never)
  })

  it("rejects what JSON rejects, and data as deep as a cycle", () => {
    const cyclic: Record<string, unknown> = {}
    cyclic["self"] = { cyclic }
    const list: Array<unknown> = []
    list.push(list)
    let deep: unknown = 1
    for (let at = 0; at < 100_000; at++) deep = [deep]
    for (const value of [cyclic, { list }, { deep }, { big: 1n }]) assert.throws(() => FrozenJson.copy(value))
  })
})
