import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as TestClock from "effect/TestClock"
import { EntryId } from "../../../src/domain/Ids.js"
import * as MemoryEntry from "../../../src/memory/entry/MemoryEntry.js"
import { MemoryStoreError } from "../../../src/memory/entry/MemoryError.js"
import * as DefaultMemoryRetriever from "../../../src/memory/search/DefaultMemoryRetriever.js"
import * as InMemoryMemoryStore from "../../../src/memory/search/InMemoryMemoryStore.js"
import * as MemoryRetriever from "../../../src/memory/search/MemoryRetriever.js"
import * as MemoryStore from "../../../src/memory/search/MemoryStore.js"
import * as RelevanceRanker from "../../../src/memory/search/RelevanceRanker.js"

const day = 86_400_000
const now = 400 * day

interface Fields {
  readonly relevance: number
  readonly score?: number
  readonly age?: number
  readonly importance?: number
  readonly ownerId?: string
  readonly content?: string
  readonly neighbourOf?: string
  readonly explanation?: MemoryEntry.Explanation
}

const result = (
  id: string,
  { age = 0, content = id, explanation, importance = 0.5, neighbourOf, ownerId = "ann", relevance, score = 0 }: Fields
): MemoryEntry.MemorySearchResult => ({
  entry: MemoryEntry.make({
    id: EntryId.make(id),
    ownerId,
    content,
    role: "user",
    timestamp: now - age * day,
    importance
  }),
  relevance,
  score,
  source: "its own",
  ...(neighbourOf === undefined ? {} : { neighbourOf: EntryId.make(neighbourOf) }),
  ...(explanation === undefined ? {} : { explanation })
})

const source = (name: string, ...results: ReadonlyArray<MemoryEntry.MemorySearchResult>): MemoryRetriever.Source => ({
  name,
  retrieve: ({ topK = 10 }) => Effect.succeed(results.slice(0, topK))
})

const broken = (name: string): MemoryRetriever.Source => ({
  name,
  retrieve: () => new MemoryStoreError({ message: "no", store: name })
})

const alone = { recencyWeight: 0, importanceWeight: 0, relevanceWeight: 1 } as const
const query: MemoryEntry.MemoryQuery = { ownerId: "ann", query: "zebra", ...alone }

const ids = (results: ReadonlyArray<MemoryEntry.MemorySearchResult>) => results.map((one) => one.entry.id as string)

describe("RelevanceRanker", () => {
  const results = [
    result("old", { relevance: 1, age: 300, importance: 0, score: 0.1 }),
    result("new", { relevance: 0.1, age: 0, importance: 0.2, score: 0.9 }),
    result("weighty", { relevance: 0.2, age: 100, importance: 1, score: 0.5 })
  ]

  it.effect("orders by the weights of the query, then of the options, ignoring previous scores", () =>
    Effect.gen(function* () {
      yield* TestClock.setTime(now)
      const by = (weighing: RelevanceRanker.Weighing, options?: RelevanceRanker.Options) =>
        Effect.map(RelevanceRanker.rank(results, weighing, options), ids)
      assert.deepStrictEqual(yield* by(alone), ["old", "weighty", "new"])
      const recency = { recencyWeight: 1, importanceWeight: 0, relevanceWeight: 0 }
      assert.deepStrictEqual(yield* by(recency), ["new", "weighty", "old"])
      const importance = { weights: { recency: 0, importance: 1, relevance: 0 } }
      assert.deepStrictEqual(yield* by({}, importance), ["weighty", "new", "old"])
      assert.deepStrictEqual(yield* by(alone, importance), ["old", "weighty", "new"])
    })
  )

  it.effect("changes nothing when it ranks again", () =>
    Effect.gen(function* () {
      yield* TestClock.setTime(now)
      const once = yield* RelevanceRanker.rank(results)
      assert.deepStrictEqual(yield* RelevanceRanker.rank(once), once)
      const old = once.find((one) => one.entry.id === "old")
      assert.closeTo(old?.score ?? 0, 0.3 * 2 ** -10 + 0.4, 1e-9)
    })
  )

  it.effect("uses the half-life for recency", () =>
    Effect.gen(function* () {
      yield* TestClock.setTime(now)
      const scores = yield* RelevanceRanker.rank(
        [result("a", { relevance: 0, age: 10 })],
        {
          recencyWeight: 1,
          importanceWeight: 0,
          relevanceWeight: 0
        },
        { recencyHalfLife: "10 days" }
      )
      assert.closeTo(scores[0]?.score ?? 0, 0.5, 1e-9)
    })
  )

  it.effect("takes the best topK, with neighbors that do not count", () =>
    Effect.gen(function* () {
      const given = [
        result("b", { relevance: 0.2 }),
        result("b1", { relevance: 0, neighbourOf: "b" }),
        result("a", { relevance: 0.9 }),
        result("a1", { relevance: 0, neighbourOf: "a" }),
        result("c", { relevance: 0.1 }),
        result("stray", { relevance: 1, neighbourOf: "nobody" })
      ]
      const best = yield* RelevanceRanker.topK(given, alone, { k: 2 })
      assert.deepStrictEqual(ids(best), ["a", "a1", "b", "b1"])
      assert.strictEqual(best[1]?.score, best[0]?.score)
      assert.deepStrictEqual(ids(yield* RelevanceRanker.topK(given, { ...alone, topK: 1 })), ["a", "a1"])
      assert.deepStrictEqual(ids(yield* RelevanceRanker.topK(given, alone)), ["a", "a1", "b", "b1", "c"])
      assert.deepStrictEqual(yield* RelevanceRanker.topK(given, alone, { k: 0 }), [])
    })
  )

  it.effect("returns an explanation that adds up to the new score", () =>
    Effect.gen(function* () {
      yield* TestClock.setTime(now)
      const explanation: MemoryEntry.Explanation = {
        recency: 0,
        importance: 0,
        relevance: 0,
        weights: { recency: 1, importance: 0, relevance: 0 },
        lexical: 0.25,
        ranks: { lexical: 1 },
        fused: 1 / 61
      }
      const [ranked] = yield* RelevanceRanker.rank([result("a", { relevance: 0.5, age: 30, explanation })])
      const parts = ranked?.explanation
      assert.deepInclude(parts, { importance: 0.5, relevance: 0.5, lexical: 0.25, ranks: { lexical: 1 } })
      assert.closeTo(parts?.recency ?? 0, 0.5, 1e-9)
      assert.closeTo(ranked?.score ?? 0, 0.5, 1e-9)
    })
  )

  it.effect("fails with a MemorySystemError for weights that are all 0", () =>
    Effect.gen(function* () {
      const error = yield* Effect.flip(RelevanceRanker.rank([], { ...alone, relevanceWeight: 0 }))
      assert.strictEqual(error._tag, "MemorySystemError")
    })
  )
})

describe("DefaultMemoryRetriever", () => {
  it.effect("keeps the most relevant result of an entry in several sources, and names the source", () =>
    Effect.gen(function* () {
      const retriever = yield* DefaultMemoryRetriever.make({
        sources: [
          source("one", result("a", { relevance: 0.2, score: 1 }), result("b", { relevance: 0.5 })),
          source("two", result("a", { relevance: 0.9 }), result("c", { relevance: 0.1 }))
        ]
      })
      const { degraded, results } = yield* retriever.retrieve(query)
      assert.deepStrictEqual(degraded, [])
      assert.deepStrictEqual(
        results.map((one) => [one.entry.id, one.relevance, one.score, one.source]),
        [
          ["a", 0.9, 0.9, "two"],
          ["b", 0.5, 0.5, "one"],
          ["c", 0.1, 0.1, "two"]
        ]
      )
    })
  )

  it.effect("scores once, by the weights of the query or of the retriever", () =>
    Effect.gen(function* () {
      yield* TestClock.setTime(now)
      const seen: Array<MemoryEntry.MemoryQuery> = []
      const retriever = yield* DefaultMemoryRetriever.make({
        sources: [
          {
            name: "one",
            retrieve: (asked) =>
              Effect.sync(() => {
                seen.push(asked)
                return [result("a", { relevance: 0.5, importance: 1, age: 10, score: 0.77 })]
              })
          }
        ],
        weights: { recency: 1, importance: 1, relevance: 2 },
        recencyHalfLife: "10 days"
      })
      const { results } = yield* retriever.retrieve({ ownerId: "ann", query: "zebra", topK: 3, offset: 0 })
      assert.closeTo(results[0]?.score ?? 0, 0.25 * 0.5 + 0.25 + 0.5 * 0.5, 1e-9)
      assert.deepInclude(seen[0], { recencyWeight: 0.25, importanceWeight: 0.25, relevanceWeight: 0.5, topK: 3 })
      const error = yield* Effect.flip(retriever.retrieve({ ...query, relevanceWeight: 0 }))
      assert.strictEqual(error._tag, "MemorySystemError")
      assert.strictEqual(seen.length, 1)
    })
  )

  it.effect("skips and reports a source that fails", () =>
    Effect.gen(function* () {
      const retriever = yield* DefaultMemoryRetriever.make({
        sources: [broken("bad"), source("good", result("a", { relevance: 1 }))]
      })
      const { degraded, results } = yield* retriever.retrieve(query)
      assert.deepStrictEqual(ids(results), ["a"])
      assert.deepStrictEqual(
        degraded.map(({ error, source }) => [source, error._tag]),
        [["bad", "MemoryStoreError"]]
      )
    })
  )

  it.effect("interrupts and skips a source that times out", () =>
    Effect.gen(function* () {
      const interrupted = yield* Deferred.make<void>()
      const slow: MemoryRetriever.Source = {
        name: "slow",
        retrieve: () => Effect.onInterrupt(Effect.never, () => Deferred.succeed(interrupted, undefined))
      }
      const good = source("good", result("a", { relevance: 1 }))
      for (const [timeout, millis] of [
        [undefined, 5000],
        ["2 seconds", 2000]
      ] as const) {
        const retriever = yield* DefaultMemoryRetriever.make({ sources: [slow, good], timeout })
        const fiber = yield* Effect.fork(retriever.retrieve(query))
        yield* TestClock.adjust(millis - 1)
        assert.isNull(fiber.unsafePoll())
        yield* TestClock.adjust(1)
        const { degraded, results } = yield* Fiber.join(fiber)
        assert.deepStrictEqual(ids(results), ["a"])
        assert.deepStrictEqual(
          degraded.map(({ error, source }) => [source, error._tag]),
          [["slow", "StorageError"]]
        )
      }
      yield* Deferred.await(interrupted)
    })
  )

  it.effect("queries all sources concurrently, or as many as allowed", () =>
    Effect.gen(function* () {
      const waiting = ["a", "b", "c"].map(
        (name): MemoryRetriever.Source => ({
          name,
          retrieve: () => Effect.delay(Effect.succeed([result(name, { relevance: 1 })]), "1 second")
        })
      )
      for (const [concurrency, seconds] of [
        [undefined, 1],
        [2, 2],
        [1, 3]
      ] as const) {
        const retriever = yield* DefaultMemoryRetriever.make({ sources: waiting, concurrency })
        const fiber = yield* Effect.fork(retriever.retrieve(query))
        yield* TestClock.adjust(seconds * 1000 - 1)
        assert.isNull(fiber.unsafePoll())
        yield* TestClock.adjust(1)
        assert.sameMembers(ids((yield* Fiber.join(fiber)).results), ["a", "b", "c"])
      }
    })
  )

  it.effect("fails and names the sources when all fail, and finds nothing without sources", () =>
    Effect.gen(function* () {
      const retriever = yield* DefaultMemoryRetriever.make({ sources: [broken("one"), broken("two")] })
      const error = yield* Effect.flip(retriever.retrieve({ ...query, query: "my secret" }))
      assert.strictEqual(error._tag, "MemorySystemError")
      assert.include(error.message, "one (MemoryStoreError), two (MemoryStoreError)")
      assert.notInclude(error.message, "secret")
      const none = yield* DefaultMemoryRetriever.make({ sources: [] })
      assert.deepStrictEqual(yield* none.retrieve(query), { results: [], degraded: [] })
    })
  )

  it.effect("does not hide a defect of a source", () =>
    Effect.gen(function* () {
      const retriever = yield* DefaultMemoryRetriever.make({
        sources: [source("good"), { name: "bug", retrieve: () => Effect.die("bug") }]
      })
      const exit = yield* Effect.exit(retriever.retrieve(query))
      assert.isTrue(exit._tag === "Failure" && exit.cause.toString().includes("bug"))
    })
  )

  it.effect("interrupts every source in progress", () =>
    Effect.gen(function* () {
      const begun = yield* Deferred.make<void>()
      let ended = 0
      const hanging = (name: string): MemoryRetriever.Source => ({
        name,
        retrieve: () =>
          Effect.zipRight(Deferred.succeed(begun, undefined), Effect.never).pipe(
            Effect.onInterrupt(() => Effect.sync(() => void ended++))
          )
      })
      const retriever = yield* DefaultMemoryRetriever.make({
        sources: [hanging("one"), hanging("two"), hanging("three")]
      })
      const fiber = yield* Effect.fork(retriever.retrieve(query))
      yield* Deferred.await(begun)
      yield* Effect.yieldNow()
      yield* Fiber.interrupt(fiber)
      assert.strictEqual(ended, 3)
      assert.deepStrictEqual(yield* retriever.stats(), { total: 0, unique: 0, top: [] })
    })
  )

  it.effect("leaves out entries of another owner, whatever a source returns", () =>
    Effect.gen(function* () {
      const retriever = yield* DefaultMemoryRetriever.make({
        sources: [
          source(
            "leaky",
            result("own", { relevance: 0.5 }),
            result("theirs", { relevance: 1, ownerId: "bob", content: "their secret" })
          )
        ]
      })
      const { degraded, results } = yield* retriever.retrieve(query)
      assert.deepStrictEqual(ids(results), ["own"])
      assert.deepStrictEqual(
        degraded.map(({ source }) => source),
        ["leaky"]
      )
      assert.notInclude(degraded[0]?.error.message ?? "", "secret")
    })
  )

  it.effect("returns each owner's entries from all real stores", () =>
    Effect.gen(function* () {
      yield* TestClock.setTime(now)
      const stores = [yield* InMemoryMemoryStore.make({ ttl: 0 }), yield* InMemoryMemoryStore.make({ ttl: 0 })]
      const owners = ["ann", "bob", "__proto__"]
      for (const [at, store] of stores.entries()) {
        yield* store.storeMany(
          owners.map((ownerId) => result(`e${at}`, { relevance: 0, ownerId, content: `zebra of ${ownerId}` }).entry)
        )
      }
      const retriever = yield* DefaultMemoryRetriever.make({
        sources: stores.map((store, at) => ({ name: `store ${at}`, retrieve: store.retrieve }))
      })
      for (const ownerId of owners) {
        const { results } = yield* retriever.retrieve({ ...query, ownerId })
        assert.sameMembers(ids(results), ["e0", "e1"])
        assert.deepStrictEqual(new Set(results.map((one) => one.entry.ownerId)), new Set([ownerId]))
      }
    })
  )

  it.effect("joins pages over several stores to the whole, also diversified and without duplicates", () =>
    Effect.gen(function* () {
      yield* TestClock.setTime(now)
      const stores = [yield* InMemoryMemoryStore.make({ ttl: 0 }), yield* InMemoryMemoryStore.make({ ttl: 0 })]
      for (const [at, store] of stores.entries()) {
        yield* store.storeMany(
          Array.from(
            { length: 20 },
            (_, index) =>
              result(`e${at}-${index}`, {
                relevance: 0,
                content: `zebra ${"abcde"[index % 5]} herd ${"xyz"[(index * at) % 3]}`,
                age: (index * 13) % 50
              }).entry
          )
        )
      }
      const retriever = yield* DefaultMemoryRetriever.make({
        sources: stores.map((store, at) => ({ name: `store ${at}`, retrieve: store.retrieve }))
      })
      const sizes: Array<number> = []
      for (const fields of [{}, { diversity: 0.5 }, { suppressDuplicates: 1 }]) {
        const wanted = { ownerId: "ann", query: "zebra herd", ...fields }
        const whole = ids((yield* retriever.retrieve({ ...wanted, topK: 40 })).results)
        const joined: Array<string> = []
        for (let offset = 0; offset < 40; offset += 8) {
          joined.push(...ids((yield* retriever.retrieve({ ...wanted, topK: 8, offset })).results))
        }
        assert.deepStrictEqual(joined, whole)
        assert.strictEqual(new Set(joined).size, joined.length)
        sizes.push(whole.length)
      }
      // Both stores have the five texts that end alike.
      assert.deepStrictEqual(sizes, [40, 40, 15])
    })
  )

  it.effect("returns neighbors with their result, once and outside topK", () =>
    Effect.gen(function* () {
      const retriever = yield* DefaultMemoryRetriever.make({
        sources: [
          source(
            "one",
            result("a", { relevance: 0.9 }),
            result("n1", { relevance: 0, neighbourOf: "a" }),
            result("b", { relevance: 0.2 }),
            result("n2", { relevance: 0, neighbourOf: "b" })
          ),
          source(
            "two",
            result("b", { relevance: 0.8 }),
            result("n1", { relevance: 0, neighbourOf: "b" }),
            result("n3", { relevance: 0, neighbourOf: "b" })
          )
        ]
      })
      const { results } = yield* retriever.retrieve({ ...query, neighbours: 1 })
      assert.deepStrictEqual(
        results.map((one) => [one.entry.id, one.neighbourOf, one.score]),
        [
          ["a", undefined, 0.9],
          ["n1", "a", 0.9],
          ["b", undefined, 0.8],
          ["n3", "b", 0.8]
        ]
      )
      assert.strictEqual((yield* retriever.stats()).total, 2)
    })
  )

  it.effect("counts retrievals by entry and owner, up to a bound, until reset", () =>
    Effect.gen(function* () {
      const any: MemoryRetriever.Source = {
        name: "any",
        retrieve: ({ ownerId, query }) => Effect.succeed([result(query, { relevance: 1, ownerId })])
      }
      const retriever = yield* DefaultMemoryRetriever.make({ sources: [any], maxCounted: 12 })
      const ask = (ownerId: string, id: string) => retriever.retrieve({ ...query, ownerId, query: id })
      for (const id of ["x", "y", "x", "x"]) yield* ask("ann", id)
      yield* ask("bob", "x")
      assert.strictEqual(yield* retriever.retrievalCount("ann", EntryId.make("x")), 3)
      assert.strictEqual(yield* retriever.retrievalCount("bob", EntryId.make("x")), 1)
      assert.strictEqual(yield* retriever.retrievalCount("bob", EntryId.make("y")), 0)
      assert.deepStrictEqual(yield* retriever.stats("ann"), {
        total: 4,
        unique: 2,
        top: [
          { ownerId: "ann", id: EntryId.make("x"), count: 3 },
          { ownerId: "ann", id: EntryId.make("y"), count: 1 }
        ]
      })
      assert.strictEqual((yield* retriever.stats()).total, 5)
      for (let at = 0; at < 11; at++) yield* ask("cleo", `z${at}`)
      assert.strictEqual((yield* retriever.stats()).unique, 12)
      assert.strictEqual((yield* retriever.stats()).top.length, 10)
      assert.strictEqual(yield* retriever.retrievalCount("ann", EntryId.make("x")), 0)
      assert.strictEqual(yield* retriever.retrievalCount("bob", EntryId.make("x")), 1)
      yield* retriever.reset
      assert.deepStrictEqual(yield* retriever.stats(), { total: 0, unique: 0, top: [] })
    })
  )

  it.effect("adds a source, or replaces the one of the same name", () =>
    Effect.gen(function* () {
      const retriever = yield* DefaultMemoryRetriever.make({ sources: [source("one", result("a", { relevance: 1 }))] })
      yield* retriever.addSource(source("two", result("b", { relevance: 0.5 })))
      assert.deepStrictEqual(ids((yield* retriever.retrieve(query)).results), ["a", "b"])
      yield* retriever.addSource(source("one", result("c", { relevance: 0.1 })))
      assert.deepStrictEqual(ids((yield* retriever.retrieve(query)).results), ["b", "c"])
    })
  )

  it.effect("uses the store in context as a source", () =>
    Effect.gen(function* () {
      yield* TestClock.setTime(now)
      const store = yield* MemoryStore.MemoryStore
      yield* store.store(result("stored", { relevance: 0, content: "zebra" }).entry)
      const retriever = yield* MemoryRetriever.MemoryRetriever
      const { results } = yield* retriever.retrieve(query)
      assert.deepStrictEqual(
        results.map((one) => [one.entry.id, one.source]),
        [
          ["stored", "in_memory"],
          ["more", "more"]
        ]
      )
    }).pipe(
      Effect.provide(
        DefaultMemoryRetriever.layerStore({ sources: [source("more", result("more", { relevance: 0.1 }))] }).pipe(
          Layer.provideMerge(InMemoryMemoryStore.layer({ ttl: 0 }))
        )
      )
    )
  )
})
