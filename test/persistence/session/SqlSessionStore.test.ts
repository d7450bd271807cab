import * as SqlClient from "@effect/sql/SqlClient"
import { it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as SqlSessionStore from "../../../src/persistence/session/SqlSessionStore.js"
import * as SessionStoreSuite from "../../../src/testing/session/SessionStoreSuite.js"
import * as BrokenExchanges from "../../support/BrokenExchanges.js"
import * as SqlBackends from "../../support/SqlBackends.js"

/** Random operations are followed by forty reads each: a server behind a socket needs its time for them. */
const timeout = 300_000

SqlBackends.suite("the session store", ({ layer }) => {
  it.effect(
    "marks the other open exchanges when one cannot be read",
    () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient.SqlClient
        yield* BrokenExchanges.check(yield* SqlSessionStore.make, (exchanges) =>
          Effect.forEach(
            exchanges,
            ({ runId }) => sql`UPDATE lex_session_exchanges SET body = '{' WHERE run_id = ${runId}`
          )
        )
      }).pipe(Effect.provide(layer)),
    timeout
  )

  const store = Layer.provide(SqlSessionStore.layer, layer)
  for (const one of SessionStoreSuite.cases) it.effect(one.name, () => SessionStoreSuite.check(one, store), timeout)
})
