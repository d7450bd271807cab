import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as FastCheck from "effect/FastCheck"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as Stream from "effect/Stream"
import { EntryId, SessionId } from "../../src/domain/Ids.js"
import * as TokenCounter from "../../src/llm/model/TokenCounter.js"
import * as BufferMemoryStore from "../../src/memory/conversation/BufferMemoryStore.js"
import * as ConversationMemory from "../../src/memory/conversation/ConversationMemory.js"
import * as ConversationMemoryStore from "../../src/memory/conversation/ConversationMemoryStore.js"
import * as EntityMemoryStore from "../../src/memory/conversation/EntityMemoryStore.js"
import * as SummaryMemoryStore from "../../src/memory/conversation/SummaryMemoryStore.js"
import * as MemoryEntry from "../../src/memory/entry/MemoryEntry.js"
import { ConsolidationError } from "../../src/memory/entry/MemoryError.js"
import * as DefaultEpisodicCompressor from "../../src/memory/episodic/DefaultEpisodicCompressor.js"
import type * as EpisodicCompressor from "../../src/memory/episodic/EpisodicCompressor.js"
import * as MemorySummary from "../../src/memory/episodic/MemorySummary.js"
import * as DefaultProceduralMemory from "../../src/memory/procedural/DefaultProceduralMemory.js"
import * as InMemoryMemoryStore from "../../src/memory/search/InMemoryMemoryStore.js"
import * as MemoryStore from "../../src/memory/search/MemoryStore.js"

type Fields = Partial<MemoryEntry.MemoryEntry>

const s1 = SessionId.make("s1")
const s2 = SessionId.make("s2")

const entry = (index: number, fields: Fields = {}): MemoryEntry.MemoryEntry =>
  MemoryEntry.make({
    id: EntryId.make(`e${String(index).padStart(4, "0")}`),
    ownerId: "ann",
    content: `text ${index}`,
    role: "user",
    timestamp: index,
    metadata: { type: "turn" },
    ...fields
  })

const many = (n: number, fields: Fields = {}) => Array.from({ length: n }, (_, index) => entry(index, fields))

const call = (index: number, id: string, fields: Fields = {}) =>
  entry(index, { role: "assistant", ...fields, metadata: { toolCallIds: [id] } })
const result = (index: number, id: string, fields: Fields = {}) =>
  entry(index, { role: "tool", ...fields, metadata: { toolCallId: id } })

const all = (ownerId = "ann", selection = {}) =>
  Effect.flatMap(MemoryStore.MemoryStore, (store) =>
    Effect.map(Stream.runCollect(store.stream(ownerId, selection)), (found) => Array.from(found))
  )
const places = (ownerId?: string, selection?: object) =>
  Effect.map(all(ownerId, selection), (entries) => entries.map(({ timestamp }) => timestamp))
const range = (from: number, to: number) => Array.from({ length: to - from }, (_, index) => from + index)

const below = InMemoryMemoryStore.layer()

const forked = (n: number, write: (index: number) => Effect.Effect<unknown, unknown>) =>
  Effect.gen(function* () {
    const fibers = yield* Effect.forEach(range(0, n), (index) => Effect.fork(write(index)))
    yield* Effect.forEach(fibers, Fiber.join, { discard: true })
  })

/** A store of procedures below is left alone: they have their own bounds, and no sessions. */
const sparesProcedures = Effect.gen(function* () {
  const procedural = yield* DefaultProceduralMemory.make()
  const learn = (index: number) =>
    procedural.learn({
      ownerId: "ann",
      task: "refund order",
      steps: [{ tool: `tool${index}`, parameters: [] }],
      success: true
    })
  yield* Effect.forEach(range(0, 30), learn, { discard: true })
  assert.lengthOf(yield* procedural.recall({ ownerId: "ann", task: "refund order", limit: 100 }), 30)
})

describe("BufferMemoryStore", () => {
  const layer = (options?: BufferMemoryStore.Options) => Layer.provide(BufferMemoryStore.layer(options), below)

  it.effect("keeps the newest 100 entries of each owner, however they are written", () =>
    Effect.gen(function* () {
      const store = yield* MemoryStore.MemoryStore
      yield* Effect.forEach(many(105), store.store, { discard: true })
      assert.deepStrictEqual(yield* places(), range(5, 105))
      yield* store.storeMany([...many(250, { ownerId: "bob" }), entry(105)])
      assert.deepStrictEqual(yield* places("bob"), range(150, 250))
      assert.deepStrictEqual(yield* places(), range(6, 106))
      assert.strictEqual(yield* store.apply("ann", { delete: [entry(6).id], store: [entry(106), entry(107)] }), 1)
      assert.deepStrictEqual(yield* places(), range(8, 108))
    }).pipe(Effect.provide(layer()))
  )

  it.effect("bounds an owner to maxEntries", () =>
    Effect.gen(function* () {
      const store = yield* MemoryStore.MemoryStore
      yield* store.storeMany(many(9))
      assert.deepStrictEqual(yield* places(), [6, 7, 8])
    }).pipe(Effect.provide(layer({ maxEntries: 3 })))
  )

  it.effect("removes the entry with the oldest timestamp, not the one written first", () =>
    Effect.gen(function* () {
      const store = yield* MemoryStore.MemoryStore
      yield* store.storeMany([entry(5), entry(6), entry(7)])
      yield* store.store(entry(1))
      assert.deepStrictEqual(yield* places(), [5, 6, 7])
    }).pipe(Effect.provide(layer({ maxEntries: 3 })))
  )

  it.effect("counts a replaced entry once", () =>
    Effect.gen(function* () {
      const store = yield* MemoryStore.MemoryStore
      yield* store.storeMany([...many(3), entry(2, { content: "new" })])
      assert.deepStrictEqual(yield* places(), [0, 1, 2])
    }).pipe(Effect.provide(layer({ maxEntries: 3 })))
  )

  it.effect("removes tool calls with their results", () =>
    Effect.gen(function* () {
      const store = yield* MemoryStore.MemoryStore
      yield* store.storeMany([call(0, "c"), result(1, "c"), ...range(2, 5).map((index) => entry(index))])
      assert.deepStrictEqual(yield* places(), [2, 3, 4])
    }).pipe(Effect.provide(layer({ maxEntries: 4 })))
  )

  it.effect("rejects what the underlying store rejects, and changes nothing", () =>
    Effect.gen(function* () {
      const store = yield* MemoryStore.MemoryStore
      yield* store.storeMany(many(3))
      const bad = { ...entry(9), importance: 7 }
      assert.strictEqual((yield* Effect.flip(store.storeMany([entry(8), bad])))._tag, "MemoryStoreError")
      assert.deepStrictEqual(yield* places(), [0, 1, 2])
    }).pipe(Effect.provide(layer({ maxEntries: 3 })))
  )

  it.effect("keeps exactly the bound when fibers write concurrently", () =>
    Effect.gen(function* () {
      const store = yield* MemoryStore.MemoryStore
      yield* forked(60, (index) => store.store(entry(index)))
      assert.deepStrictEqual(yield* places(), range(50, 60))
    }).pipe(Effect.provide(layer({ maxEntries: 10 })))
  )

  it.effect("finds what it keeps, and spares procedures", () =>
    Effect.gen(function* () {
      const store = yield* MemoryStore.MemoryStore
      yield* store.storeMany([entry(0, { content: "green tea" }), entry(1, { content: "black coffee" })])
      const [found] = yield* store.retrieve({ ownerId: "ann", query: "coffee", topK: 1 })
      assert.strictEqual(found?.entry.content, "black coffee")
      yield* sparesProcedures
    }).pipe(Effect.provide(layer({ maxEntries: 5 })))
  )

  it.effect.prop(
    "never exceeds its bound, and keeps the newest of single entries",
    [FastCheck.array(FastCheck.array(FastCheck.integer({ min: 0, max: 40 }), { maxLength: 8 }), { maxLength: 8 })],
    ([writes]) =>
      Effect.gen(function* () {
        const store = yield* MemoryStore.MemoryStore
        const written = new Set<number>()
        for (const write of writes) {
          yield* store.storeMany(write.map((index) => entry(index)))
          for (const index of write) written.add(index)
          const newest = [...written].sort((a, b) => a - b).slice(-6)
          written.clear()
          for (const index of newest) written.add(index)
          assert.deepStrictEqual(yield* places(), newest)
        }
      }).pipe(Effect.provide(layer({ maxEntries: 6 }))),
    { fastCheck: { numRuns: 25 } }
  )
})

describe("ConversationMemoryStore", () => {
  const layer = (options?: ConversationMemoryStore.Options) =>
    Layer.provide(ConversationMemoryStore.layer(options), below)

  it.effect("returns the entries of a session, oldest first", () =>
    Effect.gen(function* () {
      const store = yield* ConversationMemoryStore.ConversationMemoryStore
      yield* store.storeMany([...many(5, { sessionId: s1 })].reverse())
      yield* store.store(entry(9, { sessionId: s2 }))
      yield* store.store(entry(9, { sessionId: s1, ownerId: "bob" }))
      const read = (n?: number) =>
        Effect.map(store.getSessionEntries({ ownerId: "ann", sessionId: s1, n }), (entries) =>
          entries.map(({ timestamp }) => timestamp)
        )
      assert.deepStrictEqual(yield* read(), [0, 1, 2, 3, 4])
      assert.deepStrictEqual(yield* read(2), [3, 4])
      assert.deepStrictEqual(yield* read(0), [])
      assert.isEmpty(yield* store.getSessionEntries({ ownerId: "eve", sessionId: s1 }))
    }).pipe(Effect.provide(layer()))
  )

  it.effect("keeps 1000 entries of each session by default", () =>
    Effect.gen(function* () {
      const store = yield* MemoryStore.MemoryStore
      yield* store.storeMany(many(1_010, { sessionId: s1 }))
      assert.deepStrictEqual(yield* places(), range(10, 1_010))
    }).pipe(Effect.provide(layer()))
  )

  it.effect("bounds each session of each owner separately", () =>
    Effect.gen(function* () {
      const store = yield* ConversationMemoryStore.ConversationMemoryStore
      yield* store.storeMany(range(0, 10).map((index) => entry(index, { sessionId: index % 2 === 0 ? s1 : s2 })))
      yield* store.storeMany(many(5, { ownerId: "bob", sessionId: s1 }))
      assert.deepStrictEqual(yield* places(), [4, 5, 6, 7, 8, 9])
      assert.deepStrictEqual(yield* places("bob"), [2, 3, 4])
      yield* store.apply("bob", { store: [entry(7, { ownerId: "bob", sessionId: s1 })] })
      assert.deepStrictEqual(yield* places("bob"), [3, 4, 7])
    }).pipe(Effect.provide(layer({ maxPerSession: 3 })))
  )

  it.effect("rejects an entry without a session, and stores nothing of the call", () =>
    Effect.gen(function* () {
      const store = yield* MemoryStore.MemoryStore
      const good = entry(0, { sessionId: s1 })
      for (const write of [
        store.store(entry(1)),
        store.storeMany([good, entry(1)]),
        store.apply("ann", { store: [good, entry(1)] })
      ]) {
        assert.strictEqual((yield* Effect.flip(write as Effect.Effect<unknown, Error>)).name, "MemoryStoreError")
      }
      assert.isEmpty(yield* all())
    }).pipe(Effect.provide(layer()))
  )

  it.effect("removes tool calls with their results, and spares procedures", () =>
    Effect.gen(function* () {
      const store = yield* MemoryStore.MemoryStore
      const sessionId = s1
      yield* store.storeMany([call(0, "c", { sessionId }), result(1, "c", { sessionId }), entry(2, { sessionId })])
      yield* store.storeMany([entry(3, { sessionId }), entry(4, { sessionId })])
      assert.deepStrictEqual(yield* places(), [2, 3, 4])
      yield* sparesProcedures
    }).pipe(Effect.provide(layer({ maxPerSession: 4 })))
  )

  it.effect("bounds a conversation that is stored in it", () =>
    Effect.gen(function* () {
      const memory = yield* ConversationMemory.fromStore({ ownerId: "ann", sessionId: s1 })
      for (const index of range(0, 20)) yield* memory.addMessage({ role: "user", content: String(index) })
      assert.deepStrictEqual(
        (yield* memory.getMessages).map(({ content }) => content),
        ["16", "17", "18", "19"]
      )
    }).pipe(Effect.provide(layer({ maxPerSession: 4 })))
  )
})

describe("EntityMemoryStore", () => {
  const layer = (options?: EntityMemoryStore.Options) => Layer.provide(EntityMemoryStore.layer(options), below)

  const by = (entity: string, options: { readonly ownerId?: string; readonly n?: number } = {}) =>
    Effect.flatMap(EntityMemoryStore.EntityMemoryStore, (store) =>
      Effect.map(store.getByEntity({ ownerId: "ann", entity, ...options }), (entries) =>
        entries.map(({ timestamp }) => timestamp)
      )
    )

  it.effect("finds entries by the names in them, newest first, ignoring case", () =>
    Effect.gen(function* () {
      const store = yield* EntityMemoryStore.EntityMemoryStore
      yield* store.storeMany([
        entry(0, { content: "I met Anna Smith in Paris." }),
        entry(1, { content: "nobody here" }),
        entry(2, { content: "We like Paris in spring." }),
        entry(3, { content: "They saw Paris.", ownerId: "bob" })
      ])
      yield* store.apply("ann", { store: [entry(4, { content: "They left Paris." })] })
      assert.deepStrictEqual(yield* by("Paris"), [4, 2, 0])
      assert.deepStrictEqual(yield* by("  anna   SMITH "), [0])
      assert.deepStrictEqual(yield* by("Paris", { n: 1 }), [4])
      assert.deepStrictEqual(yield* by("Paris", { ownerId: "bob" }), [3])
      for (const none of ["Anna", "Rome", "", "   ", "__proto__"]) assert.isEmpty(yield* by(none))
    }).pipe(Effect.provide(layer()))
  )

  it.effect("prefers given names to those of the text", () =>
    Effect.gen(function* () {
      const store = yield* EntityMemoryStore.EntityMemoryStore
      const content = "We like Paris in spring."
      yield* store.store(entry(0, { content }), ["Eiffel", "__proto__"])
      yield* store.store(entry(1, { content, metadata: { entities: ["Louvre", 7, ""] } }))
      yield* store.store(entry(2, { content, metadata: { entities: [] } }))
      yield* store.store(entry(3, { content, metadata: { entities: "Louvre" } }))
      assert.deepStrictEqual(yield* by("Paris"), [3])
      assert.deepStrictEqual(yield* by("eiffel"), [0])
      assert.deepStrictEqual(yield* by("__proto__"), [0])
      assert.deepStrictEqual(yield* by("louvre"), [1])
      const [first, second, third] = yield* all()
      assert.deepStrictEqual(first?.metadata, {
        type: "turn",
        entities: ["Eiffel", "__proto__"],
        entityKeys: ["eiffel", "__proto__"]
      })
      assert.deepStrictEqual(second?.metadata.entities, ["Louvre"])
      assert.deepStrictEqual(third?.metadata, {})
    }).pipe(Effect.provide(layer()))
  )

  it.effect("finds names with namesOf", () =>
    Effect.gen(function* () {
      const store = yield* MemoryStore.MemoryStore
      yield* store.store(entry(0, { content: "red green" }))
      assert.deepStrictEqual(yield* by("red"), [0])
    }).pipe(Effect.provide(layer({ namesOf: (text) => text.split(" ") })))
  )

  it.effect("updates the names of an entry that is stored again", () =>
    Effect.gen(function* () {
      const store = yield* EntityMemoryStore.EntityMemoryStore
      yield* store.store(entry(0), ["Anna"])
      yield* store.store(entry(0), ["Bob"])
      assert.isEmpty(yield* by("Anna"))
      assert.deepStrictEqual(yield* by("Bob"), [0])
    }).pipe(Effect.provide(layer()))
  )

  it.effect("narrows results by a selection", () =>
    Effect.gen(function* () {
      const store = yield* EntityMemoryStore.EntityMemoryStore
      yield* store.store(entry(0, { sessionId: s1 }), ["Anna"])
      yield* store.store(entry(1, { sessionId: s2, metadata: { mood: "good" } }), ["Anna"])
      const found = (selection: object) =>
        Effect.map(store.getByEntity({ ownerId: "ann", entity: "Anna", selection }), (entries) => entries.length)
      assert.strictEqual(yield* found({ sessionIds: [s1] }), 1)
      assert.strictEqual(yield* found({ filters: { mood: "good" } }), 1)
      assert.strictEqual(yield* found({ filters: { mood: "bad" } }), 0)
      assert.strictEqual(yield* found({ filters: { entityKeys: "eve" } }), 2)
    }).pipe(Effect.provide(layer()))
  )

  it.effect("bounds the number and length of names", () =>
    Effect.gen(function* () {
      const store = yield* EntityMemoryStore.EntityMemoryStore
      yield* store.store(entry(0), [...range(0, 500).map((index) => `n${index}`)])
      yield* store.store(entry(1), ["x".repeat(100_000)])
      const [first, second] = yield* all()
      assert.lengthOf(first?.metadata.entities as ReadonlyArray<string>, 64)
      assert.isAtMost(JSON.stringify(second?.metadata).length, 700)
      assert.deepStrictEqual(yield* by("x".repeat(100_000)), [1])
      yield* sparesProcedures
    }).pipe(Effect.provide(layer()))
  )
})

describe("SummaryMemoryStore", () => {
  const counter = TokenCounter.layerApproximate()
  const compressor = DefaultEpisodicCompressor.layer((entries) =>
    Effect.succeed(`sum of ${entries.map(({ timestamp }) => timestamp).join(" ")}`)
  ).pipe(Layer.provide(counter))
  const layer = (
    options?: SummaryMemoryStore.Options,
    by: Layer.Layer<EpisodicCompressor.EpisodicCompressor> = compressor
  ) => Layer.provide(SummaryMemoryStore.layer(options), Layer.merge(below, by))

  const shown = (ownerId?: string, selection?: object) =>
    Effect.map(all(ownerId, selection), (entries) =>
      entries.map((one) => (MemorySummary.isSummary(one) ? one.content : one.timestamp))
    )

  it.effect("summarizes the oldest 10 of 20 entries", () =>
    Effect.gen(function* () {
      const store = yield* MemoryStore.MemoryStore
      yield* Effect.forEach(many(19, { sessionId: s1 }), store.store, { discard: true })
      assert.deepStrictEqual(yield* shown(), range(0, 19))
      yield* store.store(entry(19, { sessionId: s1 }))
      assert.deepStrictEqual(yield* shown(), ["sum of 0 1 2 3 4 5 6 7 8 9", ...range(10, 20)])
      const [summary] = yield* all()
      assert.strictEqual(summary?.sessionId, s1)
      assert.deepStrictEqual(
        summary?.metadata.compressedIds,
        many(10).map(({ id }) => id)
      )
    }).pipe(Effect.provide(layer()))
  )

  it.effect("uses the given threshold, batch and size, and can write several summaries at once", () =>
    Effect.gen(function* () {
      const store = yield* MemoryStore.MemoryStore
      yield* store.storeMany(many(9))
      const sums = yield* shown()
      assert.deepStrictEqual(sums.slice(-3), [6, 7, 8])
      assert.deepStrictEqual(sums.slice(0, -3), ["sum of 0 1", "sum of 2 3", "sum of 4 5"])
      assert.strictEqual(yield* store.count("ann"), 6)
    }).pipe(Effect.provide(layer({ compressThreshold: 4, compressBatch: 2 })))
  )

  it.effect("summarizes summaries, so that a session stays bounded", () =>
    Effect.gen(function* () {
      const store = yield* MemoryStore.MemoryStore
      for (const one of many(200)) {
        yield* store.store(one)
        assert.isBelow(yield* store.count("ann"), 8)
      }
      const entries = yield* all()
      assert.strictEqual(
        entries.reduce((sum, one) => sum + MemorySummary.turns(one), 0),
        200
      )
      assert.isAbove(Math.max(...entries.map(MemorySummary.level)), 2)
    }).pipe(Effect.provide(layer({ compressThreshold: 4, compressBatch: 2 })))
  )

  it.effect("summarizes sessions, owners and entries without a session separately", () =>
    Effect.gen(function* () {
      const store = yield* MemoryStore.MemoryStore
      yield* store.storeMany(
        range(0, 12).map((index) =>
          entry(index, [{ sessionId: s1 }, { sessionId: s2 }, {}, { ownerId: "bob" }][index % 4])
        )
      )
      assert.deepStrictEqual(yield* shown("ann", { sessionIds: [s1] }), ["sum of 0 4", 8])
      assert.deepStrictEqual(yield* shown("ann", { sessionIds: [s2] }), ["sum of 1 5", 9])
      assert.deepStrictEqual(yield* shown("ann", { lineage: [] }), ["sum of 2 6", 10])
      assert.deepStrictEqual(yield* shown("bob"), ["sum of 3 7", 11])
    }).pipe(Effect.provide(layer({ compressThreshold: 3, compressBatch: 2 })))
  )

  it.effect("summarizes entries before and after a rewind separately while there are several", () =>
    Effect.gen(function* () {
      const store = yield* MemoryStore.MemoryStore
      const since = (sessionStretch: number) => ({ sessionId: s1, metadata: { sessionStretch } })
      yield* store.storeMany([
        entry(0, { sessionId: s1 }),
        entry(1, { sessionId: s1 }),
        entry(2, since(2)),
        entry(3, since(2)),
        entry(4, since(4)),
        entry(5, since(5))
      ])
      assert.deepStrictEqual(yield* shown("ann", { sessionIds: [s1] }), ["sum of 0 1", "sum of 2 3", 4, 5])
      const alone = range(10, 13).map((at) => entry(at, { sessionId: s2, metadata: { sessionStretch: at } }))
      yield* store.storeMany(alone)
      assert.deepStrictEqual(yield* shown("ann", { sessionIds: [s2] }), ["sum of 10 11 12"])
    }).pipe(Effect.provide(layer({ compressThreshold: 3, compressBatch: 3 })))
  )

  it.effect("summarizes tool calls with their results", () =>
    Effect.gen(function* () {
      const store = yield* MemoryStore.MemoryStore
      yield* store.storeMany([entry(0), call(1, "c"), result(2, "c"), entry(3)])
      assert.deepStrictEqual(yield* shown(), ["sum of 0 1 2", 3])
    }).pipe(Effect.provide(layer({ compressThreshold: 4, compressBatch: 2 })))
  )

  it.effect("bounds a summary by maxTokens", () =>
    Effect.gen(function* () {
      const store = yield* MemoryStore.MemoryStore
      yield* store.storeMany(many(20, { content: "a long story about very many things" }))
      const [summary] = yield* all()
      assert.isAtMost(TokenCounter.approximate.count(summary?.content ?? ""), 30)
      assert.isTrue(summary !== undefined && MemorySummary.isSummary(summary))
    }).pipe(Effect.provide(layer({ maxTokens: 30 }, Layer.provide(DefaultEpisodicCompressor.layerExtractive, counter))))
  )

  it.effect("retrieves summaries first, in pages", () =>
    Effect.gen(function* () {
      const store = yield* MemoryStore.MemoryStore
      yield* store.storeMany(many(8))
      assert.deepStrictEqual(yield* shown(), ["sum of 0 1", "sum of 2 3", "sum of 4 5", 6, 7])
      const retrieve = (query: Partial<MemoryEntry.MemoryQuery>) =>
        Effect.map(store.retrieve({ ownerId: "ann", query: "", ...query }), (results) =>
          results.map(({ entry: one }) => (MemorySummary.isSummary(one) ? one.content : one.timestamp))
        )
      const whole = yield* retrieve({})
      assert.deepStrictEqual(whole.slice(0, 3).map(String).sort(), ["sum of 0 1", "sum of 2 3", "sum of 4 5"])
      assert.deepStrictEqual(whole.slice(3), [7, 6])
      const pages = yield* Effect.forEach(range(0, 6), (offset) => retrieve({ offset, topK: 1 }))
      assert.deepStrictEqual(pages.flat(), whole)
      assert.deepStrictEqual(yield* retrieve({ topK: 4 }), whole.slice(0, 4))
      assert.isEmpty(yield* retrieve({ topK: 0 }))
      assert.deepStrictEqual(yield* retrieve({ filters: { type: "turn" } }), [7, 6])
      assert.lengthOf(yield* retrieve({ filters: { type: "summary" } }), 3)
      assert.isEmpty(yield* retrieve({ ownerId: "bob" }))
    }).pipe(Effect.provide(layer({ compressThreshold: 4, compressBatch: 2 })))
  )

  it.effect("keeps neighbors with their results, without duplicates", () => {
    const found = (index: number, beside?: number, fields: Fields = {}): MemoryEntry.MemorySearchResult => ({
      entry: entry(index, fields),
      score: 1,
      relevance: 1,
      source: "double",
      ...(beside === undefined ? {} : { neighbourOf: entry(beside).id })
    })
    const summary = found(1, undefined, { metadata: { type: "summary" } })
    const double: MemoryStore.Service = {
      ...MemoryStore.noop,
      retrieve: ({ filters }) =>
        Effect.succeed(
          filters?.type === "summary"
            ? [summary, found(2, 1)]
            : [found(7), found(6, 7), found(8, 7), summary, found(2, 1), found(8), found(9, 8)]
        )
    }
    return Effect.gen(function* () {
      const store = yield* SummaryMemoryStore.make()
      const ask = (topK: number) =>
        Effect.map(store.retrieve({ ownerId: "ann", query: "", topK, neighbours: 1 }), (results) =>
          results.map(({ entry: one }) => one.timestamp)
        )
      assert.deepStrictEqual(yield* ask(1), [1, 2])
      assert.deepStrictEqual(yield* ask(2), [1, 2, 7, 6, 8])
      assert.deepStrictEqual(yield* ask(3), [1, 2, 7, 6, 8, 9])
    }).pipe(Effect.provide([compressor, Layer.succeed(MemoryStore.MemoryStore, double)]))
  })

  it.effect("skips the summary, logs and retries when the compressor fails", () => {
    let down = true
    const flaky = DefaultEpisodicCompressor.layer(() =>
      down ? Effect.fail(new ConsolidationError({ message: "secret text" })) : Effect.succeed("sum")
    ).pipe(Layer.provide(counter))
    const logged: Array<string> = []
    const logger = Logger.make(({ annotations, message }) => logged.push(JSON.stringify([message, ...annotations])))
    return Effect.gen(function* () {
      const store = yield* MemoryStore.MemoryStore
      yield* store.storeMany(many(5))
      assert.deepStrictEqual(yield* shown(), range(0, 5))
      assert.lengthOf(logged, 1)
      assert.include(logged[0], "LEX_ERR_MEM_002")
      assert.notInclude(logged[0], "secret")
      down = false
      yield* store.store(entry(5))
      assert.deepStrictEqual(yield* shown(), ["sum", 4, 5])
    }).pipe(
      Effect.provide([
        layer({ compressThreshold: 4, compressBatch: 4 }, flaky),
        Logger.replace(Logger.defaultLogger, logger)
      ])
    )
  })

  it.effect("loses nothing and stays bounded when fibers write concurrently", () =>
    Effect.gen(function* () {
      const store = yield* MemoryStore.MemoryStore
      yield* forked(60, (index) => store.store(entry(index)))
      const entries = yield* all()
      assert.strictEqual(
        entries.reduce((sum, one) => sum + MemorySummary.turns(one), 0),
        60
      )
      assert.isBelow(entries.filter((one) => !MemorySummary.isSummary(one)).length, 6)
    }).pipe(Effect.provide(layer({ compressThreshold: 6, compressBatch: 3 })))
  )

  it.effect("spares procedures", () => Effect.provide(sparesProcedures, layer({ compressThreshold: 4 })))
})
