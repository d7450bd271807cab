import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as FastCheck from "effect/FastCheck"
import * as TestClock from "effect/TestClock"
import * as TestContext from "effect/TestContext"
import type { EntryId, SessionId } from "../../src/domain/Ids.js"
import * as InMemoryBackend from "../../src/memory/InMemoryBackend.js"
import type { MemoryBackend } from "../../src/memory/MemoryBackend.js"
import type { MemoryEntry } from "../../src/memory/MemoryEntry.js"
import type { Selection } from "../../src/memory/Selection.js"
import * as TextAnalyzer from "../../src/memory/TextAnalyzer.js"
import * as SqlMemoryStore from "../../src/persistence/SqlMemoryStore.js"
import * as SqlDatabases from "../support/SqlDatabases.js"

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

SqlDatabases.suite("SqlMemoryBackend", ({ layer, name }) => {
  const test = (
    fact: string,
    body: (backend: MemoryBackend) => Effect.Effect<void, unknown>,
    options?: SqlMemoryStore.BackendOptions
  ) => it.effect(fact, () => Effect.flatMap(SqlMemoryStore.makeBackend(options), body).pipe(Effect.provide(layer)))

  test("answers as the backend in memory does, scores to the last digit", (backend) => {
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
        { numRuns: name === "sqlite" ? 25 : 8 }
      )
    )
  })
})
