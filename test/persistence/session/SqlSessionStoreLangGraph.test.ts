import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Migrations from "../../../src/persistence/schema/Migrations.js"
import type * as LangGraphInitializers from "../../support/LangGraphInitializers.js"
import * as LangGraphValidation from "../../support/LangGraphValidation.js"
import * as PostgresServer from "../../support/PostgresServer.js"
import * as TestServers from "../../support/TestServers.js"

const timeout = 300_000

/** The case that LangGraph's own saver skips is among them. */
const passes = (
  initializer: keyof typeof LangGraphInitializers,
  variables?: Parameters<typeof LangGraphValidation.validate>[1]
) =>
  Effect.map(LangGraphValidation.validate(initializer, variables), (outcome) => {
    assert.deepStrictEqual(outcome.others, [], outcome.printed)
    assert.strictEqual(outcome.code, 0, outcome.printed)
    assert.isAtLeast(outcome.passed.length, 701)
  })

const postgres = await PostgresServer.database({ setup: Migrations.run })

describe("LangGraph's validation of checkpoint savers on sessions", () => {
  it.live("passes in SQLite", () => passes("sessionsInSqlite"), timeout)

  TestServers.suite("postgres", postgres, ({ url }) => {
    it.live("passes in Postgres", () => passes("sessionsInPostgres", { DATABASE_URL: url }), timeout)
  })
})
