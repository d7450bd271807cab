import * as SqlClient from "@effect/sql/SqlClient"
import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as HashingEmbedder from "../../../src/llm/embedding/HashingEmbedder.js"
import * as VectorIndex from "../../../src/memory/search/VectorIndex.js"
import * as Migrations from "../../../src/persistence/schema/Migrations.js"
import * as SqliteClient from "../../../src/persistence/sqlite/SqliteClient.js"
import * as PlainVectors from "../../../src/persistence/vector/PlainVectors.js"
import * as SqliteVectorIndex from "../../../src/persistence/vector/SqliteVectorIndex.js"
import * as SqliteDrivers from "../../support/SqliteDrivers.js"
import * as Vectors from "../../support/VectorIndexes.js"

const { found, ids, item, model, vectorOf } = Vectors

const embedder = HashingEmbedder.layer({ dimensions: 16 })

SqliteDrivers.suite("SqliteVectorIndex", (driver) => {
  const open = (file: string) => SqliteClient.layer({ file, driver, extensions: ["sqlite-vec"] })
  const client = Layer.unwrapScoped(Effect.map(SqliteDrivers.file, open))
  const migrated = Layer.provideMerge(Migrations.layer, client)
  const context = Layer.merge(client, embedder)
  const searches = ["scan", "sqlite-vec"] as const

  for (const search of searches) {
    Vectors.suite(search, Layer.provide(SqliteVectorIndex.layerMigrated({ search }), context))

    it.effect(`${search}: equals the index in memory for any operations and selections`, () =>
      Effect.gen(function* () {
        const index = yield* SqliteVectorIndex.make({ ...model, search })
        yield* Vectors.agrees(index, { runs: 40 })
      }).pipe(Effect.provide(migrated))
    )

    it.effect(`${search}: sees the writes, deletes and clears of another client`, () =>
      Effect.gen(function* () {
        const file = yield* SqliteDrivers.file
        const make = SqliteVectorIndex.make({ ...model, search })
        yield* Effect.provide(Migrations.run, open(file))
        const one = yield* Effect.provide(make, yield* Layer.build(open(file)))
        const other = yield* Effect.provide(make, yield* Layer.build(open(file)))
        yield* one.upsert("ann", [item("a", 1), item("b", 2)])
        assert.deepStrictEqual(yield* found(one, "ann"), ["a", "b"])
        assert.deepStrictEqual(yield* found(other, "ann"), ["a", "b"])
        yield* other.upsert("ann", [item("b", 1, { role: "tool" }), item("c", 3)])
        assert.deepStrictEqual(yield* found(one, "ann", { roles: ["tool"] }), ["b"])
        assert.deepStrictEqual(yield* found(one, "ann"), ["a", "b", "c"])
        yield* other.delete("ann", ids("a"))
        assert.deepStrictEqual(yield* found(one, "ann"), ["b", "c"])
        yield* one.delete("ann", ids("b"))
        yield* one.upsert("ann", [item("d", 4)])
        assert.deepStrictEqual(yield* found(one, "ann"), ["c", "d"])
        assert.deepStrictEqual(yield* found(other, "ann"), ["c", "d"])
        yield* other.clear("ann")
        assert.deepStrictEqual(yield* found(one, "ann"), [])
        // As many writes as before the clearing, so that only the incarnation tells it.
        for (const name of ["p", "q", "r", "s"]) yield* other.upsert("ann", [item(name, 5)])
        assert.deepStrictEqual(yield* found(one, "ann"), ["p", "q", "r", "s"])
      }).pipe(Effect.scoped)
    )

    it.effect(`${search}: finds the writes of a transaction inside it, and none after a rollback`, () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const index = yield* SqliteVectorIndex.make({ ...model, search })
        yield* index.upsert("ann", [item("a", 1), item("b", 2)])
        assert.deepStrictEqual(yield* found(index, "ann"), ["a", "b"])
        const undone = yield* Effect.flip(
          sql.withTransaction(
            Effect.gen(function* () {
              yield* index.delete("ann", ids("a"))
              yield* index.upsert("ann", [item("c", 3)])
              assert.deepStrictEqual(yield* found(index, "ann"), ["b", "c"])
              return yield* Effect.fail("undone")
            })
          )
        )
        assert.strictEqual(undone, "undone")
        assert.deepStrictEqual(yield* found(index, "ann"), ["a", "b"])
        yield* index.upsert("ann", [item("d", 4)])
        yield* index.delete("ann", ids("b"))
        assert.deepStrictEqual(yield* found(index, "ann"), ["a", "d"])
      }).pipe(Effect.provide(migrated))
    )

    it.effect(`${search}: finds everything of owners with several stretches and pages`, () =>
      Effect.gen(function* () {
        const index = yield* SqliteVectorIndex.make({ model: "m", dimensions: 512, search })
        const next = Vectors.random(1)
        const items = Array.from({ length: 9_000 }, (_, n) =>
          item(`e${n}`, 0, { vector: Float32Array.from({ length: 512 }, next), metadata: { even: n % 2 === 0 } })
        )
        const memory = yield* VectorIndex.makeMemory({ model: "m", dimensions: 512 })
        for (const one of [index, memory]) yield* one.upsert("ann", items)
        const query = Float32Array.from({ length: 512 }, next)
        for (const selection of [
          undefined,
          { filters: { even: true } },
          { filters: { even: { in: [false, null] } } }
        ]) {
          const hits = yield* index.search("ann", query, { limit: 20, selection })
          const expected = yield* memory.search("ann", query, { limit: 20, selection })
          assert.deepStrictEqual(
            hits.map(({ id }) => id),
            expected.map(({ id }) => id)
          )
        }
      }).pipe(Effect.provide(migrated))
    )

    it.effect(`${search}: queries the database by its indexes`, () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        const recorder = yield* Vectors.recording
        yield* Effect.flatMap(SqliteVectorIndex.make({ ...model, search }), Vectors.everything).pipe(
          Effect.provideService(SqlClient.SqlClient, recorder.client)
        )
        const asked = [...recorder.texts].filter(
          (text) => text.includes("lex_vectors") || text.includes("lex_vector_owners")
        )
        assert.isAbove(asked.length, 9)
        for (const text of asked) {
          const params = Array.from(text.matchAll(/\?/g), () => null)
          const plan = yield* sql.unsafe<Record<string, unknown>>(`EXPLAIN QUERY PLAN ${text}`, params)
          for (const { detail } of plan) {
            assert.notMatch(String(detail), /^SCAN (v|o|n|s|lex_\w+)( |$)/, text)
            if (!text.includes("AS distance")) assert.notMatch(String(detail), /TEMP B-TREE/, text)
          }
        }
      }).pipe(Effect.provide(migrated))
    )
  }

  it.effect("says what to do without sqlite-vec, or with a file that is not an extension", () =>
    Effect.gen(function* () {
      const file = yield* SqliteDrivers.file
      const error = yield* SqliteVectorIndex.layerMigrated({ search: "sqlite-vec" }).pipe(
        Layer.provide(Layer.merge(SqliteClient.layer({ file, driver }), embedder)),
        Layer.build,
        Effect.flip
      )
      assert.strictEqual(error._tag, "PersistenceConfigurationError")
      assert.include(error.hint, 'extensions: ["sqlite-vec"]')
      const broken = yield* Effect.flip(SqliteClient.make({ file, driver, extensions: [`${file}.so`] }))
      assert.strictEqual(broken._tag, "PersistenceConfigurationError")
      assert.notInclude(broken.message, file)
    }).pipe(Effect.scoped)
  )

  it.effect("caches at most the configured number of vectors, most recently used", () =>
    Effect.gen(function* () {
      const one = 30 * (200 + 4 * model.dimensions + 8)
      const { rows, scan } = yield* PlainVectors.open({ ...model, cacheBytes: 3 * one })
      const owners = ["ann", "bob", "cid", "dan", "eve"]
      const many = Array.from({ length: 30 }, (_, n) => item(`e${n}`, n))
      for (const owner of owners) yield* rows.upsert(owner, many)
      assert.strictEqual(scan.bytes(), 0)
      let last = 0
      for (const owner of owners) {
        assert.lengthOf(yield* scan.search(owner, vectorOf(1), { limit: 100 }), 30)
        assert.isAbove(scan.bytes(), 0)
        assert.isAtMost(scan.bytes(), 3 * one)
        last = Math.max(last, scan.bytes())
      }
      assert.isAbove(last, 1.5 * one)
      // An owner that is too large by itself is found, and not kept.
      yield* rows.upsert(
        "large",
        Array.from({ length: 200 }, (_, n) => item(`e${n}`, n))
      )
      const kept = scan.bytes()
      assert.lengthOf(yield* scan.search("large", vectorOf(1), { limit: 1_000 }), 200)
      assert.strictEqual(scan.bytes(), kept)
      // One that grows beyond it goes, and so does one that is cleared.
      for (const owner of owners) yield* rows.clear(owner)
      assert.strictEqual(scan.bytes(), 0)
    }).pipe(Effect.provide(migrated))
  )

  it.effect("has everything in the end that fibers write and search at once", () =>
    Effect.gen(function* () {
      const index = yield* SqliteVectorIndex.make(model)
      yield* Effect.forEach(
        Array.from({ length: 64 }, (_, n) => n),
        (n) =>
          Effect.gen(function* () {
            yield* index.upsert("ann", [item(`a${n}`, n), item("shared", n)])
            yield* found(index, "ann")
            if (n % 4 === 0) yield* index.delete("ann", ids(`a${n}`))
            yield* found(index, "ann")
          }),
        { concurrency: "unbounded", discard: true }
      )
      const expected = Array.from({ length: 64 }, (_, n) => n).flatMap((n) => (n % 4 === 0 ? [] : [`a${n}`]))
      assert.deepStrictEqual(yield* found(index, "ann"), [...expected, "shared"].sort())
      assert.strictEqual(yield* index.count("ann"), 49)
    }).pipe(Effect.provide(migrated))
  )

  it.effect("stores the vectors of one model, and reports an embedder of another", () =>
    Effect.gen(function* () {
      const first = yield* SqliteVectorIndex.make(model)
      const sql = yield* SqlClient.SqlClient
      // Without a vector it takes any model.
      const index = yield* SqliteVectorIndex.make({ model: "n", dimensions: 4 })
      const gone = yield* Effect.flip(first.upsert("ann", [item("a", 1)]))
      assert.strictEqual(gone._tag, "MemoryStoreError")
      assert.include(gone.message, "no longer holds vectors of the model m")
      assert.strictEqual((yield* Effect.flip(first.search("ann", vectorOf(1), { limit: 1 })))._tag, "MemoryStoreError")
      assert.strictEqual((yield* Effect.flip(first.health))._tag, "MemoryStoreError")
      // What is deleted is deleted all the same.
      yield* index.upsert("ann", [item("b", 1, { vector: vectorOf(1, 4) })])
      yield* first.delete("ann", ids("b"))
      assert.strictEqual(yield* index.count("ann"), 0)
      yield* index.upsert("ann", [item("b", 1, { vector: vectorOf(1, 4) })])
      yield* first.clear("ann")
      assert.strictEqual(yield* index.count("ann"), 0)
      yield* index.upsert("ann", [item("a", 1, { vector: vectorOf(1, 4) })])
      for (const other of [model, { model: "n", dimensions: 8 }, { model: "o", dimensions: 4 }]) {
        const error = yield* Effect.flip(SqliteVectorIndex.make(other))
        assert.strictEqual(error._tag, "MemorySystemError")
        assert.include(error.message, `vectors of ${other.model} (length ${other.dimensions})`)
        assert.include(error.message, "vectors of n (length 4)")
      }
      const beside = yield* SqliteVectorIndex.make({ ...model, name: "beside" })
      assert.deepStrictEqual(yield* found(beside, "ann"), [])
      const rows = yield* sql`SELECT name, model, dimensions, active FROM lex_vector_indexes ORDER BY name`
      assert.deepStrictEqual(rows, [
        { name: "beside", model: "m", dimensions: 8, active: 1 },
        { name: "memory", model: "n", dimensions: 4, active: 1 }
      ])
    }).pipe(Effect.provide(migrated))
  )

  it.effect("deletes expired vectors of any owner gradually", () =>
    Effect.gen(function* () {
      const index = yield* SqliteVectorIndex.make(model)
      const sql = yield* SqlClient.SqlClient
      yield* index.upsert(
        "gone",
        Array.from({ length: 150 }, (_, n) => item(`e${n}`, n, { expiresAt: n === 0 ? 1_000 : -1 }))
      )
      yield* index.upsert("ann", [item("a", 1)])
      const rows = yield* sql`SELECT owner_id, COUNT(*) AS n FROM lex_vectors GROUP BY owner_id ORDER BY owner_id`
      assert.deepStrictEqual(rows, [
        { owner_id: "ann", n: 1 },
        { owner_id: "gone", n: 1 }
      ])
    }).pipe(Effect.provide(migrated))
  )

  it.effect("rejects a database without tables", () =>
    Effect.gen(function* () {
      const error = yield* Effect.flip(Layer.build(Layer.provide(SqliteVectorIndex.layer(), context)))
      assert.strictEqual(error._tag, "MigrationError")
    }).pipe(Effect.scoped)
  )
})
