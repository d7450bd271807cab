import { assert, describe, it } from "@effect/vitest"
import * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as FastCheck from "effect/FastCheck"
import * as Fiber from "effect/Fiber"
import * as Immediate from "../../../src/persistence/engine/Immediate.js"

class Name extends Context.Tag("test/Name")<Name, string>() {}

/** What a step gives, and how: at once, by the fiber, after a wait, or not at all. */
type Step =
  | { readonly kind: "now" | "effect" | "later" | "nested"; readonly value: number }
  | { readonly kind: "fail" | "die" | "throw"; readonly value: number }

const steps: FastCheck.Arbitrary<ReadonlyArray<Step>> = FastCheck.array(
  FastCheck.record({
    kind: FastCheck.oneof(
      { weight: 12, arbitrary: FastCheck.constantFrom("now", "effect", "later", "nested") },
      { weight: 1, arbitrary: FastCheck.constantFrom("fail", "die", "throw") }
    ),
    value: FastCheck.nat(9)
  }),
  { maxLength: 20 }
) as FastCheck.Arbitrary<ReadonlyArray<Step>>

const effectOf = (step: Step): Effect.Effect<number, number> => {
  switch (step.kind) {
    case "now":
      return Immediate.make(() => Effect.succeed(step.value))
    case "effect":
      return Effect.map(Effect.succeed(step.value), (value) => value)
    case "later":
      return Immediate.flatMap(Effect.as(Effect.yieldNow(), step.value), (value) => Effect.succeed(value))
    case "nested":
      return Immediate.map(
        Immediate.fn(function* () {
          return (yield* Effect.succeed(step.value)) + (yield* Immediate.make(() => Effect.succeed(1)))
        })(),
        (sum) => sum - 1
      )
    case "fail":
      return Immediate.make(() => Effect.fail(step.value))
    case "die":
      return Effect.die(step.value)
    case "throw":
      return Immediate.suspend((): Effect.Effect<number> => {
        throw step.value
      })
  }
}

const body = (all: ReadonlyArray<Step>, seen: Array<number>) =>
  function* () {
    for (const step of all) seen.push(yield* effectOf(step))
    return seen.length
  }

const bare = <A, E>(exit: Exit.Exit<A, E>): unknown =>
  Exit.isSuccess(exit)
    ? exit.value
    : [Array.from(Cause.failures(exit.cause)), Array.from(Cause.defects(exit.cause)), Cause.isInterrupted(exit.cause)]

describe("Immediate", () => {
  it.effect("does what the same as an effect does, whatever its steps are", () =>
    Effect.promise(() =>
      FastCheck.assert(
        FastCheck.asyncProperty(steps, async (all) => {
          const ours: Array<number> = []
          const theirs: Array<number> = []
          const exit = await Effect.runPromiseExit(Immediate.fn(body(all, ours))())
          const expected = await Effect.runPromiseExit(Effect.gen(body(all, theirs)))
          assert.deepStrictEqual(bare(exit), bare(expected))
          assert.deepStrictEqual(ours, theirs)
        }),
        { numRuns: 300 }
      )
    )
  )

  it("is done when it is asked, if nothing has to be waited for", () => {
    const exit = Effect.runSync(
      Effect.withFiberRuntime<Effect.Effect<number>>((fiber) =>
        Effect.succeed(
          Immediate.attempt(
            Immediate.fn(function* () {
              const one = yield* Immediate.make(() => Effect.succeed(1))
              const two = yield* Immediate.flatMap(Effect.succeed(one), (value) => Effect.succeed(value + 1))
              return yield* Immediate.map(Effect.succeed(two), (value) => value + 1)
            })(),
            fiber
          )
        )
      )
    )
    assert.deepStrictEqual(exit, Exit.succeed(3))
  })

  it.effect("runs anew each time it is run", () => {
    let runs = 0
    const counted = Immediate.fn(function* () {
      runs += yield* Immediate.make(() => Effect.succeed(1))
      return runs
    })()
    return Effect.gen(function* () {
      assert.deepStrictEqual(yield* Effect.all([counted, counted, counted]), [1, 2, 3])
    })
  })

  it.effect("has the services, the references and the fiber of where it runs, also behind a wait", () =>
    Effect.gen(function* () {
      const seen = yield* Immediate.fn(function* () {
        const before = yield* Name
        yield* Effect.yieldNow()
        const fiber = yield* Immediate.make((fiber) => Effect.succeed(fiber.id()))
        return [before, yield* Name, fiber === (yield* Effect.fiberId)] as const
      })().pipe(Effect.provideService(Name, "ada"))
      assert.deepStrictEqual(seen, ["ada", "ada", true])
    })
  )

  it.effect("can be interrupted where it waits, and not before", () =>
    Effect.gen(function* () {
      const began = yield* Deferred.make<void>()
      const reached: Array<string> = []
      const fiber = yield* Effect.fork(
        Immediate.fn(function* () {
          yield* Deferred.succeed(began, undefined)
          reached.push("waits")
          yield* Effect.never
          reached.push("goes on")
        })()
      )
      yield* Deferred.await(began)
      const exit = yield* Fiber.interrupt(fiber)
      assert.isTrue(Exit.isInterrupted(exit))
      assert.deepStrictEqual(reached, ["waits"])
    })
  )

  it.effect("lets others run in between when it is long, and needs no deep stack for it", () =>
    Effect.gen(function* () {
      let others = 0
      const other = yield* Effect.fork(
        Effect.forever(
          Effect.suspend(() => {
            others++
            return Effect.yieldNow()
          })
        )
      )
      const sum = yield* Immediate.fn(function* () {
        let sum = 0
        for (let n = 0; n < 50_000; n++) sum += yield* Immediate.make(() => Effect.succeed(n % 2))
        return sum
      })()
      yield* Fiber.interrupt(other)
      assert.strictEqual(sum, 25_000)
      assert.isAbove(others, 50)
    })
  )

  describe("exit", () => {
    it.effect("is that of what is done, of what fails and of what is thrown", () =>
      Effect.gen(function* () {
        assert.deepStrictEqual(yield* Immediate.exit(Immediate.make(() => Effect.succeed(1))), Exit.succeed(1))
        assert.deepStrictEqual(yield* Immediate.exit(Immediate.make(() => Effect.fail("no"))), Exit.fail("no"))
        const thrown = yield* Immediate.exit(
          Immediate.suspend((): Effect.Effect<void> => {
            throw "thrown"
          })
        )
        assert.deepStrictEqual(bare(thrown), [[], ["thrown"], false])
        assert.deepStrictEqual(bare(yield* Immediate.exit(Effect.zipRight(Effect.yieldNow(), Effect.fail("later")))), [
          ["later"],
          [],
          false
        ])
      })
    )

    it.effect("puts only what has to be waited for through what it is given", () =>
      Effect.gen(function* () {
        let asked = 0
        const around = <A, E, R>(rest: Effect.Effect<A, E, R>) => {
          asked++
          return rest
        }
        yield* Immediate.exit(
          Immediate.make(() => Effect.succeed(1)),
          around
        )
        assert.strictEqual(asked, 0)
        assert.deepStrictEqual(yield* Immediate.exit(Effect.as(Effect.yieldNow(), 2), around), Exit.succeed(2))
        assert.strictEqual(asked, 1)
      })
    )
  })
})
