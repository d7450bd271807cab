import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import * as ClusterStore from "../../src/cluster/ClusterStore.js"
import * as PostgresClient from "../../src/persistence/postgres/PostgresClient.js"
import * as MigrationRun from "../../src/persistence/schema/MigrationRun.js"
import * as PostgresServer from "../support/PostgresServer.js"
import * as TestServers from "../support/TestServers.js"

const database = await PostgresServer.database()

TestServers.suite("postgres", database, ({ url }) => {
  it.scopedLive("takes a run with the connection of its transaction, of which there may be no other", () =>
    Effect.gen(function* () {
      const opened = yield* MigrationRun.open({ migrate: true })
      const store = ClusterStore.make(opened, { address: "127.0.0.1:1", id: "p" }, 2000)
      yield* store.enter
      // As `@effect/cluster` makes it.
      yield* opened.run("CREATE TABLE lex_cluster_locks (shard_id TEXT, address TEXT, acquired_at TIMESTAMP)")
      yield* opened.run("INSERT INTO lex_cluster_locks VALUES ('default:1', '127.0.0.1:1', NOW())")
      const run = { executionId: "run", workflow: "w", shard: "default:1", token: "@p/1" }
      const claim = yield* store.take(run)
      assert.deepStrictEqual(claim, { _tag: "Taken", wake: 0, interrupted: 0, recorded: new Set<string>() })
      assert.deepStrictEqual(yield* store.take({ ...run, shard: "default:2" }), { _tag: "Lost" })
    }).pipe(Effect.provide(PostgresClient.layer({ url: Redacted.make(url), maxConnections: 1 })))
  )
})
