import { assert, describe, it } from "@effect/vitest"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as CallTimer from "../../../src/internal/fiber/CallTimer.js"
import * as Deadline from "../../../src/internal/fiber/Deadline.js"
import * as Watch from "../../../src/internal/fiber/Watch.js"
import * as SteppedClock from "../../support/SteppedClock.js"

/** A call that only its limit ends, and the time at which it ended. */
const stuck = (limit: number) =>
  Deadline.run(() => Effect.never, { whole: limit, onTimeout: () => "late" }).pipe(
    Effect.merge,
    Effect.zip(Clock.currentTimeMillis)
  )

interface Given {
  readonly stepped: SteppedClock.SteppedClock
  readonly timer: CallTimer.CallTimer
  /** How often the clock was asked to wake somebody. */
  readonly sleeps: () => number
}

/** Runs the body with a kept timer around it, on a clock that advances by hand. */
const withTimer = <E>(body: (given: Given) => Effect.Effect<void, E>): Effect.Effect<void, E> =>
  Effect.suspend(() => {
    const stepped = SteppedClock.make()
    let sleeps = 0
    const clock: Clock.Clock = {
      ...stepped.clock,
      sleep: (duration) =>
        Effect.suspend(() => {
          sleeps++
          return stepped.clock.sleep(duration)
        })
    }
    return Effect.withFiberRuntime<void, E>((fiber) => {
      const timer = CallTimer.kept(fiber)
      return Effect.provideService(body({ stepped, timer, sleeps: () => sleeps }), CallTimer.Shared, timer)
    }).pipe(Effect.withClock(clock))
  })

describe("CallTimer", () => {
  it.live("wakes for each of several calls at its own limit with one timer of the clock", () =>
    withTimer(({ stepped }) =>
      Effect.gen(function* () {
        const fibers = yield* Effect.forEach([30, 10, 20], (limit) => Effect.fork(stuck(limit)))
        yield* stepped.advance(5)
        assert.strictEqual(stepped.timers(), 1)
        yield* stepped.advance(100)
        assert.deepStrictEqual(yield* Effect.forEach(fibers, Fiber.join), [
          ["late", 30],
          ["late", 10],
          ["late", 20]
        ])
        assert.strictEqual(stepped.timers(), 0)
      })
    )
  )

  it.live("sleeps on under calls with later limits, and less for one with an earlier limit", () =>
    withTimer(({ sleeps, stepped }) =>
      Effect.gen(function* () {
        const first = yield* Effect.fork(stuck(100))
        yield* stepped.advance(10)
        const later = yield* Effect.fork(stuck(100))
        yield* stepped.advance(10)
        assert.strictEqual(sleeps(), 1)
        const earlier = yield* Effect.fork(stuck(30))
        yield* stepped.advance(10)
        assert.deepStrictEqual([sleeps(), stepped.timers()], [2, 1])
        yield* stepped.advance(200)
        assert.deepStrictEqual(yield* Effect.forEach([first, later, earlier], Fiber.join), [
          ["late", 100],
          ["late", 110],
          ["late", 50]
        ])
      })
    )
  )

  it.live("asks the clock once for calls that follow each other, and leaves it when it is released", () =>
    withTimer(({ sleeps, stepped, timer }) =>
      Effect.gen(function* () {
        const hop = Deadline.run(() => Effect.yieldNow(), { whole: 1000, onTimeout: () => "late" })
        for (let n = 0; n < 20; n++) yield* hop
        assert.deepStrictEqual([sleeps(), stepped.timers()], [1, 1])
        timer.release()
        yield* stepped.advance(1)
        assert.deepStrictEqual([sleeps(), stepped.timers()], [1, 0])
      })
    )
  )

  it.live("ends a call at its limit after it was released, and one that begins then", () =>
    withTimer(({ stepped, timer }) =>
      Effect.gen(function* () {
        const before = yield* Effect.fork(stuck(50))
        yield* stepped.advance(10)
        timer.release()
        const after = yield* Effect.fork(stuck(80))
        yield* stepped.advance(60)
        assert.deepStrictEqual(yield* Fiber.join(before), ["late", 50])
        yield* stepped.advance(60)
        assert.deepStrictEqual(yield* Fiber.join(after), ["late", 90])
        assert.strictEqual(stepped.timers(), 0)
        assert.deepStrictEqual(
          yield* Effect.zipLeft(Effect.fork(stuck(10)), stepped.advance(20)).pipe(Effect.flatMap(Fiber.join)),
          ["late", 140]
        )
        assert.strictEqual(stepped.timers(), 0)
      })
    )
  )

  it.live("does not count the pauses of one call, and ends the others in the meantime", () =>
    withTimer(({ stepped }) =>
      Effect.gen(function* () {
        const paused = yield* Effect.fork(
          Deadline.run(() => Effect.zipRight(Watch.outside(Effect.sleep(1000)), Effect.never), {
            whole: 40,
            pausable: true,
            onTimeout: () => "late"
          }).pipe(Effect.merge, Effect.zip(Clock.currentTimeMillis))
        )
        const other = yield* Effect.fork(stuck(60))
        yield* stepped.advance(2000)
        assert.deepStrictEqual(yield* Fiber.join(other), ["late", 60])
        assert.deepStrictEqual(yield* Fiber.join(paused), ["late", 1040])
      })
    )
  )

  it.live("leaves calls under another clock to a timer of their own", () =>
    withTimer(({ stepped }) =>
      Effect.gen(function* () {
        const other = SteppedClock.make()
        const fiber = yield* Effect.fork(Effect.withClock(stuck(10), other.clock))
        yield* stepped.advance(100)
        assert.deepStrictEqual([stepped.timers(), other.timers()], [0, 1])
        yield* other.advance(10)
        assert.deepStrictEqual(yield* Fiber.join(fiber), ["late", 10])
        assert.strictEqual(other.timers(), 0)
      })
    )
  )
})
