import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as TestClock from "effect/TestClock"
import type { RunRecord } from "../../../src/agent/record/RunRecord.js"
import type * as RunStore from "../../../src/agent/record/RunStore.js"
import { RunId } from "../../../src/domain/Ids.js"
import * as SystemAccess from "../../../src/domain/SystemAccess.js"
import * as SqlRunStore from "../../../src/persistence/run/SqlRunStore.js"
import * as RunStoreSuite from "../../../src/testing/runs/RunStoreSuite.js"
import * as SqlBackends from "../../support/SqlBackends.js"
import * as SqlStoreCases from "../../support/SqlStoreCases.js"

const record = (id: string, fields: Partial<RunRecord> = {}): RunRecord => ({
  runId: RunId.make(id),
  agent: "helper",
  state: "running",
  labels: { name: id },
  createdAt: 1000,
  updatedAt: 1000,
  ...fields
})

SqlBackends.suite("SqlRunStore", (backend) => {
  describe("SQL as a RunStore", () => {
    const layer = Layer.provide(SqlRunStore.layer(), backend.layer)
    for (const one of RunStoreSuite.cases) it(one.name, () => Effect.runPromise(RunStoreSuite.check(one, layer)))
  })

  SqlStoreCases.suite(backend, {
    make: SqlRunStore.make({ retain: 1 }),
    migrated: SqlRunStore.layerMigrated(),
    write: (store, name) => store.insert(record(name), name),
    has: (store, name) =>
      Effect.map(
        Effect.all([store.get(name), store.list({ labels: { name } })]),
        ([found, { records }]) => Option.isSome(found) && records.length === 1
      ),
    everything: (store) =>
      Effect.gen(function* () {
        const filters: ReadonlyArray<RunStore.Filter> = [
          {},
          { userId: "u" },
          { userId: "u", states: ["running"] },
          { userId: "u", states: ["failed", "completed"], agent: "a" },
          { sessionId: "s", userId: "u", agent: "a" },
          { agent: "a" },
          { agent: "a", states: ["failed"] },
          { states: ["failed"] },
          { states: ["failed", "completed"] },
          { states: ["running", "waiting", "queued"] },
          { createdFrom: 1, createdBefore: 2 },
          { labels: { a: "1" } },
          { labels: { a: "1", b: "2" }, userId: "u", states: ["running"], agent: "a", sessionId: "s" },
          { cursor: "1000 x", limit: 3 }
        ]
        for (const filter of filters) {
          yield* store.list(filter)
          yield* SystemAccess.grant(store.list(filter))
        }
        yield* store.update("name 1", { from: ["running"], to: "completed", at: 5 })
        yield* store.get("name 2")
        yield* store.prune({ before: 6 })
        yield* store.erase("u")
        yield* TestClock.adjust("1 day")
        yield* Effect.forEach(Array.from({ length: 100 }), (_, i) => store.insert(record(`more ${i}`), "f"))
      })
  })

  it.effect("removes runs some time after their end, and keeps those that go on", () =>
    Effect.gen(function* () {
      const store = yield* SqlRunStore.make({ retain: "1 hour" })
      yield* store.insert(record("old"), "f")
      yield* store.insert(record("open"), "f")
      yield* store.update("old", { from: ["running"], to: "completed", at: 0 })
      yield* TestClock.adjust("59 minutes")
      yield* Effect.forEach(Array.from({ length: 100 }), (_, i) => store.insert(record(`a${i}`), "f"))
      assert.isTrue(Option.isSome(yield* store.get("old")))
      yield* TestClock.adjust("2 minutes")
      yield* Effect.forEach(Array.from({ length: 200 }), (_, i) => store.insert(record(`b${i}`), "f"))
      assert.isTrue(Option.isNone(yield* store.get("old")))
      assert.isTrue(Option.isSome(yield* store.get("open")))
    }).pipe(Effect.provide(backend.layer))
  )
})
