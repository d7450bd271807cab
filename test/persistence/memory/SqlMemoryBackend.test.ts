import * as SqlClient from "@effect/sql/SqlClient"
import { assert, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as FastCheck from "effect/FastCheck"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as TestClock from "effect/TestClock"
import * as TestContext from "effect/TestContext"
import type { EntryId, SessionId } from "../../../src/domain/Ids.js"
import type { MemoryBackend } from "../../../src/memory/entry/MemoryBackend.js"
import type { MemoryEntry } from "../../../src/memory/entry/MemoryEntry.js"
import { StorageError } from "../../../src/memory/entry/MemoryError.js"
import type { Selection } from "../../../src/memory/entry/Selection.js"
import * as InMemoryBackend from "../../../src/memory/search/InMemoryBackend.js"
import * as TextAnalyzer from "../../../src/memory/text/TextAnalyzer.js"
import * as SqlMemoryStore from "../../../src/persistence/memory/SqlMemoryStore.js"
import * as SqliteClient from "../../../src/persistence/sqlite/SqliteClient.js"
import * as SqlDatabases from "../../support/SqlDatabases.js"

const id = (value: string) => value as EntryId

const entry = (name: string, fields: Partial<MemoryEntry> = {}): MemoryEntry => ({
  id: id(name),
  ownerId: "o",
  content: name,
  importance: 0.5,
  role: "user",
  timestamp: 0,
  metadata: {},
  ...fields
})

const names = (entries: ReadonlyArray<MemoryEntry>) => entries.map((one) => one.id as string)

const all = (backend: MemoryBackend, ownerId = "o") =>
  Effect.map(backend.page(ownerId, { limit: 10_000, selection: {} }), names)

const found = (backend: MemoryBackend, text: string, selection: Selection = {}) =>
  Effect.map(backend.lexical("o", { text, limit: 50, selection }), ({ hits }) => names(hits.map(({ entry }) => entry)))

const vocabulary = [
  ..."alpha beta gamma delta epsilon zeta eta theta iota kappa".split(" "),
  "Straße",
  "don't",
  "getUserName",
  "2024-05-01",
  "C++",
  "東京都庁",
  "한국어",
  "😀",
  "naïve",
  "x".repeat(80),
  "\u0000nul\ud800",
  "'quoted'",
  '"double"',
  "a&b|c",
  "NEAR",
  "\\"
]

SqlDatabases.suite("SqlMemoryBackend", ({ layer, name, second }) => {
  const test = (fact: string, body: (backend: MemoryBackend) => Effect.Effect<void, unknown>, timeout?: number) =>
    it.effect(fact, () => Effect.flatMap(SqlMemoryStore.makeBackend(), body).pipe(Effect.provide(layer)), timeout)

  test("answers as the backend in memory, with scores equal to the last digit", (backend) => {
    const ids = FastCheck.constantFrom(..."abcdefghij".split(""), "__proto__", "é", "E", "😀", "\uffff", "\ud7ff")
    const session = FastCheck.constantFrom("s", "t", "__proto__").map((value) => value as SessionId)
    const time = FastCheck.integer({ min: 0, max: 4 })
    const owner = FastCheck.constantFrom("o", "o", "o", "p", "😀\u0000")
    const content = FastCheck.array(FastCheck.constantFrom(...vocabulary), { maxLength: 12 }).map((all) =>
      all.join(" ")
    )
    const stored = FastCheck.record({
      id: ids,
      content,
      sessionId: FastCheck.option(session, { nil: undefined }),
      timestamp: time,
      expires: FastCheck.option(FastCheck.integer({ min: 1, max: 40 }), { nil: undefined, freq: 3 }),
      accessCount: FastCheck.option(FastCheck.nat(3), { nil: undefined }),
      odd: FastCheck.boolean()
    })
    const selection: FastCheck.Arbitrary<Selection> = FastCheck.oneof(
      FastCheck.constant({}),
      FastCheck.record(
        {
          timeRange: FastCheck.record({ start: time, end: time }),
          sessionIds: FastCheck.array(session, { maxLength: 2 }),
          lineage: FastCheck.array(FastCheck.record({ sessionId: session, until: time }), { maxLength: 2 }),
          filters: FastCheck.record({ odd: FastCheck.boolean() })
        },
        { requiredKeys: [] }
      )
    )
    const step = FastCheck.oneof(
      {
        weight: 4,
        arbitrary: FastCheck.record({
          what: FastCheck.constant("apply" as const),
          owner,
          store: FastCheck.array(stored, { minLength: 1, maxLength: 8 }),
          delete: FastCheck.array(ids, { maxLength: 2 })
        })
      },
      {
        weight: 6,
        arbitrary: FastCheck.record({
          what: FastCheck.constant("read" as const),
          owner,
          selection,
          at: FastCheck.record({ timestamp: time, id: ids.map(id) }),
          limit: FastCheck.nat(9),
          text: FastCheck.array(FastCheck.constantFrom(...vocabulary), { maxLength: 4 }).map((all) => all.join(" "))
        })
      },
      {
        weight: 1,
        arbitrary: FastCheck.record({
          what: FastCheck.constant("recall" as const),
          owner,
          ids: FastCheck.array(ids.map(id), { maxLength: 5 }),
          at: time
        })
      },
      { weight: 1, arbitrary: FastCheck.record({ what: FastCheck.constant("pass" as const) }) },
      { weight: 1, arbitrary: FastCheck.record({ what: FastCheck.constant("clear" as const), owner }) }
    )
    type Step = typeof step extends FastCheck.Arbitrary<infer S> ? S : never
    const run = (steps: ReadonlyArray<Step>) =>
      Effect.gen(function* () {
        for (const owner of ["o", "p", "😀\u0000"]) yield* backend.clear(owner)
        const model = yield* InMemoryBackend.make()
        let now = 0
        for (const one of steps) {
          const same = <A>(ask: (backend: MemoryBackend) => Effect.Effect<A, unknown>) =>
            Effect.gen(function* () {
              const expected = yield* ask(model)
              assert.deepStrictEqual(yield* ask(backend), expected)
            })
          switch (one.what) {
            case "pass":
              now += 10
              yield* TestClock.setTime(now)
              break
            case "clear":
              yield* same((one_) => one_.clear(one.owner))
              break
            case "recall":
              yield* same((one_) => one_.recordAccess(one.owner, one.ids, one.at))
              break
            case "apply": {
              const store = one.store.map(({ accessCount, content, expires, id, odd, sessionId, timestamp }) =>
                entry(id, {
                  ownerId: one.owner,
                  content,
                  timestamp,
                  metadata: { odd },
                  ...(sessionId === undefined ? {} : { sessionId }),
                  ...(expires === undefined ? {} : { expiresAt: expires }),
                  ...(accessCount === undefined ? {} : { accessCount })
                })
              )
              yield* same((one_) => one_.apply(one.owner, { store, delete: one.delete.map(id) }))
              break
            }
            case "read": {
              const { at, limit, owner, selection, text } = one
              yield* same((one_) => one_.recent(owner, { limit, selection }))
              yield* same((one_) => one_.recent(owner, { limit, selection, before: at }))
              yield* same((one_) => one_.page(owner, { limit, selection, after: at }))
              yield* same((one_) => one_.count(owner, selection))
              yield* same((one_) => one_.around(owner, at.id, { before: limit, after: 2, selection }))
              yield* same((one_) => one_.get(owner, [at.id, id("a"), at.id]))
              yield* same((one_) => one_.lexical(owner, { text, limit, selection }))
              yield* same((one_) => one_.owners({ limit: 2 }))
              yield* same((one_) => one_.owners({ limit: 2, after: "o" }))
            }
          }
        }
      }).pipe(Effect.provide(TestContext.TestContext))
    return Effect.promise(() =>
      FastCheck.assert(
        FastCheck.asyncProperty(FastCheck.array(step, { minLength: 15, maxLength: 30 }), (steps) =>
          Effect.runPromise(run(steps) as Effect.Effect<void>)
        ),
        { numRuns: name === "sqlite" ? 10 : 4 }
      )
    )
  }, 300_000)

  test("loses nothing of 64 fibers that write for one owner, and finds all by search", (backend) =>
    Effect.gen(function* () {
      const fibers = Array.from({ length: 64 }, (_, fiber) => fiber)
      yield* Effect.forEach(
        fibers,
        (fiber) =>
          Effect.gen(function* () {
            const own = [0, 1, 2].map((at) => entry(`${fiber}-${at}`, { content: `zebra number${fiber}` }))
            yield* backend.apply("o", { store: own.slice(0, 1) })
            yield* backend.apply("o", { store: own.slice(1).concat(entry("shared", { content: "quagga" })) })
            yield* backend.recordAccess("o", [id("shared")], fiber)
            yield* backend.apply("o", { delete: [id(`${fiber}-0`)] })
          }),
        { concurrency: "unbounded", discard: true }
      )
      const model = yield* InMemoryBackend.make()
      const expected = fibers.flatMap((fiber) =>
        [1, 2].map((at) => entry(`${fiber}-${at}`, { content: `zebra number${fiber}` }))
      )
      yield* model.apply("o", { store: [...expected, entry("shared", { content: "quagga" })] })
      assert.strictEqual(yield* backend.count("o", {}), 129)
      assert.deepStrictEqual(yield* all(backend), yield* all(model))
      for (const text of ["zebra", "quagga zebra number7"]) {
        const query = { text, limit: 200, selection: {} }
        const { ceiling, hits } = yield* backend.lexical("o", query)
        const wanted = yield* model.lexical("o", query)
        assert.strictEqual(ceiling, wanted.ceiling)
        assert.deepStrictEqual(
          hits.map(({ entry, score }) => [entry.id, score]),
          wanted.hits.map(({ entry, score }) => [entry.id, score])
        )
      }
      const [shared] = yield* backend.get("o", [id("shared")])
      assert.strictEqual(shared?.accessCount, 64)
      assert.strictEqual(shared?.lastAccessedAt, 63)
    }))

  it.effect("shares writes between two clients of one database", () =>
    Effect.gen(function* () {
      const again = yield* second
      const first = yield* SqlMemoryStore.makeBackend()
      const other = yield* Effect.provideService(SqlMemoryStore.makeBackend(), SqlClient.SqlClient, again)
      yield* Effect.forEach(
        Array.from({ length: 40 }, (_, at) => at),
        (at) =>
          (at % 2 === 0 ? first : other).apply("o", {
            store: [entry(`e${at}`, { content: "zebra" })],
            delete: [id(`e${at - 20}`)]
          }),
        { concurrency: 8, discard: true }
      )
      yield* first.apply("o", { delete: Array.from({ length: 20 }, (_, at) => id(`e${at}`)) })
      const expected = Array.from({ length: 20 }, (_, at) => `e${at + 20}`)
      for (const backend of [first, other]) {
        assert.sameMembers([...(yield* all(backend))], expected)
        assert.strictEqual(yield* backend.count("o", {}), 20)
        assert.sameMembers([...(yield* found(backend, "zebra"))], expected)
      }
    }).pipe(Effect.scoped, Effect.provide(layer))
  )

  it.effect("rolls back with the caller's transaction, but not with that of another database", () =>
    Effect.gen(function* () {
      const client = yield* SqlClient.SqlClient
      const backend = yield* SqlMemoryStore.makeBackend()
      yield* backend.apply("o", { store: [entry("kept", { content: "zebra" })] })
      const body = Effect.gen(function* () {
        yield* backend.apply("o", { store: [entry("undone", { content: "zebra" })], delete: [id("kept")] })
        assert.deepStrictEqual(yield* all(backend), ["undone"])
        assert.deepStrictEqual(yield* found(backend, "zebra"), ["undone"])
        return yield* Effect.fail("no")
      })
      assert.strictEqual(yield* Effect.flip(client.withTransaction(body)), "no")
      assert.deepStrictEqual(yield* all(backend), ["kept"])
      assert.deepStrictEqual(yield* found(backend, "zebra"), ["kept"])
      assert.strictEqual(yield* backend.count("o", {}), 1)
      const elsewhere = yield* Effect.map(Layer.build(SqliteClient.layer({ file: ":memory:" })), (context) =>
        Context.get(context, SqlClient.SqlClient)
      )
      const outside = Effect.zipRight(backend.apply("o", { store: [entry("stays")] }), Effect.fail("no"))
      assert.strictEqual(yield* Effect.flip(elsewhere.withTransaction(outside)), "no")
      assert.deepStrictEqual(yield* all(backend), ["kept", "stays"])
    }).pipe(Effect.scoped, Effect.provide(layer))
  )

  test("writes as a whole or not at all when interrupted", (backend) =>
    Effect.gen(function* () {
      const store = Array.from({ length: 300 }, (_, at) => entry(`e${at}`, { content: "zebra" }))
      for (const turns of [1, 5, 20, 60, 200]) {
        const fiber = yield* Effect.fork(backend.apply("o", { store }))
        for (let turn = 0; turn < turns; turn++) yield* Effect.yieldNow()
        yield* Fiber.interrupt(fiber)
        const count = yield* backend.count("o", {})
        assert.include([0, 300], count)
        assert.strictEqual((yield* all(backend)).length, count)
        const { hits } = yield* backend.lexical("o", { text: "zebra", limit: 500, selection: {} })
        assert.strictEqual(hits.length, count)
        yield* backend.clear("o")
      }
    }))

  test("deletes ten thousand entries in one step", (backend) =>
    Effect.gen(function* () {
      const store = Array.from({ length: 10_010 }, (_, at) => entry(`e${at}`, { content: "zebra" }))
      yield* backend.apply("o", { store })
      const gone = store.slice(0, 10_000).map((one) => one.id)
      assert.strictEqual(yield* backend.apply("o", { delete: [...gone, id("none")] }), 10_000)
      assert.strictEqual(yield* backend.count("o", {}), 10)
      assert.strictEqual((yield* found(backend, "zebra")).length, 10)
    }))

  test("expires thousands of entries of all owners, and keeps live ones", (backend) =>
    Effect.gen(function* () {
      for (const owner of ["o", "p", "q"]) {
        const store = Array.from({ length: 1_200 }, (_, at) =>
          entry(`e${at}`, { ownerId: owner, expiresAt: owner === "q" ? 10_000 : 1_000 + at })
        )
        yield* backend.apply(owner, { store })
      }
      yield* TestClock.setTime(2_099)
      assert.strictEqual(yield* backend.count("o", {}), 100)
      assert.deepStrictEqual(yield* backend.owners({ limit: 9 }), ["o", "p", "q"])
      assert.strictEqual(yield* backend.expire, 2_200)
      assert.strictEqual(yield* backend.expire, 0)
      assert.strictEqual(yield* backend.count("o", {}), 100)
      yield* TestClock.setTime(9_999)
      assert.deepStrictEqual(yield* backend.owners({ limit: 9 }), ["q"])
      assert.strictEqual(yield* backend.expire, 200)
      assert.strictEqual(yield* backend.count("q", {}), 1_200)
      assert.strictEqual(yield* backend.clear("q"), 1_200)
      assert.deepStrictEqual(yield* backend.owners({ limit: 9 }), [])
    }))

  test("returns entries as they were stored, whatever they contain", (backend) =>
    Effect.gen(function* () {
      const longest = "\ud7ff".repeat(256)
      const metadata = JSON.parse('{"__proto__": {"a": [1]}, "constructor": "x", "a.b": "\\u0000\\ud800"}')
      const kept = [
        entry("full", {
          content: "\u0000\ud800 😀",
          metadata,
          embedding: [0.1, -0, 1e-310, Number.MAX_VALUE, 3],
          importance: 0.123456789012345,
          timestamp: 1_700_000_000_000.123,
          sessionId: longest as SessionId,
          runId: "run" as never,
          turnId: "turn" as never,
          expiresAt: Number.MAX_VALUE,
          accessCount: 3,
          lastAccessedAt: -5.5
        }),
        entry(longest, { content: "long", embedding: [] }),
        entry("large", { content: "word ".repeat(100_000), metadata: { text: "y".repeat(50_000) } })
      ]
      const owner = longest
      const store = kept.map((one) => ({ ...one, ownerId: owner }))
      yield* backend.apply(owner, { store })
      assert.deepStrictEqual(
        yield* backend.get(
          owner,
          store.map((one) => one.id)
        ),
        store
      )
      assert.deepStrictEqual(yield* backend.owners({ limit: 5 }), [owner])
      const selection = { sessionIds: [longest as SessionId] }
      assert.deepStrictEqual(names(yield* backend.recent(owner, { limit: 5, selection })), ["full"])
    }))

  test("ranks thousands of entries with common words as the backend in memory, for any selection", (backend) =>
    Effect.gen(function* () {
      let state = 7
      const next = (below: number) => {
        state = (Math.imul(state ^ (state >>> 15), 1_664_525) + 1_013_904_223) | 0
        return (state >>> 0) % below
      }
      const common = ["alpha", "beta", "gamma", "delta"]
      const store = Array.from({ length: 4_000 }, (_, at) => {
        const words = common.flatMap((word) => (next(2) === 0 ? [] : next(8) === 0 ? [word, word, word] : [word]))
        const others = Array.from({ length: 1 + next(20) }, () => `w${next(900)}`)
        const lasts = next(20) === 0 ? { expiresAt: 5 } : {}
        const content = words.concat(others).join(" ")
        return entry(`e${at}`, { content, timestamp: next(50), metadata: { rare: next(300) === 0 }, ...lasts })
      })
      const model = yield* InMemoryBackend.make()
      for (const one of [backend, model]) yield* one.apply("o", { store })
      const selections: ReadonlyArray<Selection> = [
        {},
        { timeRange: { start: 3, end: 9 } },
        { filters: { rare: true } },
        { filters: { rare: "never" } }
      ]
      for (const now of [0, 10]) {
        yield* TestClock.setTime(now)
        for (const text of [
          common.join(" "),
          "alpha",
          "beta delta w7",
          "gamma w1 w2 w3 w4 w5",
          "alpha beta gamma none"
        ]) {
          for (const selection of selections) {
            for (const limit of [1, 30, 1_200]) {
              const query = { text, limit, selection }
              const figures = (one: MemoryBackend) =>
                Effect.map(one.lexical("o", query), ({ ceiling, hits }) => [
                  ceiling,
                  hits.map(({ entry, score }) => [entry.id, score])
                ])
              assert.deepStrictEqual(yield* figures(backend), yield* figures(model))
            }
          }
        }
      }
    }))

  test("finds a text of a million characters by its first words, and counts its length", (backend) =>
    Effect.gen(function* () {
      const words = Array.from({ length: 120_000 }, (_, at) => `w${at.toString(36)}`)
      const content = `zebra ${"again ".repeat(400)}${words.join(" ")}`.slice(0, 1_000_000)
      const store = [entry("long", { content }), entry("short", { content: "zebra again" })]
      yield* backend.apply("o", { store })
      assert.deepStrictEqual(yield* backend.get("o", [id("long")]), store.slice(0, 1))
      const model = yield* InMemoryBackend.make()
      yield* model.apply("o", { store })
      for (const text of ["zebra", "again", "w7"]) {
        const query = { text, limit: 5, selection: {} }
        assert.deepStrictEqual(yield* backend.lexical("o", query), yield* model.lexical("o", query))
      }
    }))

  it.effect("indexes stored entries again for another analyzer, once", () =>
    Effect.gen(function* () {
      const english = yield* SqlMemoryStore.makeBackend()
      const plain = yield* SqlMemoryStore.makeBackend({ analyzer: TextAnalyzer.plain })
      const store = Array.from({ length: 250 }, (_, at) => entry(`e${at}`, { content: "the dogs", metadata: { at } }))
      yield* english.apply("o", { store })
      assert.strictEqual((yield* found(english, "dog")).length, 50)
      assert.deepStrictEqual(yield* found(plain, "dog"), [])
      const query = { text: "the dogs", limit: 3, selection: {} }
      const model = yield* InMemoryBackend.make({ analyzer: TextAnalyzer.plain })
      yield* model.apply("o", { store })
      assert.deepStrictEqual(yield* plain.lexical("o", query), yield* model.lexical("o", query))
      assert.deepStrictEqual(yield* found(plain, "dogs", { filters: { at: 7 } }), ["e7"])
      yield* english.apply("o", { store: [entry("new", { content: "a dog" })] })
      assert.strictEqual((yield* english.lexical("o", { text: "dog", limit: 500, selection: {} })).hits.length, 251)
    }).pipe(Effect.provide(layer))
  )

  it.effect("fails without showing content", () =>
    Effect.gen(function* () {
      const client = yield* SqlClient.SqlClient
      const backend = yield* SqlMemoryStore.makeBackend()
      const broken = Effect.gen(function* () {
        yield* client.unsafe("DROP TABLE lex_memory_bodies")
        return yield* Effect.flip(backend.apply("secret", { store: [entry("secret", { ownerId: "secret" })] }))
      })
      const failure = yield* Effect.flip(client.withTransaction(Effect.flip(broken)))
      assert.instanceOf(failure, StorageError)
      assert.notInclude(`${failure} ${JSON.stringify(failure)}`, "secret")
    }).pipe(Effect.provide(layer))
  )
})
