import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Option from "effect/Option"
import * as KeyedLock from "../../../src/internal/fiber/KeyedLock.js"
import * as Permits from "../../../src/internal/fiber/Permits.js"
import * as YieldingScheduler from "../../support/YieldingScheduler.js"

type WithPermit = Permits.WithPermit

/** Whether somebody can still take the permit. */
const isFree = (withPermit: WithPermit): Effect.Effect<boolean> =>
  Effect.gen(function* () {
    const fiber = yield* Effect.fork(withPermit(Effect.void))
    for (let i = 0; i < 50; i++) yield* Effect.yieldNow()
    const isDone = Option.isSome(yield* Fiber.poll(fiber))
    yield* Fiber.interrupt(fiber)
    return isDone
  })

/** Interrupts the second of two fibers that want the permit, at one operation. Tells whether it is free afterwards. */
const interruptedAt = (make: () => WithPermit, point: number): Promise<{ reached: boolean; free: boolean }> => {
  const withPermit = make()
  let second: Fiber.RuntimeFiber<void> | undefined
  const scheduler = YieldingScheduler.make((count) => {
    if (count === point) second?.unsafeInterruptAsFork(second.id())
  })
  const program = Effect.gen(function* () {
    const gate = yield* Deferred.make<void>()
    const first = yield* Effect.fork(withPermit(Deferred.await(gate)))
    yield* Effect.yieldNow()
    second = yield* Effect.fork(withPermit(Effect.void))
    yield* Effect.yieldNow()
    yield* Deferred.succeed(gate, undefined)
    yield* Fiber.await(first)
    const exit = yield* Fiber.await(second)
    return { reached: Exit.isInterrupted(exit) || point <= scheduler.count() }
  }).pipe(Effect.withScheduler(scheduler))
  return Effect.runPromise(
    Effect.gen(function* () {
      const { reached } = yield* program
      return { reached, free: yield* isFree(withPermit) }
    })
  )
}

/** The operations at which an interruption loses the permit. */
const lostAt = async (make: () => WithPermit): Promise<ReadonlyArray<number>> => {
  const lost: Array<number> = []
  for (let point = 1; ; point++) {
    const { free, reached } = await interruptedAt(make, point)
    if (!reached) return lost
    if (!free) lost.push(point)
  }
}

describe("Permits", () => {
  it("loses no permit when a waiter is interrupted at any operation", async () => {
    assert.deepStrictEqual(await lostAt(() => Permits.make(1)), [])
  })

  it("loses no requested permit when a waiter is interrupted at any operation", async () => {
    const requested =
      (permits: Permits.Line): WithPermit =>
      (effect) =>
        Effect.uninterruptibleMask((restore) =>
          Effect.suspend(() => {
            const permit = permits.ask()
            const release = Effect.sync(() => permit.release())
            return Effect.zipRight(
              Effect.onError(restore(permit.wait()), () => release),
              Effect.ensuring(restore(effect), release)
            )
          })
        )
    assert.deepStrictEqual(await lostAt(() => requested(Permits.line(1))), [])
  })

  it("KeyedLock loses no key when a waiter is interrupted at any operation", async () => {
    const keyed = (locks: KeyedLock.KeyedLock): WithPermit => locks.withLock("key")
    assert.deepStrictEqual(await lostAt(() => keyed(KeyedLock.make())), [])
  })

  it("is needed as long as Effect's semaphore loses a permit", async () => {
    assert.isNotEmpty(await lostAt(() => Effect.unsafeMakeSemaphore(1).withPermits(1)))
  })

  it.effect("bounds how many run at a time, and serves those who wait in order", () =>
    Effect.gen(function* () {
      const withPermit = Permits.make(2)
      let running = 0
      let most = 0
      const order: Array<number> = []
      yield* Effect.forEach(
        [1, 2, 3, 4, 5],
        (n) =>
          withPermit(
            Effect.gen(function* () {
              most = Math.max(most, ++running)
              order.push(n)
              yield* Effect.yieldNow()
              running--
            })
          ),
        { concurrency: "unbounded" }
      )
      assert.strictEqual(most, 2)
      assert.deepStrictEqual(order, [1, 2, 3, 4, 5])
    })
  )

  it.effect("gives the permit back after a success, a failure, a defect and an interruption", () =>
    Effect.gen(function* () {
      const withPermit = Permits.make(1)
      assert.strictEqual(yield* withPermit(Effect.succeed(1)), 1)
      assert.deepStrictEqual(yield* Effect.exit(withPermit(Effect.fail("no"))), Exit.fail("no"))
      assert.isTrue(Exit.isFailure(yield* Effect.exit(withPermit(Effect.die("no")))))
      const holder = yield* Effect.fork(withPermit(Effect.never))
      yield* Effect.yieldNow()
      const waiter = yield* Effect.fork(withPermit(Effect.never))
      yield* Effect.yieldNow()
      yield* Fiber.interrupt(waiter)
      yield* Fiber.interrupt(holder)
      assert.isTrue(yield* isFree(withPermit))
    })
  )

  it.effect("an effect that runs twice at once takes a permit each time", () =>
    Effect.gen(function* () {
      const withPermit = Permits.make(1)
      let running = 0
      let most = 0
      const effect = withPermit(
        Effect.gen(function* () {
          most = Math.max(most, ++running)
          yield* Effect.yieldNow()
          running--
        })
      )
      yield* Effect.all([effect, effect], { concurrency: 2 })
      assert.strictEqual(most, 1)
    })
  )
})

describe("line", () => {
  it.effect("grants permits in order of request", () =>
    Effect.gen(function* () {
      const permits = Permits.line(1)
      const order: Array<number> = []
      const first = permits.ask()
      const fibers = yield* Effect.forEach([1, 2, 3], (n) =>
        Effect.fork(permits.withPermit(Effect.sync(() => order.push(n)))).pipe(Effect.zipLeft(Effect.yieldNow()))
      )
      assert.deepStrictEqual([permits.waiting(), order], [3, []])
      first.release()
      yield* Fiber.joinAll(fibers)
      assert.deepStrictEqual(order, [1, 2, 3])
      assert.isFalse(permits.isFull())
    })
  )

  it.effect("are not all taken by a fiber that repermits at once", () =>
    Effect.gen(function* () {
      const permits = Permits.line(1)
      const order: Array<string> = []
      const worker = (name: string) =>
        Effect.repeatN(
          permits.withPermit(
            Effect.zipRight(
              Effect.sync(() => order.push(name)),
              Effect.yieldNow()
            )
          ),
          49
        )
      yield* Effect.all([worker("a"), worker("b"), worker("c")], { concurrency: 3 })
      let longest = 0
      let run = 0
      order.forEach((name, at) => {
        run = name === order[at - 1] ? run + 1 : 1
        longest = Math.max(longest, run)
      })
      assert.strictEqual(order.length, 150)
      assert.isAtMost(longest, 2)
    })
  )

  it.effect("keeps nothing of an interrupted wait", () =>
    Effect.gen(function* () {
      const permits = Permits.line(1)
      const holder = permits.ask()
      const waiting = yield* Effect.fork(permits.withPermit(Effect.void))
      const next = yield* Effect.fork(permits.withPermit(Effect.succeed("next")))
      yield* Effect.yieldNow()
      yield* Fiber.interrupt(waiting)
      assert.strictEqual(permits.waiting(), 1)
      holder.release()
      assert.strictEqual(yield* Fiber.join(next), "next")
      assert.isFalse(permits.isFull())
    })
  )

  it.effect("passes on a permit that is granted at the moment of an interruption", () =>
    Effect.gen(function* () {
      const permits = Permits.line(1)
      const holder = permits.ask()
      const waiting = yield* Effect.fork(permits.withPermit(Effect.never))
      yield* Effect.yieldNow()
      holder.release()
      yield* Fiber.interrupt(waiting)
      assert.isFalse(permits.isFull())
      yield* permits.withPermit(Effect.void)
    })
  )

  it.effect("releases a permit with its effect however it ends, and only once", () =>
    Effect.gen(function* () {
      const permits = Permits.line(1)
      yield* Effect.exit(permits.withPermit(Effect.fail("no")))
      yield* Effect.exit(permits.withPermit(Effect.die("no")))
      const reached = yield* Deferred.make<void>()
      const fiber = yield* Effect.fork(
        permits.withPermit(Effect.zipRight(Deferred.succeed(reached, undefined), Effect.never))
      )
      yield* Deferred.await(reached)
      yield* Fiber.interrupt(fiber)
      assert.isFalse(permits.isFull())
      const first = permits.ask()
      const second = permits.ask()
      first.release()
      first.release()
      assert.isTrue(permits.isFull())
      second.release()
      assert.isFalse(permits.isFull())
    })
  )

  it.effect("keeps the place of a request that is waited for later", () =>
    Effect.gen(function* () {
      const permits = Permits.line(1)
      const holder = permits.ask()
      const early = permits.ask()
      const order: Array<string> = []
      const late = yield* Effect.fork(permits.withPermit(Effect.sync(() => order.push("late"))))
      yield* Effect.yieldNow()
      holder.release()
      assert.deepStrictEqual([permits.isFull(), permits.waiting()], [true, 1])
      yield* early.wait()
      order.push("early")
      early.release()
      yield* Fiber.join(late)
      assert.deepStrictEqual(order, ["early", "late"])
    })
  )
})
