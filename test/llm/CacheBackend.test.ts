import * as PlatformError from "@effect/platform/Error"
import * as KeyValueStore from "@effect/platform/KeyValueStore"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as TestClock from "effect/TestClock"
import * as CacheBackend from "../../src/llm/CacheBackend.js"
import { suite } from "./CacheBackendSuite.js"

suite("layerMemory", CacheBackend.layerMemory())
suite("layerKeyValueStore", Layer.provide(CacheBackend.layerKeyValueStore(), KeyValueStore.layerMemory))
suite(
  "layerKeyValueStore with a prefix",
  Layer.provide(CacheBackend.layerKeyValueStore({ prefix: "lex:" }), KeyValueStore.layerMemory)
)

const present = (cache: CacheBackend.Service, keys: ReadonlyArray<string>) =>
  Effect.filter(keys, (key) => Effect.map(cache.get(key), Option.isSome))

describe("the bounds of layerMemory", () => {
  it.effect("evict the least recently used first", () =>
    Effect.gen(function* () {
      const cache = yield* CacheBackend.makeMemory({ capacity: 3 })
      for (const key of ["a", "b", "c"]) yield* cache.set(key, key)
      yield* cache.get("a")
      yield* cache.set("d", "d")
      yield* cache.set("c", "again")
      yield* cache.set("e", "e")
      assert.deepStrictEqual(yield* present(cache, ["a", "b", "c", "d", "e"]), ["c", "d", "e"])
    })
  )

  it.effect("limit the characters of all entries", () =>
    Effect.gen(function* () {
      const cache = yield* CacheBackend.makeMemory({ maxCharacters: 100 })
      for (const key of ["a", "b", "c"]) yield* cache.set(key, "x".repeat(40))
      assert.deepStrictEqual(yield* present(cache, ["a", "b", "c"]), ["b", "c"])
      yield* cache.set("huge", "x".repeat(101))
      assert.deepStrictEqual(yield* present(cache, ["huge"]), [])
    })
  )

  it.effect("get their room back from replaced, deleted and expired entries", () =>
    Effect.gen(function* () {
      const cache = yield* CacheBackend.makeMemory({ maxCharacters: 100 })
      yield* cache.set("keep", "x".repeat(40))
      for (let round = 0; round < 10; round++) yield* cache.set("same", "x".repeat(40))
      yield* cache.delete("same")
      yield* cache.set("short", "x".repeat(40), { ttl: "1 second" })
      yield* TestClock.adjust("1 second")
      yield* cache.get("short")
      yield* cache.set("last", "x".repeat(40))
      assert.deepStrictEqual(yield* present(cache, ["keep", "last"]), ["keep", "last"])
    })
  )
})

describe("the entries of layerKeyValueStore", () => {
  it.effect("have the prefix before the key, and are deleted by a read after expiry", () =>
    Effect.gen(function* () {
      const store = yield* KeyValueStore.KeyValueStore
      const cache = yield* CacheBackend.makeKeyValueStore({ prefix: "lex:" })
      yield* cache.set("key", "value", { ttl: "1 second" })
      assert.isTrue(yield* store.has("lex:key"))
      yield* TestClock.adjust("1 second")
      yield* cache.get("key")
      assert.strictEqual(yield* store.size, 0)
    }).pipe(Effect.provide(KeyValueStore.layerMemory))
  )

  it.effect("read as absent when something else wrote them", () =>
    Effect.gen(function* () {
      const store = yield* KeyValueStore.KeyValueStore
      const cache = yield* CacheBackend.makeKeyValueStore()
      for (const foreign of ["", "value", "12", "1e9\nx", "NaN\nx"]) {
        yield* store.set("key", foreign)
        assert.deepStrictEqual(yield* cache.get("key"), Option.none())
      }
    }).pipe(Effect.provide(KeyValueStore.layerMemory))
  )

  it.effect("fail with a CacheBackendError that names the operation when the store fails", () =>
    Effect.gen(function* () {
      const broken = Effect.fail(
        new PlatformError.SystemError({ reason: "Busy", module: "KeyValueStore", method: "any" })
      )
      const store = KeyValueStore.makeStringOnly({
        get: () => broken,
        set: () => broken,
        remove: () => broken,
        clear: broken,
        size: broken
      })
      const cache = yield* Effect.provideService(CacheBackend.makeKeyValueStore(), KeyValueStore.KeyValueStore, store)
      const errors = yield* Effect.forEach([cache.get("a"), cache.set("a", "b"), cache.delete("a")], (operation) =>
        Effect.flip(operation as Effect.Effect<unknown, CacheBackend.CacheBackendError>)
      )
      assert.deepStrictEqual(
        errors.map((error) => [error._tag, error.code, error.operation]),
        [
          ["CacheBackendError", "LEX_ERR_LLM_111", "get"],
          ["CacheBackendError", "LEX_ERR_LLM_111", "set"],
          ["CacheBackendError", "LEX_ERR_LLM_111", "delete"]
        ]
      )
    })
  )
})
