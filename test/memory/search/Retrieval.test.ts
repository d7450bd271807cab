import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as FastCheck from "effect/FastCheck"
import * as TestClock from "effect/TestClock"
import * as TestContext from "effect/TestContext"
import { EntryId, SessionId } from "../../../src/domain/Ids.js"
import type * as Embedder from "../../../src/llm/embedding/Embedder.js"
import * as MemoryEntry from "../../../src/memory/entry/MemoryEntry.js"
import * as InMemoryMemoryStore from "../../../src/memory/search/InMemoryMemoryStore.js"
import * as Retrieval from "../../../src/memory/search/Retrieval.js"
import * as VectorIndex from "../../../src/memory/search/VectorIndex.js"

const day = 86_400_000
const now = 400 * day

interface Fields {
  readonly content: string
  readonly role?: "user" | "assistant"
  readonly age?: number
  readonly ownerId?: string
  readonly sessionId?: string
  readonly importance?: number
  readonly metadata?: Record<string, unknown>
}

const entry = (id: string, { age = 0, sessionId, ...fields }: Fields): MemoryEntry.MemoryEntry =>
  MemoryEntry.make({
    ownerId: "ann",
    role: "user",
    timestamp: now - age * day,
    ...(sessionId === undefined ? {} : { sessionId: SessionId.make(sessionId) }),
    ...fields,
    id: EntryId.make(id)
  })

const relevanceAlone = { recencyWeight: 0, importanceWeight: 0, relevanceWeight: 1 } as const
const defaults = { recencyWeight: 0.3, importanceWeight: 0.3, relevanceWeight: 0.4 } as const

const ids = (results: ReadonlyArray<MemoryEntry.MemorySearchResult>) => results.map((one) => one.entry.id as string)

const storeOf = (entries: ReadonlyArray<MemoryEntry.MemoryEntry>) =>
  Effect.gen(function* () {
    yield* TestClock.setTime(now)
    const store = yield* InMemoryMemoryStore.make({ ttl: 0 })
    yield* store.storeMany(entries)
    return store
  })

const asked = (query: string, fields: Partial<MemoryEntry.MemoryQuery> = {}): MemoryEntry.MemoryQuery => ({
  ownerId: "ann",
  query,
  ...relevanceAlone,
  ...fields
})

describe("Retrieval", () => {
  it.effect("ranks an old relevant entry above fresh talk about other things", () =>
    Effect.gen(function* () {
      const talk = Array.from({ length: 300 }, (_, at) =>
        entry(`t${at}`, { content: `the ${at % 2 ? "weather" : "garden"} looked number${at} today`, age: at / 10 })
      )
      const store = yield* storeOf([
        ...talk,
        entry("evidence", { content: "the violin of the garden ensemble is kept in Trieste", age: 180 })
      ])
      const results = yield* store.retrieve(asked("which garden ensemble keeps a violin today", defaults))
      assert.include(ids(results), "evidence")
    })
  )

  it.effect("gives a name no weight that many entries have, as in a dialogue", () =>
    Effect.gen(function* () {
      const store = yield* storeOf([
        ...Array.from({ length: 40 }, (_, at) =>
          entry(`hello${at}`, { content: `Marta, hello again and good luck with number ${at}`, age: 2 })
        ),
        ...Array.from({ length: 60 }, (_, at) =>
          entry(`talk${at}`, { content: `we talked about topic ${at}`, age: 2 })
        ),
        entry("evidence", { content: "my violin recital was on Friday, in the old church", age: 9 }),
        entry("decoy", { content: "Marta, the weather on Friday is fine", age: 9 })
      ])
      const [best] = ids(yield* store.retrieve(asked("When was the recital of Marta in the church?")))
      assert.strictEqual(best, "evidence")
    })
  )

  const addressed = (name: string, role: "user" | "assistant", count = 30) =>
    Array.from({ length: count }, (_, at) => [
      entry(`to${at}`, { content: `Thanks, ${name}! That helps with number ${at}.`, role, age: 2 }),
      entry(`talk${at}`, {
        content: `we talked about topic ${at}`,
        role: role === "user" ? "assistant" : "user",
        age: 2
      })
    ]).flat()
  const trips = (name: string) => [
    entry("by user", { content: `${name} the trip went to Porto by train`.trim(), age: 9 }),
    entry("by assistant", { content: "the trip went to Porto by train", role: "assistant", age: 9 })
  ]

  it.effect("prefers what someone says whom the other role addresses by the name of the query", () =>
    Effect.gen(function* () {
      const query = asked("Where did the trip of Marta go by train?", { topK: 2 })
      const told = yield* storeOf([...addressed("Marta", "user"), ...trips("Marta")])
      assert.deepStrictEqual(ids(yield* told.retrieve(query)), ["by assistant", "by user"])
      const other = yield* storeOf([...addressed("Marta", "assistant"), ...trips("")])
      assert.deepStrictEqual(ids(yield* other.retrieve(query)), ["by user", "by assistant"])
    })
  )

  it.effect("does not take someone who is much talked about for the other speaker", () =>
    Effect.gen(function* () {
      const query = asked("Where did the trip of Marta go by train?", { topK: 2 })
      const about = Array.from({ length: 40 }, (_, at) =>
        entry(`about${at}`, { content: `I saw how Marta walked past house ${at}`, age: 2 })
      )
      const store = yield* storeOf([...about, ...trips("")])
      const scores = (yield* store.retrieve(query)).map(({ relevance }) => relevance)
      assert.strictEqual(scores[0], scores[1])
    })
  )

  it.effect("takes a name and a colon before a text for its speaker", () =>
    Effect.gen(function* () {
      const store = yield* storeOf([
        ...Array.from({ length: 30 }, (_, at) => [
          entry(`m${at}`, { content: `Marta: number ${at} is fine`, age: 2 }),
          entry(`t${at}`, { content: `Tom: I agree, Marta, on ${at}`, role: "assistant", age: 2 })
        ]).flat(),
        entry("hers", { content: "Marta: the recital was in the church", age: 9 }),
        entry("his", { content: "Tom: Marta, the recital was in the church", role: "assistant", age: 9 })
      ])
      const found = ids(yield* store.retrieve(asked("Where was the recital of Marta?", { topK: 2 })))
      assert.deepStrictEqual(found, ["hers", "his"])
    })
  )

  it.effect("prefers entries of the date that a query names", () =>
    Effect.gen(function* () {
      // 5 February 1971 is 400 days after the epoch.
      const store = yield* storeOf([
        entry("february", { content: "we were camping at the lake", age: 0 }),
        entry("january", { content: "we were camping at the lake", age: 20 }),
        entry("last february", { content: "we were camping at the lake", age: 365 })
      ])
      const best = (query: string) => Effect.map(store.retrieve(asked(query, { topK: 1 })), ids)
      assert.deepStrictEqual(yield* best("who was camping at the lake in January?"), ["january"])
      assert.deepStrictEqual(yield* best("who was camping at the lake in 1970?"), ["last february"])
      assert.deepStrictEqual(yield* best("who was camping at the lake on February 5th, 1971?"), ["february"])
      assert.deepStrictEqual(yield* best("who was camping at the lake?"), ["february"])
    })
  )

  it.effect("finds an entry by the conversation around it", () =>
    Effect.gen(function* () {
      const noise = Array.from({ length: 30 }, (_, at) =>
        entry(`noise${at}`, { content: `the boat needs paint, part ${at}`, sessionId: `other${at}`, age: 3 })
      )
      const store = yield* storeOf([
        ...noise,
        entry("a", { content: "we sailed around the island of Hvar with a rented boat", sessionId: "s", age: 5.002 }),
        entry("b", { content: "the boat was blue", sessionId: "s", age: 5.001 }),
        entry("c", { content: "the harbour of the island was full", sessionId: "s", age: 5 }),
        entry("alone", { content: "the boat was blue", sessionId: "elsewhere", age: 5 })
      ])
      const found = ids(yield* store.retrieve(asked("which rented boat did we sail around the island")))
      assert.isBelow(found.indexOf("b"), found.indexOf("alone"))
      assert.strictEqual(found[0], "a")
    })
  )

  it.effect("lifts entries by the names in their metadata only if they are few", () =>
    Effect.gen(function* () {
      const tagged = (count: number) =>
        Array.from({ length: count }, (_, at) =>
          entry(`tagged${at}`, { content: `something else ${at}`, metadata: { entities: ["Marta"] }, age: 1 })
        )
      const evidence = entry("evidence", { content: "the recital was in the church", age: 9 })
      const query = asked("Where was the recital of Marta?", { topK: 20 })
      const few = ids(yield* (yield* storeOf([...tagged(3), evidence])).retrieve(query))
      assert.includeMembers(few, ["tagged0", "tagged1", "tagged2", "evidence"])
      const many = yield* (yield* storeOf([...tagged(40), evidence])).retrieve(query)
      assert.strictEqual(many[0]?.entry.id, "evidence")
      assert.isTrue(many.slice(1).every(({ relevance }) => relevance === 0))
    })
  )

  it.effect("ranks an entry with the name of the query above one with another name", () =>
    Effect.gen(function* () {
      const store = yield* storeOf([
        entry("other", { content: "the birthday of Tom falls in the wet season" }),
        entry("named", { content: "long talk about plants with Marta, her birthday, and much else besides that" })
      ])
      const results = yield* store.retrieve(asked("when is the birthday season of Marta", { explain: true }))
      assert.deepStrictEqual(ids(results), ["named", "other"])
      assert.strictEqual(results[0]?.explanation?.ranks["entity"], 1)
      assert.isUndefined(results[1]?.explanation?.ranks["entity"])
    })
  )

  it.effect("finds an entry by a name in its metadata", () =>
    Effect.gen(function* () {
      const store = yield* storeOf([
        entry("tagged", { content: "she said yes", metadata: { entities: ["Marta"] } }),
        entry("plain", { content: "he said no" }),
        entry("odd", { content: "nothing", metadata: { entities: "Marta of no list" } })
      ])
      const results = yield* store.retrieve(asked("was it agreed by Marta", { minRelevance: 0.01 }))
      assert.deepStrictEqual(ids(results), ["tagged"])
      const filtered = yield* store.retrieve(
        asked("was it agreed by Marta", { minRelevance: 0.01, filters: { entities: { in: ["Tom"] } } })
      )
      assert.deepStrictEqual(ids(filtered), [])
    })
  )

  it.effect("accepts names with special characters of regular expressions", () =>
    Effect.gen(function* () {
      const names = ["Ann-Marie", '"C++ (2nd)"', '"[a|b]*"', "O'Brien", '"$^\\"', '"/x/-y"']
      const store = yield* storeOf([entry("e", { content: "Ann-Marie teaches C++ to O'Brien" })])
      for (const name of names) {
        assert.deepStrictEqual(ids(yield* store.retrieve(asked(`what about ${name} then`))), ["e"])
      }
    })
  )

  it.effect("takes linear time for names and contents of 100 kB", () =>
    Effect.gen(function* () {
      const store = yield* storeOf([
        entry("a", { content: "A".repeat(100_000) }),
        entry("b", { content: "Marta-".repeat(17_000) }),
        entry("c", { content: `${'"Ma rta" '.repeat(12_000)} zebra` })
      ])
      for (const text of [
        `about "${"A".repeat(55)}" and the Marta${"-Marta".repeat(9)}x of zebra`,
        `of ${"Aa ".repeat(33_000)}`,
        `of ${'"A '.repeat(33_000)}`
      ]) {
        assert.isAtMost((yield* store.retrieve(asked(text))).length, 3)
      }
    })
  )

  it.effect("finds the entry after a question by the question", () =>
    Effect.gen(function* () {
      const talk = (sessionId: string, first: string) => [
        entry(`${sessionId}1`, { content: first, sessionId, age: 3 }),
        entry(`${sessionId}2`, { content: "a half marathon, thrice a week", sessionId, age: 2 })
      ]
      const store = yield* storeOf([
        ...talk("asked", "what is Marta training for?"),
        ...talk("told", "Marta goes to training"),
        entry("alone", { content: "is Marta training?" })
      ])
      const results = yield* store.retrieve(asked("training of Marta", { minRelevance: 0.01, explain: true }))
      assert.sameMembers(ids(results), ["asked1", "asked2", "told1", "alone"])
      const answer = results.find((one) => one.entry.id === "asked2")
      assert.deepStrictEqual(answer?.explanation?.ranks, { answer: 1 })
      const question = results.find((one) => one.entry.id === "asked1")
      assert.isBelow(answer?.relevance ?? 1, question?.relevance ?? 0)
      const users = yield* store.retrieve(asked("training of Marta", { minRelevance: 0.01, sessionIds: [] }))
      assert.deepStrictEqual(ids(users), [])
    })
  )

  it.effect("gives the best of a good match relevance 1, and less for missing words", () =>
    Effect.gen(function* () {
      const store = yield* storeOf([
        entry("all", { content: "blue whale migration" }),
        entry("two", { content: "blue whale dinner" }),
        entry("one", { content: "whale watching tour" }),
        entry("none", { content: "tax return" })
      ])
      const results = yield* store.retrieve(asked("blue whale migration"))
      assert.deepStrictEqual(ids(results), ["all", "two", "one", "none"])
      const [all, two, one, none] = results.map(({ relevance }) => relevance)
      assert.closeTo(all ?? 0, 1, 1e-9)
      assert.isAbove(two ?? 0, one ?? 1)
      assert.isAbove(one ?? 0, 0)
      assert.strictEqual(none, 0)
      const strict = yield* store.retrieve(asked("blue whale migration", { minRelevance: 0.99 }))
      assert.deepStrictEqual(ids(strict), ["all"])
    })
  )

  it.effect("gives the best of poor matches less than full relevance", () =>
    Effect.gen(function* () {
      const words = Array.from({ length: 40 }, (_, at) => `unknown${at}`).join(" ")
      const store = yield* storeOf([entry("poor", { content: "whale" }), entry("none", { content: "tax" })])
      const [result] = yield* store.retrieve(asked(`${words} whale`))
      assert.strictEqual(result?.entry.id, "poor")
      assert.isBelow(result?.relevance ?? 1, 0.5)
      assert.isAbove(result?.relevance ?? 0, 0)
    })
  )

  it.effect("fills up to ten results with the newest entries", () =>
    Effect.gen(function* () {
      const store = yield* storeOf([
        entry("match", { content: "zebra", age: 300 }),
        ...Array.from({ length: 30 }, (_, at) => entry(`r${at}`, { content: `talk ${at}`, age: at }))
      ])
      const results = yield* store.retrieve(asked("zebra", { topK: 100, explain: true }))
      assert.deepStrictEqual(ids(results), ["match", ...Array.from({ length: 9 }, (_, at) => `r${at}`)])
      assert.deepStrictEqual(results[1]?.explanation?.ranks, { recent: 1 })
      assert.deepStrictEqual(ids(yield* store.retrieve(asked("zebra", { minRelevance: 0.001 }))), ["match"])
    })
  )

  it.effect("fails with a MemoryStoreError for weights that are all 0", () =>
    Effect.gen(function* () {
      const store = yield* storeOf([entry("a", { content: "zebra" })])
      const error = yield* Effect.flip(store.retrieve(asked("zebra", { relevanceWeight: 0 })))
      assert.strictEqual(error._tag, "MemoryStoreError")
      assert.notInclude(error.message, "zebra")
    })
  )

  it.effect("finds an old important entry among thousands of newer ones without a query text", () =>
    Effect.gen(function* () {
      const newer = Array.from({ length: 3000 }, (_, at) =>
        entry(`n${at}`, { content: "talk", age: at / 100, importance: 0.2 })
      )
      const store = yield* storeOf([...newer, entry("weighty", { content: "the will", age: 60, importance: 1 })])
      const results = yield* store.retrieve(
        asked("", { importanceWeight: 0.8, recencyWeight: 0.2, relevanceWeight: 0 })
      )
      assert.strictEqual(results[0]?.entry.id, "weighty")
      assert.strictEqual(results.length, 10)
    })
  )

  it.effect("joins pages without a query text to the whole, in the order of scores", () =>
    Effect.gen(function* () {
      const entries = Array.from({ length: 700 }, (_, at) =>
        entry(`e${at}`, { content: "talk", age: (at * 37) % 200, importance: ((at * 7) % 10) / 10 })
      )
      const store = yield* storeOf(entries)
      const weights = { recencyWeight: 0.3, importanceWeight: 0.3, relevanceWeight: 0.4 }
      const score = (one: MemoryEntry.MemoryEntry) =>
        0.3 * 2 ** -((now - one.timestamp) / (30 * day)) + 0.3 * one.importance
      const expected = [...entries].sort(
        (a, b) => score(b) - score(a) || b.timestamp - a.timestamp || (a.id < b.id ? -1 : 1)
      )
      const joined: Array<string> = []
      for (let offset = 0; offset < 700; offset += 90) {
        joined.push(...ids(yield* store.retrieve(asked("", { ...weights, topK: 90, offset }))))
      }
      assert.strictEqual(new Set(joined).size, 700)
      // Scores that are equal but for rounding may change places.
      const byId = new Map<string, MemoryEntry.MemoryEntry>(entries.map((one) => [one.id, one]))
      joined.forEach((id, at) => {
        assert.closeTo(score(byId.get(id)!), score(expected[at]!), 1e-9)
      })
    })
  )

  it.effect("joins pages without duplicates and with diversity, too", () =>
    Effect.gen(function* () {
      const store = yield* storeOf(
        Array.from({ length: 40 }, (_, at) =>
          entry(`e${at}`, { content: `zebra ${"abcdefg"[at % 7]} ${"xyz"[at % 3]} herd`, age: at })
        )
      )
      for (const fields of [
        { suppressDuplicates: 0.9 },
        { diversity: 0.7 },
        { diversity: 0.4, suppressDuplicates: 1 }
      ]) {
        const whole = ids(yield* store.retrieve(asked("zebra herd", { ...defaults, ...fields, topK: 40 })))
        assert.strictEqual(whole.length, "suppressDuplicates" in fields ? 21 : 40)
        const joined: Array<string> = []
        for (let offset = 0; offset < 42; offset += 6) {
          joined.push(...ids(yield* store.retrieve(asked("zebra herd", { ...defaults, ...fields, topK: 6, offset }))))
        }
        assert.deepStrictEqual(joined, whole)
      }
    })
  )

  it.effect("returns nothing past the pool", () =>
    Effect.gen(function* () {
      const store = yield* storeOf(
        Array.from({ length: 250 }, (_, at) => entry(`e${at}`, { content: "zebra", age: at }))
      )
      const all = yield* store.retrieve(asked("zebra", { topK: 1000 }))
      assert.strictEqual(all.length, Retrieval.poolSize)
      assert.deepStrictEqual(yield* store.retrieve(asked("zebra", { offset: Retrieval.poolSize })), [])
    })
  )

  const word = FastCheck.constantFrom("zebra", "lion", "Marta", "herd", "river", "rain?", "why")
  const talk = FastCheck.record({
    content: FastCheck.array(word, { maxLength: 6 }).map((words) => words.join(" ")),
    age: FastCheck.integer({ min: -5, max: 300 }),
    importance: FastCheck.double({ min: 0, max: 1, noNaN: true }),
    sessionId: FastCheck.constantFrom("s", "t")
  })
  const weight = FastCheck.constantFrom(0, 0.1, 0.5, 1)
  const query = FastCheck.record({
    query: FastCheck.array(word, { maxLength: 4 }).map((words) => words.join(" ")),
    recencyWeight: weight,
    importanceWeight: weight,
    relevanceWeight: FastCheck.constantFrom(0.2, 1),
    minRelevance: FastCheck.constantFrom(0, 0.2, 0.9)
  })

  it("returns descending scores from 0 to 1 that add up, and the same answer again", () =>
    FastCheck.assert(
      FastCheck.asyncProperty(FastCheck.array(talk, { maxLength: 40 }), query, (talks, fields) =>
        Effect.gen(function* () {
          const store = yield* storeOf(talks.map((one, at) => entry(`e${at}`, one)))
          const whole = yield* store.retrieve(asked(fields.query, { ...fields, topK: 100, explain: true }))
          whole.forEach((one, at) => {
            assert.isTrue(one.score >= 0 && one.score <= 1 && one.relevance >= 0 && one.relevance <= 1)
            assert.isAtLeast(one.relevance, fields.minRelevance)
            assert.isAtMost(one.score, whole[at - 1]?.score ?? 1)
            const parts = one.explanation!
            const { weights } = parts
            const sum =
              parts.recency * weights.recency +
              parts.importance * weights.importance +
              parts.relevance * weights.relevance
            assert.closeTo(sum, one.score, 1e-9)
          })
          const joined: Array<string> = []
          for (let offset = 0; offset < whole.length + 3; offset += 3) {
            joined.push(...ids(yield* store.retrieve(asked(fields.query, { ...fields, topK: 3, offset }))))
          }
          assert.deepStrictEqual(joined, ids(whole))
          const again = yield* store.retrieve(asked(fields.query, { ...fields, topK: 100, explain: true }))
          assert.deepStrictEqual(again, whole)
        }).pipe(Effect.provide(TestContext.TestContext), Effect.runPromise)
      ),
      { numRuns: 40 }
    ))

  const directions: { readonly [text: string]: ReadonlyArray<number> } = {
    "car repair": [1, 0, 0],
    "mending an automobile": [0.96, 0.28, 0],
    "boiling an egg": [0, 1, 0],
    "how do I fix my vehicle": [0.98, 0.2, 0]
  }
  const embedder: Embedder.Service = {
    model: "table",
    dimensions: 3,
    embed: (text) => Effect.succeed(Float32Array.from(directions[text] ?? [0, 0, 1])),
    embedMany: (texts) => Effect.forEach(texts, (text) => embedder.embed(text))
  }

  it.effect("finds entries without query words by vectors, and explains the similarity", () =>
    Effect.gen(function* () {
      yield* TestClock.setTime(now)
      const index = yield* VectorIndex.makeMemory({ model: "table", dimensions: 3 })
      const store = yield* InMemoryMemoryStore.make({ ttl: 0, vectors: { embedder, index } })
      yield* store.storeMany([
        entry("car", { content: "car repair" }),
        entry("auto", { content: "mending an automobile" }),
        entry("egg", { content: "boiling an egg" })
      ])
      const results = yield* store.retrieve(asked("how do I fix my vehicle", { explain: true }))
      assert.deepStrictEqual(ids(results), ["auto", "car", "egg"])
      assert.isAbove(results[1]?.relevance ?? 0, 0.5)
      assert.isBelow(results[2]?.relevance ?? 1, 0.1)
      const first = results[0]?.explanation
      assert.isUndefined(first?.lexical)
      assert.closeTo(first?.vector ?? 0, 0.9968, 1e-3)
      assert.strictEqual(first?.ranks["vector"], 1)
      assert.closeTo(first?.fused ?? 0, 1 / 61, 1e-9)
    })
  )

  it.effect("weighs vectors against words as it is told", () =>
    Effect.gen(function* () {
      yield* TestClock.setTime(now)
      const found = Effect.fnUntraced(function* (vectorWeight: number) {
        const index = yield* VectorIndex.makeMemory({ model: "table", dimensions: 3 })
        const store = yield* InMemoryMemoryStore.make({ ttl: 0, vectorWeight, vectors: { embedder, index } })
        yield* store.storeMany([
          entry("auto", { content: "mending an automobile" }),
          entry("words", { content: "a vehicle is no egg" })
        ])
        return yield* store.retrieve(asked("how do I fix my vehicle"))
      })
      assert.deepStrictEqual(ids(yield* found(0)), ["words", "auto"])
      assert.deepStrictEqual(ids(yield* found(1)), ["auto", "words"])
      for (const wrong of [Number.NaN, -0.1, 1.1]) {
        const error = yield* Effect.flip(found(wrong))
        assert.strictEqual(error._tag, "MemoryStoreError")
        assert.strictEqual(error.hint, "Give a number from 0 to 1")
      }
    })
  )

  it.effect("ignores a vector that outlived its entry", () =>
    Effect.gen(function* () {
      yield* TestClock.setTime(now)
      const index = yield* VectorIndex.makeMemory({ model: "table", dimensions: 3 })
      const store = yield* InMemoryMemoryStore.make({ ttl: 0, vectors: { embedder, index } })
      yield* store.store(entry("car", { content: "car repair" }))
      yield* index.upsert("ann", [
        {
          id: EntryId.make("ghost"),
          vector: Float32Array.from([1, 0, 0]),
          timestamp: now,
          role: "user",
          metadata: {}
        }
      ])
      assert.deepStrictEqual(ids(yield* store.retrieve(asked("how do I fix my vehicle"))), ["car"])
    })
  )
})
