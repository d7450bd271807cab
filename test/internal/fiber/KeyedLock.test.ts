import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as KeyedLock from "../../../src/internal/fiber/KeyedLock.js"

describe("KeyedLock", () => {
  it.effect("runs one at a time per key, and keys do not wait for each other", () =>
    Effect.gen(function* () {
      const locks = KeyedLock.make()
      const gate = yield* Deferred.make<void>()
      const done: Array<string> = []
      const first = yield* Effect.fork(
        locks.withLock("a")(
          Effect.zipRight(
            Deferred.await(gate),
            Effect.sync(() => done.push("first"))
          )
        )
      )
      yield* Effect.yieldNow()
      const second = yield* Effect.fork(locks.withLock("a")(Effect.sync(() => done.push("second"))))
      yield* Effect.yieldNow()
      yield* locks.withLock("__proto__")(Effect.sync(() => done.push("other")))
      assert.deepStrictEqual(done, ["other"])
      yield* Deferred.succeed(gate, undefined)
      yield* Fiber.join(first)
      yield* Fiber.join(second)
      assert.deepStrictEqual(done, ["other", "first", "second"])
      assert.strictEqual(locks.size(), 0)
    })
  )

  it.effect("keeps no key after a success, a failure, a defect or an interruption, of holder or waiter", () =>
    Effect.gen(function* () {
      const locks = KeyedLock.make()
      yield* locks.withLock("a")(Effect.void)
      yield* Effect.exit(locks.withLock("a")(Effect.fail("no")))
      yield* Effect.exit(locks.withLock("a")(Effect.die("no")))
      assert.strictEqual(locks.size(), 0)
      const holder = yield* Effect.fork(locks.withLock("a")(Effect.never))
      yield* Effect.yieldNow()
      const waiter = yield* Effect.fork(locks.withLock("a")(Effect.never))
      yield* Effect.yieldNow()
      assert.strictEqual(locks.size(), 1)
      yield* Fiber.interrupt(waiter)
      assert.strictEqual(locks.size(), 1)
      yield* Fiber.interrupt(holder)
      assert.strictEqual(locks.size(), 0)
      yield* locks.withLock("a")(Effect.void)
    })
  )
})
