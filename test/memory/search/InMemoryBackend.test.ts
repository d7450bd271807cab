import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as FastCheck from "effect/FastCheck"
import * as Metric from "effect/Metric"
import * as MetricKey from "effect/MetricKey"
import * as MetricLabel from "effect/MetricLabel"
import * as Order from "effect/Order"
import * as TestClock from "effect/TestClock"
import type { EntryId, SessionId } from "../../../src/domain/Ids.js"
import type { MemoryBackend, Position } from "../../../src/memory/entry/MemoryBackend.js"
import * as MemoryEntry from "../../../src/memory/entry/MemoryEntry.js"
import { MemoryCapacityError } from "../../../src/memory/entry/MemoryError.js"
import * as MemoryMetrics from "../../../src/memory/entry/MemoryMetrics.js"
import type { Condition, MemoryRole, Selection } from "../../../src/memory/entry/Selection.js"
import * as Selections from "../../../src/memory/entry/Selection.js"
import * as InMemoryBackend from "../../../src/memory/search/InMemoryBackend.js"

const id = (value: string) => value as EntryId
const session = (value: string) => value as SessionId

type Fields = Omit<Parameters<typeof MemoryEntry.make>[0], "content" | "id" | "ownerId" | "role" | "timestamp"> & {
  readonly content?: string
  readonly ownerId?: string
  readonly role?: MemoryRole
  readonly timestamp?: number
}

const entry = (name: string, fields: Fields = {}): MemoryEntry.MemoryEntry =>
  MemoryEntry.make({ content: name, ownerId: "o", role: "user", timestamp: 0, ...fields, id: id(name) })

const store = (backend: MemoryBackend, ...entries: ReadonlyArray<MemoryEntry.MemoryEntry>) =>
  Effect.forEach(entries, (one) => backend.apply(one.ownerId, { store: [one] }), { discard: true })

const names = (entries: ReadonlyArray<MemoryEntry.MemoryEntry>) => entries.map((one) => one.id as string)

const all = (backend: MemoryBackend, ownerId = "o") =>
  Effect.map(backend.page(ownerId, { limit: 10_000, selection: {} }), names)

const byPosition = (a: Position, b: Position) => a.timestamp - b.timestamp || (a.id < b.id ? -1 : a.id > b.id ? 1 : 0)

describe("InMemoryBackend", () => {
  it.effect("agrees with a plain list after any changes and for any selection", () => {
    const ids = FastCheck.constantFrom(..."abcdefgh".split(""), "__proto__", "constructor", "é", "E", "😀", "\uffff")
    const sessions = FastCheck.constantFrom("s", "t", "u", "__proto__")
    const time = FastCheck.integer({ min: 0, max: 6 })
    const role = FastCheck.constantFrom<MemoryRole>("user", "assistant")
    const owner = FastCheck.constantFrom("o", "o", "o", "p", "__proto__")
    const stored = FastCheck.record({
      id: ids,
      session: FastCheck.option(sessions, { nil: undefined }),
      tree: FastCheck.option(sessions, { nil: undefined }),
      time,
      role
    })
    const selection: FastCheck.Arbitrary<Selection> = FastCheck.record(
      {
        timeRange: FastCheck.record({ start: time, end: time }),
        roles: FastCheck.array(role, { maxLength: 2 }),
        sessionIds: FastCheck.array(sessions.map(session), { maxLength: 3 }),
        lineage: FastCheck.array(
          FastCheck.record(
            { sessionId: sessions.map(session), from: time, until: time },
            { requiredKeys: ["sessionId"] }
          ),
          { maxLength: 3 }
        ),
        tree: sessions.map(session),
        filters: FastCheck.record({ odd: FastCheck.boolean() })
      },
      { requiredKeys: [] }
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
        weight: 8,
        arbitrary: FastCheck.record({
          what: FastCheck.constant("read" as const),
          owner,
          selection: FastCheck.oneof(FastCheck.constant({}), selection),
          at: FastCheck.record({ timestamp: time, id: ids.map(id) }),
          which: FastCheck.option(FastCheck.nat(), { nil: undefined, freq: 2 }),
          limit: FastCheck.nat(12)
        })
      },
      { weight: 1, arbitrary: FastCheck.record({ what: FastCheck.constant("clear" as const), owner }) }
    )
    const run = (steps: ReadonlyArray<typeof step extends FastCheck.Arbitrary<infer S> ? S : never>) =>
      Effect.gen(function* () {
        const backend = yield* InMemoryBackend.make()
        const model = new Map<string, Map<string, MemoryEntry.MemoryEntry>>()
        for (const one of steps) {
          const mine = model.get(one.owner) ?? new Map<string, MemoryEntry.MemoryEntry>()
          model.set(one.owner, mine)
          if (one.what === "clear") {
            assert.strictEqual(yield* backend.clear(one.owner), mine.size)
            mine.clear()
          } else if (one.what === "apply") {
            const entries = one.store.map((fields) =>
              MemoryEntry.make({
                id: id(fields.id),
                ownerId: one.owner,
                content: "",
                role: fields.role,
                timestamp: fields.time,
                metadata: {
                  odd: fields.time % 2 === 1,
                  ...(fields.tree === undefined ? {} : { [Selections.treeKey]: fields.tree })
                },
                ...(fields.session === undefined ? {} : { sessionId: session(fields.session) })
              })
            )
            const deleted = new Set(one.delete.filter((key) => mine.has(key)))
            const change = { store: entries, delete: one.delete.map(id) }
            assert.strictEqual(yield* backend.apply(one.owner, change), deleted.size)
            for (const key of deleted) mine.delete(key)
            for (const added of entries) mine.set(added.id, added)
          } else {
            const wanted = Selections.predicate(one.selection) ?? (() => true)
            const { limit, owner, selection, which } = one
            const sorted = [...mine.values()].sort(byPosition)
            // Half of the positions are those of entries.
            const at = (which === undefined ? undefined : sorted[which % Math.max(1, sorted.length)]) ?? one.at
            const selected = sorted.filter(wanted)
            const earlier = selected.filter((other) => byPosition(other, at) < 0)
            const later = selected.filter((other) => byPosition(other, at) > 0)
            assert.deepStrictEqual(
              yield* backend.recent(owner, { limit, selection }),
              selected.slice().reverse().slice(0, limit)
            )
            assert.deepStrictEqual(
              yield* backend.recent(owner, { limit, selection, before: at }),
              earlier.slice().reverse().slice(0, limit)
            )
            assert.deepStrictEqual(yield* backend.page(owner, { limit, selection }), selected.slice(0, limit))
            assert.deepStrictEqual(yield* backend.page(owner, { limit, selection, after: at }), later.slice(0, limit))
            assert.strictEqual(yield* backend.count(owner, selection), selected.length)
            const middle = mine.get(at.id)
            const same = sorted.filter(
              (other) => wanted(other) && middle?.sessionId !== undefined && other.sessionId === middle.sessionId
            )
            const ahead = same.filter((other) => byPosition(other, middle!) < 0)
            const behind = same.filter((other) => byPosition(other, middle!) > 0)
            assert.deepStrictEqual(yield* backend.around(owner, at.id, { before: limit, after: 2, selection }), [
              ...(limit === 0 ? [] : ahead.slice(-limit)),
              ...behind.slice(0, 2)
            ])
          }
          const owners = [...model].filter(([, entries]) => entries.size > 0).map(([owner]) => owner)
          assert.deepStrictEqual(yield* backend.owners({ limit: 10 }), owners.sort())
        }
      })
    return Effect.promise(() =>
      FastCheck.assert(
        FastCheck.asyncProperty(FastCheck.array(step, { minLength: 20, maxLength: 40 }), (steps) =>
          Effect.runPromise(run(steps))
        ),
        { numRuns: 60 }
      )
    )
  })

  it.effect("changes nothing when it rejects a change", () =>
    Effect.gen(function* () {
      const backend = yield* InMemoryBackend.make({ capacityPerOwner: 2 })
      yield* store(backend, entry("a"), entry("b"))
      const change = { delete: [id("a")], store: [entry("b", { content: "new" }), entry("c"), entry("d")] }
      const failure = yield* Effect.flip(backend.apply("o", change))
      assert.instanceOf(failure, MemoryCapacityError)
      assert.strictEqual((failure as MemoryCapacityError).capacity, 2)
      assert.deepStrictEqual(yield* all(backend), ["a", "b"])
      assert.strictEqual((yield* backend.get("o", [id("b")]))[0]?.content, "b")
      assert.deepStrictEqual((yield* backend.lexical("o", { text: "new", limit: 5, selection: {} })).hits, [])
    })
  )

  it.effect("accepts replacements, and deletions in the same step, when full", () =>
    Effect.gen(function* () {
      const backend = yield* InMemoryBackend.make({ capacityPerOwner: 2 })
      yield* store(backend, entry("a"), entry("b"))
      yield* store(backend, entry("b", { content: "again" }))
      assert.strictEqual(yield* backend.apply("o", { delete: [id("a")], store: [entry("c")] }), 1)
      assert.deepStrictEqual(yield* all(backend), ["b", "c"])
      yield* backend.apply("o", { store: [entry("gone", { expiresAt: 0 })] })
      assert.deepStrictEqual(yield* all(backend), ["b", "c"])
    })
  )

  it.effect("applies the capacity to all owners together", () =>
    Effect.gen(function* () {
      const backend = yield* InMemoryBackend.make({ capacity: 2 })
      yield* store(backend, entry("a"), entry("b", { ownerId: "p" }))
      assert.instanceOf(yield* Effect.flip(backend.apply("q", { store: [entry("c")] })), MemoryCapacityError)
      yield* backend.clear("p")
      yield* backend.apply("q", { store: [entry("c")] })
      assert.deepStrictEqual(yield* backend.owners({ limit: 5 }), ["o", "q"])
    })
  )

  const policies: ReadonlyArray<readonly [string, InMemoryBackend.EvictionPolicy, ReadonlyArray<string>]> = [
    ["the oldest", "oldest", ["a", "c", "new"]],
    ["the least important, of these the oldest", "leastImportant", ["a", "c", "new"]],
    ["the one that was used longest ago", "leastRecentlyUsed", ["b", "a", "new"]],
    [
      "the first in an order of one's own",
      Order.mapInput(Order.reverse(Order.string), (one: MemoryEntry.MemoryEntry) => one.content),
      ["b", "c", "new"]
    ]
  ]
  for (const [name, onFull, expected] of policies) {
    it.effect(`evicts by ${name}`, () =>
      Effect.gen(function* () {
        const backend = yield* InMemoryBackend.make({ capacityPerOwner: 3, onFull })
        yield* store(backend, entry("b", { timestamp: 1, importance: 0.1, content: "x" }))
        yield* TestClock.adjust("1 second")
        yield* store(backend, entry("c", { timestamp: 5, importance: 0.1, content: "y" }))
        yield* TestClock.adjust("1 second")
        yield* store(backend, entry("a", { timestamp: 3, importance: 0.9, content: "z" }))
        yield* TestClock.adjust("1 second")
        yield* backend.recordAccess("o", [id("b")], 3_000)
        yield* store(backend, entry("new", { timestamp: 9, importance: 0, content: "zz" }))
        assert.deepStrictEqual(yield* all(backend), expected)
      })
    )
  }

  it.effect("never evicts what the same call stores, however unimportant", () =>
    Effect.gen(function* () {
      for (const onFull of ["oldest", "leastImportant"] as const) {
        const backend = yield* InMemoryBackend.make({ capacityPerOwner: 2, onFull })
        yield* store(
          backend,
          entry("a", { timestamp: 10, importance: 1 }),
          entry("b", { timestamp: 11, importance: 1 })
        )
        yield* backend.apply("o", {
          store: [entry("b", { timestamp: 2, importance: 0 }), entry("c", { timestamp: 1, importance: 0 })]
        })
        assert.deepStrictEqual(yield* all(backend), ["c", "b"])
        const tooMany = backend.apply("o", { store: [entry("x"), entry("y"), entry("z")] })
        assert.instanceOf(yield* Effect.flip(tooMany), MemoryCapacityError)
        assert.deepStrictEqual(yield* all(backend), ["c", "b"])
      }
    })
  )

  it.effect("evicts from the owner with the most entries when the whole store is full, and reports it", () =>
    Effect.gen(function* () {
      const told: Array<readonly [string, ReadonlyArray<string>]> = []
      const backend = yield* InMemoryBackend.make({
        capacity: 5,
        onFull: "oldest",
        evicted: (ownerId, ids) => Effect.sync(() => void told.push([ownerId, ids]))
      })
      const of = (ownerId: string, name: string, timestamp: number) =>
        backend.apply(ownerId, { store: [MemoryEntry.make({ ...entry(name, { timestamp }), ownerId })] })
      yield* Effect.forEach(["a", "b", "c"], (name, at) => of("rich", name, at))
      yield* Effect.forEach(["a", "b"], (name, at) => of("poor", name, at - 10))
      yield* of("new", "a", 0)
      assert.deepStrictEqual(yield* all(backend, "rich"), ["b", "c"])
      assert.deepStrictEqual(yield* all(backend, "poor"), ["a", "b"])
      assert.deepStrictEqual(told, [["rich", ["a"]]])
    })
  )

  it.effect("keeps exactly the capacity for many more entries, in any order of importance", () =>
    Effect.gen(function* () {
      const backend = yield* InMemoryBackend.make({ capacityPerOwner: 50, onFull: "leastImportant" })
      const importances = Array.from({ length: 500 }, (_, at) => ((at * 7_919) % 500) / 500)
      for (const [at, importance] of importances.entries()) yield* store(backend, entry(`e${at}`, { importance }))
      const kept = yield* backend.page("o", { limit: 1_000, selection: {} })
      assert.strictEqual(kept.length, 50)
      const best = importances.slice(0, -1).sort((a, b) => b - a)
      for (const one of kept) if (one.id !== "e499") assert.isAtLeast(one.importance, best[48] ?? 1)
    })
  )

  it.effect("hides expired entries from every method", () =>
    Effect.gen(function* () {
      const backend = yield* InMemoryBackend.make({ capacityPerOwner: 2 })
      const s = session("s")
      yield* store(
        backend,
        entry("short", { expiresAt: 1_000, sessionId: s, content: "zebra" }),
        entry("long", { timestamp: 1, sessionId: s, content: "zebra" })
      )
      yield* TestClock.setTime(999)
      assert.deepStrictEqual(yield* all(backend), ["short", "long"])
      yield* TestClock.setTime(1_000)
      const selection = {}
      assert.deepStrictEqual(yield* backend.get("o", [id("short")]), [])
      assert.deepStrictEqual(names(yield* backend.recent("o", { limit: 9, selection })), ["long"])
      assert.deepStrictEqual(yield* all(backend), ["long"])
      assert.deepStrictEqual(yield* backend.around("o", id("long"), { before: 2, after: 2, selection }), [])
      assert.strictEqual(yield* backend.count("o", selection), 1)
      const { hits } = yield* backend.lexical("o", { text: "zebra", limit: 9, selection })
      assert.deepStrictEqual(names(hits.map((hit) => hit.entry)), ["long"])
      yield* store(backend, entry("next"))
      assert.strictEqual(yield* backend.clear("o"), 2)
      assert.deepStrictEqual(yield* backend.owners({ limit: 9 }), [])
    })
  )

  it.effect("counts each expired entry of all owners once", () =>
    Effect.gen(function* () {
      const backend = yield* InMemoryBackend.make()
      for (let at = 0; at < 100; at++) {
        yield* backend.apply(`owner ${at % 3}`, { store: [entry(`e${at}`, { expiresAt: 1_000 - at })] })
      }
      yield* TestClock.setTime(950)
      assert.strictEqual(yield* backend.expire, 50)
      assert.strictEqual(yield* backend.expire, 0)
      yield* TestClock.setTime(2_000)
      assert.strictEqual(yield* backend.expire, 50)
      assert.deepStrictEqual(yield* backend.owners({ limit: 9 }), [])
    })
  )

  it.effect("uses the expiry of the replacement", () =>
    Effect.gen(function* () {
      const backend = yield* InMemoryBackend.make()
      yield* store(
        backend,
        entry("a", { expiresAt: 10 }),
        entry("a", { expiresAt: 100 }),
        entry("b", { expiresAt: 10 })
      )
      yield* store(backend, entry("b"))
      yield* TestClock.setTime(50)
      assert.deepStrictEqual(yield* all(backend), ["a", "b"])
      yield* TestClock.setTime(100)
      assert.deepStrictEqual(yield* all(backend), ["b"])
    })
  )

  it.effect("resets access counts on deletion and storing in one step, and keeps them on replacement", () =>
    Effect.gen(function* () {
      const backend = yield* InMemoryBackend.make()
      yield* store(backend, entry("a"), entry("b"))
      yield* backend.recordAccess("o", [id("a"), id("b"), id("none")], 7)
      yield* backend.recordAccess("o", [id("a"), id("b")], 5)
      yield* backend.apply("o", { delete: [id("a")], store: [entry("a"), entry("b", { content: "new" })] })
      const [a, b] = yield* backend.get("o", [id("a"), id("b")])
      assert.isUndefined(a?.accessCount)
      assert.deepInclude(b, { accessCount: 2, lastAccessedAt: 7, content: "new" })
    })
  )

  it.effect("scores words among the owner's entries only", () =>
    Effect.gen(function* () {
      const alone = yield* InMemoryBackend.make()
      const shared = yield* InMemoryBackend.make()
      for (const backend of [alone, shared]) yield* store(backend, entry("a", { content: "zebra crossing" }))
      for (let at = 0; at < 50; at++) {
        yield* shared.apply("p", { store: [entry(`p${at}`, { content: "zebra zebra" })] })
      }
      const query = { text: "zebra", limit: 5, selection: {} }
      assert.deepStrictEqual(yield* shared.lexical("o", query), yield* alone.lexical("o", query))
      assert.strictEqual((yield* shared.lexical("p", query)).hits.length, 5)
      assert.deepStrictEqual(yield* shared.lexical("nobody", query), { hits: [], ceiling: 0, entries: 0 })
    })
  )

  it.effect("reports the number of entries to the gauge", () =>
    Effect.gen(function* () {
      const gauge = Metric.fromMetricKey(
        MetricKey.taggedWithLabels(MetricKey.gauge(MemoryMetrics.METRIC_MEMORY_ENTRIES), [
          MetricLabel.make("store", "in_memory")
        ])
      )
      const held = Effect.map(Metric.value(gauge), (state) => state.value)
      const backend = yield* InMemoryBackend.make()
      yield* store(backend, entry("a"), entry("b"), entry("c", { expiresAt: 10 }))
      assert.strictEqual(yield* held, 3)
      yield* backend.apply("o", { delete: [id("a")] })
      assert.strictEqual(yield* held, 2)
      yield* TestClock.setTime(10)
      yield* backend.expire
      assert.strictEqual(yield* held, 1)
      yield* backend.clear("o")
      assert.strictEqual(yield* held, 0)
    })
  )

  it.effect("finds entries with names by any condition, even after a change", () =>
    Effect.gen(function* () {
      const backend = yield* InMemoryBackend.make()
      yield* store(
        backend,
        entry("a", { timestamp: 1, metadata: { entities: ["Nora", "Ghent"] } }),
        entry("b", { timestamp: 2 }),
        entry("c", { timestamp: 3, metadata: { entities: null } }),
        entry("d", { timestamp: 4, metadata: { entities: "Nora" } })
      )
      const found = (entities: Condition) =>
        Effect.map(backend.recent("o", { limit: 9, selection: { filters: { entities } } }), (entries) =>
          entries.map(({ id }) => id).join("")
        )
      assert.strictEqual(yield* found("Nora"), "da")
      assert.strictEqual(yield* found({ in: ["Ghent", "Paris"] }), "a")
      assert.strictEqual(yield* found({ gte: "H" }), "da")
      assert.strictEqual(yield* found(null), "cb")
      assert.strictEqual(yield* found({ in: [null, "Ghent"] }), "cba")
      yield* store(backend, entry("a", { timestamp: 5 }), entry("b", { timestamp: 6, metadata: { entities: "Nora" } }))
      yield* backend.apply("o", { delete: [id("d")] })
      assert.strictEqual(yield* found("Nora"), "b")
      assert.strictEqual(yield* found(null), "ac")
    })
  )
})
