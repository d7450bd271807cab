import { describe } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Migrations from "../../src/persistence/Migrations.js"
import * as SqliteClient from "../../src/persistence/SqliteClient.js"
import * as SqlMemoryStore from "../../src/persistence/SqlMemoryStore.js"
import * as MemoryStores from "../support/MemoryStores.js"
import * as PostgresServer from "../support/PostgresServer.js"
import * as SqliteDrivers from "../support/SqliteDrivers.js"
import * as TestServers from "../support/TestServers.js"

SqliteDrivers.suite("SqlMemoryStore", (driver) => {
  const client = Layer.unwrapScoped(Effect.map(SqliteDrivers.file, (file) => SqliteClient.layer({ file, driver })))
  MemoryStores.suite("SqlMemoryStore", Layer.provide(SqlMemoryStore.layerMigrated(), client))
})

const postgres = await PostgresServer.database({ setup: Migrations.run })

describe("SqlMemoryStore", () => {
  TestServers.suite("postgres", postgres, ({ layer }) => {
    MemoryStores.suite("SqlMemoryStore", Layer.provide(SqlMemoryStore.layer(), layer))
  })
})
