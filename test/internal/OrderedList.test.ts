import { assert, describe, it } from "@effect/vitest"
import * as FastCheck from "effect/FastCheck"
import { OrderedList } from "../../src/internal/OrderedList.js"

const numbers = () => new OrderedList<number>((a, b) => a - b)

const upTo = (count: number): ReadonlyArray<number> => Array.from({ length: count }, (_, index) => index)

describe("OrderedList", () => {
  it("agrees with a sorted array after any changes", () => {
    const step = FastCheck.record({
      add: FastCheck.array(FastCheck.integer({ min: 0, max: 3_000 }), { maxLength: 800, size: "max" }),
      remove: FastCheck.array(FastCheck.integer({ min: 0, max: 3_000 }), { maxLength: 800, size: "max" })
    })
    FastCheck.assert(
      FastCheck.property(
        FastCheck.array(step, { minLength: 2, maxLength: 6 }),
        FastCheck.integer({ min: -1, max: 3_001 }),
        (steps, bound) => {
          const list = numbers()
          const model = new Set<number>()
          for (const { add, remove } of steps) {
            for (const item of add) {
              if (!model.has(item)) list.add(item)
              model.add(item)
            }
            for (const item of remove) assert.strictEqual(list.remove(item), model.delete(item))
          }
          const sorted = [...model].sort((a, b) => a - b)
          assert.strictEqual(list.size, sorted.length)
          assert.strictEqual(list.first, sorted[0])
          assert.deepStrictEqual([...list.ascending()], sorted)
          assert.deepStrictEqual([...list.descending()], sorted.slice().reverse())
          assert.deepStrictEqual(
            [...list.ascending((item) => item > bound)],
            sorted.filter((item) => item > bound)
          )
          assert.deepStrictEqual(
            [...list.descending((item) => item >= bound)],
            sorted
              .filter((item) => item < bound)
              .slice()
              .reverse()
          )
        }
      ),
      { numRuns: 30 }
    )
  })

  it("is the same after ascending and descending insertion", () => {
    const up = numbers()
    const down = numbers()
    for (const item of upTo(5_000)) up.add(item)
    for (const item of upTo(5_000).slice().reverse()) down.add(item)
    assert.deepStrictEqual([...up.ascending()], [...upTo(5_000)])
    assert.deepStrictEqual([...down.ascending()], [...upTo(5_000)])
  })

  it("finds the few items left of many from both ends", () => {
    const list = numbers()
    for (const item of upTo(20_000)) list.add(item)
    for (const item of upTo(20_000)) if (item % 4_000 !== 0) list.remove(item)
    assert.deepStrictEqual([...list.ascending()], [0, 4_000, 8_000, 12_000, 16_000])
    assert.deepStrictEqual([...list.descending((item) => item >= 8_000)], [4_000, 0])
    for (const item of [0, 4_000, 8_000, 12_000, 16_000]) assert.isTrue(list.remove(item))
    assert.deepStrictEqual([...list.descending()], [])
    assert.isUndefined(list.first)
  })

  it("ignores the removal of a missing item", () => {
    const list = numbers()
    assert.isFalse(list.remove(1))
    list.add(1)
    assert.isFalse(list.remove(0))
    assert.isFalse(list.remove(2))
    assert.strictEqual(list.size, 1)
  })
})
