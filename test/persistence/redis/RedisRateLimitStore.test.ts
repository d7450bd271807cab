import { inspect } from "node:util"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as TestClock from "effect/TestClock"
import { RateLimitStore } from "../../../src/governance/store/RateLimitStore.js"
import * as RedisClient from "../../../src/persistence/redis/RedisClient.js"
import * as RedisRateLimitStore from "../../../src/persistence/redis/RedisRateLimitStore.js"
import * as RateLimitStoreSuite from "../../governance/store/RateLimitStoreSuite.js"
import * as RedisTests from "../../support/RedisTests.js"
import * as SetClock from "../../support/SetClock.js"
import * as TestServers from "../../support/TestServers.js"

const available = await TestServers.redis()
const cluster = await TestServers.redisCluster()

const stores = (options: RedisClient.Options) => {
  let count = 0
  return Layer.provide(
    Layer.suspend(() => RedisRateLimitStore.layer({ prefix: `rates ${process.pid} ${count++}` })),
    RedisTests.connection(options)
  )
}

TestServers.suite("redis", available, (server) => {
  const url = RedisTests.urlOf(server)
  const redis = RedisTests.connection({ url })
  const fresh = stores({ url })

  RateLimitStoreSuite.suite("Redis", fresh, { numRuns: 60 })

  describe("rates in Redis", () => {
    const test = <E>(name: string, body: Effect.Effect<void, E, RateLimitStore | RedisClient.RedisClient>) =>
      it.effect(name, () => Effect.provide(body, Layer.merge(fresh, redis)))

    test(
      "divide a window of an hour into slots of a second, and expire no take early",
      Effect.gen(function* () {
        const store = yield* RateLimitStore
        const windowMs = 3_600_000
        const take = store.take({ key: "k", amount: 1, limit: 2, windowMs })
        yield* TestClock.adjust(1)
        assert.deepStrictEqual(yield* take, { allowed: true, current: 1, at: 1000 })
        yield* TestClock.adjust(500)
        assert.deepStrictEqual(yield* take, { allowed: true, current: 2, at: 1000 })
        yield* TestClock.adjust(windowMs - 1)
        assert.deepStrictEqual(yield* take, { allowed: false, current: 2, retryAfterMs: 500 })
        yield* TestClock.adjust(500)
        assert.isTrue((yield* take).allowed)
      })
    )

    test(
      "keep nothing of a window that has passed",
      Effect.gen(function* () {
        const { command } = yield* RedisClient.RedisClient
        const store = yield* RedisRateLimitStore.make({ prefix: "gone" })
        const time = SetClock.make()
        const windowMs = 10_000
        yield* Effect.gen(function* () {
          for (let at = 0; at < 2500; at++) {
            time.set(at)
            yield* store.take({ key: "k", amount: 1, limit: 10_000, windowMs })
          }
          for (const key of ["{gone:k}:s", "{gone:k}:a"]) {
            const left = Number(yield* command("pttl", key))
            assert.isAtMost(left, 70_000)
            assert.isAtLeast(left, 50_000)
          }
          time.set(11_500)
          assert.strictEqual(yield* store.peek({ key: "k", windowMs }), 999)
          assert.strictEqual(yield* command("zcard", "{gone:k}:s"), 999)
          assert.strictEqual(yield* command("hlen", "{gone:k}:a"), 1000)
          time.set(12_499)
          assert.strictEqual(yield* store.peek({ key: "k", windowMs }), 0)
          assert.strictEqual(yield* command("exists", "{gone:k}:a", "{gone:k}:s"), 0)
        }).pipe(Effect.withClock(time.clock))
      })
    )

    test(
      "record takes of a slow clock after the last ones",
      Effect.gen(function* () {
        const store = yield* RateLimitStore
        const take = store.take({ key: "k", amount: 1, limit: 10, windowMs: 1000 })
        yield* TestClock.setTime(10_000)
        yield* take
        yield* TestClock.setTime(9_000)
        assert.deepStrictEqual(yield* take, { allowed: true, current: 2, at: 10_000 })
        yield* TestClock.setTime(10_999)
        assert.strictEqual(yield* store.peek({ key: "k", windowMs: 1000 }), 2)
        yield* TestClock.setTime(11_000)
        assert.strictEqual(yield* store.peek({ key: "k", windowMs: 1000 }), 0)
      })
    )

    test(
      "store amounts and times to the last digit",
      Effect.gen(function* () {
        const store = yield* RateLimitStore
        yield* TestClock.setTime(1_790_000_000_123)
        const amount = 2 ** 52 + 1
        const taken = yield* store.take({ key: "k", amount, limit: 2 ** 53 - 1, windowMs: 60_000 })
        assert.deepStrictEqual(taken, { allowed: true, current: amount, at: 1_790_000_000_123 })
        assert.strictEqual(yield* store.peek({ key: "k", windowMs: 60_000 }), amount)
      })
    )

    test(
      "forget the takes of a key, and nothing else",
      Effect.gen(function* () {
        const options = { prefix: "forgotten {" }
        const store = yield* RedisRateLimitStore.make(options)
        const windowMs = 60_000
        for (const key of ["ann", "ann}"]) yield* store.take({ key, amount: 3, limit: 10, windowMs })
        assert.isTrue(yield* RedisRateLimitStore.forget("ann", options))
        assert.isFalse(yield* RedisRateLimitStore.forget("ann", options))
        assert.strictEqual(yield* store.peek({ key: "ann", windowMs }), 0)
        assert.strictEqual(yield* store.peek({ key: "ann}", windowMs }), 3)
      })
    )

    it.live("allow 64 fibers no more than there is room for, at any time", () =>
      Effect.gen(function* () {
        const store = yield* RateLimitStore
        const taken = yield* Effect.forEach(
          Array.from({ length: 1920 }, (_, index) => index),
          () => store.take({ key: "k", amount: 2, limit: 1001, windowMs: 3_600_000 }),
          { concurrency: 64 }
        )
        assert.strictEqual(taken.filter(({ allowed }) => allowed).length, 500)
        assert.strictEqual(yield* store.peek({ key: "k", windowMs: 3_600_000 }), 1000)
      }).pipe(Effect.provide(fresh))
    )

    it.effect("fail while Redis is away, without showing the key", () =>
      Effect.gen(function* () {
        const own = yield* TestServers.ownRedis({ durable: false })
        const client = yield* RedisClient.make({ url: RedisTests.urlOf(own), commandTimeout: 200 })
        const store = yield* Effect.provideService(RedisRateLimitStore.make(), RedisClient.RedisClient, client)
        yield* own.stop("kill")
        const error = yield* Effect.flip(store.take({ key: "hidden", amount: 1, limit: 1, windowMs: 1000 }))
        assert.strictEqual(error._tag, "GovernancePersistenceError")
        assert.strictEqual((error.cause as { readonly reason?: unknown }).reason, "unreachable")
        assert.notInclude(inspect(error, { depth: 20, showHidden: true }), "hidden")
      }).pipe(Effect.scoped)
    )
  })
})

TestServers.suite("redisCluster", cluster, (nodes) => {
  RateLimitStoreSuite.suite("A cluster of Redis", stores({ url: nodes.map(RedisTests.urlOf) }), { numRuns: 10 })
})
