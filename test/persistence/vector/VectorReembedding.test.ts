import * as SqlClient from "@effect/sql/SqlClient"
import { assert, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as TestClock from "effect/TestClock"
import { EntryId } from "../../../src/domain/Ids.js"
import * as Embedder from "../../../src/llm/embedding/Embedder.js"
import * as HashingEmbedder from "../../../src/llm/embedding/HashingEmbedder.js"
import type { MemoryEntry } from "../../../src/memory/entry/MemoryEntry.js"
import * as DefaultMemoryStore from "../../../src/memory/search/DefaultMemoryStore.js"
import * as InMemoryBackend from "../../../src/memory/search/InMemoryBackend.js"
import * as VectorIndex from "../../../src/memory/search/VectorIndex.js"
import * as Migrations from "../../../src/persistence/schema/Migrations.js"
import * as SqliteClient from "../../../src/persistence/sqlite/SqliteClient.js"
import * as PgVectorIndex from "../../../src/persistence/vector/PgVectorIndex.js"
import * as SqlVectorIndex from "../../../src/persistence/vector/SqlVectorIndex.js"
import * as VectorReembedding from "../../../src/persistence/vector/VectorReembedding.js"
import * as CountingEmbedder from "../../support/CountingEmbedder.js"
import * as PostgresServer from "../../support/PostgresServer.js"
import * as SqliteDrivers from "../../support/SqliteDrivers.js"
import * as TestServers from "../../support/TestServers.js"
import * as Vectors from "../../support/VectorIndexes.js"

const old = HashingEmbedder.make({ dimensions: 8 })

const entry = (ownerId: string, n: number): MemoryEntry => ({
  id: EntryId.make(`e${n}`),
  ownerId,
  role: "user",
  content: `${ownerId} said ${n}`,
  timestamp: n,
  importance: 0.5,
  accessCount: 0,
  metadata: {}
})

/** What an index is built with, to be built again with another embedder. */
type Make = typeof SqlVectorIndex.make

const counts = { ann: 30, bob: 3, cid: 7 }
const owners = Object.keys(counts)

/** Forty entries with vectors of the old model, and the index opened for another. */
const opened = (make: Make, counting: CountingEmbedder.CountingEmbedder) =>
  Effect.gen(function* () {
    const backend = yield* InMemoryBackend.make()
    const before = yield* make({ model: old.model, dimensions: old.dimensions })
    const store = DefaultMemoryStore.fromBackend(backend, { vectors: { embedder: old, index: before } })
    for (const [owner, count] of Object.entries(counts)) {
      yield* store.storeMany(Array.from({ length: count }, (_, n) => entry(owner, n)))
    }
    const { dimensions, model } = counting.embedder
    const open = make({ model, dimensions, onModelChange: "reembed" })
    const index = yield* open
    const run = (options?: Partial<VectorReembedding.Options>, of: VectorIndex.Service = index) =>
      VectorReembedding.run({ source: backend, batchSize: 4, ...options }).pipe(
        Effect.provideService(Embedder.Embedder, counting.embedder),
        Effect.provideService(VectorIndex.VectorIndex, of)
      )
    return { backend, before, counting, index, open, run, store }
  })

const countsOf = (index: VectorIndex.Service) => Effect.forEach(owners, index.count)

const texts = ({ calls }: CountingEmbedder.CountingEmbedder) => calls.flat()

const tests = (name: string, layer: Layer.Layer<SqlClient.SqlClient, unknown>, make: Make): void => {
  it.effect(`${name}: gives every entry a vector of the new model, and deletes the old ones at the end`, () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const { before, counting, index, open, run } = yield* opened(make, CountingEmbedder.make())
      assert.deepStrictEqual(yield* countsOf(index), [0, 0, 0])
      const seen: Array<VectorReembedding.Progress> = []
      const progress = yield* run({
        onProgress: (progress) =>
          Effect.gen(function* () {
            seen.push(progress)
            // Both are searched meanwhile, each by its own vectors.
            assert.deepStrictEqual(yield* Effect.orDie(countsOf(before)), [30, 3, 7])
            const hits = yield* Effect.orDie(before.search("ann", HashingEmbedder.vectorOf("ann", old), { limit: 50 }))
            assert.lengthOf(hits, 30)
          })
      })
      assert.deepStrictEqual(progress, { entries: 40, embedded: 40 })
      assert.deepStrictEqual(seen[0], { entries: 4, embedded: 4 })
      assert.deepStrictEqual(seen[seen.length - 1], progress)
      assert.deepStrictEqual(yield* countsOf(index), [30, 3, 7])
      assert.deepStrictEqual([...new Set(texts(counting))].length, 40)
      const [hit] = yield* index.search("ann", CountingEmbedder.vectorOf("ann said 7"), { limit: 1 })
      assert.strictEqual(hit?.id, "e7")
      assert.strictEqual(
        (yield* Effect.flip(before.count("ann").pipe(Effect.zipRight(before.health))))._tag,
        "MemoryStoreError"
      )
      const rows = yield* sql`SELECT model, active, position, claim FROM lex_vector_indexes`
      assert.deepStrictEqual(rows, [{ model: "counting", active: 1, position: null, claim: null }])
      // Nothing is left to be done, and the old model is the other one now.
      assert.deepStrictEqual(yield* run(), { entries: 0, embedded: 0 })
      yield* open
      const refused = yield* Effect.flip(make({ model: old.model, dimensions: old.dimensions }))
      assert.strictEqual(refused._tag, "MemorySystemError")
    }).pipe(Effect.provide(layer))
  )

  it.effect(`${name}: resumes after a failure of the embedder or the process`, () =>
    Effect.gen(function* () {
      const counting = CountingEmbedder.make((_, call) =>
        call === 3 ? Effect.fail(CountingEmbedder.error(true)) : call === 6 ? Effect.never : Effect.void
      )
      const { before, index, open, run } = yield* opened(make, counting)
      const failed = yield* Effect.flip(run())
      assert.strictEqual(failed._tag, "EmbeddingError")
      assert.strictEqual(yield* index.count("ann"), 8)
      assert.deepStrictEqual(yield* countsOf(before), [30, 3, 7])
      const interrupted = yield* Effect.fork(run())
      while (counting.calls.length < 6) yield* Effect.yieldNow()
      yield* Fiber.interrupt(interrupted)
      assert.strictEqual(yield* index.count("ann"), 16)
      // As after a restart: what was done is not done again.
      const again = yield* open
      const progress = yield* run({}, again)
      assert.deepStrictEqual(progress, { entries: 24, embedded: 24 })
      assert.deepStrictEqual(yield* countsOf(again), [30, 3, 7])
      assert.lengthOf(texts(counting), 40 + 2 * 4)
    }).pipe(Effect.provide(layer))
  )

  it.effect(`${name}: ends with the current state of entries stored, replaced and deleted meanwhile`, () =>
    Effect.gen(function* () {
      const counting = CountingEmbedder.make()
      const { backend, index, run, store } = yield* opened(make, counting)
      const { embedder } = counting
      const after = DefaultMemoryStore.fromBackend(backend, { vectors: { embedder, index } })
      let batch = 0
      yield* run({
        source: {
          ...backend,
          // Deleted after it was read, before it has a vector.
          page: (owner, options) =>
            Effect.tap(backend.page(owner, options), () =>
              ++batch === 1 ? Effect.orDie(store.delete("ann", EntryId.make("e1"))) : Effect.void
            )
        },
        onProgress: ({ entries }) =>
          entries !== 8
            ? Effect.void
            : Effect.orDie(
                Effect.all([
                  // By the old model, behind and before where this is.
                  store.store(entry("ann", 0.5)),
                  store.store({ ...entry("bob", 2), content: "bob said something else" }),
                  store.delete("ann", EntryId.make("e2")),
                  // By the new one.
                  after.store({ ...entry("ann", 3), content: "ann changed her mind" }),
                  after.store({ ...entry("cid", 1), content: "cid changed his mind" }),
                  after.delete("ann", EntryId.make("e29"))
                ])
              )
      })
      const entries = (yield* Effect.forEach(owners, (owner) =>
        backend.page(owner, { limit: 100, selection: {} })
      )).flat()
      assert.lengthOf(entries, 38)
      assert.deepStrictEqual(yield* countsOf(index), [28, 3, 7])
      for (const { content, id, ownerId } of entries) {
        const [hit] = yield* index.search(ownerId, CountingEmbedder.vectorOf(content), { limit: 1 })
        assert.strictEqual(hit?.id, id, content)
        assert.closeTo(hit?.similarity ?? 0, 1, 1e-5)
      }
      assert.strictEqual(texts(counting).filter((text) => text === "ann changed her mind").length, 1)
    }).pipe(Effect.provide(layer))
  )

  it.live(`${name}: runs in one of several concurrent callers, while the others wait`, () =>
    Effect.gen(function* () {
      const counting = CountingEmbedder.make(() => Effect.yieldNow())
      const { index, run } = yield* opened(make, counting)
      const all = yield* Effect.all([run(), run(), run()], { concurrency: 3 })
      assert.deepStrictEqual(
        all.map(({ embedded }) => embedded).sort((a, b) => a - b),
        [0, 0, 40]
      )
      assert.lengthOf(texts(counting), 40)
      assert.deepStrictEqual(yield* countsOf(index), [30, 3, 7])
    }).pipe(Effect.provide(layer))
  )
}

const sqlite = Layer.provideMerge(
  Migrations.layer,
  Layer.unwrapScoped(Effect.map(SqliteDrivers.file, (file) => SqliteClient.layer({ file })))
)
tests("sqlite", sqlite, SqlVectorIndex.make)

const postgres = await PostgresServer.database({ setup: Migrations.run })
TestServers.suite("postgres", postgres, ({ layer }) => tests("postgres", layer, SqlVectorIndex.make))

const pgvector = await PostgresServer.vectorDatabase({
  setup: Effect.scoped(Layer.build(Layer.provide(PgVectorIndex.layerMigrated(), Embedder.layer(old))))
})
TestServers.suite("pgvector", pgvector, ({ layer }) => tests("pgvector", layer, PgVectorIndex.make))

it.effect("finds its work by indexes", () =>
  Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const recorder = yield* Vectors.recording
    yield* Effect.gen(function* () {
      const { run } = yield* opened(SqlVectorIndex.make, CountingEmbedder.make())
      yield* run()
    }).pipe(Effect.provideService(SqlClient.SqlClient, recorder.client))
    const asked = [...recorder.texts].filter((text) => text.includes("lex_vectors"))
    assert.isTrue(asked.some((text) => text.includes("NOT EXISTS")))
    for (const text of asked) {
      const params = Array.from(text.matchAll(/\?/g), () => null)
      const plan = yield* sql.unsafe<Record<string, unknown>>(`EXPLAIN QUERY PLAN ${text}`, params)
      for (const { detail } of plan) assert.notMatch(String(detail), /^SCAN (o|n|lex_vectors)|TEMP B-TREE/, text)
    }
  }).pipe(Effect.provide(sqlite))
)

it.effect("fills the index in the background, and retries failures", () =>
  Effect.gen(function* () {
    const retried = yield* Deferred.make<void>()
    const counting = CountingEmbedder.make((_, call) =>
      call === 1 ? Effect.zipRight(Deferred.succeed(retried, undefined), CountingEmbedder.error(true)) : Effect.void
    )
    const { backend, index, run } = yield* opened(SqlVectorIndex.make, counting)
    const context = Layer.merge(Embedder.layer(counting.embedder), Layer.succeed(VectorIndex.VectorIndex, index))
    yield* Layer.build(Layer.provide(VectorReembedding.layer({ source: backend, batchSize: 40 }), context))
    yield* Deferred.await(retried)
    assert.strictEqual(yield* index.count("ann"), 0)
    while ((yield* index.count("cid")) === 0) yield* TestClock.adjust("1 second")
    // It waits while the one in the background has the last of it.
    yield* Effect.raceFirst(run(), Effect.forever(TestClock.adjust("1 second")))
    assert.deepStrictEqual(yield* countsOf(index), [30, 3, 7])
  }).pipe(Effect.scoped, Effect.provide(sqlite))
)

it.effect("rejects an index outside of a database, or of another model", () =>
  Effect.gen(function* () {
    const counting = CountingEmbedder.make()
    const { backend, before } = yield* opened(SqlVectorIndex.make, counting)
    const memory = yield* VectorIndex.makeMemory({ model: "counting", dimensions: 16 })
    for (const index of [memory, before]) {
      const error = yield* VectorReembedding.run({ source: backend }).pipe(
        Effect.provideService(Embedder.Embedder, counting.embedder),
        Effect.provideService(VectorIndex.VectorIndex, index),
        Effect.flip
      )
      assert.strictEqual(error._tag, "MemorySystemError")
    }
  }).pipe(Effect.provide(sqlite))
)
