import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as InMemoryQueueStore from "../../../src/agent/record/InMemoryQueueStore.js"
import * as QueueStore from "../../../src/agent/record/QueueStore.js"
import * as SystemAccess from "../../../src/domain/SystemAccess.js"
import * as QueueStoreSuite from "../../../src/testing/runs/QueueStoreSuite.js"

type Service = QueueStore.Service

const layer = (change: (store: Service) => Service = (store) => store) =>
  Layer.sync(QueueStore.QueueStore, () => change(InMemoryQueueStore.make()))

describe("InMemoryQueueStore as a QueueStore", () => {
  for (const one of QueueStoreSuite.cases) {
    it(one.name, () => Effect.runPromise(QueueStoreSuite.check(one, layer())))
  }
})

/** What a store does to be wrong, and a case that must tell. */
const broken: Record<string, { readonly change: (store: Service) => Service; readonly tells: string }> = {
  "shows every run to everybody": {
    change: (store) => ({ ...store, get: (id) => SystemAccess.grant(store.get(id)) }),
    tells: "shows a run to its owner, and to the system that names no user"
  },
  "has no limits": {
    change: (store) => ({ ...store, claim: (options) => store.claim({ ...options, perOwner: 99, perAgent: 99 }) }),
    tells: "keeps the limits of all runs, of owners and of agents"
  },
  "takes all runs for those of one owner": {
    change: (store) => ({
      ...store,
      add: ({ userId: _, ...run }, options) => store.add(run, options)
    }),
    tells: "lets the owners take turns, however many runs one of them has"
  },
  "ignores leases": {
    change: (store) => ({ ...store, takeOver: (options) => store.takeOver({ ...options, now: 1e15 }) }),
    tells: "lets another process take over claims whose lease has ended, and counts them meanwhile"
  },
  "takes any number": {
    change: (store) => ({ ...store, add: (run, { now }) => store.add(run, { now, maxWaiting: 1000 }) }),
    tells: "refuses more runs than may wait, and counts those that are delayed"
  }
}

describe("QueueStoreSuite", () => {
  it("gives each case a name of its own", () => {
    const names = QueueStoreSuite.cases.map(({ name }) => name)
    assert.strictEqual(new Set(names).size, names.length)
  })

  for (const [what, { change, tells }] of Object.entries(broken)) {
    it.effect(`tells that a store ${what}`, () =>
      Effect.gen(function* () {
        const one = QueueStoreSuite.cases.find(({ name }) => name === tells)
        assert.isDefined(one)
        assert.isTrue(Exit.isFailure(yield* Effect.exit(QueueStoreSuite.check(one!, layer(change)))))
      })
    )
  }
})
