import * as KeyValueStore from "@effect/platform/KeyValueStore"
import { assert, describe, it } from "@effect/vitest"
import * as Chunk from "effect/Chunk"
import * as Clock from "effect/Clock"
import * as Deferred from "effect/Deferred"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import * as TestClock from "effect/TestClock"
import { EntryId } from "../../../src/domain/Ids.js"
import * as CacheBackend from "../../../src/llm/CacheBackend.js"
import * as CacheMemoryStore from "../../../src/memory/cache/CacheMemoryStore.js"
import * as MemoryEntry from "../../../src/memory/entry/MemoryEntry.js"
import type * as MemoryStore from "../../../src/memory/search/MemoryStore.js"
import * as TextAnalyzer from "../../../src/memory/text/TextAnalyzer.js"
import * as MemoryStoreSuite from "../../../src/testing/memory/MemoryStoreSuite.js"
import { suite } from "../../support/MemoryStores.js"

const roomy = CacheBackend.layerMemory({ capacity: 100_000, maxCharacters: 1_000_000_000 })

suite("CacheMemoryStore over a cache in memory", Layer.provide(CacheMemoryStore.layer(), roomy))
suite(
  "CacheMemoryStore over a KeyValueStore",
  CacheMemoryStore.layer().pipe(
    Layer.provide(CacheBackend.layerKeyValueStore()),
    Layer.provide(KeyValueStore.layerMemory)
  )
)

describe("CacheMemoryStore that keeps one owner ready as a MemoryStore", () => {
  const layer = Layer.provide(CacheMemoryStore.layer({ maxReady: 1, prefix: "other" }), roomy)
  for (const one of MemoryStoreSuite.cases) {
    // Two owners in turn, so that nearly every one of its 3,200 calls would read all entries anew.
    if (one.name === "many fibers may store at once") continue
    it.effect(one.name, () => MemoryStoreSuite.check(one, layer))
  }
})

type Operation = CacheBackend.CacheBackendError["operation"]

/** A cache whose values and requests can be looked at, and which refuses what `refuses` says. */
const watched = () => {
  const values = new Map<string, { readonly text: string; readonly expiresAt: number }>()
  const requests: Array<{ readonly operation: Operation; readonly key: string; readonly characters: number }> = []
  const cache = {
    values,
    requests,
    refuses: (_operation: Operation, _key: string): boolean => false,
    before: (_operation: Operation, _key: string): Effect.Effect<void> => Effect.void,
    /** What happens meanwhile, as requests. */
    during: <A, E>(effect: Effect.Effect<A, E>) =>
      Effect.suspend(() => {
        const from = requests.length
        return Effect.map(effect, () => requests.slice(from))
      })
  }
  const request = <A>(operation: Operation, key: string, characters: number, body: (now: number) => A) =>
    Effect.gen(function* () {
      requests.push({ operation, key, characters })
      yield* cache.before(operation, key)
      if (cache.refuses(operation, key)) {
        return yield* new CacheBackend.CacheBackendError({ message: "out of order", operation })
      }
      return body(yield* Clock.currentTimeMillis)
    })
  const service: CacheBackend.Service = {
    get: (key) =>
      request("get", key, 0, (now) => {
        const value = values.get(key)
        return value === undefined || value.expiresAt <= now ? Option.none() : Option.some(value.text)
      }),
    set: (key, text, options) =>
      request("set", key, text.length, (now) => {
        const ttl = options?.ttl
        values.set(key, {
          text,
          expiresAt: ttl === undefined ? Number.POSITIVE_INFINITY : now + Duration.toMillis(ttl)
        })
      }),
    delete: (key) => request("delete", key, 0, () => void values.delete(key))
  }
  const store = (options?: CacheMemoryStore.Options) =>
    Effect.provideService(CacheMemoryStore.make(options), CacheBackend.CacheBackend, service)
  return { ...cache, cache, store }
}

const id = (text: string) => EntryId.make(text)

const entry = (
  name: string,
  fields: { readonly ownerId?: string; readonly content?: string; readonly expiresAt?: number } = {}
): MemoryEntry.MemoryEntry =>
  MemoryEntry.make({ id: id(name), ownerId: "ann", content: "", role: "user", timestamp: 0, ...fields })

const many = (count: number, content = "a zebra was here", ownerId = "ann") =>
  Array.from({ length: count }, (_, at) => entry(`e${at}`, { content: `${content} ${at}`, ownerId }))

const ids = (store: MemoryStore.Service, ownerId = "ann") =>
  Effect.map(Stream.runCollect(store.stream(ownerId)), (all) =>
    Chunk.toReadonlyArray(all).map((one) => one.id as string)
  )

const operations = (requests: ReadonlyArray<{ readonly operation: Operation }>, operation: Operation) =>
  requests.filter((one) => one.operation === operation).length

const characters = (requests: ReadonlyArray<{ readonly characters: number }>) =>
  requests.reduce((sum, one) => sum + one.characters, 0)

const warnings = Effect.gen(function* () {
  const logged: Array<string> = []
  const layer = Logger.replace(
    Logger.defaultLogger,
    Logger.make(({ message }) => void logged.push(String(message)))
  )
  return { logged, layer }
})

describe("CacheMemoryStore: requests to its cache", () => {
  it.effect("reads one value while the owner's entries do not change", () =>
    Effect.gen(function* () {
      const { during, store: make } = watched()
      const store = yield* make()
      yield* store.storeMany(many(500))
      const reads: ReadonlyArray<Effect.Effect<unknown, unknown>> = [
        store.get("ann", id("e3")),
        store.getMany("ann", [id("e3"), id("e499")]),
        store.getRecent({ ownerId: "ann", n: 20 }),
        store.count("ann", { roles: ["user"] })
      ]
      for (const read of reads) assert.lengthOf(yield* during(read), 1)
      // The words, and the newest.
      const searching = yield* during(store.retrieve({ ownerId: "ann", query: "zebra" }))
      assert.isAtMost(searching.length, 2)
      assert.strictEqual(operations(searching, "get"), searching.length)
      assert.lengthOf(yield* during(store.count("nobody")), 1)
    })
  )

  it.effect("writes no more for an insert into many entries than into few", () =>
    Effect.gen(function* () {
      const { during, store: make } = watched()
      const store = yield* make()
      const inserts = (from: number) =>
        Effect.map(
          during(
            Effect.forEach(Array.from({ length: 64 }), (_, at) =>
              store.store(entry(`i${from + at}`, { content: "x".repeat(200) }))
            )
          ),
          (requests) => ({ requests: requests.length / 64, characters: characters(requests) / 64 })
        )
      yield* store.storeMany(many(64))
      const few = yield* inserts(0)
      yield* store.storeMany(many(20_000))
      const lots = yield* inserts(1000)
      assert.isAtMost(lots.requests, few.requests + 1)
      assert.isAtMost(lots.characters, few.characters + 6000)
    })
  )

  it.effect("writes one segment for a change of one entry among many", () =>
    Effect.gen(function* () {
      const { during, store: make } = watched()
      const store = yield* make()
      yield* store.storeMany(many(5000))
      const changes: ReadonlyArray<Effect.Effect<unknown, unknown>> = [
        store.store(entry("e2500", { content: "changed" })),
        store.recordAccess("ann", [id("e100")]),
        store.delete("ann", id("e4000"))
      ]
      for (const change of changes) {
        const requests = yield* during(change)
        assert.strictEqual(operations(requests, "set"), 3)
        assert.isBelow(characters(requests), 20_000)
      }
      assert.strictEqual(operations(yield* during(store.delete("ann", id("unknown"))), "set"), 0)
      assert.strictEqual(operations(yield* during(store.recordAccess("ann", [id("unknown")])), "set"), 0)
    })
  )

  it.effect("does not rewrite a large entry for changes of others", () =>
    Effect.gen(function* () {
      const { during, store: make } = watched()
      const store = yield* make()
      yield* store.store(entry("large", { content: "x".repeat(500_000) }))
      assert.isBelow(characters(yield* during(store.store(entry("small")))), 5000)
      assert.isBelow(characters(yield* during(store.recordAccess("ann", [id("small")]))), 5000)
      assert.strictEqual(Option.getOrThrow(yield* store.get("ann", id("large"))).content.length, 500_000)
    })
  )

  it.effect("deletes unreferenced records with the next change, and stays small after deletions", () =>
    Effect.gen(function* () {
      const { store: make, values } = watched()
      const store = yield* make()
      yield* store.storeMany(many(512))
      for (let round = 0; round < 50; round++) yield* store.store(entry("e7", { content: `round ${round}` }))
      // 16 segments, a page, the head, two of the owners, and what the last change replaced.
      assert.isAtMost(values.size, 16 + 1 + 1 + 2 + 2)
      for (let at = 0; at < 512; at++) if (at % 16 !== 0) yield* store.delete("ann", id(`e${at}`))
      assert.lengthOf(yield* ids(store), 32)
      assert.isAtMost(values.size, 32 / 8 + 1 + 1 + 2 + 3)
    })
  )

  it.effect("leaves nothing of an owner without entries", () =>
    Effect.gen(function* () {
      const { store: make, values } = watched()
      const store = yield* make()
      const empty = [...values.keys()]
      yield* store.storeMany([...many(100), entry("x", { ownerId: "bob" })])
      yield* store.clear("ann")
      yield* store.delete("bob", id("x"))
      assert.deepStrictEqual(
        [...values.keys()].filter((key) => !key.startsWith("mem:owners")),
        empty
      )
      assert.deepStrictEqual(yield* Stream.runCollect(store.owners), Chunk.empty())
    })
  )

  it.effect("keeps values a day longer than their entries, and forever if these do not expire", () =>
    Effect.gen(function* () {
      const { store: make, values } = watched()
      const lives = (ownerId: string) =>
        [...values].filter(([key]) => key.includes(`:${ownerId}`)).map(([, value]) => value.expiresAt)
      const store = yield* make({ ttl: "2 days" })
      yield* store.storeMany(many(3))
      assert.deepStrictEqual(new Set(lives("ann")), new Set([3 * 86_400_000]))
      const immortal = yield* make({ ttl: 0 })
      yield* immortal.store(entry("a", { ownerId: "bob" }))
      assert.deepStrictEqual(new Set(lives("bob")), new Set([Number.POSITIVE_INFINITY]))
      yield* immortal.store(entry("b", { ownerId: "carl", expiresAt: 1000 }))
      assert.deepStrictEqual(new Set(lives("carl")), new Set([86_401_000]))
    })
  )

  it.effect("expires entries after 30 days by default", () =>
    Effect.gen(function* () {
      const { store: make } = watched()
      const store = yield* make()
      yield* store.store(entry("a"))
      yield* TestClock.adjust(Duration.subtract(Duration.days(30), Duration.millis(1)))
      assert.deepStrictEqual(yield* ids(store), ["a"])
      yield* TestClock.adjust("1 millis")
      assert.deepStrictEqual(yield* ids(store), [])
      assert.strictEqual(yield* store.expire, 1)
      assert.deepStrictEqual(yield* Stream.runCollect(store.owners), Chunk.empty())
    })
  )

  it.effect("uses short keys of few characters, distinct for every owner", () =>
    Effect.gen(function* () {
      const { store: make, values } = watched()
      const store = yield* make({ prefix: "app:memory" })
      const owners = [
        "a",
        "A",
        "a:b",
        "a/b",
        "a%003ab",
        "index",
        "\ud800",
        "\ud801",
        "\ufffd",
        "x".repeat(256),
        `${"x".repeat(255)}y`
      ]
      for (const ownerId of owners) yield* store.store(entry("a", { ownerId }))
      const keys = [...values.keys()]
      assert.isTrue(
        keys.every((key) => /^app:memory:[a-z0-9_%~:.-]{1,150}$/.test(key)),
        keys.join("\n")
      )
      assert.lengthOf(
        keys.filter((key) => key.startsWith("app:memory:index:")),
        owners.length
      )
      for (const ownerId of owners) assert.strictEqual(yield* store.count(ownerId), 1)
    })
  )

  it.effect("bounds the owners in memory, and reads others again when they are used", () =>
    Effect.gen(function* () {
      const { during, store: make } = watched()
      const store = yield* make({ maxReady: 150 })
      const count = (ownerId: string) => Effect.map(during(store.count(ownerId)), (requests) => requests.length)
      for (const ownerId of ["ann", "bob", "carl"]) yield* store.storeMany(many(60, "text", ownerId))
      assert.deepStrictEqual([yield* count("carl"), yield* count("bob")], [1, 1])
      assert.isAbove(yield* count("ann"), 1)
      assert.deepStrictEqual([yield* count("ann"), yield* count("bob")], [1, 1])
      assert.isAbove(yield* count("carl"), 1)
      yield* store.storeMany(many(500, "text", "dora"))
      assert.strictEqual(yield* count("dora"), 1)
      assert.isAbove(yield* count("carl"), 1)
    })
  )

  it.effect("uses the given analyzer", () =>
    Effect.gen(function* () {
      const { store: make } = watched()
      const found = (analyzer: TextAnalyzer.TextAnalyzer | undefined) =>
        Effect.gen(function* () {
          const store = yield* make({ analyzer, prefix: analyzer?.name })
          yield* store.store(entry("a", { content: "running" }))
          return (yield* store.retrieve({ ownerId: "ann", query: "runs", minRelevance: 0.01 })).length
        })
      assert.deepStrictEqual([yield* found(undefined), yield* found(TextAnalyzer.plain)], [1, 0])
    })
  )
})

describe("CacheMemoryStore in two processes", () => {
  it.effect("sees the changes of the other process", () =>
    Effect.gen(function* () {
      const { store: make } = watched()
      const [here, there] = [yield* make(), yield* make()]
      yield* here.storeMany(many(100))
      assert.strictEqual(yield* there.count("ann"), 100)
      yield* there.store(entry("new", { content: "giraffe" }))
      assert.lengthOf(yield* here.retrieve({ ownerId: "ann", query: "giraffe", minRelevance: 0.01 }), 1)
      yield* here.delete("ann", id("e5"))
      yield* there.recordAccess("ann", [id("e6")])
      assert.strictEqual(Option.getOrThrow(yield* here.get("ann", id("e6"))).accessCount, 1)
      assert.strictEqual(yield* here.count("ann"), 100)
      yield* there.clear("ann")
      assert.deepStrictEqual(yield* ids(here), [])
      yield* here.store(entry("a"))
      assert.deepStrictEqual(yield* ids(there), ["a"])
      assert.deepStrictEqual(Chunk.toReadonlyArray(yield* Stream.runCollect(there.owners)), ["ann"])
    })
  )

  it.effect("keeps sequential changes of both", () =>
    Effect.gen(function* () {
      const { store: make } = watched()
      const stores = [yield* make(), yield* make(), yield* make()]
      for (let round = 0; round < 90; round++) yield* stores[round % 3]!.store(entry(`e${round}`))
      for (const store of stores) assert.lengthOf(yield* ids(store), 90)
    })
  )

  it.effect("loses at most one of two concurrent changes, and nothing else", () =>
    Effect.gen(function* () {
      const { cache, store: make } = watched()
      const [here, there] = [yield* make(), yield* make()]
      yield* here.storeMany(many(200))
      yield* there.count("ann")
      // The other one has read the head, and writes its own after the first one has.
      const isHead = (operation: Operation, key: string) => operation === "set" && key.startsWith("mem:index:")
      const first = yield* Deferred.make<void>()
      let heads = 0
      cache.before = (operation, key) => (isHead(operation, key) && heads++ === 0 ? Deferred.await(first) : Effect.void)
      const late = yield* Effect.fork(there.store(entry("late")))
      yield* Effect.yieldNow()
      yield* here.store(entry("e5", { content: "early" }))
      yield* Deferred.succeed(first, undefined)
      yield* Fiber.join(late)
      for (const store of [here, there, yield* make()]) {
        const kept = yield* ids(store)
        assert.includeMembers(
          [...kept],
          many(200).map((one) => one.id as string)
        )
        assert.include(kept, "late")
      }
      yield* here.store(entry("e5", { content: "again" }))
      assert.strictEqual(Option.getOrThrow(yield* there.get("ann", id("e5"))).content, "again")
      assert.lengthOf(yield* ids(there), 201)
    })
  )

  it.effect("reads again when another process writes during a read", () =>
    Effect.gen(function* () {
      const { cache, store: make } = watched()
      const [here, there] = [yield* make(), yield* make()]
      yield* here.storeMany(many(100))
      // After the head was read and before the segments are, two changes go by.
      let reads = 0
      cache.before = (operation, key) => {
        if (operation !== "get" || !key.startsWith("mem:of:") || reads++ > 0) return Effect.void
        return Effect.orDie(
          Effect.zipRight(here.delete("ann", id("e1")), here.storeMany(many(100, "a lion was here").slice(2)))
        )
      }
      const entries = yield* there.getRecent({ ownerId: "ann", n: 1000 })
      assert.lengthOf(entries, 99)
      assert.lengthOf(
        entries.filter((one) => one.content.includes("lion")),
        98
      )
    })
  )
})

describe("CacheMemoryStore when its cache fails", () => {
  it.effect("applies a change entirely or not at all, wherever a write fails", () =>
    Effect.gen(function* () {
      const { cache, during, store: make } = watched()
      const store = yield* make()
      const change = store.apply("ann", {
        delete: [id("e0"), id("e40")],
        store: [
          entry("e80", { content: "changed" }),
          ...many(100, "new").map((one) => ({ ...one, id: id(`new ${one.id}`) }))
        ]
      })
      yield* store.storeMany(many(100))
      const requests = (yield* during(change)).length
      assert.isAbove(requests, 8)
      const changed = yield* ids(store)
      for (let failing = 0; failing < requests; failing++) {
        yield* store.clear("ann")
        yield* store.storeMany(many(100))
        let count = 0
        cache.refuses = (operation) => count++ === failing && operation !== "delete"
        const error = yield* Effect.flip(Effect.asVoid(change)).pipe(Effect.option)
        cache.refuses = () => false
        for (const each of [store, yield* make()]) {
          const now = yield* ids(each)
          assert.sameMembers([...now], error._tag === "Some" ? many(100).map((one) => one.id as string) : [...changed])
        }
        // And nothing of it comes with the next change.
        yield* store.store(entry("after"))
        assert.lengthOf(yield* ids(yield* make()), (error._tag === "Some" ? 100 : changed.length) + 1)
        if (error._tag === "Some") {
          assert.strictEqual(error.value._tag, "StorageError")
          assert.notInclude(JSON.stringify(error.value), "zebra")
        }
      }
    })
  )

  it.effect("fails a read with a StorageError that names no key and no content", () =>
    Effect.gen(function* () {
      const { cache, store: make } = watched()
      const store = yield* make()
      yield* store.store(entry("secret id", { content: "secret", ownerId: "secret owner" }))
      cache.refuses = () => true
      const calls: ReadonlyArray<Effect.Effect<unknown, unknown>> = [
        store.count("secret owner"),
        store.retrieve({ ownerId: "secret owner", query: "secret" }),
        store.store(entry("other", { content: "secret", ownerId: "secret owner" })),
        store.clear("secret owner"),
        Stream.runDrain(store.owners),
        store.expire,
        store.health
      ]
      for (const call of calls) {
        const error = yield* Effect.flip(call) as Effect.Effect<{ readonly _tag: string }>
        assert.strictEqual(error._tag, "StorageError")
        assert.notInclude(`${JSON.stringify(error)} ${String(error)}`, "secret")
      }
    })
  )

  it.effect("stays as it was when a write is interrupted", () =>
    Effect.gen(function* () {
      const { cache, store: make } = watched()
      const store = yield* make()
      yield* store.storeMany(many(10))
      cache.before = (operation) => (operation === "set" ? Effect.never : Effect.void)
      const writing = yield* Effect.fork(store.storeMany(many(50)))
      const waiting = yield* Effect.fork(store.store(entry("waiting")))
      yield* Effect.yieldNow()
      yield* Fiber.interrupt(writing)
      cache.before = () => Effect.void
      yield* Fiber.interrupt(waiting)
      assert.lengthOf(yield* ids(store), 10)
      yield* store.store(entry("next"))
      assert.lengthOf(yield* ids(yield* make()), 11)
    })
  )

  it.effect("loses an evicted segment, and repairs the index with the next change", () =>
    Effect.gen(function* () {
      const { logged, layer } = yield* warnings
      const { store: make, values } = watched()
      yield* (yield* make()).storeMany(many(100))
      const segment = [...values].find(([, value]) => value.text.includes(`"e40"`))!
      values.delete(segment[0])
      const store = yield* make()
      const left = yield* Effect.provide(ids(store), layer)
      assert.lengthOf(left, 100 - 32)
      assert.notInclude(left, "e40")
      assert.deepStrictEqual(logged, ["1 records of a memory are gone from its cache or cannot be read"])
      yield* store.store(entry("e40"))
      const again = yield* make()
      assert.lengthOf(yield* Effect.provide(ids(again), layer), 100 - 32 + 1)
      assert.lengthOf(logged, 1)
    })
  )

  it.effect("loses an owner whose head was evicted", () =>
    Effect.gen(function* () {
      const { store: make, values } = watched()
      const store = yield* make()
      yield* store.storeMany([...many(100), entry("a", { ownerId: "bob" })])
      values.delete("mem:index:ann")
      assert.deepStrictEqual(yield* ids(store), [])
      assert.deepStrictEqual(Chunk.toReadonlyArray(yield* Stream.runCollect(store.owners)), ["bob"])
      yield* store.store(entry("new"))
      assert.deepStrictEqual(yield* ids(store), ["new"])
      assert.deepStrictEqual(Chunk.toReadonlyArray(yield* Stream.runCollect(store.owners)), ["ann", "bob"])
    })
  )

  it.effect("treats unreadable records as evicted, with a warning", () =>
    Effect.gen(function* () {
      const { logged, layer } = yield* warnings
      const { store: make, values } = watched()
      yield* (yield* make()).storeMany(many(100))
      const segments = [...values].filter(([, value]) => value.text.startsWith(`{"entries"`))
      const foreign = JSON.stringify({ entries: [entry("x", { ownerId: "bob", content: "of bob" })] })
      for (const [at, text] of ["{", foreign, `{"entries":[null]}`].entries()) {
        values.set(segments[at]![0], { text, expiresAt: Number.POSITIVE_INFINITY })
      }
      assert.lengthOf(
        yield* Effect.provide(
          Effect.flatMap(make(), (store) => ids(store)),
          layer
        ),
        4
      )
      assert.deepStrictEqual(logged, ["3 records of a memory are gone from its cache or cannot be read"])
    })
  )

  it.effect("fails with a StorageError for an unreadable head until the owner is cleared", () =>
    Effect.gen(function* () {
      const { store: make, values } = watched()
      const store = yield* make()
      yield* store.storeMany([entry("a"), entry("b", { ownerId: "bob" })])
      const ofBob = values.get("mem:index:bob")!.text
      for (const text of ["", "{}", `{"format":2}`, ofBob]) {
        values.set("mem:index:ann", { text, expiresAt: Number.POSITIVE_INFINITY })
        assert.strictEqual((yield* Effect.flip(store.count("ann")))._tag, "StorageError")
        assert.strictEqual((yield* Effect.flip(store.store(entry("a"))))._tag, "StorageError")
        assert.strictEqual(values.get("mem:index:ann")?.text, text)
        assert.strictEqual(yield* store.expire, 0)
        assert.strictEqual(yield* store.clear("ann"), 0)
        yield* store.store(entry("a"))
        assert.deepStrictEqual(yield* ids(store), ["a"])
      }
      assert.deepStrictEqual(yield* ids(store, "bob"), ["b"])
    })
  )

  it.effect("restores an unreadable list of owners with their changes", () =>
    Effect.gen(function* () {
      const { store: make, values } = watched()
      const owners = Array.from({ length: 300 }, (_, at) => `owner ${String(at).padStart(3, "0")}`)
      yield* (yield* make()).storeMany(owners.map((ownerId) => entry("a", { ownerId })))
      const listed = (store: MemoryStore.Service) =>
        Effect.map(Stream.runCollect(store.owners), (all) => Chunk.toReadonlyArray(all))
      for (const key of [...values.keys()].filter((one) => one.startsWith("mem:owners"))) {
        values.set(key, { text: "{", expiresAt: Number.POSITIVE_INFINITY })
      }
      const store = yield* make()
      assert.deepStrictEqual(yield* listed(store), [])
      yield* store.storeMany(owners.map((ownerId) => entry("b", { ownerId })))
      assert.deepStrictEqual(yield* listed(store), owners)
    })
  )

  it.effect("logs failed deletions, and works on", () =>
    Effect.gen(function* () {
      const { logged, layer } = yield* warnings
      const { cache, store: make } = watched()
      const store = yield* make()
      yield* store.storeMany(many(10))
      yield* store.store(entry("a"))
      cache.refuses = (operation) => operation === "delete"
      yield* Effect.provide(store.store(entry("b")), layer)
      assert.deepStrictEqual(logged, ["2 keys of a memory could not be deleted from its cache"])
      assert.lengthOf(yield* ids(store), 12)
    })
  )
})
