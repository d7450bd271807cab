import * as SqlClient from "@effect/sql/SqlClient"
import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Dialect from "../../../src/persistence/engine/Dialect.js"
import * as TransactionBound from "../../../src/persistence/engine/TransactionBound.js"
import * as PostgresServer from "../../support/PostgresServer.js"
import * as TestServers from "../../support/TestServers.js"

const database = await PostgresServer.database()

const setting = "idle_in_transaction_session_timeout"

TestServers.suite("postgres", database, ({ kept }) => {
  it.effect("lowers the bound of the client within its transaction, and never raises it", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const shown = Effect.map(sql.unsafe<Record<string, string>>(`SHOW ${setting}`), ([row]) => row?.[setting])
      const before = yield* shown
      for (const [client, bound] of [
        ["0", "2500ms"],
        ["1min", "2500ms"],
        ["1500ms", "1500ms"]
      ] as const) {
        const found = yield* sql.withTransaction(
          Effect.gen(function* () {
            yield* sql.unsafe(`SET LOCAL ${setting} = '${client}'`)
            yield* sql.unsafe(`SELECT ${TransactionBound.column(Dialect.postgres, 2500)} AS bound`)
            return yield* shown
          })
        )
        assert.strictEqual(found, bound)
      }
      assert.strictEqual(yield* shown, before)
    }).pipe(Effect.provide(kept))
  )
})
