import { describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import type { RunSchedule } from "../../../src/agent/record/RunSchedule.js"
import type * as ScheduleStore from "../../../src/agent/record/ScheduleStore.js"
import * as SystemAccess from "../../../src/domain/SystemAccess.js"
import * as SqlScheduleStore from "../../../src/persistence/run/SqlScheduleStore.js"
import * as ScheduleStoreSuite from "../../../src/testing/runs/ScheduleStoreSuite.js"
import * as SqlBackends from "../../support/SqlBackends.js"
import * as SqlStoreCases from "../../support/SqlStoreCases.js"

const schedule = (id: string): RunSchedule => ({
  id,
  key: id,
  agent: "helper",
  input: "hello",
  labels: {},
  timing: { _tag: "Every", millis: 1000, from: 0 },
  missed: "skip",
  overlap: "allow",
  state: "active",
  createdAt: 1000,
  updatedAt: 1000,
  revision: 0,
  nextAt: 2000,
  pending: []
})

SqlBackends.suite("SqlScheduleStore", (backend) => {
  describe("SQL as a ScheduleStore", () => {
    const layer = Layer.provide(SqlScheduleStore.layer, backend.layer)
    for (const one of ScheduleStoreSuite.cases) {
      it(one.name, () => Effect.runPromise(ScheduleStoreSuite.check(one, layer)))
    }
  })

  SqlStoreCases.suite(backend, {
    make: SqlScheduleStore.make,
    migrated: SqlScheduleStore.layerMigrated,
    write: (store, name) => store.insert(schedule(name), name),
    has: (store, name) => Effect.map(store.get(name), Option.isSome),
    everything: (store) =>
      Effect.gen(function* () {
        const filters: ReadonlyArray<ScheduleStore.Filter> = [
          {},
          { userId: "u" },
          { userId: "u", agent: "a", state: "paused" },
          { agent: "a" },
          { agent: "a", state: "active" },
          { state: "ended" },
          { cursor: "1000 x", limit: 3 }
        ]
        for (const filter of filters) {
          yield* store.list(filter)
          yield* SystemAccess.grant(store.list(filter))
        }
        yield* store.replace({ ...schedule("name 1"), revision: 1 })
        yield* store.remove(schedule("name 2"))
        const [after] = yield* store.due({ now: 5000, agents: ["helper", "clerk"], limit: 5 })
        yield* store.due({ now: 5000, agents: ["helper"], limit: 5, after })
        yield* store.nextDue(["helper"])
        yield* store.erase("u")
      })
  })
})
