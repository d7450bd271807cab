import type * as SqlClient from "@effect/sql/SqlClient"
import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as HashingEmbedder from "../../../src/llm/embedding/HashingEmbedder.js"
import * as Database from "../../../src/persistence/engine/Database.js"
import * as Migrations from "../../../src/persistence/schema/Migrations.js"
import * as SqliteClient from "../../../src/persistence/sqlite/SqliteClient.js"
import * as PgVectorIndex from "../../../src/persistence/vector/PgVectorIndex.js"
import * as SqlVectorIndex from "../../../src/persistence/vector/SqlVectorIndex.js"
import * as VectorErasure from "../../../src/persistence/vector/VectorErasure.js"
import * as PostgresServer from "../../support/PostgresServer.js"
import * as SqliteDrivers from "../../support/SqliteDrivers.js"
import * as TestServers from "../../support/TestServers.js"
import * as Vectors from "../../support/VectorIndexes.js"

const { found, item, model } = Vectors
const owner = "ann \u0000 \ud800"

const tests = (
  name: string,
  layer: Layer.Layer<SqlClient.SqlClient, unknown>,
  kinds: ReadonlyArray<typeof SqlVectorIndex.make>
): void => {
  it.effect(`${name}: erases everything of an owner from every index, and nothing of others`, () =>
    Effect.gen(function* () {
      const database = yield* Database.open
      const indexes = yield* Effect.forEach(kinds, (make) =>
        Effect.all([make(model), make({ ...model, name: "beside", model: "n" })])
      ).pipe(Effect.map((made) => made.flat()))
      for (const index of indexes) {
        yield* index.upsert(owner, [item("a", 1), item("b", 2)])
        yield* index.upsert("bob", [item("a", 1)])
        // Now it is kept in this process as well.
        assert.lengthOf(yield* found(index, owner), 2)
      }
      yield* database.run(database.dialect.sql("UPDATE lex_vector_indexes SET position = ?"), [
        JSON.stringify({ owner })
      ])
      const count = yield* database.transaction((tx) => VectorErasure.erase(database)(tx, owner))
      assert.strictEqual(count, 2 * indexes.length)
      for (const index of indexes) {
        assert.deepStrictEqual(yield* found(index, owner), [])
        assert.deepStrictEqual(yield* found(index, "bob"), ["a"])
      }
      const left = yield* database.rows("SELECT position FROM lex_vector_indexes")
      assert.isTrue(left.every(({ position }) => position === null))
      const owners = yield* database.rows("SELECT DISTINCT owner_id FROM lex_vector_owners")
      assert.deepStrictEqual(owners, [{ owner_id: "bob" }])
    }).pipe(Effect.provide(layer))
  )
}

const sqlite = Layer.provideMerge(
  Migrations.layer,
  Layer.unwrapScoped(Effect.map(SqliteDrivers.file, (file) => SqliteClient.layer({ file })))
)
tests("sqlite", sqlite, [SqlVectorIndex.make])

const postgres = await PostgresServer.database({ setup: Migrations.run })
TestServers.suite("postgres", postgres, ({ layer }) => tests("postgres", layer, [SqlVectorIndex.make]))

const pgvector = await PostgresServer.vectorDatabase({
  setup: Effect.scoped(Layer.build(Layer.provide(PgVectorIndex.layerMigrated(), HashingEmbedder.layer())))
})
TestServers.suite("pgvector", pgvector, ({ layer }) =>
  tests("pgvector", layer, [SqlVectorIndex.make, PgVectorIndex.make])
)
