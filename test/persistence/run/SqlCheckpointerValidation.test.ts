import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as LangGraphValidation from "../../support/LangGraphValidation.js"
import * as PostgresServer from "../../support/PostgresServer.js"
import * as TestServers from "../../support/TestServers.js"

const timeout = 300_000

const server = await PostgresServer.database()

const passes = (outcome: LangGraphValidation.Outcome): void => {
  assert.deepStrictEqual(outcome.others, [], outcome.printed)
  assert.strictEqual(outcome.code, 0, outcome.printed)
  assert.isAtLeast(outcome.passed.length, 700)
}

describe("LangGraph's validation of checkpoint savers, on checkpoints of graphs", () => {
  it.effect("passes in SQLite", () => Effect.map(LangGraphValidation.validate("graphsInSqlite"), passes), timeout)

  TestServers.suite("postgres", server, ({ url }) => {
    it.effect(
      "passes in Postgres",
      () => Effect.map(LangGraphValidation.validate("graphsInPostgres", { DATABASE_URL: url }), passes),
      timeout
    )
  })
})
