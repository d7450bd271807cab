import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as FastCheck from "effect/FastCheck"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import { CacheBackend } from "../../../src/llm/CacheBackend.js"
import * as RedisCacheBackend from "../../../src/persistence/redis/RedisCacheBackend.js"
import * as RedisClient from "../../../src/persistence/redis/RedisClient.js"
import * as SkillResultBackend from "../../../src/skill/execute/SkillResultBackend.js"
import * as CacheBackendSuite from "../../llm/CacheBackendSuite.js"
import * as SkillResultCacheSuite from "../../skill/execute/SkillResultCacheSuite.js"
import * as TestServers from "../../support/TestServers.js"

const available = await TestServers.redis()

TestServers.suite("redis", available, ({ url }) => {
  const redis = RedisClient.layer({ url: Redacted.make(url) })

  let caches = 0
  const fresh = Layer.suspend(() => RedisCacheBackend.layer({ prefix: `cache ${caches++}:` }))

  CacheBackendSuite.suite("Redis", Layer.provide(fresh, redis))
  SkillResultCacheSuite.suite("Redis", Layer.provide(SkillResultBackend.layer(), Layer.provide(fresh, redis)))

  const test = <E>(name: string, body: Effect.Effect<void, E, RedisClient.RedisClient>) =>
    it.effect(name, () => Effect.provide(body, redis))

  describe("a cache in Redis", () => {
    test(
      "is shared by all with its prefix, and by nobody else",
      Effect.gen(function* () {
        const mine = yield* RedisCacheBackend.make({ prefix: "shared:" })
        const same = yield* RedisCacheBackend.make({ prefix: "shared:" })
        const other = yield* RedisCacheBackend.make({ prefix: "shared:other:" })
        yield* mine.set("key", "value")
        assert.deepStrictEqual(yield* same.get("key"), Option.some("value"))
        assert.deepStrictEqual(yield* other.get("key"), Option.none())
      })
    )

    test(
      "stores any key and any value, with lone surrogates and every control character",
      Effect.gen(function* () {
        const cache = yield* RedisCacheBackend.make({ prefix: "any:" })
        const aText = FastCheck.string({ unit: "binary", maxLength: 8 }).chain((text) =>
          FastCheck.constantFrom("", "\ud800", "\udc00", "\ud7ff", "\ud7ff\u4000", "\u0000", "!\n").map(
            (odd) => odd + text
          )
        )
        yield* Effect.promise(() =>
          FastCheck.assert(
            FastCheck.asyncProperty(aText, aText, aText, (key, other, value) =>
              Effect.gen(function* () {
                yield* cache.set(other, "other")
                yield* cache.set(key, value)
                assert.deepStrictEqual(yield* cache.get(key), Option.some(value))
                if (key !== other) assert.deepStrictEqual(yield* cache.get(other), Option.some("other"))
              }).pipe(Effect.runPromise)
            ),
            { numRuns: 200 }
          )
        )
      })
    )

    test(
      "lets Redis delete expired entries after a minute, and keeps permanent ones",
      Effect.gen(function* () {
        const { command } = yield* RedisClient.RedisClient
        const cache = yield* RedisCacheBackend.make({ prefix: "left:" })
        yield* cache.set("soon", "value", { ttl: "10 seconds" })
        yield* cache.set("never", "value")
        yield* cache.set("hardly", "value", { ttl: "999999999 weeks" })
        const left = Number(yield* command("pttl", "left:soon"))
        assert.isAtMost(left, 70_000)
        assert.isAtLeast(left, 60_000)
        assert.strictEqual(yield* command("pttl", "left:never"), -1)
        assert.strictEqual(yield* command("pttl", "left:hardly"), -1)
      })
    )

    test(
      "treats foreign values as absent, and fails when they are not text",
      Effect.gen(function* () {
        const { command } = yield* RedisClient.RedisClient
        const cache = yield* RedisCacheBackend.make({ prefix: "else:" })
        yield* command("set", "else:text", "something else")
        yield* command("lpush", "else:list", "something else")
        assert.deepStrictEqual(yield* cache.get("text"), Option.none())
        const error = yield* Effect.flip(cache.get("list"))
        assert.strictEqual(error.operation, "get")
        assert.strictEqual((error.cause as { readonly reason?: unknown }).reason, "data")
        yield* cache.set("list", "mine")
        assert.deepStrictEqual(yield* cache.get("list"), Option.some("mine"))
      })
    )

    test(
      "clears all its keys for any prefix, and nothing else",
      Effect.gen(function* () {
        const prefix = "clear*[a-z]?\\:"
        const cache = yield* RedisCacheBackend.make({ prefix })
        const other = yield* RedisCacheBackend.make({ prefix: "clear anything a b:" })
        for (let key = 0; key < 2500; key++) yield* cache.set(`key ${key}`, "value", { ttl: "1 hour" })
        yield* other.set("key", "value")
        assert.strictEqual(yield* RedisCacheBackend.clear({ prefix }), 2500)
        assert.strictEqual(yield* RedisCacheBackend.clear({ prefix }), 0)
        assert.deepStrictEqual(yield* cache.get("key 7"), Option.none())
        assert.deepStrictEqual(yield* other.get("key"), Option.some("value"))
      })
    )

    it.effect("reads an entry that Redis evicted as absent", () =>
      Effect.gen(function* () {
        const small = yield* TestServers.ownRedis({
          durable: false,
          settings: { maxmemory: "3mb", "maxmemory-policy": "allkeys-lru" }
        })
        yield* Effect.gen(function* () {
          const cache = yield* CacheBackend
          for (let key = 0; key < 100; key++) yield* cache.set(`key ${key}`, "x".repeat(100_000))
          assert.deepStrictEqual(yield* cache.get("key 0"), Option.none())
          assert.isTrue(Option.isSome(yield* cache.get("key 99")))
        }).pipe(
          Effect.provide(Layer.provide(RedisCacheBackend.layer(), RedisClient.layer({ url: Redacted.make(small.url) })))
        )
      }).pipe(Effect.scoped)
    )
  })
})
