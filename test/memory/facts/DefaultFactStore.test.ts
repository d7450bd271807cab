import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as FastCheck from "effect/FastCheck"
import * as Fiber from "effect/Fiber"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { EntryId } from "../../../src/domain/Ids.js"
import * as DefaultFactStore from "../../../src/memory/facts/DefaultFactStore.js"
import type { NewFact } from "../../../src/memory/facts/Fact.js"
import * as Fact from "../../../src/memory/facts/Fact.js"
import type { FactBackend } from "../../../src/memory/facts/FactBackend.js"
import * as FactCardinality from "../../../src/memory/facts/FactCardinality.js"
import * as FactTable from "../../../src/memory/facts/FactTable.js"
import * as InMemoryFactStore from "../../../src/memory/facts/InMemoryFactStore.js"
import * as TextAnalyzer from "../../../src/memory/text/TextAnalyzer.js"

const said = (object: string, validFrom: number, more?: Partial<NewFact>): NewFact => ({
  subject: "Anna",
  predicate: "lives in",
  object,
  validFrom,
  ...more
})

const everything = { includeClosed: true, at: Number.MAX_VALUE, limit: 1000 }

/** What held when, in the order of time. */
const timeline = (facts: ReadonlyArray<Fact.Fact>) => {
  const byId = new Map(facts.map((fact) => [fact.id, fact]))
  return facts
    .map((fact) => ({
      object: fact.object,
      from: fact.validFrom,
      to: fact.validTo,
      by: fact.closedBy === undefined ? undefined : byId.get(fact.closedBy)?.object,
      confidence: fact.confidence,
      sources: [...fact.sources].sort()
    }))
    .sort((a, b) => a.from - b.from || (a.object < b.object ? -1 : 1))
}

const timelineOf = (batches: ReadonlyArray<ReadonlyArray<NewFact>>, options?: InMemoryFactStore.Options) =>
  Effect.gen(function* () {
    const store = yield* InMemoryFactStore.make(options)
    for (const batch of batches) yield* store.assert("ann", batch)
    return timeline(yield* store.query("ann", everything))
  })

const source = (id: string) => EntryId.make(id)

interface Told {
  readonly object: string
  readonly at: number
  readonly confidence: number
  readonly replaces: boolean
}

const histories = FastCheck.uniqueArray(
  FastCheck.record({
    object: FastCheck.constantFrom("a", "b", "c"),
    at: FastCheck.integer({ min: 1, max: 30 }),
    confidence: FastCheck.constantFrom(0.2, 0.5, 0.9),
    replaces: FastCheck.boolean()
  }),
  { selector: ({ at }) => at, maxLength: 9 }
).chain((told) =>
  FastCheck.tuple(FastCheck.constant(told), FastCheck.shuffledSubarray(told, { minLength: told.length }))
)

const asFacts = (predicate: string, told: ReadonlyArray<Told>) =>
  told.map(({ at, confidence, object, replaces }) =>
    said(object, at, { predicate, confidence, replaces, sources: [source(`e${at}`)] })
  )

/** The same by a rule that knows everything at once. */
const expected = (told: ReadonlyArray<Told>) => {
  const rows: Array<{
    object: string
    from: number
    to: number | undefined
    by: string | undefined
    confidence: number
    sources: Array<string>
  }> = []
  for (const one of [...told].sort((a, b) => a.at - b.at)) {
    const last = rows.at(-1)
    if (last !== undefined && last.object === one.object) {
      last.confidence = Math.max(last.confidence, one.confidence)
      last.sources.push(`e${one.at}`)
      last.sources.sort()
      continue
    }
    if (last !== undefined) {
      last.to = one.at
      last.by = one.object
    }
    rows.push({
      object: one.object,
      from: one.at,
      to: undefined,
      by: undefined,
      confidence: one.confidence,
      sources: [`e${one.at}`]
    })
  }
  return rows
}

describe("FactStore.assert: in any order", () => {
  it.effect("gives the same history for a predicate with one object", () =>
    Effect.promise(() =>
      FastCheck.assert(
        FastCheck.asyncProperty(histories, ([told, shuffled]) =>
          Effect.runPromise(
            Effect.gen(function* () {
              const facts = asFacts("lives in", shuffled)
              assert.deepStrictEqual(yield* timelineOf(facts.map((fact) => [fact])), expected(told))
              assert.deepStrictEqual(yield* timelineOf([facts]), expected(told))
            })
          )
        ),
        { numRuns: 60 }
      )
    )
  )

  it.effect("gives the same history when some facts replace others", () =>
    Effect.promise(() =>
      FastCheck.assert(
        FastCheck.asyncProperty(histories, ([told, shuffled]) =>
          Effect.runPromise(
            Effect.gen(function* () {
              const facts = asFacts("likes", shuffled)
              const inOrder = yield* timelineOf(
                asFacts(
                  "likes",
                  [...told].sort((a, b) => a.at - b.at)
                ).map((fact) => [fact])
              )
              assert.deepStrictEqual(yield* timelineOf(facts.map((fact) => [fact])), inOrder)
              assert.deepStrictEqual(yield* timelineOf([facts]), inOrder)
            })
          )
        ),
        { numRuns: 100 }
      )
    )
  )
})

describe("FactStore: options", () => {
  it.effect("decides which predicates have one object at a time", () =>
    Effect.gen(function* () {
      const cardinality = (predicate: string) => (predicate === "likes most" ? "one" : "many")
      const store = yield* InMemoryFactStore.make({ cardinality })
      yield* store.assert("ann", [
        said("Paris", 1),
        said("Rome", 2),
        said("tea", 1, { predicate: " LIKES  most" }),
        said("milk", 2, { predicate: "likes most" })
      ])
      const facts = yield* store.query("ann", { at: 9 })
      assert.deepStrictEqual(facts.map(({ object }) => object).sort(), ["Paris", "Rome", "milk"])
    })
  )

  it("has a standard list in lower case, with favorites", () => {
    for (const predicate of FactCardinality.single) {
      assert.strictEqual(predicate, predicate.toLowerCase().trim())
      assert.strictEqual(FactCardinality.standard(predicate), "one")
    }
    assert.strictEqual(FactCardinality.standard("has favourite colour"), "one")
    assert.strictEqual(FactCardinality.standard("has dog"), "many")
  })

  it.effect("bounds the open facts of a subject, unless a call overrides it", () =>
    Effect.gen(function* () {
      const store = yield* InMemoryFactStore.make({ maxFactsPerEntity: 2 })
      const told = ["a", "b", "c"].map((object, index) => said(object, index, { predicate: "likes" }))
      const kept = yield* store.assert("ann", told)
      assert.deepStrictEqual(kept.map(Option.isSome), [false, true, true])
      yield* store.assert("ann", told, { maxFactsPerEntity: 3 })
      assert.strictEqual(yield* store.count("ann", { at: 9 }), 3)
    })
  )

  it.effect("keeps 100 open facts of a subject and 1000 closed ones, those that ended last", () =>
    Effect.gen(function* () {
      const store = yield* InMemoryFactStore.make()
      yield* store.assert(
        "ann",
        Array.from({ length: 130 }, (_, index) => said(`thing ${index}`, index, { predicate: "likes" }))
      )
      assert.strictEqual(yield* store.count("ann", { at: 9999 }), 100)
      for (let index = 0; index < 1010; index += 10) {
        yield* store.assert(
          "bob",
          Array.from({ length: 10 }, (_, more) => said(`place ${index + more}`, index + more))
        )
      }
      const all = yield* store.query("bob", { ...everything, limit: 2000 })
      assert.strictEqual(all.length, 1001)
      assert.strictEqual(Math.min(...all.map(({ validFrom }) => validFrom)), 9)
      const few = yield* InMemoryFactStore.make({ maxClosedPerEntity: 2 })
      yield* few.assert("ann", [said("a", 1), said("b", 2), said("c", 3), said("d", 4)])
      assert.deepStrictEqual(
        timeline(yield* few.query("ann", everything)).map(({ object }) => object),
        ["b", "c", "d"]
      )
    })
  )

  it.effect("rejects new facts when full, and accepts changes that add none", () =>
    Effect.gen(function* () {
      const store = yield* InMemoryFactStore.make({ capacity: 2 })
      yield* store.assert("ann", [said("Paris", 1)])
      yield* store.assert("bob", [said("Paris", 1)])
      const error = yield* Effect.flip(store.assert("ann", [said("Rome", 2)]))
      assert.strictEqual(error._tag, "MemoryCapacityError")
      assert.strictEqual(yield* store.count("ann", everything), 1)
      yield* store.assert("ann", [said("Paris", 5)])
      yield* store.clear("bob")
      yield* store.assert("ann", [said("Rome", 9)])
      assert.strictEqual(yield* store.count("ann", everything), 2)
    })
  )

  it.effect("analyzes texts with the given analyzer", () =>
    Effect.gen(function* () {
      const told = said("running shoes", 1, { predicate: "likes" })
      const stemmed = yield* InMemoryFactStore.make()
      yield* stemmed.assert("ann", [told])
      assert.strictEqual((yield* stemmed.search("ann", "runs", { at: 9 })).length, 1)
      const plain = yield* InMemoryFactStore.make({ analyzer: TextAnalyzer.plain })
      yield* plain.assert("ann", [told])
      assert.strictEqual((yield* plain.search("ann", "runs", { at: 9 })).length, 0)
      assert.strictEqual((yield* plain.search("ann", "running", { at: 9 })).length, 1)
    })
  )
})

describe("FactStore.fromBackend", () => {
  it.effect("loses nothing when two processes share a database", () =>
    Effect.gen(function* () {
      const table = FactTable.make()
      // Each answer lets the others run first.
      const slow: FactBackend = {
        ...table,
        near: (ownerId, options) => Effect.zipLeft(table.near(ownerId, options), Effect.yieldNow()),
        get: (ownerId, ids) => Effect.zipLeft(table.get(ownerId, ids), Effect.yieldNow())
      }
      const stores = Array.from({ length: 4 }, () => DefaultFactStore.fromBackend(slow))
      yield* Effect.forEach(
        Array.from({ length: 40 }, (_, index) => index),
        (index) =>
          stores[index % 4]!.assert("ann", [
            said(`place ${index}`, index),
            said("tea", 1, { predicate: "likes", sources: [source(`e${index}`)] })
          ]),
        { concurrency: "unbounded", discard: true }
      )
      const facts = yield* stores[0]!.query("ann", everything)
      const places = timeline(facts.filter(({ predicate }) => predicate === "lives in"))
      assert.deepStrictEqual(
        places.map(({ from, object, to }) => [object, from, to]),
        places.map((_, index) => [`place ${index}`, index, index === 39 ? undefined : index + 1])
      )
      assert.strictEqual(places.length, 40)
      assert.strictEqual(facts.find(({ object }) => object === "tea")?.sources.length, 40)
    })
  )

  it.effect("fails with a StorageError when the backend's revision never matches", () =>
    Effect.gen(function* () {
      const store = DefaultFactStore.fromBackend({ ...FactTable.make(), apply: () => Effect.succeedNone })
      const error = yield* Effect.flip(store.assert("ann", [said("Paris", 1)]))
      assert.strictEqual(error._tag, "StorageError")
    })
  )

  it.effect("fails with a StorageError that quotes nothing for a row that no store wrote", () =>
    Effect.gen(function* () {
      const table = FactTable.make()
      const bodies = [
        "",
        "no json",
        "null",
        "[]",
        '{"subject":"hush"}',
        '{"subject":"hush","predicate":"p","object":"o","recordedAt":1,"metadata":{},"mentions":[null]}'
      ]
      for (const body of bodies) {
        const backend: FactBackend = {
          ...table,
          get: (ownerId, ids) => Effect.map(table.get(ownerId, ids), (rows) => rows.map((row) => ({ ...row, body }))),
          find: (ownerId, options) =>
            Effect.map(table.find(ownerId, options), (rows) => rows.map((row) => ({ ...row, body }))),
          near: (ownerId, options) =>
            Effect.map(table.near(ownerId, options), (rows) => rows.map((row) => ({ ...row, body })))
        }
        const store = DefaultFactStore.fromBackend(backend)
        const [kept] = yield* DefaultFactStore.fromBackend(table).assert("ann", [said("Paris", 1)])
        const { id } = Option.getOrThrow(kept!)
        for (const call of [
          store.get("ann", id),
          store.query("ann", everything),
          store.assert("ann", [said("Paris", 2)]),
          store.close("ann", id)
        ] as ReadonlyArray<Effect.Effect<unknown, { readonly _tag: string }>>) {
          const error = yield* Effect.flip(call)
          assert.strictEqual(error._tag, "StorageError", body)
          assert.notInclude(JSON.stringify(error), "hush")
        }
      }
    })
  )

  it.effect("changes and blocks nothing when an assertion is interrupted while it waits", () =>
    Effect.gen(function* () {
      const table = FactTable.make()
      const entered = yield* Deferred.make<void>()
      const gate = yield* Deferred.make<void>()
      let slow = true
      const store = DefaultFactStore.fromBackend({
        ...table,
        revision: (ownerId) =>
          slow
            ? Deferred.succeed(entered, undefined).pipe(
                Effect.zipRight(Deferred.await(gate)),
                Effect.zipRight(table.revision(ownerId))
              )
            : table.revision(ownerId)
      })
      const first = yield* Effect.fork(store.assert("ann", [said("Paris", 1)]))
      yield* Deferred.await(entered)
      const second = yield* Effect.fork(store.assert("ann", [said("Rome", 2)]))
      yield* Effect.yieldNow()
      yield* store.assert("bob", [said("Oslo", 1)]).pipe(Effect.fork)
      yield* Fiber.interrupt(second)
      yield* Fiber.interrupt(first)
      slow = false
      yield* store.assert("ann", [said("Bern", 3)])
      assert.deepStrictEqual(
        timeline(yield* store.query("ann", everything)).map(({ object }) => object),
        ["Bern"]
      )
      yield* Deferred.succeed(gate, undefined)
    })
  )

  it.effect("returns facts that match their schema", () =>
    Effect.gen(function* () {
      const store = yield* InMemoryFactStore.make()
      yield* store.assert("ann", [said("Paris", 1, { sources: [source("e1")], metadata: { a: 1 } }), said("Rome", 2)])
      for (const fact of yield* store.query("ann", everything)) {
        assert.deepStrictEqual(yield* Schema.decodeUnknown(Fact.Fact)(fact), fact)
      }
    })
  )
})
