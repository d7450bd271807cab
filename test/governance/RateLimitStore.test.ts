import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as TestClock from "effect/TestClock"
import * as RateLimitStore from "../../src/governance/RateLimitStore.js"
import * as SetClock from "../support/SetClock.js"
import { suite } from "./RateLimitStoreSuite.js"

suite("memory", RateLimitStore.layerMemory())

const windowMs = 60_000

describe("RateLimitStore.layerMemory", () => {
  it.effect("a full store refuses new keys, forgets none, and has room again when windows are empty", () =>
    Effect.gen(function* () {
      const store = yield* RateLimitStore.makeMemory({ capacity: 3 })
      const take = (key: string) => store.take({ key, amount: 1, limit: 1, windowMs })
      for (const key of ["a", "b", "c"]) assert.isTrue((yield* take(key)).allowed)
      const error = yield* Effect.flip(take("d"))
      assert.strictEqual(error._tag, "GovernancePersistenceError")
      assert.include(error.message, "3 keys")
      for (const key of ["a", "b", "c"]) assert.isFalse((yield* take(key)).allowed)
      yield* TestClock.adjust(windowMs)
      assert.isTrue((yield* take("d")).allowed)
    })
  )

  it.effect("keys that come once do not add up", () => {
    const time = SetClock.make()
    return Effect.gen(function* () {
      const store = yield* RateLimitStore.makeMemory({ capacity: 201 })
      for (let index = 0; index < 20_000; index++) {
        time.set(index * (windowMs / 100))
        yield* store.take({ key: `key ${index}`, amount: 1, limit: 1, windowMs })
      }
    }).pipe(Effect.withClock(time.clock))
  })

  it.effect("takes of one key are forgotten when they leave the window, and no sooner", () => {
    const time = SetClock.make()
    return Effect.gen(function* () {
      const store = yield* RateLimitStore.makeMemory()
      for (let index = 0; index < 3 * windowMs; index++) {
        time.set(index)
        yield* store.take({ key: "k", amount: 1, limit: windowMs, windowMs })
        if (index % 997 === 0) {
          assert.strictEqual(yield* store.peek({ key: "k", windowMs }), Math.min(index + 1, windowMs))
        }
      }
    }).pipe(Effect.withClock(time.clock))
  })

  it.effect("a clock that is set back loses nothing", () => {
    const time = SetClock.make(windowMs)
    return Effect.gen(function* () {
      const store = yield* RateLimitStore.makeMemory()
      const take = store.take({ key: "k", amount: 1, limit: 2, windowMs })
      yield* take
      time.set(10)
      assert.deepStrictEqual(yield* take, { allowed: true, current: 2, at: windowMs })
      assert.deepStrictEqual(yield* take, { allowed: false, current: 2, retryAfterMs: 2 * windowMs - 10 })
      time.set(2 * windowMs)
      assert.isTrue((yield* take).allowed)
    }).pipe(Effect.withClock(time.clock))
  })
})
