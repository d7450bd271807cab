import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as InMemoryRunStore from "../../../src/agent/record/InMemoryRunStore.js"
import * as RunStore from "../../../src/agent/record/RunStore.js"
import { RunId } from "../../../src/domain/Ids.js"
import * as SystemAccess from "../../../src/domain/SystemAccess.js"
import * as RunStoreSuite from "../../../src/testing/runs/RunStoreSuite.js"

type Service = RunStore.Service

const layer = (change: (store: Service) => Service = (store) => store) =>
  Layer.sync(RunStore.RunStore, () => change(InMemoryRunStore.make()))

describe("InMemoryRunStore as a RunStore", () => {
  for (const one of RunStoreSuite.cases) it(one.name, () => Effect.runPromise(RunStoreSuite.check(one, layer())))
})

/** What a store does to be wrong, and a case that must tell. */
const broken: Record<string, { readonly change: (store: Service) => Service; readonly tells: string }> = {
  "shows every run to everybody": {
    change: (store) => ({
      ...store,
      list: (filter) => SystemAccess.grant(store.list({ ...filter, userId: undefined }))
    }),
    tells: "shows a run to its owner, and to the system that names no user"
  },
  "finds every run for everybody": {
    change: (store) => ({ ...store, get: (id) => SystemAccess.grant(store.get(id)) }),
    tells: "shows a run to its owner, and to the system that names no user"
  },
  "ignores the states from which a run changes": {
    change: (store) => ({
      ...store,
      update: (id, change) => store.update(id, { ...change, from: ["queued", "running", "waiting"] })
    }),
    tells: "changes a state only from one of the states named"
  },
  "lets an ended run go on": {
    change: (store) => {
      const again = new Map<string, string>()
      return {
        ...store,
        update: (id, change) =>
          Effect.map(
            store.update(id, change),
            Option.map((result) => {
              if (result.changed || change.to !== "running") return result
              again.set(id, change.to)
              return { record: { ...result.record, state: change.to }, changed: true }
            })
          )
      }
    },
    tells: "never changes a run that has ended"
  },
  "compares no fingerprints": {
    change: (store) => ({ ...store, insert: (record) => store.insert(record, "same") }),
    tells: "returns the known record to the same request, and refuses another one with its id"
  },
  "compares no owners": {
    change: (store) => ({
      ...store,
      insert: (record, fingerprint) =>
        Effect.flatMap(SystemAccess.grant(store.get(record.runId)), (known) =>
          Option.isSome(known)
            ? Effect.succeed({ record: known.value, added: false })
            : store.insert(record, fingerprint)
        )
    }),
    tells: "refuses the id of another owner's run even to the same request"
  },
  "selects by any label": {
    change: (store) => ({
      ...store,
      list: (filter) => {
        const [first] = Object.entries(filter?.labels ?? {})
        return store.list(first === undefined ? filter : { ...filter, labels: { [first[0]]: first[1] } })
      }
    }),
    tells: "selects runs that have all labels"
  },
  "begins each page at the newest run": {
    change: (store) => ({ ...store, list: (filter) => store.list({ ...filter, cursor: undefined }) }),
    tells: "leaves runs that begin meanwhile out of later pages"
  },
  "prunes runs that go on": {
    change: (store) => ({
      ...store,
      prune: (options) => Effect.zipLeft(store.prune(options), store.erase("ann"))
    }),
    tells: "prunes runs that ended before a time, and no others"
  },
  "erases nothing": {
    change: (store) => ({ ...store, erase: () => Effect.succeed(2) }),
    tells: "erases the runs of one user, whatever their state"
  }
}

describe("RunStoreSuite", () => {
  it("gives each case a name of its own", () => {
    const names = RunStoreSuite.cases.map(({ name }) => name)
    assert.strictEqual(new Set(names).size, names.length)
  })

  for (const [what, { change, tells }] of Object.entries(broken)) {
    it.effect(`tells that a store ${what}`, () =>
      Effect.gen(function* () {
        const one = RunStoreSuite.cases.find(({ name }) => name === tells)
        assert.isDefined(one)
        assert.isTrue(Exit.isFailure(yield* Effect.exit(RunStoreSuite.check(one!, layer(change)))))
      })
    )
  }
})

describe("InMemoryRunStore", () => {
  it.effect("keeps all runs that go on, and the newest of those that ended", () =>
    Effect.gen(function* () {
      const store = InMemoryRunStore.make({ maxEnded: 2 })
      const record = (id: string) =>
        ({ runId: RunId.make(id), agent: "a", state: "running", labels: {}, createdAt: 0, updatedAt: 0 }) as const
      for (const id of ["a", "b", "c", "d"]) yield* store.insert(record(id), id)
      for (const id of ["c", "a", "b"]) {
        yield* store.update(id, { from: ["running"], to: "completed", at: 1 })
      }
      const { records } = yield* store.list()
      assert.deepStrictEqual(
        records.map(({ runId }) => runId),
        ["d", "b", "a"]
      )
    })
  )
})
