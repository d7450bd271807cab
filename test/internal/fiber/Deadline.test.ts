import { assert, describe, it } from "@effect/vitest"
import * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as FiberRef from "effect/FiberRef"
import * as FiberStatus from "effect/FiberStatus"
import * as Supervisor from "effect/Supervisor"
import * as TestClock from "effect/TestClock"
import * as Deadline from "../../../src/internal/fiber/Deadline.js"
import * as CountingClock from "../../support/CountingClock.js"

class TooLate {
  readonly _tag = "TooLate"
  constructor(
    readonly phase: Deadline.Phase,
    readonly limit: number
  ) {}
}
const onTimeout = (phase: Deadline.Phase, limit: number) => new TooLate(phase, limit)

class Name extends Context.Tag("test/Name")<Name, string>() {}

const parts = (pulse: Deadline.Pulse, ...delays: ReadonlyArray<number>) =>
  Effect.forEach(
    delays,
    (millis) =>
      Effect.andThen(
        Effect.sleep(millis),
        Effect.sync(() => pulse.beat())
      ),
    { discard: true }
  )

describe("Deadline", () => {
  it.effect("success, failure, defect and interruption pass through, at once or later", () =>
    Effect.gen(function* () {
      const later = Effect.sleep(10)
      const limits = { whole: 1000, onTimeout }
      const exits: ReadonlyArray<Effect.Effect<number, string>> = [
        Effect.succeed(1),
        Effect.fail("no"),
        Effect.die("bug"),
        Effect.interrupt
      ]
      for (const effect of exits) {
        const expected = yield* Effect.exit(effect)
        const now = yield* Effect.exit(Deadline.run(() => effect, limits))
        const fiber = yield* Effect.fork(Deadline.run(() => Effect.andThen(later, effect), limits))
        yield* TestClock.adjust(10)
        const then = yield* Fiber.await(fiber)
        for (const exit of [now, then]) {
          if (Exit.isInterrupted(expected)) assert.isTrue(Exit.isInterrupted(exit))
          else assert.deepStrictEqual(exit, expected)
        }
      }
    })
  )

  it.effect("the whole limit interrupts, waits for the finalizers and fails", () =>
    Effect.gen(function* () {
      const log: Array<string> = []
      const fiber = yield* Deadline.run(
        () =>
          Effect.never.pipe(
            Effect.onInterrupt(() =>
              Effect.andThen(
                Effect.sleep(500),
                Effect.sync(() => log.push("finalized"))
              )
            )
          ),
        { whole: 1000, onTimeout }
      ).pipe(
        Effect.flip,
        Effect.tap(() => Effect.sync(() => log.push("failed"))),
        Effect.fork
      )
      yield* TestClock.adjust(1499)
      assert.deepStrictEqual(log, [])
      yield* TestClock.adjust(1)
      assert.deepStrictEqual(yield* Fiber.join(fiber), new TooLate("whole", 1000))
      assert.deepStrictEqual(log, ["finalized", "failed"])
    })
  )

  it.effect("one millisecond before the limit nothing happens", () =>
    Effect.gen(function* () {
      const fiber = yield* Effect.fork(
        Deadline.run(() => Effect.as(Effect.sleep(999), "ok"), { whole: 1000, onTimeout })
      )
      yield* TestClock.adjust(5000)
      assert.strictEqual(yield* Fiber.join(fiber), "ok")
    })
  )

  it.effect("the first part has its own limit, which a beat lifts", () =>
    Effect.gen(function* () {
      const limits = { first: 100, whole: 10_000, onTimeout }
      const silent = yield* Effect.fork(Effect.flip(Deadline.run(() => Effect.never, limits)))
      const slow = yield* Effect.fork(Deadline.run((pulse) => parts(pulse, 99, 5000), limits))
      yield* TestClock.adjust(6000)
      assert.deepStrictEqual(yield* Fiber.join(silent), new TooLate("first-part", 100))
      yield* Fiber.join(slow)
    })
  )

  it.effect("the gap counts from the last beat, and only after the first", () =>
    Effect.gen(function* () {
      const limits = { gap: 100, onTimeout }
      const steady = yield* Effect.fork(Deadline.run((pulse) => parts(pulse, 950, 99, 99, 99), limits))
      const late = yield* Effect.fork(
        Deadline.run((pulse) => parts(pulse, 950, 99, 101), limits).pipe(
          Effect.flip,
          Effect.zip(Effect.clockWith((clock) => clock.currentTimeMillis))
        )
      )
      yield* TestClock.adjust(5000)
      yield* Fiber.join(steady)
      assert.deepStrictEqual(yield* Fiber.join(late), [new TooLate("gap", 100), 950 + 99 + 100])
    })
  )

  it.effect("no limit counts the time in which it is held", () =>
    Effect.gen(function* () {
      const consumer = (pulse: Deadline.Pulse, millis: number) =>
        Effect.sync(() => pulse.hold()).pipe(
          Effect.andThen(Effect.sleep(millis)),
          Effect.andThen(Effect.sync(() => pulse.beat()))
        )
      const limits = { gap: 100, whole: 1000, onTimeout }
      const held = yield* Effect.fork(
        Deadline.run((pulse) => Effect.andThen(consumer(pulse, 900), Effect.sleep(50)), limits)
      )
      const gap = yield* Effect.fork(
        Effect.flip(Deadline.run((pulse) => Effect.andThen(consumer(pulse, 300), Effect.never), limits))
      )
      const busy = Effect.sleep(60)
      const whole = yield* Effect.fork(
        Deadline.run((pulse) => Effect.forever(Effect.zipRight(consumer(pulse, 2000), busy)), limits).pipe(
          Effect.flip,
          Effect.zip(Effect.clockWith((clock) => clock.currentTimeMillis))
        )
      )
      yield* TestClock.adjust(3000)
      yield* Fiber.join(held)
      assert.deepStrictEqual(yield* Fiber.join(gap), new TooLate("gap", 100))
      // 1000 ms of work in pieces of 60 ms, a hold of 2000 ms before each.
      yield* TestClock.adjust("1 minute")
      assert.deepStrictEqual(yield* Fiber.join(whole), [new TooLate("whole", 1000), 17 * 2000 + 1000])
    })
  )

  it.effect("interrupting the caller interrupts the effect and waits for it", () =>
    Effect.gen(function* () {
      const started = yield* Deferred.make<void>()
      let finalized = false
      const fiber = yield* Deadline.run(
        () =>
          Deferred.succeed(started, undefined).pipe(
            Effect.andThen(Effect.never),
            Effect.onInterrupt(() =>
              Effect.andThen(
                Effect.yieldNow(),
                Effect.sync(() => (finalized = true))
              )
            )
          ),
        { whole: 1000, onTimeout }
      ).pipe(Effect.fork)
      yield* Deferred.await(started)
      const exit = yield* Fiber.interrupt(fiber)
      assert.isTrue(Exit.isInterrupted(exit))
      assert.isTrue(finalized)
    })
  )

  it.effect("an effect that interrupts its own caller is not left behind", () =>
    Effect.gen(function* () {
      let interrupted = false
      const fiber = yield* Effect.withFiberRuntime<void, TooLate>((caller) =>
        Deadline.run(
          () =>
            Fiber.interruptFork(caller).pipe(
              Effect.andThen(Effect.sync(() => caller.unsafeInterruptAsFork(caller.id()))),
              Effect.andThen(Effect.never),
              Effect.onInterrupt(() => Effect.sync(() => (interrupted = true)))
            ),
          { whole: 1000, onTimeout }
        )
      ).pipe(Effect.fork)
      assert.isTrue(Exit.isInterrupted(yield* Fiber.await(fiber)))
      assert.isTrue(interrupted)
    })
  )

  it.effect("the limits hold inside an uninterruptible region", () =>
    Effect.gen(function* () {
      const fiber = yield* Deadline.run(() => Effect.never, { whole: 100, onTimeout }).pipe(
        Effect.flip,
        Effect.uninterruptible,
        Effect.fork
      )
      yield* TestClock.adjust(100)
      assert.deepStrictEqual(yield* Fiber.join(fiber), new TooLate("whole", 100))
    })
  )

  it.effect("inside an uninterruptible region the caller's interruption does not reach the effect", () =>
    Effect.gen(function* () {
      const results: Array<string> = []
      const fiber = yield* Deadline.run(() => Effect.as(Effect.sleep(50), "done"), { whole: 100, onTimeout }).pipe(
        Effect.tap((result) => Effect.sync(() => results.push(result))),
        Effect.uninterruptible,
        Effect.fork
      )
      yield* TestClock.adjust(10)
      yield* Fiber.interruptFork(fiber)
      yield* TestClock.adjust(40)
      yield* Fiber.await(fiber)
      assert.deepStrictEqual(results, ["done"])
    })
  )

  it.effect("a region the effect makes uninterruptible is waited for, and the result is the timeout", () =>
    Effect.gen(function* () {
      const fiber = yield* Deadline.run(() => Effect.uninterruptible(Effect.sleep(300)), {
        whole: 100,
        onTimeout
      }).pipe(Effect.flip, Effect.fork)
      yield* TestClock.adjust(299)
      assert.isTrue((yield* Fiber.poll(fiber))._tag === "None")
      yield* TestClock.adjust(1)
      assert.deepStrictEqual(yield* Fiber.join(fiber), new TooLate("whole", 100))
    })
  )

  it.effect("a finalizer that dies during the timeout stays visible", () =>
    Effect.gen(function* () {
      const fiber = yield* Deadline.run(() => Effect.ensuring(Effect.never, Effect.die("bug")), {
        whole: 100,
        onTimeout
      }).pipe(Effect.sandbox, Effect.flip, Effect.fork)
      yield* TestClock.adjust(100)
      const cause = yield* Fiber.join(fiber)
      assert.deepStrictEqual([...Cause.failures(cause)], [new TooLate("whole", 100)])
      assert.deepStrictEqual([...Cause.defects(cause)], ["bug"])
    })
  )

  it.effect("fiber refs go in and come out, also when the effect fails", () =>
    Effect.gen(function* () {
      const ref = FiberRef.unsafeMake("outside")
      const limits = { whole: 100, onTimeout }
      const seen = yield* Deadline.run(() => FiberRef.getAndSet(ref, "inside"), limits)
      assert.deepStrictEqual([seen, yield* FiberRef.get(ref)], ["outside", "inside"])
      yield* Deadline.run(() => Effect.andThen(FiberRef.set(ref, "failed"), Effect.fail("no")), limits).pipe(
        Effect.ignore
      )
      assert.strictEqual(yield* FiberRef.get(ref), "failed")
      const fiber = yield* Deadline.run(
        () => Effect.andThen(Effect.sleep(10), FiberRef.set(ref, "later")),
        limits
      ).pipe(Effect.andThen(FiberRef.get(ref)), Effect.fork)
      yield* TestClock.adjust(10)
      assert.strictEqual(yield* Fiber.join(fiber), "later")
    })
  )

  it.effect("a fiber forked inside inherits fiber refs and ends with the effect", () =>
    Effect.gen(function* () {
      const ref = FiberRef.unsafeMake("unset")
      let child: Fiber.RuntimeFiber<string> | undefined
      let inherited = ""
      yield* Deadline.run(
        () =>
          Effect.gen(function* () {
            inherited = yield* Effect.flatMap(Effect.fork(FiberRef.get(ref)), Fiber.join)
            child = yield* Effect.fork(Effect.never)
          }),
        { whole: 100, onTimeout }
      ).pipe(Effect.locally(ref, "set"))
      assert.strictEqual(inherited, "set")
      assert.isTrue(Exit.isInterrupted(yield* Fiber.await(child!)))
    })
  )

  it.effect("services and the parent span are those of the caller, and interruptibility stays as it was", () =>
    Effect.gen(function* () {
      const run = Deadline.run(() => Effect.all([Name, Effect.currentSpan]), { whole: 100, onTimeout })
      const [[name, inner], outer] = yield* Effect.zip(run, Effect.currentSpan)
      assert.strictEqual(name, "ada")
      assert.strictEqual(inner.spanId, outer.spanId)
      const still = yield* Effect.uninterruptible(
        Effect.andThen(
          run,
          Effect.checkInterruptible((interruptible) => Effect.succeed(interruptible))
        )
      )
      assert.isFalse(still)
    }).pipe(Effect.withSpan("outer"), Effect.provideService(Name, "ada"))
  )

  it.effect("`provide` adds services for the effect alone, with limits and without", () =>
    Effect.gen(function* () {
      for (const whole of [100, undefined]) {
        const provide = (services: Map<string, unknown>) => services.set(Name.key, "bob")
        assert.strictEqual(yield* Deadline.run(() => Name, { whole, provide, onTimeout }), "bob")
        assert.strictEqual(yield* Name, "ada")
      }
    }).pipe(Effect.provideService(Name, "ada"))
  )

  it.effect("no fiber is left, however the effect ends", () =>
    Effect.gen(function* () {
      const supervisor = yield* Supervisor.track
      yield* Effect.gen(function* () {
        const limits = { whole: 100, onTimeout }
        yield* Deadline.run(() => Effect.void, limits)
        const fibers = yield* Effect.all([
          Effect.fork(Deadline.run(() => Effect.sleep(50), limits)),
          Effect.fork(Effect.flip(Deadline.run(() => Effect.never, limits))),
          Effect.fork(Effect.exit(Deadline.run(() => Effect.andThen(Effect.sleep(10), Effect.die("bug")), limits)))
        ])
        yield* TestClock.adjust(200)
        yield* Fiber.awaitAll(fibers)
        const interrupted = yield* Effect.fork(Deadline.run(() => Effect.never, limits))
        yield* TestClock.adjust(10)
        yield* Fiber.interrupt(interrupted)
      }).pipe(Effect.supervised(supervisor))
      const left = yield* Effect.filter(yield* supervisor.value, (fiber) =>
        Effect.map(Fiber.status(fiber), (status) => !FiberStatus.isDone(status))
      )
      assert.deepStrictEqual(left, [])
    })
  )

  it.effect("an infinite limit is no limit, and one beyond the platform's timers does not fire early", () =>
    Effect.gen(function* () {
      const days = 40 * 86_400_000
      const fiber = yield* Effect.fork(
        Effect.flip(Deadline.run(() => Effect.never, { whole: days, gap: Number.POSITIVE_INFINITY, onTimeout }))
      )
      yield* TestClock.adjust(days - 1)
      assert.isTrue((yield* Fiber.poll(fiber))._tag === "None")
      yield* TestClock.adjust(1)
      assert.deepStrictEqual(yield* Fiber.join(fiber), new TooLate("whole", days))
    })
  )

  it.effect("a limit at a late date is kept to the millisecond", () =>
    Effect.gen(function* () {
      yield* TestClock.setTime(1_763_000_000_123)
      const fiber = yield* Effect.fork(Effect.flip(Deadline.run(() => Effect.never, { whole: 77, onTimeout })))
      yield* TestClock.adjust(76)
      assert.isTrue((yield* Fiber.poll(fiber))._tag === "None")
      yield* TestClock.adjust(1)
      assert.deepStrictEqual(yield* Fiber.join(fiber), new TooLate("whole", 77))
    })
  )

  it.effect("without limits the effect runs in the caller's fiber", () =>
    Effect.gen(function* () {
      const outer = yield* Effect.fiberId
      assert.strictEqual(
        yield* Deadline.run((pulse) => Effect.tap(Effect.fiberId, () => pulse.beat()), { onTimeout }),
        outer
      )
    })
  )

  it.live("on the live clock the timer fires, and is cancelled when it is not needed", () => {
    const counting = CountingClock.make()
    return Effect.gen(function* () {
      const error = yield* Effect.flip(Deadline.run(() => Effect.never, { whole: 5, onTimeout }))
      assert.deepStrictEqual(error, new TooLate("whole", 5))
      const hop = Effect.async<string>((resume) => queueMicrotask(() => resume(Effect.succeed("ok"))))
      assert.strictEqual(yield* Deadline.run(() => hop, { whole: 60_000, first: 50_000, onTimeout }), "ok")
      assert.strictEqual(yield* Deadline.run(() => Effect.succeed("ok"), { whole: 60_000, onTimeout }), "ok")
    }).pipe(
      Effect.withClock(counting.clock),
      Effect.tap(() => assert.strictEqual(counting.timers(), 0))
    )
  })

  it("an effect that needs no waiting can still be run synchronously", () => {
    assert.strictEqual(Effect.runSync(Deadline.run(() => Effect.succeed(1), { whole: 1000, onTimeout })), 1)
  })
})
