/** Cases of entries that live longer when they are recalled, for every memory store. */
import { assert, describe, it } from "@effect/vitest"
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as TestClock from "effect/TestClock"
import { EntryId } from "../../src/domain/Ids.js"
import * as MemoryEntry from "../../src/memory/entry/MemoryEntry.js"
import type * as DefaultMemoryStore from "../../src/memory/search/DefaultMemoryStore.js"
import * as MemoryStore from "../../src/memory/search/MemoryStore.js"

const options = { ttl: "10 days", renewal: { maxAge: "30 days" } } as const satisfies DefaultMemoryStore.Options

const day = Duration.toMillis("1 day")
const ids = (...names: ReadonlyArray<string>) => names.map((name) => EntryId.make(name))
const entry = (id: string, fields: Partial<MemoryEntry.MemoryEntry> = {}) =>
  MemoryEntry.make({
    id: EntryId.make(id),
    ownerId: "ann",
    content: `zebra ${id}`,
    role: "user",
    timestamp: 0,
    ...fields
  })

const days = (store: MemoryStore.Service, id: string) =>
  Effect.map(store.get("ann", EntryId.make(id)), (found) =>
    Option.getOrUndefined(Option.map(found, ({ expiresAt = Number.NaN }) => expiresAt / day))
  )

type Case = (store: MemoryStore.Service) => Effect.Effect<void, unknown>

const cases: Readonly<Record<string, Case>> = {
  "renews an entry that is recalled in the second half of its life, up to its maximum age": (store) =>
    Effect.gen(function* () {
      yield* store.storeMany([entry("a"), entry("b")])
      const seen: Array<number | undefined> = []
      for (const wait of [4, 2, 6, 6, 6, 6, 1]) {
        yield* TestClock.adjust(Duration.days(wait))
        yield* store.recordAccess("ann", ids("a"))
        seen.push(yield* days(store, "a"))
      }
      // Recalled on days 4, 6, 12, 18, 24, 30 and 31.
      assert.deepStrictEqual(seen, [10, 16, 22, 28, 30, undefined, undefined])
      assert.isUndefined(yield* days(store, "b"))
    }),
  "never renews an entry that was stored with its own expiry, or that has expired": (store) =>
    Effect.gen(function* () {
      yield* store.storeMany([entry("own", { expiresAt: 8 * day }), entry("late")])
      yield* TestClock.adjust("7 days")
      yield* store.recordAccess("ann", ids("own", "own"))
      assert.strictEqual(yield* days(store, "own"), 8)
      yield* TestClock.adjust("3 days")
      yield* store.recordAccess("ann", ids("own", "late", "unknown"))
      assert.deepStrictEqual([yield* days(store, "own"), yield* days(store, "late")], [undefined, undefined])
      assert.strictEqual(yield* store.count("ann"), 0)
    }),
  "neither reads nor changes what callers keep under a name of theirs": (store) =>
    Effect.gen(function* () {
      const mine = { life: 1e12, until: 1e15 }
      yield* store.storeMany([
        entry("a", { metadata: { renewal: mine } }),
        entry("own", { expiresAt: 8 * day, metadata: { renewal: mine } })
      ])
      yield* TestClock.adjust("7 days")
      yield* store.recordAccess("ann", ids("a", "own"))
      assert.deepStrictEqual([yield* days(store, "a"), yield* days(store, "own")], [17, 8])
      for (const { metadata } of yield* store.getMany("ann", ids("a", "own"))) {
        assert.deepStrictEqual(metadata["renewal"], mine)
      }
    }),
  "keeps all counts and one expiry of concurrent recalls": (store) =>
    Effect.gen(function* () {
      yield* store.storeMany([entry("a"), entry("b")])
      yield* TestClock.adjust("6 days")
      yield* Effect.all(
        Array.from({ length: 20 }, (_, at) => store.recordAccess("ann", ids(...(at % 2 === 0 ? ["a"] : ["b", "a"])))),
        { concurrency: "unbounded", discard: true }
      )
      const found = yield* store.getMany("ann", ids("a", "b"))
      assert.deepStrictEqual(
        found.map(({ accessCount, expiresAt = 0 }) => [accessCount, expiresAt / day]),
        [
          [20, 16],
          [10, 16]
        ]
      )
      const results = yield* store.retrieve({ ownerId: "ann", query: "zebra" })
      assert.lengthOf(results, 2)
    }),
  "brings nothing back that is forgotten or changed while it is recalled": (store) =>
    Effect.gen(function* () {
      const names = Array.from({ length: 12 }, (_, at) => `e${at}`)
      yield* store.storeMany(names.map((name) => entry(name)))
      yield* TestClock.adjust("6 days")
      yield* Effect.all(
        names.flatMap((name, at) => [
          store.recordAccess("ann", ids(...names)),
          at % 2 === 0
            ? store.delete("ann", EntryId.make(name))
            : store.store(entry(name, { content: "lion", timestamp: 1 }))
        ]),
        { concurrency: "unbounded", discard: true }
      )
      const left = yield* store.getRecent({ ownerId: "ann", n: 20 })
      assert.sameMembers(
        left.map(({ id }) => id as string),
        names.filter((_, at) => at % 2 === 1)
      )
      for (const { content, expiresAt = 0 } of left) assert.deepStrictEqual([content, expiresAt / day], ["lion", 16])
    }),
  "keeps the renewal of an entry that is read and stored again": (store) =>
    Effect.gen(function* () {
      yield* store.store(entry("a"))
      yield* TestClock.adjust("6 days")
      const [found] = yield* store.getMany("ann", ids("a"))
      if (found !== undefined) yield* store.store({ ...found, importance: 0.9 })
      assert.strictEqual(yield* days(store, "a"), 10)
      yield* store.recordAccess("ann", ids("a"))
      assert.strictEqual(yield* days(store, "a"), 16)
      assert.strictEqual(yield* Clock.currentTimeMillis, 6 * day)
    })
}

/** Registers the cases for a store that is made with options. */
export const suite = (
  name: string,
  layerOf: (options: DefaultMemoryStore.Options) => Layer.Layer<MemoryStore.MemoryStore, unknown>
): void => {
  describe(`renewal in ${name}`, () => {
    for (const [title, check] of Object.entries(cases)) {
      it.effect(title, () => Effect.flatMap(MemoryStore.MemoryStore, check).pipe(Effect.provide(layerOf(options))))
    }
    it.effect("is off by default, and then drops the mark that an entry is given", () =>
      Effect.gen(function* () {
        const store = yield* MemoryStore.MemoryStore
        yield* store.store(entry("a", { metadata: { "effect-lexigram/renewal": { life: 1e12, until: 1e15 } } }))
        yield* TestClock.adjust("6 days")
        yield* store.recordAccess("ann", ids("a"))
        assert.strictEqual(yield* days(store, "a"), 10)
        assert.deepStrictEqual((yield* store.getMany("ann", ids("a")))[0]?.metadata, {})
      }).pipe(Effect.provide(layerOf({ ttl: "10 days" })))
    )
  })
}
