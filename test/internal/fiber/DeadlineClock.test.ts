import { assert, describe, it } from "@effect/vitest"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as FiberRef from "effect/FiberRef"
import * as Deadline from "../../../src/internal/fiber/Deadline.js"
import * as SteppedClock from "../../support/SteppedClock.js"

const within = <A, E, R>(effect: Effect.Effect<A, E, R>, whole: number, error = "late") =>
  Deadline.run(() => effect, { whole, onTimeout: () => error })

/** Runs the body on a clock that advances by hand and counts its timers. */
const stepped = <A, E>(body: (clock: SteppedClock.SteppedClock) => Effect.Effect<A, E>): Effect.Effect<A, E> =>
  Effect.suspend(() => {
    const clock = SteppedClock.make()
    return Effect.withClock(body(clock), clock.clock)
  })

describe("Deadline on a stepped clock", () => {
  it.live("fires, waits for finalizers, and leaves the fiber free of its interruption", () =>
    stepped((clock) =>
      Effect.gen(function* () {
        const order: Array<string> = []
        const fiber = yield* Effect.fork(
          Effect.gen(function* () {
            const exit = yield* Effect.exit(
              within(
                Effect.ensuring(
                  Effect.never,
                  Effect.zipRight(
                    Effect.sleep(5),
                    Effect.sync(() => order.push("finalizer"))
                  )
                ),
                10
              )
            )
            order.push("after")
            assert.deepStrictEqual(exit, Exit.fail("late"))
            assert.isTrue(Cause.isEmpty(yield* FiberRef.get(FiberRef.interruptedCause)))
            yield* Effect.yieldNow()
            yield* Effect.sleep(1)
            return "went on"
          })
        )
        yield* clock.advance(9)
        assert.deepStrictEqual(order, [])
        yield* clock.advance(20)
        assert.strictEqual(yield* Fiber.join(fiber), "went on")
        assert.deepStrictEqual(order, ["finalizer", "after"])
        assert.strictEqual(clock.timers(), 0)
      })
    )
  )

  it.live("gives its timer back when the effect ends before, however it ends", () =>
    stepped((clock) =>
      Effect.gen(function* () {
        const ends: ReadonlyArray<Effect.Effect<string, string>> = [
          Effect.succeed("a"),
          Effect.fail("b"),
          Effect.die("c"),
          Effect.interrupt,
          Effect.zipRight(Effect.yieldNow(), Effect.succeed("d"))
        ]
        for (const end of ends) {
          const bare = yield* Effect.exit(end)
          const guarded = yield* Effect.exit(within(end, 10))
          assert.strictEqual(guarded._tag, bare._tag)
          assert.strictEqual(clock.timers(), 0)
        }
      })
    )
  )

  it.live("can be the second of two, in either order, and again in a loop", () =>
    stepped((clock) =>
      Effect.gen(function* () {
        const inner = yield* Effect.fork(Effect.exit(within(within(Effect.never, 5, "inner"), 10, "outer")))
        const outer = yield* Effect.fork(Effect.exit(within(within(Effect.never, 10, "inner"), 5, "outer")))
        const loop = yield* Effect.fork(
          Effect.forEach([1, 2, 3], () => Effect.either(within(Effect.never, 5)), { discard: true })
        )
        yield* clock.advance(15)
        assert.deepStrictEqual(yield* Fiber.join(inner), Exit.fail("inner"))
        assert.deepStrictEqual(yield* Fiber.join(outer), Exit.fail("outer"))
        yield* Fiber.join(loop)
        assert.strictEqual(clock.timers(), 0)
      })
    )
  )

  it.live("does not swallow an interruption from outside, before, with or after its own", () =>
    stepped((clock) =>
      Effect.gen(function* () {
        const slow = Effect.ensuring(Effect.never, Effect.sleep(10))
        for (const at of [3, 5, 8]) {
          let after = false
          const fiber = yield* Effect.fork(
            Effect.zipRight(
              Effect.exit(within(slow, 5)),
              Effect.sync(() => {
                after = true
              })
            )
          )
          yield* clock.advance(at)
          yield* Effect.fork(Fiber.interrupt(fiber))
          yield* clock.advance(30)
          assert.isTrue(Exit.isInterrupted(yield* Fiber.await(fiber)), `interrupted at ${at}`)
          assert.isFalse(after)
          assert.strictEqual(clock.timers(), 0)
        }
      })
    )
  )

  it.live("waits for a region the effect makes uninterruptible, and is the result all the same", () =>
    stepped((clock) =>
      Effect.gen(function* () {
        let done = false
        const fiber = yield* Effect.fork(
          Effect.exit(
            within(
              Effect.uninterruptible(
                Effect.zipRight(
                  Effect.sleep(20),
                  Effect.sync(() => {
                    done = true
                    return "value"
                  })
                )
              ),
              5
            )
          )
        )
        yield* clock.advance(10)
        assert.isFalse(done)
        yield* clock.advance(20)
        assert.deepStrictEqual(yield* Fiber.join(fiber), Exit.fail("late"))
        assert.isTrue(done)
      })
    )
  )

  it.live("keeps a defect of a finalizer visible", () =>
    stepped((clock) =>
      Effect.gen(function* () {
        const fiber = yield* Effect.fork(Effect.exit(within(Effect.ensuring(Effect.never, Effect.die("bug")), 5)))
        yield* clock.advance(10)
        const exit = yield* Fiber.join(fiber)
        assert.isTrue(Exit.isFailure(exit))
        if (Exit.isFailure(exit)) {
          assert.deepStrictEqual(Array.from(Cause.failures(exit.cause)), ["late"])
          assert.deepStrictEqual(Array.from(Cause.defects(exit.cause)), ["bug"])
        }
      })
    )
  )

  it.live("leaves alone the fibers its caller had forked before", () =>
    stepped((clock) =>
      Effect.gen(function* () {
        const fiber = yield* Effect.fork(
          Effect.gen(function* () {
            const background = yield* Effect.fork(Effect.as(Effect.sleep(20), "alive"))
            const exit = yield* Effect.exit(within(Effect.never, 5))
            assert.deepStrictEqual(exit, Exit.fail("late"))
            return yield* Fiber.join(background)
          })
        )
        yield* clock.advance(30)
        assert.strictEqual(yield* Fiber.join(fiber), "alive")
      })
    )
  )

  it.live("stops only its own of several that run side by side", () =>
    stepped((clock) =>
      Effect.gen(function* () {
        const fiber = yield* Effect.fork(
          Effect.forEach([3, 30, 6], (limit) => Effect.either(within(Effect.as(Effect.sleep(10), limit), limit)), {
            concurrency: "unbounded"
          })
        )
        yield* clock.advance(20)
        const results = yield* Fiber.join(fiber)
        assert.deepStrictEqual(
          results.map((result) => result._tag),
          ["Left", "Right", "Left"]
        )
      })
    )
  )

  it.live("ends every call at its own limit, whichever of them end before", () =>
    stepped((clock) =>
      Effect.gen(function* () {
        const ended: Array<string> = []
        const begin = (name: string, takes: number) =>
          Effect.fork(
            Effect.map(Effect.either(within(Effect.as(Effect.sleep(takes), name), 10, "late")), (result) => {
              ended.push(`${name} ${result._tag}`)
            })
          )
        const fibers = [yield* begin("a", 4), yield* begin("b", 100), yield* begin("c", 100)]
        yield* clock.advance(2)
        fibers.push(yield* begin("d", 100), yield* begin("e", 9), yield* begin("f", 100))
        yield* clock.advance(1)
        yield* Fiber.interrupt(fibers[2] as Fiber.RuntimeFiber<void>)
        yield* clock.advance(6)
        assert.deepStrictEqual(ended, ["a Right"])
        yield* clock.advance(1)
        assert.deepStrictEqual(ended, ["a Right", "b Left"])
        yield* clock.advance(1)
        assert.deepStrictEqual(ended, ["a Right", "b Left", "e Right"])
        yield* clock.advance(1)
        assert.deepStrictEqual(ended, ["a Right", "b Left", "e Right", "d Left", "f Left"])
        assert.strictEqual(clock.timers(), 0)
      })
    )
  )

  it.live("counts from where the call began, however late its timer is set", () =>
    stepped((clock) =>
      Effect.gen(function* () {
        const fiber = yield* Effect.fork(Effect.either(within(Effect.never, 10)))
        yield* clock.advance(6)
        const second = yield* Effect.fork(Effect.either(within(Effect.never, 10)))
        yield* clock.advance(4)
        assert.strictEqual((yield* Fiber.join(fiber))._tag, "Left")
        yield* clock.advance(5)
        assert.strictEqual(clock.timers(), 1)
        yield* clock.advance(1)
        assert.strictEqual((yield* Fiber.join(second))._tag, "Left")
        assert.strictEqual(clock.timers(), 0)
      })
    )
  )

  it.live("sets no timer for an effect that ends at once", () =>
    stepped((clock) =>
      Effect.gen(function* () {
        let most = 0
        for (let i = 0; i < 10; i++) {
          yield* within(
            Effect.sync(() => {
              most = Math.max(most, clock.timers())
            }),
            10
          )
        }
        yield* clock.advance(1)
        assert.deepStrictEqual([most, clock.timers()], [0, 0])
      })
    )
  )
})
