import * as SqlClient from "@effect/sql/SqlClient"
import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as HashingEmbedder from "../../../src/llm/embedding/HashingEmbedder.js"
import * as Migrations from "../../../src/persistence/schema/Migrations.js"
import * as PgVectorIndex from "../../../src/persistence/vector/PgVectorIndex.js"
import * as SqliteVectorIndex from "../../../src/persistence/vector/SqliteVectorIndex.js"
import * as SqlVectorIndex from "../../../src/persistence/vector/SqlVectorIndex.js"
import * as PostgresServer from "../../support/PostgresServer.js"
import * as TestServers from "../../support/TestServers.js"
import * as Vectors from "../../support/VectorIndexes.js"

const { found, ids, item, model } = Vectors

const embedder = HashingEmbedder.layer({ dimensions: 16 })
const postgres = await PostgresServer.database({ setup: Migrations.run })

TestServers.suite("postgres", postgres, ({ layer }) => {
  Vectors.suite("postgres", Layer.provide(SqlVectorIndex.layer(), Layer.merge(layer, embedder)))
  Vectors.suite(
    "postgres, of which nothing is kept in this process,",
    Layer.provide(SqlVectorIndex.layerMigrated({ cacheBytes: 0 }), Layer.merge(layer, embedder))
  )

  it.effect("equals the index in memory for any operations and selections", () =>
    Effect.gen(function* () {
      const index = yield* SqlVectorIndex.make(model)
      yield* Vectors.agrees(index, { runs: 15 })
    }).pipe(Effect.provide(layer))
  )

  it.effect("shows vectors of two concurrent writers to each other in the end", () =>
    Effect.gen(function* () {
      const [one, other] = [yield* SqlVectorIndex.make(model), yield* SqlVectorIndex.make(model)]
      yield* Effect.forEach(
        Array.from({ length: 64 }, (_, n) => n),
        (n) =>
          Effect.gen(function* () {
            const index = n % 2 === 0 ? one : other
            yield* index.upsert("ann", [item(`a${n}`, n), item("shared", n), item(`b${n % 5}`, n)])
            yield* found(index, "ann")
            if (n % 4 === 0) yield* index.delete("ann", ids(`a${n}`))
            yield* found(n % 2 === 0 ? other : one, "ann")
          }),
        { concurrency: "unbounded", discard: true }
      )
      const left = Array.from({ length: 64 }, (_, n) => n).flatMap((n) => (n % 4 === 0 ? [] : [`a${n}`]))
      const expected = [...left, "shared", "b0", "b1", "b2", "b3", "b4"].sort()
      for (const index of [one, other]) assert.deepStrictEqual(yield* found(index, "ann"), expected)
    }).pipe(Effect.provide(layer))
  )

  it.effect("finds the writes of a transaction inside it, and none after a rollback", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const index = yield* SqlVectorIndex.make(model)
      yield* index.upsert("ann", [item("a", 1), item("b", 2)])
      assert.deepStrictEqual(yield* found(index, "ann"), ["a", "b"])
      yield* Effect.flip(
        sql.withTransaction(
          Effect.gen(function* () {
            yield* index.delete("ann", ids("a"))
            yield* index.upsert("ann", [item("c", 3)])
            assert.deepStrictEqual(yield* found(index, "ann"), ["b", "c"])
            return yield* Effect.fail("undone")
          })
        )
      )
      yield* index.upsert("ann", [item("d", 4)])
      assert.deepStrictEqual(yield* found(index, "ann"), ["a", "b", "d"])
    }).pipe(Effect.provide(layer))
  )

  it.effect("queries the database by its indexes", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const recorder = yield* Vectors.recording
      yield* Effect.flatMap(SqlVectorIndex.make(model), Vectors.everything).pipe(
        Effect.provideService(SqlClient.SqlClient, recorder.client)
      )
      const asked = [...recorder.texts].filter((text) => /lex_vectors|lex_vector_owners/.test(text))
      assert.isAbove(asked.length, 9)
      yield* sql.withTransaction(
        Effect.gen(function* () {
          yield* sql`SET LOCAL enable_seqscan = off`
          for (const text of asked) {
            const plan = yield* sql.unsafe<Record<string, unknown>>(`EXPLAIN (GENERIC_PLAN) ${text}`)
            const lines = plan.map((row) => String(row["QUERY PLAN"])).join("\n")
            assert.notMatch(lines, /Seq Scan on lex_vector(s|_owners)/, text)
          }
        })
      )
    }).pipe(Effect.provide(layer))
  )

  it.effect("works without pgvector, while the pgvector index says what to do", () =>
    Effect.gen(function* () {
      const error = yield* Effect.flip(Layer.build(Layer.provide(PgVectorIndex.layerMigrated(), embedder)))
      assert.strictEqual(error._tag, "PersistenceConfigurationError")
      assert.include(error.hint, "CREATE EXTENSION vector")
      assert.include(error.hint, "SqlVectorIndex")
      const sqlite = yield* Effect.flip(SqliteVectorIndex.make(model))
      assert.strictEqual(sqlite._tag, "PersistenceConfigurationError")
    }).pipe(Effect.scoped, Effect.provide(layer))
  )
})
