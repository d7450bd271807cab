import * as SqlClient from "@effect/sql/SqlClient"
import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as TestClock from "effect/TestClock"
import type * as CacheBackend from "../../../src/llm/CacheBackend.js"
import * as SqlCacheBackend from "../../../src/persistence/run/SqlCacheBackend.js"
import * as CacheBackendSuite from "../../llm/CacheBackendSuite.js"
import * as SqlBackends from "../../support/SqlBackends.js"
import * as SqlStoreCases from "../../support/SqlStoreCases.js"

const rows = Effect.flatMap(SqlClient.SqlClient, (sql) =>
  Effect.map(sql<{ readonly n: number }>`SELECT COUNT(*) AS n FROM lex_cache`, (found) => Number(found[0]?.n))
)

const present = (cache: CacheBackend.Service, keys: ReadonlyArray<string>) =>
  Effect.filter(keys, (key) => Effect.map(cache.get(key), Option.isSome))

SqlBackends.suite("SqlCacheBackend", (backend) => {
  CacheBackendSuite.suite("SQL", Layer.provide(SqlCacheBackend.layer(), backend.layer))

  SqlStoreCases.suite(backend, {
    // Every write is followed by all that may follow it.
    make: SqlCacheBackend.make({ capacity: 100 }),
    migrated: SqlCacheBackend.layerMigrated(),
    write: (cache, name) => cache.set(name, name.repeat(2000), { ttl: "1 day" }),
    has: (cache, name) => Effect.map(cache.get(name), (value) => Option.getOrUndefined(value) === name.repeat(2000)),
    everything: (cache) =>
      Effect.gen(function* () {
        yield* TestClock.adjust("1 hour")
        yield* cache.get("name 39")
        yield* cache.delete("name 39")
        yield* Effect.forEach(Array.from({ length: 300 }), (_, index) => cache.set(`more ${index}`, "x"))
      })
  })

  const withClient = <A, E>(effect: Effect.Effect<A, E, SqlClient.SqlClient>) => Effect.provide(effect, backend.layer)

  it.effect("returns any keys and values unchanged, of any length", () =>
    withClient(
      Effect.gen(function* () {
        const cache = yield* SqlCacheBackend.make()
        const random = Array.from({ length: 4000 }, (_, index) => String.fromCharCode(33 + ((index * 7919) % 90))).join(
          ""
        )
        const texts = ["\u0000", "\ud800", "\udc00\ud800", "\u0001#", "x".repeat(2_000_000), random, `${random}!`]
        for (const text of texts) yield* cache.set(text, text)
        for (const text of texts) assert.strictEqual(Option.getOrThrow(yield* cache.get(text)), text)
      })
    )
  )

  it.effect("keeps about the configured number of entries, most recently used", () =>
    withClient(
      Effect.gen(function* () {
        const cache = yield* SqlCacheBackend.make({ capacity: 8 })
        const keys = Array.from({ length: 30 }, (_, index) => `key ${index}`)
        for (const key of keys) {
          yield* cache.set(key, "x")
          yield* TestClock.adjust("2 minutes")
          yield* cache.get("key 3")
        }
        assert.deepStrictEqual(yield* present(cache, keys), ["key 3", ...keys.slice(-7)])
        assert.strictEqual(yield* rows, 8)
      })
    )
  )

  it.effect("records the use of an entry once a minute", () =>
    withClient(
      Effect.gen(function* () {
        const seen: Array<SqlBackends.Seen> = []
        const cache = yield* Effect.provide(SqlCacheBackend.make(), SqlBackends.watched(seen))
        const written = () => seen.filter(({ sql }) => sql.startsWith("UPDATE")).length
        yield* cache.set("key", "x")
        for (let second = 0; second < 59; second++) {
          yield* TestClock.adjust("1 second")
          yield* cache.get("key")
        }
        assert.strictEqual(written(), 0)
        yield* TestClock.adjust("1 second")
        yield* cache.get("key")
        yield* cache.get("key")
        assert.strictEqual(written(), 1)
      })
    )
  )

  it.effect("stores nothing without room, and everything without a limit", () =>
    withClient(
      Effect.gen(function* () {
        const none = yield* SqlCacheBackend.make({ capacity: 0 })
        yield* none.set("key", "x")
        assert.deepStrictEqual(yield* none.get("key"), Option.none())
        const all = yield* SqlCacheBackend.make({ capacity: Number.POSITIVE_INFINITY })
        for (let index = 0; index < 20; index++) yield* all.set(`key ${index}`, "x")
        assert.strictEqual(yield* rows, 20)
      })
    )
  )

  it.effect("deletes expired entries while writing others", () =>
    withClient(
      Effect.gen(function* () {
        const cache = yield* SqlCacheBackend.make()
        for (let index = 0; index < 100; index++) yield* cache.set(`short ${index}`, "x", { ttl: "1 second" })
        yield* TestClock.adjust("1 second")
        for (let index = 0; index < 400; index++) yield* cache.set("key", "x")
        assert.strictEqual(yield* rows, 1)
      })
    )
  )

  it.effect("separates entries and limits of caches by name", () =>
    withClient(
      Effect.gen(function* () {
        const one = yield* SqlCacheBackend.make({ name: "one", capacity: 2 })
        const two = yield* SqlCacheBackend.make({ name: "two", capacity: 2 })
        yield* two.set("a", "of two")
        for (const key of ["a", "b", "c"]) {
          yield* one.set(key, "of one")
          yield* TestClock.adjust(1)
        }
        assert.deepStrictEqual(yield* two.get("a"), Option.some("of two"))
        assert.deepStrictEqual(yield* present(one, ["a", "b", "c"]), ["b", "c"])
      })
    )
  )

  it.effect("fails for a broken entry without quoting it, until it is set again", () =>
    withClient(
      Effect.gen(function* () {
        const cache = yield* SqlCacheBackend.make()
        const sql = yield* SqlClient.SqlClient
        yield* cache.set("key", "x")
        yield* sql`UPDATE lex_cache SET body = 'secret'`
        const error = yield* Effect.flip(cache.get("key"))
        assert.deepStrictEqual([error._tag, error.operation], ["CacheBackendError", "get"])
        assert.notInclude(JSON.stringify(error) + String(error), "secret")
        yield* cache.set("key", "y")
        assert.deepStrictEqual(yield* cache.get("key"), Option.some("y"))
      })
    )
  )
})
