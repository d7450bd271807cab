/**
 * Cases: vectors are kept by owner, replaced, deleted, expired and rejected.
 *
 * @since 0.1.0
 * @private
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as TestClock from "effect/TestClock"
import { EntryId } from "../../domain/Ids.js"
import type * as VectorIndex from "../../memory/search/VectorIndex.js"
import { hostileIds, hostileOwners } from "../memory/MemoryStoreCase.js"
import { equal, failure, holds, sameMembers } from "../suite/SuiteAssert.js"
import { at, type Case, epoch, found, item, make } from "./VectorIndexCase.js"

const ids = (...names: ReadonlyArray<string>): ReadonlyArray<EntryId> => names.map((name) => EntryId.make(name))

const known = (index: VectorIndex.Service, owner: string, ...names: ReadonlyArray<string>) =>
  Effect.map(index.known(owner, ids(...names)), (set) => Array.from(set))

const length = (index: VectorIndex.Service, dimensions: number): VectorIndex.VectorItem => ({
  ...item(index, "wrong", 0),
  vector: new Float32Array(dimensions).fill(0.5)
})

/**
 * @since 0.1.0
 * @category constants
 */
export const cases: ReadonlyArray<Case> = [
  make("reports its model and its health", function* (index) {
    holds(index.name !== "", "the name of the index")
    holds(index.model !== "", "the model of the index")
    holds(Number.isInteger(index.dimensions) && index.dimensions >= 4, "at least four dimensions", index.dimensions)
    yield* index.health
  }),

  make("an empty index and an unknown owner have nothing", function* (index) {
    equal(yield* found(index, "ann"), [], "what is found")
    equal(yield* index.count("ann"), 0, "the count")
    equal(yield* known(index, "ann", "a"), [], "what is known")
    yield* index.delete("ann", ids("a"))
    yield* index.clear("ann")
  }),

  make("finds a stored item in the next call", function* (index) {
    yield* index.upsert("ann", [item(index, "a", 10), item(index, "b", 20)])
    equal(yield* found(index, "ann"), ["a", "b"], "what is found")
    equal(yield* index.count("ann"), 2, "the count")
    sameMembers(yield* known(index, "ann", "a", "c", "b"), ["a", "b"], "what is known")
  }),

  make("empty lists do nothing", function* (index) {
    yield* index.upsert("ann", [])
    yield* index.upsert("ann", [item(index, "a", 10)])
    yield* index.delete("ann", [])
    equal(yield* known(index, "ann"), [], "of no ids none are known")
    equal(yield* index.count("ann"), 1, "the count")
  }),

  make("replaces an existing id with its vector and selectable fields", function* (index) {
    yield* index.upsert("ann", [
      item(index, "a", 10, { metadata: { kind: "old" }, role: "user", timestamp: epoch - 5, expiresAt: epoch + 5 }),
      item(index, "b", 20)
    ])
    yield* index.upsert("ann", [item(index, "a", 30, { metadata: { kind: "new" }, role: "tool" })])
    equal(yield* index.count("ann"), 2, "the count")
    equal(yield* found(index, "ann"), ["b", "a"], "what is found")
    equal(yield* found(index, "ann", { filters: { kind: "old" } }), [], "what has the old metadata")
    equal(yield* found(index, "ann", { filters: { kind: "new" }, roles: ["tool"] }), ["a"], "what has the new metadata")
    yield* TestClock.adjust(10)
    equal(yield* found(index, "ann"), ["b", "a"], "what is found after the old time of expiry")
  }),

  make("the last of two items with one id wins", function* (index) {
    yield* index.upsert("ann", [item(index, "a", 10), item(index, "b", 20), item(index, "a", 30)])
    equal(yield* index.count("ann"), 2, "the count")
    equal(yield* found(index, "ann"), ["b", "a"], "what is found")
  }),

  make("rejects a vector of another length and stores nothing of the call", function* (index) {
    yield* index.upsert("ann", [item(index, "a", 10)])
    for (const dimensions of [0, 1, index.dimensions - 1, index.dimensions + 1, 2 * index.dimensions]) {
      const items = [item(index, "a", 50), item(index, "b", 20), length(index, dimensions), item(index, "c", 30)]
      const error = yield* failure(index.upsert("ann", items), `a vector of length ${dimensions}`)
      equal(error._tag, "MemoryStoreError", `the refusal of length ${dimensions}`)
    }
    equal(yield* index.count("ann"), 1, "the count")
    const [hit] = yield* index.search("ann", at(index, 10), { limit: 1 })
    holds(hit !== undefined && hit.similarity > 0.99, "the old vector is there", hit)
  }),

  make(
    "a vector with something that is no finite number is refused, and nothing of the call is stored",
    function* (index) {
      for (const number of [Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY]) {
        const vector = at(index, 10)
        vector[3] = number
        const items = [item(index, "a", 20), item(index, "b", 0, { vector })]
        yield* failure(index.upsert("ann", items), `a vector with ${number}`)
        yield* failure(index.search("ann", vector, { limit: 1 }), `a search for a vector with ${number}`)
      }
      equal(yield* index.count("ann"), 0, "the count")
    }
  ),

  make("deletes items and keeps the rest", function* (index) {
    const names = Array.from({ length: 30 }, (_, n) => `e${n}`)
    yield* index.upsert(
      "ann",
      names.map((name, n) => item(index, name, n))
    )
    const left = [...names]
    for (const name of ["e0", "e29", "e15", "e14", "e3", "e28"]) {
      yield* index.delete("ann", ids(name, "never there"))
      left.splice(left.indexOf(name), 1)
      equal(yield* found(index, "ann"), left, `what is found after ${name} was deleted`)
    }
    equal(yield* index.count("ann"), left.length, "the count")
    sameMembers(yield* known(index, "ann", ...names), left, "what is known")
    yield* index.delete("ann", ids(...left, ...left))
    equal(yield* index.count("ann"), 0, "the count when all is deleted")
    yield* index.upsert("ann", [item(index, "e0", 1)])
    equal(yield* found(index, "ann"), ["e0"], "what is found when one came back")
  }),

  make("clear removes everything of the owner and nothing of others", function* (index) {
    for (const owner of ["ann", "bob"]) yield* index.upsert(owner, [item(index, "a", 10), item(index, "b", 20)])
    yield* index.clear("ann")
    equal(yield* found(index, "ann"), [], "what is found")
    equal(yield* index.count("ann"), 0, "the count")
    equal(yield* found(index, "bob"), ["a", "b"], "what the other has")
  }),

  make("no call sees or changes anything of another owner", function* (index) {
    for (const [n, owner] of hostileOwners.entries()) {
      yield* index.upsert(owner, [item(index, "shared", n), item(index, `own ${n}`, n + 1)])
    }
    const untouched = function* (but: number) {
      for (const [n, owner] of hostileOwners.entries()) {
        if (n === but) continue
        const hits = yield* index.search(owner, at(index, n), { limit: 1000 })
        equal(
          hits.map((hit) => hit.id),
          ["shared", `own ${n}`],
          `what ${JSON.stringify(owner)} finds`
        )
        holds(hits[0]!.similarity > 0.99999, `the vector of ${JSON.stringify(owner)}`, hits[0]!.similarity)
        equal(yield* index.count(owner), 2, `the count of ${JSON.stringify(owner)}`)
        sameMembers(
          yield* known(index, owner, "shared", "own 0", "own 1", "own 2"),
          n < 3 ? ["shared", `own ${n}`] : ["shared"],
          `what ${JSON.stringify(owner)} knows`
        )
      }
    }
    yield* untouched(-1)
    yield* index.delete(hostileOwners[0] as string, ids("shared", "own 1", "own 2"))
    yield* untouched(0)
    yield* index.clear(hostileOwners[3] as string)
    yield* index.upsert(hostileOwners[3] as string, [item(index, "shared", 3), item(index, "own 3", 4)])
    yield* untouched(0)
  }),

  make("compares ids exactly", function* (index) {
    yield* index.upsert(
      "ann",
      hostileIds.map((id, n) => item(index, id, n))
    )
    equal(yield* found(index, "ann"), hostileIds, "what is found")
    sameMembers(yield* known(index, "ann", ...hostileIds), hostileIds, "what is known")
    yield* index.delete("ann", ids(hostileIds[0] as string))
    equal(yield* found(index, "ann"), hostileIds.slice(1), "what is found after one was deleted")
  }),

  make("expired items are invisible", function* (index) {
    yield* index.upsert("ann", [
      item(index, "gone", 1, { expiresAt: epoch - 1 }),
      item(index, "now", 2, { expiresAt: epoch }),
      item(index, "soon", 3, { expiresAt: epoch + 1000 }),
      item(index, "stays", 4)
    ])
    const names = ["gone", "now", "soon", "stays"]
    for (const [millis, expected] of [
      [0, ["soon", "stays"]],
      [999, ["soon", "stays"]],
      [1, ["stays"]]
    ] as const) {
      yield* TestClock.adjust(millis)
      const now = (yield* Clock.currentTimeMillis) - epoch
      equal(yield* found(index, "ann"), expected, `what is found after ${now} ms`)
      sameMembers(yield* known(index, "ann", ...names), expected, `what is known after ${now} ms`)
      equal(yield* index.count("ann"), expected.length, `the count after ${now} ms`)
    }
  })
]
