import * as FileSystem from "@effect/platform/FileSystem"
import { NodeContext } from "@effect/platform-node"
import { assert, describe, it } from "@effect/vitest"
import * as Chunk from "effect/Chunk"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import type { Entry } from "../../../src/eval/record/ExperimentRecord.js"
import * as ExperimentStore from "../../../src/eval/record/ExperimentStore.js"
import * as InMemoryExperimentStore from "../../../src/eval/record/InMemoryExperimentStore.js"
import * as JsonlExperimentStore from "../../../src/eval/record/JsonlExperimentStore.js"
import * as ExperimentStoreSuite from "../../../src/testing/runs/ExperimentStoreSuite.js"

type Service = ExperimentStore.Service

const memory = (change: (store: Service) => Service = (store) => store) =>
  Layer.sync(ExperimentStore.ExperimentStore, () => change(InMemoryExperimentStore.make()))

const jsonl = Layer.unwrapScoped(
  Effect.gen(function* () {
    const fs = yield* FileSystem.FileSystem
    const folder = yield* fs.makeTempDirectoryScoped()
    return JsonlExperimentStore.layer({ folder: `${folder}/of/experiments` })
  })
).pipe(Layer.provide(NodeContext.layer))

describe("InMemoryExperimentStore as an ExperimentStore", () => {
  for (const one of ExperimentStoreSuite.cases) {
    it(one.name, () => Effect.runPromise(ExperimentStoreSuite.check(one, memory())))
  }
})

describe("JsonlExperimentStore as an ExperimentStore", () => {
  for (const one of ExperimentStoreSuite.cases) {
    it(one.name, () => Effect.runPromise(ExperimentStoreSuite.check(one, jsonl)))
  }
})

/** What a store does to be wrong, and a case that must tell. */
const broken: Record<string, { readonly change: (store: Service) => Service; readonly tells: string }> = {
  "compares no fingerprints": {
    change: (store) => ({ ...store, open: (header) => store.open({ ...header, fingerprint: "same" }) }),
    tells: "gives the known experiment to the same one, and a conflict to another"
  },
  "keeps beginnings once": {
    change: (store) => {
      const begun = new Set<string>()
      return {
        ...store,
        append: (id, entry) => {
          const key = JSON.stringify([id, entry._tag, entry.trial])
          if (begun.has(key)) return Effect.void
          begun.add(key)
          return store.append(id, entry)
        }
      }
    },
    tells: "keeps the first end of a trial, and each beginning"
  },
  "keeps one label of a person": {
    change: (store) => {
      const labelled = new Set<string>()
      return {
        ...store,
        append: (id, entry) => {
          const key = entry._tag === "Labelled" ? `${id} ${entry.by}` : ""
          if (labelled.has(key)) return Effect.void
          if (key !== "") labelled.add(key)
          return store.append(id, entry)
        }
      }
    },
    tells: "keeps all labels of a trial in their order, also several of one person"
  },
  "reads ends before beginnings": {
    change: (store) => ({
      ...store,
      read: (id) =>
        Stream.concat(
          Stream.filter(store.read(id), ({ entry }) => entry._tag === "Ended"),
          Stream.filter(store.read(id), ({ entry }) => entry._tag === "Began")
        )
    }),
    tells: "keeps every field of an experiment and of its entries"
  },
  "knows no names": {
    change: (store) => ({ ...store, list: (filter) => store.list({ ...filter, name: undefined }) }),
    tells: "lists the newest first, by pages and by name"
  },
  "appends to anything": {
    change: (store) => ({ ...store, append: (id, entry) => Effect.ignore(store.append(id, entry)) }),
    tells: "fails for experiments that are not there"
  },
  "keeps one of two experiments": {
    change: (store) => ({ ...store, append: (_, entry) => store.append("e", entry) }),
    tells: "keeps experiments apart"
  },
  "removes nothing": {
    change: (store) => ({ ...store, remove: (id) => Effect.map(store.get(id), ({ _tag }) => _tag === "Some") }),
    tells: "removes an experiment with its entries"
  },
  "adds again and again": {
    change: (store) => ({
      ...store,
      open: (header) => Effect.map(store.open(header), () => ({ header, added: true }))
    }),
    tells: "adds one of many at once"
  },
  "goes on from the end of what it has": {
    change: (store) => ({
      ...store,
      read: (id, options) =>
        Stream.unwrap(
          Effect.map(Stream.runCollect(store.read(id, options)), (found) => {
            const end = Option.match(Chunk.last(found), { onNone: () => "0", onSome: ({ position }) => position })
            return Stream.fromChunk(Chunk.map(found, ({ entry }) => ({ entry, position: end })))
          })
        )
    }),
    tells: "goes on after each position, also with what was appended since"
  },
  "numbers entries before it shows them": {
    change: (store) => {
      const shown: Array<{ readonly number: number; readonly entry: Entry }> = []
      let last = 0
      return {
        ...store,
        append: (_, entry) =>
          Effect.suspend(() => {
            const number = ++last
            return Effect.zipRight(
              Effect.repeatN(Effect.yieldNow(), number % 7),
              Effect.sync(() => {
                shown.push({ number, entry })
              })
            )
          }),
        read: (_, { after = "0" } = {}) =>
          Stream.suspend(() =>
            Stream.fromIterable(
              shown
                .filter(({ number }) => number > Number(after))
                .sort((a, b) => a.number - b.number)
                .map(({ entry, number }) => ({ entry, position: `${number}` }))
            )
          )
      }
    },
    tells: "shows an entry of many that are appended at once to who goes on meanwhile"
  },
  "reads from the beginning where it finds no position": {
    change: (store) => ({
      ...store,
      read: (id, options) =>
        Stream.catchAll(store.read(id, options), (error) =>
          error.reason === "cursor" ? store.read(id) : Stream.fail(error)
        )
    }),
    tells: "fails for positions that no entry has"
  },
  "loses every hundredth entry": {
    change: (store) => {
      let count = 0
      return { ...store, append: (id, entry) => (++count % 100 === 0 ? Effect.void : store.append(id, entry)) }
    },
    tells: "loses nothing of what is appended at once"
  }
}

describe("ExperimentStoreSuite", () => {
  for (const [what, { change, tells }] of Object.entries(broken)) {
    it.effect(`tells of a store that ${what}`, () =>
      Effect.gen(function* () {
        const one = ExperimentStoreSuite.cases.find(({ name }) => name === tells)
        assert.isDefined(one)
        if (one === undefined) return
        assert.isTrue(Exit.isFailure(yield* Effect.exit(ExperimentStoreSuite.check(one, memory(change)))))
      })
    )
  }

  it("has a broken store for each promise", () => {
    assert.sameMembers(
      ExperimentStoreSuite.cases.map(({ name }) => name),
      Object.values(broken).map(({ tells }) => tells)
    )
  })
})
