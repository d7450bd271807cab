import { assert, describe, it } from "@effect/vitest"
import * as Chunk from "effect/Chunk"
import * as Deferred from "effect/Deferred"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Option from "effect/Option"
import * as Ref from "effect/Ref"
import * as Stream from "effect/Stream"
import * as TestClock from "effect/TestClock"
import type { EntryId, SessionId } from "../../../src/domain/Ids.js"
import * as Embedder from "../../../src/llm/embedding/Embedder.js"
import * as HashingEmbedder from "../../../src/llm/embedding/HashingEmbedder.js"
import type { MemoryBackend } from "../../../src/memory/entry/MemoryBackend.js"
import type * as MemoryEntry from "../../../src/memory/entry/MemoryEntry.js"
import { MemoryStoreError, StorageError } from "../../../src/memory/entry/MemoryError.js"
import * as DefaultMemoryStore from "../../../src/memory/search/DefaultMemoryStore.js"
import * as InMemoryBackend from "../../../src/memory/search/InMemoryBackend.js"
import * as InMemoryMemoryStore from "../../../src/memory/search/InMemoryMemoryStore.js"
import * as MemoryStore from "../../../src/memory/search/MemoryStore.js"
import * as VectorIndex from "../../../src/memory/search/VectorIndex.js"
import * as TextAnalyzer from "../../../src/memory/text/TextAnalyzer.js"

const id = (value: string) => value as EntryId

const entry = (name: string, fields: Partial<MemoryEntry.MemoryEntry> = {}): MemoryEntry.MemoryEntry => ({
  id: id(name),
  ownerId: "o",
  content: name,
  role: "user",
  timestamp: 0,
  importance: 0.5,
  metadata: {},
  ...fields
})

const names = (entries: Iterable<MemoryEntry.MemoryEntry>) => Array.from(entries, (one) => one.id as string)

const count = (store: MemoryStore.Service) => store.count("o")

const DAY = 24 * 60 * 60 * 1_000

describe("MemoryStore", () => {
  it.effect("keeps an entry for 30 days, for the configured time, or forever", () =>
    Effect.gen(function* () {
      const usual = yield* InMemoryMemoryStore.make()
      const short = yield* InMemoryMemoryStore.make({ ttl: "1 hour" })
      const endless = yield* InMemoryMemoryStore.make({ ttl: 0 })
      const infinite = yield* InMemoryMemoryStore.make({ ttl: Duration.infinity })
      const stores = [usual, short, endless, infinite]
      for (const store of stores) yield* store.store(entry("a"))
      assert.deepStrictEqual(yield* Effect.forEach(stores, count), [1, 1, 1, 1])
      yield* TestClock.setTime(60 * 60 * 1_000)
      assert.deepStrictEqual(yield* Effect.forEach(stores, count), [1, 0, 1, 1])
      yield* TestClock.setTime(30 * DAY - 1)
      assert.deepStrictEqual(yield* Effect.forEach(stores, count), [1, 0, 1, 1])
      yield* TestClock.setTime(30 * DAY)
      assert.deepStrictEqual(yield* Effect.forEach(stores, count), [0, 0, 1, 1])
      yield* TestClock.setTime(30_000 * DAY)
      assert.deepStrictEqual(yield* Effect.forEach(stores, count), [0, 0, 1, 1])
    })
  )

  it.effect("expires an entry at its own time if earlier, and restarts when it is stored again", () =>
    Effect.gen(function* () {
      const store = yield* InMemoryMemoryStore.make({ ttl: 1_000 })
      yield* store.storeMany([entry("soon", { expiresAt: 10 }), entry("late", { expiresAt: 5_000 }), entry("again")])
      yield* TestClock.setTime(10)
      assert.isTrue(Option.isNone(yield* store.get("o", id("soon"))))
      yield* TestClock.setTime(900)
      yield* store.store(entry("again"))
      yield* TestClock.setTime(1_000)
      assert.deepStrictEqual(names(yield* store.getRecent({ ownerId: "o", n: 9 })), ["again"])
    })
  )

  it.effect("isolates stored entries from changes of inputs and outputs", () =>
    Effect.gen(function* () {
      const store = yield* InMemoryMemoryStore.make()
      const metadata = { tags: ["a"], nested: { deep: 1 } }
      const embedding = [1, 2]
      yield* store.store(entry("a", { metadata, embedding }))
      metadata.tags.push("b")
      metadata.nested.deep = 2
      embedding[0] = 9
      const kept = Option.getOrThrow(yield* store.get("o", id("a")))
      assert.deepStrictEqual(kept.metadata, { tags: ["a"], nested: { deep: 1 } })
      assert.deepStrictEqual(kept.embedding, [1, 2])
      assert.throws(() => Object.assign(kept, { content: "changed" }))
      assert.throws(() => (kept.metadata["tags"] as Array<string>).push("c"))
      assert.throws(() => Object.assign(kept.metadata["nested"] as object, { deep: 3 }))
    })
  )

  it.effect("stores metadata as plain data, with keys of any name", () =>
    Effect.gen(function* () {
      const store = yield* InMemoryMemoryStore.make()
      const metadata = JSON.parse('{"__proto__": {"admin": true}, "constructor": [1, null, "x", false]}')
      yield* store.store(entry("a", { metadata }))
      const kept = Option.getOrThrow(yield* store.get("o", id("a"))).metadata
      assert.strictEqual(JSON.stringify(kept), JSON.stringify(metadata))
      yield* store.store(entry("a", { metadata: { left: undefined, stays: 1 } }))
      assert.deepStrictEqual(Option.getOrThrow(yield* store.get("o", id("a"))).metadata, { stays: 1 })
      assert.isUndefined((kept as { readonly admin?: unknown }).admin)
      const cycle: Record<string, unknown> = {}
      cycle["self"] = cycle
      let deep: Record<string, unknown> = {}
      for (let level = 1; level < 32; level++) deep = { deep }
      yield* store.store(entry("a", { metadata: deep }))
      const shared = Array.from({ length: 1_000 }, () => 0)
      const wide = { lists: Array.from({ length: 1_000 }, () => shared) }
      const bad = [
        cycle,
        { deep },
        wide,
        { at: new Date(0) },
        { f: () => 1 },
        { n: Number.NaN },
        { big: 1n },
        { map: new Map() }
      ]
      for (const one of bad) {
        const error = yield* Effect.flip(store.store(entry("b", { metadata: one })))
        assert.instanceOf(error, MemoryStoreError)
        assert.include(error.message, "metadata")
      }
      assert.strictEqual(yield* store.count("o"), 1)
    })
  )

  it.effect("names the field but not the value in a rejection", () =>
    Effect.gen(function* () {
      const store = yield* InMemoryMemoryStore.make()
      const secret = "hunter2"
      const bad: ReadonlyArray<readonly [string, Partial<Record<keyof MemoryEntry.MemoryEntry, unknown>>]> = [
        ["importance", { importance: 2 }],
        ["timestamp", { timestamp: Number.NaN }],
        ["role", { role: secret }],
        ["id", { id: `${secret}\u0000` }],
        ["content", { content: secret.repeat(200_000) }],
        ["embedding", { embedding: [1, Number.NaN] }],
        ["embedding", { embedding: secret }],
        ["sessionId", { sessionId: "" }],
        ["metadata", { metadata: secret }],
        ["accessCount", { accessCount: -1 }]
      ]
      for (const [field, fields] of bad) {
        const error = yield* Effect.flip(store.store(entry("a", { content: secret, ...fields } as never)))
        assert.instanceOf(error, MemoryStoreError)
        assert.include(error.message, field)
        assert.notInclude(JSON.stringify(error), secret)
        assert.notInclude(String(error), secret)
        assert.isDefined((error as MemoryStoreError).hint)
      }
      assert.strictEqual(yield* store.count("o"), 0)
    })
  )

  it.effect("rejects an invalid owner, query, selection or number in every call", () =>
    Effect.gen(function* () {
      const store = yield* InMemoryMemoryStore.make()
      const selection = { roles: ["nobody"] } as never
      const calls: ReadonlyArray<Effect.Effect<unknown, unknown>> = [
        store.get("", id("a")),
        store.getMany("", [id("a")]),
        store.delete("", id("a")),
        store.apply("", {}),
        store.clear(""),
        store.count(""),
        store.recordAccess("", [id("a")]),
        store.getRecent({ ownerId: "x".repeat(257), n: 1 }),
        store.getRecent({ ownerId: "o", n: -1 }),
        store.getRecent({ ownerId: "o", n: 0.5 }),
        store.getRecent({ ownerId: "o", n: Number.NaN }),
        store.getRecent({ ownerId: "o", n: 1, selection }),
        store.count("o", selection),
        Stream.runDrain(store.stream("")),
        Stream.runDrain(store.stream("o", selection)),
        store.retrieve({ ownerId: "", query: "x" }),
        store.retrieve({ ownerId: "o", query: "x", topK: -1 }),
        store.retrieve({ ownerId: "o", query: "x", minRelevance: 2 }),
        store.retrieve({ ownerId: "o", query: "x", filters: { a: { like: "b" } } as never })
      ]
      for (const call of calls) assert.instanceOf(yield* Effect.flip(call), MemoryStoreError)
    })
  )

  it.effect("stores none of several owners' entries if one is out of bounds", () =>
    Effect.gen(function* () {
      const store = yield* InMemoryMemoryStore.make()
      yield* Effect.flip(store.storeMany([entry("a"), entry("b", { ownerId: "p", importance: 3 })]))
      assert.strictEqual(yield* store.count("o"), 0)
    })
  )

  it.effect("makes no call when nothing is asked for", () =>
    Effect.gen(function* () {
      const broken: MemoryBackend = {
        ...(yield* InMemoryBackend.make()),
        apply: () => Effect.die("asked"),
        get: () => Effect.die("asked"),
        recent: () => Effect.die("asked"),
        lexical: () => Effect.die("asked"),
        recordAccess: () => Effect.die("asked")
      }
      const store = DefaultMemoryStore.fromBackend(broken)
      yield* store.storeMany([])
      assert.strictEqual(yield* store.apply("o", {}), 0)
      assert.deepStrictEqual(yield* store.getMany("o", []), [])
      assert.deepStrictEqual(yield* store.getRecent({ ownerId: "o", n: 0 }), [])
      assert.deepStrictEqual(yield* store.retrieve({ ownerId: "o", query: "x", topK: 0 }), [])
      yield* store.recordAccess("o", [])
    })
  )

  it.effect("streams no entry twice, even if entries are added, removed and moved meanwhile", () =>
    Effect.gen(function* () {
      const store = yield* InMemoryMemoryStore.make()
      yield* store.storeMany(Array.from({ length: 700 }, (_, at) => entry(`e${at}`, { timestamp: at })))
      const seen = yield* store.stream("o").pipe(
        Stream.tap((one) =>
          one.id === "e100"
            ? store.apply("o", {
                delete: [id("e600")],
                store: [entry("e50", { timestamp: 1_000 }), entry("new", { timestamp: 2_000 })]
              })
            : Effect.void
        ),
        Stream.runCollect
      )
      const found = names(seen)
      assert.strictEqual(new Set(found).size, found.length)
      assert.include(found, "new")
      assert.notInclude(found, "e600")
      assert.strictEqual(found.length, 700)
      assert.strictEqual(Chunk.size(yield* Stream.runCollect(Stream.take(store.stream("o"), 3))), 3)
    })
  )

  it.effect("uses the store's defaults for fields that a query omits", () =>
    Effect.gen(function* () {
      const store = yield* InMemoryMemoryStore.make({
        topK: 1,
        weights: { recency: 0, importance: 1, relevance: 0 },
        ttl: 0
      })
      yield* store.storeMany([
        entry("important", { importance: 1, timestamp: 0 }),
        entry("recent", { importance: 0, timestamp: 60 * DAY })
      ])
      yield* TestClock.setTime(60 * DAY)
      const ids = (results: ReadonlyArray<MemoryEntry.MemorySearchResult>) => names(results.map((one) => one.entry))
      assert.deepStrictEqual(ids(yield* store.retrieve({ ownerId: "o", query: "" })), ["important"])
      const other = { ownerId: "o", query: "", topK: 2, recencyWeight: 1, importanceWeight: 0 }
      const found = yield* store.retrieve(other)
      assert.deepStrictEqual(ids(found), ["recent", "important"])
      // Two half-lives of 30 days.
      assert.closeTo(found[1]?.score ?? 0, 0.25, 1e-9)
      const quick = yield* InMemoryMemoryStore.make({ recencyHalfLife: "60 days", ttl: 0 })
      yield* quick.store(entry("a"))
      const [result] = yield* quick.retrieve({ ...other, relevanceWeight: 0 })
      assert.closeTo(result?.score ?? 0, 0.5, 1e-9)
    })
  )

  it.effect("uses the given analyzer", () =>
    Effect.gen(function* () {
      const plain = yield* InMemoryMemoryStore.make({ analyzer: TextAnalyzer.plain })
      yield* plain.store(entry("a", { content: "the running" }))
      const relevance = (query: string) =>
        Effect.map(plain.retrieve({ ownerId: "o", query }), (found) => found[0]?.relevance ?? 0)
      assert.isAbove(yield* relevance("the"), 0)
      assert.strictEqual(yield* relevance("run"), 0)
    })
  )

  it.effect("stores nothing with noop", () =>
    Effect.gen(function* () {
      const store = yield* MemoryStore.MemoryStore
      yield* store.storeMany([entry("a")])
      assert.strictEqual(yield* store.count("o"), 0)
      assert.deepStrictEqual(yield* store.retrieve({ ownerId: "o", query: "a" }), [])
      assert.isFalse(yield* store.delete("o", id("a")))
      assert.strictEqual(Chunk.size(yield* Stream.runCollect(Stream.zip(store.stream("o"), store.owners))), 0)
    }).pipe(Effect.provide(MemoryStore.layerNoop))
  )
})

/** Counts what it is asked, and fails while it is told to. */
const makeEmbedder = Effect.gen(function* () {
  const asked = yield* Ref.make<ReadonlyArray<ReadonlyArray<string>>>([])
  const broken = yield* Ref.make(false)
  const inner = HashingEmbedder.make({ dimensions: 64 })
  const embedMany = (texts: ReadonlyArray<string>) =>
    Effect.gen(function* () {
      yield* Ref.update(asked, (before) => [...before, texts])
      if (yield* Ref.get(broken)) return yield* new Embedder.EmbeddingError({ message: "broken" })
      return yield* inner.embedMany(texts)
    })
  const service: Embedder.Service = {
    ...inner,
    embedMany,
    embed: (text) => Effect.flatMap(embedMany([text]), () => inner.embed(text))
  }
  return { asked, broken, service }
})

const setting = Effect.gen(function* () {
  const embedder = yield* makeEmbedder
  const { dimensions, model } = embedder.service
  const index = yield* VectorIndex.makeMemory({ model, dimensions })
  const backend = yield* InMemoryBackend.make()
  const make = (parts: { readonly index?: VectorIndex.Service; readonly backend?: MemoryBackend } = {}) =>
    DefaultMemoryStore.fromBackend(parts.backend ?? backend, {
      vectors: { embedder: embedder.service, index: parts.index ?? index }
    })
  return { backend, embedder, index, make }
})

const broken = new StorageError({ message: "broken" })

describe("MemoryStore with vectors", () => {
  it.effect("embeds entries without a fitting vector in one call", () =>
    Effect.gen(function* () {
      const { embedder, index, make } = yield* setting
      const store = make()
      const own = Array.from({ length: 64 }, (_, at) => (at === 3 ? 2 : 0))
      yield* store.storeMany([
        entry("a"),
        entry("own", { embedding: own }),
        entry("other", { embedding: [1, 2, 3] }),
        entry("b")
      ])
      assert.deepStrictEqual(yield* Ref.get(embedder.asked), [["a", "other", "b"]])
      assert.strictEqual(yield* index.count("o"), 4)
      const unit = Float32Array.from(own, (one) => one / 2)
      const [nearest] = yield* index.search("o", unit, { limit: 1 })
      assert.strictEqual(nearest?.id, "own")
      assert.closeTo(nearest?.similarity ?? 0, 1, 1e-6)
      assert.deepStrictEqual(Option.getOrThrow(yield* store.get("o", id("own"))).embedding, own)
      assert.isUndefined(Option.getOrThrow(yield* store.get("o", id("a"))).embedding)
    })
  )

  it.effect("stores nothing when the embedder fails", () =>
    Effect.gen(function* () {
      const { embedder, index, make } = yield* setting
      yield* Ref.set(embedder.broken, true)
      const error = yield* Effect.flip(make().storeMany([entry("a"), entry("b")]))
      assert.instanceOf(error, Embedder.EmbeddingError)
      assert.strictEqual(yield* make().count("o"), 0)
      assert.strictEqual(yield* index.count("o"), 0)
    })
  )

  it.effect("stores and evicts nothing when the index fails", () =>
    Effect.gen(function* () {
      const { index, make } = yield* setting
      yield* make().store(entry("old"))
      const store = make({ index: { ...index, upsert: () => Effect.fail(broken) } })
      const error = yield* Effect.flip(store.apply("o", { delete: [id("old")], store: [entry("a")] }))
      assert.strictEqual(error, broken)
      assert.deepStrictEqual(names(yield* store.getRecent({ ownerId: "o", n: 9 })), ["old"])
    })
  )

  it.effect("removes new vectors and keeps existing ones when the backend fails", () =>
    Effect.gen(function* () {
      const { backend, index, make } = yield* setting
      yield* make().store(entry("old"))
      const store = make({ backend: { ...backend, apply: () => Effect.fail(broken) } })
      assert.strictEqual(yield* Effect.flip(store.storeMany([entry("old"), entry("new")])), broken)
      assert.deepStrictEqual([...(yield* index.known("o", [id("old"), id("new")]))], ["old"])
    })
  )

  it.effect("leaves no vector when a write is interrupted", () =>
    Effect.gen(function* () {
      const { backend, index, make } = yield* setting
      const reached = yield* Deferred.make<void>()
      const apply = () => Effect.zipRight(Deferred.succeed(reached, undefined), Effect.never)
      const fiber = yield* Effect.fork(make({ backend: { ...backend, apply } }).store(entry("a")))
      yield* Deferred.await(reached)
      assert.strictEqual(yield* index.count("o"), 1)
      yield* Fiber.interrupt(fiber)
      assert.strictEqual(yield* index.count("o"), 0)
    })
  )

  it.effect("bounds the time of compensating writes", () =>
    Effect.gen(function* () {
      const { backend, make } = yield* setting
      const store = make({ backend: { ...backend, apply: () => Effect.fail(broken), get: () => Effect.never } })
      const fiber = yield* Effect.fork(Effect.exit(store.store(entry("a"))))
      yield* TestClock.adjust("5 seconds")
      assert.deepStrictEqual(yield* Fiber.join(fiber), Exit.fail(broken))
    })
  )

  it.effect("removes vectors with their entries", () =>
    Effect.gen(function* () {
      const { index, make } = yield* setting
      const store = make()
      yield* store.storeMany(["a", "b", "c", "d"].map((name) => entry(name)))
      assert.isTrue(yield* store.delete("o", id("a")))
      assert.isFalse(yield* store.delete("o", id("a")))
      assert.strictEqual(yield* index.count("o"), 3)
      yield* store.apply("o", { delete: [id("b"), id("c")], store: [entry("c", { content: "again" })] })
      const left = yield* index.known("o", ["a", "b", "c", "d"].map(id))
      assert.deepStrictEqual([...left].sort(), ["c", "d"])
      yield* TestClock.adjust("31 days")
      assert.strictEqual(yield* index.count("o"), 0)
      yield* store.store(entry("e"))
      assert.strictEqual(yield* store.clear("o"), 1)
      assert.strictEqual(yield* index.count("o"), 0)
    })
  )

  it.effect("removes the vectors of evicted entries", () =>
    Effect.gen(function* () {
      const { embedder, index } = yield* setting
      const store = yield* InMemoryMemoryStore.make({
        capacityPerOwner: 2,
        onFull: "oldest",
        vectors: { embedder: embedder.service, index }
      })
      for (const [at, name] of ["a", "b", "c"].entries()) yield* store.store(entry(name, { timestamp: at }))
      assert.deepStrictEqual([...(yield* index.known("o", ["a", "b", "c"].map(id)))].sort(), ["b", "c"])
    })
  )

  it.effect("cuts a long text only for its vector, never within a character", () =>
    Effect.gen(function* () {
      const { backend, embedder, index } = yield* setting
      const store = DefaultMemoryStore.fromBackend(backend, {
        vectors: { embedder: embedder.service, index, maxCharacters: 4 }
      })
      yield* store.store(entry("a", { content: "abc😀def" }))
      assert.deepStrictEqual(yield* Ref.get(embedder.asked), [["abc"]])
      assert.strictEqual(Option.getOrThrow(yield* store.get("o", id("a"))).content, "abc😀def")
    })
  )

  it.effect("rejects an index of another model before any call", () =>
    Effect.gen(function* () {
      const { embedder, make } = yield* setting
      const other = yield* VectorIndex.makeMemory({ model: "other", dimensions: 64 })
      const error = yield* Effect.flip(make({ index: other }).store(entry("a")))
      assert.instanceOf(error, MemoryStoreError)
      assert.include(error.message, "other")
      assert.deepStrictEqual(yield* Ref.get(embedder.asked), [])
    })
  )

  it.effect("stores nothing when the embedder returns too few vectors", () =>
    Effect.gen(function* () {
      const { backend, embedder, index } = yield* setting
      const service: Embedder.Service = { ...embedder.service, embedMany: () => Effect.succeed([]) }
      const store = DefaultMemoryStore.fromBackend(backend, { vectors: { embedder: service, index } })
      assert.instanceOf(yield* Effect.flip(store.store(entry("a"))), MemoryStoreError)
      assert.strictEqual(yield* store.count("o"), 0)
    })
  )

  it.effect("is healthy when both the backend and the index are", () =>
    Effect.gen(function* () {
      const { backend, index, make } = yield* setting
      yield* make().health
      assert.strictEqual(yield* Effect.flip(make({ index: { ...index, health: broken } }).health), broken)
      assert.strictEqual(yield* Effect.flip(make({ backend: { ...backend, health: broken } }).health), broken)
    })
  )

  it.effect("searches words and vectors concurrently", () =>
    Effect.gen(function* () {
      const { backend, index, make } = yield* setting
      yield* make().store(entry("a", { content: "a kite" }))
      const slow = make({
        backend: { ...backend, lexical: (...asked) => Effect.delay(backend.lexical(...asked), "1 second") },
        index: { ...index, search: (...asked) => Effect.delay(index.search(...asked), "1 second") }
      })
      const found = yield* Effect.fork(slow.retrieve({ ownerId: "o", query: "kite", explain: true }))
      yield* TestClock.adjust("1 second")
      const [first] = yield* Fiber.join(found)
      assert.isAbove(first?.explanation?.lexical ?? 0, 0)
      assert.isAbove(first?.explanation?.vector ?? 0, 0)
      const failing = make({
        backend: { ...backend, lexical: () => Effect.never },
        index: { ...index, search: () => Effect.fail(broken) }
      })
      assert.strictEqual(yield* Effect.flip(failing.retrieve({ ownerId: "o", query: "kite" })), broken)
    })
  )

  it.effect("selects sessions by vectors as by words", () =>
    Effect.gen(function* () {
      const { index, make } = yield* setting
      yield* make().store(entry("a", { sessionId: "s" as SessionId }))
      const vector = HashingEmbedder.vectorOf("a", { dimensions: 64 })
      const search = (sessionId: string) =>
        index.search("o", vector, { limit: 1, selection: { sessionIds: [sessionId as SessionId] } })
      assert.strictEqual((yield* search("s")).length, 1)
      assert.strictEqual((yield* search("t")).length, 0)
    })
  )
})
