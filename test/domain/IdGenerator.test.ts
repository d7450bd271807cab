import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Random from "effect/Random"
import * as TestClock from "effect/TestClock"
import * as IdGenerator from "../../src/domain/IdGenerator.js"

const many = (count: number) => Effect.all(Array.from({ length: count }, () => IdGenerator.generate))

describe("IdGenerator", () => {
  it.effect("makes UUIDs of version 7 that hold the time", () =>
    Effect.gen(function* () {
      yield* TestClock.setTime(0x0123456789ab)
      for (const id of yield* many(50)) {
        assert.match(id, /^01234567-89ab-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
      }
    })
  )

  it.effect("sorts ids of a later millisecond after earlier ones", () =>
    Effect.gen(function* () {
      const ids: Array<string> = []
      for (const step of [1, 1, 5, 1000, 86_400_000, 1e12]) {
        yield* TestClock.adjust(step)
        ids.push(yield* IdGenerator.generate)
      }
      assert.deepStrictEqual([...ids].sort(), ids)
    })
  )

  it.effect("generates no id twice, even at the same time", () =>
    Effect.gen(function* () {
      const ids = yield* many(5000)
      assert.strictEqual(new Set(ids).size, 5000)
    })
  )

  it.effect("repeats the ids under the same seed and time", () =>
    Effect.gen(function* () {
      const seeded = (seed: string) => Effect.withRandom(many(5), Random.make(seed))
      assert.deepStrictEqual(yield* seeded("a"), yield* seeded("a"))
      assert.notDeepEqual(yield* seeded("a"), yield* seeded("b"))
    })
  )

  it.effect("counts and sorts sequential ids, and restarts with each layer", () =>
    Effect.gen(function* () {
      const ten = Effect.provide(many(11), IdGenerator.layerSequential({ prefix: "run-" }))
      const ids = yield* ten
      assert.deepStrictEqual([ids[0], ids[10]], ["run-000000001", "run-000000011"])
      assert.deepStrictEqual([...ids].sort(), ids)
      assert.deepStrictEqual(yield* ten, ids)
      assert.deepStrictEqual(yield* Effect.provide(IdGenerator.generate, IdGenerator.layerSequential()), "id-000000001")
    })
  )
})
