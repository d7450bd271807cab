import { assert, describe, it } from "@effect/vitest"
import * as Chunk from "effect/Chunk"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import type { Header } from "../../../src/eval/record/ExperimentRecord.js"
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
        yield* store.list()
        yield* store.list({ name: "sums", limit: 1, cursor: '[1000,"name 1"]' })
        yield* store.remove("name 1")
        yield* store.remove("absent")
      })
  })
})
