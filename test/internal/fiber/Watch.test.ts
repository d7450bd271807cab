import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as TestClock from "effect/TestClock"
import * as Deadline from "../../../src/internal/fiber/Deadline.js"
import * as Watch from "../../../src/internal/fiber/Watch.js"
import * as SteppedClock from "../../support/SteppedClock.js"

interface Time {
  readonly advance: (millis: number) => Effect.Effect<void>
  /** Timers that are armed; on a clock without them, none. */
  readonly timers: () => number
}

/** In a fiber of its own (`TestClock`), and in the caller's (a clock that gives its timers away). */
const onBothClocks = (name: string, body: (time: Time) => Effect.Effect<void, unknown>) => {
  it.effect(`${name}, in a fiber of its own`, () =>
    body({ advance: (millis) => TestClock.adjust(millis), timers: () => 0 })
  )
  it.live(`${name}, in the caller's fiber`, () =>
    Effect.suspend(() => {
      const { advance, clock, timers } = SteppedClock.make()
      return Effect.withClock(body({ advance, timers }), clock)
    })
  )
}

const limited = <A, E, R>(whole: number, effect: Effect.Effect<A, E, R>, error = `late ${whole}`) =>
  Deadline.run(() => effect, { whole, pausable: true, onTimeout: () => error })

const waiting = (millis: number) => Watch.outside(Effect.sleep(millis))

const timed = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.clockWith((clock) =>
    Effect.gen(function* () {
      const from = clock.unsafeCurrentTimeMillis()
      const result = yield* Effect.either(effect)
      return [Either.merge(result), clock.unsafeCurrentTimeMillis() - from] as const
    })
  )

describe("Watch.outside", () => {
  onBothClocks("stops all pausable limits around it", ({ advance, timers }) =>
    Effect.gen(function* () {
      const work = Effect.zipRight(waiting(3_600_000), Effect.as(Effect.sleep(8), "done"))
      const fiber = yield* Effect.fork(timed(limited(30, limited(20, limited(10, work)))))
      yield* advance(3_600_100)
      assert.deepStrictEqual(yield* Fiber.join(fiber), ["done", 3_600_008])
      assert.strictEqual(timers(), 0)
    })
  )

  onBothClocks("leaves what was left of the limit", ({ advance, timers }) =>
    Effect.gen(function* () {
      const slow = Effect.zipRight(Effect.sleep(6), Effect.zipRight(waiting(1000), Effect.never))
      const again = Effect.forever(Effect.zipRight(waiting(100), Effect.sleep(3)))
      const fibers = yield* Effect.forEach([slow, again], (work) => Effect.fork(timed(limited(10, work))))
      yield* advance(2000)
      assert.deepStrictEqual(yield* Fiber.join(fibers[0]!), ["late 10", 1010])
      assert.deepStrictEqual(yield* Fiber.join(fibers[1]!), ["late 10", 410])
      assert.strictEqual(timers(), 0)
    })
  )

  onBothClocks("does not stop the limits beside it, nor those that are not pausable", ({ advance, timers }) =>
    Effect.gen(function* () {
      const beside = Effect.all([limited(10, Effect.never, "beside"), waiting(1000)], { concurrency: 2 })
      const plain = Deadline.run(() => waiting(1000), { whole: 10, onTimeout: () => "plain" })
      const first = yield* Effect.fork(timed(limited(500, beside)))
      const second = yield* Effect.fork(timed(limited(5, plain)))
      yield* advance(100)
      assert.deepStrictEqual(yield* Fiber.join(first), ["beside", 10])
      assert.deepStrictEqual(yield* Fiber.join(second), ["plain", 10])
      assert.strictEqual(timers(), 0)
    })
  )

  onBothClocks("several waits at once stop the time until the last one ends", ({ advance, timers }) =>
    Effect.gen(function* () {
      const waits = Effect.all([waiting(100), waiting(300), Effect.zipRight(Effect.sleep(200), waiting(400))], {
        concurrency: 3
      })
      const fiber = yield* Effect.fork(timed(limited(10, Effect.zipRight(waits, Effect.never))))
      yield* advance(2000)
      assert.deepStrictEqual(yield* Fiber.join(fiber), ["late 10", 610])
      assert.strictEqual(timers(), 0)
    })
  )

  onBothClocks("the time goes on when a wait is interrupted or fails", ({ advance, timers }) =>
    Effect.gen(function* () {
      const cut = Effect.gen(function* () {
        const wait = yield* Effect.fork(Watch.outside(Effect.never))
        yield* Effect.sleep(50)
        yield* Fiber.interrupt(wait)
        yield* Effect.ignore(Watch.outside(Effect.zipRight(Effect.sleep(50), Effect.fail("no"))))
        return yield* Effect.never
      })
      const fiber = yield* Effect.fork(timed(limited(10, cut)))
      yield* advance(2000)
      assert.deepStrictEqual(yield* Fiber.join(fiber), ["late 10", 110])
      assert.strictEqual(timers(), 0)
    })
  )

  onBothClocks("an interruption from outside ends it and leaves no timer", ({ advance, timers }) =>
    Effect.gen(function* () {
      const ended: Array<string> = []
      const fiber = yield* Effect.fork(
        limited(
          10,
          limited(
            5,
            Effect.onInterrupt(waiting(1_000_000), () => Effect.sync(() => ended.push("wait")))
          )
        )
      )
      yield* advance(1000)
      yield* Fiber.interrupt(fiber)
      assert.isTrue(Exit.isInterrupted(yield* Fiber.await(fiber)))
      assert.deepStrictEqual(ended, ["wait"])
      assert.strictEqual(timers(), 0)
    })
  )

  onBothClocks("a pause does not reach the limits around its border", ({ advance, timers }) =>
    Effect.gen(function* () {
      const inside = (border: Watch.Watch | undefined) =>
        limited(10, Effect.as(Watch.outside(Effect.sleep(1000), border), "done"))
      const work = Effect.withFiberRuntime<string, string>((fiber) => inside(Watch.enclosing(fiber)))
      const near = yield* Effect.fork(timed(limited(50, work)))
      const far = yield* Effect.fork(timed(limited(2000, work)))
      yield* advance(3000)
      assert.deepStrictEqual(yield* Fiber.join(near), ["late 50", 50])
      assert.deepStrictEqual(yield* Fiber.join(far), ["done", 1000])
      assert.strictEqual(timers(), 0)
    })
  )

  onBothClocks("measures the rest", ({ advance }) =>
    Effect.gen(function* () {
      const fiber = yield* Effect.fork(
        Watch.measured((elapsed) =>
          Effect.gen(function* () {
            yield* Effect.sleep(20)
            yield* waiting(1000)
            yield* Effect.sleep(3)
            return elapsed()
          })
        )
      )
      yield* advance(2000)
      assert.strictEqual(yield* Fiber.join(fiber), 23)
    })
  )
})

describe("what ends a call from outside", () => {
  onBothClocks("gives its own error, and leaves the caller alone afterwards", ({ advance, timers }) =>
    Effect.gen(function* () {
      let end: ((error: string) => void) | undefined
      const call = Deadline.run(() => Effect.never, {
        whole: 100,
        ending: (given: (error: string) => void) => {
          end = given
          return () => {
            end = undefined
          }
        },
        onTimeout: () => "late"
      })
      const fiber = yield* Effect.fork(Effect.zip(timed(call), timed(Effect.sleep(500))))
      yield* advance(20)
      end?.("told to")
      yield* advance(1000)
      assert.deepStrictEqual(yield* Fiber.join(fiber), [
        ["told to", 20],
        [undefined, 500]
      ])
      assert.isUndefined(end)
      assert.strictEqual(timers(), 0)
    })
  )
})
