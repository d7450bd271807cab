/** Both databases with their tables, empty for each test: SQLite in a file of its own, Postgres in a schema of the test file. */
import type * as SqlClient from "@effect/sql/SqlClient"
import { describe } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Migrations from "../../src/persistence/Migrations.js"
import * as SqliteClient from "../../src/persistence/SqliteClient.js"
import * as PostgresServer from "./PostgresServer.js"
import * as SqliteDrivers from "./SqliteDrivers.js"
import * as TestServers from "./TestServers.js"

export interface Place {
  readonly name: "sqlite" | "postgres"
  readonly layer: Layer.Layer<SqlClient.SqlClient, unknown>
}

const sqlite: Layer.Layer<SqlClient.SqlClient, unknown> = Migrations.layer.pipe(
  Layer.provideMerge(
    Layer.unwrapScoped(Effect.map(SqliteDrivers.file, (file) => SqliteClient.layer({ file, driver: "libsql" })))
  )
)

const postgres = await PostgresServer.database({ setup: Migrations.run })

/** Registers the cases for each. */
export const suite = (name: string, cases: (place: Place) => void): void => {
  describe(`${name} on SQLite`, () => cases({ name: "sqlite", layer: sqlite }))
  describe(`${name} on Postgres`, () =>
    TestServers.suite("postgres", postgres, ({ layer }) => cases({ name: "postgres", layer })))
}
