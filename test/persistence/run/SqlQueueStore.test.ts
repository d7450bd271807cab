import * as SqlClient from "@effect/sql/SqlClient"
import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import type { QueuedRun } from "../../../src/agent/record/QueuedRun.js"
import { RunId, UserId } from "../../../src/domain/Ids.js"
import * as SystemAccess from "../../../src/domain/SystemAccess.js"
import * as SqlQueueStore from "../../../src/persistence/run/SqlQueueStore.js"
import * as Migrations from "../../../src/persistence/schema/Migrations.js"
import * as QueueStoreSuite from "../../../src/testing/runs/QueueStoreSuite.js"
import * as PostgresServer from "../../support/PostgresServer.js"
import * as SqlBackends from "../../support/SqlBackends.js"
import * as SqlStoreCases from "../../support/SqlStoreCases.js"
import * as TestServers from "../../support/TestServers.js"

const database = await PostgresServer.database({ setup: Migrations.run })

const queued = (id: string, fields: Partial<QueuedRun> = {}): QueuedRun => ({
  runId: RunId.make(id),
  agent: "helper",
  request: { agent: "helper", runId: id, input: "hello" },
  fingerprint: id,
  priority: 0,
  rank: 0,
  notBefore: 0,
  createdAt: 0,
  ...fields
})

const waits = { now: 0, maxWaiting: 100_000 }
const claims = { worker: "w", leaseUntil: 10, now: 5, agents: ["helper"], concurrency: 99, perOwner: 99, perAgent: 99 }

SqlBackends.suite("SqlQueueStore", (backend) => {
  describe("SQL as a QueueStore", () => {
    const layer = Layer.provide(SqlQueueStore.layer, backend.layer)
    for (const one of QueueStoreSuite.cases) {
      it(one.name, () => Effect.runPromise(QueueStoreSuite.check(one, layer)))
    }
  })

  SqlStoreCases.suite(backend, {
    make: SqlQueueStore.make,
    migrated: SqlQueueStore.layerMigrated,
    write: (store, name) => store.add(queued(name), waits),
    has: (store, name) => Effect.map(store.get(name), Option.isSome),
    // The first reads what is claimed: as many rows as go on at once. The other reads at most 1,000 rows of an index.
    allowed: [/GROUP BY owner, agent/, /LIMIT 1000\n *\) found/],
    everything: (store) =>
      Effect.gen(function* () {
        yield* store.add(queued("late", { notBefore: 3 }), waits)
        yield* store.counts({ userId: "u" })
        yield* SystemAccess.grant(store.counts())
        yield* store.claim(claims)
        yield* store.takeOver({ ...claims, now: 20 })
        yield* store.renew(claims)
        yield* store.cancel("name 39", claims)
        yield* store.remove("name 1")
        yield* store.get("name 30")
      })
  })

  it.effect("lets the owners take turns among 10,000 runs that wait", () =>
    Effect.gen(function* () {
      const store = yield* SqlQueueStore.make
      const sql = yield* SqlClient.SqlClient
      for (let i = 0; i < 3; i++) {
        yield* store.add(queued(`a${i}`, { userId: UserId.make("ann"), rank: i }), waits)
      }
      yield* sql.unsafe(
        `WITH RECURSIVE n (i) AS (SELECT 3 UNION ALL SELECT i + 1 FROM n WHERE i < 9999)
          INSERT INTO lex_queue
            (run_id, owner, user_id, agent, fingerprint, state, rank, not_before, cancelled, body)
          SELECT 'a' || i, owner, user_id, agent, fingerprint, 1, i, 0, 0, body FROM n, lex_queue WHERE run_id = 'a0'`
      )
      yield* sql.unsafe("UPDATE lex_queue_lanes SET waiting = 10000")
      for (const [i, user] of ["bob", "eve"].entries()) {
        yield* store.add(queued(user, { userId: UserId.make(user), rank: 20_000 + i }), waits)
      }
      const found = (yield* store.claim({ ...claims, concurrency: 5 })).map(({ runId }) => runId as string)
      assert.deepStrictEqual(found, ["a0", "bob", "eve", "a1", "a2"])
      const place = Option.getOrThrow(yield* store.get("a9999", { userId: "ann" }))
      assert.strictEqual(place.ahead, 1000)
    }).pipe(Effect.provide(backend.layer))
  )

  it.effect("goes on after the runs of an owner were erased from its tables", () =>
    Effect.gen(function* () {
      const store = yield* SqlQueueStore.make
      const sql = yield* SqlClient.SqlClient
      for (let i = 0; i < 5; i++) {
        yield* store.add(queued(`a${i}`, { userId: UserId.make("ann") }), { now: 0, maxWaiting: 6 })
      }
      yield* store.add(queued("b"), { now: 0, maxWaiting: 6 })
      yield* sql.unsafe("DELETE FROM lex_queue WHERE user_id = 'ann'")
      assert.deepStrictEqual(
        (yield* store.claim(claims)).map(({ runId }) => runId as string),
        ["b"]
      )
      assert.deepStrictEqual(yield* store.claim(claims), [])
      assert.strictEqual((yield* SystemAccess.grant(store.counts())).waiting, 0)
    }).pipe(Effect.provide(backend.layer))
  )

  it.effect("is not full of runs that were erased", () =>
    Effect.gen(function* () {
      const store = yield* SqlQueueStore.make
      const sql = yield* SqlClient.SqlClient
      const few = { now: 0, maxWaiting: 3 }
      for (const id of ["a0", "a1"]) yield* store.add(queued(id, { userId: UserId.make("ann") }), few)
      yield* store.add(queued("late", { notBefore: 9 }), few)
      assert.strictEqual((yield* Effect.flip(store.add(queued("b"), few)))._tag, "QueueFullError")
      yield* sql.unsafe("DELETE FROM lex_queue WHERE user_id = 'ann'")
      for (const id of ["b", "c"]) assert.isTrue((yield* store.add(queued(id), few)).added)
      assert.strictEqual((yield* Effect.flip(store.add(queued("d"), few)))._tag, "QueueFullError")
    }).pipe(Effect.provide(backend.layer))
  )
})

TestServers.suite("postgres", database, ({ kept }) => {
  it.scopedLive(
    "goes on when a process stops in the middle of a change",
    () =>
      Effect.gen(function* () {
        const store = yield* SqlQueueStore.make
        const sql = yield* SqlClient.SqlClient
        const stopped = yield* Deferred.make<void>()
        const change = Effect.zipRight(store.add(queued("a"), waits), Deferred.succeed(stopped, undefined))
        const stopping = yield* Effect.fork(sql.withTransaction(Effect.zipRight(change, Effect.sleep("20 seconds"))))
        yield* Deferred.await(stopped)
        yield* store.add(queued("b"), waits)
        assert.deepStrictEqual(
          (yield* store.claim(claims)).map(({ runId }) => runId as string),
          ["b"]
        )
        yield* Fiber.interrupt(stopping)
      }).pipe(Effect.provide(kept)),
    60_000
  )
})
