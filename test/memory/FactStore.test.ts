import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as FastCheck from "effect/FastCheck"
import * as Option from "effect/Option"
import { EntryId } from "../../src/domain/Ids.js"
import type { Fact, NewFact } from "../../src/memory/Fact.js"
import * as FactStore from "../../src/memory/FactStore.js"

const said = (object: string, validFrom: number, more?: Partial<NewFact>): NewFact => ({
  subject: "Anna",
  predicate: "lives in",
  object,
  validFrom,
  ...more
})

const everything = { includeClosed: true, at: Number.MAX_VALUE, limit: 1000 }

/** What held when, in the order of time. */
const timeline = (facts: ReadonlyArray<Fact>) => {
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

const timelineOf = (batches: ReadonlyArray<ReadonlyArray<NewFact>>, options?: FactStore.MemoryOptions) =>
  Effect.gen(function* () {
    const store = yield* FactStore.makeMemory(options)
    for (const batch of batches) yield* store.assert("ann", batch)
    return timeline(yield* store.query("ann", everything))
  })

const source = (id: string) => EntryId.make(id)

describe("FactStore.assert: what is known already", () => {
  it.effect("the same triple in another case and with other spaces stays one fact, as sure as the surest", () =>
    Effect.gen(function* () {
      const store = yield* FactStore.makeMemory()
      const [first] = yield* store.assert("ann", [said("New  York", 5, { confidence: 0.6, sources: [source("e1")] })])
      const [second] = yield* store.assert("ann", [
        { ...said(" new york", 9, { confidence: 0.9, sources: [source("e2")] }), subject: "ANNA" }
      ])
      const [third] = yield* store.assert("ann", [
        said("New York", 7, { confidence: 0.1, sources: [source("e1"), source("e3")] })
      ])
      assert.deepStrictEqual(Option.getOrThrow(second!).id, Option.getOrThrow(first!).id)
      const fact = Option.getOrThrow(third!)
      assert.strictEqual(fact.object, "New  York")
      assert.strictEqual(fact.confidence, 0.9)
      assert.strictEqual(fact.validFrom, 5)
      assert.deepStrictEqual([...fact.sources].sort(), ["e1", "e2", "e3"])
      assert.strictEqual(yield* store.count("ann", { includeClosed: true, at: 100 }), 1)
    })
  )
})

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

describe("FactStore.assert: whatever the order", () => {
  it.effect("assertions about a predicate of one object give the history they tell", () =>
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
        { numRuns: 200 }
      )
    )
  )

  it.effect("some of which replace others give one history", () =>
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
        { numRuns: 300 }
      )
    )
  )
})
