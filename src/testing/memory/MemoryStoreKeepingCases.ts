/**
 * Cases: a stored entry stays unchanged until it is replaced, deleted or expired.
 *
 * @since 0.1.0
 * @private
 */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as TestClock from "effect/TestClock"
import type { MemoryEntry } from "../../memory/entry/MemoryEntry.js"
import type * as MemoryStore from "../../memory/search/MemoryStore.js"
import { equal, failure, holds } from "../suite/SuiteAssert.js"
import {
  type Case,
  entry,
  entryId,
  entryIds,
  epoch,
  equalEntries,
  equalEntry,
  found,
  full,
  idsOf,
  make,
  matching,
  query,
  streamed
} from "./MemoryStoreCase.js"

const got = (store: MemoryStore.Service, id: string, ownerId = "ann") =>
  Effect.map(store.get(ownerId, entryId(id)), Option.getOrUndefined)

const hostileJson = `{
  "__proto__": { "polluted": true }, "constructor": "c", "": "empty", "a.b": 1, "$.x": [], "quote\\"'\`": null,
  "deep": { "list": [1, -0.5, 1e300, "", null, true, false, { "__proto__": [{}] }], "\\u0000": "\\u0000" }
}`

const varied: ReadonlyArray<MemoryEntry> = [
  entry("bare"),
  full("full"),
  full("roles", { role: "tool", importance: 0 }),
  full("most", { role: "system", importance: 1, timestamp: epoch + 60_000 }),
  entry("space", { content: " \n\t padded \r\n " }),
  entry("unicode", { content: "Zürich e\u0301 日本語 \u{1f600} \u202eabc\ufeff" }),
  entry("control", { content: "a\u0000b\u0001\u001b[31m\u007f" }),
  entry("markup", { content: `<b>"quoted"</b> 'single' \\ %_ $1 {{x}} \${y} -- ; /* */` }),
  entry("empty list", { metadata: { list: [], object: {} } }),
  entry("hostile metadata", { metadata: JSON.parse(hostileJson) as Record<string, unknown> }),
  entry("wide", { embedding: Array.from({ length: 1536 }, (_, at) => Math.sin(at)) }),
  entry("accessed", { accessCount: 7, lastAccessedAt: epoch - 5 }),
  entry("mortal", { expiresAt: epoch + 1_000_000 })
]

const badFields: ReadonlyArray<readonly [string, Record<string, unknown>]> = [
  ["importance above 1", { importance: 1.01 }],
  ["importance below 0", { importance: -0.01 }],
  ["importance that is no number", { importance: Number.NaN }],
  ["a time that is no number", { timestamp: Number.NaN }],
  ["an infinite time", { timestamp: Number.POSITIVE_INFINITY }],
  ["an unknown role", { role: "robot" }],
  ["no id", { id: "" }],
  ["an id of 257 characters", { id: "x".repeat(257) }],
  ["an id with a control character", { id: "a\u0000" }],
  ["content beyond the limit", { content: "x".repeat(1_000_001) }],
  ["an infinite embedding", { embedding: [0, Number.POSITIVE_INFINITY] }],
  ["a negative access count", { accessCount: -1 }],
  ["an expiry that is no number", { expiresAt: Number.NaN }]
]

const bad = badFields.map(([what, fields]) => [what, { ...entry("bad"), ...fields } as MemoryEntry] as const)

const keeping: ReadonlyArray<Case> = [
  make("finds nothing that was never stored", function* (store) {
    yield* store.store(entry("other", { content: "words" }))
    equalEntry(yield* got(store, "a"), undefined, "get of an unknown id")
    equalEntry(yield* got(store, "other", "bob"), undefined, "get of an unknown owner")
    equal(yield* store.getMany("ann", []), [], "getMany of no ids")
    equal(yield* store.getMany("ann", entryIds("a", "b")), [], "getMany of unknown ids")
    equal(yield* store.getRecent({ ownerId: "bob", n: 10 }), [], "getRecent")
    equal(yield* store.retrieve(query("words", { ownerId: "bob" })), [], "retrieve")
    equal(yield* store.count("bob"), 0, "count")
    equal(yield* streamed(store, "bob"), [], "stream")
    equal(yield* store.delete("ann", entryId("a")), false, "delete of an unknown id")
    equal(yield* store.delete("bob", entryId("other")), false, "delete of an unknown owner")
    equal(yield* store.clear("bob"), 0, "clear")
    equal(yield* store.apply("bob", { delete: entryIds("other") }), 0, "apply")
    yield* store.recordAccess("ann", entryIds("a"))
    yield* store.recordAccess("bob", entryIds("other"))
    equal(yield* store.expire, 0, "expire")
    equalEntry(yield* got(store, "other"), entry("other", { content: "words" }), "the only entry")
  }),
  make("returns an entry unchanged", function* (store) {
    for (const one of varied) yield* store.store(one)
    for (const one of varied) equalEntry(yield* got(store, one.id), one, `get of ${one.id}`)
    equalEntries(
      yield* store.getMany(
        "ann",
        varied.map((one) => one.id)
      ),
      varied,
      "getMany"
    )
    const byId = (entries: ReadonlyArray<MemoryEntry>) => [...entries].sort((a, b) => (a.id < b.id ? -1 : 1))
    equalEntries(byId(yield* streamed(store, "ann")), byId(varied), "stream")
    equalEntries(byId(yield* store.getRecent({ ownerId: "ann", n: 100 })), byId(varied), "getRecent")
    equalEntries(byId((yield* store.retrieve(query(""))).map((one) => one.entry)), byId(varied), "retrieve")
  }),
  make("storeMany stores entries like store", function* (store) {
    yield* store.storeMany(varied)
    for (const one of varied) equalEntry(yield* got(store, one.id), one, `get of ${one.id}`)
  }),
  make("returns and finds a content of 200,000 characters", function* (store) {
    const content = `needle ${"hay and straw ".repeat(14_285)}`
    yield* store.store(entry("long", { content }))
    yield* store.store(entry("short", { content: "hay" }))
    equal((yield* got(store, "long"))?.content === content, true, "the content is the same")
    equal(found(yield* store.retrieve(matching("needle"))), ["long"], "what is found by the first word")
  }),
  make("a lone surrogate damages nothing else", function* (store) {
    const content = "walnut \ud83d hazel \udc00 oak"
    yield* store.store(entry("half", { content }))
    const kept = (yield* got(store, "half"))?.content
    holds(
      kept === content || kept === "walnut \ufffd hazel \ufffd oak",
      "the content is as it was, or has U+FFFD where it was no text",
      kept
    )
    equal(found(yield* store.retrieve(matching("hazel"))), ["half"], "what is found by a word beside it")
  }),
  make("getMany returns existing entries in the order of the ids", function* (store) {
    yield* store.storeMany(["a", "b", "c", "d"].map((id, at) => entry(id, { timestamp: epoch + at })))
    equal(idsOf(yield* store.getMany("ann", entryIds("d", "x", "a", "c"))), ["d", "a", "c"], "ids")
  }),
  make("storing an id again replaces its entry", function* (store) {
    yield* store.store(full("a", { content: "giraffe", metadata: { old: 1 } }))
    yield* store.store(entry("a", { content: "zebra", metadata: { new: 1 } }))
    equalEntry(yield* got(store, "a"), entry("a", { content: "zebra", metadata: { new: 1 } }), "the entry")
    equal(yield* store.count("ann"), 1, "count")
    equal(idsOf(yield* streamed(store, "ann")), ["a"], "stream")
    equal(idsOf(yield* store.getRecent({ ownerId: "ann", n: 10 })), ["a"], "getRecent")
    equal(found(yield* store.retrieve(matching("giraffe"))), [], "results for the old words")
    equal(found(yield* store.retrieve(matching("zebra"))), ["a"], "results for the new words")
    equal(yield* store.count("ann", { filters: { old: 1 } }), 0, "entries with the old metadata")
    equal(yield* store.count("ann", { roles: ["assistant"] }), 0, "entries of the old role")
  }),
  make("an entry that is stored again moves with its timestamp", function* (store) {
    yield* store.storeMany(["a", "b", "c"].map((id, at) => entry(id, { timestamp: epoch + at })))
    yield* store.store(entry("b", { timestamp: epoch + 1, content: "same time" }))
    equal(idsOf(yield* streamed(store, "ann")), ["a", "b", "c"], "with the same time")
    yield* store.store(entry("b", { timestamp: epoch + 10 }))
    equal(idsOf(yield* streamed(store, "ann")), ["a", "c", "b"], "with a later time")
    equal(idsOf(yield* store.getRecent({ ownerId: "ann", n: 1 })), ["b"], "the newest")
    yield* store.store(entry("c", { timestamp: epoch - 10 }))
    equal(idsOf(yield* streamed(store, "ann")), ["c", "a", "b"], "with an earlier time")
  }),
  make("the last of two entries with one id in one call wins", function* (store) {
    yield* store.storeMany([
      entry("a", { content: "first" }),
      entry("b"),
      entry("a", { content: "last", timestamp: epoch - 1 })
    ])
    equalEntry(yield* got(store, "a"), entry("a", { content: "last", timestamp: epoch - 1 }), "by storeMany")
    equal(yield* store.count("ann"), 2, "count")
    equal(found(yield* store.retrieve(matching("first"))), [], "results for words of the first")
    yield* store.apply("ann", { store: [entry("c", { content: "first" }), entry("c", { content: "last" })] })
    equal((yield* got(store, "c"))?.content, "last", "by apply")
  }),
  make("storing nothing does nothing", function* (store) {
    yield* store.store(entry("a"))
    yield* store.storeMany([])
    equal(yield* store.apply("ann", {}), 0, "an empty change")
    equal(yield* store.apply("bob", { delete: [], store: [] }), 0, "a change of empty lists")
    equalEntries(yield* streamed(store, "ann"), [entry("a")], "entries")
  }),
  make("rejects an entry beyond the limits and stores nothing of the call", function* (store) {
    yield* store.store(entry("kept", { content: "kept" }))
    for (const [what, broken] of bad) {
      const calls = [
        ["store", store.store(broken)],
        [
          "storeMany",
          store.storeMany([entry("one"), entry("kept"), broken, entry("two"), entry("x", { ownerId: "bob" })])
        ],
        ["apply", Effect.asVoid(store.apply("ann", { delete: entryIds("kept"), store: [entry("one"), broken] }))]
      ] as const
      for (const [method, call] of calls) {
        const error = yield* failure(call, `${method} of an entry with ${what}`)
        equal(error._tag, "MemoryStoreError", `failure of ${method} of an entry with ${what}`)
      }
      equalEntries(yield* streamed(store, "ann"), [entry("kept", { content: "kept" })], `entries after ${what}`)
      equal(yield* store.count("bob"), 0, `entries of the other owner after ${what}`)
    }
    for (const ownerId of ["", "x".repeat(257)]) {
      const error = yield* failure(
        store.storeMany([entry("one"), entry("two", { ownerId })]),
        `storeMany of an owner of ${ownerId.length} characters`
      )
      equal(error._tag, "MemoryStoreError", "the failure")
    }
    equal(idsOf(yield* streamed(store, "ann")), ["kept"], "entries at the end")
  }),
  make("deleting returns true once and removes the entry everywhere", function* (store) {
    yield* store.storeMany([entry("a", { content: "zebra", metadata: { k: 1 } }), entry("b", { content: "lion" })])
    equal(yield* store.delete("ann", entryId("a")), true, "the first time")
    equal(yield* store.delete("ann", entryId("a")), false, "the second time")
    equalEntry(yield* got(store, "a"), undefined, "get")
    equal(idsOf(yield* store.getMany("ann", entryIds("a", "b"))), ["b"], "getMany")
    equal(idsOf(yield* streamed(store, "ann")), ["b"], "stream")
    equal(idsOf(yield* store.getRecent({ ownerId: "ann", n: 10 })), ["b"], "getRecent")
    equal(found(yield* store.retrieve(matching("zebra"))), [], "retrieve")
    equal(yield* store.count("ann"), 1, "count")
    equal(yield* store.count("ann", { filters: { k: 1 } }), 0, "count with a selection")
    yield* store.store(entry("a", { content: "again" }))
    equal(found(yield* store.retrieve(matching("again"))), ["a"], "what is stored under the id later")
  }),
  make("apply deletes and stores atomically", function* (store) {
    yield* store.storeMany(["a", "b", "c"].map((id) => entry(id, { content: `old ${id}` })))
    const deleted = yield* store.apply("ann", {
      delete: entryIds("a", "b", "unknown"),
      store: [entry("b", { content: "new b" }), entry("d", { content: "new d" })]
    })
    equal(deleted, 2, "how many of the deletions existed")
    equal(idsOf(yield* streamed(store, "ann")), ["b", "c", "d"], "entries")
    equal((yield* got(store, "b"))?.content, "new b", "what was deleted and stored in one change")
    equal(found(yield* store.retrieve(matching("old"))), ["c"], "results for the old words")
    equal(yield* store.apply("ann", { delete: entryIds("c") }), 1, "a deletion alone")
    equal(yield* store.apply("ann", { store: [entry("e")] }), 0, "a store alone")
    equal(idsOf(yield* streamed(store, "ann")), ["b", "d", "e"], "entries at the end")
  }),
  make("changes nothing unless the entries are there as they were read", function* (store) {
    yield* store.storeMany(["a", "b", "c"].map((id) => entry(id, { content: `old ${id}`, metadata: { k: [1, id] } })))
    const read = yield* store.getMany("ann", entryIds("a", "b"))
    const change = { delete: entryIds("b"), store: [entry("a", { content: "new a" }), entry("s", { content: "sum" })] }
    yield* store.recordAccess("ann", entryIds("a"))
    const others = [
      [entry("gone")],
      [...read, entry("gone")],
      [entry("a", { content: "old b", metadata: { k: [1, "a"] } })],
      [entry("a", { content: "old a", metadata: { k: [2, "a"] } })]
    ]
    for (const unchanged of others) {
      equal(yield* store.applyIf("ann", unchanged, change), Option.none(), "entries that are not so")
    }
    equal(
      yield* store.applyIf("bob", read, { store: [entry("x", { ownerId: "bob" })] }),
      Option.none(),
      "another owner"
    )
    equal(yield* store.count("bob"), 0, "the other owner")
    equal(idsOf(yield* streamed(store, "ann")), ["a", "b", "c"], "entries before")
    equal(found(yield* store.retrieve(matching("new"))), [], "results before")
    equal(yield* store.applyIf("ann", read, change), Option.some(1), "entries that were only accessed")
    equal(idsOf(yield* streamed(store, "ann")), ["a", "c", "s"], "entries after")
    equal((yield* got(store, "a"))?.content, "new a", "what was stored")
    equal(yield* store.applyIf("ann", read, change), Option.none(), "a second time")
    equal(yield* store.applyIf("ann", [], {}), Option.some(0), "no condition and no change")
  }),
  make("does not bring back what is deleted at the same time", function* (store) {
    for (let round = 0; round < 12; round++) {
      const id = `e${round}`
      yield* store.storeMany([entry(id, { content: "secret" }), entry(`${id}-b`, { content: "other" })])
      const read = yield* store.getMany("ann", entryIds(id, `${id}-b`))
      const summary = entry(`${id}-sum`, { content: "secret and other" })
      const rewrite = store.applyIf("ann", read, { store: [entry(id, { content: "secret", importance: 0.1 })] })
      const sumUp = store.applyIf("ann", read, { delete: entryIds(id, `${id}-b`), store: [summary] })
      const forget = store.delete("ann", entryId(id))
      const [, forgotten, summed] = yield* Effect.all([rewrite, forget, sumUp], { concurrency: 3 })
      equalEntry(yield* got(store, id), undefined, "what was forgotten or summarised")
      if (forgotten) equal(Option.isNone(summed), true, "a summary of what was forgotten")
    }
  }),
  make("clear removes everything of one owner and returns the count", function* (store) {
    yield* store.storeMany(["a", "b", "c"].map((id) => entry(id, { content: "zebra" })))
    yield* store.store(entry("a", { ownerId: "bob" }))
    equal(yield* store.clear("ann"), 3, "the first time")
    equal(yield* store.clear("ann"), 0, "the second time")
    equal(yield* store.count("ann"), 0, "count")
    equal(yield* streamed(store, "ann"), [], "stream")
    equal(yield* store.retrieve(query("zebra")), [], "retrieve")
    equalEntry(yield* got(store, "a"), undefined, "get")
    equal(yield* store.count("bob"), 1, "count of another owner")
    yield* store.store(entry("a", { content: "lion" }))
    equal(yield* store.count("ann"), 1, "count after something was stored again")
    equal(found(yield* store.retrieve(query("zebra lion"))), ["a"], "results after something was stored again")
  }),
  make("every write is visible to the next call", function* (store) {
    for (let round = 0; round < 25; round++) {
      const id = `e${round}`
      yield* store.store(entry(id, { content: `word${round}`, timestamp: epoch + round }))
      equal(yield* store.count("ann"), round + 1, "count")
      equal(idsOf(yield* store.getRecent({ ownerId: "ann", n: 1 })), [id], "getRecent")
      equal(found(yield* store.retrieve(matching(`word${round}`))), [id], "retrieve")
    }
    for (let round = 0; round < 25; round++) {
      yield* store.delete("ann", entryId(`e${round}`))
      equal(yield* store.count("ann"), 24 - round, "count")
      equal(found(yield* store.retrieve(matching(`word${round}`))), [], "retrieve")
    }
  }),
  make("reports health", function* (store) {
    yield* store.health
    holds(store.name.length > 0, "the store has a name", store.name)
  })
]

const accesses: ReadonlyArray<Case> = [
  make("records accesses of existing entries only", function* (store) {
    yield* store.storeMany([full("a"), full("b"), full("c")])
    yield* store.recordAccess("ann", entryIds("a", "unknown", "b"))
    yield* TestClock.adjust("1 minute")
    yield* store.recordAccess("ann", entryIds("b"))
    yield* store.recordAccess("ann", [])
    equalEntries(
      yield* streamed(store, "ann"),
      [
        full("a", { accessCount: 1, lastAccessedAt: epoch }),
        full("b", { accessCount: 2, lastAccessedAt: epoch + 60_000 }),
        full("c")
      ],
      "entries"
    )
    const counts = (yield* store.retrieve(query("full"))).map((one) => [one.entry.id, one.entry.accessCount])
    equal(Object.fromEntries(counts), { a: 1, b: 2, c: undefined }, "the counts in results")
  }),
  make("retrieving does not count as access", function* (store) {
    yield* store.store(entry("a", { content: "zebra" }))
    yield* store.retrieve(query("zebra"))
    yield* store.getRecent({ ownerId: "ann", n: 1 })
    equalEntry(yield* got(store, "a"), entry("a", { content: "zebra" }), "the entry")
  }),
  make("keeps the higher access figures of an entry that is stored again", function* (store) {
    const figures = Effect.map(got(store, "a"), (one) => [one?.accessCount, one?.lastAccessedAt])
    yield* store.store(entry("a"))
    yield* store.recordAccess("ann", entryIds("a"))
    yield* store.recordAccess("ann", entryIds("a"))
    yield* store.store(entry("a", { content: "again" }))
    equal(yield* figures, [2, epoch], "figures after an entry without any")
    yield* store.store(entry("a", { accessCount: 1, lastAccessedAt: epoch - 10 }))
    equal(yield* figures, [2, epoch], "figures after lower ones")
    yield* store.storeMany([entry("a", { accessCount: 9, lastAccessedAt: epoch + 10 })])
    equal(yield* figures, [9, epoch + 10], "figures after higher ones")
    yield* store.apply("ann", { store: [entry("a")] })
    equal(yield* figures, [9, epoch + 10], "figures after a change")
    yield* store.recordAccess("ann", entryIds("a"))
    equal((yield* figures)[0], 10, "the count after one more access")
    yield* store.delete("ann", entryId("a"))
    yield* store.store(entry("a"))
    equal(yield* figures, [undefined, undefined], "figures of an id that was deleted in between")
  })
]

/**
 * @since 0.1.0
 * @category constants
 */
export const cases: ReadonlyArray<Case> = [...keeping, ...accesses]
