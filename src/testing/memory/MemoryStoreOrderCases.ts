/**
 * Cases: the order of entries, pages and owners.
 *
 * @since 0.1.0
 * @private
 */
import * as Chunk from "effect/Chunk"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import * as TestClock from "effect/TestClock"
import type { MemoryEntry } from "../../memory/entry/MemoryEntry.js"
import { equal } from "../suite/SuiteAssert.js"
import { type Case, entry, epoch, idsOf, make, streamed } from "./MemoryStoreCase.js"

/**
 * @since 0.1.0
 * @category constants
 */
export const cases: ReadonlyArray<Case> = [
  make("returns the newest first, and equal times by descending id", function* (store) {
    const ids = ["b", "Z", "a", "é", "a1", "a10", "a2", "_", "日本", "0"]
    yield* store.storeMany([...ids.map((id) => entry(id)), entry("old", { timestamp: epoch - 1 })])
    yield* store.store(entry("new", { timestamp: epoch + 0.5 }))
    const ascending = ["old", "0", "Z", "_", "a", "a1", "a10", "a2", "b", "é", "日本", "new"]
    equal(idsOf(yield* streamed(store, "ann")), ascending, "stream, oldest first")
    equal(idsOf(yield* store.getRecent({ ownerId: "ann", n: 100 })), [...ascending].reverse(), "getRecent")
    equal(idsOf(yield* store.getRecent({ ownerId: "ann", n: 4 })), ["new", "日本", "é", "b"], "the newest four")
  }),
  make("getRecent returns as many as requested and available", function* (store) {
    yield* store.storeMany(Array.from({ length: 7 }, (_, at) => entry(`e${at}`, { timestamp: epoch + at })))
    for (const [n, expected] of [
      [0, []],
      [1, ["e6"]],
      [3, ["e6", "e5", "e4"]],
      [7, ["e6", "e5", "e4", "e3", "e2", "e1", "e0"]],
      [1000, ["e6", "e5", "e4", "e3", "e2", "e1", "e0"]]
    ] as const) {
      equal(idsOf(yield* store.getRecent({ ownerId: "ann", n })), expected, `the newest ${n}`)
    }
  }),
  make("finds the newest selected entries among many others", function* (store) {
    const at = (index: number): MemoryEntry =>
      entry(`e${index}`, { timestamp: epoch + index, role: index < 3 ? "tool" : "user" })
    yield* store.storeMany(Array.from({ length: 700 }, (_, index) => at(index)))
    const selection = { roles: ["tool"] } as const
    equal(idsOf(yield* store.getRecent({ ownerId: "ann", n: 2, selection })), ["e2", "e1"], "getRecent")
    equal(idsOf(yield* streamed(store, "ann", selection)), ["e0", "e1", "e2"], "stream")
    equal(yield* store.count("ann", selection), 3, "count")
  }),
  make("streams everything once, oldest first, over many pages", function* (store) {
    // Seven entries per time, so that pages end between equal times.
    const entries = Array.from({ length: 1050 }, (_, at) =>
      entry(`e${String(at).padStart(4, "0")}`, {
        timestamp: epoch + Math.floor(at / 7),
        role: at % 2 ? "user" : "tool"
      })
    )
    yield* store.storeMany([...entries].reverse())
    equal(idsOf(yield* streamed(store, "ann")), idsOf(entries), "all")
    const half = entries.filter((one) => one.role === "tool")
    equal(idsOf(yield* streamed(store, "ann", { roles: ["tool"] })), idsOf(half), "what is selected")
    const few = yield* Stream.runCollect(Stream.take(store.stream("ann"), 3))
    equal(idsOf(Chunk.toReadonlyArray(few)), ["e0000", "e0001", "e0002"], "the first three")
    equal(idsOf(yield* store.getRecent({ ownerId: "ann", n: 1050 })), [...idsOf(entries)].reverse(), "the newest 1050")
  }),
  make("streams owners once each, ascending, over many pages", function* (store) {
    const owners = Effect.map(Stream.runCollect(store.owners), Chunk.toReadonlyArray)
    equal(yield* owners, [], "owners of an empty store")
    const names = Array.from({ length: 520 }, (_, at) => `owner ${String(at).padStart(3, "0")}`)
    yield* store.storeMany(names.flatMap((ownerId) => [entry("a", { ownerId }), entry("b", { ownerId })]))
    yield* store.storeMany(["Z", "__proto__", "é", "a:b", "a"].map((ownerId) => entry("a", { ownerId })))
    yield* store.store(entry("a", { ownerId: "mortal", expiresAt: epoch + 1000 }))
    equal(yield* owners, ["Z", "__proto__", "a", "a:b", "mortal", ...names, "é"], "owners")
    yield* TestClock.adjust("1 second")
    yield* store.clear("a:b")
    yield* store.delete("a", entry("a").id)
    yield* store.delete("owner 000", entry("a").id)
    equal(yield* owners, ["Z", "__proto__", ...names, "é"], "owners after some have nothing left")
  })
]
