import { assert, describe, it } from "@effect/vitest"
import * as Chunk from "effect/Chunk"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import * as Pages from "../../src/cli/data/Pages.js"

/** So many numbers in pages of at most 500, and what was asked for. */
const numbers = (total: number) => {
  const asked: Array<readonly [limit: number, cursor: number | undefined]> = []
  const read = (limit: number, cursor: number | undefined) =>
    Effect.sync(() => {
      asked.push([limit, cursor])
      const from = cursor ?? 0
      const items = Array.from({ length: Math.min(limit, total - from) }, (_, i) => from + i)
      const next = from + items.length
      return next < total ? { items, next } : { items }
    })
  return { asked, read }
}

describe("Pages", () => {
  it.effect("asks for no more than the number of items, by pages of 500", () =>
    Effect.gen(function* () {
      const { asked, read } = numbers(2000)
      assert.lengthOf(yield* Pages.first(1201, read), 1201)
      assert.deepStrictEqual(asked, [
        [500, undefined],
        [500, 500],
        [201, 1000]
      ])
    })
  )

  it.effect("ends with the last page, and reads a page when its first item is taken", () =>
    Effect.gen(function* () {
      const all = numbers(1000)
      const found = yield* Stream.runCollect(Pages.stream(all.read))
      assert.deepStrictEqual(
        Chunk.toReadonlyArray(found),
        Array.from({ length: 1000 }, (_, i) => i)
      )
      const some = numbers(5000)
      yield* Stream.runDrain(Stream.take(Pages.stream(some.read), 10))
      assert.lengthOf(some.asked, 1)
      assert.isEmpty(yield* Pages.first(5, numbers(0).read))
    })
  )
})
