/**
 * Cases: expired entries are invisible, and concurrent fibers have the same effect as sequential ones.
 *
 * @since 0.1.0
 * @private
 */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as TestClock from "effect/TestClock"
import type * as MemoryStore from "../../memory/search/MemoryStore.js"
import { equal } from "../suite/SuiteAssert.js"
import {
  type Case,
  entry,
  entryId,
  entryIds,
  epoch,
  equalEntry,
  found,
  idsOf,
  make,
  matching,
  query,
  streamed
} from "./MemoryStoreCase.js"

const got = (store: MemoryStore.Service, id: string) => Effect.map(store.get("ann", entryId(id)), Option.getOrUndefined)

const mortal = (id: string, expiresAt: number, fields = {}) => entry(id, { content: "zebra", expiresAt, ...fields })

const expiry: ReadonlyArray<Case> = [
  make("an entry exists until its expiry", function* (store) {
    yield* store.storeMany([mortal("a", epoch + 1000), entry("b", { content: "lion" })])
    yield* store.store(mortal("a", epoch + 1000, { ownerId: "bob" }))
    yield* TestClock.adjust("999 millis")
    equal(idsOf(yield* streamed(store, "ann")), ["a", "b"], "entries right before")
    equal(found(yield* store.retrieve(matching("zebra"))), ["a"], "results right before")
    equal((yield* got(store, "a"))?.expiresAt, epoch + 1000, "the entry right before")
    yield* TestClock.adjust("1 millis")
    equal(yield* got(store, "a"), undefined, "get")
    equal(idsOf(yield* store.getMany("ann", entryIds("a", "b"))), ["b"], "getMany")
    equal(idsOf(yield* streamed(store, "ann")), ["b"], "stream")
    equal(idsOf(yield* store.getRecent({ ownerId: "ann", n: 10 })), ["b"], "getRecent")
    equal(found(yield* store.retrieve(query("zebra"))), ["b"], "retrieve")
    equal(yield* store.count("ann"), 1, "count")
    yield* store.recordAccess("ann", entryIds("a"))
    equal(yield* store.delete("ann", entryId("a")), false, "delete")
    equal(yield* store.count("bob"), 0, "count of the other owner")
    equal(yield* store.clear("bob"), 0, "clear of the other owner")
  }),
  make("an entry stored after its expiry does not exist", function* (store) {
    yield* store.storeMany([mortal("a", epoch), mortal("b", epoch - 1), mortal("c", epoch + 1)])
    equal(idsOf(yield* streamed(store, "ann")), ["c"], "stream")
    equal(yield* store.count("ann"), 1, "count")
    equal(found(yield* store.retrieve(matching("zebra"))), ["c"], "retrieve")
  }),
  make("storing an entry that has expired replaces the one of its id", function* (store) {
    yield* store.store(entry("a", { content: "zebra" }))
    yield* store.store(mortal("a", epoch - 1))
    equal(yield* got(store, "a"), undefined, "get")
    equal(yield* store.count("ann"), 0, "count")
    equal(found(yield* store.retrieve(matching("zebra"))), [], "retrieve")
  }),
  make("storing an id again resets its expiry", function* (store) {
    yield* store.storeMany([mortal("a", epoch + 1000), mortal("b", epoch + 1000), mortal("c", epoch + 1000)])
    yield* store.store(mortal("a", epoch + 5000))
    yield* store.store(entry("b"))
    yield* TestClock.adjust("1 second")
    equal(idsOf(yield* streamed(store, "ann")), ["a", "b"], "after the first time")
    yield* TestClock.adjust("4 seconds")
    equal(idsOf(yield* streamed(store, "ann")), ["b"], "after the second time")
    yield* TestClock.adjust("7 days")
    equal(idsOf(yield* streamed(store, "ann")), ["b"], "a week later")
  }),
  make("an expired id starts over", function* (store) {
    yield* store.store(mortal("a", epoch + 1000))
    yield* store.recordAccess("ann", entryIds("a"))
    yield* TestClock.adjust("1 second")
    yield* store.store(entry("a", { content: "lion" }))
    equalEntry(yield* got(store, "a"), entry("a", { content: "lion" }), "the new entry")
    equal(found(yield* store.retrieve(matching("zebra"))), [], "results for the old words")
  }),
  make("expire removes expired entries of all owners and returns their number", function* (store) {
    yield* store.storeMany([
      mortal("a", epoch + 1000),
      mortal("b", epoch + 1000),
      mortal("c", epoch + 2000),
      entry("d"),
      mortal("a", epoch + 1000, { ownerId: "bob" }),
      entry("b", { ownerId: "bob" })
    ])
    equal(yield* store.expire, 0, "before anything has expired")
    yield* TestClock.adjust("1 second")
    equal(yield* store.expire, 3, "when three have expired")
    equal(yield* store.expire, 0, "right afterwards")
    equal(idsOf(yield* streamed(store, "ann")), ["c", "d"], "what is left")
    equal(idsOf(yield* streamed(store, "bob")), ["b"], "what is left of the other owner")
    yield* TestClock.adjust("1 second")
    equal(yield* store.expire, 1, "when one more has expired")
  })
]

const concurrency: ReadonlyArray<Case> = [
  make("many fibers may store at once", function* (store) {
    const fibers = Array.from({ length: 64 }, (_, fiber) => fiber)
    const rounds = Array.from({ length: 16 }, (_, round) => round)
    yield* Effect.forEach(
      fibers,
      (fiber) =>
        Effect.forEach(
          rounds,
          (round) =>
            store.store(
              entry(`${fiber}-${round}`, {
                ownerId: fiber % 2 === 0 ? "ann" : "bob",
                content: `fiber${fiber} round${round}`,
                timestamp: epoch + round
              })
            ),
          { discard: true }
        ),
      { concurrency: "unbounded", discard: true }
    )
    equal([yield* store.count("ann"), yield* store.count("bob")], [512, 512], "counts of both owners")
    const ids = new Set(idsOf([...(yield* streamed(store, "ann")), ...(yield* streamed(store, "bob"))]))
    equal(ids.size, 1024, "different ids")
    equal((yield* store.retrieve(matching("fiber8"))).length, 16, "results for the words of one fiber")
  }),
  make("one of several fibers that store one id wins completely", function* (store) {
    const contenders = Array.from({ length: 32 }, (_, at) =>
      entry("a", { content: `word${at}`, timestamp: epoch + at, metadata: { at }, importance: at / 32 })
    )
    yield* Effect.forEach(contenders, (one) => store.store(one), { concurrency: "unbounded", discard: true })
    const [winner, ...rest] = yield* streamed(store, "ann")
    equal(rest, [], "other entries")
    equalEntry(winner, contenders[Number(winner?.metadata["at"])], "the entry that won")
    for (const one of contenders) {
      const ids = one.content === winner?.content ? ["a"] : []
      equal(found(yield* store.retrieve(matching(one.content))), ids, `results for ${one.content}`)
    }
  }),
  make("exactly one of several concurrent deletions finds the entry", function* (store) {
    yield* store.store(entry("a"))
    const told = yield* Effect.all(
      Array.from({ length: 32 }, () => store.delete("ann", entryId("a"))),
      { concurrency: "unbounded" }
    )
    equal(told.filter((existed) => existed).length, 1, "how many were told so")
  }),
  make("counts all concurrent accesses", function* (store) {
    yield* store.storeMany([entry("a"), entry("b")])
    yield* Effect.all(
      Array.from({ length: 40 }, (_, at) =>
        store.recordAccess("ann", entryIds(...(at % 2 === 0 ? ["a"] : ["b", "a"])))
      ),
      { concurrency: "unbounded", discard: true }
    )
    const counts = (yield* store.getMany("ann", entryIds("a", "b"))).map((one) => one.accessCount)
    equal(counts, [40, 20], "counts")
  })
]

/**
 * @since 0.1.0
 * @category constants
 */
export const cases: ReadonlyArray<Case> = [...expiry, ...concurrency]
