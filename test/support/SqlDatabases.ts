/** Both databases with empty tables for each test: SQLite in its own file, Postgres in the schema of the test file. */
import * as SqlClient from "@effect/sql/SqlClient"
import { describe } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import type * as Scope from "effect/Scope"
import * as PostgresClient from "../../src/persistence/postgres/PostgresClient.js"
import * as Migrations from "../../src/persistence/schema/Migrations.js"
import * as SqliteClient from "../../src/persistence/sqlite/SqliteClient.js"
import * as PostgresServer from "./PostgresServer.js"
import * as SqliteDrivers from "./SqliteDrivers.js"
import * as TestServers from "./TestServers.js"

export interface Place {
  readonly name: "sqlite" | "postgres"
  readonly layer: Layer.Layer<SqlClient.SqlClient, unknown>
  /** Another client of the same database, as in another process. */
  readonly second: Effect.Effect<SqlClient.SqlClient, unknown, SqlClient.SqlClient | Scope.Scope>
}

const built = <E>(layer: Layer.Layer<SqlClient.SqlClient, E>) =>
  Effect.map(Layer.build(layer), (context) => Context.get(context, SqlClient.SqlClient))

const sqlite: Layer.Layer<SqlClient.SqlClient, unknown> = Migrations.layer.pipe(
  Layer.provideMerge(
    Layer.unwrapScoped(Effect.map(SqliteDrivers.file, (file) => SqliteClient.layer({ file, driver: "libsql" })))
  )
)

/** Registers the cases for each database. */
export const suite = (name: string, cases: (place: Place) => void): void => {
  describe(`${name} on SQLite`, () =>
    cases({
      name: "sqlite",
      layer: sqlite,
      second: Effect.flatMap(SqlClient.SqlClient, (client) =>
        built(SqliteClient.layer({ file: (client as SqliteClient.Service).file, driver: "libsql" }))
      )
    }))
  describe(`${name} on Postgres`, async () => {
    const postgres = await PostgresServer.database({ setup: Migrations.run })
    TestServers.suite("postgres", postgres, ({ layer, url }) =>
      cases({ name: "postgres", layer, second: built(PostgresClient.layer({ url: Redacted.make(url) })) })
    )
  })
}
