import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Migrations from "../../src/persistence/schema/Migrations.js"
import * as LangGraphValidation from "../support/LangGraphValidation.js"
import * as PostgresServer from "../support/PostgresServer.js"
import * as TestServers from "../support/TestServers.js"

const timeout = 300_000

/** The case that LangGraph's own saver skips is among them. */
const passes = ({ code, printed, verdicts }: LangGraphValidation.Outcome): void => {
  for (const { others, passed } of verdicts) {
    assert.deepStrictEqual(others, [], printed)
    assert.isAtLeast(passed.length, 701)
  }
  assert.strictEqual(code, 0, printed)
}

const postgres = await PostgresServer.database({ setup: Migrations.run })

describe("LangGraph's validation of checkpoint savers on sessions and on checkpoints of graphs", () => {
  it.live(
    "passes in SQLite",
    () => Effect.map(LangGraphValidation.validate(["sessionsInSqlite", "graphsInSqlite"]), passes),
    timeout
  )

  TestServers.suite("postgres", postgres, ({ url }) => {
    it.live(
      "passes in Postgres",
      () =>
        Effect.map(
          LangGraphValidation.validate(["sessionsInPostgres", "graphsInPostgres"], { DATABASE_URL: url }),
          passes
        ),
      timeout
    )
  })
})
