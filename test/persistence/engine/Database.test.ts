import * as SqlClient from "@effect/sql/SqlClient"
import { assert, describe, it } from "@effect/vitest"
import * as Cause from "effect/Cause"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import * as Database from "../../../src/persistence/engine/Database.js"
import * as SqlFailure from "../../../src/persistence/engine/SqlFailure.js"
import * as PostgresClient from "../../../src/persistence/postgres/PostgresClient.js"
import * as SqliteClient from "../../../src/persistence/sqlite/SqliteClient.js"
import * as PostgresServer from "../../support/PostgresServer.js"
import * as SqliteDrivers from "../../support/SqliteDrivers.js"
import * as TestServers from "../../support/TestServers.js"

const tables = Effect.flatMap(SqlClient.SqlClient, (client) =>
  Effect.all([
    client.unsafe("CREATE TABLE notes (id TEXT PRIMARY KEY, n DOUBLE PRECISION)"),
    client.unsafe("CREATE TABLE pages (note TEXT REFERENCES notes (id) DEFERRABLE INITIALLY DEFERRED)")
  ])
)

class Refused {
  readonly _tag = "Refused"
}

const suite = (
  name: string,
  layer: Layer.Layer<SqlClient.SqlClient, unknown>,
  other: Layer.Layer<SqlClient.SqlClient, unknown>
) =>
  describe(name, () => {
    const test = (
      fact: string,
      body: (database: Database.Database) => Effect.Effect<void, unknown, SqlClient.SqlClient>
    ) => it.effect(fact, () => Effect.provide(Effect.flatMap(Database.open, body), layer))

    const insert = (database: Database.Database) => database.dialect.sql("INSERT INTO notes (id, n) VALUES (?, ?)")
    const idsOf = (database: Database.Database) =>
      Effect.map(database.rows("SELECT id FROM notes ORDER BY id"), (rows) => rows.map(({ id }) => id))

    test("is one per client", (database) =>
      Effect.gen(function* () {
        assert.strictEqual(yield* Database.open, database)
      }))

    test("reads, writes and counts", (database) =>
      Effect.gen(function* () {
        assert.strictEqual(yield* database.run(insert(database), ["a", 1.5]), 1)
        assert.deepStrictEqual(yield* database.first(database.dialect.sql("SELECT n FROM notes WHERE id = ?"), ["a"]), {
          n: 1.5
        })
        assert.isUndefined(yield* database.first(database.dialect.sql("SELECT n FROM notes WHERE id = ?"), ["b"]))
        assert.strictEqual(yield* database.run("UPDATE notes SET n = 2"), 1)
        assert.strictEqual(yield* database.run("DELETE FROM notes"), 1)
        assert.strictEqual(yield* database.run("DELETE FROM notes"), 0)
      }))

    test("inserts many rows and skips existing ones", (database) =>
      Effect.gen(function* () {
        const into = Database.insertInto("notes", ["id", "n"], "ON CONFLICT (id) DO NOTHING")
        const rows = Array.from({ length: 250 }, (_, n) => [`note ${n}`, n] as const)
        assert.strictEqual(yield* database.insert(into, rows), 250)
        assert.strictEqual(yield* database.insert(into, [...rows, ["one more", null]]), 1)
        assert.strictEqual((yield* idsOf(database)).length, 251)
        assert.strictEqual(yield* database.insert(into, []), 0)
      }))

    test("passes a list as one parameter", (database) =>
      Effect.gen(function* () {
        const { dialect } = database
        const hostile = ["a", 'b"b', "c,c", "{d}", "NULL", "", "\\", "'"]
        yield* database.insert(
          Database.insertInto("notes", ["id", "n"]),
          hostile.map((id) => [id, 0])
        )
        const found = yield* database.rows(dialect.sql(`SELECT id FROM notes WHERE ${dialect.oneOf("id")}`), [
          dialect.list(hostile)
        ])
        assert.sameMembers(
          found.map(({ id }) => id),
          hostile
        )
        assert.deepStrictEqual(
          yield* database.rows(dialect.sql(`SELECT id FROM notes WHERE ${dialect.oneOf("id")}`), [dialect.list([])]),
          []
        )
      }))

    test("stores a transaction as a whole or not at all", (database) =>
      Effect.gen(function* () {
        const kept = yield* database.transaction((tx) => Effect.as(tx.run(insert(database), ["kept", 1]), "done"))
        assert.strictEqual(kept, "done")
        const failed = yield* Effect.either(
          database.transaction((tx) =>
            Effect.zipRight(tx.run(insert(database), ["gone", 1]), Effect.fail(new Refused()))
          )
        )
        assert.instanceOf(failed._tag === "Left" ? failed.left : undefined, Refused)
        const died = yield* Effect.exit(
          database.transaction((tx) => Effect.zipRight(tx.run(insert(database), ["gone", 1]), Effect.die("a bug")))
        )
        assert.isTrue(Exit.isFailure(died) && Cause.isDie(died.cause))
        assert.deepStrictEqual(yield* idsOf(database), ["kept"])
      }))

    test("rolls back an interrupted transaction and reuses its connection", (database) =>
      Effect.gen(function* () {
        for (let n = 0; n < 12; n++) {
          const begun = yield* Deferred.make<void>()
          const fiber = yield* Effect.fork(
            database.transaction((tx) =>
              tx
                .run(insert(database), ["gone", 1])
                .pipe(Effect.zipRight(Deferred.succeed(begun, undefined)), Effect.zipRight(Effect.never))
            )
          )
          yield* Deferred.await(begun)
          yield* Fiber.interrupt(fiber)
        }
        assert.deepStrictEqual(yield* idsOf(database), [])
        yield* database.transaction((tx) => tx.run(insert(database), ["kept", 1]))
        assert.deepStrictEqual(yield* idsOf(database), ["kept"])
      }))

    test("fails without a defect when a commit fails", (database) =>
      Effect.gen(function* () {
        const error = yield* Effect.flip(
          database.transaction((tx) => tx.run("INSERT INTO pages (note) VALUES ('of no note')"))
        )
        assert.strictEqual(SqlFailure.describe(error).reason, "data")
        assert.deepStrictEqual(yield* database.rows("SELECT * FROM pages"), [])
        yield* database.transaction((tx) => tx.run(insert(database), ["kept", 1]))
      }))

    test("never commits a part after an ignored failure inside", (database) =>
      Effect.gen(function* () {
        yield* database.run(insert(database), ["a", 1])
        const exit = yield* Effect.exit(
          database.transaction((tx) =>
            Effect.gen(function* () {
              yield* tx.run(insert(database), ["b", 1])
              yield* Effect.ignore(tx.run(insert(database), ["a", 1]))
            })
          )
        )
        const ids = yield* idsOf(database)
        assert.deepStrictEqual(ids, Exit.isSuccess(exit) ? ["a", "b"] : ["a"])
      }))

    test("joins the caller's transaction and ends with it", (database) =>
      Effect.gen(function* () {
        const client = yield* SqlClient.SqlClient
        const undone = yield* Effect.exit(
          client.withTransaction(
            Effect.gen(function* () {
              yield* database.transaction((tx) => tx.run(insert(database), ["gone", 1]))
              yield* database.run(insert(database), ["gone too", 1])
              assert.deepStrictEqual(yield* idsOf(database), ["gone", "gone too"])
              return yield* Effect.fail(new Refused())
            })
          )
        )
        assert.isTrue(Exit.isFailure(undone))
        assert.deepStrictEqual(yield* idsOf(database), [])
        yield* client.withTransaction(
          Effect.gen(function* () {
            yield* database.transaction((tx) => tx.run(insert(database), ["kept", 1]))
            yield* Effect.ignore(
              database.transaction((tx) =>
                Effect.zipRight(tx.run(insert(database), ["gone alone", 1]), Effect.fail(new Refused()))
              )
            )
          })
        )
        assert.deepStrictEqual(yield* idsOf(database), ["kept"])
      }))

    test("ignores the transaction of another database", (database) =>
      Effect.gen(function* () {
        const undone = yield* Effect.flatMap(SqlClient.SqlClient, (stranger) =>
          Effect.exit(
            stranger.withTransaction(
              Effect.gen(function* () {
                yield* database.transaction((tx) => tx.run(insert(database), ["kept", 1]))
                yield* database.run(insert(database), ["kept too", 1])
                return yield* Effect.fail(new Refused())
              })
            )
          )
        ).pipe(Effect.provide(other))
        assert.isTrue(Exit.isFailure(undone))
        assert.deepStrictEqual(yield* idsOf(database), ["kept", "kept too"])
      }))

    test("loses nothing in 64 transactions that read and then write", (database) =>
      Effect.gen(function* () {
        const { dialect } = database
        yield* database.run(insert(database), ["sum", 0])
        const read = `SELECT n FROM notes WHERE id = 'sum'${dialect.forUpdate}`
        const write = dialect.sql("UPDATE notes SET n = ? WHERE id = 'sum'")
        yield* Effect.forEach(
          Array.from({ length: 64 }),
          () =>
            database.transaction((tx) => Effect.flatMap(tx.first(read), (row) => tx.run(write, [Number(row?.n) + 1]))),
          { concurrency: "unbounded" }
        )
        assert.deepStrictEqual(yield* database.first("SELECT n FROM notes"), { n: 64 })
      }))

    test("lets two transactions that lock in different orders succeed", (database) =>
      Effect.gen(function* () {
        const { dialect } = database
        yield* database.run(insert(database), ["a", 0])
        yield* database.run(insert(database), ["b", 0])
        const add = dialect.sql("UPDATE notes SET n = n + 1 WHERE id = ?")
        const both = (first: string, second: string) =>
          database.transaction((tx) =>
            Effect.zipRight(Effect.zipRight(tx.run(add, [first]), Effect.yieldNow()), tx.run(add, [second]))
          )
        yield* Effect.forEach([0, 1], (odd) => (odd === 0 ? both("a", "b") : both("b", "a")), {
          concurrency: "unbounded"
        })
        assert.deepStrictEqual(yield* database.rows("SELECT n FROM notes ORDER BY id"), [{ n: 2 }, { n: 2 }])
      }))

    test("recognizes a missing table", (database) =>
      Effect.gen(function* () {
        const error = yield* Effect.flip(database.rows("SELECT * FROM nowhere"))
        assert.strictEqual(SqlFailure.describe(error).reason, "schema")
        const column = yield* Effect.flip(database.rows("SELECT missing FROM notes"))
        assert.strictEqual(SqlFailure.describe(column).reason, "schema")
      }))

    test("reports a rejection without its content", (database) =>
      Effect.gen(function* () {
        yield* database.run(insert(database), ["secret", 1])
        const error = yield* Effect.flip(database.run(insert(database), ["secret", 1]))
        const described = SqlFailure.describe(error)
        assert.strictEqual(described.reason, "data")
        assert.notInclude(JSON.stringify(SqlFailure.fields(error)), "secret")
      }))
  })

/** In a file of its own for each test. */
const file = Layer.unwrapScoped(Effect.map(SqliteDrivers.file, (file) => SqliteClient.layer({ file })))

suite(
  "a database on a SQLite file",
  Layer.tap(file, (context) => Effect.provide(tables, context)),
  file
)
suite(
  "a database on SQLite in memory",
  Layer.tap(SqliteClient.layer({ file: ":memory:" }), (context) => Effect.provide(tables, context)),
  SqliteClient.layer({ file: ":memory:" })
)

const postgres = await PostgresServer.database({ setup: tables })
const second = await PostgresServer.database()

TestServers.suite("postgres", postgres, ({ empty, layer, url }) => {
  if (second._tag !== "Available") return
  suite("a database on Postgres by the client of @effect/sql-pg", layer, second.server.kept)
  const ours = (url: string) => PostgresClient.layer({ url: Redacted.make(url), maxConnections: 8 })
  suite("a database on Postgres", Layer.unwrapEffect(Effect.as(empty, ours(url))), ours(second.server.url))
})
