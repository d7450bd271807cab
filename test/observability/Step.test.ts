import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Random from "effect/Random"
import * as Schema from "effect/Schema"
import * as TestClock from "effect/TestClock"
import * as StepFailure from "../../src/observability/journal/StepFailure.js"
import * as Step from "../../src/observability/Step.js"

const as = (kind: string): Step.StepOptions<any, never> => ({ kind, success: Schema.Any, error: StepFailure.none })

/** A recorder that names what it runs by place, and gives back what it has recorded under a name. */
const recorder = (journal: Map<string, Exit.Exit<any, any>> = new Map()) => {
  const names: Array<string> = []
  let ran = 0
  const step: Step.Service = {
    isSuspended: () => false,
    run: (options, effect) =>
      Effect.flatMap(Step.Place, (place) => {
        const name = `${options.kind}:${place.next()}`
        names.push(name)
        const known = journal.get(name)
        if (known !== undefined) return known
        ran++
        return Effect.onExit(effect, (exit) => Effect.sync(() => void journal.set(name, exit)))
      })
  }
  return {
    journal,
    names,
    ran: () => ran,
    provide: <A, E, R>(effect: Effect.Effect<A, E, R>) =>
      effect.pipe(Effect.provideService(Step.Step, step), Effect.provideService(Step.Place, Step.makePlace()))
  }
}

const waiting = <A>(value: A) =>
  Effect.flatMap(Random.nextIntBetween(0, 50), (millis) => Effect.as(Effect.sleep(millis), value))

const program = Effect.gen(function* () {
  const first = yield* Step.run(as("llm"), waiting("plan"))
  const many = yield* Step.forEach([1, 2, 3, 4, 5], (n) =>
    Effect.gen(function* () {
      const one = yield* Step.run(as("tool"), waiting(n))
      const inner = yield* Step.forEach([1, 2], (m) => Step.run(as("tool"), waiting(one * 10 + m)), {
        concurrency: 2
      })
      const last = yield* Step.run(as("llm"), waiting(one * 100))
      return [...inner, last]
    })
  )
  const single = yield* Step.forEach(["x"], (x) => Step.run(as("tool"), waiting(x)))
  const end = yield* Step.run(as("llm"), waiting("end"))
  return [first, many, single, end]
})

const settle = <A, E>(effect: Effect.Effect<A, E>) =>
  Effect.gen(function* () {
    const fiber = yield* Effect.fork(effect)
    yield* TestClock.adjust("10 seconds")
    return yield* Fiber.join(fiber)
  })

describe("Place", () => {
  it("counts under its path, and each branch of a fan-out under a path of its own", () => {
    const place = Step.makePlace()
    assert.deepStrictEqual([place.next(), place.next()], ["/0", "/1"])
    const fork = place.fork()
    assert.deepStrictEqual([fork(0).next(), fork("b").path, place.next()], ["/2.0/0", "/2.b", "/3"])
  })
})

describe("Step", () => {
  it.effect("without a recorder it is the effect itself", () =>
    Effect.gen(function* () {
      const step = yield* Step.Step
      assert.isFalse(Step.isRecording(step) || step.isSuspended())
      const effect = Effect.succeed(1)
      assert.strictEqual(step.run(as("x"), effect), effect)
      assert.strictEqual(yield* Step.run(as("x"), effect), 1)
    })
  )

  it.effect("names are unique, and the same on every run whatever the timing", () =>
    Effect.gen(function* () {
      const sets: Array<ReadonlyArray<string>> = []
      const orders = new Set<string>()
      for (let seed = 0; seed < 20; seed++) {
        const { names, provide } = recorder()
        yield* settle(Effect.withRandom(provide(program), Random.make(seed)))
        assert.strictEqual(new Set(names).size, names.length)
        orders.add(names.join())
        sets.push([...names].sort())
      }
      for (const names of sets) assert.deepStrictEqual(names, sets[0])
      assert.isAbove(orders.size, 1)
    })
  )

  it.effect("a replay runs nothing again and comes to the same", () =>
    Effect.gen(function* () {
      const first = recorder()
      const result = yield* settle(Effect.withRandom(first.provide(program), Random.make(1)))
      const again = recorder(first.journal)
      assert.deepStrictEqual(yield* settle(Effect.withRandom(again.provide(program), Random.make(2))), result)
      assert.strictEqual(again.ran(), 0)
      const lost = new Map(first.journal)
      for (const name of first.names.slice(-4)) lost.delete(name)
      const resumed = recorder(lost)
      assert.deepStrictEqual(yield* settle(Effect.withRandom(resumed.provide(program), Random.make(3))), result)
      assert.strictEqual(resumed.ran(), 4)
    })
  )
})

describe("Step.forEach", () => {
  for (const [name, wrap] of [
    ["plain", <A, E>(effect: Effect.Effect<A, E>) => effect],
    ["recorded", <A, E>(effect: Effect.Effect<A, E>) => recorder().provide(effect)]
  ] as const) {
    it.effect(`${name}: results keep the order of the items`, () =>
      Effect.gen(function* () {
        const results = yield* settle(
          wrap(Step.forEach([3, 1, 2], (n, index) => Effect.as(Effect.sleep(n), [n, index])))
        )
        assert.deepStrictEqual(results, [
          [3, 0],
          [1, 1],
          [2, 2]
        ])
        assert.deepStrictEqual(yield* wrap(Step.forEach([], () => Effect.die("never"))), [])
      })
    )

    it.effect(`${name}: no more run at once than allowed`, () =>
      Effect.gen(function* () {
        for (const [concurrency, expected] of [
          [1, 1],
          [3, 3],
          [undefined, 9]
        ] as const) {
          let now = 0
          let most = 0
          yield* settle(
            wrap(
              Step.forEach(
                Array.from({ length: 9 }, (_, n) => n),
                (n) =>
                  Effect.gen(function* () {
                    most = Math.max(most, ++now)
                    yield* Effect.sleep(10 + n)
                    now--
                  }),
                { concurrency }
              )
            )
          )
          assert.strictEqual(most, expected)
        }
      })
    )

    it.effect(`${name}: one item runs in the caller's fiber`, () =>
      Effect.gen(function* () {
        const own = yield* Effect.fiberId
        assert.deepStrictEqual(yield* wrap(Step.forEach([1], () => Effect.fiberId)), [own])
      })
    )

    it.effect(`${name}: interrupting it interrupts every branch`, () =>
      Effect.gen(function* () {
        let stopped = 0
        const fiber = yield* Effect.fork(
          wrap(Step.forEach([1, 2, 3], () => Effect.onInterrupt(Effect.never, () => Effect.sync(() => void stopped++))))
        )
        yield* TestClock.adjust(1)
        yield* Fiber.interrupt(fiber)
        assert.strictEqual(stopped, 3)
      })
    )
  }

  const failing = (ended: Array<number>) =>
    Step.forEach([1, 2, 3], (n) =>
      n === 2
        ? Effect.zipRight(Effect.sleep(10), Effect.fail("two"))
        : Effect.onExit(Effect.sleep(n * 20), (exit) =>
            Effect.sync(() => void ended.push(Exit.isInterrupted(exit) ? -n : n))
          )
    )

  it.effect("a failure interrupts the others", () =>
    Effect.gen(function* () {
      const ended: Array<number> = []
      assert.strictEqual(yield* settle(Effect.flip(failing(ended))), "two")
      assert.sameMembers(ended, [-1, -3])
    })
  )

  it.effect("with a recorder the others end first, so that what they did is recorded", () =>
    Effect.gen(function* () {
      const ended: Array<number> = []
      assert.strictEqual(yield* settle(Effect.flip(recorder().provide(failing(ended)))), "two")
      assert.deepStrictEqual(ended, [1, 3])
    })
  )
})
