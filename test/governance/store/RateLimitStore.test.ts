import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as FastCheck from "effect/FastCheck"
import * as TestClock from "effect/TestClock"
import * as RateLimitStore from "../../../src/governance/store/RateLimitStore.js"
import * as SetClock from "../../support/SetClock.js"
import { suite } from "./RateLimitStoreSuite.js"

suite("memory", RateLimitStore.layerMemory())

const windowMs = 60_000

describe("RateLimitStore.layerMemory", () => {
  it.effect("refuses new keys when full, evicts none, and has room after windows empty", () =>
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

  it.effect("does not accumulate keys used once", () => {
    const time = SetClock.make()
    return Effect.gen(function* () {
      const store = yield* RateLimitStore.makeMemory({ capacity: 201 })
      for (let index = 0; index < 20_000; index++) {
        time.set(index * (windowMs / 100))
        yield* store.take({ key: `key ${index}`, amount: 1, limit: 1, windowMs })
      }
    }).pipe(Effect.withClock(time.clock))
  })

  it.effect("drops takes of a key when they leave the window, no sooner", () => {
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

  const day = 86_400_000
  const slot = day / 3600

  it.effect("keeps at most 3,601 slots of a long window", () => {
    const time = SetClock.make()
    return Effect.gen(function* () {
      const store = yield* RateLimitStore.makeMemory()
      const left: Array<number> = []
      for (let index = 0; index < 50_000; index++) {
        time.set(index * 2399)
        const taken = yield* store.take({ key: "k", amount: 1, limit: 1e9, windowMs: day })
        if (taken.allowed && left.at(-1) !== taken.at) left.push(taken.at)
        while ((left[0] as number) + day <= time.now()) left.shift()
        assert.isAtMost(left.length, 3601)
      }
    }).pipe(Effect.withClock(time.clock))
  })

  it.effect("keeps everything within a long window, and nothing much older", () =>
    Effect.promise(() =>
      FastCheck.assert(
        FastCheck.asyncProperty(
          FastCheck.array(
            FastCheck.record({
              wait: FastCheck.oneof(
                FastCheck.nat(10),
                FastCheck.nat(2 * slot),
                FastCheck.nat(day),
                FastCheck.constantFrom(slot - 1, slot, slot + 1, day - 1, day, day + 1)
              ),
              amount: FastCheck.nat(5),
              to: FastCheck.option(FastCheck.nat(8), { nil: undefined })
            }),
            { maxLength: 60 }
          ),
          FastCheck.nat(day),
          (steps, start) => {
            const time = SetClock.make(start)
            return Effect.gen(function* () {
              const store = yield* RateLimitStore.makeMemory()
              const takes: Array<{ readonly at: number; amount: number }> = []
              const within = (millis: number) =>
                takes.filter(({ at }) => time.now() < at + millis).reduce((total, { amount }) => total + amount, 0)
              const window = { key: "k", windowMs: day }
              for (const { amount, to, wait } of steps) {
                time.set(time.now() + wait)
                const held = yield* store.peek(window)
                assert.isAtLeast(held, within(day))
                assert.isAtMost(held, within(day + slot))
                const taken = yield* store.take({ ...window, amount, limit: 20 })
                assert.strictEqual(taken.allowed, held + amount <= 20)
                if (!taken.allowed) {
                  const now = time.now()
                  time.set(now + (taken.retryAfterMs as number) - 1)
                  assert.isFalse((yield* store.take({ ...window, amount, limit: 20 })).allowed)
                  time.set(now + (taken.retryAfterMs as number))
                  assert.isAtMost((yield* store.peek(window)) + amount, 20)
                  continue
                }
                const take = { at: time.now(), amount }
                takes.push(take)
                if (to === undefined) continue
                yield* store.adjust({ ...window, at: taken.at, from: amount, to })
                take.amount = to
                assert.strictEqual(yield* store.peek(window), held + to)
              }
            }).pipe(Effect.withClock(time.clock), Effect.runPromise)
          }
        ),
        { numRuns: 200 }
      )
    )
  )

  it.effect("loses nothing when the clock is set back", () => {
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
