import { assert, describe, it } from "@effect/vitest"
import * as Cause from "effect/Cause"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as FiberRef from "effect/FiberRef"
import * as Ref from "effect/Ref"
import type * as Scheduler from "effect/Scheduler"
import * as TestClock from "effect/TestClock"
import * as Parallel from "../../../src/internal/fiber/Parallel.js"
import * as YieldingScheduler from "../../support/YieldingScheduler.js"

describe("Parallel.forEach", () => {
  it.effect("keeps the order of the items, whoever is first", () =>
    Effect.gen(function* () {
      const fiber = yield* Effect.fork(
        Parallel.forEach([30, 10, 20], (millis) => Effect.as(Effect.sleep(millis), millis), 3)
      )
      yield* TestClock.adjust(30)
      assert.deepStrictEqual(yield* Fiber.join(fiber), [30, 10, 20])
    })
  )

  it.effect("ends at once without items", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* Parallel.forEach([], () => Effect.die("no item"), 3), [])
    })
  )

  it.effect("runs so many at a time, begun in order", () =>
    Effect.gen(function* () {
      const running = yield* Ref.make(0)
      let most = 0
      const begun: Array<number> = []
      const fiber = yield* Effect.fork(
        Parallel.forEach(
          [1, 2, 3, 4, 5],
          (item) =>
            Effect.gen(function* () {
              begun.push(item)
              most = Math.max(most, yield* Ref.updateAndGet(running, (n) => n + 1))
              yield* Effect.sleep(10)
              yield* Ref.update(running, (n) => n - 1)
            }),
          2
        )
      )
      yield* TestClock.adjust(30)
      yield* Fiber.join(fiber)
      assert.strictEqual(most, 2)
      assert.deepStrictEqual(begun, [1, 2, 3, 4, 5])
    })
  )

  it.effect("stops the rest at the first failure and waits for it", () =>
    Effect.gen(function* () {
      let released = 0
      const held = Effect.ensuring(
        Effect.never,
        Effect.zipRight(
          Effect.yieldNow(),
          Effect.sync(() => void released++)
        )
      )
      const exit = yield* Effect.exit(
        Parallel.forEach(
          [0, 1, 2],
          (item) => (item === 1 ? Effect.zipRight(Effect.yieldNow(), Effect.fail("no")) : held),
          3
        )
      )
      assert.deepStrictEqual(exit, Exit.fail("no"))
      assert.strictEqual(released, 2)
    })
  )

  it.effect("keeps a defect beside the first failure", () =>
    Effect.gen(function* () {
      const exit = yield* Effect.exit(
        Parallel.forEach(
          [0, 1],
          (item) => (item === 0 ? Effect.fail("no") : Effect.onInterrupt(Effect.never, () => Effect.die("bug"))),
          2
        )
      )
      assert.isTrue(Exit.isFailure(exit))
      if (Exit.isFailure(exit)) {
        assert.deepStrictEqual(Array.from(Cause.failures(exit.cause)), ["no"])
        assert.deepStrictEqual(Array.from(Cause.defects(exit.cause)), ["bug"])
      }
    })
  )

  it.effect("stops all when its caller is interrupted, and waits", () =>
    Effect.gen(function* () {
      const started = yield* Deferred.make<void>()
      let released = 0
      const fiber = yield* Effect.fork(
        Parallel.forEach(
          [0, 1],
          (item) =>
            Effect.ensuring(
              Effect.zipRight(item === 1 ? Deferred.succeed(started, undefined) : Effect.void, Effect.never),
              Effect.sync(() => void released++)
            ),
          2
        )
      )
      yield* Deferred.await(started)
      const exit = yield* Fiber.interrupt(fiber)
      assert.isTrue(Exit.isInterrupted(exit))
      assert.strictEqual(released, 2)
    })
  )

  it.scoped("keeps changes of fiber refs as Effect.forEach does", () =>
    Effect.gen(function* () {
      const ours = yield* FiberRef.make("")
      const theirs = yield* FiberRef.make("")
      yield* Parallel.forEach(["a", "b"], (item) => FiberRef.set(ours, item), 2)
      yield* Effect.forEach(["a", "b"], (item) => FiberRef.set(theirs, item), { concurrency: 2 })
      assert.strictEqual(yield* FiberRef.get(ours), yield* FiberRef.get(theirs))
      assert.notStrictEqual(yield* FiberRef.get(ours), "")
    })
  )

  it("ends wherever it is interrupted", async () => {
    for (let at = 1; ; at++) {
      let started = 0
      let ended = 0
      let main: Fiber.RuntimeFiber<unknown, unknown> | undefined
      const scheduler: Scheduler.Scheduler & { readonly count: () => number } = YieldingScheduler.make((count) => {
        if (count === at && main !== undefined) main.unsafeInterruptAsFork(main.id())
      })
      const one = Effect.acquireUseRelease(
        Effect.sync(() => void started++),
        () => Effect.yieldNow(),
        () => Effect.sync(() => void ended++)
      )
      main = Effect.runFork(
        Effect.withScheduler(
          Parallel.forEach([1, 2, 3], () => one, 2),
          scheduler
        )
      )
      const exit = await Effect.runPromise(Fiber.await(main).pipe(Effect.timeout("5 seconds")))
      assert.strictEqual(started, ended, `interrupted at ${at}`)
      if (Exit.isSuccess(exit)) break
    }
  })

  it("is needed as long as `Effect.forEach` never ends after an interruption while its workers start", async () => {
    const isStuck = async (at: number): Promise<boolean> => {
      let main: Fiber.RuntimeFiber<unknown, unknown> | undefined
      const scheduler = YieldingScheduler.make((count) => {
        if (count === at && main !== undefined) main.unsafeInterruptAsFork(main.id())
      })
      const work = Effect.forEach([1, 2, 3], () => Effect.yieldNow(), { concurrency: 2 })
      main = Effect.runFork(Effect.withScheduler(work, scheduler))
      // All work here is synchronous: a fiber that has not ended after these turns never does.
      for (let turn = 0; turn < 50; turn++) await new Promise((resolve) => setImmediate(resolve))
      return main.unsafePoll() === null
    }
    const stuck: Array<number> = []
    for (let at = 1; at <= 80; at++) if (await isStuck(at)) stuck.push(at)
    assert.isAbove(stuck.length, 0, "Effect.forEach ends now: replace Parallel.forEach by it")
  })

  it.effect("zip runs both at once, and gives both", () =>
    Effect.gen(function* () {
      const gate = yield* Deferred.make<number>()
      const both = yield* Parallel.zip(Deferred.await(gate), Effect.as(Deferred.succeed(gate, 1), "two"))
      assert.deepStrictEqual(both, [1, "two"])
      assert.strictEqual(yield* Effect.flip(Parallel.zip(Effect.never, Effect.fail("no"))), "no")
    })
  )
})
