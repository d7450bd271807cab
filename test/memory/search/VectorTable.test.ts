import { assert, describe, it } from "@effect/vitest"
import { EntryId } from "../../../src/domain/Ids.js"
import * as VectorTable from "../../../src/memory/search/VectorTable.js"

const item = (id: string) => ({ id: EntryId.make(id), timestamp: 0, role: "user" as const, metadata: {} })

const filled = (count: number): VectorTable.VectorTable => {
  const table = VectorTable.make(2)
  for (let n = 0; n < count; n++) table.set(item(`e${n}`), Float32Array.of(Math.cos(n / 100), Math.sin(n / 100)))
  return table
}

const query = Float32Array.of(1, 0)
const asked = { limit: 3, now: 0, accepts: undefined }

describe("VectorTable", () => {
  it("finds the same in steps as at once", () => {
    const table = filled(25)
    const search = table.search(query, asked)
    let steps = 1
    while (!search.advance(10)) steps++
    assert.strictEqual(steps, 3)
    assert.deepStrictEqual(search.hits(), table.nearest(query, asked))
  })

  it("restarts and finishes at once when the table has changed", () => {
    const table = filled(25)
    const search = table.search(query, asked)
    assert.isFalse(search.advance(10))
    // The last one takes the place of the first, which was looked at.
    table.delete(EntryId.make("e0"))
    table.set(item("new"), query)
    assert.isTrue(search.advance(1))
    assert.deepStrictEqual(
      search.hits().map(({ id }) => id as string),
      ["new", "e1", "e2"]
    )
  })

  it("finishes at once for an empty search", () => {
    for (const limit of [0, -1, Number.NaN]) {
      const search = filled(5).search(query, { ...asked, limit })
      assert.isTrue(search.advance(1))
      assert.deepStrictEqual(search.hits(), [])
    }
  })

  it("reserves room, and reports its size", () => {
    const table = VectorTable.make(2)
    table.reserve(1_000)
    assert.strictEqual(table.bytes, 8_000)
    table.reserve(10)
    assert.strictEqual(table.bytes, 8_000)
    assert.deepStrictEqual([...filled(2).ids()], ["e0", "e1"])
  })
})
