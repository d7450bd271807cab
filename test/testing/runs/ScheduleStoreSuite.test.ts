import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as InMemoryScheduleStore from "../../../src/agent/record/InMemoryScheduleStore.js"
import * as ScheduleStore from "../../../src/agent/record/ScheduleStore.js"
import * as SystemAccess from "../../../src/domain/SystemAccess.js"
import * as ScheduleStoreSuite from "../../../src/testing/runs/ScheduleStoreSuite.js"

type Service = ScheduleStore.Service

const layer = (change: (store: Service) => Service = (store) => store) =>
  Layer.sync(ScheduleStore.ScheduleStore, () => change(InMemoryScheduleStore.make()))

describe("InMemoryScheduleStore as a ScheduleStore", () => {
  for (const one of ScheduleStoreSuite.cases) {
    it(one.name, () => Effect.runPromise(ScheduleStoreSuite.check(one, layer())))
  }
})

/** What a store does to be wrong, and a case that must tell. */
const broken: Record<string, { readonly change: (store: Service) => Service; readonly tells: string }> = {
  "shows every schedule to everybody": {
    change: (store) => ({ ...store, get: (id) => SystemAccess.grant(store.get(id)) }),
    tells: "shows a schedule to its owner, and to the system that names no user"
  },
  "compares no fingerprints": {
    change: (store) => ({ ...store, insert: (schedule) => store.insert(schedule, "same") }),
    tells: "returns the known schedule to the same request, and refuses another one with its id"
  },
  "compares no revisions": {
    change: (store) => ({
      ...store,
      replace: (schedule) =>
        Effect.flatMap(SystemAccess.grant(store.get(schedule.id)), (known) =>
          Option.isNone(known)
            ? Effect.succeed(false)
            : Effect.map(store.replace({ ...schedule, revision: known.value.revision + 1 }), () => true)
        )
    }),
    tells: "lets one of concurrent changes win"
  },
  "finds what is due of every agent": {
    change: (store) => ({ ...store, due: (options) => store.due({ ...options, agents: ["helper", "clerk"] }) }),
    tells: "knows which schedules are due: pending firings, and the next ones of active schedules"
  },
  "begins each page at the first that is due": {
    change: (store) => {
      let reads = 0
      return {
        ...store,
        due: ({ after: _, ...options }) => (reads++ > 5 ? Effect.succeed([]) : store.due(options))
      }
    },
    tells: "reads due schedules page by page"
  },
  "erases nothing": {
    change: (store) => ({ ...store, erase: () => Effect.succeed(2) }),
    tells: "erases the schedules of one user"
  }
}

describe("ScheduleStoreSuite", () => {
  it("gives each case a name of its own", () => {
    const names = ScheduleStoreSuite.cases.map(({ name }) => name)
    assert.strictEqual(new Set(names).size, names.length)
  })

  for (const [what, { change, tells }] of Object.entries(broken)) {
    it.effect(`tells that a store ${what}`, () =>
      Effect.gen(function* () {
        const one = ScheduleStoreSuite.cases.find(({ name }) => name === tells)
        assert.isDefined(one)
        assert.isTrue(Exit.isFailure(yield* Effect.exit(ScheduleStoreSuite.check(one!, layer(change)))))
      })
    )
  }
})
