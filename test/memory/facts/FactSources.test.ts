import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { EntryId } from "../../../src/domain/Ids.js"
import type { Options } from "../../../src/memory/facts/DefaultFactStore.js"
import type { NewFact } from "../../../src/memory/facts/Fact.js"
import type { FactBackend } from "../../../src/memory/facts/FactBackend.js"
import * as FactSources from "../../../src/memory/facts/FactSources.js"
import type * as FactStore from "../../../src/memory/facts/FactStore.js"
import * as InMemoryFactStore from "../../../src/memory/facts/InMemoryFactStore.js"
import * as SqlFactStore from "../../../src/persistence/memory/SqlFactStore.js"
import * as SqlBackends from "../../support/SqlBackends.js"

const ids = (...names: ReadonlyArray<string>) => names.map((name) => EntryId.make(name))

const likes = (subject: string, object: string, ...sources: ReadonlyArray<string>): NewFact => ({
  subject,
  predicate: "likes",
  object,
  validFrom: 1,
  sources: ids(...sources)
})

/** Counts the calls that read facts, and the rows that they return. */
const watched = () => {
  const seen = { calls: 0, rows: 0 }
  const wrapBackend = (backend: FactBackend): FactBackend => ({
    ...backend,
    find: (...args) =>
      Effect.tap(backend.find(...args), (rows) =>
        Effect.sync(() => {
          seen.calls++
          seen.rows += rows.length
        })
      )
  })
  return { seen, wrapBackend }
}

type Make<R> = (options: Options) => Effect.Effect<FactStore.Service, unknown, R>

/** What it reads to forget two entries beside facts of so many others. */
const readToForget = <R>(make: Make<R>, others: number) =>
  Effect.gen(function* () {
    const { seen, wrapBackend } = watched()
    const store = yield* make({ wrapBackend })
    yield* store.clear("ann")
    yield* store.assert(
      "ann",
      Array.from({ length: others }, (_, n) => likes(`Bob ${n}`, "tea", `other ${n}`))
    )
    yield* store.assert("ann", [likes("Ada", "tea", "e"), likes("Ada", "rain", "e"), likes("Ada", "snow", "f", "g")])
    Object.assign(seen, { calls: 0, rows: 0 })
    assert.strictEqual(yield* FactSources.forget(store, "ann", ids("e", "f")), 2)
    const read = { ...seen }
    assert.strictEqual(yield* store.count("ann", { at: 9 }), others + 1)
    return read
  })

const cases = <R>(make: Make<R>): ReadonlyArray<readonly [string, Effect.Effect<void, unknown, R>]> => [
  [
    "reads the facts of the entries, however many others there are",
    Effect.gen(function* () {
      const few = yield* readToForget(make, 10)
      assert.deepStrictEqual(few, { calls: 6, rows: 8 })
      assert.deepStrictEqual(yield* readToForget(make, 600), few)
    })
  ],
  [
    "forgets the facts of more entries than one query names, and reads nothing for none",
    Effect.gen(function* () {
      const { seen, wrapBackend } = watched()
      const store = yield* make({ wrapBackend })
      const names = Array.from({ length: 300 }, (_, n) => `e${n}`)
      yield* store.assert(
        "ann",
        names.map((name) => likes(`Bob ${name}`, "tea", name))
      )
      assert.strictEqual(yield* FactSources.forget(store, "ann", []), 0)
      assert.strictEqual(seen.calls, 0)
      assert.strictEqual(yield* FactSources.forget(store, "ann", ids(...names, ...names)), 300)
      assert.strictEqual(yield* store.count("ann", { at: 9 }), 0)
    })
  ]
]

describe("FactSources.forget", () => {
  for (const [title, test] of cases(InMemoryFactStore.make)) it.effect(`${title}: in memory`, () => test)

  SqlBackends.suite("on a database", ({ layer }) => {
    for (const [title, test] of cases(SqlFactStore.make)) it.effect(title, () => Effect.provide(test, layer))
  })
})
