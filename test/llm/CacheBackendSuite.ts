/** What every `CacheBackend` must do, under `TestClock`. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as TestClock from "effect/TestClock"
import { CacheBackend } from "../../src/llm/CacheBackend.js"

export const suite = <E>(name: string, layer: Layer.Layer<CacheBackend, E>): void => {
  const test = (fact: string, body: Effect.Effect<void, unknown, CacheBackend>) =>
    it.effect(fact, () => Effect.provide(body, layer))

  describe(`${name} as a CacheBackend`, () => {
    test(
      "returns nothing for a key that was never set",
      Effect.gen(function* () {
        const cache = yield* CacheBackend
        assert.deepStrictEqual(yield* cache.get("nothing"), Option.none())
      })
    )

    test(
      "returns any value as it was set",
      Effect.gen(function* () {
        const cache = yield* CacheBackend
        const values = ["", "\n", "-\n12", "12345\nx", "{}", "ä\u0000日本\u{1f600}", "x".repeat(100_000)]
        for (const [index, value] of values.entries()) {
          yield* cache.set(`value ${index}`, value)
          assert.deepStrictEqual(yield* cache.get(`value ${index}`), Option.some(value))
        }
      })
    )

    test(
      "compares keys exactly",
      Effect.gen(function* () {
        const cache = yield* CacheBackend
        const keys = ["key", "Key", "key ", "__proto__", "constructor", "a:b", "a/b", "é", "e\u0301"]
        for (const key of keys) yield* cache.set(key, `of ${key}`)
        for (const key of keys) assert.deepStrictEqual(yield* cache.get(key), Option.some(`of ${key}`))
      })
    )

    test(
      "replaces value and expiry when set again",
      Effect.gen(function* () {
        const cache = yield* CacheBackend
        yield* cache.set("key", "one", { ttl: "1 minute" })
        yield* cache.set("key", "two")
        yield* TestClock.adjust("1 hour")
        assert.deepStrictEqual(yield* cache.get("key"), Option.some("two"))
        yield* cache.set("key", "three", { ttl: "1 minute" })
        yield* TestClock.adjust("1 minute")
        assert.deepStrictEqual(yield* cache.get("key"), Option.none())
      })
    )

    test(
      "keeps a value exactly for its time to live",
      Effect.gen(function* () {
        const cache = yield* CacheBackend
        yield* cache.set("key", "value", { ttl: "10 seconds" })
        yield* TestClock.adjust("9999 millis")
        assert.deepStrictEqual(yield* cache.get("key"), Option.some("value"))
        yield* TestClock.adjust("1 millis")
        assert.deepStrictEqual(yield* cache.get("key"), Option.none())
        yield* cache.set("key", "again", { ttl: "10 seconds" })
        assert.deepStrictEqual(yield* cache.get("key"), Option.some("again"))
      })
    )

    test(
      "does not extend the life of a value by a read",
      Effect.gen(function* () {
        const cache = yield* CacheBackend
        yield* cache.set("key", "value", { ttl: "10 seconds" })
        for (let second = 0; second < 9; second++) {
          yield* TestClock.adjust("1 second")
          assert.isTrue(Option.isSome(yield* cache.get("key")))
        }
        yield* TestClock.adjust("1 second")
        assert.deepStrictEqual(yield* cache.get("key"), Option.none())
      })
    )

    test(
      "treats an infinite time to live as none",
      Effect.gen(function* () {
        const cache = yield* CacheBackend
        yield* cache.set("key", "value", { ttl: Number.POSITIVE_INFINITY })
        yield* TestClock.adjust("1000 days")
        assert.deepStrictEqual(yield* cache.get("key"), Option.some("value"))
      })
    )

    test(
      "deletes a key, keeps others, and accepts a repeated delete",
      Effect.gen(function* () {
        const cache = yield* CacheBackend
        yield* cache.set("key", "value")
        yield* cache.set("other", "value")
        yield* cache.delete("key")
        yield* cache.delete("key")
        assert.deepStrictEqual(yield* cache.get("key"), Option.none())
        assert.deepStrictEqual(yield* cache.get("other"), Option.some("value"))
      })
    )

    test(
      "serves many fibers at once",
      Effect.gen(function* () {
        const cache = yield* CacheBackend
        const keys = Array.from({ length: 50 }, (_, index) => `key ${index}`)
        yield* Effect.forEach(keys, (key) => cache.set(key, key), { concurrency: "unbounded", discard: true })
        const values = yield* Effect.forEach(keys, (key) => cache.get(key), { concurrency: "unbounded" })
        assert.deepStrictEqual(values, keys.map(Option.some))
      })
    )
  })
}
