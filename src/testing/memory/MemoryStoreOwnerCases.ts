/**
 * Cases: no call sees or changes anything of another owner.
 *
 * @since 0.1.0
 * @private
 */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { MemoryEntry } from "../../memory/entry/MemoryEntry.js"
import type * as MemoryStore from "../../memory/search/MemoryStore.js"
import { equal, failure, holds, sameMembers } from "../suite/SuiteAssert.js"
import {
  type Case,
  entry,
  entryId,
  entryIds,
  epoch,
  equalEntries,
  equalEntry,
  found,
  hostileIds,
  hostileOwners,
  idsOf,
  make,
  matching,
  query,
  sessionId,
  streamed
} from "./MemoryStoreCase.js"

const shared = ["a", "b", "c"]

const ofOwner = (ownerId: string, index: number): ReadonlyArray<MemoryEntry> =>
  shared.map((id, at) =>
    entry(id, {
      ownerId,
      content: `common words of number${index}`,
      timestamp: epoch - 1000 + at,
      sessionId: "shared",
      metadata: { index, kind: "common" }
    })
  )

/** The same three ids, words, session and times under every owner. */
const everybody = (store: MemoryStore.Service) =>
  Effect.forEach(hostileOwners, (owner, index) => store.storeMany(ofOwner(owner, index)), { discard: true })

type Chosen = { readonly owner: string; readonly index: number }

const chosen: ReadonlyArray<Chosen> = hostileOwners.map((owner, index) => ({ owner, index }))

const untouched = (store: MemoryStore.Service, owners: ReadonlyArray<Chosen>, but?: string) =>
  Effect.forEach(
    owners,
    ({ index, owner }) =>
      owner === but
        ? Effect.void
        : Effect.map(streamed(store, owner), (entries) =>
            equalEntries(entries, ofOwner(owner, index), `entries of ${JSON.stringify(owner)}`)
          ),
    { discard: true }
  )

/** The owners with the most similar names: what changes. */
const likest = ["a", "A", "a:b", "a%", "a_b", "a/b", "__proto__", "x".repeat(256), "a\u0000"]
const changing = chosen.filter(({ owner }) => likest.includes(owner))

const reads = (name: string, read: (store: MemoryStore.Service, owner: string) => Effect.Effect<unknown, unknown>) =>
  make(`${name} sees nothing of another owner`, function* (store) {
    yield* everybody(store)
    for (const { index, owner } of chosen) {
      const got = JSON.stringify(yield* read(store, owner))
      const numbers = Array.from(got.matchAll(/"index":(\d{1,3})/g), (match) => Number(match[1]))
      holds(numbers.length > 0, `${name} of ${JSON.stringify(owner)} finds what is its own`)
      equal(
        numbers.filter((number) => number !== index),
        [],
        `indices of other owners that ${name} of ${JSON.stringify(owner)} saw`
      )
    }
    equal(
      JSON.stringify(yield* read(store, "nobody")).includes(`"index"`),
      false,
      `${name} of an owner without entries`
    )
  })

const changes = (
  name: string,
  change: (store: MemoryStore.Service, owner: string) => Effect.Effect<unknown, unknown>
) =>
  make(`${name} touches nothing of another owner`, function* (store) {
    yield* everybody(store)
    for (const { index, owner } of changing) {
      yield* change(store, owner)
      // Those that are stored anew later on; damage to others stays until the end.
      yield* untouched(store, changing, owner)
      yield* store.clear(owner)
      yield* store.storeMany(ofOwner(owner, index))
    }
    yield* untouched(store, chosen)
  })

/**
 * @since 0.1.0
 * @category constants
 */
export const cases: ReadonlyArray<Case> = [
  reads("get", (store, owner) => store.get(owner, entryId("b"))),
  reads("getMany", (store, owner) => store.getMany(owner, entryIds(...shared))),
  reads("getRecent", (store, owner) => store.getRecent({ ownerId: owner, n: 100 })),
  reads("getRecent with a selection", (store, owner) =>
    store.getRecent({ ownerId: owner, n: 100, selection: { filters: { kind: "common" } } })
  ),
  reads("stream", (store, owner) => streamed(store, owner)),
  reads("retrieve by words", (store, owner) => store.retrieve(matching("common words", { ownerId: owner }))),
  reads("retrieve without words", (store, owner) => store.retrieve(query("", { ownerId: owner }))),
  reads("retrieve with a selection", (store, owner) =>
    store.retrieve(query("", { ownerId: owner, sessionIds: [sessionId("shared")], filters: { kind: "common" } }))
  ),
  reads("retrieve with neighbours", (store, owner) =>
    store.retrieve(matching("common", { ownerId: owner, topK: 1, neighbours: 5 }))
  ),
  make("count ignores other owners", function* (store) {
    yield* everybody(store)
    for (const { index, owner } of chosen) {
      equal(yield* store.count(owner), 3, `count of ${JSON.stringify(owner)}`)
      equal(yield* store.count(owner, { filters: { index } }), 3, `count of what is its own`)
      equal(yield* store.count(owner, { filters: { index: index + 1 } }), 0, `count of what another owner has`)
    }
    equal(yield* store.count("nobody"), 0, "count of an owner without entries")
  }),
  make("does not find words of another owner", function* (store) {
    yield* everybody(store)
    for (const { index, owner } of chosen) {
      const other = (index + 1) % hostileOwners.length
      equal(
        found(yield* store.retrieve(matching(`number${other}`, { ownerId: owner }))),
        [],
        `${JSON.stringify(owner)} asks for words of ${JSON.stringify(hostileOwners[other])}`
      )
      equal(
        (yield* store.retrieve(matching(`number${index}`, { ownerId: owner }))).length,
        3,
        `${JSON.stringify(owner)} asks for its own words`
      )
    }
  }),
  make("entries of other owners do not affect relevance", function* (store) {
    const words = ["red lamp", "red red chair", "blue lamp", "green table with a lamp"]
    yield* store.storeMany(words.map((content, at) => entry(`e${at}`, { content })))
    const relevance = Effect.map(store.retrieve(query("red lamp")), (results) =>
      results.map((one) => [one.entry.id, one.relevance])
    )
    const before = yield* relevance
    const noise = Array.from({ length: 30 }, (_, at) => entry(`n${at}`, { ownerId: "bob", content: "red red lamp" }))
    yield* store.storeMany(noise)
    equal(yield* relevance, before, "relevance after another owner stored the same words")
    yield* store.clear("bob")
    equal(yield* relevance, before, "relevance after another owner's entries were cleared")
  }),
  changes("store", (store, owner) => store.store(entry("b", { ownerId: owner, content: "changed" }))),
  changes("storeMany", (store, owner) =>
    store.storeMany([entry("a", { ownerId: owner, content: "changed" }), entry("d", { ownerId: owner })])
  ),
  changes("delete", (store, owner) =>
    Effect.map(store.delete(owner, entryId("b")), (existed) => equal(existed, true, "delete of what exists"))
  ),
  changes("apply", (store, owner) =>
    store.apply(owner, { delete: entryIds("a"), store: [entry("b", { ownerId: owner, content: "changed" })] })
  ),
  changes("clear", (store, owner) =>
    Effect.map(store.clear(owner), (count) => equal(count, 3, `entries cleared of ${JSON.stringify(owner)}`))
  ),
  changes("recordAccess", (store, owner) => store.recordAccess(owner, entryIds(...shared))),
  make("apply rejects an entry of another owner and changes nothing", function* (store) {
    yield* store.store(entry("a"))
    yield* store.store(entry("a", { ownerId: "bob", content: "of bob" }))
    for (const ownerId of ["bob", "ANN", "ann "]) {
      const error = yield* failure(
        store.apply("ann", { delete: entryIds("a"), store: [entry("b"), entry("c", { ownerId })] }),
        "apply with an entry of another owner"
      )
      equal(error._tag, "MemoryStoreError", "the failure")
    }
    equal(idsOf(yield* streamed(store, "ann")), ["a"], "entries of ann")
    equal(idsOf(yield* streamed(store, "bob")), ["a"], "entries of bob")
  }),
  make("storeMany stores entries of several owners", function* (store) {
    const entries = hostileOwners.flatMap((owner, index) => ofOwner(owner, index))
    yield* store.storeMany([...entries.filter((_, at) => at % 2 === 0), ...entries.filter((_, at) => at % 2 === 1)])
    yield* untouched(store, chosen)
  }),
  make("keeps similar ids apart", function* (store) {
    const entries = hostileIds.map((id, at) => entry(id, { content: `number${at}`, timestamp: epoch + at }))
    for (const one of entries) yield* store.store(one)
    equalEntries(yield* streamed(store, "ann"), entries, "all entries")
    equalEntries(yield* store.getMany("ann", entryIds(...hostileIds)), entries, "all entries by their ids")
    for (const [at, id] of hostileIds.entries()) {
      equalEntry(
        Option.getOrUndefined(yield* store.get("ann", entryId(id))),
        entries[at],
        `the entry ${JSON.stringify(id)}`
      )
      equal(found(yield* store.retrieve(matching(`number${at}`))), [id], `the entry with the word number${at}`)
    }
    for (const [at, id] of hostileIds.entries()) {
      equal(yield* store.delete("ann", entryId(id)), true, `delete of ${JSON.stringify(id)}`)
      equal(
        idsOf(yield* streamed(store, "ann")),
        hostileIds.slice(at + 1),
        `entries after ${JSON.stringify(id)} is gone`
      )
    }
  }),
  make("does not confuse owner and id", function* (store) {
    const pairs = [
      ["a", "b:c"],
      ["a:b", "c"],
      ["a/b", "c"],
      ["a", "b/c"],
      ["a%3Ab", "c"],
      ["a", "index"],
      ["index:a", "a"],
      ["ab", "c"],
      ["a", "bc"]
    ] as const
    for (const [ownerId, id] of pairs) yield* store.store(entry(id, { ownerId, content: `${ownerId} has ${id}` }))
    for (const [ownerId, id] of pairs) {
      const got = Option.getOrUndefined(yield* store.get(ownerId, entryId(id)))
      equal(got?.content, `${ownerId} has ${id}`, `the entry ${id} of ${ownerId}`)
      const own = pairs.filter((pair) => pair[0] === ownerId).map((pair) => pair[1])
      sameMembers(idsOf(yield* streamed(store, ownerId)), own, `entries of ${ownerId}`)
    }
  })
]
