import { assert, describe, it } from "@effect/vitest"
import * as ConfigProvider from "effect/ConfigProvider"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as Scope from "effect/Scope"
import * as TestClock from "effect/TestClock"
import { EntryId, SessionId } from "../../../src/domain/Ids.js"
import * as DefaultMemory from "../../../src/memory/DefaultMemory.js"
import * as MemoryEntry from "../../../src/memory/entry/MemoryEntry.js"
import { FactExtractionError } from "../../../src/memory/entry/MemoryError.js"
import * as OwnerNamespace from "../../../src/memory/entry/OwnerNamespace.js"
import * as FactStore from "../../../src/memory/facts/FactStore.js"
import * as InMemoryFactStore from "../../../src/memory/facts/InMemoryFactStore.js"
import * as Memory from "../../../src/memory/Memory.js"
import * as InMemoryMemoryStore from "../../../src/memory/search/InMemoryMemoryStore.js"
import * as MemoryStore from "../../../src/memory/search/MemoryStore.js"
import * as DefaultEntityExtractor from "../../../src/memory/semantic/DefaultEntityExtractor.js"
import * as DefaultSemanticMemory from "../../../src/memory/semantic/DefaultSemanticMemory.js"
import * as EntityExtractor from "../../../src/memory/semantic/EntityExtractor.js"
import * as FactExtraction from "../../../src/memory/working/FactExtraction.js"
import * as WorkingMemory from "../../../src/memory/working/WorkingMemory.js"
import * as SqlFactStore from "../../../src/persistence/memory/SqlFactStore.js"
import * as SqlMemoryStore from "../../../src/persistence/memory/SqlMemoryStore.js"
import * as SqlBackends from "../../support/SqlBackends.js"

const turn = (id: string, content: string, sessionId = "s", ownerId = "ann", timestamp = 0) =>
  MemoryEntry.make({
    id: EntryId.make(id),
    ownerId,
    content,
    role: "user",
    timestamp,
    sessionId: SessionId.make(sessionId),
    metadata: { type: "turn" }
  })

type Stores = MemoryStore.MemoryStore | FactStore.FactStore

interface Extractor {
  readonly layer: Layer.Layer<EntityExtractor.EntityExtractor>
  /** Ids of the entries of each extraction. */
  readonly calls: Array<ReadonlyArray<string>>
}

/** Reads by rules after what `before` does. */
const extractorOf = (
  before: (call: number) => Effect.Effect<void, FactExtractionError> = () => Effect.void
): Extractor => {
  const rules = DefaultEntityExtractor.makeHeuristic()
  const calls: Array<ReadonlyArray<string>> = []
  return {
    calls,
    layer: Layer.succeed(EntityExtractor.EntityExtractor, {
      extract: (entries) =>
        Effect.suspend(() => {
          calls.push(entries.map(({ id }) => id as string))
          return Effect.zipRight(before(calls.length), rules.extract(entries))
        })
    })
  }
}

/** Stores what is added, and nothing more. */
const plain = Layer.effect(
  WorkingMemory.WorkingMemory,
  Effect.map(MemoryStore.MemoryStore, (store) => ({
    ...WorkingMemory.noop,
    add: (entry: MemoryEntry.MemoryEntry) => Effect.orDie(store.store(entry)),
    addAll: (entries: ReadonlyArray<MemoryEntry.MemoryEntry>) => Effect.orDie(store.storeMany(entries))
  }))
)

/** One process: its memory, and its end. */
const start = (extractor: Extractor, options?: FactExtraction.Options) =>
  Effect.gen(function* () {
    const scope = yield* Scope.make()
    const memory = FactExtraction.layer(options).pipe(
      Layer.provide(plain),
      Layer.provide(DefaultSemanticMemory.layer()),
      Layer.provide(extractor.layer)
    )
    const context = yield* Layer.buildWithScope(memory, scope)
    const working = yield* Effect.provide(WorkingMemory.WorkingMemory, context)
    yield* Effect.yieldNow()
    return { ...working, end: Scope.close(scope, Exit.void) }
  })

const known = Effect.flatMap(FactStore.FactStore, (facts) =>
  Effect.map(facts.query("ann"), (found) => found.map(({ object }) => object).sort())
)

const inMemory: Layer.Layer<Stores> = Layer.merge(InMemoryMemoryStore.layer(), InMemoryFactStore.layer())

const logged = (logs: Array<unknown>) =>
  Logger.replace(
    Logger.defaultLogger,
    Logger.make(({ message }) => void logs.push(...[message].flat()))
  )

const failure = new FactExtractionError({ message: "no model today" })

describe("FactExtraction", () => {
  const tested = (title: string, body: Effect.Effect<void, unknown, Stores | Scope.Scope>): void =>
    it.scoped(title, () => Effect.provide(body, inMemory))

  tested(
    "extracts a burst of turns once, when the session is quiet",
    Effect.gen(function* () {
      const extractor = extractorOf()
      const { addAll, end } = yield* start(extractor, { quiet: "30 seconds" })
      for (const [at, city] of ["Rome", "Oslo", "Ghent"].entries()) {
        yield* addAll([turn(`t${at}`, `I like ${city}.`)])
        yield* TestClock.adjust("20 seconds")
      }
      assert.deepStrictEqual(extractor.calls, [])
      yield* TestClock.adjust("10 seconds")
      assert.deepStrictEqual(extractor.calls, [["t0", "t1", "t2"]])
      assert.deepStrictEqual(yield* known, ["Ghent", "Oslo", "Rome"])
      yield* TestClock.adjust("1 day")
      yield* end
      assert.lengthOf(extractor.calls, 1)
    })
  )

  tested(
    "extracts a conversation that never ends after the longest wait",
    Effect.gen(function* () {
      const extractor = extractorOf()
      const { addAll, end } = yield* start(extractor, { quiet: "30 seconds", maxWait: "2 minutes" })
      for (let at = 0; at < 16; at++) {
        yield* addAll([turn(`t${at}`, `I like city ${at}.`)])
        yield* TestClock.adjust("20 seconds")
      }
      assert.deepStrictEqual(
        extractor.calls.map(({ length }) => length),
        [6, 6]
      )
      yield* end
      assert.deepStrictEqual(extractor.calls.flat().length, 16)
    })
  )

  tested(
    "waits for each session on its own, and extracts a long one at once",
    Effect.gen(function* () {
      const extractor = extractorOf()
      const { addAll, end } = yield* start(extractor, { quiet: "30 seconds", maxTurns: 3 })
      yield* addAll([turn("a1", "I like Rome.", "a")])
      yield* TestClock.adjust("20 seconds")
      yield* addAll([turn("b1", "I like Oslo.", "b"), turn("b2", "I like Bern.", "b"), turn("b3", "I like Kyiv.", "b")])
      yield* TestClock.adjust(0)
      assert.deepStrictEqual(extractor.calls, [["b1", "b2", "b3"]])
      yield* TestClock.adjust("10 seconds")
      assert.deepStrictEqual(extractor.calls, [["b1", "b2", "b3"], ["a1"]])
      yield* end
    })
  )

  tested(
    "extracts the oldest sessions early when too many wait",
    Effect.gen(function* () {
      const extractor = extractorOf()
      const { addAll, end } = yield* start(extractor, { maxSessions: 2, concurrency: 1 })
      for (const name of ["a", "b", "c", "d"]) {
        yield* addAll([turn(name, "I like tea.", name)])
        yield* TestClock.adjust(1)
      }
      assert.deepStrictEqual(extractor.calls, [["a"], ["b"]])
      yield* TestClock.adjust("1 minute")
      assert.deepStrictEqual(extractor.calls, [["a"], ["b"], ["c"], ["d"]])
      yield* end
    })
  )

  tested(
    "leaves to consolidation, with a warning, what exceeds twice the bound while nothing can be extracted",
    Effect.gen(function* () {
      const logs: Array<unknown> = []
      const extractor = extractorOf(() => Effect.never)
      const { addAll, end } = yield* Effect.provide(start(extractor, { maxSessions: 2, shutdown: 0 }), logged(logs))
      for (let at = 0; at < 20; at++) {
        yield* Effect.provide(addAll([turn(`t${at}`, "I like tea.", `s${at}`)]), logged(logs))
        yield* TestClock.adjust(1)
      }
      assert.include(logs, "Too many turns wait for their facts; consolidation will read the others")
      assert.isAtMost(extractor.calls.length, 20)
      const closing = yield* Effect.fork(end)
      yield* TestClock.adjust("10 seconds")
      yield* closing.await
    })
  )

  tested(
    "retries a failing extraction with growing waits, reports it, and gives up to consolidation",
    Effect.gen(function* () {
      const logs: Array<unknown> = []
      const extractor = extractorOf(() => failure)
      const { addAll, end } = yield* Effect.provide(
        start(extractor, { quiet: "30 seconds", maxAttempts: 3 }),
        logged(logs)
      )
      yield* addAll([turn("t1", "I like Rome.")])
      const counts: Array<number> = []
      for (const wait of ["30 seconds", "59 seconds", "1 second", "119 seconds", "1 second", "1 day"] as const) {
        yield* TestClock.adjust(wait)
        counts.push(extractor.calls.length)
      }
      assert.deepStrictEqual(counts, [1, 1, 2, 2, 3, 3])
      assert.deepStrictEqual(logs, [
        "The facts of a session could not be extracted yet",
        "The facts of a session could not be extracted yet",
        "The facts of a session could not be extracted; consolidation will read it"
      ])
      yield* end
    })
  )

  tested(
    "extracts after a failure together with the turns that came meanwhile",
    Effect.gen(function* () {
      const extractor = extractorOf((call) => (call === 1 ? failure : Effect.void))
      const { addAll, end } = yield* start(extractor, { quiet: "30 seconds" })
      yield* addAll([turn("t1", "I like Rome.")])
      yield* TestClock.adjust("30 seconds")
      yield* addAll([turn("t2", "I like Oslo.", "s", "ann", 1)])
      yield* TestClock.adjust("1 minute")
      assert.deepStrictEqual(extractor.calls, [["t1"], ["t1", "t2"]])
      assert.deepStrictEqual(yield* known, ["Oslo", "Rome"])
      yield* end
    })
  )

  tested(
    "extracts nothing of turns that were erased while they waited",
    Effect.gen(function* () {
      const extractor = extractorOf()
      const { addAll, end } = yield* start(extractor, { quiet: "30 seconds" })
      yield* addAll([turn("t1", "I like Rome."), turn("t2", "I like Oslo.")])
      const store = yield* MemoryStore.MemoryStore
      yield* store.delete("ann", EntryId.make("t1"))
      yield* TestClock.adjust("30 seconds")
      assert.deepStrictEqual(extractor.calls, [["t2"]])
      yield* end
    })
  )

  tested(
    "flushes a session at once, and reads its turns only once",
    Effect.gen(function* () {
      const extractor = extractorOf()
      const { addAll, end, flush } = yield* start(extractor, { quiet: "30 seconds" })
      yield* addAll([turn("t1", "I like Rome.")])
      yield* flush({ ownerId: "ann", sessionId: SessionId.make("s") })
      assert.deepStrictEqual(yield* known, ["Rome"])
      yield* TestClock.adjust("1 hour")
      yield* end
      assert.deepStrictEqual(extractor.calls, [["t1"]])
    })
  )
})

const processes = (name: string, stores: Layer.Layer<Stores, unknown>): void => {
  describe(`FactExtraction of processes: ${name}`, () => {
    it.scoped("extracts what is pending at the end", () =>
      Effect.gen(function* () {
        const extractor = extractorOf()
        const one = yield* start(extractor)
        yield* one.addAll([turn("t1", "I like Rome.", "a"), turn("t2", "I like Oslo.", "b")])
        yield* one.end
        assert.deepStrictEqual(yield* known, ["Oslo", "Rome"])
        const store = yield* MemoryStore.MemoryStore
        assert.strictEqual(yield* store.count(OwnerNamespace.unread), 0)
      }).pipe(Effect.provide(stores))
    )

    it.scoped("leaves what takes too long to one of the processes that start next", () =>
      Effect.gen(function* () {
        const logs: Array<unknown> = []
        const begun = yield* Deferred.make<void>()
        const never = extractorOf((call) =>
          Effect.zipRight(call === 2 ? Deferred.succeed(begun, undefined) : Effect.void, Effect.never)
        )
        const stuck = yield* Effect.provide(start(never), logged(logs))
        yield* stuck.addAll([turn("t1", "I like Rome.", "a"), turn("t2", "I like Oslo.", "b")])
        const ending = yield* Effect.fork(Effect.provide(stuck.end, logged(logs)))
        yield* Deferred.await(begun)
        yield* TestClock.adjust("5 seconds")
        yield* ending.await
        assert.deepStrictEqual(logs, ["The facts of sessions are left to the next start"])
        assert.deepStrictEqual(yield* known, [])
        const extractor = extractorOf()
        const [two, three] = [yield* start(extractor), yield* start(extractor)]
        const store = yield* MemoryStore.MemoryStore
        while ((yield* store.count(OwnerNamespace.unread)) > 0) yield* Effect.yieldNow()
        yield* two.end
        yield* three.end
        assert.sameMembers(extractor.calls.flat(), ["t1", "t2"])
        assert.deepStrictEqual(yield* known, ["Oslo", "Rome"])
      }).pipe(Effect.provide(stores))
    )

    it.scoped("reads each turn in one of two processes that serve a conversation", () =>
      Effect.gen(function* () {
        const extractor = extractorOf()
        const [one, two] = [yield* start(extractor), yield* start(extractor)]
        yield* one.addAll([turn("t1", "I like Rome.")])
        yield* two.addAll([turn("t2", "I like Oslo.")])
        yield* one.addAll([turn("t3", "I like Bern.")])
        yield* one.end
        yield* two.end
        assert.sameMembers(extractor.calls.flat(), ["t1", "t2", "t3"])
        assert.deepStrictEqual(yield* known, ["Bern", "Oslo", "Rome"])
      }).pipe(Effect.provide(stores))
    )
  })
}

processes("in memory", inMemory)
SqlBackends.suite("FactExtraction", ({ dialect, layer }) => {
  processes(dialect, Layer.provide(Layer.merge(SqlMemoryStore.layer(), SqlFactStore.layer()), layer))
})

describe("FactExtraction of DefaultMemory", () => {
  const remembered = Effect.gen(function* () {
    const working = yield* WorkingMemory.WorkingMemory
    yield* working.addAll([turn("t1", "I like Rome."), turn("t2", "I like Oslo and I own a boat.")])
    yield* TestClock.adjust("1 minute")
  })

  it.effect("is switched on by a variable, and off without it", () =>
    Effect.gen(function* () {
      const found = (variables: ReadonlyArray<readonly [string, string]>) =>
        Effect.zipRight(remembered, known).pipe(
          Effect.provide(DefaultMemory.layerConfig()),
          Effect.withConfigProvider(ConfigProvider.fromMap(new Map(variables)))
        )
      const variable = "LEX_AI_MEMORY__SEMANTIC__EXTRACT_AFTER_SECONDS"
      assert.deepStrictEqual(yield* found([]), [])
      assert.deepStrictEqual(yield* found([[variable, "30"]]), ["Oslo", "Rome", "a boat"])
      const late = [variable, "300"] as const
      assert.deepStrictEqual(yield* found([late]), [])
      assert.deepStrictEqual(yield* found([late, ["LEX_AI_MEMORY__SEMANTIC__EXTRACT_MAX_WAIT_SECONDS", "20"]]), [
        "Oslo",
        "Rome",
        "a boat"
      ])
    })
  )

  it.effect("names the turns of a fact, and erases it with them unless another turn states it", () =>
    Effect.gen(function* () {
      yield* remembered
      const facts = yield* FactStore.FactStore
      const [rome] = yield* facts.query("ann", { object: "Rome" })
      assert.deepStrictEqual(rome?.sources, [EntryId.make("t1")])
      const working = yield* WorkingMemory.WorkingMemory
      yield* working.addAll([turn("t3", "I own a boat.", "s", "ann", 60_000)])
      yield* TestClock.adjust("1 minute")
      const memory = yield* Memory.Memory
      const ids = ["t1", "t2", "unknown"].map((id) => EntryId.make(id))
      assert.deepStrictEqual(yield* memory.forgetEntries("bob", ids), { entries: 0, facts: 0, procedures: 0 })
      assert.deepStrictEqual(yield* memory.forgetEntries("ann", ids), { entries: 2, facts: 2, procedures: 0 })
      assert.deepStrictEqual(yield* known, ["a boat"])
    }).pipe(
      Effect.provide(
        DefaultMemory.layer({ config: { semantic: { extractAfterSeconds: 30 }, consolidation: { enabled: false } } })
      )
    )
  )
})
