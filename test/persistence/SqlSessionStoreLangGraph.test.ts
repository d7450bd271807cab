import * as Path from "node:path"
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Migrations from "../../src/persistence/Migrations.js"
import * as SqliteClient from "../../src/persistence/SqliteClient.js"
import type * as LangGraphInitializers from "../support/LangGraphInitializers.js"
import * as LangGraphValidation from "../support/LangGraphValidation.js"
import * as PostgresServer from "../support/PostgresServer.js"
import * as SqliteDrivers from "../support/SqliteDrivers.js"
import * as TestServers from "../support/TestServers.js"

const timeout = 120_000

/** The case that LangGraph's own saver skips is among them. */
const passes = (initializer: keyof typeof LangGraphInitializers, database: string) =>
  Effect.gen(function* () {
    const outcome = yield* LangGraphValidation.validate(initializer, { LANGGRAPH_DATABASE: database })
    assert.deepStrictEqual(outcome.others, [], outcome.printed)
    assert.strictEqual(outcome.code, 0, outcome.printed)
    assert.isAtLeast(outcome.passed.length, 701)
  })

const postgres = await PostgresServer.database({ setup: Migrations.run })

describe("LangGraph's validation of checkpoint savers", () => {
  it.scopedLive(
    "passes on sessions in SQLite",
    () =>
      Effect.gen(function* () {
        const file = Path.join(yield* SqliteDrivers.folder, "threads.db")
        yield* Effect.provide(Migrations.run, SqliteClient.layer({ file }))
        yield* passes("sessionsInSqlite", file)
      }),
    timeout
  )

  TestServers.suite("postgres", postgres, ({ url }) => {
    it.live("passes on sessions in Postgres", () => passes("sessionsInPostgres", url), timeout)
  })
})
