import * as Fs from "node:fs"
import * as Path from "node:path"
import * as SqlClient from "@effect/sql/SqlClient"
import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as SqliteClient from "../../src/persistence/SqliteClient.js"
import * as SqliteDrivers from "../support/SqliteDrivers.js"

SqliteDrivers.suite("SqliteClient", (driver) => {
  const inFile = (options?: Partial<SqliteClient.Options>) =>
    Effect.flatMap(SqliteDrivers.file, (file) => SqliteClient.make({ file, driver, ...options }))

  it.scoped("keeps rows", () =>
    Effect.gen(function* () {
      const file = yield* SqliteDrivers.file
      yield* Effect.scoped(
        Effect.gen(function* () {
          const sql = yield* SqliteClient.make({ file, driver })
          yield* sql`CREATE TABLE t (id INTEGER PRIMARY KEY, v TEXT)`
          yield* sql`INSERT INTO t (v) VALUES (${"a"})`
          assert.deepStrictEqual(yield* sql.withTransaction(sql`INSERT INTO t (v) VALUES (${"b"}) RETURNING *`), [
            { id: 2, v: "b" }
          ])
          yield* Effect.flip(
            sql.withTransaction(Effect.zipRight(sql`INSERT INTO t (v) VALUES (${"c"})`, Effect.fail("no")))
          )
          yield* sql.health
          yield* sql.checkpoint
          yield* sql.backup(`${file}.copy`)
          assert.strictEqual(
            yield* sql.connection.execute("SELECT * FROM t", [], undefined).pipe(Effect.map((x) => x.length)),
            2
          )
        })
      )
      const again = yield* SqliteClient.make({ file, driver })
      assert.deepStrictEqual(yield* again`SELECT * FROM t`, [
        { id: 1, v: "a" },
        { id: 2, v: "b" }
      ])
      assert.deepStrictEqual(
        Fs.readdirSync(Path.dirname(file))
          .filter((name) => !/-wal|-shm/.test(name))
          .sort(),
        ["test.db", "test.db.copy"]
      )
      void inFile
      void SqlClient
    })
  )
})
