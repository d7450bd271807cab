import { assert, describe, it } from "@effect/vitest"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as TestClock from "effect/TestClock"
import * as Health from "../../src/observability/Health.js"

const ok: Health.Check = { name: "ok", check: Effect.void }

const report = (
  checks: ReadonlyArray<Health.Check>,
  after: Duration.DurationInput = 0,
  options?: Parameters<typeof Health.sum>[1]
) =>
  Effect.gen(function* () {
    const fiber = yield* Effect.fork(Health.sum(checks, options))
    yield* TestClock.adjust(after)
    return yield* Fiber.join(fiber)
  })

describe("Health", () => {
  it.effect("is healthy when all parts are, or when there are none", () =>
    Effect.gen(function* () {
      assert.deepStrictEqual(yield* report([ok, { ...ok, name: "too" }]), {
        status: "healthy",
        parts: [
          { name: "ok", status: "healthy", durationMs: 0 },
          { name: "too", status: "healthy", durationMs: 0 }
        ]
      })
      assert.strictEqual((yield* report([])).status, "healthy")
    })
  )

  it.effect("a part that fails or crashes is unhealthy and says why; the others still report", () =>
    Effect.gen(function* () {
      const { parts, status } = yield* report([
        { name: "failing", check: Effect.fail({ _tag: "Down", message: "no route" }) },
        { name: "crashing", check: Effect.die(new Error("boom")) },
        { name: "throwing", check: Effect.sync(() => JSON.parse("{")) },
        { name: "interrupting", check: Effect.interrupt },
        ok
      ])
      assert.strictEqual(status, "unhealthy")
      assert.deepStrictEqual(
        parts.map((part) => [part.name, part.status]),
        [
          ["failing", "unhealthy"],
          ["crashing", "unhealthy"],
          ["throwing", "unhealthy"],
          ["interrupting", "unhealthy"],
          ["ok", "healthy"]
        ]
      )
      assert.deepStrictEqual([parts[0]!.message, parts[1]!.message], ["no route", "boom"])
      assert.isTrue(parts.slice(0, 4).every((part) => part.message !== undefined && part.message !== ""))
    })
  )

  it.effect("gives a hanging part 5 s, all at once, even if it cannot be interrupted", () =>
    Effect.gen(function* () {
      const checks = [
        { name: "hanging", check: Effect.never },
        { name: "stubborn", check: Effect.uninterruptible(Effect.never) },
        { name: "slow", check: Effect.sleep("4 seconds") }
      ]
      const { parts } = yield* report(checks, "5 seconds")
      assert.deepStrictEqual(
        parts.map((part) => [part.status, part.durationMs]),
        [
          ["unhealthy", 5000],
          ["unhealthy", 5000],
          ["healthy", 4000]
        ]
      )
      assert.strictEqual(parts[0]!.message, "no answer within 5000 ms")
    })
  )

  it.effect("reports the state of a part, and unknown without a check", () =>
    Effect.gen(function* () {
      const says = (status: Health.Status): Health.Check => ({
        name: status,
        check: Effect.succeed({ status, message: `it is ${status}` })
      })
      const silent: Health.Check = { name: "silent", check: undefined }
      const statusOf = (...checks: ReadonlyArray<Health.Check>) => Effect.map(report(checks), ({ status }) => status)
      const { parts } = yield* report([says("degraded"), says("starting"), silent])
      assert.deepStrictEqual(
        parts.map(({ message, status }) => [status, message]),
        [
          ["degraded", "it is degraded"],
          ["starting", "it is starting"],
          ["unknown", "it has no check"]
        ]
      )
      assert.strictEqual(yield* statusOf(silent), "unknown")
      assert.strictEqual(yield* statusOf(silent, ok), "healthy")
      assert.strictEqual(yield* statusOf(ok, says("degraded")), "degraded")
      assert.strictEqual(yield* statusOf(says("starting"), says("degraded"), ok), "starting")
      assert.strictEqual(yield* statusOf(says("starting"), says("unhealthy")), "unhealthy")
    })
  )

  it.effect("is degraded by an optional part, and merges reports as one", () =>
    Effect.gen(function* () {
      const failing: Health.Check = { name: "log", check: Effect.fail("full"), optional: true }
      const first = yield* report([ok, failing])
      assert.strictEqual(first.status, "degraded")
      assert.deepStrictEqual(first.parts[1]?.status, "unhealthy")
      const second = yield* report([{ name: "db", check: Effect.fail("down") }])
      assert.deepStrictEqual(Health.merge([first, second]), {
        status: "unhealthy",
        parts: [...first.parts, ...second.parts]
      })
      assert.strictEqual(Health.merge([first, yield* report([ok])]).status, "degraded")
      assert.strictEqual(Health.merge([]).status, "healthy")
    })
  )

  it.effect("takes the timeout as an option", () =>
    Effect.gen(function* () {
      const { parts } = yield* report([{ name: "hanging", check: Effect.never }], "1 second", { timeout: "1 second" })
      assert.strictEqual(parts[0]!.durationMs, 1000)
    })
  )
})
