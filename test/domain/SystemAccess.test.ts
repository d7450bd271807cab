import { assert, describe, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as SystemAccess from "../../src/domain/SystemAccess.js"

const { drop, grant, held, holding, isGranted, permits } = SystemAccess

describe("SystemAccess", () => {
  it.effect("is not granted by default", () =>
    Effect.gen(function* () {
      assert.isFalse(yield* isGranted)
      assert.isTrue(yield* grant(isGranted))
      assert.isFalse(yield* isGranted)
    })
  )

  it.effect("allows users their own data, and callers without a user data without an owner", () =>
    Effect.gen(function* () {
      assert.isTrue(yield* permits("ada", "ada"))
      assert.isTrue(yield* permits(undefined, undefined))
      assert.isTrue(yield* permits(null, undefined))
      assert.isFalse(yield* permits(undefined, "ada"))
      assert.isFalse(yield* permits(null, "ada"))
      assert.isFalse(yield* permits("ada", undefined))
      assert.isFalse(yield* permits("ada", "bob"))
    })
  )

  it.effect("allows the system everything, but a call with a user only that user's data", () =>
    Effect.gen(function* () {
      assert.isTrue(yield* permits(undefined, "ada"))
      assert.isTrue(yield* permits(undefined, undefined))
      assert.isFalse(yield* permits("bob", "ada"))
      assert.isFalse(yield* permits("bob", undefined))
    }).pipe(grant)
  )

  it.effect("is inherited by fibers, and dropped", () =>
    Effect.gen(function* () {
      assert.isTrue(yield* Effect.flatMap(Effect.fork(isGranted), Fiber.join))
      assert.isFalse(yield* drop(Effect.flatMap(Effect.fork(isGranted), Fiber.join)))
      const kept = yield* held
      assert.isTrue(yield* drop(holding(kept)(isGranted)))
      assert.isFalse(yield* drop(Effect.flatMap(held, (now) => holding(now)(isGranted))))
    }).pipe(grant)
  )

  it.effect("cannot be forged", () =>
    Effect.gen(function* () {
      const genuine = yield* grant(held)
      const forgeries: ReadonlyArray<unknown> = [
        true,
        {},
        "granted",
        { ...genuine },
        Object.create(genuine),
        Object.fromEntries(Object.entries(genuine)),
        JSON.parse(JSON.stringify(genuine)),
        Object.assign({}, genuine),
        new Proxy(genuine, {}),
        yield* held
      ]
      for (const forged of forgeries) {
        const context = Context.unsafeMake(new Map([[SystemAccess.SystemAccess.key, forged]]))
        assert.isFalse(yield* Effect.provide(isGranted, context as Context.Context<never>))
        assert.isFalse(SystemAccess.isGrant(forged))
      }
      assert.strictEqual(JSON.stringify(genuine), "{}")
      assert.isTrue(Object.isFrozen(genuine))
    })
  )
})
