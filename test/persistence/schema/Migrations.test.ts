import * as SqlClient from "@effect/sql/SqlClient"
import * as PgClient from "@effect/sql-pg/PgClient"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import type * as Scope from "effect/Scope"
import * as Database from "../../../src/persistence/engine/Database.js"
import type { Dialect } from "../../../src/persistence/engine/Dialect.js"
import * as MigrationRun from "../../../src/persistence/schema/MigrationRun.js"
import * as Migrations from "../../../src/persistence/schema/Migrations.js"
import * as SqliteClient from "../../../src/persistence/sqlite/SqliteClient.js"
import * as PostgresServer from "../../support/PostgresServer.js"
import * as SqliteDrivers from "../../support/SqliteDrivers.js"
import * as TestServers from "../../support/TestServers.js"

const migration = (version: number, ...statements: ReadonlyArray<string>): MigrationRun.Migration => ({
  version,
  name: `version ${version}`,
  statements: () => statements
})

const first = migration(1, "CREATE TABLE one (id INTEGER PRIMARY KEY, text TEXT)")
const second = migration(2, "ALTER TABLE one ADD COLUMN more TEXT", "CREATE TABLE two (id INTEGER PRIMARY KEY)")
const broken = migration(2, "CREATE TABLE two (id INTEGER PRIMARY KEY)", "CREATE TABLE one (id INTEGER)")

const run = (...all: ReadonlyArray<MigrationRun.Migration>) =>
  Effect.flatMap(Database.open, (database) => MigrationRun.runAll(database, all))

const tableNames = (dialect: Dialect): string =>
  dialect.name === "sqlite"
    ? "SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name"
    : "SELECT tablename AS name FROM pg_tables WHERE schemaname = current_schema() ORDER BY tablename"

const tables = Effect.flatMap(Database.open, (database) =>
  Effect.map(database.rows(tableNames(database.dialect)), (rows) => rows.map(({ name }) => String(name)))
)

/** `open` gives a client of its own on a database that is empty before each test. */
const suite = (name: string, fresh: Effect.Effect<Layer.Layer<SqlClient.SqlClient, unknown>, unknown, Scope.Scope>) =>
  describe(name, () => {
    const test = (
      fact: string,
      body: (client: Layer.Layer<SqlClient.SqlClient, unknown>) => Effect.Effect<void, unknown>
    ) => it.scoped(fact, () => Effect.flatMap(fresh, body), 300_000)

    test("creates all tables in an empty database, and nothing the second time", (client) =>
      Effect.gen(function* () {
        assert.deepStrictEqual(yield* Migrations.run, { from: 0, to: Migrations.version })
        assert.includeMembers([...(yield* tables)], ["lex_migrations", "lex_payloads"])
        assert.deepStrictEqual(yield* Migrations.run, { from: Migrations.version, to: Migrations.version })
        yield* Migrations.check
      }).pipe(Effect.provide(client)))

    test("recognizes a database without tables, and creates nothing", (client) =>
      Effect.gen(function* () {
        const error = yield* Effect.flip(Migrations.check)
        assert.strictEqual(error._tag, "MigrationError")
        assert.deepInclude(error, { reason: "absent", found: 0, needed: Migrations.version })
        assert.deepStrictEqual(yield* tables, [])
      }).pipe(Effect.provide(client)))

    test("applies later versions and keeps the rows", (client) =>
      Effect.gen(function* () {
        const { rows, run: execute } = yield* Database.open
        assert.deepStrictEqual(yield* run(first), { from: 0, to: 1 })
        yield* execute("INSERT INTO one (id, text) VALUES (1, 'kept')")
        assert.deepStrictEqual(yield* run(first, second), { from: 1, to: 2 })
        assert.deepStrictEqual(yield* rows("SELECT * FROM one"), [{ id: 1, text: "kept", more: null }])
        assert.deepStrictEqual(yield* run(first, second), { from: 2, to: 2 })
      }).pipe(Effect.provide(client)))

    test("leaves a newer database alone", (client) =>
      Effect.gen(function* () {
        yield* run(first, second)
        const error = yield* Effect.flip(run(first))
        assert.strictEqual(error._tag, "MigrationError")
        assert.deepInclude(error, { reason: "newer", found: 2, needed: 1 })
        assert.include([...(yield* tables)], "two")
        const database = yield* Database.open
        yield* database.run("UPDATE lex_migrations SET version = 1000 WHERE version = 2")
        assert.deepInclude(yield* Effect.flip(Migrations.check), { reason: "newer", found: 1000 })
        assert.deepInclude(yield* Effect.flip(Migrations.run), { reason: "newer", found: 1000 })
      }).pipe(Effect.provide(client)))

    test("leaves nothing of a failed version", (client) =>
      Effect.gen(function* () {
        yield* run(first)
        const error = yield* Effect.flip(run(first, broken))
        assert.strictEqual(error._tag, "MigrationError")
        assert.deepInclude(error, { reason: "failed", found: 1, needed: 2 })
        assert.notInclude([...(yield* tables)], "two")
        assert.deepStrictEqual(yield* run(first, second), { from: 1, to: 2 })
      }).pipe(Effect.provide(client)))

    test("lets one of five concurrent starts migrate", (client) =>
      Effect.gen(function* () {
        const migrated = yield* Effect.forEach(
          Array.from({ length: 5 }),
          () => Effect.provide(Migrations.run, Layer.fresh(client)),
          { concurrency: "unbounded" }
        )
        assert.deepStrictEqual(
          migrated.map(({ from }) => from).sort(),
          [0, 1, 1, 1, 1].map((n) => n * Migrations.version)
        )
      }))
  })

suite(
  "SQLite as a database of migrations",
  Effect.map(SqliteDrivers.file, (file) => SqliteClient.layer({ file }))
)

const postgres = await PostgresServer.database()

TestServers.suite("postgres", postgres, ({ schema, kept, url }) => {
  const again = Effect.flatMap(SqlClient.SqlClient, (client) =>
    client.unsafe(`DROP SCHEMA ${schema} CASCADE; CREATE SCHEMA ${schema}`)
  ).pipe(Effect.provide(kept))
  suite(
    "Postgres as a database of migrations",
    Effect.as(again, PgClient.layer({ url: Redacted.make(url), maxConnections: 2 }))
  )
})
