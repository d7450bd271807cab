import * as SqlClient from "@effect/sql/SqlClient"
import { assert, describe, it } from "@effect/vitest"
import * as Chunk from "effect/Chunk"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as FiberStatus from "effect/FiberStatus"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import type { Entry, Header } from "../../../src/eval/record/ExperimentRecord.js"
import type * as ExperimentStore from "../../../src/eval/record/ExperimentStore.js"
import type { ExperimentStoreError } from "../../../src/eval/record/ExperimentStoreError.js"
import * as SqlExperimentStore from "../../../src/persistence/run/SqlExperimentStore.js"
import * as ExperimentStoreSuite from "../../../src/testing/runs/ExperimentStoreSuite.js"
import * as SqlBackends from "../../support/SqlBackends.js"
import * as SqlStoreCases from "../../support/SqlStoreCases.js"

const header = (id: string): Header => ({
  id,
  name: "sums",
  createdAt: 1000,
  fingerprint: "f",
  dataset: { name: "d", version: "v", cases: 1 },
  variants: ["a"],
  scorers: ["exact"],
  repetitions: 1,
  labels: {}
})

const trial = { caseId: "1", variant: "a", repetition: 1 }
const result = { scores: [], durationMs: 1 }

const began = (caseId: string): Entry => ({ _tag: "Began", trial: { ...trial, caseId }, at: 1 })

/** Reads what is new at each look. */
const reader = (store: ExperimentStore.Service) => {
  const seen: Array<string> = []
  let after: string | undefined
  const look: Effect.Effect<void, ExperimentStoreError> = Stream.runForEach(
    Stream.suspend(() => store.read("e", { after })),
    ({ entry, position }) =>
      Effect.sync(() => {
        seen.push(entry.trial.caseId)
        after = position
      })
  )
  return { look, seen }
}

SqlBackends.suite("SqlExperimentStore", (backend) => {
  describe("SQL as an ExperimentStore", () => {
    const layer = Layer.provide(SqlExperimentStore.layer, backend.layer)
    for (const one of ExperimentStoreSuite.cases) {
      it(one.name, () => Effect.runPromise(ExperimentStoreSuite.check(one, layer)))
    }
  })

  it.effect("keeps the first end of a trial that two processes write", () =>
    Effect.gen(function* () {
      const mine = yield* SqlExperimentStore.make
      yield* mine.open(header("e"))
      yield* Effect.flatMap(SqlExperimentStore.make, (yours) =>
        Effect.forEach(
          Array.from({ length: 20 }, (_, index) => index),
          (index) =>
            (index % 2 === 0 ? mine : yours).append("e", {
              _tag: "Ended",
              trial,
              at: index,
              result: { ...result, durationMs: index }
            }),
          { concurrency: "unbounded", discard: true }
        )
      ).pipe(Effect.provide(backend.kept))
      assert.lengthOf(Chunk.toReadonlyArray(yield* Stream.runCollect(mine.read("e"))), 1)
    }).pipe(Effect.provide(backend.layer))
  )

  it.live.runIf(backend.dialect === "postgres")(
    "shows entries in the order of their commits, so that who goes on misses none of a slow transaction",
    () =>
      Effect.gen(function* () {
        const mine = yield* SqlExperimentStore.make
        const sql = yield* SqlClient.SqlClient
        yield* mine.open(header("e"))
        yield* mine.open(header("f"))
        const { look, seen } = reader(mine)
        yield* Effect.flatMap(SqlExperimentStore.make, (yours) =>
          Effect.gen(function* () {
            const [written, commit] = [yield* Deferred.make<void>(), yield* Deferred.make<void>()]
            const slow = yield* mine
              .append("e", began("slow"))
              .pipe(
                Effect.zipRight(Deferred.succeed(written, undefined)),
                Effect.zipRight(Deferred.await(commit)),
                sql.withTransaction,
                Effect.fork
              )
            yield* Deferred.await(written)
            const quick = yield* Effect.fork(yours.append("e", began("quick")))
            yield* yours.append("f", began("of another experiment"))
            // The quick one waits for the transaction, or is done by now.
            yield* Effect.repeat(
              Effect.all([
                quick.status,
                sql<{ readonly n: number }>`SELECT count(*)::int AS n FROM pg_locks WHERE NOT granted`
              ]),
              { until: ([status, rows]) => FiberStatus.isDone(status) || (rows[0]?.n ?? 0) > 0 }
            )
            yield* look
            yield* Deferred.succeed(commit, undefined)
            yield* Fiber.join(slow)
            yield* Fiber.join(quick)
            yield* look
            assert.deepStrictEqual(seen, ["slow", "quick"])
          })
        ).pipe(Effect.provide(backend.other))
      }).pipe(Effect.provide(backend.layer))
  )

  it.live.runIf(backend.dialect === "postgres")(
    "shows all entries of two clients to who goes on while they append in transactions",
    () =>
      Effect.gen(function* () {
        const mine = yield* SqlExperimentStore.make
        const sql = yield* SqlClient.SqlClient
        yield* mine.open(header("e"))
        yield* Effect.gen(function* () {
          const yours = yield* SqlExperimentStore.make
          const theirSql = yield* SqlClient.SqlClient
          const { look, seen } = reader(mine)
          const append = (index: number) => {
            const [store, client] = index % 2 === 0 ? ([mine, sql] as const) : ([yours, theirSql] as const)
            // Some take longer to commit than others.
            const waiting = Effect.repeatN(client`SELECT 1`, index % 4)
            return client.withTransaction(Effect.zipRight(store.append("e", began(`${index}`)), waiting))
          }
          const all = Array.from({ length: 200 }, (_, index) => index)
          const appending = yield* Effect.fork(Effect.forEach(all, append, { concurrency: 8, discard: true }))
          yield* Effect.repeat(Effect.zipRight(look, appending.status), {
            until: (status) => FiberStatus.isDone(status)
          })
          yield* Fiber.join(appending)
          yield* look
          assert.lengthOf(seen, all.length)
          assert.sameMembers(
            seen,
            all.map((index) => `${index}`)
          )
        }).pipe(Effect.provide(backend.other))
      }).pipe(Effect.provide(backend.layer))
  )

  SqlStoreCases.suite(backend, {
    make: SqlExperimentStore.make,
    migrated: SqlExperimentStore.layerMigrated,
    write: (store, name) => store.open(header(name)),
    has: (store, name) => Effect.map(store.get(name), Option.isSome),
    everything: (store) =>
      Effect.gen(function* () {
        yield* store.open(header("name 1"))
        yield* store.append("name 1", { _tag: "Began", trial, at: 1 })
        yield* store.append("name 1", { _tag: "Ended", trial, at: 2, result })
        yield* Stream.runDrain(store.read("name 1"))
        yield* Stream.runDrain(store.read("name 1", { after: "1" }))
        yield* store.list()
        yield* store.list({ name: "sums", limit: 1, cursor: '[1000,"name 1"]' })
        yield* store.remove("name 1")
        yield* store.remove("absent")
      })
  })
})
