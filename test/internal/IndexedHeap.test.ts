import { assert, describe, it } from "@effect/vitest"
import * as FastCheck from "effect/FastCheck"
import { IndexedHeap } from "../../src/internal/IndexedHeap.js"

interface Item {
  key: number
  at: number
}

const make = () => new IndexedHeap<"at", Item>("at", (a, b) => a.key - b.key)

describe("IndexedHeap", () => {
  it("returns the least item first after any changes", () => {
    const step = FastCheck.record({
      what: FastCheck.constantFrom("add", "add", "add", "move", "remove", "pop"),
      key: FastCheck.integer({ min: 0, max: 50 }),
      which: FastCheck.nat()
    })
    FastCheck.assert(
      FastCheck.property(FastCheck.array(step, { minLength: 50, maxLength: 300 }), (steps) => {
        const heap = make()
        let model: Array<Item> = []
        for (const { key, what, which } of steps) {
          const item = model[which % Math.max(1, model.length)]
          if (what === "add") {
            const added = { key, at: -1 }
            heap.add(added)
            model.push(added)
          } else if (item !== undefined && what === "move") {
            item.key = key
            heap.moved(item)
          } else {
            const gone = what === "pop" ? heap.first : item
            if (gone !== undefined) {
              heap.remove(gone)
              model = model.filter((other) => other !== gone)
              assert.strictEqual(gone.at, -1)
            }
          }
          assert.strictEqual(heap.size, model.length)
          if (model.length > 0) assert.strictEqual(heap.first?.key, Math.min(...model.map((one) => one.key)))
          else assert.isUndefined(heap.first)
        }
      })
    )
  })

  it("ignores items outside the heap when moved or removed", () => {
    const heap = make()
    heap.add({ key: 1, at: -1 })
    heap.remove({ key: 0, at: -1 })
    heap.moved({ key: 0, at: -1 })
    assert.strictEqual(heap.size, 1)
    assert.strictEqual(heap.first?.key, 1)
  })
})
