import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as FastCheck from "effect/FastCheck"
import type { EntryId, SessionId } from "../../../src/domain/Ids.js"
import type { MemoryEntry } from "../../../src/memory/entry/MemoryEntry.js"
import type { Condition, MemoryRole, Scalar, Selection } from "../../../src/memory/entry/Selection.js"
import * as Selections from "../../../src/memory/entry/Selection.js"
import * as InMemoryBackend from "../../../src/memory/search/InMemoryBackend.js"
import * as SqlMemoryStore from "../../../src/persistence/memory/SqlMemoryStore.js"
import * as SqlDatabases from "../../support/SqlDatabases.js"

const strings = [
  "",
  "a",
  "b",
  "ab",
  "A",
  "1",
  "true",
  "null",
  '"',
  'a"b',
  '","',
  "\\",
  "\\u0000",
  "[",
  "]",
  "!",
  "!!",
  "!~",
  "!e",
  "=",
  "a=sb",
  'x"k=sa',
  '"k=z',
  'x","k=sa',
  "%",
  "_",
  "'",
  "\u0000",
  "\u0001",
  "a\nb",
  "\ud800",
  "\udc00\ud800",
  "\ud7ff",
  "\uffff",
  "😀",
  "é",
  "e\u0301",
  "s",
  "t",
  "x".repeat(300)
]
const numbers = [0, -0, 1, -1, 0.1, -0.1, 10, 2, 1e-310, 1.7e308, -1.7e308, 2 ** 53, 1700000000000.123]
const keys = ["type", "a.b", "__proto__", "constructor", "sessionTree", "timeRange", ...strings.slice(0, 32)]

const string = FastCheck.constantFrom(...strings)
const number = FastCheck.constantFrom(...numbers)
const key = FastCheck.oneof(
  { weight: 5, arbitrary: FastCheck.constant("k") },
  { weight: 1, arbitrary: FastCheck.constant("sessionTree") },
  { weight: 2, arbitrary: FastCheck.constantFrom(...keys) }
)
const scalar: FastCheck.Arbitrary<Scalar> = FastCheck.oneof(
  string,
  number,
  FastCheck.boolean(),
  FastCheck.constant(null)
)
const nested: FastCheck.Arbitrary<unknown> = FastCheck.oneof(
  FastCheck.record({ a: scalar }),
  FastCheck.record({ start: number }),
  FastCheck.array(FastCheck.oneof(scalar, FastCheck.array(scalar, { maxLength: 2 }), FastCheck.record({ a: scalar })), {
    maxLength: 4
  })
)
const sessions = ["s", "t", "u", '"', "😀", "é"] as const
const session = FastCheck.constantFrom(...sessions).map((value) => value as SessionId)
const time = FastCheck.integer({ min: -2, max: 6 })
const role = FastCheck.constantFrom<MemoryRole>("user", "assistant", "tool", "system")

const start = FastCheck.oneof(time, time, FastCheck.constantFrom("1", null))
const metadata = FastCheck.tuple(
  FastCheck.array(FastCheck.tuple(key, FastCheck.oneof(scalar, scalar, nested)), { maxLength: 4 }),
  FastCheck.option(start, { nil: undefined })
).map(
  ([entries, start]): Readonly<Record<string, unknown>> =>
    Object.fromEntries(start === undefined ? entries : [...entries, ["timeRange", { start }]])
)
const fields = FastCheck.record({
  timestamp: time,
  role,
  metadata,
  sessionId: FastCheck.option(session, { nil: undefined })
})

const bound = FastCheck.oneof(string, number)
const range = FastCheck.oneof(
  FastCheck.record({ gt: string, gte: string, lt: string, lte: string }, { requiredKeys: [] }),
  FastCheck.record({ gt: number, gte: number, lt: number, lte: number }, { requiredKeys: [] }),
  FastCheck.record({ gt: bound, lte: bound }, { requiredKeys: [] })
)
const condition: FastCheck.Arbitrary<Condition> = FastCheck.oneof(
  scalar,
  FastCheck.record({ in: FastCheck.array(scalar, { maxLength: 4 }) }),
  range
)
const filters = FastCheck.array(FastCheck.tuple(key, condition), { minLength: 1, maxLength: 2 }).map(
  (one): Selections.Filters => Object.fromEntries(one)
)
const mixed: FastCheck.Arbitrary<Selection> = FastCheck.record(
  {
    timeRange: FastCheck.record({ start: time, end: time }),
    roles: FastCheck.array(role, { maxLength: 3 }),
    sessionIds: FastCheck.array(session, { maxLength: 3 }),
    lineage: FastCheck.array(
      FastCheck.record({ sessionId: session, from: time, until: time }, { requiredKeys: ["sessionId"] }),
      { maxLength: 5 }
    ),
    tree: session,
    filters
  },
  { requiredKeys: [] }
)
const selection = FastCheck.oneof(
  mixed,
  FastCheck.tuple(key, condition).map(
    ([name, wanted]): Selection => ({ filters: Object.fromEntries([[name, wanted]]) })
  )
)

SqlDatabases.suite("a selection as SQL", ({ layer, name }) => {
  it.effect(
    "selects what the predicate does, for any metadata",
    () =>
      Effect.gen(function* () {
        const backend = yield* SqlMemoryStore.makeBackend()
        const check = (
          all: ReadonlyArray<typeof fields extends FastCheck.Arbitrary<infer F> ? F : never>,
          selections: ReadonlyArray<Selection>
        ) =>
          Effect.gen(function* () {
            const store = all.map(
              ({ metadata, role, sessionId, timestamp }, at): MemoryEntry => ({
                id: `e${at}` as EntryId,
                ownerId: "o",
                content: "zebra",
                importance: 0.5,
                role,
                timestamp,
                metadata,
                ...(sessionId === undefined ? {} : { sessionId })
              })
            )
            yield* backend.clear("o")
            yield* backend.apply("o", { store })
            for (const selection of selections) {
              const wanted = Selections.predicate(selection) ?? (() => true)
              const expected = store
                .filter(wanted)
                .map(({ id }) => id)
                .sort()
              const page = yield* backend.page("o", { limit: 100, selection })
              assert.deepStrictEqual(page.map(({ id }) => id).sort(), expected)
              assert.strictEqual(yield* backend.count("o", selection), expected.length)
              const { hits } = yield* backend.lexical("o", { text: "zebra", limit: 100, selection })
              assert.deepStrictEqual(hits.map(({ entry }) => entry.id).sort(), expected)
            }
          })
        yield* Effect.promise(() =>
          FastCheck.assert(
            FastCheck.asyncProperty(
              FastCheck.array(fields, { minLength: 20, maxLength: 40 }),
              FastCheck.array(selection, { minLength: 10, maxLength: 15 }),
              (all, selections) => Effect.runPromise(check(all, selections))
            ),
            { numRuns: name === "sqlite" ? 15 : 5 }
          )
        )
      }).pipe(Effect.provide(layer)),
    300_000
  )

  it.effect("selects entries with more attributes than requested by any of them", () =>
    Effect.gen(function* () {
      const backend = yield* SqlMemoryStore.makeBackend()
      const entry = (id: string, names: ReadonlyArray<string>): MemoryEntry => ({
        id: id as EntryId,
        ownerId: "o",
        content: "",
        importance: 0.5,
        role: "user",
        timestamp: 0,
        metadata: { names }
      })
      const many = Array.from({ length: 500 }, (_, at) => `name ${at}`)
      yield* backend.apply("o", { store: [entry("many", many), entry("one", ["name 7"]), entry("none", [])] })
      const found = (wanted: Condition) =>
        Effect.map(backend.page("o", { limit: 9, selection: { filters: { names: wanted } } }), (entries) =>
          entries.map(({ id }) => id as string)
        )
      assert.deepStrictEqual(yield* found("name 7"), ["many", "one"])
      assert.deepStrictEqual(yield* found({ in: ["name 499", "other"] }), ["many"])
      assert.deepStrictEqual(yield* found("other"), [])
      assert.deepStrictEqual(yield* found(null), [])
    }).pipe(Effect.provide(layer))
  )

  it.effect("reads the newest of thousands of matching entries, and counts all", () =>
    Effect.gen(function* () {
      const backend = yield* SqlMemoryStore.makeBackend()
      const store = Array.from(
        { length: 2_500 },
        (_, at): MemoryEntry => ({
          id: `e${at}` as EntryId,
          ownerId: "o",
          content: `zebra${" quagga".repeat(at % 50)}`,
          importance: 0.5,
          role: "user",
          timestamp: at,
          metadata: { type: at % 500 === 499 ? "rare" : "turn" }
        })
      )
      yield* backend.apply("o", { store })
      const model = yield* InMemoryBackend.make()
      yield* model.apply("o", { store })
      for (const type of ["rare", "turn"]) {
        const selection = { filters: { type } }
        const expected = store.filter(({ metadata }) => metadata["type"] === type)
        assert.strictEqual(yield* backend.count("o", selection), expected.length)
        const query = { text: "zebra", limit: 20, selection }
        assert.deepStrictEqual(yield* backend.lexical("o", query), yield* model.lexical("o", query))
        assert.deepStrictEqual(
          (yield* backend.recent("o", { limit: 3, selection })).map(({ id }) => id),
          expected
            .slice(-3)
            .map(({ id }) => id)
            .reverse()
        )
      }
    }).pipe(Effect.provide(layer))
  )
})
